//! The door of a server that wants keys: every route lets in whom the table in `docs/rights.md`
//! names and nobody else, and what a key may do ends with its sources, its sets and its owner.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tributary_query_api::config::{NetworkAccess, ServerConfig};
use tributary_store::keys::{Grant, KeyFile, KeyRing, NewKey, Role};

use crate::common;
use crate::common::backend::{BACKUP_TOKEN, Settings};
use crate::common::client::{Answer, Server};

const JSON: (&str, &str) = ("Content-Type", "application/json");
pub const NOW: i64 = 1_764_000_000_000;
const TABLE: &str = include_str!("../../../docs/rights.md");
/// The same for two requests, so that their answers can be compared byte by byte.
const TRACE: (&str, &str) = (
    "traceparent",
    "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
);

/// A server that wants keys, and where they lie.
pub struct Keyed {
    pub server: Server,
    pub file: KeyFile,
    _folder: tempfile::TempDir,
}

impl Keyed {
    pub async fn start() -> Self {
        Self::start_with(ServerConfig {
            network_access: NetworkAccess::Authenticated,
            ..common::server_config()
        })
        .await
    }

    pub async fn start_with(server: ServerConfig) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let settings = Settings {
            server,
            keys: Some(Arc::new(KeyRing::open(
                folder.path().to_owned(),
                BACKUP_TOKEN,
            ))),
            ..Settings::default()
        };
        Self {
            server: Server::start_with_settings(common::models(None), settings).await,
            file: KeyFile::in_folder(folder.path()),
            _folder: folder,
        }
    }

    /// Id and value of `Authorization`.
    fn key(&self, roles: Vec<Grant>) -> (String, String) {
        self.key_until(roles, None)
    }

    fn key_until(&self, roles: Vec<Grant>, expires_ms: Option<i64>) -> (String, String) {
        let new = NewKey {
            name: "test".to_owned(),
            roles,
            groups: Vec::new(),
            clearance: 0,
            expires_ms,
        };
        let (key, secret) = self.file.create(new, NOW).unwrap();
        (key.id, format!("Bearer {}", secret.reveal()))
    }

    pub async fn send(&self, key: &str, method: &str, path: &str, body: Option<Value>) -> Answer {
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        let headers = [("Authorization", key), JSON, TRACE];
        self.server
            .send(method, path, &headers, body.as_bytes())
            .await
    }
}

fn publisher(source: &str) -> Vec<Grant> {
    vec![Grant::Publisher {
        sources: vec![source.to_owned()],
    }]
}

fn builder(set: &str) -> Vec<Grant> {
    vec![Grant::Builder {
        knowledge_sets: Some(vec![set.to_owned()]),
    }]
}

/// Rows of the table: method, path, who.
fn rows() -> Vec<(String, String, String)> {
    let cells = |line: &str| -> Option<(String, String, String)> {
        let mut cells = line.strip_prefix("| ")?.split(" | ");
        let method = cells.next()?;
        let path = cells.next()?.trim_matches('`');
        let who = cells.next()?.trim_end_matches(" |");
        let is_row = path.starts_with('/') && method.chars().all(|sign| sign.is_ascii_uppercase());
        is_row.then(|| (method.to_owned(), path.to_owned(), who.to_owned()))
    };
    TABLE.lines().filter_map(cells).collect()
}

/// Status and, of a refusal, the body. The head is enough of what is let in: some streams have no
/// end.
async fn asked(server: &Server, method: &str, path: &str, key: Option<&str>) -> (u16, String) {
    let mut request = format!(
        "{method} {path} HTTP/1.1\r\nConnection: close\r\nHost: {}\r\nContent-Length: 0\r\n",
        server.address
    );
    if let Some(key) = key {
        request.push_str(&format!("Authorization: {key}\r\n"));
    }
    request.push_str("\r\n");
    let address = server.address;
    let exchange = move || {
        let mut stream = TcpStream::connect(address).unwrap();
        let patience = Some(Duration::from_secs(60));
        stream.set_read_timeout(patience).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() == 1 {
            head.extend(byte);
        }
        let head = String::from_utf8(head).unwrap();
        let status: u16 = head.split(' ').nth(1).unwrap().parse().unwrap();
        let mut body = String::new();
        if matches!(status, 401 | 403) {
            assert!(
                status != 401 || head.contains("www-authenticate: Bearer"),
                "{head}"
            );
            stream.read_to_string(&mut body).unwrap();
        }
        (status, body)
    };
    tokio::task::spawn_blocking(exchange).await.unwrap()
}

/// Refused by the door: what a handler refuses for a source or a set has other words.
fn is_refused(status: u16, body: &str) -> bool {
    status == 401 || (status == 403 && body.contains("\"this needs a key with the role"))
}

/// The code of a refusal, in whichever form the route has.
fn code_of(body: &str) -> String {
    let body: Value = serde_json::from_str(body).unwrap();
    let codes = [&body["code"], &body["error"]["code"], &body["error_code"]];
    let code = codes.into_iter().find(|code| !code.is_null());
    match code.unwrap() {
        Value::String(code) => code.clone(),
        number => number.to_string(),
    }
}

#[test]
fn the_table_has_every_operation_of_the_description_once() {
    let mut described = Vec::new();
    let description = tributary_query_api::openapi::description();
    for (path, methods) in description["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let is_open = operation["security"] == json!([]);
            described.push((method.to_uppercase(), path.clone(), is_open));
        }
    }
    described.push(("GET".to_owned(), "/page/{path}".to_owned(), true));
    let mut listed: Vec<(String, String, bool)> = rows()
        .into_iter()
        .map(|(method, path, who)| (method, path, who == "everybody"))
        .collect();
    described.sort();
    listed.sort();
    assert_eq!(listed, described);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_lets_in_whom_the_table_names() {
    let keyed = Keyed::start().await;
    let server = &keyed.server;
    let roles = [
        (Role::Reader, vec![Grant::Reader]),
        (Role::Publisher, publisher("wiki")),
        (Role::Builder, builder("radio")),
        (Role::Administrator, vec![Grant::Administrator]),
    ];
    let keys: Vec<(Role, String)> = roles
        .into_iter()
        .map(|(role, grants)| (role, keyed.key(grants).1))
        .collect();
    let everything = || vec![Grant::Administrator];
    let (_, expired) = keyed.key_until(everything(), Some(NOW + 1));
    let (revoked_id, revoked) = keyed.key(everything());
    keyed.file.revoke(&revoked_id, NOW).unwrap();
    let mut wrong = keys[3].1.clone();
    wrong.replace_range(wrong.len() - 4.., "zzzz");
    let nobodies = [
        (None, "unauthenticated"),
        (Some(""), "unauthenticated"),
        (Some("Bearer "), "unauthenticated"),
        (Some("Basic dXNlcjpwYXNz"), "unauthenticated"),
        (Some(wrong.as_str()), "unauthenticated"),
        (Some(expired.as_str()), "key_expired"),
        (Some(revoked.as_str()), "key_revoked"),
    ];
    let mut counts = BTreeMap::<&str, usize>::new();
    for (method, path, who) in rows() {
        let address = path
            .replace("{id}", "x")
            .replace("{turn}", "t")
            .replace("{user}", "u")
            .replace("{number}", "1")
            .replace("{path}", "main.js");
        for (key, code) in nobodies {
            let (status, body) = asked(server, &method, &address, key).await;
            let place = format!("{method} {path} with {key:?}: {status} {body}");
            if who == "everybody" {
                assert!(!is_refused(status, &body), "{place}");
            } else {
                let code = if path == "/retrieval" { "1002" } else { code };
                assert_eq!((status, &*code_of(&body)), (401, code), "{place}");
            }
            *counts.entry("without a key").or_default() += 1;
        }
        for (role, key) in &keys {
            let (status, body) = asked(server, &method, &address, Some(key)).await;
            let is_named = who.split(", ").any(|name| name == role.as_str());
            let is_let_in = matches!(&*who, "everybody" | "any key")
                || is_named
                || *role == Role::Administrator;
            assert_eq!(
                !is_refused(status, &body),
                is_let_in,
                "{method} {path} as {role:?}: {status} {body}"
            );
            *counts.entry("with a key").or_default() += 1;
        }
    }
    assert!(counts["with a key"] > 250, "{counts:?}");
    for (method, path) in [("GET", "/nowhere"), ("PATCH", "/v1/search"), ("GET", "/v1")] {
        let (status, _) = asked(server, method, path, None).await;
        assert_eq!(status, 401, "{method} {path}");
        let (status, _) = asked(server, method, path, Some(&keys[0].1)).await;
        assert!(matches!(status, 404 | 405), "{method} {path}: {status}");
    }
}

#[test]
fn no_route_is_registered_past_the_door() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
    let mut folders = vec![std::path::PathBuf::from(folder)];
    let mut looked_at = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|name| name == "rs")
                && !path.ends_with("http/rights.rs")
            {
                let text = std::fs::read_to_string(&path).unwrap();
                for past in [
                    "web::get()",
                    "web::post()",
                    "web::put()",
                    "web::patch()",
                    "web::delete()",
                    "web::route()",
                    "web::to(",
                    "web::method(",
                ] {
                    assert!(!text.contains(past), "{} has {past}", path.display());
                }
                looked_at += 1;
            }
        }
    }
    assert!(looked_at > 50);
}

#[tokio::test(flavor = "multi_thread")]
async fn publishers_write_under_their_sources_only() {
    let keyed = Keyed::start().await;
    let (_, wiki) = keyed.key(publisher("wiki"));
    let (_, mail) = keyed.key(publisher("mail"));
    let publish = async |key: &str, body: Value| {
        let answer = keyed.send(key, "POST", "/v1/documents", Some(body)).await;
        (answer.status, answer.json())
    };
    let own = json!({"source": "wiki", "source_path": "a.md", "content": "text"});
    let (status, accepted) = publish(&wiki, own.clone()).await;
    assert_eq!(status, 202, "{accepted}");
    let id = accepted["document_id"].as_str().unwrap().to_owned();
    let mut named = own.clone();
    named["document_id"] = json!(id);
    assert_eq!(publish(&wiki, named).await.0, 202);
    let refused = [
        json!({"source": "mail", "source_path": "a.md", "content": "text"}),
        json!({"source": "wiki2", "source_path": "a.md", "content": "text"}),
        json!({"source": "wiki", "document_id": "manual/scheduler", "content": "text"}),
        json!({"source": "wiki", "document_id": "manual/scheduler", "source_path": "a.md", "content": "text"}),
        json!({"source": "wiki", "source_path": "b.md", "content_url": "blob:0123"}),
    ];
    for body in refused {
        let (status, problem) = publish(&wiki, body.clone()).await;
        assert_eq!(
            (status, &problem["code"]),
            (403, &json!("denied")),
            "{body}"
        );
    }
    let gone = keyed
        .send(&mail, "DELETE", "/v1/documents/no-such-document", None)
        .await;
    let foreign = keyed
        .send(&mail, "DELETE", &format!("/v1/documents/{id}"), None)
        .await;
    assert_eq!((gone.status, foreign.status), (404, 404));
    assert_eq!(
        gone.body.replace("no-such-document", &id),
        foreign.body,
        "not there and not yours are the same"
    );
    let states = |key: String| {
        let body = json!({"document_ids": [id]});
        let keyed = &keyed;
        async move {
            let answer = keyed
                .send(&key, "POST", "/v1/documents/states", Some(body))
                .await;
            answer.json()["documents"][0].clone()
        }
    };
    assert_eq!(states(mail.clone()).await, Value::Null);
    assert_eq!(states(wiki.clone()).await["document_id"], json!(id));
    for (path, status) in [
        ("/v1/documents", 403),
        ("/v1/documents?source=wiki", 403),
        ("/v1/documents?source=mail", 200),
    ] {
        assert_eq!(keyed.send(&mail, "GET", path, None).await.status, status);
    }
    let deleted = keyed
        .send(&wiki, "DELETE", &format!("/v1/documents/{id}"), None)
        .await;
    assert_eq!(deleted.status, 202, "{deleted:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn idempotency_keys_of_others_are_not_seen() {
    let keyed = Keyed::start().await;
    let publish = async |source: &str, key: &str| {
        let body = json!({"source": source, "source_path": "a.md", "content": "text"}).to_string();
        let headers = [("Authorization", key), JSON, ("Idempotency-Key", "same")];
        let server = &keyed.server;
        let answer = server
            .send("POST", "/v1/documents", &headers, body.as_bytes())
            .await;
        (answer.status, answer.json()["document_id"].clone())
    };
    let (_, wiki) = keyed.key(publisher("wiki"));
    let (_, mail) = keyed.key(publisher("mail"));
    let (first, second) = (publish("wiki", &wiki).await, publish("mail", &mail).await);
    assert_eq!((first.0, second.0), (202, 202));
    assert_ne!(first.1, second.1);
    assert_eq!(publish("wiki", &wiki).await, first);
}

#[tokio::test(flavor = "multi_thread")]
async fn conversations_of_others_are_not_there_word_for_word() {
    let keyed = Keyed::start().await;
    let (_, anna) = keyed.key(vec![Grant::Reader]);
    let (_, bert) = keyed.key(vec![Grant::Reader]);
    let (_, chief) = keyed.key(vec![Grant::Administrator]);
    let before = keyed.server.kept.conversations.create(None, "before keys");
    let before = before.await.unwrap().id;
    let made = keyed
        .send(
            &anna,
            "POST",
            "/v1/conversations",
            Some(json!({"title": "mine"})),
        )
        .await;
    assert_eq!(made.status, 201, "{made:?}");
    let id = made.json()["id"].as_str().unwrap().to_owned();
    let missing: String = id
        .chars()
        .map(|sign| if sign == 'a' { 'b' } else { 'a' })
        .collect();
    let calls = [
        ("GET", "", None),
        ("PATCH", "", Some(json!({"title": "stolen"}))),
        ("GET", "/turns", None),
        ("POST", "/clear", None),
        ("GET", "/export", None),
        ("PUT", "/turns/t/feedback", Some(json!({"helpful": true}))),
        ("DELETE", "/turns/t/feedback", None),
        ("DELETE", "", None),
    ];
    for foreign in [&id, &before] {
        for (method, rest, body) in &calls {
            let path = |id: &str| format!("/v1/conversations/{id}{rest}");
            let theirs = keyed
                .send(&bert, method, &path(foreign), body.clone())
                .await;
            let nobodys = keyed
                .send(&bert, method, &path(&missing), body.clone())
                .await;
            assert_eq!(theirs.status, 404, "{method} {rest}: {theirs:?}");
            assert_eq!(
                theirs.body.replace(foreign.as_str(), "ID"),
                nobodys.body.replace(&missing, "ID"),
                "{method} {rest}"
            );
        }
    }
    let listed = async |key: &str| {
        let page = keyed
            .send(key, "GET", "/v1/conversations", None)
            .await
            .json();
        let list = page["conversations"].as_array().unwrap().clone();
        let ids = list
            .iter()
            .map(|one| one["id"].as_str().unwrap().to_owned());
        ids.collect::<Vec<String>>()
    };
    assert_eq!(listed(&anna).await, [id]);
    assert_eq!(listed(&bert).await, Vec::<String>::new());
    assert_eq!(
        listed(&chief).await,
        [before],
        "what was asked before there were keys is the administrators'"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn builders_change_their_sets_only() {
    let keyed = Keyed::start().await;
    let (_, radio) = keyed.key(builder("radio"));
    let (_, all) = keyed.key(vec![Grant::Builder {
        knowledge_sets: None,
    }]);
    let sets = keyed.send(&radio, "GET", "/v1/knowledge-sets", None).await;
    let sets = sets.json();
    let renamed = |id: &str| {
        let mut sets = sets.clone();
        let list = sets["knowledge_sets"].as_array_mut().unwrap();
        let set = list.iter_mut().find(|set| set["id"] == id).unwrap();
        set["name"] = json!("another name");
        sets
    };
    let apply = async |key: &str, body: Value| {
        let answer = keyed
            .send(key, "PUT", "/v1/knowledge-sets", Some(body))
            .await;
        answer.status
    };
    assert_eq!(apply(&radio, renamed("common")).await, 403);
    assert_eq!(apply(&radio, json!({"knowledge_sets": []})).await, 403);
    assert_eq!(apply(&radio, sets.clone()).await, 200, "nothing changes");
    assert_eq!(apply(&radio, renamed("radio")).await, 200);
    let reindex = async |key: &str, path: &str, body: Option<Value>| {
        keyed.send(key, "POST", path, body).await.status
    };
    let own = "/v1/knowledge-sets/radio/reindex";
    assert_eq!(reindex(&radio, own, None).await, 202);
    let foreign = "/v1/knowledge-sets/common/reindex";
    assert_eq!(reindex(&radio, foreign, None).await, 403);
    let everything = Some(json!({"knowledge_sets": []}));
    assert_eq!(
        reindex(&radio, "/v1/reindex", everything.clone()).await,
        403
    );
    assert_eq!(reindex(&radio, "/v1/reindex/rollback", None).await, 403);
    assert_eq!(reindex(&all, "/v1/reindex", everything).await, 202);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revocation_holds_from_the_next_request_on_for_keys_and_sessions() {
    let keyed = Keyed::start().await;
    let (id, key) = keyed.key(vec![Grant::Reader]);
    let begun = keyed.send(&key, "POST", "/v1/session", None).await;
    assert_eq!(begun.json()["key"], json!(id));
    let cookie = begun.header("set-cookie").unwrap();
    assert!(
        cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"),
        "{cookie}"
    );
    assert!(!cookie.contains(&id), "the cookie is not the key: {cookie}");
    let cookie = cookie.split(';').next().unwrap().to_owned();
    let by_cookie = async |cookie: &str| {
        let headers = [("Cookie", cookie)];
        let server = &keyed.server;
        server.send("GET", "/v1/facets", &headers, b"").await.status
    };
    assert_eq!(by_cookie(&cookie).await, 200);
    assert_eq!(by_cookie(&format!("{cookie}; {cookie}")).await, 401);
    assert_eq!(by_cookie(&cookie.replace('=', "=0")).await, 401);
    // A header counts, not the cookie beside it.
    let both = [("Cookie", cookie.as_str()), ("Authorization", "Bearer no")];
    let server = &keyed.server;
    assert_eq!(
        server.send("GET", "/v1/facets", &both, b"").await.status,
        401
    );
    keyed.file.revoke(&id, NOW).unwrap();
    assert_eq!(by_cookie(&cookie).await, 401);
    assert_eq!(
        keyed.send(&key, "GET", "/v1/facets", None).await.status,
        401
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_ends_when_the_page_signs_out() {
    let keyed = Keyed::start().await;
    let (_, key) = keyed.key(vec![Grant::Reader]);
    let begun = keyed.send(&key, "POST", "/v1/session", None).await;
    let cookie = begun
        .header("set-cookie")
        .unwrap()
        .split(';')
        .next()
        .unwrap();
    let headers = [("Cookie", cookie)];
    let call = async |method: &str, path: &str| {
        let server = &keyed.server;
        server.send(method, path, &headers, b"").await.status
    };
    assert_eq!(call("GET", "/v1/session").await, 200);
    // A cookie alone begins no other session: it would never end.
    assert_eq!(call("POST", "/v1/session").await, 401);
    assert_eq!(call("DELETE", "/v1/session").await, 204);
    assert_eq!(call("GET", "/v1/session").await, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_readable_keys_nobody_is_let_in_but_who_reads_the_data_folder() {
    let keyed = Keyed::start().await;
    let folder = format!("Bearer {BACKUP_TOKEN}");
    let call = async |key: &str| keyed.send(key, "GET", "/v1/facets", None).await.status;
    assert_eq!(call(&folder).await, 200);
    let (_, key) = keyed.key(vec![Grant::Reader]);
    assert_eq!(call(&key).await, 200);
    std::fs::write(keyed.file.path(), "{").unwrap();
    assert_eq!((call(&key).await, call(&folder).await), (503, 200));
}

#[tokio::test(flavor = "multi_thread")]
async fn health_is_open_and_says_no_more_than_that() {
    let keyed = Keyed::start().await;
    let open = keyed.server.get("/health/readyz").await;
    assert_eq!(
        (open.status, open.json()),
        (200, json!({"ready": true, "checks": []}))
    );
    let (_, chief) = keyed.key(vec![Grant::Administrator]);
    let told = keyed.send(&chief, "GET", "/health/readyz", None).await;
    assert_eq!(told.json()["checks"][0]["name"], json!("index"));
    let open_metrics = Keyed::start_with(ServerConfig {
        network_access: NetworkAccess::Authenticated,
        open_metrics: true,
        ..common::server_config()
    })
    .await;
    assert_eq!(open_metrics.server.get("/metrics").await.status, 200);
    assert_eq!(open_metrics.server.get("/version").await.status, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn where_no_key_is_wanted_any_is_ignored() {
    let server = Server::start().await;
    for key in ["Bearer any-key", "Basic x", ""] {
        let headers = [("Authorization", key)];
        let answer = server.send("GET", "/v1/session", &headers, b"").await;
        assert_eq!(answer.json()["wants_keys"], json!(false));
        let begun = server.send("POST", "/v1/session", &headers, b"").await;
        assert_eq!((begun.status, begun.header("set-cookie")), (200, None));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_wants_keys_does_not_start_without_any_place_for_them() {
    let config = ServerConfig {
        network_access: NetworkAccess::Authenticated,
        ..common::server_config()
    };
    let operations = common::backend::operations(true);
    let error = tributary_query_api::Operations::new(operations, config).err();
    assert_eq!(error.unwrap().kind(), tributary_schemas::ErrorKind::Denied);
}
