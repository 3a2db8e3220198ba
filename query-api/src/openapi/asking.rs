//! Operations of asking.

use schemars::SchemaGenerator;
use serde_json::{Value, json};
use tributary_schemas::ask::{Answer, AskEvent, AskRequest};
use tributary_schemas::judging::{Explanation, Judgement, QuestionToJudge};
use tributary_schemas::report::KeptReport;

use super::{Operation, answer, operation, schema};
use crate::http::report_export::ReportFile;

pub fn operations(schemas: &mut SchemaGenerator) -> Vec<Operation> {
    let question = "Ask a question: an answer that cites what it is made from. With \
        `Accept: text/event-stream` it comes as it is written, in events that end in `done` or `error`";
    let again = "Read an answer again, or on from `Last-Event-ID`, for some minutes";
    let stop = "Stop an answer; its readers get `error` with the code `stopped`. Comes back when it \
        has ended";
    let report = "Write a report of one, three or six sections (`depth`), as an answer with `report`. As \
        events there are `outline` and a `section` for each beside those of an answer";
    let kept = "What is kept of a report: its request, which goes on with it when it is sent again, its plan \
        and the sections that are written";
    let export =
        "A report as a file: Markdown as it is, HTML that is safe to open, or a Word document";
    let judge = "Judge a student's answer to a question with options or in words, from what is found for it";
    let explain = "Explain a question and its right answer to a student, in 300 to 500 characters";
    let files = json!({
        "text/markdown": {"schema": {"type": "string"}},
        "text/html": {"schema": {"type": "string"}},
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document":
            {"schema": {"type": "string", "format": "binary"}},
    });
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
        Operation {
            headers,
            body: Some(answer::<AskRequest>(schemas)),
            ..operation(
                "post",
                "/v1/report",
                report,
                200,
                Some(whole_or_events(schemas)),
            )
        },
        operation(
            "get",
            "/v1/report/{id}",
            kept,
            200,
            Some(answer::<KeptReport>(schemas)),
        ),
        Operation {
            body: Some(answer::<ReportFile>(schemas)),
            ..operation("post", "/v1/report/export", export, 200, Some(files))
        },
        Operation {
            body: Some(answer::<QuestionToJudge>(schemas)),
            ..operation(
                "post",
                "/v1/questions/judge",
                judge,
                200,
                Some(answer::<Judgement>(schemas)),
            )
        },
        Operation {
            body: Some(answer::<QuestionToJudge>(schemas)),
            ..operation(
                "post",
                "/v1/questions/explain",
                explain,
                200,
                Some(answer::<Explanation>(schemas)),
            )
        },
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
