//! Changed documents through the real service: files that are nearly right, made of real ones and of some made here, are published batch by
//! batch to one process. Whatever they do to their converters, the process goes on and each ends indexed, skipped or dead with a reason.
//!
//! `TRIBUTARY_MUTATIONS` says how many (300 without it), `TRIBUTARY_MUTATIONS_SEED` which, and `TRIBUTARY_MUTATIONS_FROM` with which number to
//! begin, so that one of them can be made again. Files that a conversion process did not survive, or took too long for, are kept in the folder that
//! is printed. PDFium is used where `TRIBUTARY_PDFIUM` names it.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

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
use std::path::PathBuf;
use std::str::FromStr;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Server, Workspace, finish, hit_texts, list, number, text, wait_for};
use crate::mutator::{FORMATS, Mutated, Mutator};

const DEFAULT_COUNT: usize = 300;
const DEFAULT_SEED: u64 = 1;
/// Files of a batch; the next one publishes other content under the same names.
const BATCH: usize = 20 * FORMATS.len();
const BATCH_DEADLINE: Duration = Duration::from_secs(1800);
/// Limit of a conversion: far above what the documents take on a busy machine.
const CONVERSION_LIMIT_MS: u64 = 20_000;
/// The bucket of `tributary_stage_seconds` in which every document must be that is not dead: the limit, what is allowed beyond it to end the
/// process, and the rest of the stage.
const STAGE_BUCKET: &str = "30";

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
    let Ok(value) = std::env::var(name) else { return default };
    value.parse().unwrap_or_else(|error| panic!("{name}={value}: {error}"))
}

fn workspace() -> Workspace {
    let workspace = Workspace::new()
        .with("ingest.conversion_timeout_ms", &CONVERSION_LIMIT_MS.to_string())
        // A long run publishes gigabytes.
        .with("store.retention_bytes", "268435456");
    match std::env::var("TRIBUTARY_PDFIUM") {
        Ok(library) => workspace.with("ingest.pdf.library", &library),
        Err(_) => workspace,
    }
}

/// A run: what is published and what came of it.
struct Run {
    workspace: Workspace,
    server: Server,
    mutator: Mutator,
    seed: u64,
    states: BTreeMap<String, usize>,
    findings: BTreeMap<&'static str, usize>,
    folder: PathBuf,
}

impl Run {
    fn new(seed: u64) -> Self {
        let workspace = workspace();
        let server = workspace.start();
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("mutations");
        Self { workspace, server, mutator: Mutator::new(seed), seed, states: BTreeMap::new(), findings: BTreeMap::new(), folder }
    }

    /// Publishes files and waits for all of them.
    fn batch(&mut self, files: &[Mutated]) {
        let folder = self.workspace.path("batch");
        if folder.exists() {
            std::fs::remove_dir_all(&folder).unwrap();
        }
        let name = |file: &Mutated| format!("{:04}.{}", file.number % BATCH, file.extension);
        for file in files {
            self.workspace.write(&format!("batch/{}", name(file)), &file.bytes);
        }
        let mut publish = self.workspace.command();
        publish.args(["publish", "batch", "--source", "mutations", "--wait", "--format", "json"]);
        let report = finish(publish, BATCH_DEADLINE);
        assert!([0, 3].contains(&report.code), "{}", report.stderr);
        let report = report.json();
        let outcomes: BTreeMap<&str, &Value> = list(&report, "/documents").iter().map(|row| (text(row, "/source_path"), row)).collect();
        assert_eq!(outcomes.len(), files.len(), "a document is lost");
        for file in files {
            let outcome = outcomes.get(name(file).as_str()).unwrap_or_else(|| panic!("lost: {}", self.about(file)));
            self.note(file, outcome);
        }
    }

    fn note(&mut self, file: &Mutated, outcome: &Value) {
        let state = text(outcome, "/state");
        let reason = outcome.get("reason").and_then(Value::as_str).unwrap_or_default();
        let is_explained = state == "indexed" || (["skipped", "dead"].contains(&state) && !reason.is_empty());
        assert!(is_explained, "{state}, {reason:?}: {}", self.about(file));
        *self.states.entry(state.to_owned()).or_default() += 1;
        let Some((_, kind)) = SIGNS.iter().find(|(sign, _)| reason.contains(sign)) else { return };
        *self.findings.entry(kind).or_default() += 1;
        std::fs::create_dir_all(&self.folder).unwrap();
        let kept = self.folder.join(format!("{}-{}.{}", self.seed, file.number, file.extension));
        std::fs::write(&kept, &file.bytes).unwrap();
        let first_line = reason.lines().next().unwrap_or_default();
        eprintln!("mutations: {kind}: {}: {first_line} (kept as {})", self.about(file), kept.display());
    }

    fn about(&self, file: &Mutated) -> String {
        format!("seed {} number {} ({})", self.seed, file.number, file.what)
    }

    fn progress(&self, done: usize, count: usize, started: Instant) {
        let seconds = started.elapsed().as_secs_f64();
        let memory = self.server.peak_memory_bytes().map_or(0, |bytes| bytes >> 20);
        let (states, findings) = (&self.states, &self.findings);
        eprintln!(
            "mutations: {done}/{count} in {seconds:.0} s: {states:?}; of these conversion processes {findings:?}; server at most {memory} MiB"
        );
    }

    /// The process is the same, no document took too long, nothing hangs, and a good document is found.
    fn check(&self, published: usize) {
        assert!(!self.server.log().contains("panicked"), "the server panicked: {}", self.server.log());
        let (status, metrics) = self.server.get("/metrics");
        assert_eq!(status, 200);
        let metrics = metrics.as_str().unwrap();
        let alive = (published - self.states.get("dead").copied().unwrap_or_default()) as u64;
        let all = value(metrics, "tributary_stage_seconds_count{stage=\"ingest\"}");
        let in_time = value(metrics, &format!("tributary_stage_seconds_bucket{{stage=\"ingest\",le=\"{STAGE_BUCKET}\"}}"));
        assert_eq!((all, in_time), (alive, alive), "documents that took longer than {STAGE_BUCKET} s");
        let proof = wait_for("a proof that nothing is lost", || {
            let (_, proof) = self.server.post("/v1/documents/reconcile", &json!({}));
            (proof.get("ok") == Some(&Value::Bool(true))).then_some(proof)
        });
        assert_eq!(number(&proof, "/in_flight"), 0, "{proof}");
        let good = json!({"source": "good", "source_path": "good.md", "content": "# Good\n\nThe wolverine is found after all of this."});
        let state = self.server.settled(&self.server.publish(&good));
        assert_eq!(text(&state, "/state"), "indexed");
        let (_, answer) = self.server.post("/v1/search", &json!({"query": "wolverine"}));
        assert_eq!(hit_texts(&answer, "wolverine").len(), 1, "{answer}");
    }
}

fn value(metrics: &str, name: &str) -> u64 {
    let line = metrics.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_else(|| panic!("no {name} in {metrics}"));
    line.trim().parse().unwrap()
}

#[test]
fn changed_documents_stop_nothing_and_none_is_lost() {
    let (count, from) = (variable("TRIBUTARY_MUTATIONS", DEFAULT_COUNT), variable("TRIBUTARY_MUTATIONS_FROM", 0));
    let (mut run, started) = (Run::new(variable("TRIBUTARY_MUTATIONS_SEED", DEFAULT_SEED)), Instant::now());
    let process = run.server.pid();
    eprintln!("mutations: {count} files of {} documents, seed {}, from number {from}", run.mutator.documents(), run.seed);
    for first in (0..count).step_by(BATCH) {
        let files: Vec<Mutated> = (first..count.min(first + BATCH)).map(|number| run.mutator.file(from + number)).collect();
        run.batch(&files);
        run.progress(first + files.len(), count, started);
    }
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
    let report = workspace.json(["publish", "own", "--source", "own", "--wait", "--format", "json"]);
    let rows = list(&report, "/documents");
    assert!(rows.iter().all(|row| text(row, "/state") == "indexed"), "{rows:#?}");
}

#[test]
fn a_seed_makes_the_same_files_again() {
    let (one, other) = (Mutator::new(7), Mutator::new(7));
    for number in 0..FORMATS.len() {
        let (first, second) = (one.file(number), other.file(number));
        assert!(first.bytes == second.bytes && first.what == second.what && first.extension == second.extension);
    }
    let different = (0..FORMATS.len()).filter(|number| one.file(*number).bytes != Mutator::new(8).file(*number).bytes).count();
    assert!(different > FORMATS.len() / 2);
}
