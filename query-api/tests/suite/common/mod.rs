//! A whole server in memory, and a client of a few lines.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used)]

pub mod backend;
pub mod client;
#[path = "../../../../retrieval/tests/suite/common/mod.rs"]
mod searchable;

pub use searchable::*;
use tributary_query_api::config::ServerConfig;

/// Settings of the server.
pub fn server_config() -> ServerConfig {
    toml::from_str(include_str!("config.toml")).unwrap()
}
