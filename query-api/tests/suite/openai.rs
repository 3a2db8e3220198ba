//! OpenAI's interface, byte by byte; the official client drives the real binary in the tests of the
//! command line.

use serde_json::{Value, json};

use crate::ask::{server_that_says, unchunked};
use crate::common::client::Server;
use crate::http::source_code;

const REPLY: &str = "The scheduler picks the next task to run [1].";

fn question(model: &str) -> Value {
    json!({"model": model, "messages": [
        {"role": "system", "content": "Answer in French."},
        {"role": "user", "content": "What does the scheduler do?"}]})
}

async fn answering() -> Server {
    server_that_says(json!([{"prompt": "answer", "reply": REPLY, "piece_characters": 5}])).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_completion_is_the_answer_with_its_sources() {
    let server = answering().await;
    let answer = server
        .post("/v1/chat/completions", &question("general@kernel"))
        .await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let completion = answer.json();
    assert_eq!(completion["object"], "chat.completion");
    assert_eq!(completion["model"], "general@kernel");
    let choice = &completion["choices"][0];
    let content = choice["message"]["content"].as_str().unwrap();
    assert!(
        content.starts_with(&format!("{REPLY}\n\n---\n**Sources**\n- [1] The scheduler")),
        "{content}"
    );
    assert_eq!(choice["finish_reason"], "stop");
    let cited = &choice["message"]["annotations"][0]["url_citation"];
    assert_eq!(cited["url"], "https://example.org/manual/scheduler");
    let bound = |name: &str| usize::try_from(cited[name].as_u64().unwrap()).unwrap();
    let letters: Vec<char> = content.chars().collect();
    let place: String = letters[bound("start_index")..bound("end_index")]
        .iter()
        .collect();
    assert_eq!(place, "[1]");
    assert_eq!(completion["tributary"]["verdict"], "answered");
    assert_eq!(completion["tributary"]["ignored"], json!(["system"]));
    assert!(completion["usage"]["total_tokens"].is_u64());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_ends_with_usage_and_done() {
    let server = answering().await;
    let mut asked = question("general");
    asked["stream"] = json!(true);
    asked["stream_options"] = json!({"include_usage": true});
    let answer = server.post("/v1/chat/completions", &asked).await;
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    let body = unchunked(&answer.body);
    let events: Vec<&str> = body
        .split_terminator("\n\n")
        .filter_map(|event| event.strip_prefix("data: "))
        .collect();
    let (done, events) = events.split_last().unwrap();
    assert_eq!(*done, "[DONE]");
    let events: Vec<Value> = events
        .iter()
        .map(|event| serde_json::from_str(event).unwrap())
        .collect();
    assert_eq!(events[0]["choices"][0]["delta"]["role"], "assistant");
    let text: String = events
        .iter()
        .filter_map(|event| event["choices"][0]["delta"]["content"].as_str())
        .collect();
    assert!(
        text.starts_with(REPLY) && text.contains("**Sources**"),
        "{text}"
    );
    assert!(events.len() > 8, "it came in pieces");
    let usage = events.last().unwrap();
    assert_eq!(usage["choices"], json!([]));
    assert!(usage["usage"]["prompt_tokens"].is_u64(), "{usage}");
    assert!(events.iter().all(|event| event["id"] == events[0]["id"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn models_are_workflows_and_sets() {
    let server = Server::start().await;
    let list = server.get("/v1/models").await.json();
    let ids: Vec<&str> = list["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|model| model["id"].as_str().unwrap())
        .collect();
    for id in [
        "general",
        "general@common",
        "general@radio",
        "general@kernel",
        "error_map",
        "code@kernel",
        "course",
        "table",
        "report@radio",
    ] {
        assert!(ids.contains(&id), "{ids:?}");
    }
    for (id, status) in [
        ("general", 200),
        ("general@radio,common", 200),
        ("error-map", 200),
        ("error_map@kernel", 200),
        ("judge", 404),
        ("gpt-4o", 404),
        ("general@none", 404),
    ] {
        let answer = server.get(&format!("/v1/models/{id}")).await;
        assert_eq!(answer.status, status, "{answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_workflow_is_a_model() {
    let server = Server::start().await;
    server.kept.index.apply(vec![source_code()]);
    let expected = [
        (
            "error-map",
            "What does ERR-1024 mean?",
            "extractive",
            "ERR-1024",
        ),
        (
            "code@kernel",
            "What wakes page reclaim?",
            "extractive",
            "mm/wake.c:3-9",
        ),
        (
            "course",
            "What wakes page reclaim?",
            "extractive",
            "# Source code",
        ),
        ("table", "Which region sold most?", "refused", ""),
        (
            "report",
            "What does the scheduler pick?",
            "extractive",
            "## ",
        ),
    ];
    for (model, question, verdict, part) in expected {
        let body = json!({"model": model, "messages": [{"role": "user", "content": question}]});
        let answer = server.post("/v1/chat/completions", &body).await;
        assert_eq!(answer.status, 200, "{model}: {answer:?}");
        let completion = answer.json();
        assert_eq!(completion["model"], model);
        assert_eq!(
            completion["tributary"]["verdict"], verdict,
            "{model}: {completion}"
        );
        let content = &completion["choices"][0]["message"]["content"];
        let content = content.as_str().unwrap();
        assert!(
            !content.is_empty() && content.contains(part),
            "{model}: {content}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_offered_says_so_as_clients_read_it() {
    let server = Server::start().await;
    for path in ["/v1/embeddings", "/v1/audio/speech", "/v1/responses"] {
        let answer = server.post(path, &json!({"input": "x"})).await;
        assert_eq!(answer.status, 404);
        let error = &answer.json()["error"];
        assert_eq!(error["code"], "route_not_found");
        assert!(error["message"].as_str().unwrap().contains(path), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_of_a_course_has_the_text_of_both_parts() {
    let server = Server::start().await;
    server.kept.index.apply(vec![source_code()]);
    let asked = json!({"model": "course", "stream": true,
        "messages": [{"role": "user", "content": "What wakes page reclaim?"}]});
    let answer = server.post("/v1/chat/completions", &asked).await;
    let body = unchunked(&answer.body);
    let events = body.split_terminator("\n\n");
    let text: String = events
        .filter_map(|event| serde_json::from_str::<Value>(event.strip_prefix("data: ")?).ok())
        .filter_map(|event| Some(event["choices"][0]["delta"]["content"].as_str()?.to_owned()))
        .collect();
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"));
    assert!(at("# Source code") < at("mm/wake.c:3-9"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_have_the_shape_of_openai() {
    let server = Server::start().await;
    let with = |name: &str, value: Value| {
        let mut body = question("general");
        body[name] = value;
        body
    };
    let table = [
        (question("gpt-4o"), 404, "not_found"),
        (question("general@none"), 404, "unknown_knowledge_set"),
        (with("n", json!(2)), 422, "unsupported"),
        (
            with("tools", json!([{"type": "function"}])),
            422,
            "unsupported",
        ),
        (with("messages", json!([])), 400, "invalid"),
        (with("messages", json!("hello")), 400, "invalid"),
        (
            with("messages", json!([{"role": "user", "content": ""}])),
            400,
            "empty_query",
        ),
        (json!({"messages": []}), 400, "invalid"),
    ];
    for (body, status, code) in table {
        let answer = server.post("/v1/chat/completions", &body).await;
        assert_eq!(answer.status, status, "{body}: {answer:?}");
        let error = &answer.json()["error"];
        assert_eq!(error["code"], code, "{body}: {error}");
        assert_eq!(error["type"], "invalid_request_error");
        assert!(!error["message"].as_str().unwrap().is_empty());
    }
}
