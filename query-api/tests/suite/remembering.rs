//! What questions are told of older rounds: a summary that a model makes once, or extracts.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tributary_models::chat::Role;
use tributary_schemas::conversation::ConversationSummary;

use crate::ask::{scripted_for, server};
use crate::common::backend::Settings;
use crate::common::client::Server;

const ROUNDS: [&str; 6] = ["one", "two", "three", "four", "five", "six"];
/// Long enough for any machine.
const PATIENCE: Duration = Duration::from_secs(60);

async fn server_that_says(roles: &[Role], script: Value) -> Server {
    let chat = scripted_for(roles, &script);
    let settings = Settings {
        chat,
        ..Settings::default()
    };
    server(settings).await
}

fn question(number: &str) -> String {
    format!("What does the scheduler do, question {number}?")
}

async fn ask(server: &Server, conversation: &str, number: &str) -> Value {
    let body = json!({"question": question(number), "conversation_id": conversation});
    let answer = server.post("/v1/ask", &body).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

/// Waits until the summary holds so many turns.
async fn summed_up(server: &Server, conversation: &str, through: u64) -> ConversationSummary {
    let started = Instant::now();
    loop {
        let summary = server.kept.conversations.summary(None, conversation).await;
        match summary.unwrap() {
            Some(summary) if summary.through == through => return summary,
            other => assert!(started.elapsed() < PATIENCE, "{other:?}"),
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn summary(contains: &str, text: &str) -> Value {
    let reply = json!({"summary": text}).to_string();
    json!({"prompt": "conversation_summary", "contains": contains, "times": 1, "reply": reply})
}

#[tokio::test(flavor = "multi_thread")]
async fn older_rounds_are_summed_up_once_and_told_in_short() {
    let script = json!([
        summary("SUMMARY-OF-ONE", "SUMMARY-OF-TWO"),
        summary("question one", "SUMMARY-OF-ONE"),
        {"prompt": "answer", "contains": "SUMMARY-OF-TWO", "reply": "It knows of both [1]."},
        {"prompt": "answer", "contains": "SUMMARY-OF-ONE", "reply": "It knows of one [1]."},
        {"prompt": "answer", "reply": "The scheduler picks the next task to run [1]."},
    ]);
    let server = server_that_says(&[Role::Answer, Role::Summarize], script).await;
    let id = server.kept.conversations.create(None, "").await.unwrap().id;
    for number in &ROUNDS[..3] {
        let answer = ask(&server, &id, number).await;
        assert_eq!(answer["degraded"], json!([]), "{answer}");
    }
    assert_eq!(
        server.kept.conversations.summary(None, &id).await.unwrap(),
        None,
        "the last rounds are known word for word"
    );
    ask(&server, &id, ROUNDS[3]).await;
    let summary = summed_up(&server, &id, 1).await;
    assert_eq!(summary.text, "SUMMARY-OF-ONE");
    assert!(!summary.model.is_empty());
    let fifth = ask(&server, &id, ROUNDS[4]).await;
    assert_eq!(fifth["answer"], "It knows of one [1].", "{fifth}");
    assert_eq!(fifth["degraded"], json!([]), "{fifth}");
    summed_up(&server, &id, 2).await;
    let sixth = ask(&server, &id, ROUNDS[5]).await;
    assert_eq!(sixth["answer"], "It knows of both [1].", "{sixth}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_model_older_rounds_are_told_in_extracts_and_it_is_said() {
    let script = json!([
        {"prompt": "answer", "contains": "Q: What does the scheduler do, question one?",
            "reply": "The scheduler picks the next task to run, as it was said [1]."},
        {"prompt": "answer", "reply": "Nothing was said."},
    ]);
    let server = server_that_says(&[Role::Answer], script.clone()).await;
    let store = &server.kept.conversations;
    let id = store.create(None, "").await.unwrap().id;
    let mut last = Value::Null;
    for number in ROUNDS {
        last = ask(&server, &id, number).await;
    }
    assert_eq!(
        last["answer"], "The scheduler picks the next task to run, as it was said [1].",
        "{last}"
    );
    assert_eq!(last["degraded"], json!(["history"]), "{last}");
    assert_eq!(store.summary(None, &id).await.unwrap(), None);
    let history: Vec<Value> = ROUNDS
        .iter()
        .map(|number| json!({"question": question(number), "answer": "It was said."}))
        .collect();
    for (rounds, degraded) in [(3, json!([])), (4, json!(["history"]))] {
        let body = json!({"question": question("x"), "history": history[..rounds]});
        let answer = server.post("/v1/ask", &body).await.json();
        assert_eq!(answer["degraded"], degraded, "{answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_cannot_sum_up_costs_nobody_an_answer() {
    let script = json!([
        {"prompt": "conversation_summary", "reply": "no JSON"},
        {"prompt": "answer", "reply": "The scheduler picks the next task to run [1]."},
    ]);
    let server = server_that_says(&[Role::Answer, Role::Summarize], script).await;
    let id = server.kept.conversations.create(None, "").await.unwrap().id;
    for (at, number) in ROUNDS.iter().enumerate() {
        let answer = ask(&server, &id, number).await;
        assert_eq!(answer["verdict"], "answered", "{answer}");
        let degraded = if at > 3 {
            json!(["history"])
        } else {
            json!([])
        };
        assert_eq!(answer["degraded"], degraded, "{answer}");
    }
}
