//! The part of the API description about keys: how one is shown, what is open to all,
//! `/v1/session`, and the record of who called.

use schemars::SchemaGenerator;
use serde_json::{Value, json};
use tributary_schemas::audit::{AuditPage, AuditQuery};

use super::{Operation, answer, inline, operation};
use crate::http::session::SessionInformation;

/// What is answered without a key, everything else wants one where the server wants any.
const OPEN: [(&str, &str); 5] = [
    ("get", "/"),
    ("get", "/health/livez"),
    ("get", "/health/readyz"),
    ("get", "/openapi.json"),
    ("delete", "/v1/session"),
];

/// How a key is shown.
pub fn schemes() -> Value {
    let what = "An API key, as `tributary keys create` shows it, or a token of the identity provider that the server trusts. Needed where the server's `network_access` is `authenticated`; \
        what each operation needs of a key is in docs/rights.md";
    json!({"key": {"type": "http", "scheme": "bearer", "description": what}})
}

/// What an operation wants to be shown.
pub fn security(operation: &Operation) -> Value {
    match OPEN.contains(&(operation.method, operation.path)) {
        true => json!([]),
        false => json!([{"key": []}]),
    }
}

pub fn operations(schemas: &mut SchemaGenerator) -> Vec<Operation> {
    vec![
        operation(
            "get",
            "/v1/session",
            "Whose key this is, and its roles",
            200,
            Some(answer::<SessionInformation>(schemas)),
        ),
        operation(
            "post",
            "/v1/session",
            "Sign the web page in: a cookie that stands for the key shown, for twelve hours",
            200,
            Some(answer::<SessionInformation>(schemas)),
        ),
        operation("delete", "/v1/session", "Sign the web page out", 204, None),
        Operation {
            parameters: Some(inline::<AuditQuery>(schemas)),
            ..operation(
                "get",
                "/v1/audit",
                "The newest calls that were recorded, or those to come as application/x-ndjson",
                200,
                Some(answer::<AuditPage>(schemas)),
            )
        },
    ]
}
