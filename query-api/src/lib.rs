//! The query server: the HTTP interface and the web page. [`server::serve`] is the server that the
//! command line starts.

pub mod asking;
pub mod audit;
pub mod authentication;
pub mod config;
pub mod dify;
pub mod http;
pub mod limits;
pub mod mcp;
pub mod metrics;
pub mod openai;
pub mod openapi;
pub mod operations;
pub mod page_drawing;
pub mod problem;
pub mod readiness;
pub mod reindexing;
pub mod rendering;
pub mod repairing;
pub mod server;
pub mod set_status;
mod sources;
pub mod term_review;
pub mod tls;
mod trace_id;

pub use config::Config;
pub use operations::{Operations, OperationsParts};
pub use problem::{Code, Problem};
pub use server::{Parts, ServerState, serve, serve_operations};
