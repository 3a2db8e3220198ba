//! Retrieval on demand: a scripted model that calls the tool `search`, and what it may do wrong.

use serde_json::{Value, json};
use tributary_models::chat::Role;

use crate::ask::{events, scripted_for, server, stream};
use crate::common::backend::Settings;
use crate::common::client::Server;

const QUESTION: &str = "How does the scheduler keep its tasks?";
const REPLY: &str =
    "Completely fair scheduling keeps tasks in a tree ordered by virtual run time [1].";

async fn server_that_says(script: Value) -> Server {
    let chat = scripted_for(&[Role::Answer], &script);
    let settings = Settings {
        chat,
        ..Settings::default()
    };
    server(settings).await
}

fn search(query: &str) -> Value {
    let arguments = json!({"query": query});
    json!({"prompt": "on_demand", "times": 1, "calls": [{"name": "search", "arguments": arguments}]})
}

fn asked(question: &str) -> Value {
    json!({"question": question, "retrieval": "on_demand", "explain": true})
}

async fn ask(script: Value, question: &str) -> Value {
    let server = server_that_says(script).await;
    let answer = server.post("/v1/ask", &asked(question)).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

fn queries(answer: &Value) -> Vec<&str> {
    let rounds = answer["review"]["rounds"].as_array().unwrap();
    let queries = rounds.iter().map(|round| &round["queries"][0]);
    queries.map(|query| query.as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_model_searches_until_it_has_enough_and_the_answer_is_checked_as_ever() {
    let script = json!([
        search("scheduler tasks"),
        // The second call sees the passages of the first, as data.
        {"prompt": "on_demand", "contains": "</data-", "reply": "DONE"},
        {"prompt": "answer", "reply": format!("{REPLY} It is blue [9].")},
    ]);
    let server = server_that_says(script).await;
    let streamed = stream(&server, &asked(QUESTION)).await;
    let events = events(&streamed);
    let steps: Vec<&str> = events
        .iter()
        .filter(|(name, _)| name == "thinking")
        .map(|(_, data)| data["step"].as_str().unwrap())
        .collect();
    assert_eq!(steps, ["understanding", "retrieval", "search", "answer"]);
    let (_, answer) = events.last().unwrap();
    assert_eq!(answer["verdict"], "partly", "{answer}");
    assert_eq!(answer["degraded"], json!([]), "{answer}");
    assert_eq!(answer["removed_citations"], 1);
    assert_eq!(queries(answer), ["scheduler tasks"]);
    assert_eq!(answer["sources"][0]["document_id"], "manual/scheduler");
}

#[tokio::test(flavor = "multi_thread")]
async fn searches_are_counted_and_add_up() {
    let script = json!([
        search("scheduler tasks"),
        search("ERR-1024"),
        search("never"),
        {"prompt": "answer", "contains": "ERR-1024", "reply": REPLY},
    ]);
    let answer = ask(script, QUESTION).await;
    assert_eq!(queries(&answer), ["scheduler tasks", "ERR-1024"]);
    let documents: Vec<&str> = answer["sources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|source| source["document_id"].as_str().unwrap())
        .collect();
    assert!(documents.contains(&"manual/scheduler") && documents.len() > 1);
    assert_eq!(answer["verdict"], "answered", "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_make_no_sense_are_told_so_and_count() {
    let call = |name: &str, arguments: Value| json!({"prompt": "on_demand", "times": 1, "calls": [{"name": name, "arguments": arguments}]});
    let wrong = [
        (call("delete_everything", json!({})), "no such tool"),
        (call("search", json!("{")), "arguments must be"),
        (
            call("search", json!({"query": " "})),
            "cannot be searched for",
        ),
    ];
    for (call, told) in wrong {
        let script = json!([
            call,
            {"prompt": "on_demand", "contains": told, "times": 1,
                "calls": [{"name": "search", "arguments": {"query": "scheduler tasks"}}]},
            {"prompt": "answer", "reply": REPLY},
        ]);
        let answer = ask(script, QUESTION).await;
        assert_eq!(queries(&answer), ["scheduler tasks"], "{told}");
        assert_eq!(answer["degraded"], json!([]), "{told}: {answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_answered_from_nothing() {
    let scripts = [
        json!([{"prompt": "on_demand", "reply": "In a list, as everybody knows."},
            {"prompt": "answer", "reply": REPLY}]),
        json!([{"prompt": "on_demand", "failure": "refused"},
            {"prompt": "answer", "reply": REPLY}]),
    ];
    for script in scripts {
        let answer = ask(script.clone(), QUESTION).await;
        assert_eq!(answer["answer"], REPLY, "{script}: {answer}");
        assert_eq!(answer["degraded"], json!(["on_demand"]));
        assert_eq!(answer["verdict"], "answered");
    }
    let script = json!([search("没有的东西 zzzz"), {"prompt": "on_demand", "reply": "DONE"},
        {"prompt": "answer", "reply": "Something [1]."}]);
    let mut body = asked(QUESTION);
    body["filter"] = json!({"tags": ["nobody has it"]});
    let answer = server_that_says(script).await.post("/v1/ask", &body).await;
    assert_eq!(answer.json()["verdict"], "refused");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_greeting_needs_no_search_and_says_that_it_has_no_sources() {
    let script = json!([{"prompt": "on_demand", "reply": "Hello! [1]"}]);
    let answer = ask(script, "Hello!").await;
    assert_eq!(answer["verdict"], "unsourced", "{answer}");
    assert_eq!(answer["answer"], "Hello!");
    assert_eq!(answer["removed_citations"], 1);
    assert_eq!(answer["sources"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_fails_in_the_middle_keeps_what_it_found() {
    let script = json!([
        search("scheduler tasks"),
        {"prompt": "on_demand", "failure": "overloaded"},
        {"prompt": "answer", "reply": REPLY},
    ]);
    let answer = ask(script, QUESTION).await;
    assert_eq!(answer["answer"], REPLY);
    assert_eq!(answer["degraded"], json!(["on_demand"]));
    assert_eq!(queries(&answer), ["scheduler tasks"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_model_the_way_is_automatic_and_named() {
    let server = server(Settings::default()).await;
    let answer = server.post("/v1/ask", &asked(QUESTION)).await.json();
    assert_eq!(answer["verdict"], "extractive", "{answer}");
    assert_eq!(answer["degraded"], json!(["on_demand", "answer"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_of_a_request_hold_or_are_refused() {
    let server = server(Settings::default()).await;
    let with = |name: &str, value: Value| {
        let mut body = json!({"question": QUESTION});
        body[name] = value;
        body
    };
    let sql = server.post("/v1/ask", &with("nl2sql", json!(true))).await;
    assert_eq!(sql.json()["degraded"], json!(["answer", "nl2sql"]));
    let off = server.post("/v1/ask", &with("nl2sql", json!(false))).await;
    assert_eq!(off.json()["degraded"], json!(["answer"]));
    let best = server
        .post("/v1/ask", &with("minimum_score", json!(1.0)))
        .await
        .json();
    let all = server
        .post("/v1/ask", &with("minimum_score", json!(0.0)))
        .await;
    let count = |answer: &Value| answer["sources"].as_array().unwrap().len();
    assert!(count(&best) <= count(&all.json()), "{best}");
    for (name, value) in [
        ("minimum_score", json!(1.5)),
        ("retrieval", json!("always")),
        ("nl2sql", json!("yes")),
    ] {
        let refused = server.post("/v1/ask", &with(name, value)).await;
        assert_eq!((refused.status, refused.code().as_str()), (400, "invalid"));
        assert!(
            refused.body.contains(name) || refused.body.contains("on_demand") || name == "nl2sql"
        );
    }
    let mut both = asked(QUESTION);
    both["workflow"] = json!("textbook");
    let refused = server.post("/v1/ask", &both).await;
    assert_eq!(refused.status, 400);
    assert!(refused.body.contains("on_demand"), "{refused:?}");
}
