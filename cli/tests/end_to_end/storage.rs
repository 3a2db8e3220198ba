//! Folders that cannot be used: of a newer build, read-only, on a full disk. Nothing is lost, and
//! what is wrong is said.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::harness::{RUN_DEADLINE, Server, Workspace, finish, list, number, skip, text, wait_for};

#[test]
fn a_folder_of_a_newer_build_is_left_alone() {
    let workspace = Workspace::new();
    let identity = r#"{"format": 99, "id": "0123456789abcdef0123456789abcdef"}"#;
    workspace.write("data/tributary.json", identity);
    for verb in [
        vec!["run", "--listen", "127.0.0.1:0"],
        vec!["search", "x"],
        vec!["publish", "data/tributary.json"],
    ] {
        workspace.run(verb).refused(1, &["has format 99", "hint:"]);
    }
    assert_eq!(
        fs::read_to_string(workspace.path("data/tributary.json")).unwrap(),
        identity
    );
    assert!(!workspace.path("data/log").exists());
    workspace.write("data/tributary.json", "{broken");
    workspace
        .run(["search", "x"])
        .refused(1, &["tributary.json is damaged"]);
    let doctor = workspace.run(["doctor", "--format", "json"]);
    assert_eq!(
        (doctor.code, doctor.json().get("ok")),
        (1, Some(&Value::Bool(false))),
        "{doctor:?}"
    );
}

/// Whether this user may make a mount namespace of its own.
fn may_mount() -> bool {
    let mut tried = Command::new("unshare");
    tried
        .args(["-Urm", "sh", "-c", "mount -t tmpfs none /mnt"])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    tried.status().is_ok_and(|status| status.success())
}

/// The binary inside a mount namespace where `mount` was run first.
fn in_namespace(workspace: &Workspace, mount: &str, arguments: &str) -> Command {
    let script = format!("{mount} && exec \"$0\" {arguments}");
    let mut command = Command::new("unshare");
    command.args(["-Urm", "sh", "-c", &script, env!("CARGO_BIN_EXE_tributary")]);
    workspace.prepare(command)
}

#[test]
fn a_read_only_folder_is_named() {
    if !may_mount() {
        return skip("no mount namespaces here, so no read-only data folder");
    }
    let workspace = Workspace::new();
    workspace.write("docs/a.md", "the bandicoot digs");
    workspace.json(["publish", "docs", "--wait", "--format", "json"]);
    let read_only = "mount --bind data data && mount -o remount,ro,bind data";
    for verb in [
        "run --listen 127.0.0.1:0",
        "publish docs",
        "search bandicoot",
    ] {
        let run = finish(in_namespace(&workspace, read_only, verb), RUN_DEADLINE);
        run.refused(1, &[workspace.data().to_str().unwrap()]);
        assert!(run.stderr.to_lowercase().contains("read-only"), "{run:?}");
    }
    assert_eq!(
        workspace.found("bandicoot").len(),
        1,
        "nothing happened to it"
    );
}

/// Publishes until the disk is full: what was acknowledged, and the first problem.
fn fill(server: &Server) -> (Vec<(String, u64)>, Value) {
    let mut accepted = Vec::new();
    for number in 0..400 {
        let word = format!("numbered{number}");
        let content = format!(
            "# Page {number}\n\n{}",
            format!("The dibbler {word} keeps everything it finds. ").repeat(400)
        );
        let event =
            json!({"source": "full", "source_path": format!("{number}.md"), "content": content});
        match server.try_post("/v1/documents", &event) {
            Ok((202, answer)) => {
                accepted.push((text(&answer, "/document_id").to_owned(), number_of(&answer)))
            }
            Ok((_, problem)) => return (accepted, problem),
            Err(error) => panic!("the server is gone: {error}: {}", server.log()),
        }
    }
    panic!("the disk never was full");
}

fn number_of(answer: &Value) -> u64 {
    number(answer, "/version")
}

/// The signal of that limit would end the process.
#[test]
#[cfg(target_os = "linux")]
fn a_limit_of_file_sizes_is_named_and_work_goes_on_once_it_is_raised() {
    let workspace = Workspace::new().with("store.worker.backoff_maximum_ms", "500");
    let mut command = workspace.prepare(Command::new("sh"));
    // Blocks of 512 bytes; the soft limit alone, so that it can be raised.
    let limited = "ulimit -S -f 512; exec \"$@\"";
    command.args([
        "-c",
        limited,
        "sh",
        env!("CARGO_BIN_EXE_tributary"),
        "run",
        "--listen",
        "127.0.0.1:0",
    ]);
    let server = Server::spawn(command, workspace.path("run.log"));
    let (accepted, problem) = fill(&server);
    assert!(
        !accepted.is_empty() && problem.to_string().contains("large"),
        "{problem}: {}",
        server.log()
    );
    let raised = Command::new("prlimit")
        .args(["--fsize=unlimited", "--pid", &server.pid().to_string()])
        .status();
    if !raised.is_ok_and(|status| status.success()) {
        return skip("no prlimit here to raise the limit of a process");
    }
    for document in &accepted {
        assert_eq!(
            text(&server.settled(document), "/state"),
            "indexed",
            "{}",
            server.log()
        );
    }
    let later = server.publish(
        &json!({"source": "limit", "source_path": "later.md", "content": "the mulgara came later"}),
    );
    assert_eq!(text(&server.settled(&later), "/state"), "indexed");
    server.stop();
}

#[test]
fn a_server_with_too_few_file_handles_does_not_start() {
    let workspace = Workspace::new();
    let mut command = workspace.prepare(Command::new("sh"));
    let binary = env!("CARGO_BIN_EXE_tributary");
    command.args(["-c", "ulimit -n 64; exec \"$@\"", "sh", binary]);
    let refused = command.args(["run", "--listen", "127.0.0.1:0"]).output();
    let refused = refused.unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success(), "{said}");
    assert!(
        said.contains("64 file handles") && said.contains("ulimit -n"),
        "{said}"
    );
}

#[test]
fn a_full_disk_is_named_and_work_goes_on_once_there_is_room() {
    if !may_mount() {
        return skip("no mount namespaces here, so no disk to fill");
    }
    let workspace = Workspace::new()
        .with("store.event_log.embedded.segment_bytes", "262144")
        .with("store.worker.backoff_maximum_ms", "500")
        .with("store.minimum_free_bytes", "1048576");
    fs::create_dir(workspace.data()).unwrap();
    let command = in_namespace(
        &workspace,
        "mount -t tmpfs -o size=6m none data",
        "run --listen 127.0.0.1:0",
    );
    let server = Server::spawn(command, workspace.path("run.log"));
    let (accepted, problem) = fill(&server);
    assert!(!accepted.is_empty(), "{problem}: {}", server.log());
    let said = problem.to_string().to_lowercase();
    assert!(said.contains("space") || said.contains("full"), "{problem}");
    assert_eq!(server.get("/health/livez").0, 200);
    let (status, ready) = server.get("/health/readyz");
    let folder = list(&ready, "/checks")
        .iter()
        .find(|check| text(check, "/name") == "data_folder")
        .unwrap();
    assert_eq!(
        (status, folder.get("ok")),
        (503, Some(&Value::Bool(false))),
        "{ready}"
    );

    let inside = Command::new("nsenter")
        .args([
            "-U",
            "-m",
            "--preserve-credentials",
            "-t",
            &server.pid().to_string(),
        ])
        .args(["mount", "-o", "remount,size=200m"])
        .arg(workspace.data())
        .output();
    if !inside.as_ref().is_ok_and(|output| output.status.success()) {
        return skip(&format!("the disk cannot grow here: {inside:?}"));
    }
    let proof = wait_for("work to go on", || {
        let (_, proof) = server.post("/v1/documents/reconcile", &json!({}));
        (proof.get("ok") == Some(&Value::Bool(true)) && number(&proof, "/in_flight") == 0)
            .then_some(proof)
    });
    assert!(
        number(&proof, "/indexed") >= accepted.len() as u64,
        "{proof}"
    );
    for document in &accepted {
        assert_eq!(
            text(&server.settled(document), "/state"),
            "indexed",
            "{}",
            server.log()
        );
    }
    wait_for("readiness", || {
        (server.get("/health/readyz").0 == 200).then_some(())
    });
    let later = server.publish(
        &json!({"source": "full", "source_path": "later.md", "content": "the mulgara came later"}),
    );
    assert_eq!(text(&server.settled(&later), "/state"), "indexed");
    assert!(!server.log().contains("panicked"), "{}", server.log());
}
