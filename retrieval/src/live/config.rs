//! Settings of the live search; the values live in `cli/default.toml`.

use serde::{Deserialize, Serialize};
use tributary_models::chat::config::Key;

use super::exchange;

/// Which service is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LiveKind {
    /// None: nothing is ever asked.
    None,
    /// A SearXNG, <https://docs.searxng.org/dev/search_api.html>.
    Searxng,
    /// Tavily, <https://docs.tavily.com/documentation/api-reference/endpoint/search>.
    Tavily,
}

/// The section `[query_api.answer.live]`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LiveConfig {
    /// Which service is asked.
    pub kind: LiveKind,
    /// Where it is, without `/search`.
    pub url: String,
    /// Its key.
    pub api_key: Key,
    /// File that holds the key, if `api_key` does not.
    pub api_key_file: String,
    /// Whether it may be on this machine or in a network of its own.
    pub allow_private_addresses: bool,
    /// Queries of one report at most.
    pub queries: usize,
    /// Results of all of them together at most.
    pub results: usize,
    /// Characters of a result at most.
    pub text_characters: usize,
    /// Longest time for a query, in milliseconds.
    pub deadline_ms: u64,
    /// Largest reply in bytes, unpacked.
    pub maximum_reply_bytes: usize,
}

impl LiveConfig {
    /// Everything that is wrong with the values, one line each.
    pub fn problems(&self) -> Vec<String> {
        let rules = [
            (self.queries > 0, "queries"),
            (self.results > 0, "results"),
            (self.text_characters > 0, "text_characters"),
            (self.deadline_ms > 0, "deadline_ms"),
            (self.maximum_reply_bytes > 0, "maximum_reply_bytes"),
        ];
        let broken = rules.into_iter().filter(|(holds, _)| !holds);
        let broken = broken.map(|(_, key)| format!("live.{key} must be at least 1"));
        let is_nowhere = self.kind != LiveKind::None && self.url.trim().is_empty();
        let nowhere = is_nowhere.then(|| "live.url must say where the service is".to_owned());
        let mut problems: Vec<String> = broken.chain(nowhere).collect();
        if self.kind != LiveKind::None && problems.is_empty() {
            let refused = exchange::address(self).err();
            problems.extend(refused.map(|error| {
                let what = error.to_string().replacen(exchange::SECTION, "", 1);
                let hint = error.hint().map(|hint| format!(": {hint}"));
                what + &hint.unwrap_or_default()
            }));
        }
        problems
    }
}
