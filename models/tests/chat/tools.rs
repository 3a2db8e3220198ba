//! Calls of tools over HTTP: what is sent, and what servers send in how many ways.

use serde_json::{Value, json};
use tributary_models::chat::{Finish, Message, Tool, ToolCall};

use crate::server::{Server, Step, data, end, good, refusal, send, stream, whole};
use crate::setup::{client, endpoint, request};

fn search() -> Tool {
    Tool {
        name: "search".to_owned(),
        description: "Searches.".to_owned(),
        parameters: json!({"type": "object", "properties": {"query": {"type": "string"}}}),
    }
}

fn calls(pieces: &Value) -> Step {
    data(&json!({"choices": [{"delta": {"content": null, "tool_calls": pieces}}]}))
}

fn ended(finish: &str) -> Vec<Step> {
    let last = json!({"choices": [{"delta": {}, "finish_reason": finish}]});
    vec![data(&last), send("data: [DONE]\n\n")]
}

fn called() -> ToolCall {
    ToolCall {
        id: "a".to_owned(),
        name: "search".to_owned(),
        arguments: "{\"query\":\"tilt\"}".to_owned(),
    }
}

#[tokio::test]
async fn calls_come_in_pieces_or_whole_and_end_as_such() {
    let in_pieces = |finish: &'static str| {
        move || {
            let mut steps = vec![
                stream(),
                calls(&json!([{"index": 0, "id": "a", "type": "function",
                    "function": {"name": "search", "arguments": "{\"query\":"}}])),
                calls(&json!([{"index": 0, "function": {"arguments": "\"tilt\"}"}}])),
            ];
            steps.extend(ended(finish));
            steps
        }
    };
    let not_streamed = || {
        let function = json!({"name": "search", "arguments": {"query": "tilt"}});
        let message = json!({"content": "", "tool_calls": [{"id": "a", "function": function}]});
        let body = json!({"choices": [{"message": message, "finish_reason": "tool_calls"}]});
        whole(200, "application/json", "", &body.to_string())
    };
    type Answer = Box<dyn Fn() -> Vec<Step> + Send + Sync>;
    let answers: [Answer; 3] = [
        Box::new(in_pieces("tool_calls")),
        Box::new(in_pieces("stop")),
        Box::new(not_streamed),
    ];
    for answer in answers {
        let server = Server::start(move |_| answer());
        let mut asked = request("q");
        asked.tools = vec![search()];
        let reply = client(&endpoint(&server.url)).complete(&asked).await;
        let reply = reply.unwrap();
        assert_eq!(reply.text, "");
        assert_eq!(reply.ending.finish, Finish::ToolCalls);
        assert_eq!(reply.ending.calls, [called()]);
    }
}

#[tokio::test]
async fn tools_calls_and_results_are_sent_as_openai_describes_them() {
    let server = Server::start(|_| good(&["Six degrees."]));
    let mut asked = request("q");
    asked.tools = vec![search()];
    asked.messages.push(Message::calling("", vec![called()]));
    asked
        .messages
        .push(Message::result(&called(), "Tilt is 6."));
    let model = client(&endpoint(&server.url));
    let reply = model.complete(&asked).await.unwrap();
    assert_eq!(
        (reply.text.as_str(), reply.ending.calls.len()),
        ("Six degrees.", 0)
    );
    let body = &server.seen()[0].body;
    assert_eq!(body["tools"][0]["type"], "function");
    assert_eq!(body["tools"][0]["function"]["name"], "search");
    let messages = body["messages"].as_array().unwrap();
    let said = &messages[messages.len() - 2];
    assert_eq!(said["role"], "assistant");
    assert_eq!(said["tool_calls"][0]["id"], "a");
    assert_eq!(
        said["tool_calls"][0]["function"]["arguments"],
        "{\"query\":\"tilt\"}"
    );
    let result = &messages[messages.len() - 1];
    let expected = json!({"role": "tool", "tool_call_id": "a", "content": "Tilt is 6."});
    assert_eq!(*result, expected);
    let without = model.complete(&request("q")).await;
    assert!(without.is_ok() && server.seen()[1].body.get("tools").is_none());
}

#[tokio::test]
async fn a_server_without_tools_says_so() {
    let server = Server::start(|_| refusal(400, "tools are not supported"));
    let mut asked = request("q");
    asked.tools = vec![search()];
    let failed = client(&endpoint(&server.url)).complete(&asked).await;
    let failed = failed.unwrap_err().to_string();
    assert!(failed.contains("tools are not supported"), "{failed}");
    let empty = Server::start(|_| {
        let mut steps = vec![stream()];
        steps.extend(end());
        steps
    });
    assert!(
        client(&endpoint(&empty.url))
            .complete(&asked)
            .await
            .is_err()
    );
}
