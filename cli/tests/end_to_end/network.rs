//! A server on a network: HTTPS, who it is called by, and the record of who called.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use serde_json::{Value, json};

use crate::harness::{Run, Server, Workspace, finish, list, text, wait_for};

const DEADLINE: Duration = Duration::from_secs(120);

/// Writes a certificate for this machine's names that ends in a year, and its key.
fn certify(workspace: &Workspace, year: i32) {
    let key = KeyPair::generate().unwrap();
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let mut parameters = CertificateParams::new(names).unwrap();
    parameters.not_before = date_time_ymd(2020, 1, 1);
    parameters.not_after = date_time_ymd(year, 1, 1);
    let certificate = parameters.self_signed(&key).unwrap();
    workspace.write("key.pem", key.serialize_pem());
    workspace.write("certificate.pem", certificate.pem());
}

fn with_https() -> Workspace {
    let workspace = Workspace::new()
        .with("query_api.server.tls.certificate_file", "certificate.pem")
        .with("query_api.server.tls.key_file", "key.pem")
        .with("query_api.server.audit.enabled", "true");
    certify(&workspace, 2090);
    workspace
}

/// A verb of somebody else, who names the server.
fn elsewhere(workspace: &Workspace, arguments: &[&str]) -> Run {
    let mut command = workspace.command();
    let data = workspace.path("another");
    finish(
        {
            command.env("TRIBUTARY_DATA_DIR", data).args(arguments);
            command
        },
        DEADLINE,
    )
}

#[test]
fn verbs_talk_https_and_trust_whom_they_are_told() {
    let workspace = with_https();
    let server = workspace.start();
    assert!(
        server.url.starts_with("https://127.0.0.1:"),
        "{}",
        server.url
    );
    let file = workspace.write("a.md", "# Ticks\n\nA tick wakes the scheduler.\n");
    let published = workspace.run(["publish", file.to_str().unwrap(), "--wait"]);
    assert_eq!(published.code, 0, "{published:?}");
    let port = server.url.rsplit_once(':').unwrap().1;
    let url = format!("https://localhost:{port}");
    let search = ["--server", &url, "search", "ticks", "--format", "json"];
    let stranger = elsewhere(&workspace, &search);
    assert_eq!(stranger.code, 1, "{stranger:?}");
    let trusting = [&["--ca-file", "certificate.pem"], &search[..]].concat();
    let found = elsewhere(&workspace, &trusting);
    assert_eq!(found.code, 0, "{found:?}");
    assert!(!list(&found.json(), "/hits").is_empty());
    let wrong = [&["--ca-file", "a.md"], &search[..]].concat();
    elsewhere(&workspace, &wrong).refused(2, &["a.md", "certificate"]);
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    for arguments in [
        &["mcp"][..],
        &["--server", &url, "--ca-file", "certificate.pem", "mcp"],
    ] {
        let answer = told(workspace.command().args(arguments), &message);
        assert!(answer.contains("search_code"), "{arguments:?}: {answer}");
    }
    server.stop();
}

/// What a program says to one line.
fn told(command: &mut Command, line: &str) -> String {
    use std::io::Write;
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    writeln!(input, "{line}").unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn doctor_and_the_check_of_the_configuration_look_at_the_certificate() {
    let workspace = with_https();
    let certificate = || {
        let run = workspace.run(["doctor", "--format", "json"]);
        let checks = run.json();
        let checks = list(&checks, "/checks");
        let found = checks.iter().find(|check| check["name"] == "certificate");
        found.unwrap().clone()
    };
    assert!(text(&certificate(), "/detail").contains("until 2090-01-01"));
    certify(&workspace, 2021);
    let over = certificate();
    assert_eq!(over["ok"], false, "{over}");
    workspace.write("key.pem", "nothing");
    assert!(text(&certificate(), "/detail").contains("key.pem"));
    let run = workspace.run(["run", "--listen", "127.0.0.1:0"]);
    run.refused(1, &["key.pem"]);
    assert!(!run.stdout.contains("listening"), "{run:?}");
    for (key, value, told) in [
        (
            "query_api.server.tls.key_file",
            "key.pem",
            "certificate_file is not",
        ),
        (
            "query_api.server.cors_origins",
            r#"["*"]"#,
            "name origins one by one",
        ),
        ("query_api.server.limits.request_burst", "0", "at least 1"),
        (
            "query_api.server.audit.documents_per_call",
            "0",
            "between 1 and 1000",
        ),
    ] {
        let wrong = Workspace::new().with(key, value);
        wrong
            .run(["config", "check"])
            .refused(1, &[told, key.rsplit_once('.').unwrap().0]);
    }
}

#[test]
fn calls_are_listed_and_followed() {
    let workspace = Workspace::new()
        .with("query_api.server.network_access", "authenticated")
        .with("query_api.server.audit.enabled", "true");
    workspace
        .run(["audit", "list", "--follow"])
        .refused(1, &["no server runs"]);
    let server = workspace.start();
    let new = [
        "keys", "create", "--name", "读者", "--role", "reader", "--format", "json",
    ];
    let key = workspace.json(new);
    let (id, secret) = (text(&key, "/id"), text(&key, "/secret"));
    let asks = |verb: &[&str]| {
        let arguments = [&["--server", &server.url, "--key", secret], verb].concat();
        elsewhere(&workspace, &arguments)
    };
    assert_eq!(asks(&["search", "canary"]).code, 0);
    asks(&["documents", "reconcile", "--wait-seconds", "0"]).refused(1, &["administrator"]);
    let listed = |more: &[&str]| {
        let verb = ["audit", "list", "--by", id, "--format", "json"];
        workspace.json([&verb[..], more].concat())
    };
    let calls = wait_for("two calls", || {
        let found = listed(&[]);
        (list(&found, "/entries").len() == 2).then_some(found)
    });
    assert_eq!(text(&calls, "/entries/0/route"), "/v1/search");
    assert_eq!(text(&calls, "/entries/0/name"), "读者");
    assert_eq!(calls["entries"][0]["question_characters"], 6);
    assert_eq!(text(&calls, "/entries/1/code"), "denied");
    assert!(!calls.to_string().contains("canary") && !calls.to_string().contains(secret));
    assert_eq!(list(&listed(&["--status", "4xx"]), "/entries").len(), 1);
    assert_eq!(
        list(&listed(&["--status", "2xx", "--since", "1h"]), "/entries").len(),
        1
    );
    assert!(list(&listed(&["--until", "1h"]), "/entries").is_empty());
    let shown = workspace.run(["audit", "list", "--by", &format!("trb_{id}")]);
    assert!(
        shown.stdout.contains("读者") && shown.stdout.contains("403 denied"),
        "{shown:?}"
    );
    workspace
        .run(["audit", "list", "--status", "abc"])
        .refused(2, &["403 or 4xx"]);

    let mut following = workspace.command();
    following.args(["audit", "list", "--by", id, "--follow", "--format", "json"]);
    let mut following = following.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(following.stdout.take().unwrap()).lines();
    let mut next = || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    assert_eq!(text(&next(), "/route"), "/v1/search");
    assert_eq!(text(&next(), "/code"), "denied");
    assert_eq!(asks(&["documents", "list"]).code, 0);
    assert_eq!(text(&next(), "/route"), "/v1/documents");
    server.stop();
    assert!(
        following.wait().unwrap().success(),
        "it ends with the server"
    );
    // What was recorded is there after a start, and without a server too.
    assert_eq!(list(&listed(&[]), "/entries").len(), 3);
}

#[test]
fn keys_that_cross_a_network_as_they_are_are_warned_of() {
    let with_keys = || Workspace::new().with("query_api.server.network_access", "authenticated");
    let plain = "speaks no TLS";
    let workspace = with_keys();
    let server = workspace.start();
    assert!(!server.log().contains(plain), "on loopback nobody listens");
    server.stop();
    let mut command = workspace.command();
    command.args(["run", "--listen", "0.0.0.0:0"]);
    let server = Server::spawn(command, workspace.path("open.log"));
    assert!(server.log().contains(plain), "{}", server.log());
    server.stop();

    let doors = |workspace: &Workspace| {
        let doctor = workspace.run(["doctor", "--format", "json"]).json();
        let checks = list(&doctor, "/checks");
        let is_open = |check: &&Value| text(check, "/name") == "open door";
        let doors = checks.iter().filter(is_open);
        doors
            .map(|door| format!("{} {}", text(door, "/status"), text(door, "/detail")))
            .collect::<Vec<_>>()
    };
    let listening = || with_keys().with("query_api.server.listen", "0.0.0.0:7470");
    let found = doors(&listening());
    assert!(found.len() == 1 && found[0].contains(plain), "{found:?}");
    assert!(found[0].starts_with("warning"), "{found:?}");
    let workspace = listening()
        .with("query_api.server.tls.certificate_file", "certificate.pem")
        .with("query_api.server.tls.key_file", "key.pem");
    certify(&workspace, 2090);
    assert_eq!(doors(&workspace), Vec::<String>::new());
}

#[test]
fn the_doctor_says_when_what_reads_pdfs_is_missing() {
    let looked = |workspace: &Workspace| {
        let doctor = workspace.run(["doctor", "--format", "json"]).json();
        let checks = list(&doctor, "/checks");
        let mut checks = checks.iter();
        let check = checks.find(|check| text(check, "/name") == "PDF");
        let check = check.unwrap();
        (text(check, "/status").to_owned(), check.to_string())
    };
    let named = Workspace::new().with("convert.pdf.library", "/nowhere/libpdfium.so");
    let (status, told) = looked(&named);
    assert_eq!(status, "failed", "{told}");
    assert!(told.contains("/nowhere/libpdfium.so") && told.contains("deploy/models/fetch"));
    let builtin = Workspace::new().with("convert.pdf.engine", "builtin");
    assert_eq!(looked(&builtin).0, "ok");
    // Nothing is named: what the system has counts.
    let (status, told) = looked(&Workspace::new().with("models.search_folders", "[]"));
    match status.as_str() {
        "warning" => assert!(told.contains("PDFium is missing"), "{told}"),
        status => assert!(status == "ok" && told.contains("PDFium"), "{told}"),
    }
}
