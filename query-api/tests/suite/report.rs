//! The workflow `report`: sections written at the same time from passages of their own, what fails of
//! them, and files.

#![allow(clippy::print_stdout)]

use serde_json::{Value, json};
use tributary_models::chat::Role;

use crate::ask::{events, joined, scripted_for, server, stream};
use crate::common::client::Server;
use crate::common::{self, backend::Settings};

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

#[tokio::test(flavor = "multi_thread")]
async fn an_apology_is_no_section() {
    let script = json!([
        outline(3),
        section("Trees", json!({"reply": "I'm sorry, but I can't help with that."})),
        {"prompt": "report_section", "reply": SECTION},
    ]);
    let server = server_that_says(script).await;
    let asked = json!({"question": QUESTION, "depth": "deep"});
    let answer = server.post("/v1/report", &asked).await.json();
    let third = &answer["report"]["sections"][2];
    assert_eq!(third["written_by"], "extract", "{answer}");
    assert_eq!(third["failure"], "malformed", "{answer}");
    assert!(
        !answer["answer"].as_str().unwrap().contains("sorry"),
        "{answer}"
    );
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

/// A little relevant: a model may find something in it, the passages themselves are about something
/// else.
#[tokio::test(flavor = "multi_thread")]
async fn what_no_model_reads_is_refused_as_answers_are() {
    let mut config = common::answer_config();
    config.refuse_below = 1.0;
    config.refuse_below_with_model = 0.0;
    let scripts = [
        (json!([{"failure": "unreachable"}]), "refused"),
        (json!([outline(1), {"failure": "unreachable"}]), "refused"),
        (
            json!([{"prompt": "report_section", "reply": SECTION}, {"failure": "malformed"}]),
            "partly",
        ),
    ];
    for (script, verdict) in scripts {
        let server = server(Settings {
            answer: config.clone(),
            chat: scripted_for(&[Role::Answer, Role::Report], &script),
            ..Settings::default()
        })
        .await;
        let answer = server.post("/v1/ask", &asked("general")).await.json();
        assert_eq!(answer["verdict"], verdict, "{script}: {answer}");
    }
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

/// A SearXNG that knows one page, or is ill, and counts who asks.
fn live_server(status: &'static str) -> (String, std::sync::Arc<std::sync::atomic::AtomicUsize>) {
    use std::io::{Read, Write};
    use std::sync::atomic::Ordering;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let asked = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = std::sync::Arc::clone(&asked);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut request = [0; 4096];
            let read = stream.read(&mut request).unwrap_or(0);
            count.fetch_add(usize::from(read > 0), Ordering::SeqCst);
            let body = json!({"results": [{"title": "Ticks [x](javascript:y)",
                "url": "https://live.example/ticks", "content": "Ticks of the web are 4 ms long."}]});
            let body = body.to_string();
            let length = body.len();
            let head =
                format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length}");
            write!(stream, "{head}\r\n\r\n{body}").ok();
        }
    });
    (url, asked)
}

async fn server_with_live_search(url: &str, script: &Value) -> Server {
    let mut answer = crate::common::answer_config();
    answer.live.kind = tributary_retrieval::live::LiveKind::Searxng;
    answer.live.url = url.to_owned();
    server(Settings {
        chat: scripted_for(&[Role::Report], script),
        answer,
        ..Settings::default()
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_web_is_asked_where_it_is_wanted_and_its_pages_are_marked() {
    let count =
        |asked: &std::sync::atomic::AtomicUsize| asked.load(std::sync::atomic::Ordering::SeqCst);
    let (url, asked) = live_server("200 OK");
    let wants = "Ticks of the web are 4 ms long";
    let section = json!({"title": "Ticks", "questions": ["How long are ticks of the web?",
        "What are ticks of the web?"]});
    let plan = json!({"title": "Ticks", "sections": [section]}).to_string();
    let script = json!([{"prompt": "report_outline", "reply": plan},
        {"prompt": "report_section", "contains": wants,
        "reply": "Ticks of the web are 4 ms long [1][2][3][4][5][6]."}]);
    let server = server_with_live_search(&url, &script).await;
    let mut request = json!({"question": "How long are ticks of the web, and how are tasks kept?"});
    request["live"] = true.into();
    let answer = server.post("/v1/report", &request).await.json();
    assert!(count(&asked) > 0, "{answer}");
    let sources = answer["sources"].as_array().unwrap();
    let live: Vec<&Value> = sources
        .iter()
        .filter(|source| !source["live"].is_null())
        .collect();
    assert_eq!(live.len(), 1, "{answer}");
    assert_eq!(live[0]["url"], "https://live.example/ticks");
    assert_eq!(live[0]["live"]["service"], "searxng");
    assert!(live[0]["live"]["found_at"].as_str().unwrap().ends_with('Z'));
    assert_eq!(live[0]["cited"], true, "{answer}");
    let text = answer["answer"].as_str().unwrap();
    assert!(
        text.contains("<https://live.example/ticks> (web, 20"),
        "{text}"
    );
    assert!(!text.contains("[x](javascript"), "{text}");

    let before = count(&asked);
    request["live"] = false.into();
    let answer = server.post("/v1/report", &request).await.json();
    assert_eq!(answer["workflow"], "report", "{answer}");
    assert_eq!(count(&asked), before, "nobody asked for it");
    let other = json!({"question": QUESTION, "live": true, "workflow": "general"});
    let refused = server.post("/v1/ask", &other).await;
    assert!(
        refused.status == 400 && refused.body.contains("live"),
        "{refused:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_live_search_that_fails_or_is_not_there_fails_no_report() {
    let (url, asked) = live_server("500 Oops");
    let script = json!([outline(1), {"prompt": "report_section", "reply": SECTION}]);
    let request = json!({"question": QUESTION, "live": true});
    let ill = server_with_live_search(&url, &script).await;
    let none = server_that_says(script).await;
    for server in [ill, none] {
        let answer = server.post("/v1/report", &request).await.json();
        let degraded = answer["degraded"].as_array().unwrap();
        assert!(degraded.contains(&json!("live")), "{answer}");
        assert_eq!(
            answer["report"]["sections"][0]["written_by"], "model",
            "{answer}"
        );
    }
    assert!(asked.load(std::sync::atomic::Ordering::SeqCst) > 0);
}
