//! The API description, OpenAPI 3.1: one table of operations, with schemas taken from the types
//! themselves. The result is committed as `openapi.json`, served at `/openapi.json` and compared by
//! a test, which also calls every operation.

mod access;
mod asking;
mod conversations;
mod evaluations;
mod protocols;
mod terms;
mod user_profiles;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};
use tributary_schemas::DocumentEvent;
use tributary_schemas::code_search::{CodeSearchRequest, CodeSearchResponse};
use tributary_schemas::reindex::{ReindexOverview, ReindexReport, ReindexRequest};
use tributary_schemas::repair::DegradedRepair;
use tributary_schemas::search::{SearchRequest, SearchResponse};
use tributary_schemas::set_status::{SetStatus, SetStatusList};
use tributary_schemas::state::Reconciliation;
use tributary_schemas::table_query::{TableAnswer, TableList, TableQueryRequest};
use tributary_schemas::work::WorkOverview;

use crate::http::dead_letters::{
    DeadLetterDetail, DeadLetterPage, DroppedDeadLetters, PageParameters,
};
use crate::http::document_list::{DocumentPage, ListParameters};
use crate::http::documents::{
    Accepted, DeleteParameters, DocumentDetail, GetParameters, StatesAnswer, StatesRequest,
};
use crate::http::facets::SearchChoices;
use crate::http::knowledge_sets::SetInformation;
use crate::http::missed_searches::{ForgottenSearches, MissedSearchPage, MissedSearchParameters};
use crate::http::reindex::ReindexWish;
use crate::http::rendered::{RenderRequest, Rendered};
use crate::http::table_query::TableListParameters;
use crate::http::tables::TableParameters;
use crate::http::upload;
use crate::problem::ProblemBody;
use crate::readiness::{Readiness, Version};

/// One operation of the API.
struct Operation {
    method: &'static str,
    path: &'static str,
    summary: &'static str,
    parameters: Option<Value>,
    headers: &'static [(&'static str, &'static str)],
    body: Option<Value>,
    status: u16,
    answer: Option<Value>,
    /// What a failure is answered with, where it is no problem of RFC 9457.
    refused: Option<Value>,
}

/// The whole description.
pub fn description() -> Value {
    let settings = SchemaSettings::draft2020_12()
        .with(|settings| settings.definitions_path = "/components/schemas".into());
    let mut schemas = settings.into_generator();
    let problem = schema::<ProblemBody>(&mut schemas);
    let mut paths: Map<String, Value> = Map::new();
    for operation in operations(&mut schemas) {
        let entry = paths.entry(operation.path).or_insert_with(|| json!({}));
        if let Some(methods) = entry.as_object_mut() {
            methods.insert(operation.method.to_owned(), described(&operation, &problem));
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Tributary",
            "version": "1",
            "description": "Publish documents, search them in three tiers. Errors are RFC 9457 problems with a stable `code`.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {"schemas": schemas.take_definitions(true), "securitySchemes": access::schemes()},
    })
}

fn operations(schemas: &mut SchemaGenerator) -> Vec<Operation> {
    let mut operations = documents(schemas);
    operations.extend(search(schemas));
    operations.extend(asking::operations(schemas));
    operations.extend(conversations::operations(schemas));
    operations.extend(user_profiles::operations(schemas));
    operations.extend(reindexing(schemas));
    operations.extend(dead_letters(schemas));
    operations.extend(evaluations::operations(schemas));
    operations.extend(terms::operations(schemas));
    operations.extend(protocols::operations(schemas));
    operations.extend(access::operations(schemas));
    operations.extend(server(schemas));
    operations
}

fn documents(schemas: &mut SchemaGenerator) -> Vec<Operation> {
    let form = json!({"type": "object", "description": format!("Fields: {}", upload::FIELDS), "required": ["file", "source"]});
    let body = json!({
        "application/json": {"schema": schema::<DocumentEvent>(schemas)},
        "multipart/form-data": {"schema": form},
    });
    vec![
        Operation {
            headers: &[("Idempotency-Key", "The same key and body publish once")],
            body: Some(body),
            ..operation(
                "post",
                "/v1/documents",
                "Publish a document",
                202,
                Some(answer::<Accepted>(schemas)),
            )
        },
        Operation {
            parameters: Some(inline::<ListParameters>(schemas)),
            ..operation(
                "get",
                "/v1/documents",
                "List documents: filtered, sorted, in pages, with totals",
                200,
                Some(answer::<DocumentPage>(schemas)),
            )
        },
        Operation {
            parameters: Some(inline::<GetParameters>(schemas)),
            ..operation(
                "get",
                "/v1/documents/{id}",
                "All that is known of a document; by its id, or by `source/path`",
                200,
                Some(answer::<DocumentDetail>(schemas)),
            )
        },
        operation(
            "get",
            "/v1/documents/{id}/original",
            "The bytes that were published, as a download, whole or one range of them; 404 where they are not kept",
            200,
            Some(json!({"*/*": {"schema": {"type": "string", "format": "binary"}}})),
        ),
        operation(
            "get",
            "/v1/documents/{id}/pages/{number}",
            "A page of a PDF as a picture, counted from 1",
            200,
            Some(json!({"image/jpeg": {"schema": {"type": "string", "format": "binary"}}})),
        ),
        Operation {
            parameters: Some(inline::<DeleteParameters>(schemas)),
            ..operation(
                "delete",
                "/v1/documents/{id}",
                "Delete a document; by its id, or by `source/path`",
                202,
                Some(answer::<Accepted>(schemas)),
            )
        },
        Operation {
            body: Some(answer::<StatesRequest>(schemas)),
            ..operation(
                "post",
                "/v1/documents/states",
                "What became of several documents",
                200,
                Some(answer::<StatesAnswer>(schemas)),
            )
        },
        operation(
            "post",
            "/v1/repair",
            "Make up for what was done in a lesser way because a model was away",
            202,
            Some(answer::<DegradedRepair>(schemas)),
        ),
        operation(
            "get",
            "/v1/repair",
            "How far the repair is that runs, or what became of the last one",
            200,
            Some(answer::<DegradedRepair>(schemas)),
        ),
        operation(
            "post",
            "/v1/documents/reconcile",
            "Compare what was accepted with the index",
            200,
            Some(answer::<Reconciliation>(schemas)),
        ),
    ]
}

fn search(schemas: &mut SchemaGenerator) -> Vec<Operation> {
    let object = || json!({"application/json": {"schema": {"type": "object"}}});
    let definition = json!({
        "application/json": {"schema": {"type": "object"}},
        "application/toml": {"schema": {"type": "string"}},
    });
    vec![
        Operation {
            body: Some(answer::<SearchRequest>(schemas)),
            ..operation(
                "post",
                "/v1/search",
                "Find chunks in three tiers",
                200,
                Some(answer::<SearchResponse>(schemas)),
            )
        },
        Operation {
            body: Some(answer::<CodeSearchRequest>(schemas)),
            ..operation(
                "post",
                "/v1/code/search",
                "Find files of source code by what they do, and definitions in them",
                200,
                Some(answer::<CodeSearchResponse>(schemas)),
            )
        },
        Operation {
            parameters: Some(inline::<MissedSearchParameters>(schemas)),
            ..operation(
                "get",
                "/v1/missed-searches",
                "Own searches that found nothing, or nothing that seems to answer them, the last one first",
                200,
                Some(answer::<MissedSearchPage>(schemas)),
            )
        },
        operation(
            "delete",
            "/v1/missed-searches",
            "Forget all of them",
            200,
            Some(answer::<ForgottenSearches>(schemas)),
        ),
        operation(
            "get",
            "/v1/facets",
            "What a search can be narrowed by, with counts, and what it may ask for",
            200,
            Some(answer::<SearchChoices>(schemas)),
        ),
        Operation {
            body: Some(answer::<RenderRequest>(schemas)),
            ..operation(
                "post",
                "/v1/rendered",
                "Markdown as HTML that is safe to show, formulas as MathML, words of a question marked",
                200,
                Some(answer::<Rendered>(schemas)),
            )
        },
        operation(
            "get",
            "/v1/knowledge-sets",
            "Knowledge sets that hold now",
            200,
            Some(object()),
        ),
        Operation {
            body: Some(definition),
            ..operation(
                "put",
                "/v1/knowledge-sets",
                "Define all knowledge sets anew",
                200,
                Some(object()),
            )
        },
        operation(
            "get",
            "/v1/knowledge-sets/status",
            "How each knowledge set is: documents by state, failures, what waits, alarms",
            200,
            Some(answer::<SetStatusList>(schemas)),
        ),
        operation(
            "get",
            "/v1/knowledge-sets/{id}",
            "One knowledge set: its definition, and what can be found in it by source, language, type and tag",
            200,
            Some(answer::<SetInformation>(schemas)),
        ),
        operation(
            "get",
            "/v1/knowledge-sets/{id}/status",
            "How one knowledge set is",
            200,
            Some(answer::<SetStatus>(schemas)),
        ),
    ]
}

fn reindexing(schemas: &mut SchemaGenerator) -> Vec<Operation> {
    let one = "Build a new generation of the index, with the documents of one knowledge set as the settings say today";
    let all = "Build a new generation of the index, for some knowledge sets or for all documents";
    vec![
        operation(
            "post",
            "/v1/knowledge-sets/{id}/reindex",
            one,
            202,
            Some(answer::<ReindexRequest>(schemas)),
        ),
        Operation {
            body: Some(answer::<ReindexWish>(schemas)),
            ..operation(
                "post",
                "/v1/reindex",
                all,
                202,
                Some(answer::<ReindexRequest>(schemas)),
            )
        },
        operation(
            "get",
            "/v1/reindex",
            "Builds with their progress, and generations",
            200,
            Some(answer::<ReindexOverview>(schemas)),
        ),
        operation(
            "delete",
            "/v1/reindex",
            "Give up the newest build that has not ended",
            200,
            Some(answer::<ReindexReport>(schemas)),
        ),
        operation(
            "post",
            "/v1/reindex/rollback",
            "Back to the generation before",
            200,
            Some(answer::<ReindexReport>(schemas)),
        ),
    ]
}

fn dead_letters(schemas: &mut SchemaGenerator) -> Vec<Operation> {
    vec![
        Operation {
            parameters: Some(inline::<PageParameters>(schemas)),
            ..operation(
                "get",
                "/v1/dead-letters",
                "List records that were given up",
                200,
                Some(answer::<DeadLetterPage>(schemas)),
            )
        },
        operation(
            "get",
            "/v1/dead-letters/{id}",
            "One of them, with the beginning of its value",
            200,
            Some(answer::<DeadLetterDetail>(schemas)),
        ),
        operation("delete", "/v1/dead-letters/{id}", "Forget it", 204, None),
        operation(
            "delete",
            "/v1/dead-letters",
            "Forget all that are there now",
            200,
            Some(answer::<DroppedDeadLetters>(schemas)),
        ),
        operation(
            "post",
            "/v1/dead-letters/{id}/replay",
            "Send it through the pipeline again",
            204,
            None,
        ),
    ]
}

fn server(schemas: &mut SchemaGenerator) -> Vec<Operation> {
    let text = |media_type: &str| {
        let mut content = Map::new();
        content.insert(media_type.to_owned(), json!({"schema": {"type": "string"}}));
        Some(Value::Object(content))
    };
    vec![
        operation(
            "get",
            "/health/livez",
            "The process answers",
            200,
            text("text/plain"),
        ),
        operation(
            "get",
            "/health/readyz",
            "Whether requests can be answered; 503 with the same body when not",
            200,
            Some(answer::<Readiness>(schemas)),
        ),
        Operation {
            headers: &[(
                "X-Tributary-Backup-Token",
                "What the file `backup.token` in the server's data folder holds",
            )],
            ..operation(
                "post",
                "/v1/backup",
                "What is embedded, as of this moment, as a tar archive; only for who may read the data folder",
                200,
                text("application/x-tar"),
            )
        },
        operation(
            "get",
            "/v1/images/{id}",
            "A picture that a document carries, as a hit's `images` name it",
            200,
            Some(json!({"image/*": {"schema": {"type": "string", "format": "binary"}}})),
        ),
        Operation {
            parameters: Some(inline::<TableListParameters>(schemas)),
            ..operation(
                "get",
                "/v1/tables",
                "Tables of spreadsheets and delimited text, with their columns and some values",
                200,
                Some(answer::<TableList>(schemas)),
            )
        },
        Operation {
            body: Some(answer::<TableQueryRequest>(schemas)),
            ..operation(
                "post",
                "/v1/tables/query",
                "Ask tables of documents: a model writes an SQL statement, or the caller; its rows, and where each stands",
                200,
                Some(answer::<TableAnswer>(schemas)),
            )
        },
        Operation {
            parameters: Some(inline::<TableParameters>(schemas)),
            ..operation(
                "get",
                "/v1/tables/{id}",
                "The tables of a document as an SQLite database, as its `tables` name them",
                200,
                Some(
                    json!({"application/vnd.sqlite3": {"schema": {"type": "string", "format": "binary"}}}),
                ),
            )
        },
        operation(
            "get",
            "/v1/work",
            "Documents that the stages of this process are at",
            200,
            Some(answer::<WorkOverview>(schemas)),
        ),
        operation(
            "get",
            "/metrics",
            "Metrics as OpenMetrics text, which Prometheus reads",
            200,
            text("application/openmetrics-text"),
        ),
        operation(
            "get",
            "/version",
            "Which program answers",
            200,
            Some(answer::<Version>(schemas)),
        ),
        operation(
            "get",
            "/openapi.json",
            "This description",
            200,
            Some(json!({"application/json": {"schema": {"type": "object"}}})),
        ),
        operation(
            "get",
            "/v1/events",
            "Server-sent events without an end: `documents` whenever reports about documents came",
            200,
            text("text/event-stream"),
        ),
        operation("get", "/", "The web page", 200, text("text/html")),
    ]
}

fn operation(
    method: &'static str,
    path: &'static str,
    summary: &'static str,
    status: u16,
    answer: Option<Value>,
) -> Operation {
    Operation {
        method,
        path,
        summary,
        parameters: None,
        headers: &[],
        body: None,
        status,
        answer,
        refused: None,
    }
}

fn described(operation: &Operation, problem: &Value) -> Value {
    let mut answer = json!({"description": operation.summary});
    if let Some(content) = &operation.answer {
        answer["content"] = content.clone();
    }
    let mut responses = Map::new();
    responses.insert(operation.status.to_string(), answer);
    let problem = || json!({"application/problem+json": {"schema": problem}});
    let refused = operation.refused.clone().unwrap_or_else(problem);
    let refused = json!({"description": "A problem", "content": refused});
    responses.insert("default".to_owned(), refused);
    let mut described = json!({
        "summary": operation.summary, "parameters": parameters(operation), "responses": responses,
        "security": access::security(operation),
    });
    if let Some(body) = &operation.body {
        described["requestBody"] = json!({"required": true, "content": body});
    }
    described
}

fn parameters(operation: &Operation) -> Vec<Value> {
    let mut parameters = Vec::new();
    if operation.path.contains("{id}") {
        let what = "Percent-encoded; may hold slashes and any Unicode";
        parameters.push(json!({"name": "id", "in": "path", "required": true, "description": what, "schema": {"type": "string"}}));
    }
    if operation.path.contains("{number}") {
        let what = "Number of the page, from 1";
        parameters.push(json!({"name": "number", "in": "path", "required": true, "description": what, "schema": {"type": "integer", "minimum": 1}}));
    }
    if operation.path.contains("{turn}") {
        let what = "Id of the turn, which is that of its answer";
        parameters.push(json!({"name": "turn", "in": "path", "required": true, "description": what, "schema": {"type": "string"}}));
    }
    for (name, description) in operation.headers {
        parameters.push(json!({"name": name, "in": "header", "description": description, "schema": {"type": "string"}}));
    }
    let query = operation
        .parameters
        .as_ref()
        .and_then(|schema| schema["properties"].as_object());
    for (name, schema) in query.into_iter().flatten() {
        parameters.push(json!({"name": name, "in": "query", "description": schema["description"], "schema": schema}));
    }
    parameters
}

fn answer<T: JsonSchema>(schemas: &mut SchemaGenerator) -> Value {
    json!({"application/json": {"schema": schema::<T>(schemas)}})
}

/// A reference to the type's schema among the components.
fn schema<T: JsonSchema>(schemas: &mut SchemaGenerator) -> Value {
    schemas.subschema_for::<T>().to_value()
}

/// The type's schema itself.
fn inline<T: JsonSchema>(schemas: &mut SchemaGenerator) -> Value {
    T::json_schema(schemas).to_value()
}
