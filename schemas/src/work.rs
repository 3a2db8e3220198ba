//! What a process is working on: for whoever waits for documents.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A document that a stage is at.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkItem {
    /// The stage: `ingest` or `embed`.
    pub stage: String,
    /// The document.
    pub document_id: String,
    /// For how many seconds.
    pub seconds: f64,
    /// Chunks that are done.
    pub done: u64,
    /// Chunks of the document; 0 where the stage does not count them.
    pub all: u64,
}

/// Answer of `GET /v1/work`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkOverview {
    /// What the stages of this process are at, the longest at first.
    pub items: Vec<WorkItem>,
}

impl WorkItem {
    /// How much of the stage's work is done, 0 to 1; 0 where the stage does not count.
    pub fn share(&self) -> f64 {
        if self.all == 0 {
            return 0.0;
        }
        (self.done as f64 / self.all as f64).clamp(0.0, 1.0)
    }
}
