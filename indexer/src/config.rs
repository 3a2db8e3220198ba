//! The section `[indexer]` of the configuration.

use serde::{Deserialize, Serialize};

/// Settings of the index stage.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// How long a written document waits for others that are made durable and visible with it,
    /// milliseconds.
    pub linger_ms: u64,
    /// Documents written and not yet visible, at most.
    pub in_flight_documents: usize,
    /// Documents of a replay into a new generation that may wait for the later stages, and so
    /// stand before one that is published meanwhile.
    pub replay_documents_ahead: u64,
    /// Whether the generation before a promotion stays until the next reindex, ready to go back
    /// to.
    pub keep_previous_generation: bool,
}
