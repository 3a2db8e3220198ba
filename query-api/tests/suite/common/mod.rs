//! A whole server in memory, and a client of a few lines.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used)]

pub mod backend;
pub mod client;
#[path = "../../../../retrieval/tests/suite/common/mod.rs"]
mod searchable;

pub use searchable::*;
use tributary_query_api::asking::AskConfig;
use tributary_query_api::config::ServerConfig;
use tributary_retrieval::answer::AnswerConfig;

/// Settings of the server.
pub fn server_config() -> ServerConfig {
    toml::from_str(include_str!("config.toml")).unwrap()
}

/// Settings of asking.
pub fn ask_config() -> AskConfig {
    toml::from_str(include_str!("ask.toml")).unwrap()
}

/// Settings of answers.
pub fn answer_config() -> AnswerConfig {
    toml::from_str(include_str!("answer.toml")).unwrap()
}
