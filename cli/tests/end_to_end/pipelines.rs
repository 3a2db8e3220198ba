//! Cleaning steps that are services, from the outside: what hangs holds nobody else, what failed can
//! be replayed, what did not change costs no call; and how knowledge sets are watched meanwhile.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Server, Workspace, list, number, skip, text, wait_for};
use crate::step_server::{Behaviour, StepServer, echo};

const SETS: &str = r#"
[[knowledge_set]]
id = "wiki"
name = "Wiki"
view = "capability"
rules = [{ source = "wiki" }]
owner = "platform team"
alarm = { failures = 10 }

[[knowledge_set]]
id = "notes"
name = "Notes"
view = "capability"
rules = [{ source = "notes", path = "**" }]
"#;

/// A workspace whose source `wiki` goes through the service.
fn workspace(url: &str, version: &str) -> Workspace {
    let workspace = Workspace::new();
    let (workspace, sets) = (write_profile(workspace, url, version), SETS);
    let sets = workspace.write("sets.toml", sets);
    workspace
        .with("taxonomy.knowledge_sets_file", sets.to_str().unwrap())
        .with("ingest.external.circuit_pause_seconds", "1")
        .with("ingest.external.retry_pause_ms", "10")
}

fn write_profile(workspace: Workspace, url: &str, version: &str) -> Workspace {
    workspace.write("step.key", "open sesame\n");
    let profile = format!(
        "[[source_profile]]\nname = \"wiki\"\nsource = \"wiki\"\ncleaners = [{{ step = \"external\", \
         name = \"mask\", url = \"{url}\", version = \"{version}\", key_file = \"step.key\", \
         timeout_seconds = 2, patience_seconds = 4, waiting = 5 }}]\n"
    );
    let file = workspace.write("profiles.toml", profile);
    workspace.with("taxonomy.source_profiles_file", file.to_str().unwrap())
}

fn event(source: &str, path: &str) -> Value {
    let content = format!("# Relay {path}\n\nThe gharial relay answers at 555-0100.\n");
    json!({"source": source, "source_path": path, "content": content, "media_type": "text/markdown"})
}

fn masked(request: &Value) -> Behaviour {
    let mut reply = echo(request);
    let markdown = request["markdown"].as_str().unwrap();
    reply["markdown"] = markdown.replace("555-0100", "***").into();
    Behaviour::Reply(reply)
}

fn found(server: &Server, query: &str) -> Vec<String> {
    let (status, answer) = server.post("/v1/search", &json!({"query": query, "top_k": 50}));
    assert_eq!(status, 200, "{answer}");
    let hits = list(&answer, "/hits").iter();
    hits.map(|hit| text(hit, "/text").to_owned()).collect()
}

#[test]
fn a_service_that_hangs_holds_no_document_of_another_source() {
    let service = StepServer::always(Behaviour::Hang);
    let workspace = workspace(&service.url, "1");
    let server = workspace.start();
    let hung: Vec<_> = (0..30)
        .map(|number| server.publish(&event("wiki", &format!("{number}.md"))))
        .collect();
    let started = Instant::now();
    let note = server.settled(&server.publish(&event("notes", "a.md")));
    assert_eq!(text(&note, "/state"), "indexed", "{note}");
    assert!(
        started.elapsed() < Duration::from_secs(5),
        "{:?}",
        started.elapsed()
    );

    for published in &hung {
        let state = server.settled(published);
        assert_eq!(text(&state, "/state"), "dead", "{state}");
        let reason = text(&state, "/reason");
        assert!(reason.contains("external step `mask`"), "{reason}");
        assert!(!reason.contains("127.0.0.1"), "{reason}");
    }
    let (_, status) = server.get("/v1/knowledge-sets/wiki/status");
    assert_eq!(text(&status, "/state"), "alarm", "{status}");
    assert_eq!(text(&status, "/owner"), "platform team");
    assert_eq!(status["alarms"], json!(["failures"]));
    assert_eq!(number(&status, "/documents/failed"), 30);
    assert_eq!(list(&status, "/documents/failures").len(), 5);
    let metrics = String::from_utf8(server.bytes("/metrics")).unwrap();
    for part in [
        "tributary_external_step_calls_total{outcome=\"deadline\",step=\"wiki/mask\"}",
        "tributary_external_step_circuit_open{step=\"wiki/mask\"}",
        "tributary_set_documents{set=\"wiki\",state=\"failed\"}",
        "tributary_set_alarm{reason=\"lag\",set=\"wiki\"}",
    ] {
        assert!(metrics.contains(part), "{part} in {metrics}");
    }

    service.answer(|_, request| masked(request));
    workspace.json(["dead-letters", "replay", "--all", "--format", "json"]);
    let status = wait_for("all documents of the set", || {
        let (_, status) = server.get("/v1/knowledge-sets/wiki/status");
        (number(&status, "/documents/indexed") == 30).then_some(status)
    });
    assert_eq!(text(&status, "/state"), "ready", "{status}");
    assert!(
        found(&server, "gharial relay")
            .iter()
            .any(|text| text.contains("***"))
    );
    let (head, _) = service.requests().pop().unwrap();
    assert!(head.contains("authorization: bearer open sesame"), "{head}");

    let told = workspace.run(["knowledge-sets", "status"]).stdout;
    for part in [
        "wiki: ready, owner platform team",
        "30 documents: 30 searchable",
        "notes: ready",
    ] {
        assert!(told.contains(part), "{part} in {told}");
    }
    workspace
        .run(["knowledge-sets", "status", "wikis"])
        .refused(1, &["no knowledge set `wikis`", "did you mean `wiki`"]);
}

#[test]
fn what_did_not_change_costs_no_call_and_another_version_does() {
    let service = StepServer::start(|_, request| masked(request));
    let workspace = workspace(&service.url, "1");
    let server = workspace.start();
    let publish = |server: &Server| {
        let state = server.settled(&server.publish(&event("wiki", "a.md")));
        text(&state, "/state").to_owned()
    };
    assert_eq!(publish(&server), "indexed");
    assert_eq!(publish(&server), "skipped");
    assert_eq!(service.calls(), 1);
    server.stop();

    let workspace = write_profile(workspace, &service.url, "2");
    let server = workspace.start();
    assert_eq!(publish(&server), "indexed");
    assert_eq!(publish(&server), "skipped");
    assert_eq!(service.calls(), 2);
}

#[test]
fn room_for_one_text_and_one_converter_are_enough_for_all() {
    let service = StepServer::start(|_, request| {
        std::thread::sleep(Duration::from_millis(100));
        masked(request)
    });
    let workspace = workspace(&service.url, "1")
        .with("ingest.external.waiting_bytes", "1024")
        .with("convert.conversion_workers", "1");
    let server = workspace.start();
    let published: Vec<_> = (0..6)
        .map(|number| server.publish(&event("wiki", &format!("{number}.md"))))
        .collect();
    for one in &published {
        assert_eq!(text(&server.settled(one), "/state"), "indexed");
    }
    server.stop();
}

#[test]
fn a_wrong_step_is_refused_with_its_place_and_a_hint() {
    let workspace = workspace("ftp://somewhere/", "1");
    workspace.run(["config", "check"]).refused(
        1,
        &[
            "profiles.toml: line 4: source profile wiki: cleaning step external `mask`",
            "scheme `ftp`",
            "http://127.0.0.1",
        ],
    );
}

/// The example of the documentation, as it stands there.
struct Example(Child);

impl Drop for Example {
    fn drop(&mut self) {
        let killed = self.0.kill();
        killed.and_then(|()| self.0.wait()).unwrap();
    }
}

impl Example {
    fn start(workspace: &Workspace, port: u16) -> Option<Self> {
        let page = include_str!("../../../docs/pipelines.md");
        let (_, rest) = page.split_once("```python\n").unwrap();
        let (code, _) = rest.split_once("```").unwrap();
        let file = workspace.write("clean.py", code);
        let started = Command::new("python3")
            .arg(file)
            .arg(port.to_string())
            .stderr(Stdio::null())
            .spawn();
        let example = Self(started.ok()?);
        wait_for("the example", || {
            std::net::TcpStream::connect(("127.0.0.1", port)).ok()
        });
        Some(example)
    }
}

fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

#[test]
fn the_example_of_the_documentation_masks_numbers_in_a_preview() {
    let port = free_port();
    let workspace = workspace(&format!("http://127.0.0.1:{port}/clean"), "1");
    workspace.write("pages/a.md", "# Relay\n\nCall 555-0100.\n");
    let preview = || {
        workspace
            .run(["profiles", "preview", "pages", "--source", "wiki"])
            .stdout
    };
    let without = preview();
    assert!(
        without.contains("external step `mask` cannot be reached"),
        "{without}"
    );
    assert!(without.contains("555-0100"), "shown as it is: {without}");

    let Some(_example) = Example::start(&workspace, port) else {
        skip("python3 is not there");
        return;
    };
    let with = preview();
    assert!(
        with.contains("external:   mask changes text, tags"),
        "{with}"
    );
    assert!(
        with.contains("Call ***.") && with.contains("masked"),
        "{with}"
    );
}
