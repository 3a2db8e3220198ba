//! The workflow `report`: sections written at the same time from passages of their own, what fails of
//! them, and files.

#![allow(clippy::print_stdout)]

use serde_json::{Value, json};
use tributary_models::chat::Role;

use crate::ask::{events, joined, scripted_for, server, stream};
use crate::common::backend::Settings;
use crate::common::client::Server;

const QUESTION: &str = "How does the scheduler keep its tasks?";
const TITLES: [&str; 6] = [
    "Overview", "Picking", "Trees", "Classes", "Policies", "Summary",
];
/// What a section says, with citations that were given and such that were not.
const SECTION: &str = "The scheduler picks the next task to run on each processor [1]. Tasks are kept \
    in a tree ordered by virtual run time [2][99]. See [57].";

async fn server_that_says(script: Value) -> Server {
    let chat = scripted_for(&[Role::Report], &script);
    server(Settings {
        chat,
        ..Settings::default()
    })
    .await
}

fn outline(count: usize) -> Value {
    let sections: Vec<Value> = TITLES
        .iter()
        .take(count)
        .map(|title| {
            json!({"title": title, "questions": [format!("What are {title}?"),
                "How does the scheduler keep tasks?"]})
        })
        .collect();
    let reply = json!({"title": "Tasks", "sections": sections});
    json!({"prompt": "report_outline", "reply": reply.to_string()})
}

fn asked(depth: &str) -> Value {
    json!({"question": QUESTION, "workflow": "report", "depth": depth})
}

/// The section that is written now stands before its questions in the prompt.
fn section(title: &str, mut entry: Value) -> Value {
    entry["prompt"] = "report_section".into();
    entry["contains"] = format!("What are {title}?").into();
    entry
}

#[tokio::test(flavor = "multi_thread")]
async fn six_sections_cite_what_they_were_given_and_lose_no_text_when_two_fail() {
    let script = json!([
        outline(6),
        section("Trees", json!({"failure": "malformed"})),
        section("Policies", json!({"reply": "Half a", "failure": "unreachable"})),
        {"prompt": "report_section", "reply": SECTION},
    ]);
    let server = server_that_says(script).await;
    let streamed = stream(&server, &asked("deeper")).await;
    let events = events(&streamed);
    let (last, answer) = events.last().unwrap();
    assert_eq!(last, "done", "{answer}");
    assert_eq!(answer["workflow"], "report");
    assert_eq!(answer["verdict"], "partly", "{answer}");
    assert_eq!(joined(&events), answer["answer"].as_str().unwrap());
    let of_name = |wanted: &str| events.iter().filter(|(name, _)| name == wanted).count();
    assert_eq!((of_name("outline"), of_name("section")), (1, 6));
    let sections = answer["report"]["sections"].as_array().unwrap();
    let places: Vec<&str> = sections
        .iter()
        .map(|section| section["place"].as_str().unwrap())
        .collect();
    let expected = [
        "introduction",
        "middle",
        "middle",
        "middle",
        "middle",
        "conclusion",
    ];
    assert_eq!(places, expected);
    for (at, section) in sections.iter().enumerate() {
        let text = section["text"].as_str().unwrap();
        assert!(!text.is_empty() && !text.contains("[99]") && !text.contains("[57]"));
        let given = section["sources"].as_array().unwrap();
        let cited = section["cited"].as_array().unwrap();
        assert!(
            cited.iter().all(|number| given.contains(number)),
            "{section}"
        );
        let is_failed = at == 2 || at == 4;
        let by = if is_failed { "extract" } else { "model" };
        assert_eq!(section["written_by"], by, "{section}");
        assert_eq!(section.get("failure").is_some(), is_failed, "{section}");
        let whole = answer["answer"].as_str().unwrap();
        assert!(whole.contains(text), "the text of section {at} is there");
    }
    assert!(
        answer["degraded"]
            .as_array()
            .unwrap()
            .contains(&json!("report"))
    );
    assert!(
        answer["removed_citations"].as_u64().unwrap() >= 8,
        "{answer}"
    );
    let whole = answer["answer"].as_str().unwrap();
    assert!(whole.contains("## Sources\n\n- \\["), "{whole}");
    assert_eq!(whole.matches("No model wrote this section").count(), 2);
}

/// Milliseconds that writing all sections took.
async fn writing_ms(server: &Server, depth: &str, sections: usize) -> f64 {
    let asked = json!({"question": QUESTION, "depth": depth});
    let answer = server.post("/v1/report", &asked).await.json();
    let written = answer["report"]["sections"].as_array().unwrap();
    assert_eq!(written.len(), sections, "{answer}");
    let steps = answer["steps"].as_array().unwrap().iter();
    let writing = steps.filter(|step| step["step"] == "sections");
    writing.map(|step| step["ms"].as_f64().unwrap()).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn sections_are_written_at_the_same_time() {
    let slow = json!({"prompt": "report_section", "reply": SECTION, "delay_ms": 400});
    let mut one = outline(1);
    one["contains"] = "exactly 1, in the order".into();
    let server = server_that_says(json!([one, outline(6), slow])).await;
    let one = writing_ms(&server, "general", 1).await;
    let six = writing_ms(&server, "deeper", 6).await;
    println!(
        "one section {one:.0} ms, six {six:.0} ms: {:.2} times",
        six / one
    );
    // One after the other they would take six times as long.
    assert!(one >= 400.0 && six < 4.0 * one, "{one} {six}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_model_a_report_is_in_the_words_of_the_documents() {
    let server = server(Settings::default()).await;
    let answer = server.post("/v1/ask", &asked("deep")).await.json();
    assert_eq!(answer["verdict"], "extractive", "{answer}");
    let degraded = answer["degraded"].as_array().unwrap();
    assert!(degraded.contains(&json!("outline")) && degraded.contains(&json!("report")));
    let sections = answer["report"]["sections"].as_array().unwrap();
    assert!((1..=3).contains(&sections.len()), "{answer}");
    let nothing = json!({"question": QUESTION, "filter": {"tags": ["nobody has it"]}});
    let refused = server.post("/v1/report", &nothing).await.json();
    assert_eq!(refused["verdict"], "refused", "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_depth_is_for_reports_and_files_come_in_the_format_asked_for() {
    let server = server(Settings::default()).await;
    let general = json!({"question": QUESTION, "workflow": "general", "depth": "deep"});
    let refused = server.post("/v1/ask", &general).await;
    assert!(
        refused.status == 400 && refused.body.contains("depth"),
        "{refused:?}"
    );
    let refused = server.post("/v1/report", &general).await;
    assert!(
        refused.status == 400 && refused.body.contains("always report"),
        "{refused:?}"
    );
    let file = |format: &str| {
        json!({"markdown": "# A\n\nB [1]. <script>x</script>", "title": "A",
        "format": format})
    };
    let html = server.post("/v1/report/export", &file("html")).await;
    assert!(html.body.contains("<!doctype html>") && !html.body.contains("<script"));
    let markdown = server.post("/v1/report/export", &file("markdown")).await;
    assert!(markdown.body.contains("# A\n\nB [1]."), "{markdown:?}");
    let refused = server.post("/v1/report/export", &file("pdf")).await;
    assert!(
        refused.status == 400 && refused.body.contains("pdf"),
        "{refused:?}"
    );
}
