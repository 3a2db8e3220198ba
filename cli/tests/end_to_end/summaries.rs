//! Summaries by a language model from the outside: what is paid, what is not paid twice, and what
//! becomes of documents while the model is away or slow.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::chat_server::ChatServer;
use crate::harness::{Server, Workspace, list, number, text, wait_for};

/// Two parts of two sections each: three summaries.
fn manual(word: &str) -> String {
    let filler =
        |what: &str| format!("The {what} hands the carrier over to the next cell. ").repeat(140);
    let part = |number: usize| {
        format!(
            "## Part {number}\n\n### Section {number}.1\n\n{word}{number} begins. {}\n\n### Section {number}.2\n\n{}\n\n",
            filler("relay"),
            filler("tower")
        )
    };
    format!("# Manual {word}\n\nOf relays.\n\n{}{}", part(1), part(2))
}

fn event(path: &str, content: &str) -> Value {
    json!({"source": "manuals", "source_path": path, "content": content, "media_type": "text/markdown"})
}

fn indexed(server: &Server, path: &str, content: &str) -> Value {
    let state = server.settled(&server.publish(&event(path, content)));
    assert_eq!(text(&state, "/state"), "indexed", "{state}");
    state
}

fn summaries(server: &Server) -> Vec<String> {
    let body = json!({"query": "Parrotword relay", "top_k": 50});
    let (status, answer) = server.post("/v1/search", &body);
    assert_eq!(status, 200, "{answer}");
    let hits = list(&answer, "/hits").iter();
    let texts = hits.map(|hit| text(hit, "/text").to_owned());
    texts.filter(|text| text.contains("Parrotword")).collect()
}

fn degraded(workspace: &Workspace) -> u64 {
    let listed = workspace.json(["documents", "list", "--degraded", "--format", "json"]);
    number(&listed, "/total")
}

fn reindex(workspace: &Workspace, arguments: &[&str]) -> Value {
    workspace.json(
        [
            &["knowledge-sets", "reindex", "--format", "json"],
            arguments,
        ]
        .concat(),
    )
}

#[test]
fn no_summary_is_paid_twice() {
    let chat = ChatServer::start();
    let workspace = chat.of(Workspace::new());
    let mut server = workspace.start();
    let content = manual("quoll");
    indexed(&server, "a.md", &content);
    assert_eq!(chat.calls(), 3);
    assert!(
        chat.bodies()[0].contains("Manual quoll › Part"),
        "titles lead to it"
    );
    assert!(!summaries(&server).is_empty(), "they can be found");

    let again = server.settled(&server.publish(&event("a.md", &content)));
    assert_eq!(text(&again, "/state"), "skipped");
    server.kill();
    let server = workspace.start();
    let build = reindex(&workspace, &["--all", "--wait"]);
    assert_eq!(text(&build, "/report/state"), "promoted", "{build}");
    indexed(
        &server,
        "copy.md",
        &format!("{content}\nOne more word at the end.\n"),
    );
    // Of the copy only what holds the new word: its last part and the whole.
    assert_eq!(chat.calls(), 5);
    server.stop();
}

#[test]
fn a_model_that_is_configured_later_is_a_changed_recipe() {
    let chat = ChatServer::start();
    let without = Workspace::new();
    let server = without.start();
    indexed(&server, "a.md", &manual("numbat"));
    server.stop();

    let workspace = chat.of(without);
    let server = workspace.start();
    indexed(&server, "b.md", &manual("bilby"));
    assert_eq!(chat.calls(), 0, "the generation was made without a model");
    let outdated = &reindex(&workspace, &["--status"])["outdated"];
    assert_eq!(*outdated, json!(["summaries", "descriptions"]));
    let build = reindex(&workspace, &["--all", "--wait"]);
    assert_eq!(text(&build, "/report/state"), "promoted", "{build}");
    assert_eq!(chat.calls(), 6);
    assert!(!summaries(&server).is_empty());
    assert_eq!(reindex(&workspace, &["--status"])["outdated"], json!([]));
    server.stop();
}

#[test]
fn what_a_model_that_was_away_owes_is_made_up_for() {
    let chat = ChatServer::start();
    let workspace = chat.of(Workspace::new());
    let server = workspace.start();
    chat.set_away(true);
    let report = indexed(&server, "a.md", &manual("quoll"));
    assert_eq!(
        report["lineage"]["degraded"],
        json!(["summary"]),
        "{report}"
    );
    indexed(&server, "b.md", &manual("numbat"));
    indexed(&server, "short.md", "# Short\n\nNeeds no model.\n");
    assert_eq!(degraded(&workspace), 2);

    let refused = workspace.run(["documents", "repair", "--degraded"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stdout.contains("0 of 2"), "{refused:?}");
    assert_eq!(degraded(&workspace), 2);

    let file = workspace.write("c.md", manual("bilby"));
    let file = file.to_str().unwrap();
    let published = workspace.run(["publish", file, "--source", "manuals", "--wait"]);
    for part in [
        "degraded 1: summary",
        "repair --degraded",
        "1 indexed, 1 of them degraded",
    ] {
        assert!(published.stdout.contains(part), "{part}: {published:?}");
    }
    let listed = workspace.run(["documents", "list", "--degraded"]).stdout;
    assert_eq!(listed.matches("(degraded: summary)").count(), 3, "{listed}");

    chat.set_away(false);
    let repaired = workspace.run(["documents", "repair", "--degraded"]);
    assert_eq!(
        repaired.code, 0,
        "at once, whatever was given up: {repaired:?}"
    );
    wait_for("no document to be degraded", || {
        (degraded(&workspace) == 0).then_some(())
    });
    wait_for("the summaries to be searchable", || {
        (!summaries(&server).is_empty()).then_some(())
    });
    let nothing = workspace.json(["documents", "repair", "--degraded", "--format", "json"]);
    assert_eq!(number(&nothing, "/documents"), 0);
    let proof = workspace.json(["documents", "reconcile", "--format", "json"]);
    assert_eq!(proof["ok"], true, "{proof}");
    server.stop();
}

#[test]
fn documents_that_need_no_model_do_not_wait_for_one() {
    let chat = ChatServer::start();
    let workspace = chat.of(Workspace::new());
    let server = workspace.start();
    chat.set_delay(Duration::from_secs(5));
    let started = Instant::now();
    let waiting: Vec<_> = (0..12)
        .map(|number| {
            server.publish(&event(
                &format!("long{number}.md"),
                &manual(&format!("w{number}")),
            ))
        })
        .collect();
    let short = server.publish(&event("short.md", "# Short\n\nNeeds no model.\n"));
    server.settled(&short);
    let (_, answer) = server.post(
        "/v1/documents/states",
        &json!({"document_ids": [waiting[0].0]}),
    );
    assert_eq!(
        text(&answer, "/documents/0/state"),
        "chunking",
        "the short one came by after {:?}",
        started.elapsed()
    );
    chat.set_delay(Duration::ZERO);
    for document in &waiting {
        assert_eq!(text(&server.settled(document), "/state"), "indexed");
    }
    server.stop();
}

/// `TRIBUTARY_KILLS=50 cargo test --release -p tributary-cli --test end_to_end -- calls_in_flight
/// --nocapture` runs the full figure.
#[test]
fn a_kill_costs_no_more_than_the_calls_in_flight() {
    const SUMMARIES: usize = 3;
    const PARALLEL: usize = 8;
    let kills = std::env::var("TRIBUTARY_KILLS").ok();
    let kills: usize = kills.map_or(4, |kills| kills.parse().unwrap());
    let chat = ChatServer::start();
    let workspace = chat.of(Workspace::new());
    chat.set_delay(Duration::from_millis(60));
    let mut server = workspace.start();
    let mut published = Vec::new();
    for round in 0..kills {
        for number in 0..4 {
            let name = format!("r{round}n{number}");
            published.push(server.publish(&event(&format!("{name}.md"), &manual(&name))));
        }
        // Another moment in every round.
        std::thread::sleep(Duration::from_millis(40 + (round as u64 * 53) % 400));
        server.kill();
        server = workspace.start();
    }
    for document in &published {
        assert_eq!(text(&server.settled(document), "/state"), "indexed");
    }
    let needed = published.len() * SUMMARIES;
    // Those that are asked, and as many replies that are being kept while the next are asked.
    let (calls, allowed) = (chat.calls(), needed + kills * 2 * PARALLEL);
    eprintln!("{kills} kills: {calls} calls for {needed} summaries");
    assert!(
        (needed..=allowed).contains(&calls),
        "{calls} calls for {needed}"
    );
    let proof = workspace.json(["documents", "reconcile", "--format", "json"]);
    assert_eq!(proof["ok"], true, "{proof}");
    assert_eq!(number(&proof, "/searchable"), published.len() as u64);
    assert_eq!(degraded(&workspace), 0);
    server.stop();
}

/// A long document whose summaries take longer than any test.
fn waiting(server: &Server, chat: &ChatServer) -> (String, u64) {
    chat.set_delay(Duration::from_secs(3600));
    let document = server.publish(&event("long.md", &manual("quoll")));
    wait_for("the model to be asked", || {
        let (_, answer) = server.post(
            "/v1/documents/states",
            &json!({"document_ids": [document.0]}),
        );
        // Null until it is known at all.
        (answer["documents"][0]["state"] == "chunking").then_some(())
    });
    document
}

#[test]
fn a_newer_version_and_a_deletion_do_not_wait_for_the_model_of_an_older_one() {
    let chat = ChatServer::start();
    let workspace = chat
        .of(Workspace::new())
        .with("enrich.summaries.patience_seconds", "3600");
    let server = workspace.start();
    let (id, _) = waiting(&server, &chat);
    let short = server.publish(&event("long.md", "# Short now\n\nNeeds no model.\n"));
    assert_eq!(text(&server.settled(&short), "/state"), "indexed");
    let (other, _) = {
        let event = event("other.md", &manual("numbat"));
        server.publish(&event)
    };
    let (status, answer) = server
        .try_delete(&format!("/v1/documents/{other}"))
        .unwrap();
    assert_eq!(status, 202, "{answer}");
    let deleted = (other, number(&answer, "/version"));
    assert_eq!(text(&server.settled(&deleted), "/state"), "deleted");
    assert_ne!(id, deleted.0);
    server.stop();
}

#[test]
fn a_stop_does_not_wait_for_a_model() {
    let chat = ChatServer::start();
    let workspace = chat
        .of(Workspace::new())
        .with("enrich.summaries.patience_seconds", "3600");
    let mut server = workspace.start();
    let document = waiting(&server, &chat);
    // The state says `chunking` a moment before the model is asked.
    wait_for("readiness to say who waits for the model", || {
        let (_, ready) = server.get("/health/readyz");
        let mut checks = list(&ready, "/checks").iter();
        let model = checks.find(|check| text(check, "/name") == "chat")?;
        text(model, "/detail")
            .contains("1 document waiting for what it writes")
            .then_some(())
    });
    server.signal("TERM");
    let (status, _) = server.ended();
    assert!(status.success(), "{status}");
    let log = server.log();
    assert!(!log.contains("stopped before all records"), "{log}");
    chat.set_delay(Duration::ZERO);
    let server = workspace.start();
    assert_eq!(text(&server.settled(&document), "/state"), "indexed");
    server.stop();
}

#[test]
fn a_repair_without_a_model_says_what_is_missing() {
    let workspace = Workspace::new();
    let server = workspace.start();
    workspace
        .run(["documents", "repair", "--degraded"])
        .refused(1, &["no model is configured", "models.chat.endpoint"]);
    workspace
        .run(["documents", "repair"])
        .refused(2, &["--degraded"]);
    server.stop();
}

const BOOKS: &str = r#"
[[knowledge_set]]
id = "books"
name = "Books"
view = "capability"
rules = [{ source = "manuals" }]
pipeline = { summaries = "model" }
"#;

#[test]
fn a_profile_does_without_summaries_until_a_set_wants_a_models() {
    let chat = ChatServer::start();
    let workspace = chat.of(Workspace::new());
    let profile =
        "[[source_profile]]\nname = \"manuals\"\nsource = \"manuals\"\nsummaries = \"none\"\n";
    let file = workspace.write("profiles.toml", profile);
    let sets = workspace.write("sets.toml", BOOKS);
    let workspace = workspace.with("taxonomy.source_profiles_file", file.to_str().unwrap());
    let server = workspace.start();
    let state = indexed(&server, "a.md", &manual("quoll"));
    assert_eq!(chat.calls(), 0);
    assert!(!has_summary(&server), "{state}");

    let sets = sets.to_str().unwrap();
    workspace.json(["knowledge-sets", "apply", sets, "--format", "json"]);
    let status = reindex(&workspace, &["--status"]);
    let outdated = list(&status, "/outdated");
    assert!(outdated.contains(&json!("summaries of books")), "{status}");
    let build = reindex(&workspace, &["--all", "--wait"]);
    assert_eq!(text(&build, "/report/state"), "promoted", "{build}");
    assert_eq!(chat.calls(), 3, "the set's word goes before the profile's");
    assert!(has_summary(&server) && !summaries(&server).is_empty());
}

/// Whether any chunk that is found stands for a section.
fn has_summary(server: &Server) -> bool {
    let body = json!({"query": "relay carrier tower Manual quoll Part", "top_k": 50});
    let (status, answer) = server.post("/v1/search", &body);
    assert_eq!(status, 200, "{answer}");
    assert!(!list(&answer, "/hits").is_empty(), "{answer}");
    let mut hits = list(&answer, "/hits").iter();
    hits.any(|hit| text(hit, "/kind") == "summary")
}
