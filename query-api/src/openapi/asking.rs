//! Operations of asking.

use schemars::SchemaGenerator;
use serde_json::{Value, json};
use tributary_schemas::ask::{Answer, AskEvent, AskRequest};

use super::{Operation, answer, operation, schema};

pub fn operations(schemas: &mut SchemaGenerator) -> Vec<Operation> {
    let question = "Ask a question: an answer that cites what it is made from. With \
        `Accept: text/event-stream` it comes as it is written, in events that end in `done` or `error`";
    let again = "Read an answer again, or on from `Last-Event-ID`, for some minutes";
    let stop = "Stop an answer; its readers get `error` with the code `stopped`. Comes back when it \
        has ended";
    let headers: &[_] = &[
        (
            "Idempotency-Key",
            "The same key and body in a conversation is answered once",
        ),
        (
            "Last-Event-ID",
            "Read an answer on after this event; the body is not read",
        ),
    ];
    vec![
        Operation {
            headers,
            body: Some(answer::<AskRequest>(schemas)),
            ..operation(
                "post",
                "/v1/ask",
                question,
                200,
                Some(whole_or_events(schemas)),
            )
        },
        Operation {
            headers: &headers[1..],
            ..operation("get", "/v1/ask/{id}", again, 200, Some(events(schemas)))
        },
        operation("delete", "/v1/ask/{id}", stop, 204, None),
    ]
}

fn whole_or_events(schemas: &mut SchemaGenerator) -> Value {
    let mut content = answer::<Answer>(schemas);
    if let (Some(content), Value::Object(events)) = (content.as_object_mut(), events(schemas)) {
        content.extend(events);
    }
    content
}

/// Each event is a line `event:` with its name and a line `data:`; the schema has both.
fn events(schemas: &mut SchemaGenerator) -> Value {
    json!({"text/event-stream": {"schema": schema::<AskEvent>(schemas)}})
}
