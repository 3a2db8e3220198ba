//! Settings of the query server, section `[query_api]`; the values live in `cli/default.toml`.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};
use tributary_retrieval::answer::AnswerConfig;
use tributary_store::missed_searches::Config as MissedSearchesConfig;

use crate::asking::AskConfig;
use crate::audit::AuditConfig;
use crate::authentication::identity::config::IdentityConfig;
use crate::http::cors;
use crate::limits::LimitsConfig;
use crate::tls::TlsConfig;

/// The whole section.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The HTTP server.
    pub server: ServerConfig,
    /// The three tiers.
    pub retrieval: tributary_retrieval::Config,
    /// What answers are made of.
    pub answer: AnswerConfig,
    /// How questions are taken.
    pub ask: AskConfig,
}

/// The HTTP server, `[query_api.server]`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ServerConfig {
    /// Address to listen on; port 0 picks one.
    pub listen: String,
    /// Who may reach the server.
    pub network_access: NetworkAccess,
    /// Who sees documents of which nobody said who may, where keys are wanted.
    pub documents_without_access: DocumentsWithoutAccess,
    /// How long readers with rights of their own are answered while the event log, which says what
    /// others publish, does not answer; 0 for as long as it takes.
    pub rights_valid_seconds: u64,
    /// Whether `/metrics` is answered without a key where others want one.
    pub open_metrics: bool,
    /// Names by which browsers may call the server: other `Host` names are refused, so that no web
    /// page can reach it by pointing a name of its own at this machine. Empty accepts any.
    pub host_names: Vec<String>,
    /// Origins whose pages may call the server from a browser; none for an empty list.
    pub cors_origins: Vec<String>,
    /// Threads that serve requests; searches and models have threads of their own.
    pub worker_threads: usize,
    /// Connections at the same time, per worker thread.
    pub connections_per_worker: usize,
    /// Longest time in which the head of a request must have come; a connection that says nothing
    /// is closed then.
    pub head_timeout_ms: u64,
    /// How long a connection is kept open for a next request. Callers that keep connections close
    /// theirs earlier, so that no request meets one that is being closed.
    pub keep_alive_ms: u64,
    /// Largest body of a published document, in bytes.
    pub document_limit_bytes: usize,
    /// Largest body of any other request, in bytes.
    pub request_limit_bytes: usize,
    /// Bytes of request bodies that may be in memory at the same time, the copies made of them
    /// included; bodies up to 64 KiB do not count.
    pub body_budget_bytes: u64,
    /// Longest time between two parts of a body.
    pub body_idle_timeout_ms: u64,
    /// Slowest pace of a document's body, beyond the time that every request has.
    pub body_minimum_bytes_per_second: u64,
    /// Searches that run at the same time; 0 for as many as there are cores.
    pub concurrent_searches: usize,
    /// Searches that wait for their turn; more are refused.
    pub waiting_searches: usize,
    /// Longest time from the head of a request, or from the last part of a document's body, to the
    /// answer.
    pub request_timeout_ms: u64,
    /// Longest time that a stop waits for requests being worked on.
    pub shutdown_timeout_ms: u64,
    /// Largest page of a list.
    pub maximum_page: usize,
    /// Idempotency keys that are remembered.
    pub idempotency_keys: usize,
    /// Questions of searches that were not answered, as candidates for evaluations.
    pub missed_searches: MissedSearchesConfig,
    /// Bytes of drawn pages that are kept in memory.
    pub page_cache_bytes: usize,
    /// Whom the server accepts beside the holders of its own keys.
    pub identity: IdentityConfig,
    /// What one caller may ask for in a time.
    pub limits: LimitsConfig,
    /// The record of who called.
    pub audit: AuditConfig,
    /// Certificate and key, where it speaks HTTPS.
    pub tls: TlsConfig,
}

impl ServerConfig {
    /// Where browsers come back to from the identity provider, and would be refused.
    fn unnamed_page(&self) -> Option<String> {
        let host = self.identity.login.host()?;
        let is_named = |name: &String| name.eq_ignore_ascii_case(&host);
        let is_refused = !self.host_names.is_empty() && !self.host_names.iter().any(is_named);
        is_refused.then(|| {
            format!("query_api.server.identity.login.page_url has the name `{host}`, which query_api.server.host_names lacks: add it there")
        })
    }
}

/// Who may reach the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NetworkAccess {
    /// This machine only; any other address is refused at start.
    LoopbackOnly,
    /// Whoever shows a key, on this machine too: behind a proxy everybody comes from here.
    Authenticated,
    /// Everyone who reaches the port may read, publish and delete: only behind something that
    /// authenticates.
    EveryoneWithoutAuthentication,
}

/// Who sees documents without `access`, where API keys are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DocumentsWithoutAccess {
    /// Administrators alone.
    Administrators,
    /// Every reader, as far as its clearance goes.
    Readers,
}

impl Config {
    /// Everything that is wrong with the values, one line each.
    pub fn problems(&self) -> Vec<String> {
        let server = &self.server;
        let positive = [
            ("worker_threads", server.worker_threads as u64),
            (
                "connections_per_worker",
                server.connections_per_worker as u64,
            ),
            ("document_limit_bytes", server.document_limit_bytes as u64),
            ("request_limit_bytes", server.request_limit_bytes as u64),
            ("body_budget_bytes", server.body_budget_bytes),
            ("body_idle_timeout_ms", server.body_idle_timeout_ms),
            (
                "body_minimum_bytes_per_second",
                server.body_minimum_bytes_per_second,
            ),
            ("request_timeout_ms", server.request_timeout_ms),
            ("maximum_page", server.maximum_page as u64),
            ("idempotency_keys", server.idempotency_keys as u64),
        ];
        let mut problems: Vec<String> = positive
            .iter()
            .filter(|(_, value)| *value == 0)
            .map(|(key, _)| format!("query_api.server.{key} must be at least 1"))
            .collect();
        // The server's clock for it has steps of half a second; a shorter time might never end.
        if server.head_timeout_ms < 1000 {
            problems.push("query_api.server.head_timeout_ms must be at least 1000".to_owned());
        }
        if server.keep_alive_ms < 1000 {
            problems.push("query_api.server.keep_alive_ms must be at least 1000".to_owned());
        }
        if server.listen.parse::<SocketAddr>().is_err() {
            problems.push(format!(
                "query_api.server.listen `{}` is no HOST:PORT, such as 127.0.0.1:7470",
                server.listen
            ));
        }
        if (1..10).contains(&server.rights_valid_seconds) {
            problems
                .push("query_api.server.rights_valid_seconds must be 0 or at least 10".to_owned());
        }
        problems.extend(server.identity.problems());
        if server.identity.is_on() && server.network_access != NetworkAccess::Authenticated {
            problems.push("query_api.server.identity is looked at only where query_api.server.network_access is \"authenticated\": set that, or leave both out".to_owned());
        }
        problems.extend(server.unnamed_page());
        problems.extend(
            server
                .cors_origins
                .iter()
                .filter_map(|one| cors::problem(one)),
        );
        problems.extend(server.limits.problems());
        problems.extend(server.audit.problems());
        problems.extend(server.tls.problems());
        problems.extend(self.retrieval.problems());
        problems.extend(self.answer.problems());
        problems.extend(self.ask.problems());
        problems
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    #[test]
    fn the_page_must_be_reached_by_a_name_that_is_accepted() {
        let mut server = server();
        assert_eq!(server.unnamed_page(), None);
        server.identity.login.client_id = "page".to_owned();
        server.identity.login.page_url = "https://kb.example.com".to_owned();
        let problem = server.unnamed_page();
        assert!(problem.is_some_and(|line| line.contains("`kb.example.com`")));
        server.host_names.push("KB.example.com".to_owned());
        assert_eq!(server.unnamed_page(), None);
    }

    /// The server of the tests.
    pub fn server() -> ServerConfig {
        toml::from_str(include_str!("../tests/suite/common/config.toml"))
            .unwrap_or_else(|error| panic!("{error}"))
    }
}
