//! The web page over a server in memory, to look at it: `cargo run --release -p tributary-query-api
//! --example page`.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

#[path = "../tests/suite/common/mod.rs"]
mod common;

use std::net::TcpListener;
use std::sync::Arc;

use tributary_models::rerankers::lexical::LexicalReranker;

#[tokio::main]
async fn main() {
    let (state, _) =
        common::backend::state(common::models(Some(Arc::new(LexicalReranker))), true).await;
    let address = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "127.0.0.1:7788".to_owned());
    let listener = TcpListener::bind(&address).unwrap();
    eprintln!("http://{address}");
    tributary_query_api::serve(state, listener, std::future::pending())
        .await
        .unwrap();
}
