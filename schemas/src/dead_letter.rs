//! A dead letter as `dead-letters list|show` and `/v1/dead-letters` print it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ErrorKind;

/// A record that was given up, with the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeadLetter {
    /// `<topic>-<partition>-<offset>` of the failed record.
    pub id: String,
    /// Document id (the record's key); empty if it had none.
    pub document_id: String,
    /// Source of the document, as far as it is known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
    /// Path or URL within the source, as far as it is known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source_path: String,
    /// Title of the document, as far as it is known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// Topic of the failed record.
    pub topic: String,
    /// Its partition.
    pub partition: u32,
    /// Its offset.
    pub offset: u64,
    /// Stage that gave up.
    pub stage: String,
    /// Attempts made.
    pub attempts: u32,
    /// Why.
    pub kind: ErrorKind,
    /// What and where.
    pub message: String,
    /// When, milliseconds since 1970.
    pub at_ms: i64,
    /// Size of the record's value in bytes; 0 for a null value.
    pub bytes: u64,
}

impl DeadLetter {
    /// The stages that give records up.
    pub const STAGES: [&str; 5] = ["ingest", "chunk", "embed", "index", "reindex"];
}
