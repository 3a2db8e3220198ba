//! The embedded index: the conformance suite, and what only files can go through: crashes, damage,
//! full disks, compaction, recall.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

#[path = "conformance/search_index/mod.rs"]
mod conformance;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use tributary_schemas::{
    Chunk, ChunkId, ChunkKind, ChunkVectors, DocumentHeader, ErrorKind, Filter, WindowVectors,
};
use tributary_store::search_index::embedded::{Config, EmbeddedIndex};
use tributary_store::search_index::{
    Bm25, GenerationStatus, IndexSettings, KeywordQuery, Operation, Outcome, SearchIndex,
    VectorField, VectorQuery,
};

/// An index in a folder of its own.
struct OneFolder {
    folder: tempfile::TempDir,
    index: EmbeddedIndex,
}

impl OneFolder {
    async fn start(_promise: &str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let index = open(folder.path());
        Some(Self { folder, index })
    }

    fn index(&self) -> &dyn SearchIndex {
        &self.index
    }

    /// What was made can be opened again; files that only waited for their last reader may go then.
    async fn finish(self) {
        let counted = async |index: &EmbeddedIndex| {
            let generations = index.status().await.unwrap();
            let without_bytes = |generation| GenerationStatus {
                bytes: 0,
                ..generation
            };
            generations
                .into_iter()
                .map(without_bytes)
                .collect::<Vec<_>>()
        };
        let before = counted(&self.index).await;
        drop(self.index);
        assert_eq!(counted(&open(self.folder.path())).await, before);
    }
}

mod promises {
    crate::conformance::every_promise!(crate::OneFolder);
}

const DIMENSIONS: usize = 16;
const GENERATION: &str = "g";
const SETTINGS: [&str; 2] = ["settings.json", "settings.copy.json"];

/// Tells the test binary, started again as a child, what to do and where.
const CHILD_FOLDER: &str = "TRIBUTARY_TEST_INDEX_CHILD";

fn config() -> Config {
    Config {
        writer_memory_mib: 16,
        pending_memory_mib: 64,
        search_threads: 1,
        prefilter_from_chunks: 200_000,
    }
}

fn open(folder: &Path) -> EmbeddedIndex {
    EmbeddedIndex::open(folder, config()).unwrap()
}

fn settings(dimensions: usize) -> IndexSettings {
    IndexSettings {
        coarse_dimensions: dimensions,
        fine_dimensions: dimensions,
        shared_vectors: true,
        windows: true,
        coarse_model: "m".into(),
        fine_model: "m".into(),
        analyzer: "a".into(),
        bm25: Bm25::DEFAULT,
        origin: String::new(),
    }
}

/// Two windows of every third chunk.
fn windows(seed: u64) -> WindowVectors {
    let vectors = [1, 2].map(|number| unit(seed + number * 1_000_000, DIMENSIONS, false));
    let some = vectors.iter().filter(|_| seed.is_multiple_of(3));
    WindowVectors::of(some.map(Vec::as_slice))
}

/// Unit vectors; clustered ones lie around one of fifty centres.
fn unit(seed: u64, dimensions: usize, clustered: bool) -> Vec<f32> {
    let mut state = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    let mut vector: Vec<f32> = (0..dimensions).map(|_| next() + next() + next()).collect();
    if clustered {
        let centre = unit(seed % 50 + 1_000_000, dimensions, false);
        let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
        // All share a direction, as the vectors of real embedders do.
        vector
            .iter_mut()
            .zip(centre)
            .for_each(|(value, centre)| *value = *value / length * 0.6 + centre + 0.05);
    }
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    vector.into_iter().map(|value| value / length).collect()
}

fn chunk(id: u128, analyzed: &str) -> Chunk {
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

/// A document whose chunks all have the token `a` and vectors made of their ids.
fn replace(id: &str, version: u64, chunks: impl IntoIterator<Item = u128>) -> Operation {
    let ids: Vec<u128> = chunks.into_iter().collect();
    Operation::Replace {
        document: Box::new(DocumentHeader {
            document_id: id.into(),
            version,
            ..DocumentHeader::default()
        }),
        chunks: ids.iter().map(|id| chunk(*id, "a")).collect(),
        vectors: ids
            .iter()
            .map(|id| ChunkVectors {
                coarse: unit(*id as u64, DIMENSIONS, false),
                windows: windows(*id as u64),
                ..ChunkVectors::default()
            })
            .collect(),
    }
}

async fn fresh(folder: &Path) -> EmbeddedIndex {
    let index = open(folder);
    index
        .create(GENERATION, &settings(DIMENSIONS))
        .await
        .unwrap();
    index.promote(GENERATION).await.unwrap();
    index
}

async fn write(index: &EmbeddedIndex, operations: Vec<Operation>) {
    let outcomes = index.write(GENERATION, operations).await.unwrap();
    assert!(
        outcomes.iter().all(|outcome| *outcome == Outcome::Applied),
        "{outcomes:?}"
    );
}

async fn apply(index: &EmbeddedIndex, operations: Vec<Operation>) {
    write(index, operations).await;
    index.flush(GENERATION).await.unwrap();
}

/// What keyword and vector queries find; both must agree with the list, and each vector must be the
/// one of its chunk.
async fn found(index: &EmbeddedIndex) -> BTreeSet<u128> {
    let none = Filter::default();
    let query = KeywordQuery {
        generation: None,
        tokens: &["a".into()],
        filter: &none,
        candidates: None,
        limit: 100_000,
    };
    let words: BTreeSet<u128> = index
        .keyword(query)
        .await
        .unwrap()
        .iter()
        .map(|hit| hit.chunk_id.0)
        .collect();
    let vector = unit(7, DIMENSIONS, false);
    let query = VectorQuery {
        generation: None,
        vector: &vector,
        field: VectorField::Coarse,
        filter: &none,
        candidates: None,
        limit: 100_000,
    };
    let numbers: BTreeSet<u128> = index
        .vector(query)
        .await
        .unwrap()
        .iter()
        .map(|hit| hit.chunk_id.0)
        .collect();
    let listed: BTreeSet<u128> = index
        .list_chunks(None)
        .await
        .unwrap()
        .iter()
        .map(|(id, _)| id.0)
        .collect();
    assert!(words == numbers && numbers == listed);
    let ids: Vec<ChunkId> = words.iter().map(|id| ChunkId(*id)).collect();
    for (id, vectors) in ids.iter().zip(index.vectors(None, &ids).await.unwrap()) {
        assert_eq!(
            vectors.unwrap().coarse,
            unit(id.0 as u64, DIMENSIONS, false),
            "vector of {id}"
        );
    }
    assert!(
        index
            .fetch(None, &ids)
            .await
            .unwrap()
            .iter()
            .all(Option::is_some)
    );
    words
}

fn set(ids: impl IntoIterator<Item = u128>) -> BTreeSet<u128> {
    ids.into_iter().collect()
}

/// The only file in the generation whose name starts so.
fn file(folder: &Path, start: &str) -> PathBuf {
    let entries = std::fs::read_dir(folder.join("generations").join(GENERATION)).unwrap();
    let mut paths = entries.map(|entry| entry.unwrap().path()).filter(|path| {
        path.file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .starts_with(start)
    });
    let path = paths.next().unwrap();
    assert!(paths.next().is_none());
    path
}

#[tokio::test]
async fn what_was_flushed_survives_and_what_was_not_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let index = fresh(folder.path()).await;
    apply(&index, vec![replace("d", 3, [1, 2]), replace("e", 1, [3])]).await;
    index.flush(GENERATION).await.unwrap();
    write(&index, vec![replace("d", 4, [4]), replace("f", 1, [5])]).await;
    drop(index);
    let index = open(folder.path());
    assert_eq!(found(&index).await, set([1, 2, 3]));
    let outcomes = index
        .write(GENERATION, vec![replace("d", 2, [9])])
        .await
        .unwrap();
    assert_eq!(outcomes, [Outcome::Older { stored: 3 }]);
    apply(&index, vec![replace("d", 4, [4])]).await;
    assert_eq!(found(&index).await, set([3, 4]));
}

#[tokio::test]
async fn a_second_process_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let _index = fresh(folder.path()).await;
    assert_eq!(
        EmbeddedIndex::open(folder.path(), config())
            .err()
            .unwrap()
            .kind(),
        ErrorKind::Conflict
    );
}

#[tokio::test]
async fn a_torn_tail_is_cut() {
    let folder = tempfile::tempdir().unwrap();
    let index = fresh(folder.path()).await;
    apply(&index, vec![replace("d", 1, [1, 2])]).await;
    drop(index);
    for start in [
        "coarse-0.codes",
        "coarse-0.scales",
        "coarse-0.values",
        "rows-0",
        "manifest-0",
    ] {
        let path = file(folder.path(), start);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes.extend([0xff; 37]);
        std::fs::write(&path, bytes).unwrap();
    }
    let index = open(folder.path());
    assert_eq!(found(&index).await, set([1, 2]));
    apply(&index, vec![replace("e", 1, [3, 4])]).await;
    assert_eq!(found(&index).await, set([1, 2, 3, 4]));
    drop(index);
    assert_eq!(found(&open(folder.path())).await, set([1, 2, 3, 4]));
}

#[tokio::test]
async fn missing_short_and_foreign_files_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let index = fresh(folder.path()).await;
    apply(&index, vec![replace("d", 1, [1, 2])]).await;
    drop(index);
    for start in [
        "coarse-0.codes",
        "coarse-0.scales",
        "coarse-0.values",
        "coarse-0.sums",
        "rows-0",
        "manifest-0",
    ] {
        let path = file(folder.path(), start);
        let bytes = std::fs::read(&path).unwrap();
        let mut foreign = bytes.clone();
        foreign[..9].copy_from_slice(b"otherfile");
        let damages = [
            None,
            Some(bytes[..bytes.len() - 1].to_vec()),
            Some(vec![]),
            Some(foreign),
        ];
        for damage in damages {
            match &damage {
                None => std::fs::remove_file(&path).unwrap(),
                Some(damage) => std::fs::write(&path, damage).unwrap(),
            }
            let index = open(folder.path());
            let error = index.fetch(None, &[ChunkId(1)]).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{start}: {error}");
            assert!(error.hint().is_some(), "{start}: {error}");
            let written = index
                .write(GENERATION, vec![replace("d", 2, [1])])
                .await
                .unwrap_err();
            assert_eq!(
                (written.kind(), index.status().await.unwrap_err().kind()),
                (ErrorKind::Corrupt, ErrorKind::Corrupt),
                "{start}"
            );
            assert_eq!(
                index
                    .create(GENERATION, &settings(DIMENSIONS))
                    .await
                    .unwrap_err()
                    .kind(),
                ErrorKind::Corrupt,
                "{start}"
            );
        }
        std::fs::write(&path, bytes).unwrap();
    }
    assert_eq!(found(&open(folder.path())).await, set([1, 2]));
}

#[tokio::test]
async fn settings_are_kept_twice() {
    let folder = tempfile::tempdir().unwrap();
    let index = fresh(folder.path()).await;
    apply(&index, vec![replace("d", 1, [1, 2])]).await;
    drop(index);
    let [file, copy] = SETTINGS.map(|name| {
        folder
            .path()
            .join("generations")
            .join(GENERATION)
            .join(name)
    });
    let whole = std::fs::read(&file).unwrap();
    for damaged in [&file, &copy] {
        std::fs::write(damaged, "otherfile").unwrap();
        assert_eq!(found(&open(folder.path())).await, set([1, 2]));
        assert_eq!(
            [&file, &copy].map(|path| std::fs::read(path).unwrap()),
            [whole.clone(), whole.clone()]
        );
    }
    [&file, &copy]
        .into_iter()
        .for_each(|path| std::fs::write(path, "otherfile").unwrap());
    assert_eq!(
        open(folder.path())
            .fetch(None, &[ChunkId(1)])
            .await
            .unwrap_err()
            .kind(),
        ErrorKind::Corrupt
    );
}

#[tokio::test]
async fn another_format_is_told() {
    let folder = tempfile::tempdir().unwrap();
    drop(fresh(folder.path()).await);
    for name in SETTINGS {
        let path = folder
            .path()
            .join("generations")
            .join(GENERATION)
            .join(name);
        let text = std::fs::read_to_string(&path).unwrap();
        let (json, _) = text.split_once("\n#crc32").unwrap();
        let other = json.replace("\"format\": 3", "\"format\": 4");
        assert_ne!(other, json);
        std::fs::write(&path, other).unwrap();
    }
    assert_eq!(
        EmbeddedIndex::open(folder.path(), config())
            .err()
            .unwrap()
            .kind(),
        ErrorKind::Conflict
    );
}

#[tokio::test]
async fn dead_rows_are_reclaimed_and_numbers_stay_right() {
    let folder = tempfile::tempdir().unwrap();
    let index = fresh(folder.path()).await;
    let part = |document: u128, version: u64| {
        replace(
            &format!("d{document}"),
            version,
            (0..500).map(|place| u128::from(version) * 100_000 + document * 500 + place),
        )
    };
    apply(&index, (0..12).map(|document| part(document, 1)).collect()).await;
    let before = std::fs::metadata(file(folder.path(), "coarse-0.values"))
        .unwrap()
        .len();
    apply(&index, (0..10).map(|document| part(document, 2)).collect()).await;
    apply(
        &index,
        (0..9)
            .map(|document| Operation::Delete {
                document_id: format!("d{document}"),
                version: 3,
            })
            .collect(),
    )
    .await;
    let path = file(folder.path(), "coarse-1.values");
    assert!(
        std::fs::metadata(&path).unwrap().len() < before / 2,
        "only live rows were copied"
    );
    let expected: BTreeSet<u128> = set((100_000 + 10 * 500)..(100_000 + 12 * 500))
        .into_iter()
        .chain(200_000 + 9 * 500..200_000 + 10 * 500)
        .collect();
    assert_eq!(found(&index).await, expected);
    apply(&index, vec![replace("new", 1, [1])]).await;
    drop(index);
    let index = open(folder.path());
    assert_eq!(
        found(&index).await,
        expected.into_iter().chain([1]).collect()
    );
    let ids = [204_501, 204_502].map(ChunkId);
    let kept = index.vectors(None, &ids).await.unwrap();
    let kept: Vec<_> = kept.into_iter().map(|kept| kept.unwrap().windows).collect();
    assert_eq!(kept, [windows(204_501), WindowVectors::default()]);
    let outcomes = index
        .write(GENERATION, vec![replace("d0", 2, [5])])
        .await
        .unwrap();
    assert_eq!(
        outcomes,
        [Outcome::Older { stored: 3 }],
        "deletions are remembered across a compaction"
    );
}

#[tokio::test]
async fn unchanged_chunks_keep_their_rows() {
    let folder = tempfile::tempdir().unwrap();
    let index = fresh(folder.path()).await;
    for version in 1..=5 {
        apply(
            &index,
            vec![replace(
                "d",
                version,
                (0..50).chain([1_000 + u128::from(version)]),
            )],
        )
        .await;
    }
    assert_eq!(
        std::fs::metadata(file(folder.path(), "rows-0"))
            .unwrap()
            .len(),
        64 + (50 + 5) * 8
    );
    assert_eq!(found(&index).await, (0..50).chain([1_005]).collect());
}

#[tokio::test]
async fn too_much_waiting_is_flushed_early() {
    let folder = tempfile::tempdir().unwrap();
    let index = EmbeddedIndex::open(
        folder.path(),
        Config {
            pending_memory_mib: 1,
            ..config()
        },
    )
    .unwrap();
    index
        .create(GENERATION, &settings(DIMENSIONS))
        .await
        .unwrap();
    index.promote(GENERATION).await.unwrap();
    write(&index, vec![replace("d", 1, 0..3_000)]).await;
    assert_eq!(found(&index).await, set(0..3_000));
}

/// Share of the exact top that the index finds.
async fn recall(
    clustered: bool,
    prefilter_from_chunks: usize,
    threads: usize,
    rows: u64,
    limit: usize,
) -> f64 {
    const WIDE: usize = 128;
    let folder = tempfile::tempdir().unwrap();
    let index = EmbeddedIndex::open(
        folder.path(),
        Config {
            prefilter_from_chunks,
            search_threads: threads,
            ..config()
        },
    )
    .unwrap();
    index.create(GENERATION, &settings(WIDE)).await.unwrap();
    index.promote(GENERATION).await.unwrap();
    for part in 0..4 {
        let ids: Vec<u64> = (rows / 4 * part..rows / 4 * (part + 1)).collect();
        let operation = Operation::Replace {
            document: Box::new(DocumentHeader {
                document_id: format!("d{part}"),
                version: 1,
                ..DocumentHeader::default()
            }),
            chunks: ids.iter().map(|id| chunk(u128::from(*id), "a")).collect(),
            vectors: ids
                .iter()
                .map(|id| ChunkVectors {
                    coarse: unit(*id, WIDE, clustered),
                    ..ChunkVectors::default()
                })
                .collect(),
        };
        apply(&index, vec![operation]).await;
    }
    let none = Filter::default();
    let all: Vec<ChunkId> = (0..u128::from(rows)).map(ChunkId).collect();
    let mut shares = Vec::new();
    for seed in 0..8 {
        let vector = unit(seed * 31 + 500_000, WIDE, clustered);
        let query = VectorQuery {
            generation: None,
            vector: &vector,
            field: VectorField::Coarse,
            filter: &none,
            candidates: None,
            limit,
        };
        let hits = index.vector(query).await.unwrap();
        let exact = index
            .vector(VectorQuery {
                candidates: Some(&all),
                ..query
            })
            .await
            .unwrap();
        let exact_ids: BTreeSet<ChunkId> = exact.iter().map(|hit| hit.chunk_id).collect();
        assert!(
            hits.len() == limit
                && hits
                    .iter()
                    .is_sorted_by(|left, right| left.score >= right.score)
        );
        shares.push(
            hits.iter()
                .filter(|hit| exact_ids.contains(&hit.chunk_id))
                .count() as f64
                / limit as f64,
        );
    }
    shares.iter().sum::<f64>() / shares.len() as f64
}

#[tokio::test]
async fn the_scan_finds_the_exact_top() {
    for clustered in [false, true] {
        for threads in [1, 3] {
            let recall = recall(clustered, usize::MAX, threads, 8_000, 200).await;
            assert!(
                recall >= 0.995,
                "recall {recall}, clustered {clustered}, {threads} threads"
            );
        }
    }
}

#[tokio::test]
async fn the_one_bit_prefilter_finds_the_exact_top() {
    for clustered in [false, true] {
        let recall = recall(clustered, 1_000, 1, 12_000, 100).await;
        assert!(recall >= 0.995, "recall {recall}, clustered {clustered}");
    }
}

/// What the child of the next two tests does: document after document, a flush after each, and a
/// line when it is done.
#[tokio::test]
async fn child() {
    use std::io::Write;
    let Ok(folder) = std::env::var(CHILD_FOLDER) else {
        return;
    };
    let index = fresh(Path::new(&folder)).await;
    for version in 1..100_000_u64 {
        let first = u128::from(version) * 1_000;
        let operations = vec![
            replace("same", version, first..first + 30),
            replace(&format!("own{version}"), 1, [first + 500]),
        ];
        write(&index, operations).await;
        while let Err(error) = index.flush(GENERATION).await {
            writeln!(std::io::stdout(), "failed {version} {}", error.kind()).unwrap();
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        writeln!(std::io::stdout(), "flushed {version}").unwrap();
    }
}

fn start_child(folder: &Path, prefix: &str) -> std::process::Child {
    let executable = std::env::current_exe().unwrap();
    Command::new("sh")
        .args([
            "-c",
            &format!("{prefix} exec \"$0\" --exact child --nocapture"),
        ])
        .arg(executable)
        .env(CHILD_FOLDER, folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Lines of the child until one satisfies the condition.
fn read_until(
    lines: &mut impl Iterator<Item = std::io::Result<String>>,
    mut is_last: impl FnMut(&str) -> bool,
) -> Option<String> {
    lines
        .by_ref()
        .map_while(Result::ok)
        .find(|line| is_last(line))
}

/// The version that a line speaks of.
fn version(line: &str) -> u64 {
    line.split(' ').nth(1).unwrap().parse().unwrap()
}

/// After a crash: as at some moment between the last flush that was reported and the crash.
async fn check_after_crash(folder: &Path, flushed: u64) {
    let index = open(folder);
    let same = index
        .documents(None, &["same".to_owned()])
        .await
        .unwrap()
        .pop()
        .flatten()
        .unwrap();
    let newest = same.document.version;
    assert!(
        newest >= flushed,
        "{newest} came back, {flushed} was flushed"
    );
    let own = (1..=newest).map(|version| u128::from(version) * 1_000 + 500);
    let first = u128::from(newest) * 1_000;
    assert_eq!(found(&index).await, own.chain(first..first + 30).collect());
    apply(&index, vec![replace("after", 1, [1])]).await;
    assert!(found(&index).await.contains(&1));
}

#[cfg(unix)]
#[tokio::test]
async fn a_killed_process_loses_nothing_that_was_flushed() {
    use std::io::BufRead;
    for flushes in [1, 4, 9] {
        let folder = tempfile::tempdir().unwrap();
        let mut child = start_child(folder.path(), "");
        let mut lines = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
        let last = read_until(&mut lines, |line| {
            line.starts_with(&format!("flushed {flushes}"))
        })
        .unwrap();
        std::thread::sleep(Duration::from_millis(3 * flushes));
        child.kill().unwrap();
        child.wait().unwrap();
        check_after_crash(folder.path(), version(&last)).await;
    }
}

/// A limit on the size of files stands for a full disk: writes fail, and after it is lifted the
/// same process goes on without loss.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_full_disk_is_reported_and_survived() {
    use std::io::BufRead;
    if Command::new("prlimit").arg("--version").output().is_err() {
        eprintln!("SKIPPED: no `prlimit` here to limit the size of files");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut child = start_child(folder.path(), "trap '' XFSZ; ulimit -S -f 64;");
    let mut lines = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
    let failed = read_until(&mut lines, |line| line.starts_with("failed")).unwrap();
    assert!(failed.ends_with("exhausted"), "{failed}");
    let lifted = Command::new("prlimit")
        .args(["--pid", &child.id().to_string(), "--fsize=unlimited"])
        .status()
        .unwrap();
    assert!(lifted.success());
    let done = read_until(&mut lines, |line| {
        line.starts_with("flushed") && version(line) >= version(&failed) + 2
    })
    .unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    check_after_crash(folder.path(), version(&done)).await;
}

/// An index as the version before wrote it: no checksums on rows, chunks and small files (format
/// 1).
#[tokio::test]
async fn an_index_of_format_1_is_read_and_goes_on_in_this_one() {
    let folder = tempfile::tempdir().unwrap();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/index-1");
    copy(&golden, folder.path());
    let generation = folder.path().join("generations/g1");
    for round in 0..2 {
        let index = open(folder.path());
        let mut texts: Vec<String> = Vec::new();
        let listed = index.list_chunks(None).await.unwrap();
        let ids: Vec<ChunkId> = listed.iter().map(|(id, _)| *id).collect();
        for stored in index.fetch(None, &ids).await.unwrap() {
            texts.push(stored.unwrap().chunk.text);
        }
        assert!(
            ["the bandicoot digs a burrow", "the wombat sleeps"]
                .iter()
                .all(|text| texts.iter().any(|other| other.contains(text))),
            "{texts:?}"
        );
        assert_eq!(texts.len(), 2 + round, "{texts:?}");
        assert!(
            index
                .vectors(None, &ids)
                .await
                .unwrap()
                .iter()
                .all(Option::is_some)
        );
        assert!(generation.join("coarse-0.sums").exists());
        let operation = replace("new", 1, [7]);
        let Operation::Replace {
            document, chunks, ..
        } = operation
        else {
            panic!("a replace")
        };
        let vectors = vec![ChunkVectors {
            coarse: unit(7, 384, false),
            ..ChunkVectors::default()
        }];
        let outcomes = index
            .write(
                "g1",
                vec![Operation::Replace {
                    document,
                    chunks,
                    vectors,
                }],
            )
            .await
            .unwrap();
        assert_eq!(outcomes, [Outcome::Applied]);
        index.flush("g1").await.unwrap();
    }
    let meta = std::fs::read_to_string(generation.join("text/meta.json")).unwrap();
    assert!(
        meta.contains("#crc32 ") && meta.contains(r#"\"format\":2"#),
        "{meta}"
    );
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target)
        } else {
            assert!(std::fs::copy(entry.path(), target).is_ok())
        }
    }
}
