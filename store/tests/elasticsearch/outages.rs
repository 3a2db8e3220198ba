//! A node of our own that runs out of disk and is killed: started with
//! `deploy/services/elasticsearch` where TRIBUTARY_TEST_PRIVATE_NODE is set, because it takes a
//! while and half a gigabyte.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use tributary_schemas::{ErrorKind, Filter};
use tributary_store::search_index::elasticsearch::{Config, ElasticsearchIndex};
use tributary_store::search_index::{KeywordQuery, Outcome, SearchIndex};

use crate::cluster;
use crate::processes::{settings, version};

/// A node that ends with the test.
struct Node {
    name: String,
}

impl Node {
    fn start() -> (Self, String) {
        let node = Self {
            name: format!("test-{}", std::process::id()),
        };
        let address = node.run(&["start", "--port", "free", "--heap", "512m"]);
        (node, format!("http://{}", address.trim()))
    }

    fn run(&self, arguments: &[&str]) -> String {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/services/elasticsearch");
        let (verb, options) = arguments.split_first().unwrap();
        let output = Command::new(script)
            .arg(verb)
            .args(["--name", &self.name])
            .args(options)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{verb}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.run(&["stop", "--purge"]);
    }
}

async fn count(index: &ElasticsearchIndex) -> tributary_schemas::Result<usize> {
    let filter = Filter::default();
    let query = KeywordQuery {
        generation: None,
        tokens: &["word".into()],
        filter: &filter,
        candidates: None,
        limit: 10_000,
    };
    index.keyword(query).await.map(|hits| hits.len())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_and_a_killed_node_lose_nothing() {
    if std::env::var_os("TRIBUTARY_TEST_PRIVATE_NODE").is_none() {
        eprintln!(
            "SKIPPED: TRIBUTARY_TEST_PRIVATE_NODE is not set, so no node is started to be killed"
        );
        return;
    }
    let (node, url) = Node::start();
    // With every bulk on disk, what a write has returned survives a kill.
    let durable = Config {
        durability: tributary_store::search_index::elasticsearch::Durability::Request,
        ..cluster::config(&url, "outages")
    };
    let impatient = ElasticsearchIndex::open(Config {
        retry_ms: 300,
        request_timeout_ms: 5_000,
        ..durable.clone()
    })
    .await
    .unwrap();
    let patient = ElasticsearchIndex::open(Config {
        retry_ms: 120_000,
        ..durable
    })
    .await
    .unwrap();
    impatient.create("g", &settings()).await.unwrap();
    impatient.promote("g").await.unwrap();
    impatient.write("g", vec![version(1, 1)]).await.unwrap();
    impatient.flush("g").await.unwrap();

    node.run(&["flood"]);
    let error = impatient.write("g", vec![version(2, 1)]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Exhausted, "{error}");
    assert!(error.hint().unwrap().contains("disk"), "{error:?}");
    assert_eq!(count(&impatient).await, Ok(5), "queries go on");
    node.run(&["drain"]);
    assert_eq!(
        impatient.write("g", vec![version(2, 1)]).await,
        Ok(vec![Outcome::Applied])
    );

    // Written and not flushed, then killed: the server has it in its log.
    node.run(&["kill"]);
    let begun = Instant::now();
    assert_eq!(
        count(&impatient).await.unwrap_err().kind(),
        ErrorKind::Unavailable
    );
    assert!(begun.elapsed() < Duration::from_secs(60));
    let (written, started) = tokio::join!(
        patient.write("g", vec![version(1, 2), version(3, 1)]),
        tokio::task::spawn_blocking(move || {
            node.run(&["start"]);
            node
        })
    );
    assert_eq!(
        written,
        Ok(vec![Outcome::Applied, Outcome::Applied]),
        "it waited for the node"
    );
    patient.flush("g").await.unwrap();
    assert_eq!(count(&impatient).await, Ok(15));
    let listed = patient.list_chunks(None).await.unwrap();
    let ids: Vec<_> = listed.iter().map(|(chunk, _)| *chunk).collect();
    assert_eq!(
        (
            ids.len(),
            patient
                .fetch(None, &ids)
                .await
                .unwrap()
                .iter()
                .flatten()
                .count()
        ),
        (15, 15)
    );
    drop(started.unwrap());
}
