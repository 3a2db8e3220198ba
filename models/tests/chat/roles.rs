//! What a role adds to a call: retries and their pauses, the circuit, turns, budgets, the count of
//! tokens, metrics; and replies that programs read.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, json};
use tributary_models::chat::budget::Budget;
use tributary_models::chat::role_model::Endpoint;
use tributary_models::chat::scripted::ScriptedModel;
use tributary_models::chat::structured::{ask, ask_checked};
use tributary_models::chat::{
    ChatModel, ChatModels, Message, Reason, Role, RoleModel, SharedObserver, Speaker, Unobserved,
};
use tributary_models::tokens::estimate::EstimatedTokens;

use crate::common::chat_config;
use crate::server::{Server, good, refusal};
use crate::setup::{Notes, PATIENCE, client, endpoint, request, role, role_of, script, until};

fn scripted(entries: &serde_json::Value) -> Arc<ScriptedModel> {
    let (_folder, file) = script(entries);
    Arc::new(ScriptedModel::open("test", "script", &file, 8192).unwrap())
}

#[tokio::test]
async fn a_failure_that_passes_is_waited_for_as_long_as_the_server_says() {
    let model = scripted(&json!([
        {"failure": "rate_limited", "retry_after_ms": 300, "times": 1},
        {"reply": "Paris"},
    ]));
    let config = endpoint("");
    let role = role_of(model.clone(), &config, &Arc::default());
    let started = Instant::now();
    assert_eq!(role.complete(&request("?")).await.unwrap().text, "Paris");
    assert!(started.elapsed() >= Duration::from_millis(300));
    assert_eq!(model.calls(), 2);
}

#[tokio::test]
async fn a_pause_beyond_the_deadline_is_not_begun() {
    let model = scripted(&json!([{"failure": "rate_limited", "retry_after_ms": 3_600_000}]));
    let role = role_of(model.clone(), &endpoint(""), &Arc::default());
    let started = Instant::now();
    let failed = role.complete(&request("?")).await.unwrap_err();
    assert_eq!(failed.reason, Reason::RateLimited);
    assert_eq!(failed.retry_after, Some(Duration::from_secs(3600)));
    assert!(started.elapsed() < PATIENCE && model.calls() == 1);
}

#[tokio::test]
async fn nothing_is_tried_again_after_the_first_piece() {
    let model = scripted(&json!([{"reply": "Par", "failure": "broken_off"}]));
    let role = role_of(model.clone(), &endpoint(""), &Arc::default());
    let mut pieces = role.stream(&request("?")).await.unwrap();
    assert!(pieces.next().await.unwrap().is_ok());
    let failed = pieces.next().await.unwrap().unwrap_err();
    assert_eq!(failed.reason, Reason::BrokenOff);
    assert!(pieces.next().await.is_none());
    assert_eq!(model.calls(), 1);
}

#[tokio::test]
async fn an_endpoint_that_fails_is_left_alone_and_comes_back_by_itself() {
    let model = scripted(&json!([
        {"failure": "unreachable", "times": 2},
        {"reply": "Paris"},
    ]));
    let mut config = endpoint("");
    (
        config.circuit_failures,
        config.circuit_pause_ms,
        config.attempts,
    ) = (2, 400, 1);
    let notes: Arc<Notes> = Arc::default();
    let role = role_of(model.clone(), &config, &notes);
    let opened = Instant::now();
    for _ in 0..2 {
        let failed = role.complete(&request("?")).await.unwrap_err();
        assert_eq!(failed.reason, Reason::Unreachable);
    }
    if opened.elapsed() < Duration::from_millis(400) {
        let failed = role.complete(&request("?")).await;
        // On a machine that stood still in between it is closed again.
        if let Err(failed) = failed {
            assert_eq!(failed.reason, Reason::CircuitOpen);
            assert!(failed.retry_after.is_some());
            assert_eq!(model.calls(), 2, "the endpoint was not asked");
            assert!(role.endpoint().is_away());
            assert_eq!(notes.of("circuit").last().unwrap(), "circuit test true");
        }
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(role.complete(&request("?")).await.unwrap().text, "Paris");
    assert!(!role.endpoint().is_away());
    assert_eq!(notes.of("circuit").last().unwrap(), "circuit test false");
}

/// A role with a second of time and one with two minutes share an endpoint.
#[tokio::test]
async fn who_has_little_time_takes_the_endpoint_from_nobody() {
    let model = scripted(&json!([
        {"reply": "late", "delay_ms": 60_000, "times": 3},
        {"failure": "unreachable", "times": 1},
        {"reply": "late", "delay_ms": 60_000, "times": 1},
        {"reply": "Paris"},
    ]));
    let mut config = endpoint("");
    (
        config.circuit_failures,
        config.circuit_pause_ms,
        config.attempts,
    ) = (1, 200, 1);
    config.first_piece_timeout_ms = 60_000;
    let role = role_of(model.clone(), &config, &Arc::default());
    let hurried = || async {
        let mut hurried = request("?");
        hurried.deadline = Some(Instant::now() + Duration::from_millis(100));
        role.complete(&hurried).await.unwrap_err().reason
    };
    for _ in 0..3 {
        assert_eq!(hurried().await, Reason::Deadline);
        assert!(!role.endpoint().is_away());
    }
    let failed = role.complete(&request("?")).await.unwrap_err();
    assert_eq!(failed.reason, Reason::Unreachable);
    assert!(role.endpoint().is_away());
    tokio::time::sleep(Duration::from_millis(250)).await;
    assert_eq!(hurried().await, Reason::Deadline);
    // The trial told nothing, so the next call is one.
    assert_eq!(role.complete(&request("?")).await.unwrap().text, "Paris");
    assert!(!role.endpoint().is_away());
}

#[tokio::test]
async fn a_refusal_does_not_open_the_circuit() {
    let server = Server::start(|_| refusal(400, "no"));
    let mut config = endpoint(&server.url);
    config.circuit_failures = 1;
    let role = role(&config);
    for _ in 0..3 {
        let failed = role.complete(&request("?")).await.unwrap_err();
        assert_eq!(failed.reason, Reason::Refused);
    }
    assert!(!role.endpoint().is_away());
}

#[tokio::test]
async fn calls_wait_for_a_turn_within_their_deadline() {
    let model = scripted(&json!([{"reply": "Paris", "delay_ms": 30}]));
    let mut config = endpoint("");
    config.parallel = 1;
    let role = Arc::new(role_of(model.clone(), &config, &Arc::default()));
    let first = role.stream(&request("?")).await.unwrap();
    let mut hurried = request("?");
    hurried.deadline = Some(Instant::now() + Duration::from_millis(50));
    let failed = role.complete(&hurried).await.unwrap_err();
    assert_eq!(failed.reason, Reason::Deadline);
    assert_eq!(model.calls(), 1, "the endpoint was not asked");
    drop(first);
    assert!(role.complete(&request("?")).await.is_ok());
}

#[tokio::test]
async fn a_budget_that_is_used_up_says_when_there_is_room() {
    let model = scripted(&json!([{"reply": "Paris is the capital."}]));
    let config = endpoint("");
    let observer: SharedObserver = Arc::new(Unobserved);
    let endpoint = Arc::new(Endpoint::new("test", model.clone(), config, &observer));
    let budget = Budget::new(100, 0);
    let role = RoleModel::new(Role::Summarize, endpoint, budget, Arc::new(EstimatedTokens));
    let mut calls = 0;
    let failed = loop {
        match role
            .complete(&request("What is the capital of France?"))
            .await
        {
            Ok(_) => calls += 1,
            Err(failed) => break failed,
        }
        assert!(calls < 10);
    };
    assert_eq!(failed.reason, Reason::BudgetUsedUp);
    assert!(failed.error().is_held(), "ingestion waits");
    assert!(role.room_in(100) > Duration::ZERO && failed.retry_after.is_some());
    assert_eq!(
        (calls, model.calls()),
        (2, 2),
        "what was not used went back"
    );
}

#[tokio::test]
async fn a_prompt_that_does_not_fit_is_not_sent() {
    let model = scripted(&json!([{"reply": "x"}]));
    let mut config = endpoint("");
    config.context_tokens = 200;
    let role = role_of(model.clone(), &config, &Arc::default());
    let failed = role
        .complete(&request(&"信号强度 ".repeat(1000)))
        .await
        .unwrap_err();
    assert_eq!(failed.reason, Reason::TooLong);
    assert!(failed.error().hint().unwrap().contains("context_tokens"));
    assert_eq!(model.calls(), 0);
}

fn of_parts(parts: &[String]) -> tributary_models::chat::ChatRequest {
    request(&parts.concat())
}

#[tokio::test]
async fn as_many_parts_are_sent_as_fit() {
    let model = scripted(&json!([{"reply": "x"}]));
    let mut config = endpoint("");
    config.context_tokens = 400;
    let role = role_of(model.clone(), &config, &Arc::default());
    let parts = vec!["The tilt of the antenna is six degrees. ".to_owned(); 200];
    let fitted = role.complete_of_parts(&parts, of_parts).await.unwrap();
    assert!((10..100).contains(&fitted.parts), "{}", fitted.parts);
    assert_eq!(model.calls(), 1);
    let one_more = of_parts(&parts[..=fitted.parts]);
    assert!(role.count(&one_more).await.unwrap() > role.prompt_room(40));
    let all = role.complete_of_parts(&parts[..3], of_parts).await.unwrap();
    assert_eq!(all.parts, 3);
    let whole = vec!["很长".repeat(10_000); 2];
    let failed = role
        .complete_of_parts(&whole, of_parts)
        .await
        .err()
        .unwrap();
    assert_eq!(failed.reason, Reason::TooLong);
}

#[tokio::test]
async fn a_server_that_counts_more_tokens_is_sent_fewer_parts() {
    let server = Server::start(|seen| {
        let text = seen.body["messages"][1]["content"].as_str().unwrap_or("");
        match text.len() > 3 {
            true => refusal(400, "This model's maximum context length is 3 tokens"),
            false => good(&["x"]),
        }
    });
    let parts: Vec<String> = "abcdefgh".chars().map(String::from).collect();
    let fitted = role(&endpoint(&server.url))
        .complete_of_parts(&parts, of_parts)
        .await;
    assert_eq!(fitted.unwrap().parts, 2);
    assert_eq!(server.seen().len(), 3);
}

#[tokio::test]
async fn every_call_is_counted_by_role_and_endpoint() {
    let model = scripted(&json!([
        {"reply": "Paris", "times": 1},
        {"reply": "cut", "finish": "length", "times": 1},
        {"failure": "denied", "times": 1},
        {"reply": "Paris", "piece_characters": 1},
    ]));
    let notes: Arc<Notes> = Arc::default();
    let role = role_of(model, &endpoint(""), &notes);
    role.complete(&request("?")).await.unwrap();
    role.complete(&request("?")).await.unwrap();
    role.complete(&request("?")).await.unwrap_err();
    let mut pieces = role.stream(&request("?")).await.unwrap();
    pieces.next().await.unwrap().unwrap();
    drop(pieces);
    let calls = notes.of("call answer test");
    assert_eq!(calls.len(), 4, "{calls:?}");
    for (call, outcome) in calls.iter().zip(["ok", "cut_off", "denied", "cancelled"]) {
        assert!(call.contains(outcome), "{outcome}: {call}");
        let has_tokens = !call.ends_with(" 0 0");
        assert_eq!(has_tokens, outcome != "denied", "{call}");
    }
    assert_eq!(notes.of("first piece answer test").len(), 3);
    assert_eq!(notes.of("attempt"), ["attempt test denied"]);
}

#[tokio::test]
async fn a_prompt_that_the_server_cut_is_told() {
    let server = Server::start(|_| good(&["x"]));
    let notes: Arc<Notes> = Arc::default();
    let config = endpoint(&server.url);
    let role = role_of(client(&config), &config, &notes);
    role.complete(&request(&"six degrees ".repeat(1000)))
        .await
        .unwrap();
    assert_eq!(notes.of("cut"), ["cut test"]);
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct City {
    #[schemars(length(max = 20))]
    city: String,
}

#[tokio::test]
async fn a_reply_that_cannot_be_read_is_asked_for_once_more() {
    let cases = [
        json!({"reply": "Paris, of course"}),
        json!({"reply": "{\"town\": \"Paris\"}"}),
        json!({"reply": "{\"city\": \"Pa", "finish": "length"}),
        json!({"reply": "{\"city\": \"Par"}),
    ];
    for mut first in cases {
        first["times"] = 1.into();
        let second = json!({"contains": "That reply cannot be used", "reply": "```json\n{\"city\": \"Paris\"}\n```"});
        let model = scripted(&json!([first, second]));
        let reply = ask::<City>(model.as_ref(), &request("?")).await.unwrap();
        assert_eq!(reply.value.city, "Paris");
        assert!(reply.is_second_try);
    }
}

#[tokio::test]
async fn a_second_reply_that_cannot_be_read_is_a_failure() {
    let model = scripted(&json!([{"reply": "Paris"}]));
    let failed = ask::<City>(model.as_ref(), &request("?"))
        .await
        .unwrap_err();
    assert_eq!((failed.reason, model.calls()), (Reason::Malformed, 2));
    let model = scripted(&json!([{"reply": "{\"city\": \"Paris\"}", "finish": "length"}]));
    let failed = ask::<City>(model.as_ref(), &request("?"))
        .await
        .unwrap_err();
    assert_eq!((failed.reason, model.calls()), (Reason::CutOff, 2));
}

#[tokio::test]
async fn what_a_check_says_goes_to_the_model() {
    let model = scripted(&json!([
        {"contains": "London is no capital of France", "reply": "{\"city\": \"Paris\"}"},
        {"reply": "{\"city\": \"London\"}"},
    ]));
    let check = |reply: &City| match reply.city.as_str() {
        "Paris" => Ok(()),
        other => Err(format!("{other} is no capital of France")),
    };
    let reply = ask_checked(model.as_ref(), &request("?"), check)
        .await
        .unwrap();
    assert_eq!((reply.value.city.as_str(), model.calls()), ("Paris", 2));
}

#[tokio::test]
async fn roles_have_the_endpoints_that_the_configuration_names() {
    let (_folder, file) = script(&json!([{"reply": "Paris"}]));
    let mut config = chat_config();
    let observer: SharedObserver = Arc::new(Unobserved);
    let tokens: Arc<dyn tributary_models::TokenCounter> = Arc::new(EstimatedTokens);
    let none = ChatModels::open(&config, &tokens, &observer).unwrap();
    assert!(Role::ALL.iter().all(|role| none.role(*role).is_none()));

    let mut scripted = Map::new();
    scripted.insert("kind".to_owned(), "scripted".into());
    scripted.insert("script_file".to_owned(), file.display().to_string().into());
    config.endpoints.insert("script".to_owned(), scripted);
    config.endpoint.url = "http://127.0.0.1:1/v1".to_owned();
    config.endpoint.model = "large".to_owned();
    let of_role = |config: &mut tributary_models::chat::ChatConfig, role, name: &str| {
        config.roles.get_mut(&role).unwrap().endpoint = name.to_owned();
    };
    of_role(&mut config, Role::Summarize, "script");
    of_role(&mut config, Role::Sql, "");
    let models = ChatModels::open(&config, &tokens, &observer).unwrap();
    assert!(models.role(Role::Sql).is_none());
    assert_eq!(models.role(Role::Answer).unwrap().describe().model, "large");
    let summarize = models.role(Role::Summarize).unwrap();
    assert_eq!(
        summarize.complete(&request("?")).await.unwrap().text,
        "Paris"
    );
    let endpoints: Vec<usize> = models
        .by_endpoint()
        .iter()
        .map(|(_, roles)| roles.len())
        .collect();
    assert_eq!(endpoints, [6, 1]);
    assert!(models.away().is_empty());

    of_role(&mut config, Role::Sql, "elsewhere");
    config.endpoint.attempts = 0;
    config.endpoint.extra = "[1]".to_owned();
    let error = ChatModels::open(&config, &tokens, &observer).err().unwrap();
    for part in ["elsewhere", "endpoint.attempts", "endpoint.extra"] {
        assert!(error.to_string().contains(part), "{part} in {error}");
    }
}

#[test]
fn a_script_that_is_none_is_refused() {
    for entries in [json!([{}]), json!({}), json!([{"reply": "x", "repl": "y"}])] {
        let (_folder, file) = script(&entries);
        assert!(ScriptedModel::open("test", "script", &file, 1).is_err());
    }
}

#[tokio::test]
async fn a_conversation_is_sent_in_its_order() {
    let server = Server::start(|_| good(&["x"]));
    let mut asked = request("first");
    asked
        .messages
        .push(Message::new(Speaker::Assistant, "reply"));
    asked.messages.push(Message::new(Speaker::User, "second"));
    role(&endpoint(&server.url)).complete(&asked).await.unwrap();
    until("the request", || server.seen().len() == 1).await;
    let body = &server.seen()[0].body;
    let roles: Vec<&str> = body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["system", "user", "assistant", "user"]);
}
