//! One test program for the whole crate: linking is what costs.
#![allow(clippy::unwrap_used)]

mod canary;
mod chat_reranker;
mod code;
mod common;
mod error_logs;
mod live;
mod prompts;
mod tiers;
mod understand;
mod variants;
mod weights;
mod windows;
