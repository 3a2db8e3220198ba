//! Changed documents through the real service: files that are nearly right, made of real ones and
//! of some made here, are published batch by batch to one process. Whatever they do to their
//! converters, the process goes on and each ends indexed, skipped or dead with a reason.
//!
//! `TRIBUTARY_MUTATIONS` says how many (300 without it), `TRIBUTARY_MUTATIONS_SEED` which, and
//! `TRIBUTARY_MUTATIONS_FROM` with which number to begin, so that one of them can be made again.
//! Files that a conversion process did not survive, or took too long for, are kept in the folder
//! that is printed. PDFium is used where `TRIBUTARY_PDFIUM` names it.
// All changes have one signature, whatever they do with it: `ptr_arg`.
#![allow(clippy::unwrap_used, clippy::print_stderr, clippy::ptr_arg)]

mod compound;
#[allow(dead_code)]
#[path = "../end_to_end/harness.rs"]
mod harness;
mod markup;
mod mutator;
mod own;
mod packages;
mod pieces;
mod portable;
#[path = "../chaos/random.rs"]
mod random;
mod written;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::Range;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::harness::{Server, Workspace, hit_texts, list, number, text, wait_for};
use crate::mutator::{FORMATS, Mutated, Mutator};

const DEFAULT_COUNT: usize = 300;
const DEFAULT_SEED: u64 = 1;
/// Files of a batch. The one after the next publishes other content under the same names.
const BATCH: usize = 20 * FORMATS.len();
const SLOTS: usize = 2 * BATCH;
const BATCH_DEADLINE: Duration = Duration::from_secs(1800);
const PUBLISHERS: usize = 4;
const POLL: Duration = Duration::from_millis(100);
/// Limit of a conversion: far above what the documents take on a busy machine.
const CONVERSION_LIMIT_MS: u64 = 20_000;
/// The bucket of `tributary_stage_seconds` in which every document must be that is not dead: the
/// limit, what is allowed beyond it to end the process, and the rest of the stage.
const STAGE_BUCKET: &str = "30.0";

/// What a reason says that a document did to its conversion process.
const SIGNS: &[(&str, &str)] = &[
    ("did not survive", "died"),
    ("ended from outside", "died"),
    ("gave up on this document", "panicked"),
    ("bytes of memory", "too much memory"),
    ("nested too deeply to be converted", "too deep"),
    ("conversion took longer", "too slow"),
];

fn variable<T: FromStr<Err: Display>>(name: &str, default: T) -> T {
    let Ok(value) = std::env::var(name) else {
        return default;
    };
    value
        .parse()
        .unwrap_or_else(|error| panic!("{name}={value}: {error}"))
}

fn workspace() -> Workspace {
    let workspace = Workspace::new()
        .with(
            "convert.conversion_timeout_ms",
            &CONVERSION_LIMIT_MS.to_string(),
        )
        // Pages that are pictures are read with a limit of their own.
        .with("convert.ocr.page_timeout_ms", "2000")
        .with("convert.ocr.document_timeout_ms", "4000")
        // Seconds a presentation, where LibreOffice is installed.
        .with("convert.slides.draw", "false")
        // A long run publishes gigabytes.
        .with("store.retention_bytes", "268435456");
    match std::env::var("TRIBUTARY_PDFIUM") {
        Ok(library) => workspace.with("convert.pdf.library", &library),
        Err(_) => workspace,
    }
}

/// A run: what is published and what came of it.
struct Run {
    server: Server,
    /// Its folders go with it.
    _workspace: Workspace,
    mutator: Mutator,
    seed: u64,
    states: BTreeMap<String, usize>,
    findings: BTreeMap<&'static str, usize>,
    folder: PathBuf,
}

/// A file that was accepted: its number and what the server calls it.
type Accepted = (usize, (String, u64));

impl Run {
    fn new(seed: u64) -> Self {
        let workspace = workspace();
        let server = workspace.start();
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("mutations");
        Self {
            server,
            _workspace: workspace,
            mutator: Mutator::new(seed),
            seed,
            states: BTreeMap::new(),
            findings: BTreeMap::new(),
            folder,
        }
    }

    /// Publishes files of these numbers.
    fn publish(&self, numbers: Range<usize>) -> Vec<Accepted> {
        let next = AtomicUsize::new(numbers.start);
        let accepted = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..PUBLISHERS {
                scope.spawn(|| {
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= numbers.end {
                            break;
                        }
                        let file = self.publish_one(&self.mutator.file(number));
                        accepted.lock().unwrap().push((number, file));
                    }
                });
            }
        });
        accepted.into_inner().unwrap()
    }

    fn publish_one(&self, file: &Mutated) -> (String, u64) {
        let path = format!("{:04}.{}", file.number % SLOTS, file.extension);
        let event = json!({"source": "mutations", "source_path": path, "content_base64": STANDARD.encode(&file.bytes)});
        let answer = until_answered(&self.about(file), 202, || {
            self.server.try_post("/v1/documents", &event)
        });
        (
            text(&answer, "/document_id").to_owned(),
            number(&answer, "/version"),
        )
    }

    /// Waits for all of them.
    fn settle(&mut self, mut open: Vec<Accepted>) {
        let begun = Instant::now();
        while !open.is_empty() {
            assert!(
                begun.elapsed() < BATCH_DEADLINE,
                "these never end: {:?}",
                open.iter().map(|(number, _)| number).collect::<Vec<_>>()
            );
            let ids: Vec<&str> = open.iter().map(|(_, (id, _))| id.as_str()).collect();
            let body = json!({"document_ids": ids});
            let answer = until_answered("states", 200, || {
                self.server.try_post("/v1/documents/states", &body)
            });
            let states = list(&answer, "/documents").to_vec();
            assert_eq!(states.len(), open.len());
            open = open
                .into_iter()
                .zip(states)
                .filter_map(|(accepted, state)| self.learn(accepted, &state))
                .collect();
            std::thread::sleep(POLL);
        }
    }

    /// Notes what became of a file; gives it back if that is still open.
    fn learn(&mut self, accepted: Accepted, state: &Value) -> Option<Accepted> {
        let (number, (_, version)) = &accepted;
        if state.is_null() {
            // Accepted a moment ago; what stays unknown is lost, and ends in the deadline.
            return Some(accepted);
        }
        let is_final = ["indexed", "skipped", "deleted", "dead"].contains(&text(state, "/state"));
        if !is_final || self::number(state, "/version") < *version {
            return Some(accepted);
        }
        self.note(&self.mutator.file(*number), state);
        None
    }

    fn note(&mut self, file: &Mutated, outcome: &Value) {
        let state = text(outcome, "/state");
        let reason = outcome
            .get("reason")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let is_explained =
            state == "indexed" || (["skipped", "dead"].contains(&state) && !reason.is_empty());
        assert!(is_explained, "{state}, {reason:?}: {}", self.about(file));
        *self.states.entry(state.to_owned()).or_default() += 1;
        let Some((_, kind)) = SIGNS.iter().find(|(sign, _)| reason.contains(sign)) else {
            return;
        };
        *self.findings.entry(kind).or_default() += 1;
        std::fs::create_dir_all(&self.folder).unwrap();
        let kept = self
            .folder
            .join(format!("{}-{}.{}", self.seed, file.number, file.extension));
        std::fs::write(&kept, &file.bytes).unwrap();
        let first_line = reason.lines().next().unwrap_or_default();
        eprintln!(
            "mutations: {kind}: {}: {first_line} (kept as {})",
            self.about(file),
            kept.display()
        );
    }

    fn about(&self, file: &Mutated) -> String {
        format!("seed {} number {} ({})", self.seed, file.number, file.what)
    }

    fn progress(&self, done: usize, count: usize, started: Instant) {
        let seconds = started.elapsed().as_secs_f64();
        let memory = self
            .server
            .peak_memory_bytes()
            .map_or(0, |bytes| bytes >> 20);
        let (states, findings) = (&self.states, &self.findings);
        eprintln!(
            "mutations: {done}/{count} in {seconds:.0} s: {states:?}; of these conversion processes {findings:?}; server at most {memory} MiB"
        );
    }

    /// The process is the same, no document took too long, nothing hangs, and a good document is
    /// found.
    fn check(&self, published: usize) {
        assert!(
            !self.server.log().contains("panicked"),
            "the server panicked: {}",
            self.server.log()
        );
        let (status, metrics) = self.server.get("/metrics");
        assert_eq!(status, 200);
        let metrics = metrics.as_str().unwrap();
        let alive = (published - self.states.get("dead").copied().unwrap_or_default()) as u64;
        let all = value(metrics, "tributary_stage_seconds_count{stage=\"ingest\"}");
        let in_time = value(
            metrics,
            &format!("tributary_stage_seconds_bucket{{le=\"{STAGE_BUCKET}\",stage=\"ingest\"}}"),
        );
        assert_eq!(
            (all, in_time),
            (alive, alive),
            "documents that took longer than {STAGE_BUCKET} s"
        );
        let proof = wait_for("a proof that nothing is lost", || {
            let (_, proof) = self.server.post("/v1/documents/reconcile", &json!({}));
            (proof.get("ok") == Some(&Value::Bool(true))).then_some(proof)
        });
        assert_eq!(number(&proof, "/in_flight"), 0, "{proof}");
        let good = json!({"source": "good", "source_path": "good.md", "content": "# Good\n\nThe wolverine is found after all of this."});
        let state = self.server.settled(&self.server.publish(&good));
        assert_eq!(text(&state, "/state"), "indexed");
        let (_, answer) = self
            .server
            .post("/v1/search", &json!({"query": "wolverine"}));
        assert_eq!(hit_texts(&answer, "wolverine").len(), 1, "{answer}");
    }
}

/// A connection may fail on a busy machine; the server must answer soon nevertheless.
fn until_answered(
    what: &str,
    wanted: u16,
    ask: impl Fn() -> Result<(u16, Value), ureq::Error>,
) -> Value {
    let mut last = None;
    for _ in 0..60 {
        match ask() {
            Ok((status, answer)) if status == wanted => return answer,
            other => last = Some(other),
        }
        std::thread::sleep(Duration::from_millis(500));
    }
    panic!("no answer for {what}: {last:?}");
}

fn value(metrics: &str, name: &str) -> u64 {
    let line = metrics
        .lines()
        .find_map(|line| line.strip_prefix(name))
        .unwrap_or_else(|| panic!("no {name} in {metrics}"));
    line.trim().parse().unwrap()
}

#[test]
fn changed_documents_stop_nothing_and_none_is_lost() {
    let (count, from) = (
        variable("TRIBUTARY_MUTATIONS", DEFAULT_COUNT),
        variable("TRIBUTARY_MUTATIONS_FROM", 0),
    );
    let (mut run, started) = (
        Run::new(variable("TRIBUTARY_MUTATIONS_SEED", DEFAULT_SEED)),
        Instant::now(),
    );
    let process = run.server.pid();
    eprintln!(
        "mutations: {count} files of {} documents, seed {}, from number {from}",
        run.mutator.documents(),
        run.seed
    );
    // The next batch is published before the one before is over: a slow document holds up only
    // itself.
    let mut waiting = Vec::new();
    for first in (0..count).step_by(BATCH) {
        let last = count.min(first + BATCH);
        let published = run.publish(from + first..from + last);
        run.settle(std::mem::replace(&mut waiting, published));
        run.progress(first, count, started);
    }
    run.settle(waiting);
    run.progress(count, count, started);
    assert_eq!(
        run.states.values().sum::<usize>(),
        count,
        "every file has its state"
    );
    run.check(count);
    assert_eq!(run.server.pid(), process);
    eprintln!("mutations: kept files are in {}", run.folder.display());
    run.server.stop();
}

#[test]
fn the_documents_made_here_are_whole() {
    let workspace = workspace();
    for (name, bytes) in own::documents() {
        workspace.write(&format!("own/{name}"), bytes);
    }
    let report = workspace.json([
        "publish", "own", "--source", "own", "--wait", "--format", "json",
    ]);
    let rows = list(&report, "/documents");
    assert!(
        rows.iter().all(|row| text(row, "/state") == "indexed"),
        "{rows:#?}"
    );
}

#[test]
fn a_seed_makes_the_same_files_again() {
    let (one, other) = (Mutator::new(7), Mutator::new(7));
    for number in 0..FORMATS.len() {
        let (first, second) = (one.file(number), other.file(number));
        assert!(
            first.bytes == second.bytes
                && first.what == second.what
                && first.extension == second.extension
        );
    }
    let different = (0..FORMATS.len())
        .filter(|number| one.file(*number).bytes != Mutator::new(8).file(*number).bytes)
        .count();
    assert!(different > FORMATS.len() / 2);
}
