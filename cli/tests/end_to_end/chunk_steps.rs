//! Steps on chunks that are services, prompts of a knowledge set's own and what it costs, and
//! services that hang or do not answer, from the outside.

use serde_json::{Value, json};

use crate::chat_server::ChatServer;
use crate::harness::{Server, Workspace, list, number, text, wait_for};
use crate::step_server::{Behaviour, StepServer, echo};

const SETS: &str = r#"
[[knowledge_set]]
id = "cases"
name = "Cases"
view = "capability"
rules = [{ source = "wiki", path = "cases/*" }]
"#;

/// A workspace with these lines in the profile of the source `wiki`.
fn workspace(lines: &str) -> Workspace {
    let workspace = Workspace::new();
    workspace.write("step.header", "X-Team-Key: open sesame\n");
    let sets = workspace.write("sets.toml", SETS);
    let profile = format!("[[source_profile]]\nname = \"wiki\"\nsource = \"wiki\"\n{lines}\n");
    let profiles = workspace.write("profiles.toml", profile);
    workspace
        .with("taxonomy.knowledge_sets_file", sets.to_str().unwrap())
        .with("taxonomy.source_profiles_file", profiles.to_str().unwrap())
        .with("ingest.external.circuit_pause_seconds", "1")
        .with("ingest.external.retry_pause_ms", "10")
}

fn chunk_step(url: &str) -> String {
    format!(
        "chunk_steps = [{{ step = \"external\", name = \"link\", url = \"{url}\", version = \"1\", \
         header_file = \"step.header\", knowledge_sets = [\"cases\"], timeout_seconds = 20 }}]"
    )
}

fn event(path: &str) -> Value {
    let content = format!("# Relay {path}\n\nThe gharial relay answers at 555-0100.\n");
    json!({"source": "wiki", "source_path": path, "content": content, "media_type": "text/markdown"})
}

fn masked(request: &Value) -> Behaviour {
    let mut reply = echo(request);
    let changed = list(request, "/chunks").iter().map(|chunk| {
        let masked = text(chunk, "/text").replace("555-0100", "***");
        json!({"chunk_id": chunk["chunk_id"], "text": masked})
    });
    reply["chunks"] = changed.collect();
    Behaviour::Reply(reply)
}

fn found(server: &Server) -> Vec<String> {
    let (status, answer) = server.post("/v1/search", &json!({"query": "gharial relay"}));
    assert_eq!(status, 200, "{answer}");
    let hits = list(&answer, "/hits").iter();
    hits.map(|hit| text(hit, "/text").to_owned()).collect()
}

fn check(server: &Server, name: &str) -> Option<String> {
    let (_, ready) = server.get("/health/readyz");
    let found = list(&ready, "/checks")
        .iter()
        .find(|check| check["name"] == name)?;
    Some(text(found, "/detail").to_owned())
}

#[test]
fn a_step_sees_the_chunks_of_its_sets_once_and_changes_what_is_found() {
    let service = StepServer::start(|_, request| masked(request));
    let workspace = workspace(&chunk_step(&service.url));
    let server = workspace.start();
    let state = server.settled(&server.publish(&event("cases/1.md")));
    assert_eq!(text(&state, "/state"), "indexed", "{state}");
    let texts = found(&server);
    assert!(
        texts.iter().any(|text| text.contains("answers at ***")),
        "{texts:?}"
    );
    assert!(
        !texts.iter().any(|text| text.contains("555-0100")),
        "{texts:?}"
    );
    let (head, request) = service.requests().pop().unwrap();
    assert!(head.contains("x-team-key: open sesame"), "{head}");
    assert_eq!(request["knowledge_sets"], json!(["cases"]));

    let other = server.settled(&server.publish(&event("notes/2.md")));
    assert_eq!(text(&other, "/state"), "indexed", "{other}");
    let asked = [
        "knowledge-sets",
        "reindex",
        "--all",
        "--wait",
        "--format",
        "json",
    ];
    let build = workspace.json(asked);
    assert_eq!(text(&build, "/report/state"), "promoted", "{build}");
    assert_eq!(
        service.calls(),
        1,
        "of another set, and of another generation"
    );
    assert!(
        found(&server)
            .iter()
            .any(|text| text.contains("answers at ***"))
    );
    server.stop();
}

#[test]
fn what_a_step_on_chunks_does_wrong_is_the_end_of_that_document_alone() {
    let service = StepServer::start(|call, request| {
        let id = |id: &str| {
            let mut reply = echo(request);
            reply["chunks"] = json!([{"chunk_id": id, "text": "x"}]);
            Behaviour::Reply(reply)
        };
        let mut other = echo(request);
        other["document_id"] = "another".into();
        match call {
            0 => id("00000000000000000000000000000001"),
            1 => Behaviour::Reply(other),
            2 => Behaviour::Raw(
                "200 OK",
                "Content-Type: application/json\r\n",
                String::new(),
            ),
            3 => Behaviour::Raw(
                "400 Bad Request",
                "Content-Type: application/json\r\n",
                "{\"error\":\"key open sesame\"}".to_owned(),
            ),
            _ => masked(request),
        }
    });
    let workspace = workspace(&chunk_step(&service.url));
    let server = workspace.start();
    for (number, named) in [
        (0, "not of this document"),
        (1, "another document, `another`"),
        (2, "empty body"),
        (3, "answered 400: key …"),
    ] {
        let state = server.settled(&server.publish(&event(&format!("cases/{number}.md"))));
        assert_eq!(text(&state, "/state"), "dead", "{state}");
        let reason = text(&state, "/reason");
        assert!(
            reason.contains("step `link` on chunks") && reason.contains(named),
            "{reason}"
        );
        assert!(
            !reason.contains("sesame") && !reason.contains("127.0.0.1"),
            "{reason}"
        );
    }
    let state = server.settled(&server.publish(&event("cases/9.md")));
    assert_eq!(text(&state, "/state"), "indexed", "{state}");
    workspace.json(["dead-letters", "replay", "--all", "--format", "json"]);
    wait_for("the replayed documents", || {
        let (_, status) = server.get("/v1/knowledge-sets/cases/status");
        (number(&status, "/documents/indexed") == 5).then_some(())
    });
    server.stop();
}

#[test]
fn a_document_of_which_a_step_leaves_no_chunk_is_skipped_and_gone() {
    let service = StepServer::start(|call, request| {
        let mut reply = echo(request);
        let removed = list(request, "/chunks").iter();
        let removed =
            removed.map(|chunk| json!({"chunk_id": chunk["chunk_id"], "remove": call > 0}));
        reply["chunks"] = removed.filter(|chunk| chunk["remove"] == true).collect();
        Behaviour::Reply(reply)
    });
    let workspace = workspace(&chunk_step(&service.url));
    let server = workspace.start();
    let state = server.settled(&server.publish(&event("cases/1.md")));
    assert_eq!(text(&state, "/state"), "indexed", "{state}");
    let mut changed = event("cases/1.md");
    changed["content"] = "# Relay\n\nThe gharial relay is out of order.\n".into();
    let state = server.settled(&server.publish(&changed));
    assert_eq!(text(&state, "/state"), "skipped", "{state}");
    let reason = text(&state, "/reason");
    assert!(reason.contains("left none of its chunks"), "{reason}");
    wait_for("the older version to go", || {
        found(&server).is_empty().then_some(())
    });
    server.stop();
}

#[test]
fn a_deletion_does_not_wait_for_a_service_that_hangs() {
    let service = StepServer::always(Behaviour::Hang);
    let cleaner = format!(
        "cleaners = [{{ step = \"external\", name = \"mask\", url = \"{}\", version = \"1\", \
         timeout_seconds = 100, patience_seconds = 100 }}]",
        service.url
    );
    let on_documents = workspace(&cleaner);
    let on_chunks = chunk_step(&service.url).replace(
        "timeout_seconds = 20",
        "timeout_seconds = 100, patience_seconds = 100",
    );
    for workspace in [on_documents, workspace(&on_chunks)] {
        let server = workspace.start();
        let before = service.calls();
        let (id, version) = server.publish(&event("cases/1.md"));
        wait_for("the call", || (service.calls() > before).then_some(()));
        let (status, _) = server.try_delete(&format!("/v1/documents/{id}")).unwrap();
        assert!(status < 300, "{status}");
        let state = server.settled(&(id, version + 1));
        assert_eq!(text(&state, "/state"), "deleted", "{state}");
        assert_eq!(service.calls(), before + 1, "the service still hangs");
        server.stop();
    }
}

#[test]
fn a_service_that_does_not_answer_is_named() {
    let lines = "cleaners = [{ step = \"external\", name = \"mask\", url = \"http://127.0.0.1:9/\", \
                 version = \"1\", retries = 9, patience_seconds = 5 }]";
    let workspace = workspace(lines);
    let server = workspace.start();
    assert_eq!(
        check(&server, "external_steps").as_deref(),
        Some("1 known, none known to be away")
    );
    let published = server.publish(&event("cases/1.md"));
    wait_for("readiness", || {
        let detail = check(&server, "external_steps")?;
        detail.starts_with("wiki/mask failed").then_some(())
    });
    assert_eq!(server.get("/health/readyz").0, 200, "others are served");
    assert_eq!(text(&server.settled(&published), "/state"), "dead");
    let doctor = workspace.run(["doctor"]);
    assert!(
        doctor.stdout.contains("step wiki/mask cannot be reached"),
        "{doctor:?}"
    );
    server.stop();
}

/// Two sections that are too long for one chunk: one summary.
fn manual() -> String {
    let filler = |what: &str| format!("The {what} hands the carrier over. ").repeat(170);
    format!(
        "# Manual\n\n## A\n\n{}\n\n## B\n\n{}\n",
        filler("relay"),
        filler("tower")
    )
}

#[test]
fn a_set_has_prompts_of_its_own_and_knows_what_they_cost() {
    let chat = ChatServer::start();
    let workspace = chat.of(workspace(""));
    let prompt = include_str!("../../../enrich/prompts/section_summary.en.md")
        .replace(
            "name = \"section_summary\"",
            "name = \"section_summary@cases\"",
        )
        .replace(
            "You summarise sections",
            "You are the team of cases and summarise sections",
        );
    workspace.write("prompts/section_summary@cases.en.md", &prompt);
    let folder = workspace.path("prompts");
    let sets = format!("{SETS}pipeline = {{ prompts = \"cases\" }}\n");
    workspace.write("sets.toml", sets);
    let workspace = workspace.with("models.chat.prompts_folder", folder.to_str().unwrap());
    let server = workspace.start();
    let publish = |path: &str| {
        let mut event = event(path);
        event["content"] = manual().into();
        let state = server.settled(&server.publish(&event));
        assert_eq!(text(&state, "/state"), "indexed", "{state}");
        text(&state, "/lineage/chunker").to_owned()
    };
    let is_own = |body: &String| body.contains("You are the team of cases");
    let own = publish("cases/1.md");
    assert!(chat.calls() > 0 && chat.bodies().iter().all(is_own));
    let calls = chat.calls() as u64;
    let plain = publish("notes/1.md");
    assert!(chat.bodies().iter().any(|body| !is_own(body)));
    assert_ne!(own, plain, "the prompts are part of the lineage");
    let (_, status) = server.get("/v1/knowledge-sets/cases/status");
    assert_eq!(number(&status, "/cost/calls"), calls, "{status}");
    let told = workspace.run(["knowledge-sets", "status", "cases"]).stdout;
    assert!(
        told.contains(&format!("language models: {calls} calls")),
        "{told}"
    );
    server.stop();

    workspace.write(
        "sets.toml",
        SETS.to_owned() + "pipeline = { prompts = \"case\" }\n",
    );
    let named = [
        "sets.toml",
        "knowledge set cases",
        "no prompt has the variant `case`; there are: cases",
        "section_summary@case.en.md",
    ];
    workspace.run(["config", "check"]).refused(1, &named);
    workspace.write(
        "prompts/section_summary@cases.en.md",
        prompt.replace("{{ (limit_tokens", "{{ (limit"),
    );
    let named = ["section_summary@cases.en.md", "`limit` is used"];
    workspace.run(["config", "check"]).refused(1, &named);
}
