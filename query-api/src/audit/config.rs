//! Settings of the audit record, section `[query_api.server.audit]`.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Most ids of documents that a call may keep: a record of them stays small.
const MAXIMUM_DOCUMENTS: usize = 1000;
/// Most calls that may wait to be written: some tens of megabytes.
const MAXIMUM_WAITING: usize = 100_000;

/// What is recorded of calls.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AuditConfig {
    /// Whether calls are recorded.
    pub enabled: bool,
    /// Days after which they go; 0 keeps them for ever.
    pub retention_days: u64,
    /// Ids of documents that one call keeps; more are counted.
    pub documents_per_call: usize,
    /// Calls that wait to be written; more are counted and left out.
    pub waiting_calls: usize,
}

impl AuditConfig {
    /// How long calls are kept; `None` for ever.
    pub fn retention(&self) -> Option<Duration> {
        let seconds = self.retention_days.saturating_mul(24 * 3600);
        (seconds > 0).then(|| Duration::from_secs(seconds))
    }

    /// Everything that is wrong with the values, one line each.
    pub fn problems(&self) -> Vec<String> {
        let bounded = [
            (
                "documents_per_call",
                self.documents_per_call,
                MAXIMUM_DOCUMENTS,
            ),
            ("waiting_calls", self.waiting_calls, MAXIMUM_WAITING),
        ];
        let wrong = bounded
            .iter()
            .filter(|(_, value, maximum)| !(1..=*maximum).contains(value));
        wrong
            .map(|(key, value, maximum)| {
                format!(
                    "query_api.server.audit.{key} is {value}, it must be between 1 and {maximum} \
                     (to record nothing set query_api.server.audit.enabled = false)"
                )
            })
            .collect()
    }
}
