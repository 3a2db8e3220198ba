//! Descriptions of code by a model.

use std::sync::Arc;

use tributary_enrich::DescriptionsConfig;
use tributary_enrich::descriptions::WantedDescription;
use tributary_enrich::descriptions::writer::DescriptionWriter;
use tributary_enrich::writing::Written;
use tributary_models::TokenCounter;
use tributary_models::chat::Reason;
use tributary_schemas::code_entry::{CodeEntry, Definition, DescribedBy};
use tributary_store::blobs::Blobs;

use super::model::{FakeModel, counted, prompts, role};
use super::support::Counter;

fn settings(language: &str) -> DescriptionsConfig {
    DescriptionsConfig {
        language: language.to_owned(),
        shortest_lines: 3,
        input_tokens: 400,
        limit_tokens: 64,
        file_limit_tokens: 96,
        patience_seconds: 1,
    }
}

fn wanted(definition: Definition, name: &str, lines: u32, text: &str) -> WantedDescription {
    WantedDescription {
        position: 0,
        path: format!("pool.c › {name}"),
        entry: CodeEntry {
            language: "c".to_owned(),
            definition,
            name: name.to_owned(),
            signature: String::new(),
            start_line: 10,
            end_line: 9 + lines,
            description: format!("Of {name}. More of it."),
            described_by: DescribedBy::Comment,
            calls: Vec::new(),
            callers: Vec::new(),
        },
        text: text.to_owned(),
    }
}

/// A file with a long and a short function.
fn pool() -> Vec<WantedDescription> {
    vec![
        wanted(Definition::File, "pool.c", 40, "/* A pool. */"),
        wanted(Definition::Function, "take", 12, "int take(void) { … }"),
        wanted(Definition::Macro, "MOST", 1, "#define MOST 3"),
    ]
}

struct Bench {
    folder: tempfile::TempDir,
    model: Arc<FakeModel>,
}

impl Bench {
    fn new(model: FakeModel) -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            model: Arc::new(FakeModel {
                field: Some("description"),
                ..model
            }),
        }
    }

    async fn write(&self, language: &str, wanted: &[WantedDescription]) -> Written {
        let blobs = Blobs::local(self.folder.path()).unwrap();
        let (model, settings) = (role(&self.model), settings(language));
        let writer = DescriptionWriter::new(model, prompts(), blobs, settings, counted().1);
        let tokens: Arc<dyn TokenCounter> = Arc::new(Counter);
        writer.write(wanted, &tokens, &|_, _| {}).await.unwrap()
    }
}

#[tokio::test]
async fn a_file_is_summarised_from_its_definitions_and_short_ones_cost_nothing() {
    let bench = Bench::new(FakeModel {
        first_replies: vec!["Hands out a free item. Waits if there is none.".to_owned()],
        ..FakeModel::default()
    });
    let written = bench.write("", &pool()).await;
    assert_eq!((written.calls, &written.missing), (2, &None));
    assert!(written.texts[0].is_some() && written.texts[2].is_none());
    let asked = bench.model.asked();
    assert!(
        asked[0].contains("pool.c › take\n\nint take(void)"),
        "{}",
        asked[0]
    );
    let of_file = &asked[1];
    assert!(
        of_file.contains("/* A pool. */\n\n- take: Hands out a free item.\n- MOST: Of MOST."),
        "{of_file}"
    );
    let again = bench.write("", &pool()).await;
    assert_eq!((again.calls, again.texts), (0, written.texts));
}

#[tokio::test]
async fn a_changed_function_costs_its_own_call_and_that_of_its_file() {
    let bench = Bench::new(FakeModel::default());
    let mut wanted = pool();
    wanted.extend((0..20).map(|at| {
        let text = format!("int f{at}(void) {{ return {at}; }}");
        self::wanted(Definition::Function, &format!("f{at}"), 5, &text)
    }));
    assert_eq!(bench.write("", &wanted).await.calls, 22);
    wanted[9].text.push_str(" // changed");
    assert_eq!(bench.write("", &wanted).await.calls, 2);
}

#[tokio::test]
async fn what_is_no_description_is_asked_for_once_more_and_then_given_up() {
    for bad in [
        "",
        "I'm sorry, I cannot read that.",
        "从池中取出一个空闲对象。",
    ] {
        let bench = Bench::new(FakeModel {
            first_replies: vec![bad.to_owned(); 2],
            ..FakeModel::default()
        });
        let written = bench.write("", &pool()[1..2]).await;
        assert_eq!(written.texts, [None], "{bad}");
        let missing = written.missing.unwrap();
        assert!(missing.starts_with("pool.c › take: "), "{missing}");
        assert_eq!(bench.model.asked().len(), 2);
    }
}

#[tokio::test]
async fn the_language_is_that_of_the_settings_or_of_the_comments() {
    let bench = Bench::new(FakeModel {
        first_replies: vec!["从池中取出空闲对象。".to_owned(); 3],
        ..FakeModel::default()
    });
    assert_eq!(bench.write("zh", &pool()[1..2]).await.missing, None);
    let mut chinese = pool();
    "取出一个空闲对象，没有时等待。".clone_into(&mut chinese[1].entry.description);
    "int take(void) { /* 取出 */ }".clone_into(&mut chinese[1].text);
    assert_eq!(bench.write("", &chinese[1..2]).await.missing, None);
    let refused = bench.write("en", &pool()[1..2]).await;
    assert_eq!(refused.missing, None, "the second reply is in English");
    assert_eq!(bench.model.asked().len(), 4);
}

#[tokio::test]
async fn a_model_that_is_away_is_waited_for_and_then_done_without() {
    let bench = Bench::new(FakeModel {
        first_failures: vec![Reason::Unreachable],
        ..FakeModel::default()
    });
    assert_eq!(bench.write("", &pool()).await.missing, None);
    let away = Bench::new(FakeModel {
        is_away: true.into(),
        ..FakeModel::default()
    });
    let written = away.write("", &pool()).await;
    assert_eq!(written.texts, [None, None, None]);
    assert!(written.missing.unwrap().contains("is not there"));
}
