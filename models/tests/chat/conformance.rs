//! What every chat model must do, run on the scripted one, through a role, and on a real server.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tributary_models::chat::probe::probe;
use tributary_models::chat::scripted::ScriptedModel;
use tributary_models::chat::structured::ask;
use tributary_models::chat::{ChatModel, ChatRequest, Delta, Finish, Message, Reason, Tool};

use crate::setup::{PATIENCE, endpoint, request, role, role_of, script};

const QUESTION: &str = "What is the capital of France?";

/// All promises of the trait.
async fn suite(model: &dyn ChatModel) {
    a_stream_is_texts_and_one_ending(model).await;
    a_whole_reply_has_text_and_usage(model).await;
    a_reply_at_its_largest_length_says_so(model).await;
    a_structured_reply_is_read(model).await;
    a_request_with_tools_is_answered(model).await;
    a_deadline_ends_a_call(model).await;
    a_dropped_stream_leaves_the_model_usable(model).await;
    calls_at_the_same_time_do_not_mix(model).await;
    let described = model.describe();
    assert!(!described.model.is_empty() && !described.address.is_empty());
    assert!(described.context_tokens > 0);
}

async fn a_stream_is_texts_and_one_ending(model: &dyn ChatModel) {
    let mut pieces = model.stream(&request(QUESTION)).await.unwrap();
    let (mut texts, mut endings) = (0, 0);
    while let Some(delta) = pieces.next().await {
        match delta.unwrap() {
            Delta::Text(text) => {
                assert!(!text.is_empty() && endings == 0);
                texts += 1;
            }
            Delta::End(_) => endings += 1,
        }
    }
    assert!(texts > 1, "{texts} pieces");
    assert_eq!(endings, 1);
}

async fn a_whole_reply_has_text_and_usage(model: &dyn ChatModel) {
    let reply = model.complete(&request(QUESTION)).await.unwrap();
    assert!(!reply.text.is_empty());
    assert!(reply.ending.usage.prompt_tokens.unwrap() > 0);
    assert!(reply.ending.usage.completion_tokens.unwrap() > 0);
    assert!(!reply.ending.model.is_empty());
}

async fn a_reply_at_its_largest_length_says_so(model: &dyn ChatModel) {
    let mut long = request("Count from one to one hundred in words.");
    long.maximum_tokens = 3;
    let reply = model.complete(&long).await.unwrap();
    assert_eq!(reply.ending.finish, Finish::Length);
}

#[derive(Deserialize, JsonSchema)]
struct City {
    #[schemars(length(max = 40))]
    city: String,
}

async fn a_structured_reply_is_read(model: &dyn ChatModel) {
    let wish = format!("{QUESTION} Reply in JSON, such as {{\"city\": \"Rome\"}}.");
    let reply = ask::<City>(model, &request(&wish)).await.unwrap();
    assert!(!reply.value.city.is_empty());
}

fn about_weather() -> ChatRequest {
    let mut weather = request("Call the tool to find out: what is the weather in Oslo?");
    weather.maximum_tokens = 120;
    weather.tools = vec![Tool {
        name: "weather".to_owned(),
        description: "Tells the weather in a city.".to_owned(),
        parameters: json!({"type": "object", "properties": {"city": {"type": "string"}},
            "required": ["city"]}),
    }];
    weather
}

/// Whether tools are called is up to the model: the smallest ones write about them instead.
async fn a_request_with_tools_is_answered(model: &dyn ChatModel) {
    let reply = model.complete(&about_weather()).await.unwrap();
    let is_call = reply.ending.finish == Finish::ToolCalls;
    assert_eq!(is_call, !reply.ending.calls.is_empty(), "{}", reply.text);
    assert!(is_call || !reply.text.is_empty());
}

async fn a_tool_is_called_and_its_result_is_read(model: &dyn ChatModel) {
    let mut weather = about_weather();
    let called = model.complete(&weather).await.unwrap();
    assert_eq!(called.ending.finish, Finish::ToolCalls, "{}", called.text);
    let call = called.ending.calls.first().unwrap().clone();
    assert!(!call.id.is_empty() && call.name == "weather", "{call:?}");
    let arguments: serde_json::Value = serde_json::from_str(&call.arguments).unwrap();
    assert_eq!(arguments["city"], "Oslo");
    let said = Message::calling(called.text, vec![call.clone()]);
    let result = Message::result(&call, "It is snowing.");
    weather.messages.extend([said, result]);
    let told = model.complete(&weather).await.unwrap();
    assert!(told.text.to_lowercase().contains("snow"), "{}", told.text);
}

async fn a_deadline_ends_a_call(model: &dyn ChatModel) {
    let mut late = request(QUESTION);
    late.deadline = Some(Instant::now() + Duration::from_millis(1));
    let failed = model.complete(&late).await.unwrap_err();
    assert_eq!(failed.reason, Reason::Deadline, "{failed}");
}

async fn a_dropped_stream_leaves_the_model_usable(model: &dyn ChatModel) {
    let started = Instant::now();
    for _ in 0..4 {
        let mut pieces = model.stream(&request(QUESTION)).await.unwrap();
        pieces.next().await.unwrap().unwrap();
    }
    assert!(model.complete(&request(QUESTION)).await.is_ok());
    assert!(started.elapsed() < PATIENCE);
}

async fn calls_at_the_same_time_do_not_mix(model: &dyn ChatModel) {
    let (france, italy) = (request(QUESTION), request("What is the capital of Italy?"));
    let (first, second) = tokio::join!(model.complete(&france), model.complete(&italy));
    let (first, second) = (first.unwrap().text, second.unwrap().text);
    assert!(
        first.contains("Paris") && second.contains("Rome"),
        "{first} / {second}"
    );
}

fn replies() -> serde_json::Value {
    json!([
        {"contains": "It is snowing", "reply": "Snow falls."},
        {"contains": "Oslo", "calls": [{"name": "weather", "arguments": {"city": "Oslo"}}]},
        {"contains": "one hundred", "reply": "one two three", "finish": "length"},
        {"contains": "JSON", "reply": "{\"city\": \"Paris\"}", "piece_characters": 3},
        {"contains": "Italy", "reply": "It is Rome.", "piece_characters": 4, "delay_ms": 50},
        {"reply": "It is Paris.", "piece_characters": 4, "delay_ms": 50, "piece_delay_ms": 1},
    ])
}

#[tokio::test]
async fn the_scripted_model_keeps_all_promises() {
    let (_folder, file) = script(&replies());
    let model = Arc::new(ScriptedModel::open("test", "script", &file, 8192).unwrap());
    suite(model.as_ref()).await;
    a_tool_is_called_and_its_result_is_read(model.as_ref()).await;
    suite(&role_of(model, &endpoint(""), &Arc::default())).await;
}

/// The address of a real server's API.
fn real() -> Option<String> {
    let url = std::env::var("TRIBUTARY_TEST_CHAT").ok();
    if url.is_none() {
        eprintln!(
            "SKIPPED: tests with a real language model: TRIBUTARY_TEST_CHAT is not set (deploy/services/chat start)"
        );
    }
    url
}

#[tokio::test]
async fn a_real_server_keeps_all_promises() {
    let Some(url) = real() else { return };
    let mut config = endpoint(&url);
    (config.context_tokens, config.parallel) = (4096, 2);
    let role = role(&config);
    suite(&role).await;
    likely_tokens_are_named(&role).await;
    let found = probe(&role).await.unwrap();
    assert!(found.tokens_per_second.unwrap() > 0.0);
}

async fn likely_tokens_are_named(model: &dyn ChatModel) {
    let mut asked = request("Is Paris a city? Reply yes or no.");
    (asked.maximum_tokens, asked.top_logprobs) = (3, 5);
    let places = model.complete(&asked).await.unwrap().ending.logprobs;
    let first = &places[0];
    assert_eq!(first.len(), 5, "{first:?}");
    let sum: f64 = first.iter().map(|one| one.logprob.exp()).sum();
    assert!(sum > 0.3 && sum < 1.001, "{first:?}");
    asked.top_logprobs = 0;
    let unasked = model.complete(&asked).await.unwrap();
    assert!(unasked.ending.logprobs.is_empty());
}
