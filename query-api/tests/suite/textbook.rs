//! The workflow `textbook`: suggestion, judged passages, one second round, and each lesser way.

use serde_json::{Value, json};
use tributary_models::chat::Role;
use tributary_schemas::ask::Workflow;

use crate::ask::{events, scripted_for, server, stream};
use crate::common::backend::Settings;
use crate::common::client::Server;
use crate::common::{self};

const QUESTION: &str = "How does the scheduler keep its tasks?";
const ROLES: [Role; 3] = [Role::Understand, Role::Judge, Role::Answer];

async fn server_that_says(script: Value) -> Server {
    let chat = scripted_for(&ROLES, &script);
    let settings = Settings {
        chat,
        ..Settings::default()
    };
    server(settings).await
}

fn entry(prompt: &str, reply: &Value) -> Value {
    json!({"prompt": prompt, "reply": reply.to_string()})
}

fn understanding() -> Value {
    let reply = json!({"standalone_question": QUESTION, "variants": [], "intent": "fact",
        "entities": [], "search_keywords": [], "sub_queries": []});
    entry("understanding", &reply)
}

fn suggestion() -> Value {
    let reply = json!({"reasoning": "Scheduling keeps tasks.", "intent": "definition",
        "confidence": 0.8, "search_keywords": ["scheduler"],
        "suggested_queries": ["tree of tasks", "virtual run time"]});
    entry("retrieval_suggestion", &reply)
}

fn relevance(contains: &str, relevant: bool) -> Value {
    let mut entry = entry("relevance", &json!({"reason": "r", "relevant": relevant}));
    entry["contains"] = contains.into();
    entry
}

fn sufficiency(missing: &[&str]) -> Value {
    let reply = json!({"reason": "r", "sufficient": missing.is_empty(), "missing": missing});
    entry("sufficiency", &reply)
}

/// One passage in the first round; the second round looks for an error code.
fn two_rounds() -> Value {
    json!([
        understanding(),
        suggestion(),
        relevance("Completely fair scheduling", true),
        relevance("ERR-1024", true),
        relevance("", false),
        sufficiency(&["ERR-1024", QUESTION]),
        {"prompt": "textbook_answer", "contains": "ERR-1024",
            "reply": "Completely fair scheduling keeps tasks in a tree ordered by virtual run time [1]."},
    ])
}

fn asked(body: Value) -> Value {
    let mut asked = json!({"question": QUESTION, "workflow": "textbook", "top_k": 1});
    asked
        .as_object_mut()
        .unwrap()
        .extend(body.as_object().unwrap().clone());
    asked
}

async fn ask(server: &Server, body: Value) -> Value {
    let answer = server.post("/v1/ask", &asked(body)).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_missing_is_searched_for_once_more_and_joins_the_answer() {
    let server = server_that_says(two_rounds()).await;
    let streamed = stream(&server, &asked(json!({"explain": true}))).await;
    let events = events(&streamed);
    let thought: Vec<&str> = events
        .iter()
        .filter(|(name, _)| name == "thinking")
        .map(|(_, data)| data["step"].as_str().unwrap())
        .collect();
    let expected = [
        "suggestion",
        "understanding",
        "retrieval",
        "relevance",
        "sufficiency",
        "second_retrieval",
        "relevance",
        "answer",
    ];
    assert_eq!(thought, expected);
    let shown: Vec<usize> = events
        .iter()
        .filter(|(name, _)| name == "retrieval")
        .map(|(_, data)| data["sources"].as_array().unwrap().len())
        .collect();
    assert!(
        shown.len() == 2 && shown[0] == 1 && shown[1] > 1,
        "{shown:?}"
    );
    let (_, answer) = events.last().unwrap();
    assert_eq!(answer["verdict"], "answered", "{answer}");
    assert_eq!(answer["workflow"], "textbook");
    assert_eq!(answer["degraded"], json!([]), "{answer}");
    let numbers: Vec<u64> = answer["sources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|source| source["number"].as_u64().unwrap())
        .collect();
    let expected: Vec<u64> = (1..).take(shown[1]).collect();
    assert_eq!(numbers, expected);
    let review = &answer["review"];
    assert_eq!(
        review["suggestion"]["suggested_queries"][0],
        "tree of tasks"
    );
    let rounds = review["rounds"].as_array().unwrap();
    assert_eq!(rounds.len(), 2, "{review}");
    assert_eq!(
        rounds[0]["queries"],
        json!([QUESTION, "tree of tasks", "virtual run time"])
    );
    assert_eq!(rounds[0]["sufficient"], false);
    assert_eq!(
        rounds[1]["queries"],
        json!(["ERR-1024"]),
        "what was searched for is not searched for again"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_enough_is_not_searched_for_again_and_what_is_irrelevant_goes() {
    let script = json!([
        understanding(),
        suggestion(),
        relevance("Completely fair scheduling", true),
        relevance("", false),
        sufficiency(&[]),
        {"prompt": "textbook_answer", "reply": "The scheduler keeps tasks in a tree [1]."},
    ]);
    let server = server_that_says(script).await;
    let answer = ask(
        &server,
        json!({"top_k": 8, "question": "任务 scheduler 载波聚合"}),
    )
    .await;
    let rounds = answer["review"]["rounds"].as_array().unwrap();
    assert_eq!(rounds.len(), 1, "{answer}");
    assert!(
        rounds[0]["found"].as_u64() > rounds[0]["relevant"].as_u64(),
        "{answer}"
    );
    let sources = answer["sources"].as_array().unwrap();
    assert_eq!(sources.len(), 1, "{answer}");
    assert_eq!(sources[0]["document_id"], "manual/scheduler");
    assert_eq!(sources[0]["number"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn where_nothing_is_relevant_the_question_is_refused() {
    let script = json!([
        understanding(),
        suggestion(),
        relevance("", false),
        sufficiency(&[])
    ]);
    let server = server_that_says(script).await;
    let answer = ask(&server, json!({})).await;
    assert_eq!(answer["verdict"], "refused", "{answer}");
    assert_eq!(answer["sources"], json!([]));
    assert!(
        !answer["related"].as_array().unwrap().is_empty(),
        "{answer}"
    );
    assert_eq!(answer["degraded"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_models_everything_is_kept_and_each_lesser_way_is_named() {
    let server = server(Settings::default()).await;
    let answer = ask(&server, json!({"top_k": 8})).await;
    assert_eq!(answer["verdict"], "extractive", "{answer}");
    assert_eq!(
        answer["degraded"],
        json!(["suggestion", "relevance", "sufficiency", "answer"])
    );
    let round = &answer["review"]["rounds"][0];
    assert_eq!(round["found"], round["relevant"]);
    assert!(round["sufficient"].is_null());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_judge_that_fails_keeps_the_passage_and_takes_it_for_enough() {
    let reply = "Completely fair scheduling keeps tasks in a tree ordered by virtual run time [1].";
    let broken = [
        json!({"prompt": "relevance", "reply": "It is relevant."}),
        json!({"prompt": "relevance", "failure": "unreachable"}),
        json!({"prompt": "relevance", "reply": "late", "delay_ms": 60_000}),
    ];
    for judge in broken {
        let script = json!([
            understanding(),
            {"prompt": "retrieval_suggestion", "reply": "{\"suggested_queries\": 1}"},
            judge,
            {"prompt": "sufficiency", "reply": "{}"},
            {"prompt": "textbook_answer", "reply": reply},
        ]);
        let settings = Settings {
            chat: scripted_for(&ROLES, &script),
            answer: tributary_retrieval::answer::AnswerConfig {
                textbook: tributary_retrieval::TextbookConfig {
                    deadline_ms: 700,
                    ..common::answer_config().textbook
                },
                ..common::answer_config()
            },
            ..Settings::default()
        };
        let answer = ask(&server(settings).await, json!({})).await;
        assert_eq!(answer["verdict"], "answered", "{judge}: {answer}");
        let degraded = json!(["suggestion", "relevance", "sufficiency"]);
        assert_eq!(answer["degraded"], degraded, "{judge}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_configuration_chooses_where_the_request_does_not() {
    let settings = Settings {
        answer: tributary_retrieval::answer::AnswerConfig {
            workflow: Workflow::Textbook,
            ..common::answer_config()
        },
        ..Settings::default()
    };
    let server = server(settings).await;
    let table = [
        (json!({"question": QUESTION}), "textbook"),
        (
            json!({"question": QUESTION, "workflow": "general"}),
            "general",
        ),
    ];
    for (body, workflow) in table {
        let answer = server.post("/v1/ask", &body).await.json();
        assert_eq!(answer["workflow"], workflow, "{answer}");
        assert_eq!(answer.get("review").is_some(), workflow == "textbook");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_workflow_is_refused_with_the_known_ones() {
    let server = server(Settings::default()).await;
    let body = json!({"question": "q", "workflow": "magic"});
    let refused = server.post("/v1/ask", &body).await;
    assert_eq!(refused.status, 400);
    for part in ["magic", "general", "textbook"] {
        assert!(refused.body.contains(part), "{refused:?}");
    }
    let models = server.get("/v1/models").await.json();
    let names: Vec<&str> = models["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|model| model["id"].as_str().unwrap())
        .collect();
    assert!(names.contains(&"textbook") && names.contains(&"textbook@kernel"));
}

#[tokio::test(flavor = "multi_thread")]
async fn openais_interface_answers_by_it_too() {
    let server = server_that_says(two_rounds()).await;
    let body = json!({"model": "textbook@kernel,common", "messages": [
        {"role": "user", "content": QUESTION}]});
    let completion = server.post("/v1/chat/completions", &body).await.json();
    let content = completion["choices"][0]["message"]["content"].as_str();
    let starts = content.is_some_and(|text| text.starts_with("Completely fair scheduling"));
    assert!(starts, "{completion}");
}
