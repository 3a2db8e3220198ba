//! Every route lets in whom the table in `docs/rights.md` names and nobody else.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tributary_query_api::config::{NetworkAccess, ServerConfig};
use tributary_store::keys::{Grant, Role};

use super::{Keyed, NOW, builder, publisher};
use crate::common;
use crate::common::backend::BACKUP_TOKEN;
use crate::common::client::Server;

const TABLE: &str = include_str!("../../../../docs/rights.md");

/// Rows of the table: method, path, who.
pub(crate) fn rows() -> Vec<(String, String, String)> {
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
    let headers: Vec<(&str, &str)> = key.iter().map(|key| ("Authorization", *key)).collect();
    let answer = server.begin(method, path, &headers, "").await;
    let status = answer.status();
    if status == 401 {
        let challenge = answer.header("www-authenticate");
        assert!(challenge.starts_with("Bearer"), "{challenge}");
    }
    let body = match status {
        401 | 403 => answer.rest().await,
        _ => String::new(),
    };
    (status, body)
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
    // For browsers.
    for path in [
        "/page/{path}",
        "/sign-in",
        "/sign-in/ways",
        "/sign-in/callback",
    ] {
        described.push(("GET".to_owned(), path.to_owned(), true));
    }
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
    wrong.truncate(wrong.len() - 4);
    wrong.push_str("zzzz");
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
