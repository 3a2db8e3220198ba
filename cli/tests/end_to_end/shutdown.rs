//! Ends and beginnings: stops that finish what is in progress, second starts, second writers.

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{RUN_DEADLINE, Workspace, finish, number, wait_for};

/// Publishes, signals at once, and proves after the next start that nothing was lost.
fn drains(signal: &str) {
    let workspace = Workspace::new();
    let mut server = workspace.start();
    for number in 0..40 {
        let text = format!("# Note {number}\n\nThe basilisk sleeps under stone {number}.");
        server.publish(
            &json!({"source": "notes", "source_path": format!("{number}.md"), "content": text}),
        );
    }
    server.signal(signal);
    let (status, _) = server.ended();
    assert_eq!(status.code(), Some(0), "{}", server.log());
    let log = server.log();
    assert!(
        log.contains("finishing what is in progress") && log.contains("nothing was lost"),
        "{log}"
    );
    assert!(!log.contains("ERROR") && !log.contains("panicked"), "{log}");
    assert!(!workspace.data().join("server.json").exists());

    let second = workspace.start();
    let proof = workspace.json(["documents", "reconcile", "--format", "json"]);
    assert_eq!(
        (number(&proof, "/indexed"), proof.get("ok")),
        (40, Some(&Value::Bool(true))),
        "{proof}"
    );
    second.stop();
}

#[test]
fn sigterm_finishes_what_is_in_progress() {
    drains("TERM");
}

#[test]
fn ctrl_c_finishes_what_is_in_progress() {
    drains("INT");
}

#[test]
fn a_second_ctrl_c_stops_at_once_and_loses_nothing() {
    let workspace = Workspace::new();
    let mut server = workspace.start();
    let content = "The uakari blushes at every line of this. ".repeat(200_000);
    let document =
        server.publish(&json!({"source": "notes", "source_path": "long.txt", "content": content}));
    server.signal("INT");
    wait_for("the first answer", || {
        server
            .log()
            .contains("finishing what is in progress")
            .then_some(())
    });
    server.signal("INT");
    let (status, _) = server.ended();
    assert!(
        [Some(130), Some(0)].contains(&status.code()),
        "{status}: 130, or 0 if all was done by then"
    );
    let second = workspace.start();
    assert_eq!(
        second.settled(&document).get("state"),
        Some(&json!("indexed")),
        "{}",
        second.log()
    );
    second.stop();
}

#[test]
fn a_second_writer_is_told_who_holds_the_folder() {
    let workspace = Workspace::new();
    let server = workspace.start();
    let pid = server.pid().to_string();
    workspace
        .run(["run", "--listen", "127.0.0.1:0"])
        .refused(1, &["is in use by process", &pid, "hint:"]);
    assert_eq!(server.get("/health/readyz").0, 200, "the first goes on");
    let port = server.url.strip_prefix("http://").unwrap().to_owned();
    Workspace::new()
        .run(["run", "--listen", &port])
        .refused(1, &["cannot listen on", &port, "hint"]);
    server.stop();
}

#[test]
fn a_verb_waits_for_a_folder_that_is_about_to_be_free() {
    let workspace = Workspace::new();
    std::fs::create_dir_all(workspace.data()).unwrap();
    let lock = std::fs::File::create(workspace.data().join("lock")).unwrap();
    lock.lock().unwrap();
    let holder = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(1500));
        drop(lock);
    });
    let found = workspace.run(["search", "anything", "--format", "json"]);
    assert_eq!(found.code, 0, "{found:?}");
    holder.join().unwrap();
}

#[test]
fn verbs_at_once_share_a_server_until_the_last_is_done() {
    let workspace = Workspace::new();
    for (number, verb) in ["a", "b", "c"].iter().enumerate() {
        for document in 0..20 * (number + 1) {
            let text = format!("# Note {document}\n\nThe okapi {document} of {verb} hides.");
            workspace.write(&format!("{verb}/{document}.md"), text);
        }
    }
    std::thread::scope(|scope| {
        for verb in ["a", "b", "c"] {
            let workspace = &workspace;
            scope.spawn(move || {
                let run = workspace.run(["publish", verb, "--source", verb, "--wait"]);
                assert_eq!(run.code, 0, "{run:?}");
            });
        }
    });
    assert_eq!(workspace.found("okapi").len(), 10);
}

#[test]
fn the_address_of_a_server_that_was_killed_is_not_believed() {
    let workspace = Workspace::new();
    let mut server = workspace.start();
    let document = server.publish(
        &json!({"source": "notes", "source_path": "a.md", "content": "the axolotl smiles"}),
    );
    server.settled(&document);
    server.kill();
    assert!(workspace.data().join("server.json").exists());
    assert_eq!(
        workspace.found("axolotl").len(),
        1,
        "without a server the folder is opened in process"
    );
    workspace.start().stop();
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let workspace = Workspace::new();
    let mut command = workspace.command();
    command.args(["--server", "http://127.0.0.1:9", "search", "anything"]);
    finish(command, RUN_DEADLINE).refused(1, &["cannot reach the server at http://127.0.0.1:9"]);
    assert!(!workspace.data().exists());
}
