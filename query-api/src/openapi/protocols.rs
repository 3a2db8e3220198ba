//! The interfaces of others: the Model Context Protocol, OpenAI's and Dify's.

use schemars::SchemaGenerator;
use serde_json::{Value, json};

use super::{Operation, answer, operation};
use crate::dify::{RetrievalError, RetrievalRequest, RetrievalResponse};
use crate::openai::{Completion, CompletionRequest, ErrorBody, Model, ModelList};

/// All of them.
pub fn operations(schemas: &mut SchemaGenerator) -> Vec<Operation> {
    let object = || json!({"application/json": {"schema": {"type": "object"}}});
    let refused = openai_error(schemas);
    let completion = "An answer in OpenAI's shape; with `stream` its parts as server-sent events, \
        `data: [DONE]` at the end";
    vec![
        Operation {
            body: Some(object()),
            ..operation(
                "post",
                "/mcp",
                "A message of the Model Context Protocol (Streamable HTTP, without sessions): tools and documents",
                200,
                Some(object()),
            )
        },
        Operation {
            body: Some(answer::<CompletionRequest>(schemas)),
            refused: Some(refused.clone()),
            ..operation(
                "post",
                "/v1/chat/completions",
                completion,
                200,
                Some(answer::<Completion>(schemas)),
            )
        },
        Operation {
            refused: Some(refused.clone()),
            ..operation(
                "get",
                "/v1/models",
                "Workflows and knowledge sets as models of OpenAI's interface",
                200,
                Some(answer::<ModelList>(schemas)),
            )
        },
        Operation {
            refused: Some(refused),
            ..operation(
                "get",
                "/v1/models/{id}",
                "One of them: a workflow, or `workflow@set,set`",
                200,
                Some(answer::<Model>(schemas)),
            )
        },
        Operation {
            body: Some(answer::<RetrievalRequest>(schemas)),
            refused: Some(answer::<RetrievalError>(schemas)),
            ..operation(
                "post",
                "/retrieval",
                "Passages of a knowledge set as an external knowledge base of Dify",
                200,
                Some(answer::<RetrievalResponse>(schemas)),
            )
        },
    ]
}

fn openai_error(schemas: &mut SchemaGenerator) -> Value {
    let error = schemas.subschema_for::<ErrorBody>().to_value();
    let properties = json!({"error": error});
    let schema = json!({"type": "object", "required": ["error"], "properties": properties});
    json!({"application/json": {"schema": schema}})
}
