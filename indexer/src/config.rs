//! The section `[indexer]` of the configuration.

use serde::{Deserialize, Serialize};

/// Settings of the index stage.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// How long a written document waits for others that are made durable and visible with it, milliseconds.
    pub linger_ms: u64,
    /// Documents written and not yet visible, at most.
    pub in_flight_documents: usize,
}
