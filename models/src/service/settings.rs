//! Settings of a service of a team's own.

use std::time::Duration;

use super::invalid;
use crate::Result;
use crate::chat::config::Key;

/// Longest time that anything is waited for.
const LONGEST: Duration = Duration::from_secs(30 * 86_400);

/// How a service is called. Everything is said by whoever runs the product; nothing comes from
/// documents.
#[derive(Clone, Debug)]
pub struct ServiceSettings {
    /// Address that bodies are posted to.
    pub url: String,
    /// Sent as `Authorization: Bearer`.
    pub key: Option<Key>,
    /// Sent as a header: one line, `Name: value`. As secret as the key.
    pub header: Option<Key>,
    /// Longest time for a connection.
    pub connect_timeout: Duration,
    /// Longest time for one attempt.
    pub timeout: Duration,
    /// How long a call waits for a service that does not answer, all attempts together.
    pub patience: Duration,
    /// Calls at the same time.
    pub parallel: usize,
    /// Attempts beside the first.
    pub retries: u32,
    /// Pause before the second attempt, doubled for each further one.
    pub retry_pause: Duration,
    /// Calls that wait while the service is away; more fail with the next attempt that does.
    pub waiting: usize,
    /// Largest answer; reading ends there.
    pub maximum_reply_bytes: usize,
    /// Failed attempts in a row after which the service is left alone; 0 = never.
    pub circuit_failures: u32,
    /// For how long.
    pub circuit_pause: Duration,
}

impl ServiceSettings {
    /// `Invalid` for a figure that cannot be.
    pub(super) fn check(&self) -> Result<()> {
        let positive = [
            ("timeout_seconds", !self.timeout.is_zero()),
            ("patience_seconds", !self.patience.is_zero()),
            ("parallel", self.parallel > 0),
            ("maximum_reply_bytes", self.maximum_reply_bytes > 0),
        ];
        let longest = [
            ("timeout_seconds", self.timeout),
            ("patience_seconds", self.patience),
        ];
        if let Some((setting, _)) = longest.into_iter().find(|(_, time)| *time > LONGEST) {
            let days = LONGEST.as_secs() / 86_400;
            return Err(invalid(setting, format!("must be at most {days} days")));
        }
        let wrong = positive.into_iter().find(|(_, is_positive)| !is_positive);
        wrong.map_or(Ok(()), |(setting, _)| {
            Err(invalid(setting, "must be at least 1"))
        })
    }
}
