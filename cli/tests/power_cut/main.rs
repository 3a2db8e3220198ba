//! The power is cut: a real process works while a preloaded library writes down what it does to its
//! files; then, for moments by chance, a disk is made as it may be found afterwards, and the real
//! program is started on it. Every document that was acknowledged before the cut must reach its
//! state, with its text, and no older one may be found.
//!
//! Writes through shared memory maps would not be seen, so the test fails if there is one.
//! `TRIBUTARY_POWER_CUTS=200` sets how many cuts, `TRIBUTARY_POWER_SEED` which; without them there
//! are a few.
#![allow(clippy::unwrap_used, clippy::print_stderr)]
#![cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

#[allow(dead_code)]
#[path = "../end_to_end/harness.rs"]
mod harness;
mod journal;
#[allow(dead_code)]
#[path = "../chaos/random.rs"]
mod random;

use std::fs;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use serde_json::{Value, json};

use crate::harness::{RUN_DEADLINE, Server, Workspace, finish, list, number, skip, text, wait_for};
use crate::journal::{Journal, Luck};
use crate::random::Random;

const DEFAULT_CUTS: usize = 3;
const PRODUCERS: usize = 3;
const DOCUMENTS: usize = 8;
/// Of each producer.
const OPERATIONS: usize = 50;

/// What was done to a document: the journal's length when it was asked for, and when it was
/// acknowledged.
struct Operation {
    document: usize,
    asked: u64,
    acknowledged: u64,
    /// None for a deletion.
    word: Option<String>,
}

/// What a producer did, and the ids of its documents.
#[derive(Default)]
struct Past {
    operations: Vec<Operation>,
    ids: Vec<Option<String>>,
}

fn variable(name: &str, default: usize) -> usize {
    std::env::var(name).map_or(default, |value| {
        value
            .parse()
            .unwrap_or_else(|error| panic!("{name}={value}: {error}"))
    })
}

/// Compiles the library; says why where that is not possible.
fn library(folder: &Path) -> Result<PathBuf, String> {
    let (source, library) = (folder.join("journal.c"), folder.join("journal.so"));
    fs::write(&source, include_str!("journal.c")).map_err(|error| error.to_string())?;
    let mut compiler = Command::new("cc");
    compiler
        .args(["-O2", "-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg(&source);
    let made = compiler
        .output()
        .map_err(|error| format!("no C compiler: {error}"))?;
    if made.status.success() {
        Ok(library)
    } else {
        Err(format!(
            "journal.c does not compile: {}",
            String::from_utf8_lossy(&made.stderr)
        ))
    }
}

/// Segments that close and go within the run, bodies that travel as references, and no process that
/// the journal does not see.
fn settings(workspace: Workspace) -> Workspace {
    let settings = [
        ("store.inline_limit_bytes", "4096"),
        ("store.event_log.embedded.segment_bytes", "32768"),
        ("store.event_log.embedded.maintenance_interval_seconds", "1"),
        ("convert.isolate_conversion", "false"),
    ];
    settings
        .into_iter()
        .fold(workspace, |workspace, (key, value)| {
            workspace.with(key, value)
        })
}

fn word(producer: usize, operation: usize) -> String {
    let letters = format!("{producer:02}{operation:04}")
        .bytes()
        .map(|digit| char::from(b'a' + (digit - b'0')))
        .collect::<String>();
    format!("qz{letters}")
}

/// Every third is over the inline limit.
fn content(word: &str, document: usize) -> String {
    let filler = "The relay hands the carrier over before the signal fades. "
        .repeat(if document.is_multiple_of(3) { 100 } else { 3 });
    format!("# Document {document}\n\n{word} begins here. {filler}\n")
}

fn produce(server: &Server, journal: &Path, producer: usize, seed: u64) -> Past {
    let mut random = Random::new(seed, producer as u64);
    let mut past = Past {
        operations: Vec::new(),
        ids: vec![None; DOCUMENTS],
    };
    let length = || fs::metadata(journal).unwrap().len();
    for operation in 0..OPERATIONS {
        let document = random.below(DOCUMENTS as u64) as usize;
        let asked = length();
        let known = past.ids[document].clone().filter(|_| random.below(5) == 0);
        let word = known.is_none().then(|| word(producer, operation));
        let (status, accepted) = match (&word, known) {
            (Some(word), _) => {
                let path = format!("{producer}/{document}.md");
                server.post("/v1/documents", &json!({"source": "cut", "source_path": path, "content": content(word, document)}))
            }
            (None, id) => server
                .try_delete(&format!("/v1/documents/{}", id.unwrap()))
                .unwrap(),
        };
        assert_eq!(status, 202, "{accepted}");
        past.ids[document] = Some(text(&accepted, "/document_id").to_owned());
        past.operations.push(Operation {
            document,
            asked,
            acknowledged: length(),
            word,
        });
    }
    past
}

/// Makes a process write down what it does in a folder.
fn watch(command: &mut Command, library: &Path, journal: &Path, folder: &Path) {
    command
        .env("LD_PRELOAD", library)
        .env("TRIBUTARY_POWER_JOURNAL", journal)
        .env("TRIBUTARY_POWER_FOLDER", folder);
}

/// Lets the real program work under the journal until everything is done, and ends it.
fn record(library: &Path, folder: &Path, seed: u64) -> (Journal, Vec<Past>) {
    let workspace = settings(Workspace::new());
    fs::create_dir(workspace.data()).unwrap();
    let path = folder.join("journal");
    let mut command = workspace.command();
    command.args(["run", "--listen", "127.0.0.1:0"]);
    watch(&mut command, library, &path, &workspace.data());
    let mut server = Server::spawn(command, workspace.path("run.log"));
    let pasts = std::thread::scope(|scope| {
        let server = &server;
        let producers: Vec<_> = (0..PRODUCERS)
            .map(|producer| {
                let path = &path;
                scope.spawn(move || produce(server, path, producer, seed))
            })
            .collect();
        let (status, answer) = server.post("/v1/reindex", &json!({}));
        assert_eq!(status, 202, "{answer}");
        producers
            .into_iter()
            .map(|producer| producer.join().unwrap())
            .collect()
    });
    quiet(&server);
    server.kill();
    (Journal::read(&path), pasts)
}

/// Waits until nothing is under way any more; returns the proof.
fn quiet(server: &Server) -> Value {
    wait_for("everything to be done", || {
        let (_, proof) = server.post("/v1/documents/reconcile", &json!({}));
        let is_still = number(&proof, "/in_flight") == 0 && number(&proof, "/waiting_records") == 0;
        is_still.then_some(proof)
    })
}

/// What is wrong with the documents of one producer after a cut at a length of the journal.
fn violations(server: &Server, past: &Past, cut: u64) -> Vec<String> {
    let mut wrong = Vec::new();
    for document in 0..DOCUMENTS {
        let operations: Vec<&Operation> = past
            .operations
            .iter()
            .filter(|operation| operation.document == document)
            .collect();
        let Some(last) = operations
            .iter()
            .rposition(|operation| operation.acknowledged <= cut)
        else {
            continue;
        };
        // What was asked for by then, and not acknowledged, may have been done.
        let allowed: Vec<Option<&str>> = operations[last..]
            .iter()
            .filter(|operation| operation.asked < cut)
            .map(|operation| operation.word.as_deref())
            .collect();
        let id = past.ids[document].as_deref().unwrap();
        let (status, detail) = server.get(&format!("/v1/documents/{id}?passages=true"));
        if status != 200 {
            wrong.push(format!("lost: {id}: {detail}"));
            continue;
        }
        let passages: Vec<&str> = list(&detail, "/passages")
            .iter()
            .map(|passage| text(passage, "/text"))
            .collect();
        let shown = operations
            .iter()
            .filter_map(|operation| operation.word.as_deref())
            .find(|word| passages.iter().any(|text| text.contains(word)));
        let is_right_state = text(&detail, "/state")
            == if shown.is_some() {
                "indexed"
            } else {
                "deleted"
            };
        if !allowed.contains(&shown) || !is_right_state {
            wrong.push(format!(
                "lost or stale: {id} shows {shown:?}, allowed are {allowed:?}: {detail}"
            ));
        }
        for word in operations
            .iter()
            .filter_map(|operation| operation.word.as_deref())
        {
            let (_, answer) = server.post(
                "/v1/search",
                &json!({"query": word, "strategy": "full_text"}),
            );
            let found: Vec<&str> = list(&answer, "/hits")
                .iter()
                .map(|hit| text(hit, "/document_id"))
                .collect();
            if found.is_empty() == (shown == Some(word)) || found.iter().any(|found| *found != id) {
                wrong.push(format!(
                    "{word} of {id}, which shows {shown:?}, finds {found:?}"
                ));
            }
        }
    }
    wrong
}

/// One cut: a disk that may be found, and the program on it.
fn cut(
    journal: &Journal,
    pasts: &[Past],
    entries: usize,
    luck: Luck,
    random: &mut Random,
) -> Vec<String> {
    let workspace = settings(Workspace::new());
    fs::create_dir(workspace.data()).unwrap();
    let disk = journal.disk_after(entries);
    let (names, contents) = disk.open_changes();
    disk.write(&workspace.data(), luck, random);
    let mut command = workspace.command();
    command.args(["run", "--listen", "127.0.0.1:0"]);
    let log = workspace.path("run.log");
    let started = std::panic::catch_unwind(AssertUnwindSafe(|| Server::spawn(command, log)));
    let what = format!(
        "cut after {entries} of {} entries, {luck:?} of {names} names and {contents} contents that were not durable",
        journal.len()
    );
    let Ok(server) = started else {
        return vec![format!(
            "{what}: it does not start; {}",
            fs::read_to_string(workspace.path("run.log")).unwrap()
        )];
    };
    let proof = quiet(&server);
    let length = journal.end_of(entries - 1);
    let mut wrong: Vec<String> = pasts
        .iter()
        .flat_map(|past| violations(&server, past, length))
        .collect();
    if proof.get("ok") != Some(&Value::Bool(true)) {
        wrong.push(format!("reconcile: {proof}"));
    }
    if server.log().contains("panicked") {
        wrong.push(format!("a panic: {}", server.log()));
    }
    eprintln!("power: {what}: {} violations", wrong.len());
    wrong
        .into_iter()
        .map(|line| format!("{what}: {line}"))
        .collect()
}

#[test]
fn what_was_acknowledged_survives_a_power_cut() {
    let (cuts, seed) = (
        variable("TRIBUTARY_POWER_CUTS", DEFAULT_CUTS),
        variable("TRIBUTARY_POWER_SEED", 1) as u64,
    );
    let folder = tempfile::tempdir().unwrap();
    let library = match library(folder.path()) {
        Ok(library) => library,
        Err(why) => return skip(&format!("power cuts: {why}")),
    };
    let started = Instant::now();
    let (journal, pasts) = record(&library, folder.path(), seed);
    let acknowledged = pasts
        .iter()
        .flat_map(|past| &past.operations)
        .map(|operation| operation.acknowledged);
    let first = journal.entries_within(acknowledged.min().unwrap()) + 1;
    assert!(
        journal.syncs() > 50,
        "the journal saw {} syncs",
        journal.syncs()
    );
    let mut random = Random::new(seed, 99);
    let mut wrong = Vec::new();
    for number in 0..cuts {
        let entries = first + random.below((journal.len() - first) as u64) as usize;
        let luck = [Luck::Chance, Luck::Ordered, Luck::Nothing, Luck::NamesOnly][number % 4];
        wrong.extend(cut(&journal, &pasts, entries, luck, &mut random));
    }
    eprintln!(
        "power: {cuts} cuts in a journal of {} entries with {} syncs, {} operations, seed {seed}: {} violations, {:.0} s",
        journal.len(),
        journal.syncs(),
        PRODUCERS * OPERATIONS,
        wrong.len(),
        started.elapsed().as_secs_f64()
    );
    assert!(
        wrong.is_empty(),
        "{:#?}",
        wrong.iter().take(20).collect::<Vec<_>>()
    );
}

#[test]
fn a_restored_folder_is_durable_when_the_command_has_ended() {
    let workspace = settings(Workspace::new());
    let library = match library(&workspace.path("")) {
        Ok(library) => library,
        Err(why) => return skip(&format!("power cuts: {why}")),
    };
    workspace.write(
        "docs/a/zebrawood.md",
        format!(
            "# Long\n\nThe zebrawood is over the limit. {}",
            "It grows slowly. ".repeat(500)
        ),
    );
    workspace.json(["publish", "docs", "--wait", "--format", "json"]);
    workspace.json(["backup", "copy.tar", "--format", "json"]);
    let (journal, target) = (workspace.path("journal"), workspace.path("target"));
    fs::create_dir(&target).unwrap();
    let mut command = workspace.command();
    command
        .args(["restore", "copy.tar", "--data-dir"])
        .arg(&target);
    watch(&mut command, &library, &journal, &target);
    let run = finish(command, RUN_DEADLINE);
    assert_eq!(run.code, 0, "{run:?}");

    let journal = Journal::read(&journal);
    assert!(
        journal.syncs() > 5,
        "the journal saw {} syncs",
        journal.syncs()
    );
    let after = settings(Workspace::new());
    fs::create_dir(after.data()).unwrap();
    journal
        .disk_after(journal.len())
        .write(&after.data(), Luck::Nothing, &mut Random::new(1, 1));
    assert_eq!(
        after.found("zebrawood").len(),
        1,
        "found with its text, which is a body of its own"
    );
}
