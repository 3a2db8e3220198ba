//! The real conversion process: what it does not survive costs one document, and where it cannot be
//! confined no document reaches it.

use crate::harness::Workspace;

#[test]
fn a_document_that_needs_too_much_memory_is_refused_with_the_limit() {
    let workspace = Workspace::new().with("convert.conversion_memory_bytes", "268435456");
    // Some hundreds of bytes of tree for each of these.
    let page = workspace.write(
        "large.html",
        format!("<table>{}", "<tr><td>a<td>b".repeat(700_000)),
    );
    workspace.run(["convert", &page.to_string_lossy()]).refused(
        1,
        &[
            "268435456 bytes of memory",
            "convert.conversion_memory_bytes",
        ],
    );
}

#[test]
fn a_document_converts_the_same_with_and_without_a_process_of_its_own() {
    for isolate in ["true", "false"] {
        let workspace = Workspace::new().with("convert.isolate_conversion", isolate);
        let file = workspace.write("a.md", "# 载波聚合\n\ntext\n");
        let converted = workspace.json(["convert", &file.to_string_lossy(), "--format", "json"]);
        assert_eq!(
            converted["markdown"].as_str().map(str::trim),
            Some("# 载波聚合\n\ntext"),
            "isolated: {isolate}"
        );
        assert_eq!(converted["title"], "载波聚合");
    }
}

#[test]
fn tables_may_need_larger_temporary_files_than_pictures() {
    let workspace = Workspace::new()
        .with("convert.maximum_embedded_bytes", "100000")
        .with("convert.tables.memory_bytes", "65536");
    let rows: String = (0..100_000)
        .map(|row| format!("{row},cell of row {row}\n"))
        .collect();
    let file = workspace.write("large.csv", format!("number,text\n{rows}"));
    let converted = workspace.json(["convert", &file.to_string_lossy(), "--format", "json"]);
    assert_eq!(
        converted["metadata"]["rows"], "100000",
        "{}",
        converted["metadata"]
    );
}

/// A system that lacks Landlock and seccomp.
#[cfg(target_os = "linux")]
mod unconfined {
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};
    use serde_json::{Value, json};

    use crate::harness::{Server, Workspace, finish, list, text, wait_for};

    /// The program and all that it starts meet a kernel that does not know these calls.
    fn lacking(mut command: Command) -> Command {
        let calls = [
            libc::SYS_landlock_create_ruleset,
            libc::SYS_landlock_add_rule,
            libc::SYS_landlock_restrict_self,
            libc::SYS_seccomp,
        ];
        let calls = calls.into_iter().map(|call| (call, vec![])).collect();
        let arch = TargetArch::try_from(std::env::consts::ARCH).unwrap();
        let unknown = SeccompAction::Errno(libc::ENOSYS as u32);
        let program: BpfProgram = SeccompFilter::new(calls, SeccompAction::Allow, unknown, arch)
            .unwrap()
            .try_into()
            .unwrap();
        let lack = move || {
            seccompiler::apply_filter(&program).map_err(|_| std::io::ErrorKind::Unsupported.into())
        };
        // SAFETY: two system calls on memory that is there already.
        unsafe { command.pre_exec(lack) };
        command
    }

    fn start(workspace: &Workspace) -> Server {
        let mut command = lacking(workspace.command());
        command.args(["run", "--listen", "127.0.0.1:0"]);
        Server::spawn(command, workspace.path("run.log"))
    }

    /// The check of that name in readiness or `doctor`.
    fn check(answer: &Value, name: &str) -> Value {
        list(answer, "/checks")
            .iter()
            .find(|check| text(check, "/name") == name)
            .unwrap()
            .clone()
    }

    fn metrics(server: &Server, what: &str) -> String {
        wait_for(what, || {
            server
                .get("/metrics")
                .1
                .as_str()
                .filter(|metrics| metrics.contains(what))
                .map(str::to_owned)
        })
    }

    #[test]
    fn documents_wait_and_everything_says_why() {
        let workspace = Workspace::new();
        let server = start(&workspace);
        let published = server.publish(&json!({"source": "s", "document_id": "a", "content": "# hello\n\ntext", "source_path": "a.md"}));
        let attempts =
            "tributary_stage_attempts_failed_total{kind=\"unavailable\",stage=\"ingest\"} ";
        let attempted = |metrics: &str| {
            metrics.lines().any(|line| {
                line.strip_prefix(attempts)
                    .is_some_and(|count| count != "0")
            })
        };
        wait_for("an attempt", || {
            server
                .get("/metrics")
                .1
                .as_str()
                .is_some_and(attempted)
                .then_some(())
        });
        let (status, ready) = server.get("/health/readyz");
        assert_eq!(status, 503, "{ready}");
        let conversion = check(&ready, "conversion");
        assert!(
            text(&conversion, "/detail").contains("Landlock")
                && text(&conversion, "/detail").contains("seccomp"),
            "{conversion}"
        );
        assert!(
            text(&conversion, "/hint").contains("convert.require_confinement"),
            "{conversion}"
        );
        let metrics = metrics(&server, "tributary_conversion_confined{part=\"files\"} 0");
        assert!(
            metrics.contains("{part=\"calls\"} 0") && metrics.contains("{part=\"limits\"} 1"),
            "{metrics}"
        );
        let (_, states) = server.post("/v1/documents/states", &json!({"document_ids": ["a"]}));
        assert_ne!(text(&states, "/documents/0/state"), "dead", "{states}");
        assert!(
            server.log().contains("conversion cannot be confined here"),
            "{}",
            server.log()
        );
        server.stop();
        let mut doctor = lacking(workspace.command());
        doctor.args(["doctor", "--format", "json"]);
        let doctor = finish(doctor, std::time::Duration::from_secs(60));
        let confinement = check(&doctor.json(), "confinement");
        assert_eq!(
            (doctor.code, confinement.get("ok")),
            (1, Some(&Value::Bool(false))),
            "{doctor:?}"
        );
        assert!(
            text(&confinement, "/detail").contains("Landlock"),
            "{confinement}"
        );

        let server = workspace.start();
        assert_eq!(
            text(&server.settled(&published), "/state"),
            "indexed",
            "it waited"
        );
        let conversion = check(&server.get("/health/readyz").1, "conversion");
        assert!(
            text(&conversion, "/detail").contains("confined")
                && text(&conversion, "/detail").contains("Landlock"),
            "{conversion}"
        );
        server.stop();
    }

    #[test]
    fn whoever_wants_it_converts_without_and_sees_that_it_is_so() {
        let workspace = Workspace::new().with("convert.require_confinement", "false");
        let server = start(&workspace);
        let published = server.publish(&json!({"source": "s", "document_id": "a", "content": "# hello\n\ntext", "source_path": "a.md"}));
        assert_eq!(text(&server.settled(&published), "/state"), "indexed");
        let (status, ready) = server.get("/health/readyz");
        let conversion = check(&ready, "conversion");
        assert_eq!(status, 200, "{ready}");
        assert!(
            text(&conversion, "/detail").starts_with("degraded")
                && text(&conversion, "/detail").contains("Landlock"),
            "{conversion}"
        );
        metrics(&server, "tributary_conversion_confined{part=\"files\"} 0");
        assert!(
            server.log().contains("not wholly confined"),
            "{}",
            server.log()
        );
        server.stop();
    }

    #[test]
    fn what_is_not_confined_draws_nothing() {
        let order = json!({
            "program": "/bin/true",
            "arguments": [],
            "bounds": {"memory_bytes": 1u64 << 32, "file_bytes": 1 << 20, "processor_seconds": 10, "folder": "/tmp", "readable": []},
            "require_confinement": true,
        });
        let workspace = Workspace::new();
        let order = std::fs::File::open(workspace.write("order.json", order.to_string())).unwrap();
        let mut command = lacking(workspace.command());
        let drawn = command.arg("draw-worker").stdin(order).output().unwrap();
        let said = String::from_utf8_lossy(&drawn.stderr).into_owned();
        assert!(
            !drawn.status.success()
                && said.contains("cannot be confined")
                && said.contains("Landlock"),
            "{said}"
        );
    }
}
