//! The workflow `error_map`: a log becomes a query, the answer has a form, code and environment are
//! those of the sources, and each lesser way is named. Sides are data; `general` may have some too.

use serde_json::{Value, json};
use tributary_models::chat::Role;
use tributary_retrieval::answer::AnswerConfig;
use tributary_retrieval::{Scope, Side, SideText};
use tributary_schemas::ask::Workflow;
use tributary_schemas::search::Strategy;
use tributary_schemas::understanding::Intent;

use crate::ask::{events, joined, scripted_for, server, stream};
use crate::common::backend::Settings;
use crate::common::client::Server;
use crate::common::{self};

const LOG: &str = "Traceback (most recent call last):\n  File \"/opt/radio/activate.py\", line 33, in <module>\n    cell.activate(carrier=2)\nActivationError: ERR-1024 辅小区激活失败 at 0x7f3a2b4c5d60";

fn side(name: &str, set: &str) -> Side {
    Side {
        name: name.to_owned(),
        scope: Scope {
            knowledge_sets: vec![set.to_owned()],
            ..Scope::default()
        },
        keyword_weight: Some(0.9),
        top_k: 2,
        ..Side::default()
    }
}

fn config(sides: Vec<Side>) -> AnswerConfig {
    let mut config = common::answer_config();
    config.error_map.sides = sides;
    config.error_map.refuse_below = 0.01;
    config
}

async fn server_with(answer: AnswerConfig, script: Option<Value>) -> Server {
    let chat = script.map(|script| scripted_for(&[Role::Answer, Role::Understand], &script));
    server(Settings {
        answer,
        chat: chat.unwrap_or_default(),
        ..Settings::default()
    })
    .await
}

async fn ask(server: &Server, question: &str) -> Value {
    let body = json!({"question": question, "workflow": "error_map"});
    let answer = server.post("/v1/ask", &body).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

fn section_text(answer: &Value, name: &str) -> Option<String> {
    let sections = answer["sections"].as_array()?;
    let section = sections.iter().find(|section| section["name"] == name)?;
    let bound = |name: &str| usize::try_from(section["span"][name].as_u64()?).ok();
    let text = answer["answer"].as_str()?;
    let (start, end) = (bound("start")?, bound("end")?);
    Some(text.chars().skip(start).take(end - start).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_model_a_log_is_answered_in_the_same_form() {
    let sides = vec![side("radio", "radio"), side("kernel", "kernel")];
    let server = server_with(config(sides), None).await;
    let answer = ask(&server, LOG).await;
    assert_eq!(answer["verdict"], "extractive", "{answer}");
    assert_eq!(answer["degraded"], json!(["answer"]), "{answer}");
    let map = &answer["error_map"];
    assert_eq!(map["is_log"], true);
    assert_eq!(
        map["errors"],
        json!(["ActivationError: ERR-1024 辅小区激活失败"])
    );
    let found = answer["sides"].as_array().unwrap();
    assert_eq!(found.len(), 2, "{answer}");
    for side in found {
        let query = side["query"].as_str().unwrap();
        assert!(
            query.contains("ERR-1024") && !query.contains("/opt"),
            "{query}"
        );
    }
    assert!(section_text(&answer, "solution").is_some(), "{answer}");
    assert_eq!(map["environment"], json!([]), "no source speaks of it");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_models_answer_is_divided_and_its_code_is_checked_while_it_streams() {
    let reply = "## 问题分析\n\n错误码 ERR-1024 表示配置失败 [1]。\n\n## 解决方案\n\n检查许可 [1]：\n\n```sh\nrm -rf /\n```\n";
    let script = json!([{"prompt": "error_map_answer", "contains": "ERR-1024", "reply": reply,
        "piece_characters": 3}]);
    let server = server_with(config(vec![side("radio", "radio")]), Some(script)).await;
    let body = json!({"question": LOG, "workflow": "error-map"});
    let streamed = events(&stream(&server, &body).await);
    let (name, answer) = streamed.last().unwrap();
    assert_eq!(name, "done", "{answer}");
    assert_eq!(answer["workflow"], "error_map");
    assert_eq!(joined(&streamed), answer["answer"].as_str().unwrap());
    let analysis = section_text(answer, "analysis").unwrap();
    assert_eq!(analysis, "错误码 ERR-1024 表示配置失败 [1]。");
    let quotation = &answer["quotations"][0];
    assert_eq!(quotation["kind"], "code");
    assert!(quotation.get("source").is_none(), "{answer}");
    let solution = section_text(answer, "solution").unwrap();
    assert!(
        solution.contains("This code stands in no source"),
        "{solution}"
    );
    let support = answer["support"].as_array().unwrap();
    assert_eq!(answer["verdict"], "partly", "its code stands in no source");
    assert_eq!(
        support.len(),
        2,
        "what we say ourselves is no statement: {answer}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follow_up_is_completed_from_what_was_said_and_is_no_log() {
    let reply =
        "## 问题分析\n\n错误码 ERR-1024 表示配置失败 [1]。\n\n## 解决方案\n\n检查许可 [1]。";
    let script = json!([
        {"prompt": "understanding", "reply": "no JSON at all"},
        {"prompt": "error_map_answer", "reply": reply},
    ]);
    let server = server_with(config(Vec::new()), Some(script)).await;
    let body = json!({"question": "ERR-1024 为什么会出现？", "workflow": "error_map",
        "history": [{"question": LOG, "answer": "ERR-1024 表示配置失败。"}]});
    let answer = server.post("/v1/ask", &body).await.json();
    assert_eq!(answer["error_map"]["is_log"], false, "{answer}");
    let degraded = answer["degraded"].as_array().unwrap();
    assert!(degraded.contains(&json!("understanding")), "{answer}");
    assert!(section_text(&answer, "analysis").is_some(), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_says_only_where_is_refused_and_a_long_log_is_not() {
    let mut config = config(Vec::new());
    config.error_map.log_limit_bytes = 100_000;
    let server = server_with(config, None).await;
    let paths = "Traceback (most recent call last):\n  File \"/opt/a.py\", line 3, in <module>";
    let body = json!({"question": paths, "workflow": "error_map"});
    let answer = server.post("/v1/ask", &body).await;
    assert_eq!(answer.status, 400, "{answer:?}");
    assert!(answer.body.contains("only paths"), "{answer:?}");
    let body = json!({"question": " \n ", "workflow": "error_map"});
    assert_eq!(server.post("/v1/ask", &body).await.status, 400);
    let frame = "  File \"/opt/radio/a.py\", line 7, in run\n    step(cell)\n";
    let long = format!(
        "Traceback (most recent call last):\n{}{LOG}",
        frame.repeat(1_500)
    );
    assert!(long.len() > 80_000);
    let answer = ask(&server, &long).await;
    assert_eq!(answer["error_map"]["is_log"], true);
    let body = json!({"question": "x: 1\n".repeat(22_000), "workflow": "error_map"});
    let answer = server.post("/v1/ask", &body).await;
    assert!(answer.body.contains("query_too_long"), "{answer:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_side_that_finds_nothing_leaves_the_other_and_rights_hold_for_both() {
    let mut nothing = side("nothing", "radio");
    nothing.scope.tags = vec!["of no document".to_owned()];
    let sides = vec![nothing, side("radio", "radio")];
    let server = server_with(config(sides), None).await;
    let answer = ask(&server, LOG).await;
    assert_eq!(answer["sides"][0]["found"], 0, "{answer}");
    assert_ne!(answer["sides"][1]["found"], 0, "{answer}");
    let body = json!({"question": LOG, "workflow": "error_map", "knowledge_sets": ["kernel"]});
    let answer = server.post("/v1/ask", &body).await.json();
    assert_eq!(
        answer["verdict"], "refused",
        "the caller's wishes hold beside: {answer}"
    );
    assert_eq!(answer["sources"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workflow_is_chosen_by_intent_where_the_request_names_none() {
    let mut answer = config(Vec::new());
    answer.by_intent.insert(Intent::Error, Workflow::ErrorMap);
    let server = server_with(answer, None).await;
    let of = async |body: Value| server.post("/v1/ask", &body).await.json()["workflow"].clone();
    assert_eq!(of(json!({"question": LOG})).await, "error_map");
    assert_eq!(
        of(json!({"question": LOG, "workflow": "general"})).await,
        "general"
    );
    assert_eq!(of(json!({"question": "载波聚合是什么"})).await, "general");
}

#[tokio::test(flavor = "multi_thread")]
async fn general_with_sides_is_sorted_over_all_and_names_a_missing_passage() {
    let mut meaning = side("meaning", "kernel");
    meaning.keyword_weight = None;
    meaning.strategy = Strategy::Semantic;
    meaning.text = SideText::HypotheticalPassage;
    let mut answer = common::answer_config();
    answer.general.sides = vec![meaning, side("words", "radio")];
    answer.general.passages = 3;
    let server = server_with(answer, None).await;
    let body = json!({"question": "载波聚合 ERR-1024 scheduler", "explain": true});
    let answer = server.post("/v1/ask", &body).await.json();
    let degraded = answer["degraded"].as_array().unwrap();
    assert!(
        degraded.contains(&json!("hypothetical_passage")),
        "{answer}"
    );
    let names: Vec<&str> = answer["sides"]
        .as_array()
        .unwrap()
        .iter()
        .map(|side| side["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["meaning", "words"]);
    let numbers: Vec<u64> = answer["sources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|source| source["number"].as_u64().unwrap())
        .collect();
    let expected: Vec<u64> = (1..).take(numbers.len()).collect();
    assert_eq!(numbers, expected);
    assert!(numbers.len() <= 3, "{answer}");
}
