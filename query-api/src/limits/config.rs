//! Settings of what one caller may ask for, section `[query_api.server.limits]`.

use serde::{Deserialize, Serialize};

/// Bounds for each key, and for each address that shows none.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LimitsConfig {
    /// Requests a minute in the long run; 0 for any number.
    pub requests_per_minute: u64,
    /// Requests that may come at once, beyond which those of a minute are spread over it.
    pub request_burst: u64,
    /// Bytes of bodies a minute, sent and received; 0 for any number. A request that begins within
    /// them is answered whole.
    pub bytes_per_minute: u64,
    /// Streams at the same time: answers as they are written, events, the audit record as it comes;
    /// 0 for any number.
    pub concurrent_streams: usize,
    /// Wrong keys a minute from one address; 0 for any number.
    pub wrong_keys_per_minute: u64,
    /// Callers that are remembered; of more, those that were silent longest are forgotten.
    pub remembered_callers: usize,
}

impl LimitsConfig {
    /// Everything that is wrong with the values, one line each.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if self.requests_per_minute > 0 && self.request_burst == 0 {
            problems.push(
                "query_api.server.limits.request_burst must be at least 1, else no request is let in \
                 (for no limit set requests_per_minute = 0)"
                    .to_owned(),
            );
        }
        if self.remembered_callers < 100 {
            problems.push(
                "query_api.server.limits.remembered_callers must be at least 100: whoever is \
                 forgotten begins anew"
                    .to_owned(),
            );
        }
        problems
    }
}
