//! The Elasticsearch index, and the conversations beside it, against a real node, named by TRIBUTARY_TEST_ELASTICSEARCH (`http://host:port`, such as
//! `deploy/services/elasticsearch start` prints); without it the tests that need one are skipped,
//! loudly.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

#[path = "elasticsearch/bad_days.rs"]
mod bad_days;
#[path = "elasticsearch/cluster.rs"]
mod cluster;
#[path = "conformance/search_index/mod.rs"]
mod conformance;
#[path = "conformance/conversations/mod.rs"]
mod conversation_promises;
#[path = "elasticsearch/conversations.rs"]
mod conversations;
#[path = "elasticsearch/engines.rs"]
mod engines;
#[path = "elasticsearch/fake.rs"]
mod fake;
#[path = "elasticsearch/late.rs"]
mod late;
#[path = "elasticsearch/outages.rs"]
mod outages;
#[path = "elasticsearch/processes.rs"]
mod processes;

use tributary_store::search_index::SearchIndex;
use tributary_store::search_index::elasticsearch::{Config, ElasticsearchIndex, diagnose};

use self::cluster::Cluster;

/// An index of its own on the cluster.
struct OwnPrefix {
    cluster: Cluster,
    index: ElasticsearchIndex,
}

impl OwnPrefix {
    async fn start(promise: &str) -> Option<Self> {
        let cluster = Cluster::find(&promise.replace('_', "-")).await?;
        let index = cluster.open().await;
        Some(Self { cluster, index })
    }

    fn index(&self) -> &dyn SearchIndex {
        &self.index
    }

    async fn finish(self) {
        drop(self.index);
        self.cluster.clean().await;
    }
}

mod promises {
    crate::conformance::every_promise!(crate::OwnPrefix);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_doctor_finds_a_sound_cluster_and_names_what_is_wrong() {
    let Some(cluster) = Cluster::find("doctor").await else {
        return;
    };
    let config = cluster.config();
    let wrong = async || -> Vec<String> {
        let found = diagnose(&config).await;
        assert_eq!(found.len(), 6, "{found:?}");
        found
            .into_iter()
            .filter(|found| !found.ok && found.name != "elasticsearch disk")
            .map(|found| found.detail)
            .collect()
    };
    assert!(wrong().await.is_empty(), "{:?}", wrong().await);
    let index = cluster.open().await;
    index.create("g", &processes::settings()).await.unwrap();
    index.promote("g").await.unwrap();
    assert!(wrong().await.is_empty(), "{:?}", wrong().await);
    let block = |value: &str| format!(r#"{{"index.blocks.read_only_allow_delete": {value}}}"#);
    let path = format!("/{}-g/_settings", cluster.prefix);
    cluster.request("PUT", &path, &block("true")).await;
    assert!(wrong().await[0].contains("read_only_allow_delete"));
    cluster.request("PUT", &path, &block("null")).await;
    cluster
        .request(
            "PUT",
            &format!("/{}-other", cluster.prefix),
            r#"{"mappings": {"properties": {"x": {"type": "long"}}}}"#,
        )
        .await;
    assert!(wrong().await[0].contains("is not ours"));
    cluster.clean().await;
    let nobody = Config {
        urls: vec!["http://127.0.0.1:1".into()],
        ..config
    };
    let found = diagnose(&nobody).await;
    assert!(
        found.len() == 1 && !found[0].ok && found[0].hint.is_some(),
        "{found:?}"
    );
}
