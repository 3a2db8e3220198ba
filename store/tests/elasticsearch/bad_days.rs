//! What becomes of writes when the server has no room, no time or no answer, and how each failure
//! is told.

use std::time::{Duration, Instant};

use tributary_schemas::{Chunk, ChunkId, ChunkKind, ChunkVectors, DocumentHeader, ErrorKind};
use tributary_store::search_index::elasticsearch::{Config, ElasticsearchIndex};
use tributary_store::search_index::{Operation, Outcome, SearchIndex};

use crate::cluster;
use crate::fake::{Fake, Step};

const FLOOD: &str = "index [t-g] blocked by: [TOO_MANY_REQUESTS/12/disk usage exceeded flood-stage watermark, index has read-only-allow-delete block];";

fn replace(id: &str, chunks: u128) -> Operation {
    let chunk = |place: u128| Chunk {
        chunk_id: ChunkId(place + 1),
        kind: ChunkKind::Leaf,
        ordinal: place as u32,
        section_path: vec![],
        text: format!("text of {id}"),
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
        analyzed: format!("{id}-{place}"),
    };
    Operation::Replace {
        document: Box::new(DocumentHeader {
            document_id: id.into(),
            version: 1,
            ..DocumentHeader::default()
        }),
        chunks: (0..chunks).map(chunk).collect(),
        vectors: (0..chunks)
            .map(|_| ChunkVectors {
                coarse: vec![1.0, 0.0],
                ..ChunkVectors::default()
            })
            .collect(),
    }
}

async fn start(steps: &[Step]) -> (Fake, Config) {
    let fake = Fake::start("t", 2, steps).await;
    let config = Config {
        request_timeout_ms: 300,
        retry_ms: 1_000,
        ..cluster::config(&fake.url, "t")
    };
    (fake, config)
}

async fn write(
    config: Config,
    operations: Vec<Operation>,
) -> tributary_schemas::Result<Vec<Outcome>> {
    ElasticsearchIndex::open(config)
        .await
        .unwrap()
        .write("g", operations)
        .await
}

#[tokio::test]
async fn what_may_pass_is_tried_again() {
    let busy = Step::Refuse(429, "es_rejected_execution_exception", "rejected execution");
    let away = Step::Refuse(
        503,
        "unavailable_shards_exception",
        "primary shard is not active",
    );
    for step in [
        busy,
        away,
        Step::Refuse(502, "", ""),
        Step::HangUp,
        Step::Hang,
    ] {
        let (fake, config) = start(&[step, Step::Take]).await;
        assert_eq!(
            write(config, vec![replace("d", 2)]).await,
            Ok(vec![Outcome::Applied])
        );
        let bulks = fake.bulks();
        assert_eq!(
            (bulks.len(), &bulks[0]),
            (3, &bulks[1]),
            "chunks, chunks again, manifest"
        );
    }
}

#[tokio::test]
async fn only_the_items_that_were_refused_are_sent_again() {
    let (fake, config) = start(&[
        Step::RefuseItems("d-1", 429, "es_rejected_execution_exception", "full"),
        Step::Take,
    ])
    .await;
    assert_eq!(
        write(config, vec![replace("d", 3)]).await,
        Ok(vec![Outcome::Applied])
    );
    let bulks = fake.bulks();
    assert_eq!(bulks.iter().map(Vec::len).collect::<Vec<_>>(), [6, 2, 2]);
    assert_eq!(bulks[1][1]["text"], "d-1");
}

#[tokio::test]
async fn a_cluster_that_stays_busy_or_away_holds_the_record() {
    let cases = [
        (
            Step::Refuse(429, "circuit_breaking_exception", "Data too large"),
            ErrorKind::Exhausted,
        ),
        (
            Step::RefuseItems("d-", 429, "es_rejected_execution_exception", "full"),
            ErrorKind::Exhausted,
        ),
        (
            Step::Refuse(
                503,
                "cluster_block_exception",
                "blocked by: [SERVICE_UNAVAILABLE/2/no master];",
            ),
            ErrorKind::Unavailable,
        ),
        (Step::Hang, ErrorKind::Unavailable),
        (Step::HangUp, ErrorKind::Unavailable),
    ];
    for (step, kind) in cases {
        let (fake, config) = start(&[step]).await;
        let begun = Instant::now();
        let error = write(config, vec![replace("d", 1)]).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(
            error.hint().is_some() && begun.elapsed() < Duration::from_secs(60),
            "{error:?} after {:?}",
            begun.elapsed()
        );
        assert!(fake.bulks().len() > 2, "it was tried again");
    }
}

#[tokio::test]
async fn no_record_is_to_blame_for_a_cluster_that_refuses_or_fails() {
    let cases = [
        (401, "security_exception"),
        (403, "security_exception"),
        (404, "index_not_found_exception"),
        (500, "node_closed_exception"),
    ];
    for (status, kind) in cases {
        let (_fake, config) = start(&[Step::Refuse(status, kind, "scripted")]).await;
        let error = write(config, vec![replace("d", 1)]).await.unwrap_err();
        assert!(error.is_held(), "{status}: {error:?}");
    }
}

#[tokio::test]
async fn a_full_disk_holds_the_record_at_once() {
    for status in [403, 429] {
        let (fake, config) = start(&[Step::RefuseItems(
            "d-",
            status,
            "cluster_block_exception",
            FLOOD,
        )])
        .await;
        let error = write(config, vec![replace("d", 1)]).await.unwrap_err();
        assert_eq!(
            (error.kind(), fake.bulks().len()),
            (ErrorKind::Exhausted, 1)
        );
        assert!(error.hint().unwrap().contains("disk"), "{error:?}");
    }
}

#[tokio::test]
async fn a_refused_document_is_taken_back_and_does_not_affect_the_others() {
    let (fake, config) = start(&[
        Step::RefuseItems(
            "bad-1",
            400,
            "document_parsing_exception",
            "failed to parse",
        ),
        Step::Take,
    ])
    .await;
    let outcomes = write(
        config,
        vec![replace("good", 2), replace("bad", 2), replace("fine", 1)],
    )
    .await
    .unwrap();
    assert!(
        matches!(&outcomes[1], Outcome::Failed(error) if error.kind() == ErrorKind::Invalid),
        "{outcomes:?}"
    );
    assert_eq!([&outcomes[0], &outcomes[2]], [&Outcome::Applied; 2]);
    let bulks = fake.bulks();
    let manifests: Vec<&str> = bulks[1]
        .iter()
        .filter_map(|line| line["manifest"].as_str())
        .collect();
    assert_eq!(manifests, ["good", "fine"]);
    let written: Vec<&str> = bulks[0]
        .iter()
        .filter_map(|line| line["index"]["_id"].as_str())
        .collect();
    let removed: Vec<&str> = bulks[2]
        .iter()
        .map(|line| line["delete"]["_id"].as_str().unwrap())
        .collect();
    assert_eq!(removed, written[2..4], "the chunks of `bad`");
}

#[tokio::test]
async fn a_request_that_is_too_large_is_sent_in_halves() {
    let large = Step::Refuse(413, "", "");
    let (fake, config) = start(&[large.clone(), large.clone(), Step::Take]).await;
    assert_eq!(
        write(config, vec![replace("d", 4)]).await,
        Ok(vec![Outcome::Applied])
    );
    assert_eq!(
        fake.bulks().iter().map(Vec::len).collect::<Vec<_>>(),
        [8, 4, 2, 2, 4, 2]
    );
    let (_fake, config) = start(&[large, Step::Take]).await;
    let outcomes = write(config, vec![replace("d", 1)]).await.unwrap();
    assert!(
        matches!(&outcomes[0], Outcome::Failed(error) if error.kind() == ErrorKind::Invalid),
        "{outcomes:?}"
    );
}

#[tokio::test]
async fn secrets_are_sent_and_never_told() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("password");
    std::fs::write(&file, "s3cret-word\n").unwrap();
    let (fake, config) = start(&[Step::Refuse(
        401,
        "security_exception",
        "unable to authenticate user",
    )])
    .await;
    let config = Config {
        username: "writer".into(),
        password_file: file.to_string_lossy().into_owned(),
        ..config
    };
    let error = write(config.clone(), vec![replace("d", 1)])
        .await
        .unwrap_err();
    assert_eq!((error.kind(), fake.bulks().len()), (ErrorKind::Denied, 1));
    assert!(error.hint().unwrap().contains("password_file"), "{error:?}");
    assert!(
        fake.heads()
            .iter()
            .all(|head| head.to_lowercase().contains("authorization: basic "))
    );
    let told = format!(
        "{error:?} {error} {config:?} {}",
        serde_json::to_string(&config).unwrap()
    );
    assert!(!told.contains("s3cret"), "{told}");
    let missing = Config {
        password_file: "/nonexistent/password".into(),
        ..config
    };
    let error = ElasticsearchIndex::open(missing).await.err().unwrap();
    assert!(
        error.kind() == ErrorKind::Invalid && error.to_string().contains("password_file"),
        "{error}"
    );
}

#[tokio::test]
async fn opening_says_where_nobody_answers() {
    // A port that nobody listens on, and a server that never answers.
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent_url = format!("http://{}", silent.local_addr().unwrap());
    for url in ["http://127.0.0.1:1", &silent_url] {
        let begun = Instant::now();
        let config = Config {
            request_timeout_ms: 500,
            ..cluster::config(url, "t")
        };
        let error = ElasticsearchIndex::open(config).await.err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        let hint = error.hint().unwrap();
        assert!(
            hint.contains("store.search_index.elasticsearch.urls")
                && hint.contains("deploy/services/elasticsearch start"),
            "{hint}"
        );
        assert!(begun.elapsed() < Duration::from_secs(60));
    }
}
