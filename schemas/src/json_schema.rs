//! The JSON Schemas (2020-12) of everything that crosses a process boundary, made from the types
//! themselves. A test keeps the files in `schemas/json/` as generated here and reads every golden
//! file with the types of today.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::ask::{Answer, AskEvent, AskRequest};
use crate::audit::AuditEntry;
use crate::code_search::{CodeSearchRequest, CodeSearchResponse};
use crate::conversation::{Conversation, Turn};
use crate::evaluation::StoredRun;
use crate::external_step::{
    ExternalChunksReply, ExternalChunksRequest, ExternalReply, ExternalRequest,
};
use crate::judging::{Explanation, Judgement, QuestionToJudge};
use crate::reindex::{ReindexOverview, ReindexReport, ReindexRequest};
use crate::search::{QueryPlan, SearchRequest, SearchResponse};
use crate::table_query::{TableAnswer, TableQueryRequest};
use crate::user_profile::UserProfile;
use crate::{
    CleanDocument, DeadLetter, DocumentEvent, DocumentState, EmbeddedDocument, Filter,
    PassedIngest, Reconciliation, TaggedDocument,
};

/// What every schema's `$id` begins with; the name and version of the message follow.
pub const ID_PREFIX: &str = "urn:tributary:schema:";

/// A versioned kind of message. A version never changes in a way that makes an old message
/// unreadable; such a change is a new version, and the old one stays in [`MESSAGES`] for as long as
/// records of it may lie in a log.
#[derive(Clone, Copy)]
pub struct Message {
    /// Name with version, such as `document-event.v1`.
    pub name: &'static str,
    describe: fn() -> Value,
    read: fn(&str) -> serde_json::Result<Value>,
}

/// All messages: values of the log's topics first, then what goes over HTTP.
pub const MESSAGES: &[Message] = &[
    message::<DocumentEvent>("document-event.v1"),
    message::<CleanDocument>("clean-document.v1"),
    message::<TaggedDocument>("tagged-document.v1"),
    message::<EmbeddedDocument>("embedded-document.v1"),
    message::<DocumentState>("document-state.v1"),
    message::<PassedIngest>("passed-ingest.v1"),
    message::<DeadLetter>("dead-letter.v1"),
    message::<ReindexRequest>("reindex-request.v1"),
    message::<ReindexReport>("reindex-report.v1"),
    message::<AuditEntry>("audit-entry.v1"),
    message::<Reconciliation>("reconciliation.v1"),
    message::<Filter>("filter.v1"),
    message::<SearchRequest>("search-request.v1"),
    message::<SearchResponse>("search-response.v1"),
    message::<QueryPlan>("query-plan.v1"),
    message::<CodeSearchRequest>("code-search-request.v1"),
    message::<CodeSearchResponse>("code-search-response.v1"),
    message::<AskRequest>("ask-request.v1"),
    message::<AskEvent>("ask-event.v1"),
    message::<Answer>("answer.v1"),
    message::<TableQueryRequest>("table-query-request.v1"),
    message::<TableAnswer>("table-answer.v1"),
    message::<QuestionToJudge>("question-to-judge.v1"),
    message::<Judgement>("judgement.v1"),
    message::<Explanation>("explanation.v1"),
    message::<Conversation>("conversation.v1"),
    message::<Turn>("turn.v1"),
    message::<UserProfile>("user-profile.v1"),
    message::<ReindexOverview>("reindex-overview.v1"),
    message::<StoredRun>("evaluation-run.v1"),
    message::<ExternalRequest>("external-step-request.v1"),
    message::<ExternalReply>("external-step-reply.v1"),
    message::<ExternalChunksRequest>("external-chunks-request.v1"),
    message::<ExternalChunksReply>("external-chunks-reply.v1"),
];

impl Message {
    /// The message of this name, such as `document-event.v1`.
    pub fn named(name: &str) -> Option<&'static Self> {
        MESSAGES.iter().find(|message| message.name == name)
    }

    /// The `$id` of its schema, which `ce_dataschema` names.
    pub fn id(&self) -> String {
        format!("{ID_PREFIX}{}", self.name)
    }

    /// The file in `schemas/json/`.
    pub fn file_name(&self) -> String {
        format!("{}.json", self.name)
    }

    /// What a reader accepts: a field with a default is not required.
    pub fn json_schema(&self) -> Value {
        let mut schema = (self.describe)();
        if let Some(schema) = schema.as_object_mut() {
            schema.insert("$id".to_owned(), Value::String(self.id()));
        }
        schema
    }

    /// Reads a message with the types of today and gives it back as they write it.
    pub fn read(&self, json: &str) -> serde_json::Result<Value> {
        (self.read)(json)
    }
}

const fn message<T: JsonSchema + Serialize + DeserializeOwned>(name: &'static str) -> Message {
    Message {
        name,
        describe: describe::<T>,
        read: read::<T>,
    }
}

fn describe<T: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12()
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value()
}

fn read<T: Serialize + DeserializeOwned>(json: &str) -> serde_json::Result<Value> {
    serde_json::to_value(serde_json::from_str::<T>(json)?)
}
