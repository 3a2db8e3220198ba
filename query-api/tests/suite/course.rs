//! The workflows `code` and `course`: what the sources do not cover is refused, and where one part of
//! a course fails or finds nothing, the answer says so and the other part is whole.

use serde_json::{Value, json};
use tributary_retrieval::answer::AnswerConfig;

use crate::ask::{events, scripted_for, server, stream};
use crate::common::backend::Settings;
use crate::common::client::Server;
use crate::common::{self};
use crate::http::source_code;
use tributary_models::chat::Role;

const REFUSAL: &str = "The documents do not answer this question.";
const QUESTION: &str = "What picks the next task, and what wakes page reclaim?";
const OF_BOOK: &str = "The scheduler picks the next task to run on each processor [1].";

fn config() -> AnswerConfig {
    let mut config = common::answer_config();
    config.course.textbook.sources = vec!["manual".to_owned()];
    config.course.code.sources = vec!["code".to_owned()];
    config.refuse_below = 0.05;
    config
}

async fn with_book_and_code(answer: AnswerConfig) -> Server {
    let explained = "## Purpose\n\nIt wakes the function that reclaims pages [4].\n\n## Flow\n\n`wake` calls `up` [4].";
    let script = json!([
        {"prompt": "textbook_answer", "reply": OF_BOOK},
        {"prompt": "code_explanation", "reply": explained},
    ]);
    let server = server(Settings {
        chat: scripted_for(&[Role::Answer], &script),
        answer,
        ..Settings::default()
    })
    .await;
    server.kept.index.apply(vec![source_code()]);
    server
}

/// The answer, and what is told of both parts when they are over.
async fn asked(server: &Server) -> (Value, Value, Value) {
    let body = json!({"question": QUESTION, "workflow": "course"});
    let events = events(&stream(server, &body).await);
    let of_name = |wanted: &str| {
        let found = events.iter().find(|(name, _)| name == wanted);
        found.map(|(_, data)| data.clone()).unwrap_or_default()
    };
    (
        of_name("done"),
        of_name("textbook_done"),
        of_name("code_done"),
    )
}

fn names(answer: &Value, part: &str) -> bool {
    let degraded = answer["degraded"].as_array().unwrap();
    degraded.contains(&json!(part))
}

fn text(answer: &Value) -> &str {
    answer["answer"].as_str().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_course_has_both_parts_with_sources_of_their_own() {
    let server = with_book_and_code(config()).await;
    let (answer, book, code) = asked(&server).await;
    let said = text(&answer);
    assert!(said.starts_with(OF_BOOK), "{said}");
    let heading = said.find("# Source code").unwrap();
    assert!(heading < said.find("## Purpose").unwrap(), "{said}");
    assert_eq!(
        (&book["verdict"], &code["failure"]),
        (&json!("answered"), &Value::Null)
    );
    assert!(
        !names(&answer, "textbook") && !names(&answer, "code"),
        "{answer}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_course_without_code_is_the_whole_answer_of_the_book() {
    let mut config = config();
    config.course.code.sources = vec!["nowhere".to_owned()];
    let server = with_book_and_code(config).await;
    let (answer, _, code) = asked(&server).await;
    assert_eq!(
        (text(&answer), &answer["verdict"]),
        (OF_BOOK, &json!("answered"))
    );
    assert!(
        names(&answer, "code") && !names(&answer, "textbook"),
        "{answer}"
    );
    assert_eq!(code["verdict"], "refused");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_course_without_a_book_explains_the_code() {
    let mut config = config();
    config.course.textbook.sources = vec!["nowhere".to_owned()];
    let server = with_book_and_code(config).await;
    let (answer, book, _) = asked(&server).await;
    assert!(
        text(&answer).starts_with("# Source code\n\n## Purpose"),
        "{answer}"
    );
    assert!(
        names(&answer, "textbook") && !names(&answer, "code"),
        "{answer}"
    );
    assert_eq!(book["verdict"], "refused");
    let sources = answer["sources"].as_array().unwrap();
    assert!(!sources.is_empty() && sources.iter().all(|one| one["source"] == "code"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_that_fails_is_named_and_the_other_one_is_whole() {
    let server = with_book_and_code(config()).await;
    server.kept.index.break_source("code");
    let (answer, _, code) = asked(&server).await;
    assert_eq!(
        (text(&answer), &answer["verdict"]),
        (OF_BOOK, &json!("answered"))
    );
    assert!(names(&answer, "code"), "{answer}");
    assert_eq!(code["failure"], "unavailable", "{code}");

    let server = with_book_and_code(config()).await;
    server.kept.index.break_source("manual");
    let (answer, book, _) = asked(&server).await;
    assert!(
        text(&answer).starts_with("# Source code\n\n## Purpose"),
        "{answer}"
    );
    assert!(names(&answer, "textbook"), "{answer}");
    assert_eq!(book["failure"], "unavailable", "{book}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_course_of_which_nothing_answers_says_so_once() {
    let mut without = config();
    without.course.textbook.sources = vec!["nowhere".to_owned()];
    let server = with_book_and_code(without).await;
    server.kept.index.break_source("code");
    let (answer, ..) = asked(&server).await;
    assert_eq!(
        (text(&answer), &answer["verdict"]),
        (REFUSAL, &json!("refused"))
    );
    assert!(names(&answer, "code"), "{answer}");

    let server = with_book_and_code(config()).await;
    for source in ["code", "manual"] {
        server.kept.index.break_source(source);
    }
    let body = json!({"question": QUESTION, "workflow": "course"});
    let failed = server.post("/v1/ask", &body).await;
    assert_eq!(
        (failed.status, failed.code().as_str()),
        (503, "unavailable")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn code_that_does_not_cover_the_question_is_not_explained() {
    let server = with_book_and_code(config()).await;
    let ask = async |question: &str| {
        let body = json!({"question": question, "workflow": "code",
            "filter": {"sources": ["code"]}});
        server.post("/v1/ask", &body).await.json()
    };
    let answer = ask("What wakes page reclaim?").await;
    assert!(text(&answer).starts_with("## Purpose"), "{answer}");
    let relevance = answer["sources"][0]["relevance"].as_f64().unwrap();
    assert!(relevance >= 0.1, "{relevance}");
    let answer = ask("Who won the chess tournament in Reykjavik?").await;
    assert_eq!(
        (text(&answer), &answer["verdict"]),
        (REFUSAL, &json!("refused"))
    );
    assert_eq!(answer["sources"], json!([]));
    let steps = answer["steps"].as_array().unwrap();
    assert!(
        steps.iter().all(|step| step["step"] != "answer"),
        "no model is asked: {answer}"
    );
}
