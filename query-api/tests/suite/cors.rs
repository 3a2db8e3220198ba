//! Pages of other origins: those of the list may call the server, with a key and without cookies.

use serde_json::json;
use tributary_query_api::config::{NetworkAccess, ServerConfig};
use tributary_store::keys::Grant;

use crate::common;
use crate::common::client::{Answer, Server};
use crate::rights::Keyed;

const LISTED: (&str, &str) = ("Origin", "https://intranet.example.com");
const CROSS: (&str, &str) = ("Sec-Fetch-Site", "cross-site");
const JSON: (&str, &str) = ("Content-Type", "application/json");

fn config() -> ServerConfig {
    ServerConfig {
        cors_origins: vec!["https://intranet.example.com".to_owned()],
        ..common::server_config()
    }
}

async fn preflight(server: &Server, origin: &str) -> Answer {
    let headers = [
        ("Origin", origin),
        CROSS,
        ("Access-Control-Request-Method", "POST"),
        (
            "Access-Control-Request-Headers",
            "authorization, content-type",
        ),
    ];
    server.send("OPTIONS", "/v1/search", &headers, b"").await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listed_origin_passes_the_preflight_and_reads_answers() {
    let server = Server::start_with_config(common::models(None), true, config()).await;
    let asked = preflight(&server, LISTED.1).await;
    assert_eq!((asked.status, asked.body.as_str()), (204, ""));
    assert_eq!(asked.header("access-control-allow-origin"), Some(LISTED.1));
    assert!(
        asked
            .header("access-control-allow-methods")
            .unwrap()
            .contains("POST")
    );
    assert!(
        asked
            .header("access-control-allow-headers")
            .unwrap()
            .contains("authorization")
    );
    assert_eq!(asked.header("access-control-allow-credentials"), None);
    assert!(asked.header("vary").unwrap().contains("Origin"));
    let body = json!({"query": "tasks"}).to_string();
    let found = server
        .send(
            "POST",
            "/v1/search",
            &[LISTED, CROSS, JSON],
            body.as_bytes(),
        )
        .await;
    assert_eq!(found.status, 200);
    assert_eq!(found.header("access-control-allow-origin"), Some(LISTED.1));
    // A refusal can be read too.
    let missing = server
        .send("GET", "/v1/documents/none", &[LISTED, CROSS], b"")
        .await;
    assert_eq!(missing.status, 404);
    assert_eq!(
        missing.header("access-control-allow-origin"),
        Some(LISTED.1)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn other_origins_are_refused_as_before() {
    let listing = Server::start_with_config(common::models(None), true, config()).await;
    let closed = Server::start().await;
    let foreign = [
        (&listing, "https://evil.example.com"),
        (&listing, "http://intranet.example.com"),
        (&listing, "https://intranet.example.com.evil.com"),
        (&listing, "null"),
        (&closed, LISTED.1),
    ];
    for (server, origin) in foreign {
        let asked = preflight(server, origin).await;
        let sent = server
            .send("GET", "/v1/facets", &[("Origin", origin)], b"")
            .await;
        for answer in [asked, sent] {
            assert_eq!(
                (answer.status, answer.code()),
                (403, "denied".to_owned()),
                "{origin}"
            );
            assert_eq!(answer.header("access-control-allow-origin"), None);
        }
    }
    let twice = [LISTED, ("Origin", "https://evil.example.com")];
    assert_eq!(
        listing.send("GET", "/v1/facets", &twice, b"").await.status,
        403
    );
    // A request of no page has nothing to do with it.
    assert_eq!(
        listing
            .get("/v1/facets")
            .await
            .header("access-control-allow-origin"),
        None
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_another_origin_needs_a_key_and_its_cookies_count_for_nothing() {
    let keyed = Keyed::start_with(ServerConfig {
        network_access: NetworkAccess::Authenticated,
        ..config()
    })
    .await;
    let (_, key) = keyed.key(vec![Grant::Reader]);
    let signed_in = keyed.send(&key, "POST", "/v1/session", None).await;
    let cookie = signed_in
        .header("set-cookie")
        .unwrap()
        .split(';')
        .next()
        .unwrap()
        .to_owned();
    let cookie = ("Cookie", cookie.as_str());
    let server = &keyed.server;
    assert_eq!(
        server
            .send("GET", "/v1/facets", &[cookie], b"")
            .await
            .status,
        200
    );
    assert_eq!(
        server
            .send("GET", "/v1/facets", &[cookie, LISTED], b"")
            .await
            .status,
        401
    );
    let shown = [("Authorization", key.as_str()), LISTED];
    assert_eq!(
        server.send("GET", "/v1/facets", &shown, b"").await.status,
        200
    );
    assert_eq!(
        preflight(server, LISTED.1).await.status,
        204,
        "before a key can be shown"
    );
}
