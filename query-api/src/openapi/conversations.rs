//! Operations of conversations and feedback.

use schemars::SchemaGenerator;
use serde_json::json;
use tributary_schemas::conversation::{Conversation, Feedback, Turn};

use super::{Operation, answer, inline, operation};
use crate::http::conversations::{
    ConversationPage, ExportParameters, FeedbackParameters, ListParameters, NewConversation,
    RenameConversation, TurnPage, TurnParameters,
};

pub fn operations(schemas: &mut SchemaGenerator) -> Vec<Operation> {
    let mut operations = conversations(schemas);
    operations.extend(turns(schemas));
    operations
}

fn conversations(schemas: &mut SchemaGenerator) -> Vec<Operation> {
    let one = Some(answer::<Conversation>(schemas));
    let (path, of_one) = ("/v1/conversations", "/v1/conversations/{id}");
    let again = "Remove its turns for good; the conversation stays";
    vec![
        Operation {
            body: Some(answer::<NewConversation>(schemas)),
            ..operation("post", path, "Begin a conversation", 201, one.clone())
        },
        Operation {
            parameters: Some(inline::<ListParameters>(schemas)),
            ..operation(
                "get",
                path,
                "List conversations, the one with the newest change first",
                200,
                Some(answer::<ConversationPage>(schemas)),
            )
        },
        operation("get", of_one, "A conversation", 200, one.clone()),
        Operation {
            body: Some(answer::<RenameConversation>(schemas)),
            ..operation("patch", of_one, "Give it another title", 200, one.clone())
        },
        operation(
            "delete",
            of_one,
            "Delete it with its turns for good",
            204,
            None,
        ),
        operation("post", "/v1/conversations/{id}/clear", again, 200, one),
    ]
}

fn turns(schemas: &mut SchemaGenerator) -> Vec<Operation> {
    let feedback = "/v1/conversations/{id}/turns/{turn}/feedback";
    vec![
        Operation {
            parameters: Some(inline::<TurnParameters>(schemas)),
            ..operation(
                "get",
                "/v1/conversations/{id}/turns",
                "Its questions with what became of them",
                200,
                Some(answer::<TurnPage>(schemas)),
            )
        },
        Operation {
            parameters: Some(inline::<ExportParameters>(schemas)),
            ..operation(
                "get",
                "/v1/conversations/{id}/export",
                "All of it as a file: Markdown, or as JSON a `ConversationExport`",
                200,
                Some(json!({"text/markdown": {"schema": {"type": "string"}}})),
            )
        },
        Operation {
            body: Some(answer::<Feedback>(schemas)),
            ..operation(
                "put",
                feedback,
                "Say whether an answer helped, and why",
                200,
                Some(answer::<Turn>(schemas)),
            )
        },
        operation(
            "delete",
            feedback,
            "Take it back",
            200,
            Some(answer::<Turn>(schemas)),
        ),
        Operation {
            parameters: Some(inline::<FeedbackParameters>(schemas)),
            ..operation(
                "get",
                "/v1/feedback",
                "Turns that somebody said something of, for evaluation: pages, or all as JSON Lines",
                200,
                Some(answer::<TurnPage>(schemas)),
            )
        },
    ]
}
