//! Settings of the ingest stage: the section `[ingest]` of the configuration. Values live in the
//! commented default file of the command line.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tributary_models::service::ServiceSettings;

/// The section `[ingest]`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Whether the bytes that were published are kept as long as the document.
    pub keep_originals: bool,
    /// The section `[ingest.cleaners]`.
    pub cleaners: CleanersConfig,
    /// The section `[ingest.external]`.
    pub external: ExternalConfig,
}

/// The section `[ingest.external]`: what cleaning steps that are services have in common. A step may
/// say some of it for itself.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ExternalConfig {
    /// Longest time for one attempt.
    pub timeout_seconds: u64,
    /// Longest time for a connection.
    pub connect_timeout_ms: u64,
    /// Calls of one service at the same time.
    pub parallel: usize,
    /// Attempts beside the first.
    pub retries: u32,
    /// Pause before the second attempt, doubled for each further one.
    pub retry_pause_ms: u64,
    /// How long a document waits for a service that does not answer, all attempts together.
    pub patience_seconds: u64,
    /// Documents that wait for a service that is away; more fail with the next attempt that does.
    pub waiting: usize,
    /// Largest answer in bytes.
    pub maximum_reply_bytes: usize,
    /// Failed attempts in a row after which a service is left alone; 0 = never.
    pub circuit_failures: u32,
    /// For how long.
    pub circuit_pause_seconds: u64,
    /// Documents that wait for services, at most, all of them together.
    pub documents_waiting: usize,
    /// Bytes of their texts, at most.
    pub waiting_bytes: usize,
}

impl ExternalConfig {
    /// How a service is called that says nothing for itself, without its address.
    pub fn defaults(&self) -> ServiceSettings {
        ServiceSettings {
            url: String::new(),
            key: None,
            header: None,
            connect_timeout: Duration::from_millis(self.connect_timeout_ms),
            timeout: Duration::from_secs(self.timeout_seconds),
            patience: Duration::from_secs(self.patience_seconds),
            parallel: self.parallel,
            retries: self.retries,
            retry_pause: Duration::from_millis(self.retry_pause_ms),
            waiting: self.waiting,
            maximum_reply_bytes: self.maximum_reply_bytes,
            circuit_failures: self.circuit_failures,
            circuit_pause: Duration::from_secs(self.circuit_pause_seconds),
        }
    }
}

/// The section `[ingest.cleaners]`: what the cleaning steps share over all sources.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CleanersConfig {
    /// Largest compiled size in bytes of one boilerplate pattern.
    pub maximum_pattern_bytes: usize,
    /// Longest line in bytes that boilerplate patterns are tried on; longer lines are content.
    pub maximum_pattern_line_bytes: usize,
}
