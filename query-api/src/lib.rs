//! The query server: three-tier retrieval, the HTTP interface and the web page.
//! [`retrieval::Retriever`] answers searches, also as a library; [`server::serve`] is the HTTP
//! server that the command line starts.

pub mod access;
pub mod config;
pub mod documents;
pub mod http;
pub mod knowledge_sets;
pub mod metrics;
pub mod openapi;
pub mod operations;
pub mod problem;
pub mod reindexing;
pub mod retrieval;
pub mod server;

pub use config::Config;
pub use operations::{Operations, OperationsParts};
pub use problem::{Code, Problem};
pub use retrieval::{Models, Outcome, Retriever};
pub use server::{Parts, ServerState, serve, serve_operations};
