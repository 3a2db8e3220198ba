//! Settings of the query server, section `[query_api]`; the values live in `cli/default.toml`.

use serde::{Deserialize, Serialize};

use crate::retrieval;

/// The whole section.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The HTTP server.
    pub server: ServerConfig,
    /// The three tiers.
    pub retrieval: retrieval::Config,
}

/// The HTTP server, `[query_api.server]`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ServerConfig {
    /// Address to listen on; port 0 picks one.
    pub listen: String,
    /// Who may reach the server.
    pub network_access: NetworkAccess,
    /// Names by which browsers may call the server: other `Host` names are refused, so that no web page can reach it by pointing a
    /// name of its own at this machine. Empty accepts any.
    pub host_names: Vec<String>,
    /// Threads that serve requests; searches and models have threads of their own.
    pub worker_threads: usize,
    /// Connections at the same time, per worker thread.
    pub connections_per_worker: usize,
    /// Largest body of a published document, in bytes.
    pub document_limit_bytes: usize,
    /// Largest body of any other request, in bytes.
    pub request_limit_bytes: usize,
    /// Longest time from the head of a request to its answer.
    pub request_timeout_ms: u64,
    /// Longest time that a stop waits for requests being worked on.
    pub shutdown_timeout_ms: u64,
    /// Largest page of a list.
    pub maximum_page: usize,
    /// Idempotency keys that are remembered.
    pub idempotency_keys: usize,
}

/// Who may reach the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NetworkAccess {
    /// This machine only; any other address is refused at start.
    LoopbackOnly,
    /// Everyone who reaches the port may read, publish and delete: only behind something that authenticates.
    EveryoneWithoutAuthentication,
}
