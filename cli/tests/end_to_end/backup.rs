//! `backup` and `restore` through the real binary: while documents are published, with no server,
//! and killed in the middle.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Server, Workspace, hit_texts, list, number, wait_for};

fn event(document: usize, filler: usize) -> Value {
    let content = format!(
        "# Page {document}\n\nThe kowari{document} hunts at night.\n\n{}",
        "Sand and stone and spinifex grass. ".repeat(filler)
    );
    json!({"source": "backup", "source_path": format!("{document}.md"), "content": content})
}

/// Starts on what was restored, and fails unless all documents are there once all work is done.
fn check(workspace: &Workspace, data: &Path, documents: usize) -> Server {
    let mut command = workspace.command();
    command
        .env("TRIBUTARY_DATA_DIR", data)
        .args(["run", "--listen", "127.0.0.1:0"]);
    let server = Server::spawn(command, workspace.path("restored.log"));
    let proof = wait_for("the restored folder to be at rest", || {
        let (_, proof) = server.post("/v1/documents/reconcile", &json!({}));
        (number(&proof, "/in_flight") == 0 && number(&proof, "/waiting_records") == 0)
            .then_some(proof)
    });
    assert_eq!(proof.get("ok"), Some(&Value::Bool(true)), "{proof}");
    assert!(number(&proof, "/indexed") >= documents as u64, "{proof}");
    for document in 0..documents {
        let word = format!("kowari{document}");
        let (_, answer) = server.post(
            "/v1/search",
            &json!({"query": word, "strategy": "full_text"}),
        );
        assert_eq!(
            hit_texts(&answer, &format!("{word} ")).len(),
            1,
            "{word}: {answer}"
        );
    }
    server
}

#[test]
fn a_backup_under_load_holds_everything_that_was_acknowledged_before() {
    let workspace = Workspace::new();
    let server = workspace.start();
    let (stop, acknowledged) = (AtomicBool::new(false), AtomicUsize::new(0));
    let taken = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                server.publish(&event(acknowledged.load(Ordering::Relaxed), 5));
                acknowledged.fetch_add(1, Ordering::Relaxed);
            }
        });
        let taken = ["one.tar", "two.tar.zst", "three"].map(|name| {
            let before = acknowledged.load(Ordering::Relaxed);
            wait_for("some documents", || {
                (acknowledged.load(Ordering::Relaxed) >= before + 15).then_some(())
            });
            let sure = acknowledged.load(Ordering::Relaxed);
            let report = workspace.json(["backup", name, "--format", "json"]);
            assert!(number(&report, "/bytes") > 1000, "{report}");
            assert!(!list(&report, "/not_covered").is_empty(), "{report}");
            (name, sure)
        });
        stop.store(true, Ordering::Relaxed);
        taken
    });
    assert_eq!(server.get("/health/readyz").0, 200);
    workspace
        .run(["backup", "one.tar"])
        .refused(1, &["exists already", "hint:"]);
    workspace
        .run(["restore", "one.tar"])
        .refused(1, &["in use by process"]);
    server.stop();
    workspace
        .run(["restore", "one.tar"])
        .refused(1, &["holds data already", "--force"]);
    for (name, sure) in taken {
        let data = workspace.path(&format!("restored-{name}"));
        let report = workspace.json([
            "restore",
            name,
            "--format",
            "json",
            "--data-dir",
            data.to_str().unwrap(),
        ]);
        assert!(number(&report, "/files") > 5, "{report}");
        check(&workspace, &data, sure).stop();
    }
}

#[test]
fn only_who_may_read_the_data_folder_is_given_a_backup() {
    let workspace = Workspace::new();
    let server = workspace.start();
    // From this machine, as requests through a proxy here are.
    let (status, problem) = server.post("/v1/backup", &json!({}));
    assert_eq!(
        (status, problem["code"].as_str()),
        (403, Some("denied")),
        "{problem}"
    );
    let elsewhere = workspace.path("elsewhere");
    let options = [
        "backup",
        "other.tar",
        "--server",
        &server.url,
        "--data-dir",
        elsewhere.to_str().unwrap(),
    ];
    workspace
        .run(options)
        .refused(1, &["who may read the server's data folder", "hint:"]);
    let token = workspace.data().join("backup.token");
    assert_eq!(
        std::fs::metadata(&token).unwrap().permissions().mode() & 0o777,
        0o600
    );
    workspace.json([
        "backup",
        "own.tar",
        "--server",
        &server.url,
        "--format",
        "json",
    ]);
    server.stop();
}

#[test]
fn without_a_server_a_folder_is_backed_up_and_replaced() {
    let workspace = Workspace::new();
    workspace
        .run(["backup", "nothing.tar"])
        .refused(1, &["there is no data folder"]);
    let server = workspace.start();
    let document = server.publish(&event(0, 1));
    server.settled(&document);
    server.stop();
    workspace.json(["backup", "copy.tar", "--format", "json"]);
    let server = workspace.start();
    let later = server.publish(&event(1, 1));
    server.settled(&later);
    server.stop();
    let told = workspace.run(["restore", "copy.tar", "--force"]);
    assert!(
        told.code == 0 && told.stdout.contains("documents reconcile"),
        "{told:?}"
    );
    let server = check(&workspace, &workspace.data(), 1);
    let (_, answer) = server.post(
        "/v1/search",
        &json!({"query": "kowari1", "strategy": "full_text"}),
    );
    assert!(
        hit_texts(&answer, "kowari1 ").is_empty(),
        "of after the backup: {answer}"
    );
    server.stop();
    let mut bytes = std::fs::read(workspace.path("copy.tar")).unwrap();
    // Within a file: padding between files may be anything.
    let word = bytes
        .windows(7)
        .position(|bytes| bytes == b"kowari0")
        .unwrap();
    bytes[word] ^= 0x20;
    workspace.write("copy.tar", bytes);
    workspace
        .run(["restore", "copy.tar", "--force"])
        .refused(1, &["the backup is damaged", "hint:"]);
    check(&workspace, &workspace.data(), 1).stop();
}

fn start(workspace: &Workspace, arguments: &[&str]) -> Child {
    let mut command = workspace.command();
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn kills_in_the_middle_leave_no_half_backup_and_no_half_folder() {
    let workspace = Workspace::new();
    let mut server = workspace.start();
    let documents: Vec<_> = (0..40)
        .map(|document| server.publish(&event(document, 1500)))
        .collect();
    documents
        .iter()
        .for_each(|document| drop(server.settled(document)));
    let mut whole = 0;
    for round in 0..8_u64 {
        let name = format!("killed{round}.tar");
        let mut child = start(&workspace, &["backup", &name]);
        std::thread::sleep(Duration::from_millis(round * 12));
        if round == 5 {
            server.kill();
            let status = wait_for("the backup to end", || child.try_wait().unwrap());
            assert!(!status.success() || workspace.path(&name).exists());
            server = workspace.start();
        } else {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        if workspace.path(&name).exists() {
            whole += 1;
            let data = workspace.path(&format!("whole{round}"));
            workspace.json([
                "restore",
                &name,
                "--format",
                "json",
                "--data-dir",
                data.to_str().unwrap(),
            ]);
        }
    }
    let done = wait_for("a backup once the killed ones are cleared away", || {
        let run = workspace.run(["backup", "done.tar"]);
        assert!(
            run.code == 0 || run.stderr.contains("another backup"),
            "{run:?}"
        );
        (run.code == 0).then_some(run)
    });
    assert!(done.stdout.contains("files"), "{done:?}");
    wait_for("nothing to be left in the data folder", || {
        (!workspace.data().join("backup.staging").exists()).then_some(())
    });
    server.stop();

    let data = workspace.path("target");
    let target = data.to_str().unwrap();
    let mut restored = 0;
    for round in 0..8_u64 {
        let mut child = start(
            &workspace,
            &["restore", "done.tar", "--force", "--data-dir", target],
        );
        std::thread::sleep(Duration::from_millis(round * 12));
        child.kill().unwrap();
        child.wait().unwrap();
        restored += usize::from(data.join("tributary.json").exists());
    }
    eprintln!(
        "{whole} of 8 killed backups were whole, {restored} of 8 killed restores were decided"
    );
    workspace.json([
        "restore",
        "done.tar",
        "--force",
        "--format",
        "json",
        "--data-dir",
        target,
    ]);
    check(&workspace, &data, 40).stop();
}
