//! One test program for the whole crate: linking is what costs.
#![allow(clippy::unwrap_used)]

mod access;
mod ask;
mod audit;
mod citations;
mod common;
mod conversations;
mod cors;
mod course;
mod dify;
mod door;
mod error_map;
mod evaluations;
mod http;
mod identity;
mod judging;
mod limits;
mod mcp;
mod missed_searches;
mod on_demand;
mod openai;
mod openapi;
mod remembering;
mod report;
mod rights;
mod terms;
mod textbook;
mod tls;
mod user_profiles;
