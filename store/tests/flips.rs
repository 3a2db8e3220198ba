//! Bits that rot at rest: single bits are flipped at random in a small data folder. Each is found
//! by a look at all checksums or does no harm, nothing wrong is ever given out, everything opens,
//! and a repair leaves nothing to find. `TRIBUTARY_FLIPS` says how many (60),
//! `TRIBUTARY_FLIPS_SEED` with which seed.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use tributary_schemas::{
    Chunk, ChunkId, ChunkKind, ChunkVectors, DocumentHeader, Error, ErrorKind, Filter,
    WindowVectors,
};
use tributary_store::blobs::Blobs;
use tributary_store::damage::{self, Embedded, Found};
use tributary_store::data_folder::{Access, DataFolder};
use tributary_store::event_log::embedded::{Config as LogConfig, EmbeddedEventLog};
use tributary_store::event_log::{BatchLimit, EventLog, Record, TopicSettings};
use tributary_store::search_index::embedded::{Config as IndexConfig, EmbeddedIndex};
use tributary_store::search_index::{
    Bm25, IndexSettings, KeywordQuery, Operation, SearchIndex, VectorField, VectorQuery,
};

const TOPICS: [(&str, bool); 3] = [
    ("t.documents.raw", false),
    ("t.documents.clean", true),
    ("t.documents.states", true),
];
const DIMENSIONS: usize = 16;
const DOCUMENTS: u64 = 40;

fn embedded() -> Embedded {
    let log = LogConfig {
        segment_bytes: 8192,
        max_record_bytes: 1 << 20,
        linger_ms: 0,
        queue_bytes: 1 << 24,
        maintenance_interval_seconds: 0,
        compaction_dirty_ratio: 0.5,
        tombstone_retention_seconds: 0,
    };
    // So many rows that the one-bit codes are there.
    let index = IndexConfig {
        writer_memory_mib: 16,
        pending_memory_mib: 16,
        search_threads: 1,
        prefilter_from_chunks: 64,
    };
    Embedded {
        log: Some(log),
        topic_prefix: "t".to_owned(),
        index: Some(index),
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound.max(1)
    }
}

/// Three windows of every other chunk.
fn windows(seed: u64) -> WindowVectors {
    let vectors = [1, 2, 3].map(|number| unit(seed + 1_000_000 * (number + 1)));
    let some = vectors.iter().filter(|_| seed.is_multiple_of(2));
    WindowVectors::of(some.map(Vec::as_slice))
}

fn unit(seed: u64) -> Vec<f32> {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let vector: Vec<f32> = (0..DIMENSIONS)
        .map(|_| random.below(2001) as f32 / 1000.0 - 1.0)
        .collect();
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    vector.into_iter().map(|value| value / length).collect()
}

fn operation(document: u64) -> Operation {
    let chunk = |ordinal: u64| Chunk {
        chunk_id: ChunkId(u128::from(document * 10 + ordinal + 1)),
        kind: ChunkKind::Leaf,
        ordinal: ordinal as u32,
        section_path: vec!["section".to_owned()],
        text: format!(
            "text {ordinal} of document {document}, wort{}",
            document * 7 + ordinal
        ),
        tokens: 5,
        parent_id: None,
        child_ids: Vec::new(),
        pages: Vec::new(),
        is_continuation: false,
        api: None,
        code: None,
        language: None,
        parent_summary: None,
        images: Vec::new(),
        security_level: None,
        analyzed: format!("a wort{} d{document}", document * 7 + ordinal),
    };
    let chunks: Vec<Chunk> = (0..4).map(chunk).collect();
    let vectors = |chunk: &Chunk| ChunkVectors {
        coarse: unit(chunk.chunk_id.0 as u64),
        fine: unit(chunk.chunk_id.0 as u64 + 1_000_000),
        windows: windows(chunk.chunk_id.0 as u64),
    };
    Operation::Replace {
        document: Box::new(DocumentHeader {
            document_id: format!("doc{document}"),
            version: 1,
            ..DocumentHeader::default()
        }),
        vectors: chunks.iter().map(vectors).collect(),
        chunks,
    }
}

async fn fill(path: &Path) {
    let (folder, Embedded { log, index, .. }) =
        (DataFolder::open(path, Access::Alone).unwrap(), embedded());
    let log = EmbeddedEventLog::open(&folder.join("log"), log.unwrap()).unwrap();
    for (topic, compacted) in TOPICS {
        let settings = TopicSettings {
            partitions: 2,
            compacted,
            retention_age: None,
            retention_bytes: None,
        };
        log.create_topic(topic, settings).await.unwrap();
        for number in 0..120_u64 {
            let value = Some(Bytes::from(format!(
                "{topic} {number} {}",
                "x".repeat(number as usize * 3)
            )));
            let headers = vec![("h".to_owned(), Bytes::from_static(b"v"))];
            let record = Record {
                key: format!("doc{}", number % DOCUMENTS).into(),
                value,
                headers,
                timestamp_ms: number as i64,
            };
            log.append(topic, vec![record]).await.unwrap();
        }
        let mut subscription = log.subscribe(topic, Some("g")).await.unwrap();
        let ends: Vec<_> = log.lag(topic, "g").await.unwrap();
        let position =
            |lag: &tributary_store::event_log::PartitionLag| tributary_store::event_log::Position {
                partition: lag.partition,
                offset: lag.end,
            };
        subscription
            .commit(&ends.iter().map(position).collect::<Vec<_>>())
            .await
            .unwrap();
    }
    log.compact("t.documents.clean").await.unwrap();
    let index = EmbeddedIndex::open(&folder.join("index"), index.unwrap()).unwrap();
    let settings = IndexSettings {
        coarse_dimensions: DIMENSIONS,
        fine_dimensions: DIMENSIONS,
        shared_vectors: false,
        windows: true,
        coarse_model: "m".into(),
        fine_model: "n".into(),
        analyzer: "a".into(),
        bm25: Bm25::DEFAULT,
        origin: String::new(),
    };
    index.create("g1", &settings).await.unwrap();
    index.promote("g1").await.unwrap();
    for part in 0..4 {
        let outcomes = index
            .write(
                "g1",
                (part * DOCUMENTS / 4..(part + 1) * DOCUMENTS / 4)
                    .map(operation)
                    .collect(),
            )
            .await
            .unwrap();
        assert!(
            outcomes
                .iter()
                .all(|outcome| *outcome == tributary_store::search_index::Outcome::Applied),
            "{outcomes:?}"
        );
        index.flush("g1").await.unwrap();
    }
    let blobs = Blobs::local(&folder.join("blobs")).unwrap();
    for number in 0..6_usize {
        blobs
            .put(Bytes::from(
                format!("blob {number} ").repeat(50 * number + 1),
            ))
            .await
            .unwrap();
    }
}

/// Everything that readers get: by name, its content. What cannot be read is absent.
#[derive(Debug, Default, PartialEq, Eq)]
struct Given {
    content: BTreeMap<String, String>,
    /// What could not be read, and why.
    failed: Vec<String>,
}

impl Given {
    fn fail(&mut self, what: &str, error: &Error) {
        self.failed
            .push(format!("{what}: {} {error}", error.kind()));
    }
}

async fn read(folder: &Path, blobs: &[String]) -> Given {
    let mut given = Given::default();
    let Embedded { log, index, .. } = embedded();
    let log = EmbeddedEventLog::open(&folder.join("log"), log.unwrap())
        .unwrap_or_else(|error| panic!("the log: {}", error.full_message()));
    for (topic, _) in TOPICS {
        let mut subscription = log.subscribe(topic, None).await.unwrap();
        loop {
            let batch = subscription
                .next_batch(
                    BatchLimit {
                        records: 1000,
                        bytes: 1 << 20,
                    },
                    Duration::ZERO,
                )
                .await
                .unwrap();
            for stored in &batch {
                given.content.insert(
                    format!("{topic} {:?}", stored.position),
                    format!("{:?}", stored.record),
                );
            }
            if batch.is_empty()
                && subscription
                    .next_batch(
                        BatchLimit {
                            records: 1,
                            bytes: 1,
                        },
                        Duration::ZERO,
                    )
                    .await
                    .unwrap()
                    .is_empty()
            {
                break;
            }
        }
    }
    let index = EmbeddedIndex::open(&folder.join("index"), index.unwrap())
        .unwrap_or_else(|error| panic!("the index: {}", error.full_message()));
    read_index(&index, &mut given).await;
    let store = Blobs::local(&folder.join("blobs")).unwrap();
    for url in blobs {
        match store.get(url).await {
            Ok(bytes) => drop(
                given
                    .content
                    .insert(url.clone(), String::from_utf8_lossy(&bytes).into_owned()),
            ),
            Err(error) => given.fail(url, &error),
        }
    }
    given
}

async fn read_index(index: &EmbeddedIndex, given: &mut Given) {
    let ids: Vec<ChunkId> = (0..DOCUMENTS)
        .flat_map(|document| {
            (0..4).map(move |ordinal| ChunkId(u128::from(document * 10 + ordinal + 1)))
        })
        .collect();
    match index.fetch(None, &ids).await {
        Ok(stored) => {
            for (id, stored) in ids.iter().zip(stored) {
                stored.map(|stored| {
                    given
                        .content
                        .insert(format!("chunk {id}"), format!("{stored:?}"))
                });
            }
        }
        Err(error) => given.fail("fetch", &error),
    }
    match index.vectors(None, &ids).await {
        Ok(stored) => {
            for (id, stored) in ids.iter().zip(stored) {
                stored.map(|stored| {
                    given
                        .content
                        .insert(format!("vectors {id}"), format!("{stored:?}"))
                });
            }
        }
        Err(error) => given.fail("vectors", &error),
    }
    let filter = Filter::default();
    for word in ["a", "wort21", "d7"] {
        let tokens = [word.to_owned()];
        match index
            .keyword(KeywordQuery {
                generation: None,
                tokens: &tokens,
                filter: &filter,
                candidates: None,
                limit: 500,
            })
            .await
        {
            Ok(found) => drop(
                given
                    .content
                    .insert(format!("keyword {word}"), format!("{found:?}")),
            ),
            Err(error) => given.fail("keyword", &error),
        }
    }
    for field in [VectorField::Coarse, VectorField::Fine] {
        let (vector, generation) = (unit(5), None);
        match index
            .vector(VectorQuery {
                generation,
                vector: &vector,
                field,
                filter: &filter,
                candidates: None,
                limit: 3,
            })
            .await
        {
            Ok(found) => drop(
                given
                    .content
                    .insert(format!("vector {field:?}"), format!("{found:?}")),
            ),
            Err(error) => given.fail("vector", &error),
        }
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            found.extend(files(&entry.path()));
        } else {
            found.push(entry.path());
        }
    }
    found.sort();
    found
}

fn copy(from: &Path, to: &Path) {
    for file in files(from) {
        let target = to.join(file.strip_prefix(from).unwrap());
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        std::fs::copy(file, target).unwrap();
    }
    // Empty folders count, too.
    std::fs::create_dir_all(to.join("log/topics")).unwrap();
}

/// Every other flip is as likely in each file, so that small files are met; the rest is as likely
/// in each byte.
fn pick(files: &[(PathBuf, u64)], random: &mut Random, by_file: bool) -> (PathBuf, u64) {
    if by_file {
        let (path, length) = &files[random.below(files.len() as u64) as usize];
        return (path.clone(), random.below(length * 8));
    }
    let mut bit = random.below(files.iter().map(|(_, length)| length * 8).sum());
    for (path, length) in files {
        if bit < length * 8 {
            return (path.clone(), bit);
        }
        bit -= length * 8;
    }
    unreachable!("a bit of some file")
}

fn flip(path: &Path, bit: u64) {
    let mut bytes = std::fs::read(path).unwrap();
    bytes[bit as usize / 8] ^= 1 << (bit % 8);
    std::fs::write(path, bytes).unwrap();
}

fn verify(folder: &Path) -> Found {
    damage::verify(
        &DataFolder::open(folder, Access::Alone).unwrap(),
        &embedded(),
        &|_| {},
    )
    .unwrap()
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .ok()
        .map_or(default, |value| value.parse().unwrap())
}

/// Results of searches: they may lack what is damaged, and over damaged postings they may differ;
/// texts, vectors and records may not.
fn is_search(name: &str) -> bool {
    name.starts_with("keyword") || name.starts_with("vector ")
}

#[tokio::test(flavor = "multi_thread")]
async fn every_flipped_bit_is_found_or_harmless() {
    let (flips, seed) = (
        setting("TRIBUTARY_FLIPS", 60),
        setting("TRIBUTARY_FLIPS_SEED", 1),
    );
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole");
    fill(&whole).await;
    assert_eq!(verify(&whole), Found::default(), "nothing is damaged yet");
    let blobs: Vec<String> = files(&whole.join("blobs"))
        .iter()
        .filter(|path| path.extension().is_none())
        .map(|path| {
            let shelf = path
                .parent()
                .unwrap()
                .file_name()
                .unwrap()
                .to_str()
                .unwrap();
            format!(
                "blob:{shelf}{}",
                path.file_name().unwrap().to_str().unwrap()
            )
        })
        .collect();
    let original = folder.path().join("original");
    copy(&whole, &original);
    let expected = read(&original, &blobs).await;
    assert!(
        expected.failed.is_empty() && expected.content.len() > 600,
        "{:?}",
        expected.failed
    );
    let parts = ["log", "index", "blobs"].map(|part| files(&whole.join(part)));
    let targets: Vec<(PathBuf, u64)> = parts
        .concat()
        .into_iter()
        .map(|path| {
            (
                path.strip_prefix(&whole).unwrap().to_owned(),
                path.metadata().unwrap().len(),
            )
        })
        .filter(|(path, length)| *length > 0 && path.file_name().is_some_and(|name| name != "lock"))
        .collect();
    let bytes: u64 = targets.iter().map(|(_, length)| length).sum();
    let mut random = Random(seed);
    let (mut found_flips, mut harmless, mut wrong_searches) =
        (0, BTreeMap::<String, u64>::new(), 0);
    for number in 0..flips {
        let (target, bit) = pick(&targets, &mut random, number % 2 == 0);
        let what = format!("flip {number}: bit {bit} of {}", target.display());
        let copied = folder.path().join(format!("{number}"));
        copy(&whole, &copied);
        flip(&copied.join(&target), bit);
        // As a start sees it that nobody warned.
        let unwarned = folder.path().join(format!("{number}-unwarned"));
        copy(&copied, &unwarned);
        let found = verify(&copied);
        let given = read(&unwarned, &blobs).await;
        for (name, content) in given.content.iter().filter(|(name, _)| !is_search(name)) {
            assert_eq!(
                expected.content.get(name),
                Some(content),
                "{what}: another content of {name}, found {found:?}"
            );
        }
        wrong_searches +=
            u64::from(given.content.iter().any(|(name, content)| {
                is_search(name) && expected.content.get(name) != Some(content)
            }));
        if found.is_empty() {
            assert_eq!(given, expected, "{what}: it does harm and is not found");
            *harmless
                .entry(
                    target
                        .extension()
                        .or(target.file_name())
                        .unwrap()
                        .to_string_lossy()
                        .into_owned(),
                )
                .or_default() += 1;
        } else {
            found_flips += 1;
            repaired(&copied, &found, &expected, &blobs, &what).await;
        }
        std::fs::remove_dir_all(&copied).unwrap();
        std::fs::remove_dir_all(&unwarned).unwrap();
    }
    eprintln!(
        "{flips} flips (seed {seed}) in {} files of {bytes} bytes: {found_flips} found, {harmless:?} harmless, 0 wrong texts, {wrong_searches} other search results",
        targets.len()
    );
    assert!(found_flips * 2 > flips, "hardly any flip was found");
}

/// Where tantivy's files say what they are, its decoders complain before any checksum is compared.
/// Versions in there are read by nobody.
#[tokio::test(flavor = "multi_thread")]
async fn the_ends_of_term_dictionaries_are_damage_like_any_other() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, original) = (folder.path().join("whole"), folder.path().join("original"));
    fill(&whole).await;
    copy(&whole, &original);
    let expected = read(&original, &[]).await;
    let terms = files(&whole.join("index"))
        .into_iter()
        .find(|path| path.extension().is_some_and(|ending| ending == "term"))
        .unwrap();
    let length = terms.metadata().unwrap().len();
    let mut found_flips = 0;
    for byte in (length.saturating_sub(200)..length).step_by(3) {
        let copied = folder.path().join(byte.to_string());
        copy(&whole, &copied);
        flip(
            &copied.join(terms.strip_prefix(&whole).unwrap()),
            byte * 8 + byte % 8,
        );
        if verify(&copied).is_empty() {
            assert_eq!(
                read(&copied, &[]).await,
                expected,
                "byte {byte} of {length} does harm and is not found"
            );
        } else {
            found_flips += 1;
        }
        std::fs::remove_dir_all(&copied).unwrap();
    }
    assert!(found_flips > 20, "hardly any flip was found");
}

/// A repair leaves nothing to find, gives nothing wrong, and keeps what it took away.
async fn repaired(folder: &Path, found: &Found, expected: &Given, blobs: &[String], what: &str) {
    let data = DataFolder::open(folder, Access::Alone).unwrap();
    assert!(!found.plan(folder).is_empty(), "{what}");
    damage::repair(&data, &embedded(), found, "one")
        .await
        .unwrap_or_else(|error| panic!("{what}: {found:?}: {}", error.full_message()));
    drop(data);
    let mut left = verify(folder);
    // These documents are sent through the pipeline again, which nobody does here.
    left.index
        .retain(|damage| damage.remedy != tributary_store::search_index::embedded::Remedy::Replay);
    assert_eq!(
        left,
        Found::default(),
        "{what}: after the repair of {found:?}"
    );
    let given = read(folder, blobs).await;
    for (name, content) in given.content.iter().filter(|(name, _)| !is_search(name)) {
        assert_eq!(
            expected.content.get(name),
            Some(content),
            "{what}: another content of {name} after the repair"
        );
    }
    assert!(
        given
            .failed
            .iter()
            .all(|failed| failed.starts_with("blob:")
                && failed.contains(ErrorKind::NotFound.as_str())),
        "{what}: {:?}",
        given.failed
    );
}
