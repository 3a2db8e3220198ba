//! Two processes on one cluster, each with an index of its own: what one does the other sees, and
//! neither leaves anything half done.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use tributary_schemas::{
    Chunk, ChunkId, ChunkKind, ChunkVectors, DocumentHeader, ErrorKind, Filter,
};
use tributary_store::search_index::elasticsearch::ElasticsearchIndex;
use tributary_store::search_index::{
    Bm25, IndexSettings, KeywordQuery, Operation, Outcome, SearchIndex,
};

use crate::cluster::Cluster;

/// By then a process asks the cluster again, however busy the machine is.
const DEADLINE: Duration = Duration::from_secs(60);

pub fn settings() -> IndexSettings {
    IndexSettings {
        coarse_dimensions: 2,
        fine_dimensions: 2,
        shared_vectors: true,
        windows: false,
        coarse_model: "m".into(),
        fine_model: "m".into(),
        analyzer: "a".into(),
        bm25: Bm25::DEFAULT,
        origin: "test".into(),
    }
}

pub fn chunk(id: u128, analyzed: &str) -> Chunk {
    Chunk {
        chunk_id: ChunkId(id),
        kind: ChunkKind::Leaf,
        ordinal: 0,
        section_path: vec![],
        text: "text".into(),
        tokens: 1,
        parent_id: None,
        child_ids: vec![],
        pages: vec![],
        is_continuation: false,
        api: None,
        code: None,
        language: None,
        parent_summary: None,
        images: vec![],
        security_level: None,
        analyzed: analyzed.into(),
    }
}

/// A version of a document: five chunks of its own.
pub fn version(id: u64, version: u64) -> Operation {
    let ids = (0..5).map(|place| u128::from(id) * 1_000_000 + u128::from(version) * 100 + place);
    Operation::Replace {
        document: Box::new(DocumentHeader {
            document_id: format!("d{id}"),
            version,
            ..DocumentHeader::default()
        }),
        chunks: ids.map(|id| chunk(id, "word")).collect(),
        vectors: (0..5)
            .map(|_| ChunkVectors {
                coarse: vec![0.6, 0.8],
                ..ChunkVectors::default()
            })
            .collect(),
    }
}

async fn found(index: &ElasticsearchIndex) -> BTreeSet<ChunkId> {
    let filter = Filter::default();
    let query = KeywordQuery {
        generation: None,
        tokens: &["word".into()],
        filter: &filter,
        candidates: None,
        limit: 10_000,
    };
    index
        .keyword(query)
        .await
        .unwrap()
        .into_iter()
        .map(|hit| hit.chunk_id)
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn generations_of_another_process_are_seen() {
    let Some(cluster) = Cluster::find("generations").await else {
        return;
    };
    let (here, there) = (cluster.open().await, cluster.open().await);
    here.create("A", &settings()).await.unwrap();
    here.create("a", &settings()).await.unwrap();
    here.promote("A").await.unwrap();
    assert_eq!(
        there
            .status()
            .await
            .unwrap()
            .iter()
            .map(|status| status.name.clone())
            .collect::<Vec<_>>(),
        ["A", "a"]
    );
    assert_eq!(
        there.status().await.unwrap()[0].settings,
        settings(),
        "with its note of origin"
    );
    there.write("A", vec![version(1, 1)]).await.unwrap();
    there.flush("A").await.unwrap();
    assert_eq!(found(&here).await.len(), 5);
    there.promote("a").await.unwrap();
    let deadline = Instant::now() + DEADLINE;
    while !found(&here).await.is_empty() {
        assert!(
            Instant::now() < deadline,
            "the promotion by the other process is not seen"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(
        here.drop_generation("a").await.unwrap_err().kind(),
        ErrorKind::Conflict,
        "the other process promoted it"
    );
    there.drop_generation("A").await.unwrap();
    // What was dropped elsewhere is gone at once, and a write brings nothing back.
    assert_eq!(
        here.write("A", vec![version(1, 2)])
            .await
            .unwrap_err()
            .kind(),
        ErrorKind::NotFound
    );
    assert_eq!(
        here.flush("A").await.unwrap_err().kind(),
        ErrorKind::NotFound
    );
    assert_eq!(
        here.documents(Some("A"), &["d1".into()])
            .await
            .unwrap_err()
            .kind(),
        ErrorKind::NotFound
    );
    assert_eq!(
        cluster
            .request("GET", &format!("/{}-!a", cluster.prefix), "")
            .await
            .0,
        404
    );
    cluster.clean().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writers_of_the_same_documents_leave_the_highest_version_whole() {
    const DOCUMENTS: u64 = 12;
    const VERSIONS: u64 = 20;
    let Some(cluster) = Cluster::find("writers").await else {
        return;
    };
    let writers = [cluster.open().await, cluster.open().await];
    let reader = cluster.open().await;
    writers[0].create("g", &settings()).await.unwrap();
    writers[0].promote("g").await.unwrap();
    let done = std::sync::atomic::AtomicUsize::new(0);
    let write = async |number: usize| {
        for step in 0..VERSIONS {
            // One goes up and the other goes down, in operations of several documents.
            let wanted = if number == 0 {
                step + 1
            } else {
                VERSIONS - step
            };
            let operations = (0..DOCUMENTS).map(|id| version(id, wanted)).collect();
            let outcomes = writers[number].write("g", operations).await.unwrap();
            assert!(
                outcomes
                    .iter()
                    .all(|outcome| matches!(outcome, Outcome::Applied | Outcome::Older { .. })),
                "{outcomes:?}"
            );
            if step % 3 == number as u64 {
                writers[number].flush("g").await.unwrap();
            }
        }
        done.fetch_add(1, std::sync::atomic::Ordering::Release);
    };
    let read = async {
        while done.load(std::sync::atomic::Ordering::Acquire) < 2 {
            let hits: Vec<ChunkId> = found(&reader).await.into_iter().collect();
            let fetched = reader.fetch(None, &hits).await.unwrap();
            let mut versions = BTreeSet::new();
            for stored in fetched.iter().flatten() {
                let (id, version) = (
                    stored.chunk.chunk_id.0 / 1_000_000,
                    stored.chunk.chunk_id.0 / 100 % 10_000,
                );
                assert_eq!(
                    u128::from(stored.document.version),
                    version,
                    "chunk and header are of one version"
                );
                versions.insert((id, version));
            }
            let documents: BTreeSet<u128> = versions.iter().map(|(id, _)| *id).collect();
            assert_eq!(
                documents.len(),
                versions.len(),
                "fetch gave out two versions of a document: {versions:?}"
            );
        }
    };
    futures::join!(write(0), write(1), read);
    writers[0].flush("g").await.unwrap();
    let expected: BTreeSet<ChunkId> = (0..DOCUMENTS)
        .flat_map(|id| {
            (0..5).map(move |place| {
                ChunkId(u128::from(id) * 1_000_000 + u128::from(VERSIONS) * 100 + place)
            })
        })
        .collect();
    assert_eq!(found(&reader).await, expected);
    let listed: Vec<ChunkId> = reader
        .list_chunks(None)
        .await
        .unwrap()
        .into_iter()
        .map(|(chunk, _)| chunk)
        .collect();
    assert_eq!(
        listed.len(),
        expected.len(),
        "nothing is left of older versions"
    );
    let fetched = reader.fetch(None, &listed).await.unwrap();
    assert!(fetched.iter().all(Option::is_some));
    cluster.clean().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_killed_process_left_is_never_given_out_and_goes() {
    let Some(cluster) = Cluster::find("killed").await else {
        return;
    };
    let index = cluster.open().await;
    index.create("g", &settings()).await.unwrap();
    index.promote("g").await.unwrap();
    index
        .write("g", vec![version(1, 1), version(2, 1)])
        .await
        .unwrap();
    index.flush("g").await.unwrap();
    // The moment before the commit point of d1: its chunks are there, its manifest is not.
    let everything = format!("/{}-g/_search?size=50&version=true", cluster.prefix);
    let manifest = r#"{"query": {"term": {"manifest": "d1"}}}"#;
    let (_, hits) = cluster.request("POST", &everything, manifest).await;
    let id = hits["hits"]["hits"][0]["_id"].as_str().unwrap().to_owned();
    let (status, _) = cluster
        .request(
            "DELETE",
            &format!("/{}-g/_doc/{id}?routing={id}&refresh=true", cluster.prefix),
            "",
        )
        .await;
    assert_eq!(status, 200);
    let ids: Vec<ChunkId> = (0..5).map(|place| ChunkId(1_000_100 + place)).collect();
    assert!(
        index
            .fetch(None, &ids)
            .await
            .unwrap()
            .iter()
            .all(Option::is_none),
        "not committed, not given out"
    );
    assert_eq!(
        index.list_chunks(None).await.unwrap().len(),
        10,
        "but reconcile sees it"
    );
    // The record comes again and makes it whole.
    index.write("g", vec![version(1, 1)]).await.unwrap();
    index.flush("g").await.unwrap();
    assert!(
        index
            .fetch(None, &ids)
            .await
            .unwrap()
            .iter()
            .all(Option::is_some)
    );
    assert_eq!(
        index.list_chunks(None).await.unwrap().len(),
        10,
        "and nothing twice"
    );
    // The same, but a newer version was committed before the record comes again: what it had left
    // goes.
    cluster
        .request(
            "DELETE",
            &format!("/{}-g/_doc/{id}?routing={id}&refresh=true", cluster.prefix),
            "",
        )
        .await;
    index.write("g", vec![version(1, 2)]).await.unwrap();
    assert_eq!(
        index.write("g", vec![version(1, 1)]).await.unwrap(),
        [Outcome::Older { stored: 2 }]
    );
    index.flush("g").await.unwrap();
    assert_eq!(
        index.list_chunks(None).await.unwrap().len(),
        10,
        "only version 2 of d1, and d2"
    );
    cluster.clean().await;
}
