//! A producer in another language: what follows docs/producing.md is indexed, and what does not
//! becomes a dead letter that says why.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Server, finish, hit_texts, list, skip, text, wait_for};
use crate::runner::quiet;
use crate::stores::{self, Stores};

const LIBRARY: &str = "confluent-kafka";
const INSTALL_DEADLINE: Duration = Duration::from_secs(240);

/// A Python that has the client library, in a virtual environment made once; none where that cannot
/// be had.
fn python() -> Option<&'static Path> {
    static PYTHON: OnceLock<Option<PathBuf>> = OnceLock::new();
    let made = PYTHON.get_or_init(|| match environment() {
        Ok(python) => Some(python),
        Err(why) => {
            skip(&format!("a producer in Python: {why}"));
            None
        }
    });
    made.as_deref()
}

fn environment() -> Result<PathBuf, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("python");
    let python = folder.join("bin/python");
    let has_library = || {
        Command::new(&python)
            .args(["-c", "import confluent_kafka"])
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    };
    if has_library() {
        return Ok(python);
    }
    let mut make = Command::new("python3");
    make.args(["-m", "venv", "--clear"]).arg(&folder);
    run(make)?;
    let mut install = Command::new(&python);
    install.args(["-m", "pip", "install", "--quiet", LIBRARY]);
    run(install)?;
    if has_library() {
        Ok(python)
    } else {
        Err(format!("{LIBRARY} cannot be imported"))
    }
}

fn run(command: Command) -> Result<(), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    if Command::new(&program).arg("--version").output().is_err() {
        return Err(format!("{program} is missing"));
    }
    let run = finish(command, INSTALL_DEADLINE);
    if run.code == 0 {
        Ok(())
    } else {
        Err(run.stderr)
    }
}

/// Produces records to `documents.raw` and returns what became of each: none, or the client's
/// error.
fn produce(python: &Path, brokers: &str, prefix: &str, records: &[Value]) -> Vec<Option<String>> {
    let mut command = Command::new(python);
    command.args([
        "-c",
        include_str!("produce.py"),
        brokers,
        &format!("{prefix}.documents.raw.v1"),
    ]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let lines: String = records.iter().map(|record| format!("{record}\n")).collect();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(lines.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let mut outcomes = vec![Some("no report".to_owned()); records.len()];
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let outcome: Value = serde_json::from_str(line).unwrap();
        outcomes[outcome["record"].as_u64().unwrap() as usize] =
            outcome["error"].as_str().map(str::to_owned);
    }
    outcomes
}

fn found(server: &Server, word: &str) -> usize {
    let (_, answer) = server.post(
        "/v1/search",
        &json!({"query": word, "strategy": "full_text"}),
    );
    hit_texts(&answer, word).len()
}

/// The record's dead letter.
fn letter(server: &Server, document_id: &str, part: &str) -> Value {
    wait_for(
        &format!("a dead letter of `{document_id}` that says `{part}`"),
        || {
            let (_, letters) = server.get("/v1/dead-letters");
            let mut letters = list(&letters, "/dead_letters").iter();
            letters
                .find(|letter| {
                    text(letter, "/document_id") == document_id
                        && text(letter, "/message").contains(part)
                })
                .cloned()
        },
    )
}

fn event(id: &str, content: &str) -> String {
    json!({"document_id": id, "version": 3, "source": "python", "source_path": format!("{id}.md"), "content": content}).to_string()
}

#[test]
fn a_producer_in_python_gets_its_documents_indexed_and_its_mistakes_named() {
    let (Some(stores), Some(brokers)) = (Stores::kafka_alone(), stores::kafka()) else {
        return;
    };
    let Some(python) = python() else { return };
    let server_folder = stores.workspace();
    let server = server_folder.start();
    let good = [
        json!({"key": "python-good", "value": event("python-good", "# Good\n\nThe capybara swims in the river.")}),
        json!({"key": "python-chinese", "value": event("python-chinese", "# 天线\n\n载波聚合提高下行速率。")}),
        json!({"key": "python-gone", "value": event("python-gone", "The agouti runs.")}),
    ];
    assert_eq!(
        produce(python, &brokers, &stores.prefix, &good),
        [None, None, None]
    );
    wait_for("the documents", || {
        ["capybara", "agouti", "载波聚合"]
            .iter()
            .all(|word| found(&server, word) == 1)
            .then_some(())
    });
    let shown = wait_for("the report on python-good", || {
        let (_, shown) = server.get("/v1/documents/python-good");
        (text(&shown, "/state") == "indexed").then_some(shown)
    });
    assert_eq!(text(&shown, "/source"), "python", "{shown}");

    let newer = [
        json!({"key": "python-good", "value": event("python-good", "# Good\n\nThe tapir swims in the river.").replace("\"version\":3", "\"version\":4")}),
        json!({"key": "python-gone", "value": null, "headers": {"tributary_document_version": "4", "content-type": null}}),
    ];
    assert_eq!(
        produce(python, &brokers, &stores.prefix, &newer),
        [None, None]
    );
    wait_for("the tapir", || {
        (found(&server, "tapir") == 1
            && found(&server, "capybara") == 0
            && found(&server, "agouti") == 0)
            .then_some(())
    });

    let mistakes = [
        json!({"key": "python-text", "value": "this is no JSON"}),
        json!({"key": "python-schema", "value": r#"{"document_id": "python-schema", "source": "python", "contents": "a typing mistake"}"#}),
        json!({"value": event("python-keyless", "The paca has no key.")}),
        json!({"key": "python-type", "value": event("python-type", "x"), "headers": {"ce_type": "com.example.invoice.v7"}}),
        json!({"key": "python-mismatch", "value": event("python-other", "Another id inside.")}),
    ];
    assert_eq!(
        produce(python, &brokers, &stores.prefix, &mistakes),
        [None, None, None, None, None]
    );
    for (id, part) in [
        ("python-text", "JSON"),
        ("python-schema", "contents"),
        ("", "key"),
        ("python-type", "com.example.invoice.v7"),
        ("python-mismatch", "python-other"),
    ] {
        let letter = letter(&server, id, part);
        assert_eq!(text(&letter, "/stage"), "ingest", "{letter}");
        assert_eq!(text(&letter, "/kind"), "invalid", "{letter}");
    }
    assert_eq!(found(&server, "paca"), 0);

    large_records(python, &brokers, &stores, &server);
    assert_eq!(quiet(&server).get("ok"), Some(&json!(true)));
    server.stop();
}

/// 5 MB in one record: see "Large documents" in docs/producing.md.
fn large_records(python: &Path, brokers: &str, stores: &Stores, server: &Server) {
    let large = json!({"key": "python-large", "value": event("python-large", "# Large\n\nThe viscacha is large. {filler}"), "size": 5_000_000});
    let outcome = produce(python, brokers, &stores.prefix, &[large]);
    eprintln!("5 MB from Python: {outcome:?}");
    match &outcome[0] {
        None => wait_for("the viscacha", || {
            (found(server, "viscacha") > 0).then_some(())
        }),
        Some(error) => assert!(error.contains("too large"), "{error}"),
    }
}
