//! A proxy is believed by its address, and nobody else is.

use serde_json::json;
use tributary_query_api::config::ServerConfig;
use tributary_store::keys::Grant;

use super::config;
use crate::common::client::Answer;
use crate::rights::Keyed;

fn trusting(addresses: &[&str]) -> ServerConfig {
    let mut config = config();
    let proxy = &mut config.identity.proxy;
    proxy.addresses = addresses.iter().map(|one| (*one).to_owned()).collect();
    proxy.user_header = "X-Forwarded-User".to_owned();
    proxy.groups_header = "X-Forwarded-Groups".to_owned();
    proxy.roles_header = "X-Forwarded-Groups".to_owned();
    proxy.clearance_header = "X-Forwarded-Clearance".to_owned();
    config
}

const ALICE: [(&str, &str); 3] = [
    ("X-Forwarded-User", "alice"),
    ("X-Forwarded-Groups", "kb-readers, 无线"),
    ("X-Forwarded-Clearance", "3"),
];

async fn session(keyed: &Keyed, headers: &[(&str, &str)]) -> Answer {
    keyed.server.send("GET", "/v1/session", headers, b"").await
}

#[tokio::test(flavor = "multi_thread")]
async fn whom_a_trusted_proxy_names_has_the_roles_and_groups_that_it_says() {
    let keyed = Keyed::start_with(trusting(&["127.0.0.0/8"])).await;
    assert_eq!(
        session(&keyed, &ALICE).await.json(),
        json!({"wants_keys": true, "key": "proxy:alice", "roles": [{"role": "reader"}],
               "groups": ["kb-readers", "无线"], "clearance": 3})
    );
    let nobody = session(&keyed, &ALICE[..1]).await.json();
    assert_eq!(
        (&nobody["roles"], &nobody["clearance"]),
        (&json!([]), &json!(0))
    );
    let begun = keyed.server.send("POST", "/v1/session", &ALICE, b"").await;
    assert_eq!((begun.status, begun.header("set-cookie")), (200, None));
    let (id, key) = keyed.key(vec![Grant::Reader]);
    let by_key = session(&keyed, &[("Authorization", &key)]).await;
    assert_eq!(
        by_key.json()["key"],
        json!(id),
        "the proxy lets keys through"
    );
    let both = [&ALICE[..], &[("Authorization", key.as_str())]].concat();
    assert_eq!(
        session(&keyed, &both).await.json()["key"],
        json!("proxy:alice")
    );
    let twice = [&ALICE[..], &[("X-Forwarded-User", "chief")]].concat();
    let refused = session(&keyed, &twice).await;
    assert_eq!(
        (refused.status, refused.code().as_str()),
        (401, "unauthenticated")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_headers_of_others_are_not_looked_at() {
    let keyed = Keyed::start_with(trusting(&["10.0.0.8", "192.168.0.0/16"])).await;
    let forwarded = [
        &ALICE[..],
        &[
            ("X-Forwarded-For", "10.0.0.8"),
            ("Forwarded", "for=10.0.0.8"),
            ("X-Real-IP", "10.0.0.8"),
        ],
    ]
    .concat();
    for headers in [&ALICE[..], &forwarded] {
        let refused = session(&keyed, headers).await;
        assert_eq!(
            (refused.status, refused.code().as_str()),
            (401, "unauthenticated")
        );
    }
    let (id, key) = keyed.key(vec![Grant::Reader]);
    let twice = [&ALICE[..], &ALICE[..], &[("Authorization", key.as_str())]].concat();
    assert_eq!(session(&keyed, &twice).await.json()["key"], json!(id));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listed_page_is_nobody_whom_the_proxy_knows_by_its_own_cookie() {
    let mut config = trusting(&["127.0.0.0/8"]);
    config.cors_origins = vec!["https://intranet.example.com".to_owned()];
    let keyed = Keyed::start_with(config).await;
    let page = ("Origin", "https://intranet.example.com");
    let by_page = session(&keyed, &[&ALICE[..], &[page]].concat()).await;
    assert_eq!(
        (by_page.status, by_page.code().as_str()),
        (401, "unauthenticated")
    );
    let (id, key) = keyed.key(vec![Grant::Reader]);
    let with_key = [&ALICE[..], &[page, ("Authorization", key.as_str())]].concat();
    assert_eq!(session(&keyed, &with_key).await.json()["key"], json!(id));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_does_not_start_with_a_proxy_of_any_address() {
    for addresses in [&["0.0.0.0/0"][..], &["proxy.example.com"], &[]] {
        let operations = crate::common::backend::operations(true);
        let folder = tempfile::tempdir().unwrap();
        let ring = tributary_store::keys::KeyRing::open(folder.path().to_owned(), "token");
        let parts = tributary_query_api::OperationsParts {
            keys: Some(std::sync::Arc::new(ring)),
            ..operations
        };
        let error = tributary_query_api::Operations::new(parts, trusting(addresses)).err();
        assert_eq!(error.unwrap().kind(), tributary_schemas::ErrorKind::Invalid);
    }
}
