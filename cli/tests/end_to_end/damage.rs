//! Bits that rotted in the data folder of a real program: it starts, serves nothing wrong, says
//! what it leaves out, and is repaired.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::harness::{Server, Workspace, wait_for};

/// Published by the real program, which is then stopped.
fn published() -> Workspace {
    let workspace = Workspace::new().with("store.partitions", "1");
    for number in 0..12 {
        workspace.write(
            &format!("docs/{number}.md"),
            format!("# Page {number}\n\nthe bandicoot number{number} digs a burrow of its own\n"),
        );
    }
    workspace.json(["publish", "docs", "--wait", "--format", "json"]);
    workspace
}

fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            found.extend(files(&entry.path(), ending));
        } else if entry.file_name().to_string_lossy().ends_with(ending) {
            found.push(entry.path());
        }
    }
    found.sort();
    found
}

/// Flips a bit at a part of the length of a file.
fn flip(path: &Path, part: f64) {
    let mut bytes = std::fs::read(path).unwrap();
    let at = (bytes.len() as f64 * part) as usize;
    bytes[at] ^= 1;
    std::fs::write(path, bytes).unwrap();
}

fn topic(workspace: &Workspace, name: &str) -> PathBuf {
    files(
        &workspace.path(&format!("data/log/topics/tributary.{name}.v1")),
        ".segment",
    )
    .remove(0)
}

/// Hits of a search for all documents, and what was done in a lesser way.
fn answer(server: &Server) -> (Vec<Value>, Value) {
    let answer = server
        .post("/v1/search", &json!({"query": "bandicoot", "top_k": 12}))
        .1;
    (
        answer["hits"].as_array().unwrap().clone(),
        answer["degraded"].clone(),
    )
}

fn found(server: &Server) -> Vec<Value> {
    answer(server).0
}

fn verified(workspace: &Workspace) -> (i32, Vec<String>) {
    let doctor = workspace.run(["doctor", "--verify", "--format", "json"]);
    let checks = doctor.json()["checks"].as_array().unwrap().clone();
    let failed = |check: &&Value| {
        check["name"].as_str().unwrap().ends_with("at rest") && check["ok"] == false
    };
    (
        doctor.code,
        checks
            .iter()
            .filter(failed)
            .map(|check| check["detail"].as_str().unwrap().to_owned())
            .collect(),
    )
}

#[test]
fn a_rotten_record_stops_nothing_and_is_repaired() {
    for name in ["documents.states", "documents.raw", "documents.clean"] {
        let workspace = published();
        // What was written last cannot be told from what a crash left unfinished.
        for number in 0..12 {
            workspace.write(
                &format!("later/{number}.md"),
                format!("# Later {number}\n\nthe quokka number{number} comes afterwards\n"),
            );
        }
        workspace.json(["publish", "later", "--wait", "--format", "json"]);
        assert_eq!(verified(&workspace), (0, vec![]), "nothing is damaged yet");
        let segment = topic(&workspace, name);
        flip(&segment, 0.2);
        let (code, lines) = verified(&workspace);
        assert!(
            code == 1 && lines.len() == 1 && lines[0].contains(segment.to_str().unwrap()),
            "{name}: {code} {lines:?}"
        );
        let server = workspace.start();
        assert_eq!(found(&server).len(), 12, "{name}");
        wait_for("the damage in the metrics", || {
            server
                .get("/metrics")
                .1
                .as_str()?
                .contains("tributary_damaged{part=\"log\"} ")
                .then_some(())
        });
        let busy = workspace.run(["doctor", "--verify"]);
        assert!(
            busy.code == 1 && busy.stdout.contains("is in use by the server at"),
            "{busy:?}"
        );
        server.stop();
        let planned = workspace.json(["repair", "--format", "json"]);
        assert!(
            planned["applied"] == false && planned["steps"].as_array().unwrap().len() == 1,
            "{planned}"
        );
        let before = std::fs::read(&segment).unwrap();
        let repaired = workspace.json(["repair", "--apply", "--format", "json"]);
        let aside = Path::new(repaired["aside"].as_str().unwrap()).to_owned();
        assert_eq!(
            std::fs::read(&files(&aside, ".segment")[0]).unwrap(),
            before,
            "the damaged file is kept"
        );
        assert_eq!(verified(&workspace), (0, vec![]), "{name}");
        let server = workspace.start();
        assert_eq!(found(&server).len(), 12, "{name}");
        server.stop();
    }
}

#[test]
fn a_rotten_chunk_is_left_out_named_and_made_again() {
    let workspace = published();
    let store = files(&workspace.data().join("index"), ".store")
        .into_iter()
        .max_by_key(|path| path.metadata().unwrap().len())
        .unwrap();
    flip(&store, 0.4);
    let (code, lines) = verified(&workspace);
    assert!(
        code == 1 && lines[0].contains(store.to_str().unwrap()),
        "{lines:?}"
    );
    let server = workspace.start();
    let (hits, degraded) = answer(&server);
    for hit in &hits {
        let number = hit["title"]
            .as_str()
            .unwrap()
            .trim_start_matches("Page ")
            .to_owned();
        assert!(
            hit["text"].as_str().unwrap().contains(&format!(
                "the bandicoot number{number} digs a burrow of its own"
            )),
            "{hit}"
        );
    }
    assert!(
        hits.len() < 12 && degraded == json!(["chunks"]),
        "{degraded} {hits:?}"
    );
    server.stop();
    workspace.json(["repair", "--apply", "--format", "json"]);
    let server = workspace.start();
    wait_for("all documents again", || {
        (found(&server).len() == 12).then_some(())
    });
    assert_eq!(answer(&server).1, json!([]));
    server.stop();
}

#[test]
fn a_generation_that_does_not_open_is_built_again() {
    let workspace = published();
    let fast = files(&workspace.data().join("index"), ".fast").remove(0);
    flip(&fast, 0.3);
    workspace
        .run(["run", "--listen", "127.0.0.1:0"])
        .refused(1, &["checksum", "tributary repair"]);
    workspace.json(["repair", "--apply", "--format", "json"]);
    assert_eq!(verified(&workspace), (0, vec![]));
    let server = workspace.start();
    wait_for("all documents again", || {
        (found(&server).len() == 12).then_some(())
    });
    server.stop();
}
