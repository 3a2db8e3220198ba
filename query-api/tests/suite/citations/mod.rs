//! Citations of generated answers: whatever a model writes, and however its pieces are cut, a reader
//! of Markdown finds no number that was not given, every one that was, and the rest as written.

mod generated;
mod judge;

use serde_json::{Value, json};
use tributary_models::chat::Role;
use tributary_retrieval::answer::CitationFilter;

use self::generated::{Random, Written};
use self::judge::{code, foreign_markers};
use crate::ask::{events, joined, scripted_for, server, server_that_says, stream};
use crate::common::backend::Settings;
use crate::common::client::Server;

const SOURCES: u32 = 3;
/// Answers that go through the filter alone.
const FILTERED: u64 = 4_000;
/// Answers that a server delivers.
const DELIVERED: u64 = 1_000;

/// What is shown of an answer that comes in pieces, and what was shown at each time.
struct Shown {
    text: String,
    so_far: Vec<String>,
    cited: Vec<u32>,
}

fn filtered(text: &str, random: &mut Random) -> Shown {
    let mut filter = CitationFilter::new(SOURCES);
    let mut shown = Shown {
        text: String::new(),
        so_far: Vec::new(),
        cited: Vec::new(),
    };
    let characters: Vec<char> = text.chars().collect();
    let mut rest = characters.as_slice();
    while !rest.is_empty() {
        let size = 1 + random.below(rest.len().min(9));
        let (piece, behind) = rest.split_at(size);
        let checked = filter.push(&piece.iter().collect::<String>());
        shown.text.push_str(&checked.text);
        shown.cited.extend(checked.cited);
        shown.so_far.push(shown.text.clone());
        rest = behind;
    }
    let checked = filter.finish();
    shown.text.push_str(&checked.text);
    shown.cited.extend(checked.cited);
    shown
}

fn without_spaces(text: &str) -> String {
    text.split_whitespace().collect()
}

fn assert_as_written(written: &Written, shown: &str) {
    let (found, expected) = (without_spaces(shown), without_spaces(&written.expected));
    assert_eq!(
        found, expected,
        "written:\n{}\nshown:\n{shown}",
        written.text
    );
    assert_eq!(code(shown), written.code, "code of\n{}", written.text);
}

#[test]
fn the_judge_sees_what_a_reader_sees() {
    let table: &[(&str, &[&str])] = &[
        ("a [9] and `[8]`", &["[9]"]),
        ("a &#91;9] b", &["[9]"]),
        ("a [**9**]", &["[9]"]),
        ("a [<b>9</b>]", &["[9]"]),
        ("a [\u{200b}9]", &["[9]"]),
        ("a \\[9\\]", &["[9]"]),
        ("a [1, 9] [1-4] 【9】", &["[1, 9]", "[1-4]", "【9】"]),
        ("> ```\n> [9]\n[8]", &["[8]"]),
        ("\\`[9]\\`", &["[9]"]),
        ("| a |\n|---|\n| [9] |", &["[9]"]),
        ("[see [9]](http://x)", &["[9]"]),
        ("![a [9]](http://x)", &["[9]"]),
        ("[1] [2][3] [0, 1] [1, 256] [-9] [x9]", &[]),
        ("```\n[9]\n```\n\n    [9]\n\n~~~\n[9]", &[]),
    ];
    for (markdown, expected) in table {
        assert_eq!(foreign_markers(markdown, SOURCES), *expected, "{markdown}");
    }
}

#[test]
fn what_was_not_given_goes_and_everything_else_stays() {
    for seed in 0..FILTERED {
        let mut random = Random::new(seed);
        let written = generated::answer(&mut random, SOURCES);
        let shown = filtered(&written.text, &mut random);
        assert_as_written(&written, &shown.text);
        let foreign = foreign_markers(&shown.text, SOURCES);
        let text = &written.text;
        assert!(foreign.is_empty(), "seed {seed}: {foreign:?}\n{text}");
        assert_eq!(shown.cited, written.cited, "seed {seed}\n{text}");
    }
}

#[test]
fn nothing_that_is_put_together_shows_a_number_that_was_not_given() {
    for seed in 0..10 * FILTERED {
        let mut random = Random::new(seed);
        let text = generated::debris(&mut random);
        let shown = filtered(&text, &mut random);
        let foreign = foreign_markers(&shown.text, SOURCES);
        let delivered = &shown.text;
        assert!(
            foreign.is_empty(),
            "seed {seed}: {foreign:?}\nwritten {text:?}\nshown {delivered:?}"
        );
        for so_far in shown.so_far {
            let foreign = foreign_markers(&so_far, SOURCES);
            assert!(foreign.is_empty(), "seed {seed}: {foreign:?} in {so_far:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_server_delivers_cites_what_it_was_given() {
    let question = json!({"question": "What does the scheduler do?"});
    let probe = server_that_says(json!([{"reply": "Tasks [1]."}])).await;
    let sources = given(&events(&stream(&probe, &question).await));
    let answers: Vec<Written> = (0..DELIVERED)
        .map(|seed| generated::answer(&mut Random::new(seed + FILTERED), sources))
        .collect();
    let reply = |(at, answer): (usize, &Written)| json!({"prompt": "answer", "reply": answer.text, "piece_characters": 1 + at % 11, "times": 1});
    let script: Vec<Value> = answers.iter().enumerate().map(reply).collect();
    let server = patient_server(&script.into()).await;
    for written in &answers {
        let events = events(&stream(&server, &question).await);
        assert_eq!(given(&events), sources);
        let shown = joined(&events);
        let done = &events.last().unwrap().1;
        assert_eq!(done["answer"], json!(shown), "the stream is the answer");
        assert_as_written(written, &shown);
        let foreign = foreign_markers(&shown, sources);
        assert!(foreign.is_empty(), "{foreign:?}\n{}", written.text);
        let cited = events.iter().filter(|(name, _)| name == "citation");
        let cited: Vec<u64> = cited
            .filter_map(|(_, data)| data["number"].as_u64())
            .collect();
        assert_eq!(json!(cited), json!(written.cited), "{}", written.text);
    }
}

/// One that answers in the end, however busy the machine is.
async fn patient_server(script: &Value) -> Server {
    let mut settings = Settings {
        chat: scripted_for(&[Role::Answer], script),
        ..Settings::default()
    };
    settings.ask.timeout_ms = 120_000;
    settings.answer.deadline_ms = 60_000;
    server(settings).await
}

/// How many sources the answer was made from.
fn given(events: &[(String, Value)]) -> u32 {
    let mut named = events.iter().filter(|(name, _)| name == "retrieval");
    let (_, retrieved) = named.next().unwrap();
    u32::try_from(retrieved["sources"].as_array().unwrap().len()).unwrap()
}
