//! Folders of the data folder that are gone, as where a volume is not mounted: said so instead of
//! begun anew, and how to go on.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::harness::{Server, Workspace, number, text, wait_for};

const DOCUMENTS: usize = 8;

/// Published by the real program, which is then stopped; some bodies are in the blob store.
fn published() -> Workspace {
    let workspace = Workspace::new()
        .with("store.partitions", "1")
        .with("store.inline_limit_bytes", "1000");
    for number in 0..DOCUMENTS {
        let words = (0..if number % 2 == 0 { 200 } else { 20 })
            .map(|word| format!("burrow{number}x{word}"));
        let text = words.collect::<Vec<_>>().join(" ");
        workspace.write(
            &format!("docs/{number}.md"),
            format!("# Page {number}\n\nbandicoot {text}\n"),
        );
    }
    workspace.json(["publish", "docs", "--wait", "--format", "json"]);
    workspace
}

fn found(server: &Server) -> usize {
    let mut titles: Vec<String> = server
        .post("/v1/search", &json!({"query": "bandicoot", "top_k": 50}))
        .1["hits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| text(hit, "/title").to_owned())
        .collect();
    titles.sort();
    titles.dedup();
    titles.len()
}

fn topic(workspace: &Workspace, name: &str) -> PathBuf {
    workspace
        .data()
        .join(format!("log/topics/tributary.{name}.v1"))
}

/// What `doctor --verify` has against the data at rest.
fn verified(workspace: &Workspace) -> Vec<String> {
    let doctor = workspace
        .run(["doctor", "--verify", "--format", "json"])
        .json();
    let failed = |check: &&Value| text(check, "/name").ends_with("at rest") && check["ok"] == false;
    doctor["checks"]
        .as_array()
        .unwrap()
        .iter()
        .filter(failed)
        .map(|check| text(check, "/detail").to_owned())
        .collect()
}

/// What `doctor` without `--verify` has against the data folder.
fn ailing(workspace: &Workspace) -> Option<String> {
    let doctor = workspace.run(["doctor", "--format", "json"]).json();
    let folder = doctor["checks"]
        .as_array()
        .unwrap()
        .iter()
        .find(|check| text(check, "/name") == "data folder")
        .unwrap();
    (folder["ok"] == false).then(|| text(folder, "/detail").to_owned())
}

fn repair(workspace: &Workspace, gone: &Path) {
    let planned = workspace.json(["repair", "--format", "json"]);
    assert!(
        text(&planned, "/steps/0").contains(gone.to_str().unwrap()),
        "{planned}"
    );
    workspace.json(["repair", "--apply", "--format", "json"]);
    assert_eq!(verified(workspace), [] as [String; 0], "{}", gone.display());
}

/// A start is refused and says why, until the folder is back.
#[test]
fn a_start_without_a_folder_that_was_there_is_refused_until_it_is_back() {
    let workspace = published();
    let raw = topic(&workspace, "documents.raw");
    let index = workspace.data().join("index");
    let within = [
        index.join("generations"),
        index.join("generations/g1"),
        raw.join("0"),
        raw.join("groups"),
        raw,
    ];
    for place in [workspace.data().join("log"), index.clone()]
        .into_iter()
        .chain(within)
    {
        let away = workspace.path("away");
        fs::rename(&place, &away).unwrap();
        workspace.run(["run", "--listen", "127.0.0.1:0"]).refused(
            1,
            &[place.to_str().unwrap(), "is gone", "mount or put it back"],
        );
        let lines = verified(&workspace);
        assert!(
            lines.len() == 1 && lines[0].contains(place.to_str().unwrap()),
            "{lines:?}"
        );
        assert!(ailing(&workspace).is_some_and(|detail| detail.contains(place.to_str().unwrap())));
        assert!(!place.exists(), "{} was begun anew", place.display());
        fs::rename(&away, &place).unwrap();
        assert_eq!(ailing(&workspace), None);
        assert_eq!(verified(&workspace), [] as [String; 0]);
    }
    // As where a volume is not mounted.
    for place in [workspace.data().join("log"), index] {
        let away = workspace.path("away");
        fs::rename(&place, &away).unwrap();
        fs::create_dir(&place).unwrap();
        workspace
            .run(["run", "--listen", "127.0.0.1:0"])
            .refused(1, &[place.to_str().unwrap(), "is gone"]);
        assert_eq!(verified(&workspace).len(), 1);
        assert_eq!(
            fs::read_dir(&place).unwrap().count(),
            0,
            "something was begun in {}",
            place.display()
        );
        fs::remove_dir(&place).unwrap();
        fs::rename(&away, &place).unwrap();
    }
    let server = workspace.start();
    assert_eq!(found(&server), DOCUMENTS);
    server.stop();
}

#[test]
fn an_index_that_is_gone_for_good_is_built_again_from_the_log() {
    for (name, is_replaced) in [
        ("index", false),
        ("index/generations", false),
        ("index/generations/g1", false),
        ("index", true),
    ] {
        let workspace = published();
        let place = workspace.data().join(name);
        fs::remove_dir_all(&place).unwrap();
        if is_replaced {
            fs::write(&place, "no folder").unwrap();
        }
        repair(&workspace, &place);
        let server = workspace.start();
        wait_for("all documents again", || {
            (found(&server) == DOCUMENTS).then_some(())
        });
        server.stop();
    }
}

/// Whatever of the log is gone for good, what is in the index is found, and what is published from
/// then on is accepted and found.
#[test]
fn without_a_part_of_the_log_that_is_gone_for_good_it_goes_on() {
    for name in [
        "",
        "documents.raw/0",
        "documents.raw/groups",
        "documents.states",
        "documents.clean",
        "documents.clean/0",
    ] {
        let workspace = published();
        let place = match name.split_once('/') {
            None if name.is_empty() => workspace.data().join("log"),
            None => topic(&workspace, name),
            Some((name, folder)) => topic(&workspace, name).join(folder),
        };
        fs::remove_dir_all(&place).unwrap();
        repair(&workspace, &place);
        let server = workspace.start();
        assert_eq!(found(&server), DOCUMENTS, "{name}");
        let new = server.publish(
            &json!({"source": "s", "document_id": "new", "content": "# New\n\nbandicoot of today"}),
        );
        assert_eq!(text(&server.settled(&new), "/state"), "indexed", "{name}");
        assert_eq!(found(&server), DOCUMENTS + 1, "{name}");
        // Also one that the index has and no report tells of.
        let (_, answer) = server.post("/v1/search", &json!({"query": "burrow0x1", "top_k": 1}));
        let (status, deleted) = server
            .try_delete(&format!(
                "/v1/documents/{}",
                text(&answer, "/hits/0/document_id")
            ))
            .unwrap();
        assert_eq!(status, 202, "{name}: {deleted}");
        wait_for("one less", || (found(&server) == DOCUMENTS).then_some(()));
        server.stop();
    }
}

#[test]
fn files_within_the_log_that_are_gone_or_emptied_are_mended() {
    let cases = [
        ("emptied positions", "documents.raw", "groups"),
        ("removed segment", "documents.raw", "0"),
        ("removed documents", "documents.clean", "0"),
        // No stage reads it.
        ("emptied reports", "documents.states", "0"),
        ("removed reports", "documents.states", "0"),
    ];
    for (name, of, folder) in cases {
        let workspace = published();
        let is_meant = |path: &PathBuf| {
            path.extension()
                .is_some_and(|found| ["positions", "segment"].iter().any(|known| found == *known))
        };
        let listed = fs::read_dir(topic(&workspace, of).join(folder)).unwrap();
        let file = listed
            .map(|entry| entry.unwrap().path())
            .find(is_meant)
            .unwrap();
        match name.starts_with("emptied") {
            true => fs::write(&file, b"").unwrap(),
            false => fs::remove_file(&file).unwrap(),
        }
        assert_eq!(verified(&workspace).len(), 1, "{name}");
        workspace.json(["repair", "--apply", "--format", "json"]);
        assert_eq!(verified(&workspace), [] as [String; 0], "{name}");
        let server = workspace.start();
        assert_eq!(found(&server), DOCUMENTS, "{name}");
        // What is gone from the log comes back by publishing it again, although the index has it as
        // it is.
        let again = workspace.json(["publish", "docs", "--wait", "--format", "json"]);
        assert_eq!(
            number(&again, "/indexed"),
            DOCUMENTS as u64,
            "{name}: {again}"
        );
        workspace.json([
            "knowledge-sets",
            "reindex",
            "--all",
            "--wait",
            "--format",
            "json",
        ]);
        assert_eq!(found(&server), DOCUMENTS, "{name}");
        let new = server.publish(
            &json!({"source": "s", "document_id": "new", "content": "# New\n\nbandicoot of today"}),
        );
        assert_eq!(text(&server.settled(&new), "/state"), "indexed", "{name}");
        server.stop();
    }
}

#[test]
fn bodies_that_are_gone_for_good_are_named_and_gone_on_without() {
    let workspace = published();
    let blobs = workspace.data().join("blobs");
    fs::remove_dir_all(&blobs).unwrap();
    let lines = verified(&workspace);
    assert!(
        lines.len() == 1 && lines[0].contains(blobs.to_str().unwrap()),
        "{lines:?}"
    );
    repair(&workspace, &blobs);
    let server = workspace.start();
    let long = format!("# Long\n\nbandicoot. {}", "another sentence. ".repeat(100));
    let new = server.publish(&json!({"source": "s", "document_id": "new", "content": long}));
    assert_eq!(text(&server.settled(&new), "/state"), "indexed");
    server.stop();
}

/// Nothing is accepted that goes with the process.
#[test]
fn a_log_that_is_removed_or_moved_while_it_is_used_takes_nothing_more() {
    for is_moved in [false, true] {
        removed_while_used(is_moved);
    }
}

fn removed_while_used(is_moved: bool) {
    let workspace = Workspace::new();
    let mut server = workspace.start();
    let first = server
        .publish(&json!({"source": "s", "document_id": "first", "content": "# A\n\nbandicoot"}));
    assert_eq!(text(&server.settled(&first), "/state"), "indexed");
    let (log, copy) = (workspace.data().join("log"), workspace.path("copy"));
    if is_moved {
        fs::rename(&log, &copy).unwrap();
    } else {
        copy_folder(&log, &copy);
        fs::remove_dir_all(&log).unwrap();
    }
    let (status, problem) = server.post(
        "/v1/documents",
        &json!({"source": "s", "document_id": "second", "content": "# B\n\nlost"}),
    );
    assert_eq!(
        (status, number(&problem, "/status")),
        (503, 503),
        "{problem}"
    );
    let (status, ready) = server.get("/health/readyz");
    let failed = |name| {
        ready["checks"]
            .as_array()
            .unwrap()
            .iter()
            .any(|check| text(check, "/name") == name && check["ok"] == false)
    };
    assert!(
        status == 503 && failed("event_log") && failed("data_folder"),
        "{ready}"
    );
    server.kill();
    fs::rename(&copy, workspace.data().join("log")).unwrap();
    let server = workspace.start();
    assert_eq!(found(&server), 1);
    let second = server
        .publish(&json!({"source": "s", "document_id": "second", "content": "# B\n\nbandicoot"}));
    assert_eq!(text(&server.settled(&second), "/state"), "indexed");
    server.stop();
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let place = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy_folder(&entry.path(), &place),
            false => drop(fs::copy(entry.path(), place).unwrap()),
        }
    }
}

/// Whoever asks meanwhile is told that not all is there yet.
#[test]
fn searches_say_so_while_an_index_is_built_again() {
    let workspace = published();
    let ask = |server: &Server| {
        let (_, answer) = server.post("/v1/search", &json!({"query": "bandicoot"}));
        answer["degraded"].clone()
    };
    let said = |server: &Server| {
        let (status, ready) = server.get("/health/readyz");
        let checks = ready["checks"].as_array().unwrap().iter();
        let mut index = checks.filter(|check| text(check, "/name") == "search_index");
        (status, text(index.next().unwrap(), "/detail").to_owned())
    };
    fs::remove_dir_all(workspace.data().join("index")).unwrap();
    workspace.json(["repair", "--apply", "--format", "json"]);
    // Nothing is indexed by this one.
    let server = workspace.start_with(&["--services", "query"]);
    assert_eq!(ask(&server), json!(["documents"]));
    let (status, detail) = said(&server);
    let is_told = detail.starts_with("degraded: ") && detail.contains("8 documents still to come");
    assert!(status == 200 && is_told, "{status} {detail}");
    server.stop();
    let server = workspace.start();
    // A few that are missing count as none, so that nothing is said of the last ones.
    wait_for("all documents to be back", || {
        (ask(&server) == json!([]) && found(&server) == DOCUMENTS).then_some(())
    });
    assert!(!said(&server).1.contains("degraded"));
    server.stop();
}

/// While an index that was lost is filled from the log, what was replaced stays so.
#[test]
fn an_index_that_is_built_again_shows_no_version_that_was_replaced() {
    const MANY: usize = 40;
    let workspace = Workspace::new().with("store.partitions", "1");
    let edition = |word: &str| {
        for number in 0..MANY {
            let own = (0..20).map(|own| format!("burrow{number}x{own}"));
            let own = own.collect::<Vec<_>>().join(" ");
            workspace.write(
                &format!("docs/{number}.md"),
                format!("# Page {number}\n\nbandicoot {word} {own}\n"),
            );
        }
        workspace.json(["publish", "docs", "--wait", "--format", "json"]);
    };
    edition("formerly");
    edition("presently");
    fs::remove_dir_all(workspace.data().join("index")).unwrap();
    workspace.json(["repair", "--apply", "--format", "json"]);
    let server = workspace.start();
    wait_for("all documents to be back", || {
        let asked = json!({"query": "bandicoot formerly presently", "top_k": 80});
        let (_, answer) = server.post("/v1/search", &asked);
        for hit in answer["hits"].as_array().unwrap() {
            let text = text(hit, "/text");
            assert!(!text.contains("formerly"), "{text}");
        }
        let (_, reconciled) = server.post("/v1/documents/reconcile", &json!({}));
        (reconciled["ok"] == true).then_some(())
    });
    assert_eq!(found(&server), MANY);
    server.stop();
}
