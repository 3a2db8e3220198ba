//! What a server does that has not heard for long what others say of rights.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tributary_query_api::config::{NetworkAccess, ServerConfig};
use tributary_schemas::{Newer, NewestRights, SharedNewestRights, Viewer};
use tributary_store::keys::Grant;

use super::{Keyed, publisher};
use crate::common;

/// Has heard everything up to so many seconds ago.
struct Heard(Arc<AtomicU64>);

impl NewestRights for Heard {
    fn beside(&self, _: &str, _: u64) -> Newer {
        Newer::Nothing
    }

    fn withheld(&self, _: &Viewer) -> Vec<String> {
        Vec::new()
    }

    fn is_any_on_the_way(&self) -> bool {
        false
    }

    fn age(&self) -> Duration {
        Duration::from_secs(self.0.load(Ordering::Relaxed))
    }
}

async fn started(rights_valid_seconds: u64) -> (Keyed, Arc<AtomicU64>) {
    let config = ServerConfig {
        network_access: NetworkAccess::Authenticated,
        rights_valid_seconds,
        ..common::server_config()
    };
    let seconds = Arc::new(AtomicU64::new(0));
    let heard = SharedNewestRights::new(Arc::new(Heard(Arc::clone(&seconds))));
    (Keyed::start_by(config, Some(heard)).await, seconds)
}

async fn status(keyed: &Keyed, key: &str, call: (&str, &str, Option<Value>)) -> u16 {
    let (method, path, body) = call;
    keyed.send(key, method, path, body).await.status
}

fn question() -> Option<Value> {
    Some(json!({"query": "tasks"}))
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_wait_for_what_may_have_been_closed_to_them() {
    let (keyed, seconds) = started(60).await;
    let reader = keyed.key(vec![Grant::Reader]).1;
    let administrator = keyed.key(vec![Grant::Administrator]).1;
    let publisher = keyed.key(publisher("wiki")).1;
    for (heard, expected) in [(0, 200), (60, 200), (61, 503), (3600, 503), (1, 200)] {
        seconds.store(heard, Ordering::Relaxed);
        let asked = status(&keyed, &reader, ("POST", "/v1/search", question())).await;
        assert_eq!(asked, expected, "{heard} s");
        let told = status(&keyed, &reader, ("GET", "/v1/facets", None)).await;
        assert_eq!(told, expected, "{heard} s");
    }

    seconds.store(3600, Ordering::Relaxed);
    let refused = keyed.send(&reader, "POST", "/v1/search", question()).await;
    assert!(
        refused.body.contains("\"unavailable\"") && refused.body.contains("3600 s"),
        "{refused:?}"
    );
    let document = json!({"source": "wiki", "source_path": "a.md", "content": "a"});
    for (key, call, expected) in [
        (&administrator, ("POST", "/v1/search", question()), 200),
        (&publisher, ("POST", "/v1/documents", Some(document)), 202),
        (&reader, ("GET", "/v1/session", None), 200),
        (
            &reader,
            ("GET", "/v1/documents/manual%2Fscheduler", None),
            503,
        ),
        (&reader, ("GET", "/v1/events", None), 503),
    ] {
        assert_eq!(
            status(&keyed, key, call.clone()).await,
            expected,
            "{call:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_limit_readers_are_answered_by_what_is_known() {
    let (keyed, seconds) = started(0).await;
    let reader = keyed.key(vec![Grant::Reader]).1;
    seconds.store(u64::from(u32::MAX), Ordering::Relaxed);
    let asked = status(&keyed, &reader, ("POST", "/v1/search", question())).await;
    assert_eq!(asked, 200);
}
