//! The Elasticsearch index against a real node, named by TRIBUTARY_TEST_ELASTICSEARCH (`http://host:port`, such as
//! `deploy/services/elasticsearch start` prints); without it the tests that need one are skipped, loudly.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

#[path = "elasticsearch/cluster.rs"]
mod cluster;

use tributary_store::search_index::conformance;

use self::cluster::Cluster;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_keeps_every_promise() {
    let Some(cluster) = Cluster::find("promises").await else { return };
    conformance::all(&cluster.open().await).await;
    cluster.clean().await;
}
