//! Collecting blobs: over random publishes, changes, deletes and reindexes, nothing that anybody
//! names ever goes away, and what nobody names goes.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tributary_schemas::{
    Chunk, ChunkId, ChunkKind, ChunkVectors, DocumentHeader, ErrorKind, Topic,
};
use tributary_store::blobs::Blobs;
use tributary_store::collect::{self, Names};
use tributary_store::damage::Known;
use tributary_store::event_log::Record;
use tributary_store::event_log::embedded::{Config as LogConfig, EmbeddedEventLog};
use tributary_store::event_log::topics::Topics;
use tributary_store::search_index::embedded::{Config as IndexConfig, EmbeddedIndex};
use tributary_store::search_index::{Bm25, IndexSettings, Operation, SearchIndex};

struct Open {
    log: Arc<EmbeddedEventLog>,
    index: Arc<EmbeddedIndex>,
    blobs: Blobs,
    topics: Topics,
    damage: Known,
}

async fn open(folder: &Path) -> Open {
    let config = LogConfig {
        segment_bytes: 4096,
        max_record_bytes: 1 << 20,
        linger_ms: 0,
        queue_bytes: 1 << 24,
        maintenance_interval_seconds: 0,
        compaction_dirty_ratio: 0.5,
        tombstone_retention_seconds: 0,
    };
    let log = Arc::new(EmbeddedEventLog::open(&folder.join("log"), config).unwrap());
    let config = IndexConfig {
        writer_memory_mib: 16,
        pending_memory_mib: 16,
        search_threads: 1,
        prefilter_from_chunks: 100_000,
    };
    let index = Arc::new(EmbeddedIndex::open(&folder.join("index"), config).unwrap());
    let blobs = Blobs::local(&folder.join("blobs")).unwrap();
    // Values over 200 bytes travel as a reference.
    let topics = Topics::new(Arc::clone(&log) as _, "t".to_owned(), blobs.clone(), 200);
    topics.create(2, None, None).await.unwrap();
    Open {
        damage: Known::new(Some(Arc::clone(&log)), Some(Arc::clone(&index))),
        log,
        index,
        blobs,
        topics,
    }
}

fn settings(origin: &str) -> IndexSettings {
    IndexSettings {
        coarse_dimensions: 2,
        fine_dimensions: 2,
        shared_vectors: true,
        windows: false,
        coarse_model: "m".into(),
        fine_model: "m".into(),
        analyzer: "a".into(),
        bm25: Bm25::DEFAULT,
        origin: origin.to_owned(),
    }
}

fn replace(id: &str, version: u64, body: &str, picture: &str) -> Operation {
    let chunk = Chunk {
        chunk_id: ChunkId::derive(id, "leaf", &[], &version.to_string(), 0),
        kind: ChunkKind::Leaf,
        ordinal: 0,
        section_path: Vec::new(),
        text: format!("text of {id}"),
        tokens: 1,
        parent_id: None,
        child_ids: Vec::new(),
        pages: Vec::new(),
        is_continuation: false,
        api: None,
        code: None,
        language: None,
        parent_summary: None,
        images: vec![picture.to_owned()],
        security_level: None,
        analyzed: "a".into(),
    };
    let document = DocumentHeader {
        document_id: id.into(),
        version,
        body: Some(body.to_owned()),
        ..DocumentHeader::default()
    };
    let vectors = vec![ChunkVectors {
        coarse: vec![1.0, 0.0],
        ..ChunkVectors::default()
    }];
    Operation::Replace {
        document: Box::new(document),
        chunks: vec![chunk],
        vectors,
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

impl Open {
    fn names(&self) -> Names<'_> {
        Names {
            topics: &self.topics,
            index: self.index.as_ref(),
            damage: &self.damage,
        }
    }

    async fn put(&self, content: String) -> String {
        self.blobs.put(Bytes::from(content)).await.unwrap()
    }

    /// A document with a body in the log, a large value, a picture, and a kept record that names
    /// another blob.
    async fn publish(&self, id: &str, version: u64, generation: &str) {
        let picture = self.put(format!("picture of {id} {version}")).await;
        let inner = self.put(format!("inner of {id} {version}")).await;
        let body = self
            .put(format!("kept record of {id} {version}, with {inner}"))
            .await;
        let event = format!(
            "{{\"content_url\":\"{}\"}}",
            self.put(format!("body of {id} {version}")).await
        );
        let record = |value: String| Record {
            key: id.to_owned().into(),
            value: Some(value.into()),
            headers: Vec::new(),
            timestamp_ms: 1,
        };
        self.topics
            .append(Topic::DocumentsRaw, vec![record(event)])
            .await
            .unwrap();
        self.topics
            .append(
                Topic::DocumentsClean,
                vec![record(format!("{picture} {}", "clean ".repeat(60)))],
            )
            .await
            .unwrap();
        self.index
            .write(generation, vec![replace(id, version, &body, &picture)])
            .await
            .unwrap();
        self.index.flush(generation).await.unwrap();
    }

    async fn delete(&self, id: &str, version: u64, generation: &str) {
        let tombstone = Record {
            key: id.to_owned().into(),
            value: None,
            headers: Vec::new(),
            timestamp_ms: 1,
        };
        self.topics
            .append(Topic::DocumentsClean, vec![tombstone])
            .await
            .unwrap();
        self.index
            .write(
                generation,
                vec![Operation::Delete {
                    document_id: id.to_owned(),
                    version,
                }],
            )
            .await
            .unwrap();
        self.index.flush(generation).await.unwrap();
    }

    /// Every name that a reader comes upon leads to a blob, also the names in blobs.
    async fn check(&self) {
        let mut texts: Vec<String> = Vec::new();
        for topic in Topic::ALL {
            for stored in self.topics.read_all(topic).await.unwrap() {
                let record = self.topics.redeem(stored.record).await.unwrap();
                texts.push(String::from_utf8_lossy(&record.value.unwrap_or_default()).into_owned());
            }
        }
        for generation in self.index.status().await.unwrap() {
            texts.push(generation.settings.origin.clone());
            for document in self
                .index
                .list_documents(Some(&generation.name), None, 10_000)
                .await
                .unwrap()
            {
                texts.push(document.document.body.unwrap_or_default());
                for stored in self
                    .index
                    .fetch(Some(&generation.name), &document.chunk_ids)
                    .await
                    .unwrap()
                {
                    texts.extend(stored.unwrap().chunk.images);
                }
            }
        }
        while let Some(text) = texts.pop() {
            for (at, _) in text.match_indices("blob:") {
                let bytes = self
                    .blobs
                    .get(text.get(at..at + 69).unwrap())
                    .await
                    .unwrap();
                texts.push(String::from_utf8_lossy(&bytes).into_owned());
            }
        }
    }
}

#[tokio::test]
async fn nothing_that_is_named_ever_goes_away() {
    for seed in 0..2 {
        let folder = tempfile::tempdir().unwrap();
        let (open, mut random, mut removed) = (open(folder.path()).await, Random(seed), 0);
        let blobs = folder.path().join("blobs");
        let mut generation = "g0".to_owned();
        open.index
            .create(
                &generation,
                &settings(&open.put("recipe 0".to_owned()).await),
            )
            .await
            .unwrap();
        open.index.promote(&generation).await.unwrap();
        for step in 1..50 {
            let id = format!("doc{}", random.below(6));
            match random.below(10) {
                0..=4 => open.publish(&id, step, &generation).await,
                5..=6 => open.delete(&id, step, &generation).await,
                7 => {
                    let next = format!("g{step}");
                    open.index
                        .create(&next, &settings(&open.put(format!("recipe {step}")).await))
                        .await
                        .unwrap();
                    open.index.promote(&next).await.unwrap();
                    open.index
                        .drop_generation(&std::mem::replace(&mut generation, next))
                        .await
                        .unwrap();
                }
                8 => drop(
                    open.log
                        .compact(&Topic::DocumentsClean.full_name("t"))
                        .await
                        .unwrap(),
                ),
                _ => drop(open.put(format!("nobody names {step}")).await),
            }
            if random.below(4) == 0 {
                let unnamed = collect::unnamed(open.names(), &blobs, Duration::ZERO)
                    .await
                    .unwrap();
                collect::remove(&unnamed).unwrap();
                removed += unnamed.len();
                open.check().await;
            }
        }
        assert!(
            removed > 2,
            "seed {seed}: only {removed} blobs were removed"
        );
    }
}

#[tokio::test]
async fn young_blobs_stay_and_damage_stops_it() {
    let folder = tempfile::tempdir().unwrap();
    let blobs = folder.path().join("blobs");
    let opened = open(folder.path()).await;
    opened.index.create("g", &settings("")).await.unwrap();
    opened.index.promote("g").await.unwrap();
    opened.publish("a", 1, "g").await;
    opened.put("nobody names this".to_owned()).await;
    assert_eq!(
        collect::unnamed(opened.names(), &blobs, Duration::from_secs(3600))
            .await
            .unwrap(),
        []
    );
    assert_eq!(
        collect::unnamed(opened.names(), &blobs, Duration::ZERO)
            .await
            .unwrap()
            .len(),
        1
    );
    opened.publish("b", 1, "g").await;
    drop(opened);
    let topic = folder
        .path()
        .join("log/topics")
        .join(Topic::DocumentsRaw.full_name("t"));
    let mut segments = (0..2).map(|partition| {
        topic
            .join(partition.to_string())
            .join(format!("{:020}-{:08}.segment", 0, 0))
    });
    let segment = segments.rfind(|path| path.exists()).unwrap();
    let mut bytes = std::fs::read(&segment).unwrap();
    bytes[3] ^= 1;
    std::fs::write(&segment, bytes).unwrap();
    let opened = open(folder.path()).await;
    let refused = collect::unnamed(opened.names(), &blobs, Duration::ZERO)
        .await
        .unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Corrupt);
    drop(opened);
}
