//! What one key may ask for in a time, as callers meet it.

use std::io::Write;
use std::net::{IpAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tributary_query_api::config::{NetworkAccess, ServerConfig};
use tributary_query_api::limits::LimitsConfig;
use tributary_schemas::audit::AuditQuery;
use tributary_store::keys::{Grant, KeyRing};

use crate::common;
use crate::common::backend::{BACKUP_TOKEN, Settings};
use crate::common::client::{Answer, Server};
use crate::rights::Keyed;

async fn limited(limits: impl FnOnce(&mut LimitsConfig)) -> Keyed {
    let mut config = ServerConfig {
        network_access: NetworkAccess::Authenticated,
        ..common::server_config()
    };
    limits(&mut config.limits);
    Keyed::start_with(config).await
}

fn seconds(answer: &Answer) -> u64 {
    answer.header("retry-after").unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_asks_too_often_is_told_which_limit_it_is_and_when_to_come_again() {
    let keyed = limited(|limits| {
        limits.requests_per_minute = 60;
        limits.request_burst = 5;
    })
    .await;
    let (id, key) = keyed.key(vec![Grant::Reader]);
    let (_, other) = keyed.key(vec![Grant::Reader]);
    let mut refused = None;
    for _ in 0..7 {
        let answer = keyed.send(&key, "GET", "/v1/facets", None).await;
        if answer.status == 429 {
            refused = Some(answer);
        }
    }
    let refused = refused.unwrap();
    assert_eq!(refused.code(), "rate_limited");
    let problem = refused.json();
    assert_eq!(
        problem["detail"],
        format!("key {id} may have 60 requests a minute")
    );
    assert!(
        problem["hint"]
            .as_str()
            .unwrap()
            .contains("query_api.server.limits.requests_per_minute")
    );
    assert!((1..=2).contains(&seconds(&refused)));
    assert_eq!(
        keyed.send(&other, "GET", "/v1/facets", None).await.status,
        200
    );
    let folder = format!("Bearer {BACKUP_TOKEN}");
    for _ in 0..20 {
        assert_eq!(
            keyed.send(&folder, "GET", "/v1/facets", None).await.status,
            200
        );
    }
    let metrics = keyed.send(&folder, "GET", "/metrics", None).await.body;
    assert!(metrics.contains("tributary_requests_shed_total{what=\"requests\"} "));
    tokio::time::sleep(Duration::from_secs(seconds(&refused))).await;
    assert_eq!(
        keyed.send(&key, "GET", "/v1/facets", None).await.status,
        200
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_of_bodies_count_both_ways() {
    for (sent, bytes) in [(true, 20_000), (false, 3000)] {
        let keyed = limited(|limits| limits.bytes_per_minute = bytes).await;
        let (_, key) = keyed.key(vec![Grant::Reader]);
        for number in 0..100 {
            let answer = match sent {
                true => {
                    let body = json!({"markdown": [" ".repeat(9000)], "query": "x"});
                    keyed.send(&key, "POST", "/v1/rendered", Some(body)).await
                }
                false => keyed.send(&key, "GET", "/v1/facets", None).await,
            };
            if answer.status == 429 {
                assert!(
                    answer.body.contains("limits.bytes_per_minute"),
                    "{answer:?}"
                );
                assert!(number > 1);
                break;
            }
            assert_eq!(answer.status, 200, "{answer:?}");
            assert!(number < 99, "no end of bytes");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_beyond_the_limit_are_refused_until_one_is_over() {
    let keyed = limited(|limits| limits.concurrent_streams = 2).await;
    let (_, key) = keyed.key(vec![Grant::Reader]);
    let headers = [("Authorization", key.as_str())];
    let open = || keyed.server.begin("GET", "/v1/events", &headers, "");
    let (first, second) = (open().await, open().await);
    assert_eq!((first.status(), second.status()), (200, 200));
    let third = open().await;
    assert_eq!(third.status(), 429);
    assert!(third.rest().await.contains("limits.concurrent_streams"));
    drop(first);
    for _ in 0..200 {
        if open().await.status() == 200 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("the place is never given back");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_keys_this_machine_has_no_limits() {
    let mut config = common::server_config();
    config.limits.requests_per_minute = 1;
    config.limits.request_burst = 1;
    config.limits.bytes_per_minute = 1;
    config.limits.concurrent_streams = 1;
    let server = Server::start_with_config(common::models(None), true, config).await;
    for _ in 0..20 {
        assert_eq!(server.get("/v1/facets").await.status, 200);
    }
}

/// An address of this machine at which its callers are strangers; nothing is sent to find it.
fn own_address() -> Option<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect("192.0.2.1:9").ok()?;
    let ip = socket.local_addr().ok()?.ip();
    (!ip.is_loopback() && !ip.is_unspecified()).then_some(ip)
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_keys_and_strangers_are_counted_by_address_and_right_keys_are_let_in() {
    let Some(ip) = own_address() else {
        let skipped = "SKIPPED: this machine has no address but loopback";
        writeln!(std::io::stderr(), "{skipped}").unwrap();
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let mut config = ServerConfig {
        network_access: NetworkAccess::Authenticated,
        host_names: Vec::new(),
        ..common::server_config()
    };
    config.limits.wrong_keys_per_minute = 3;
    config.limits.requests_per_minute = 60;
    config.limits.request_burst = 20;
    let keys = Arc::new(KeyRing::open(folder.path().to_owned(), BACKUP_TOKEN));
    let settings = Settings {
        server: config,
        keys: Some(keys),
        ..Settings::default()
    };
    let server = Server::start_at(ip, settings).await;
    let right = format!("Bearer {BACKUP_TOKEN}");
    let asked = |key: String| {
        let server = &server;
        async move {
            let headers = [("Authorization", key.as_str())];
            server.send("GET", "/v1/facets", &headers, b"").await
        }
    };
    let wrong = || "Bearer trb_wrong".to_owned();
    let mut codes = Vec::new();
    for _ in 0..5 {
        codes.push(asked(wrong()).await.code());
    }
    let (unknown, slowed) = ("unauthenticated", "rate_limited");
    assert_eq!(codes, [unknown, unknown, unknown, slowed, slowed]);
    let told = asked(wrong()).await;
    assert!(
        told.body.contains("limits.wrong_keys_per_minute"),
        "{told:?}"
    );
    assert!(seconds(&told) > 1);
    for _ in 0..30 {
        let answer = asked(right.clone()).await;
        assert_eq!(answer.status, 200, "a right key is let in");
    }
    let mut last = server.get("/health/livez").await;
    for _ in 0..30 {
        last = server.get("/health/livez").await;
    }
    assert_eq!(last.code(), "rate_limited");
    assert!(last.body.contains(&format!("address {ip}")), "{last:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn where_no_key_is_wanted_too_many_calls_leave_no_records() {
    let Some(ip) = own_address() else {
        let skipped = "SKIPPED: this machine has no address but loopback";
        writeln!(std::io::stderr(), "{skipped}").unwrap();
        return;
    };
    let mut config = ServerConfig {
        network_access: NetworkAccess::EveryoneWithoutAuthentication,
        host_names: Vec::new(),
        ..common::server_config()
    };
    config.audit.enabled = true;
    (
        config.limits.requests_per_minute,
        config.limits.request_burst,
    ) = (1, 3);
    let settings = Settings {
        server: config,
        ..Settings::default()
    };
    let server = Server::start_at(ip, settings).await;
    let mut statuses = Vec::new();
    for _ in 0..6 {
        statuses.push(server.get("/v1/facets").await.status);
    }
    assert_eq!(statuses, [200, 200, 200, 429, 429, 429]);
    let kept = Arc::clone(&server.kept);
    server.stop().await.unwrap();
    let page = kept.audit().newest(&AuditQuery::default(), 100).await;
    let recorded = page.unwrap().entries;
    let recorded: Vec<u16> = recorded.iter().map(|entry| entry.status).collect();
    assert_eq!(recorded, [200, 200, 200]);
}
