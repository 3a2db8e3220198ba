//! Requests whose answer nobody waited for, and which arrive when somebody else has long gone on.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tributary_schemas::{ChunkId, DocumentHeader, ErrorKind};
use tributary_store::search_index::elasticsearch::{Config, ElasticsearchIndex};
use tributary_store::search_index::{Operation, Outcome, SearchIndex};

use crate::cluster::Cluster;
use crate::processes::{settings, version};

/// Leads to a node, and keeps bulk requests back while it is told to, even when who sent them is
/// gone.
struct Relay {
    url: String,
    is_holding: Arc<AtomicBool>,
}

impl Relay {
    async fn to(url: &str) -> Self {
        let node = url
            .trim_start_matches("http://")
            .trim_end_matches('/')
            .to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let is_holding = Arc::new(AtomicBool::new(false));
        let holding = Arc::clone(&is_holding);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(&node).await.unwrap();
                let ((from_client, to_client), (from_server, to_server)) =
                    (client.into_split(), server.into_split());
                tokio::spawn(pass(from_client, to_server, Some(Arc::clone(&holding))));
                tokio::spawn(pass(from_server, to_client, None));
            }
        });
        Self { url, is_holding }
    }
}

async fn pass(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, holding: Option<Arc<AtomicBool>>) {
    let mut buffer = vec![0; 1 << 20];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        let part = &buffer[..count];
        let is_bulk = part.windows(6).any(|window| window == b"/_bulk");
        while is_bulk
            && holding
                .as_ref()
                .is_some_and(|holding| holding.load(Ordering::Acquire))
        {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        if to.write_all(part).await.is_err() {
            return;
        }
    }
    // The node answers to nobody, but it does what it was asked: its connection stays for as long
    // as the test.
    std::future::pending::<()>().await;
}

async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let begun = Instant::now();
    while !is_so().await {
        assert!(begun.elapsed() < Duration::from_secs(20), "{what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn written_items(cluster: &Cluster) -> u64 {
    let (_, stats) = cluster
        .request("GET", &format!("/{}-g/_stats/indexing", cluster.prefix), "")
        .await;
    stats
        .pointer("/_all/primaries/indexing/index_total")
        .and_then(serde_json::Value::as_u64)
        .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_arrives_late_leaves_nothing() {
    let Some(cluster) = Cluster::find("late").await else {
        return;
    };
    let relay = Relay::to(&cluster.url).await;
    let config = Config {
        request_timeout_ms: 2_000,
        retry_ms: 100,
        urls: vec![relay.url.clone()],
        ..cluster.config()
    };
    let (slow, other) = (
        ElasticsearchIndex::open(config).await.unwrap(),
        cluster.open().await,
    );
    other.create("g", &settings()).await.unwrap();
    other.promote("g").await.unwrap();
    assert_eq!(
        slow.write("g", vec![version(1, 1)]).await,
        Ok(vec![Outcome::Applied])
    );

    relay.is_holding.store(true, Ordering::Release);
    assert_eq!(
        slow.write("g", vec![version(1, 2)])
            .await
            .unwrap_err()
            .kind(),
        ErrorKind::Unavailable
    );
    // The record is another's now, and a newer one came.
    assert_eq!(
        other.write("g", vec![version(1, 3)]).await,
        Ok(vec![Outcome::Applied])
    );
    other.flush("g").await.unwrap();
    let before = written_items(&cluster).await;
    relay.is_holding.store(false, Ordering::Release);
    until("the late request never arrived", async || {
        written_items(&cluster).await >= before + 5
    })
    .await;

    // Shown or not, and with nothing else to be done here, it goes.
    cluster
        .request("POST", &format!("/{}-g/_refresh", cluster.prefix), "")
        .await;
    until("what arrived late stays", async || {
        other.list_chunks(None).await.unwrap().len() == 5
    })
    .await;
    let left: Vec<ChunkId> = other
        .list_chunks(None)
        .await
        .unwrap()
        .into_iter()
        .map(|(chunk, _)| chunk)
        .collect();
    assert!(
        left.iter().all(|chunk| chunk.0 / 100 % 10_000 == 3),
        "{left:?}"
    );
    cluster.clean().await;
}

/// A version as it is alone, or without chunks because another document stands for it.
fn part(id: u64, number: u64, is_alone: bool) -> Operation {
    let Operation::Replace {
        document,
        chunks,
        vectors,
    } = version(id, number)
    else {
        unreachable!()
    };
    if is_alone {
        return Operation::Replace {
            document,
            chunks,
            vectors,
        };
    }
    let document = DocumentHeader {
        duplicate_of: Some("another".into()),
        ..*document
    };
    Operation::Replace {
        document: Box::new(document),
        chunks: Vec::new(),
        vectors: Vec::new(),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writers_that_disagree_about_one_version_leave_one_of_their_answers_whole() {
    const DOCUMENTS: u64 = 8;
    const STEPS: u64 = 40;
    let Some(cluster) = Cluster::find("turns").await else {
        return;
    };
    let writers = [
        cluster.open().await,
        cluster.open().await,
        cluster.open().await,
    ];
    writers[0].create("g", &settings()).await.unwrap();
    writers[0].promote("g").await.unwrap();
    let write = async |number: usize| {
        for step in 0..STEPS {
            // The same version in both forms, now and then a newer one.
            let operations = (0..DOCUMENTS)
                .map(|id| {
                    part(
                        id,
                        1 + step / 20,
                        !(step + id + number as u64).is_multiple_of(3),
                    )
                })
                .collect();
            let outcomes = writers[number].write("g", operations).await.unwrap();
            assert!(
                outcomes
                    .iter()
                    .all(|outcome| matches!(outcome, Outcome::Applied | Outcome::Older { .. })),
                "{outcomes:?}"
            );
        }
    };
    futures::join!(write(0), write(1), write(2));
    writers[0].flush("g").await.unwrap();
    let ids: Vec<String> = (0..DOCUMENTS).map(|id| format!("d{id}")).collect();
    let stored = writers[1].documents(None, &ids).await.unwrap();
    let expected: BTreeSet<ChunkId> = stored
        .iter()
        .flatten()
        .flat_map(|document| document.chunk_ids.clone())
        .collect();
    assert!(
        stored
            .iter()
            .flatten()
            .all(|document| document.document.version == 2),
        "{stored:?}"
    );
    let listed: Vec<ChunkId> = writers[1]
        .list_chunks(None)
        .await
        .unwrap()
        .into_iter()
        .map(|(chunk, _)| chunk)
        .collect();
    assert_eq!(
        listed.len(),
        expected.len(),
        "nothing is left of what was given up"
    );
    assert_eq!(listed.iter().copied().collect::<BTreeSet<_>>(), expected);
    assert!(
        writers[1]
            .fetch(None, &listed)
            .await
            .unwrap()
            .iter()
            .all(Option::is_some),
        "what manifests name is there"
    );
    cluster.clean().await;
}
