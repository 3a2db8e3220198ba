//! One test program for the whole crate: linking is what costs.
#![allow(clippy::unwrap_used)]

mod access;
mod ask;
mod citations;
mod common;
mod conversations;
mod course;
mod dify;
mod door;
mod error_map;
mod evaluations;
mod http;
mod identity;
mod judging;
mod mcp;
mod on_demand;
mod openai;
mod openapi;
mod remembering;
mod report;
mod rights;
mod textbook;
mod user_profiles;
