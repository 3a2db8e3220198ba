//! A server that wants keys, from its first start on: verbs with and without
//! one, and keys that are made, rotated and revoked while it runs.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Run, Server, Workspace, finish, list, text, wait_for};

const DEADLINE: Duration = Duration::from_secs(120);

fn workspace() -> Workspace {
    Workspace::new().with("query_api.server.network_access", "authenticated")
}

/// The keys in a text, in their order.
fn keys_in(text: &str) -> Vec<String> {
    let words = text.split_whitespace();
    let is_key = |word: &&str| word.starts_with("trb_") && word.len() == 4 + 12 + 1 + 64;
    words.filter(is_key).map(str::to_owned).collect()
}

/// A verb of somebody else, who names the server and cannot read its data folder.
fn elsewhere(workspace: &Workspace, server: &Server, key: Option<&str>, verb: &[&str]) -> Run {
    let mut command = workspace.command();
    command
        .env("TRIBUTARY_DATA_DIR", workspace.path("another"))
        .args(["--server", &server.url])
        .args(verb);
    if let Some(key) = key {
        command.env("TRIBUTARY_KEY", key);
    }
    finish(command, DEADLINE)
}

fn made(workspace: &Workspace, roles: &[&str]) -> (String, String) {
    let mut arguments = vec!["keys", "create", "--name", "测试", "--format", "json"];
    arguments.extend(roles.iter().flat_map(|role| ["--role", role]));
    let made = workspace.json(arguments);
    (
        text(&made, "/id").to_owned(),
        text(&made, "/secret").to_owned(),
    )
}

#[test]
fn a_start_leaves_no_key_in_a_log_and_verbs_show_keys() {
    let workspace = workspace();
    let server = workspace.start();
    let log = server.log();
    assert!(keys_in(&log).is_empty(), "{log}");
    assert!(log.contains("tributary keys create"), "{log}");
    assert_eq!(server.get("/v1/conversations").0, 401);
    let (_, key) = made(&workspace, &["administrator"]);

    let search = ["search", "anything", "--format", "json"];
    let refused = elsewhere(&workspace, &server, None, &search);
    refused.refused(1, &["wants a key", "--key-file"]);
    let found = elsewhere(&workspace, &server, Some(&key), &search);
    assert_eq!(found.code, 0, "{found:?}");
    // Who reads the data folder needs none.
    assert_eq!(workspace.run(search).code, 0);

    let file = workspace.write("key.txt", format!("{key}\n"));
    let list = ["--key-file", file.to_str().unwrap(), "documents", "list"];
    let listed = elsewhere(&workspace, &server, None, &list);
    assert_eq!(listed.code, 0, "{listed:?}");
    let wrong = workspace.write("wrong.txt", "not a key");
    let wrong = ["--key-file", wrong.to_str().unwrap(), "documents", "list"];
    elsewhere(&workspace, &server, None, &wrong).refused(1, &["wrong.txt", "no key"]);
    server.stop();
}

#[test]
fn keys_are_made_rotated_and_revoked_while_a_server_runs() {
    let workspace = workspace();
    let server = workspace.start();
    let (reader, secret) = made(&workspace, &["reader"]);
    let (_, publisher) = made(&workspace, &["publisher=wiki"]);
    let list = ["documents", "list"];
    let may_list = |key: &str| elsewhere(&workspace, &server, Some(key), &list).code == 0;
    assert!(may_list(&secret) && !may_list(&publisher));

    let file = workspace.write("a.md", "# Ticks\n\nA tick wakes the scheduler.\n");
    let publish = |source: &str| {
        let file = file.to_str().unwrap();
        let verb = ["publish", file, "--source", source, "--wait"];
        elsewhere(&workspace, &server, Some(&publisher), &verb)
    };
    let done = publish("wiki");
    assert_eq!(done.code, 0, "{done:?}");
    publish("mail").refused(1, &["mail"]);

    let rotated = workspace.json([
        "keys",
        "rotate",
        &reader,
        "--overlap",
        "0m",
        "--format",
        "json",
    ]);
    let newer = text(&rotated, "/secret").to_owned();
    assert!(may_list(&newer) && !may_list(&secret));
    let revoked = workspace.run(["keys", "revoke", &reader]);
    assert_eq!(revoked.code, 0, "{revoked:?}");
    let refused = elsewhere(&workspace, &server, Some(&newer), &list);
    refused.refused(1, &["revoked"]);

    let listed = workspace.json(["keys", "list", "--format", "json"]);
    let states: Vec<&str> = list_of(&listed, "/state");
    assert_eq!(states, ["revoked", "active"]);
    let shown = workspace.run(["keys", "list"]);
    assert!(shown.stdout.contains("publisher of wiki"), "{shown:?}");
    server.stop();
    let secrets = [secret, newer, publisher];
    holds_none_of(&workspace, &secrets);
    workspace
        .run(["keys", "show", "ffffffffffff"])
        .refused(1, &["keys list"]);
    workspace
        .run(["--server", "http://127.0.0.1:1", "keys", "list"])
        .refused(1, &["server's machine"]);
}

/// The key of a reader in these groups.
fn reader_of(workspace: &Workspace, groups: &[&str]) -> String {
    let mut create = vec!["keys", "create", "--name", "r", "--role", "reader"];
    create.extend(groups.iter().flat_map(|group| ["--group", group]));
    create.extend(["--format", "json"]);
    text(&workspace.json(create), "/secret").to_owned()
}

/// Publishes the one document that most tests have for a group.
fn publish_for(server: &Server, key: &str, group: &str) {
    let zebra = json!({"content": "# Zebra\n\nA zebra crosses."});
    publish(server, key, "zebra.md", &json!({"groups": [group]}), &zebra);
}

/// Publishes a document of these fields, which these readers may see.
fn publish(server: &Server, key: &str, path: &str, access: &Value, fields: &Value) {
    let mut event = fields.clone();
    event["source"] = json!("wiki");
    event["source_path"] = json!(path);
    event["attributes"] = json!({"access": access});
    let sent = ureq::post(format!("{}/v1/documents", server.url))
        .header("authorization", format!("Bearer {key}"))
        .send_json(event);
    assert_eq!(sent.unwrap().status(), 202);
}

#[test]
fn rights_that_are_taken_away_are_gone_with_the_answer_and_over_restarts() {
    let workspace = workspace();
    let server = workspace.start();
    let (_, administrator) = made(&workspace, &["administrator"]);
    let reader = &reader_of(&workspace, &["radio"]);
    let is_found = |server: &Server| {
        let search = ["search", "zebra", "--format", "json"];
        let found = elsewhere(&workspace, server, Some(reader), &search);
        assert_eq!(found.code, 0, "{found:?}");
        found.stdout.contains("A zebra crosses")
    };
    publish_for(&server, &administrator, "radio");
    wait_for("the document", || is_found(&server).then_some(()));
    server.stop();
    // Without a stage that could take it on, a change waits as behind an import without end.
    let queries = ["--services", "query"];
    let server = workspace.start_with(&queries);
    assert!(is_found(&server));
    publish_for(&server, &administrator, "others");
    assert!(!is_found(&server));
    server.stop();
    let server = workspace.start_with(&queries);
    assert!(!is_found(&server));
    server.stop();
    let server = workspace.start();
    assert!(!is_found(&server));
    publish_for(&server, &administrator, "radio");
    wait_for("the right that was given again", || {
        is_found(&server).then_some(())
    });
    server.stop();
}

#[test]
fn readers_see_the_version_that_they_find_while_a_newer_one_waits_and_after_it_was_given_up() {
    let workspace = workspace();
    let server = workspace.start();
    let (_, administrator) = made(&workspace, &["administrator"]);
    let reader = &reader_of(&workspace, &["radio"]);
    let asked = |server: &Server, key: &str, verb: &[&str]| {
        let verb = [verb, &["--format", "json"]].concat();
        let run = elsewhere(&workspace, server, Some(key), &verb);
        (run.code == 0).then(|| run.json())
    };
    let show = ["documents", "show", "wiki/zebra.md"];
    let seen_as_first = |server: &Server| {
        let shown = asked(server, reader, &show).expect("the document is there");
        let listed = asked(server, reader, &["documents", "list"]).unwrap();
        let listed = &list(&listed, "/documents")[0];
        for told in [&shown, listed] {
            assert_eq!(text(told, "/state"), "indexed", "{told}");
            assert_eq!(text(told, "/title"), "Zebra", "{told}");
            assert_eq!(told["version"], told["searchable"]["version"], "{told}");
            assert!(
                told["reason"].is_null() && told["rights"].is_null(),
                "{told}"
            );
        }
        let original = format!("{}/v1/documents/wiki%2Fzebra.md/original", server.url);
        let original = ureq::get(original).header("authorization", format!("Bearer {reader}"));
        let original = original.call().unwrap().body_mut().read_to_string();
        assert!(original.unwrap().contains("A zebra crosses"));
    };

    publish_for(&server, &administrator, "radio");
    wait_for("the document", || {
        let shown = asked(&server, reader, &show)?;
        (text(&shown, "/state") == "indexed").then_some(())
    });
    server.stop();
    let server = workspace.start_with(&["--services", "query"]);
    let broken = json!({"title": "Quagga", "content_base64": "JVBERi0xLjQgYnJva2Vu"});
    let radio = json!({"groups": ["radio"]});
    publish(&server, &administrator, "zebra.md", &radio, &broken);
    seen_as_first(&server);
    let (_, stranger) = made(&workspace, &["reader"]);
    assert_eq!(asked(&server, &stranger, &show), None);
    server.stop();

    let server = workspace.start();
    wait_for("the broken version to be given up", || {
        let shown = asked(&server, &administrator, &show)?;
        (text(&shown, "/state") == "dead").then_some(())
    });
    seen_as_first(&server);
    assert_eq!(asked(&server, &stranger, &show), None);
    server.stop();
    let server = workspace.start();
    seen_as_first(&server);
    let found = ["documents", "list", "--title", "quagga"];
    let listed = asked(&server, reader, &found).unwrap();
    assert_eq!(listed["total"], 0, "{listed}");
    server.stop();
}

/// What waits with narrower rights is kept out of the queries, not only out of what leaves: else it
/// takes places, and the number of hits tells which words it has.
#[test]
fn what_is_withheld_takes_no_places_among_the_hits() {
    let workspace = workspace();
    let server = workspace.start();
    let (_, administrator) = made(&workspace, &["administrator"]);
    let (_, reader) = &made(&workspace, &["reader"]);
    let sections = |count: usize, text: &str| {
        let section = |number: usize| format!("## Part {number}\n\n{}\n", text.repeat(20));
        json!({"content": (0..count).map(section).collect::<String>()})
    };
    let seen = sections(30, "The common word stands among many others here. ");
    let secret = sections(200, "A common quuxinc word, common and common again. ");
    let everybody = json!({});
    publish(&server, &administrator, "seen.md", &everybody, &seen);
    publish(&server, &administrator, "secret.md", &everybody, &secret);
    let found = |server: &Server, query: &str| {
        let search = ["search", query, "--format", "json", "-k", "80"];
        let found = elsewhere(&workspace, server, Some(reader), &search);
        assert_eq!(found.code, 0, "{found:?}");
        let found = found.json();
        let hits = list(&found, "/hits").iter();
        let hits = hits.map(|hit| {
            (
                text(hit, "/source_path").to_owned(),
                text(hit, "/chunk_id").to_owned(),
            )
        });
        hits.collect::<BTreeSet<_>>()
    };
    let both = wait_for("both documents", || {
        let hits = found(&server, "common word");
        (hits.len() == 80).then_some(hits)
    });
    let of_secret = both.iter().filter(|(path, _)| path == "secret.md").count();
    assert!(of_secret > 60, "{both:?}");
    server.stop();

    let server = workspace.start_with(&["--services", "query"]);
    let board = json!({"groups": ["board"]});
    publish(&server, &administrator, "secret.md", &board, &secret);
    let left = found(&server, "common word");
    assert!(left.len() >= 25, "{left:?}");
    assert!(left.iter().all(|(path, _)| path == "seen.md"), "{left:?}");
    assert_eq!(
        found(&server, "common quuxinc"),
        found(&server, "common nowhere")
    );
    server.stop();
}

fn list_of<'a>(listed: &'a Value, pointer: &str) -> Vec<&'a str> {
    let keys = list(listed, "/keys").iter();
    keys.map(|key| text(key, pointer)).collect()
}

/// Neither what the server wrote nor what it logged has a key in it.
fn holds_none_of(workspace: &Workspace, secrets: &[String]) {
    let mut folders = vec![workspace.data()];
    let mut files = vec![workspace.path("run.log")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => files.push(path),
            }
        }
    }
    for file in files {
        let bytes = std::fs::read(&file).unwrap();
        for secret in secrets {
            let random = secret.rsplit('_').next().unwrap().as_bytes();
            let is_there = bytes.windows(random.len()).any(|part| part == random);
            assert!(!is_there, "{} has a key", file.display());
        }
    }
}

#[test]
fn on_loopback_nothing_is_asked_for_and_the_start_says_so() {
    let workspace = Workspace::new();
    let server = workspace.start();
    assert!(server.log().contains("no key is asked for"));
    assert_eq!(server.get("/v1/conversations").0, 200);
    assert!(!workspace.data().join("keys.json").exists());
    server.stop();
}
