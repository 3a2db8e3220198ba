//! What becomes of a repair of documents that were made in a lesser way.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The last repair of this process, or the one that runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DegradedRepair {
    /// Whether it runs.
    pub running: bool,
    /// Documents that were degraded when it began.
    pub documents: u64,
    /// Of these, those that were tried, or have become something else meanwhile.
    pub done: u64,
    /// Of these, those that were made as configured and go on to the index.
    pub repaired: u64,
    /// Why one is as it was; nothing if all are repaired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
