//! Summaries by a model: what is asked, what is asked again, what is not, and what happens when the
//! model cannot.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::model::{FakeModel, counted, limited, prompts, role};
use super::support::{Counter, config, document};
use tributary_enrich::SummariesConfig;
use tributary_enrich::chunkers::{Cut, ModelTexts, Strategy, cut};
use tributary_enrich::summaries::writer::SummaryWriter;
use tributary_enrich::writing::{Asking, Written};
use tributary_models::TokenCounter;
use tributary_models::chat::Reason;
use tributary_schemas::set_status::SetCost;
use tributary_schemas::{ChunkKind, CleanDocument};
use tributary_store::blobs::Blobs;

/// A manual with a part of each of these words; a part has two long sections, its word stands in
/// the first.
fn manual(words: &[&str]) -> CleanDocument {
    let mut markdown = "# Handbook\n\nOf radio.\n".to_owned();
    for (at, word) in words.iter().enumerate() {
        let text = |other: &str| format!("A sentence about {other} and tilt. ").repeat(160);
        markdown.push_str(&format!(
            "\n## Part {at}\n\n### Section {at}.1\n\n{word}\n\n{}\n\n### Section {at}.2\n\n{}\n",
            text("antennas"),
            text("cells")
        ));
    }
    document(&markdown)
}

fn cut_up(clean: &CleanDocument) -> Cut {
    cut(clean, Strategy::Sections, &config(), &Counter)
}

fn texts(summaries: Written) -> ModelTexts {
    ModelTexts {
        summaries: summaries.texts,
        ..ModelTexts::default()
    }
}

fn settings() -> SummariesConfig {
    SummariesConfig {
        input_tokens: 1500,
        patience_seconds: 2,
    }
}

fn writer(model: &Arc<FakeModel>, blobs: &Blobs) -> SummaryWriter {
    SummaryWriter::new(
        role(model),
        prompts(),
        blobs.clone(),
        settings(),
        Arc::new(|_| {}),
    )
}

async fn write(writer: &SummaryWriter, clean: &CleanDocument) -> Written {
    let tokens: Arc<dyn TokenCounter> = Arc::new(Counter);
    let markdown = Arc::from(clean.markdown.as_str());
    let cut = cut_up(clean);
    writer
        .write(&markdown, cut.wanted(), &tokens, &|_, _| {})
        .await
        .unwrap()
}

struct Bench {
    folder: tempfile::TempDir,
    model: Arc<FakeModel>,
}

impl Bench {
    fn new(model: FakeModel) -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            model: Arc::new(model),
        }
    }

    /// As after a restart: nothing but the blob store is as before.
    fn writer(&self) -> SummaryWriter {
        writer(&self.model, &Blobs::local(self.folder.path()).unwrap())
    }
}

#[tokio::test]
async fn a_section_is_summarised_after_those_below_it() {
    let bench = Bench::new(FakeModel::default());
    let clean = manual(&["one", "two"]);
    let written = write(&bench.writer(), &clean).await;
    assert_eq!((written.calls, &written.missing), (3, &None));
    let asked = bench.model.asked();
    assert!(asked[0].contains("Handbook › Part") && asked[1].contains("Handbook › Part"));
    let last = &asked[2];
    assert!(
        last.contains("## Part 0\n\nSummary ") && last.contains("## Part 1\n\nSummary "),
        "the parts' summaries stand for them: {last}"
    );
    let chunks = cut_up(&clean).finish(texts(written), &Counter);
    let of = |kind| chunks.iter().filter(move |chunk| chunk.kind == kind);
    assert_eq!(of(ChunkKind::Summary).count(), 3);
    for part in of(ChunkKind::Summary).skip(1) {
        assert!(part.text.starts_with("## Part"), "{}", part.text);
        let below: Vec<_> = of(ChunkKind::Leaf)
            .filter(|leaf| leaf.parent_id == Some(part.chunk_id))
            .collect();
        assert!(below.len() >= 2);
        for leaf in below {
            assert_eq!(leaf.parent_summary.as_ref(), Some(&part.text));
        }
    }
}

#[tokio::test]
async fn nothing_is_paid_twice_and_a_changed_word_only_where_it_matters() {
    let bench = Bench::new(FakeModel::default());
    let mut words: Vec<String> = (0..40).map(|at| format!("word{at}")).collect();
    let manual = |words: &[String]| manual(&words.iter().map(String::as_str).collect::<Vec<_>>());
    let first = write(&bench.writer(), &manual(&words)).await;
    assert_eq!(first.calls, 41);
    let again = write(&bench.writer(), &manual(&words)).await;
    assert_eq!((again.calls, &again.texts), (0, &first.texts));
    "changed".clone_into(&mut words[17]);
    let changed = write(&bench.writer(), &manual(&words)).await;
    assert_eq!(changed.calls, 2, "the part of that word and the whole");
}

#[tokio::test]
async fn what_is_no_summary_is_asked_for_once_more_and_then_given_up() {
    for bad in [
        "",
        "I'm sorry, but as an AI I cannot read that.",
        "下倾角从 0 到 10 度，在对象中设置。",
        &"far too long ".repeat(300),
    ] {
        let bench = Bench::new(FakeModel {
            first_replies: vec![bad.to_owned()],
            ..FakeModel::default()
        });
        let clean = manual(&["one"]);
        let written = write(&bench.writer(), &clean).await;
        assert_eq!(written.missing, None, "{bad}");
        assert_eq!(bench.model.asked().len(), 3, "one of two once more: {bad}");

        let always = Bench::new(FakeModel {
            first_replies: vec![bad.to_owned(); 9],
            ..FakeModel::default()
        });
        let written = write(&always.writer(), &clean).await;
        assert!(written.texts.iter().all(Option::is_none), "{bad}");
        assert!(written.missing.is_some() && always.model.asked().len() == 4);
        let chunks = cut_up(&clean).finish(texts(written), &Counter);
        assert_eq!(
            chunks,
            tributary_enrich::chunkers::chunk(&clean, Strategy::Sections, &config(), &Counter),
            "the extractive ones stand there"
        );
    }
}

#[tokio::test]
async fn a_model_that_comes_back_in_time_is_waited_for() {
    let bench = Bench::new(FakeModel::default());
    bench.model.is_away.store(true, Ordering::SeqCst);
    let model = Arc::clone(&bench.model);
    let back = async move {
        tokio::time::sleep(Duration::from_millis(700)).await;
        model.is_away.store(false, Ordering::SeqCst);
    };
    let (clean, writer) = (manual(&["one"]), bench.writer());
    let (written, ()) = tokio::join!(write(&writer, &clean), back);
    assert_eq!((written.calls, written.missing), (2, None));
}

#[tokio::test]
async fn after_its_patience_nothing_waits_until_the_model_is_back() {
    let bench = Bench::new(FakeModel::default());
    bench.model.is_away.store(true, Ordering::SeqCst);
    let (clean, writer) = (manual(&["one"]), bench.writer());
    let written = write(&writer, &clean).await;
    assert!(
        written.missing.unwrap().contains("not there"),
        "{:?}",
        written.texts
    );
    let attempts = bench.model.attempts();
    let started = Instant::now();
    for word in ["two", "three", "four"] {
        let written = write(&writer, &manual(&[word])).await;
        assert!(written.missing.is_some());
    }
    let each = Duration::from_secs(settings().patience_seconds);
    assert!(
        started.elapsed() < each * 3,
        "they did not wait each for itself"
    );
    assert_eq!(bench.model.attempts(), attempts + 6, "one attempt for each");
    bench.model.is_away.store(false, Ordering::SeqCst);
    let written = write(&writer, &clean).await;
    assert_eq!((written.calls, written.missing), (2, None));
}

#[tokio::test]
async fn a_budget_that_has_room_soon_is_waited_for() {
    let bench = Bench::new(FakeModel {
        first_failures: vec![Reason::BudgetUsedUp; 3],
        ..FakeModel::default()
    });
    let clean = manual(&["one"]);
    let written = write(&bench.writer(), &clean).await;
    assert_eq!((written.calls, written.missing), (2, None));
}

#[tokio::test]
async fn a_section_of_a_million_tokens_is_asked_for_within_the_context() {
    let bench = Bench::new(FakeModel::default());
    let mut markdown = "# All\n\nOwn.\n".to_owned();
    for at in 0..400 {
        markdown.push_str(&format!("\n## S{at}\n\n{}\n", "words of it ".repeat(1200)));
    }
    let clean = document(&markdown);
    assert!(Counter.count(&clean.markdown) > 900_000);
    let written = write(&bench.writer(), &clean).await;
    assert_eq!((written.calls, written.missing), (1, None));
    assert!(Counter.count(&bench.model.asked()[0]) < settings().input_tokens + 1000);
}

#[tokio::test]
async fn no_more_calls_than_the_endpoint_takes() {
    let bench = Bench::new(FakeModel {
        delay: Duration::from_millis(30),
        ..FakeModel::default()
    });
    let words: Vec<String> = (0..12).map(|at| format!("word{at}")).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    write(&bench.writer(), &manual(&words)).await;
    assert_eq!(bench.model.most_at_once(), super::model::PARALLEL);
}

#[tokio::test]
async fn what_the_model_cannot_write_costs_nothing_at_a_replay_until_somebody_asks_again() {
    let bench = Bench::new(FakeModel {
        first_replies: vec![String::new(), String::new()],
        ..FakeModel::default()
    });
    let markdown = format!(
        "# Top\n\n## A\n\n{}\n\n## B\n\n{}\n",
        "A sentence about antennas and tilt. ".repeat(160),
        "A sentence about cells and tilt. ".repeat(160)
    );
    let clean = document(&markdown);
    let spent = Mutex::new(SetCost::default());
    let ask = async |asks_again| {
        let tokens: Arc<dyn TokenCounter> = Arc::new(Counter);
        let markdown = Arc::from(clean.markdown.as_str());
        let add = |cost: &SetCost| spent.lock().unwrap().add(cost);
        let asking = Asking {
            variant: None,
            asks_again,
            spent: &add,
        };
        let cut = cut_up(&clean);
        let writer = bench.writer();
        let written = writer.write_as(&asking, &markdown, cut.wanted(), &tokens, &|_, _| {});
        written.await.unwrap()
    };
    let first = ask(false).await;
    assert!(first.missing.is_some() && bench.model.asked().len() == 2);
    let replayed = ask(false).await;
    assert_eq!(
        (replayed.missing, bench.model.asked().len()),
        (first.missing, 2)
    );
    let repaired = ask(true).await;
    assert_eq!((repaired.missing, bench.model.asked().len()), (None, 3));
    assert_eq!(
        spent.lock().unwrap().calls,
        3,
        "replies that were refused are paid, too"
    );
    ask(false).await;
    assert_eq!(bench.model.asked().len(), 3, "from the cache");
}

#[tokio::test]
async fn summaries_are_counted_by_where_they_come_from() {
    let bench = Bench::new(FakeModel::default());
    let (counts, counter) = counted();
    let blobs = Blobs::local(bench.folder.path()).unwrap();
    let writer = SummaryWriter::new(role(&bench.model), prompts(), blobs, limited(0), counter);
    let clean = manual(&["one"]);
    write(&writer, &clean).await;
    write(&writer, &clean).await;
    bench.model.is_away.store(true, Ordering::SeqCst);
    write(&writer, &manual(&["two"])).await;
    let counts = counts.lock().unwrap().clone();
    assert_eq!(
        counts,
        [
            "model",
            "model",
            "cache",
            "cache",
            "extractive",
            "extractive"
        ]
    );
}
