//! When keys are fetched, and what holds while they cannot be.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering};

use serde_json::json;

use super::*;
use crate::config::tests::server;

const ED: Algorithm = Algorithm::EdDsa;

/// Keys in a file, and a clock in seconds.
struct Kept {
    source: KeySource,
    file: PathBuf,
    now: Arc<AtomicI64>,
    _folder: tempfile::TempDir,
}

impl Kept {
    /// Fetched again after 100 s, not more often than every 10 s, valid for 1000 s.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("jwks.json");
        let now = Arc::new(AtomicI64::new(1_000_000));
        let read = Arc::clone(&now);
        let config = TokensConfig {
            jwks: file.display().to_string(),
            jwks_refresh_seconds: 100,
            jwks_retry_seconds: 10,
            jwks_valid_seconds: 1000,
            ..server().identity.tokens
        };
        let clock: Clock = Arc::new(move || read.load(Ordering::Relaxed) * 1000);
        Self {
            source: KeySource::new(&config, clock).unwrap(),
            file,
            now,
            _folder: folder,
        }
    }

    fn write(&self, ids: &[&str]) {
        let key =
            |id: &&str| json!({"kty": "OKP", "crv": "Ed25519", "kid": id, "x": "A".repeat(43)});
        let keys: Vec<_> = ids.iter().map(key).collect();
        std::fs::write(&self.file, json!({"keys": keys}).to_string()).unwrap();
    }

    fn pass(&self, seconds: i64) {
        self.now.fetch_add(seconds, Ordering::Relaxed);
    }

    async fn refusal(&self, id: &str) -> Option<TokenRefusal> {
        self.source.keys(Some(id), ED).await.err()
    }

    /// Waits for a fetch that nobody waits for.
    async fn settle(&self) {
        for _ in 0..1000 {
            tokio::task::yield_now().await;
            tokio::time::sleep(Duration::from_millis(1)).await;
            if self.source.0.lock().fetched == (self.source.0.clock)() {
                return;
            }
        }
        panic!("keys were not fetched again");
    }
}

#[tokio::test]
async fn a_new_key_is_fetched_when_a_token_names_it_but_not_for_every_token() {
    let kept = Kept::new();
    kept.write(&["a"]);
    assert_eq!(kept.refusal("a").await, None);
    kept.write(&["a", "b"]);
    assert_eq!(kept.refusal("b").await, Some(TokenRefusal::UnknownKey));
    kept.pass(9);
    assert_eq!(kept.refusal("b").await, Some(TokenRefusal::UnknownKey));
    kept.pass(1);
    assert_eq!(kept.refusal("b").await, None);
}

#[tokio::test]
async fn a_key_that_was_taken_back_is_refused_once_the_set_is_old() {
    let kept = Kept::new();
    kept.write(&["a"]);
    assert_eq!(kept.refusal("a").await, None);
    kept.write(&["b"]);
    kept.pass(99);
    assert_eq!(kept.refusal("a").await, None);
    kept.pass(1);
    assert_eq!(kept.refusal("a").await, None, "nobody waits for a refresh");
    kept.settle().await;
    assert_eq!(kept.refusal("a").await, Some(TokenRefusal::UnknownKey));
    assert_eq!(kept.refusal("b").await, None);
}

#[tokio::test]
async fn without_the_issuer_known_keys_go_on_for_their_time_and_others_are_refused() {
    let kept = Kept::new();
    assert_eq!(kept.refusal("a").await, Some(TokenRefusal::Unavailable));
    kept.write(&["a"]);
    assert_eq!(
        kept.refusal("a").await,
        Some(TokenRefusal::Unavailable),
        "not tried yet"
    );
    kept.pass(10);
    assert_eq!(kept.refusal("a").await, None);
    std::fs::write(&kept.file, "<html>").unwrap();
    kept.pass(500);
    assert_eq!(kept.refusal("a").await, None);
    assert_eq!(kept.refusal("b").await, Some(TokenRefusal::Unavailable));
    kept.pass(499);
    assert_eq!(kept.refusal("a").await, None);
    kept.pass(1);
    assert_eq!(kept.refusal("a").await, Some(TokenRefusal::Unavailable));
    kept.write(&["a"]);
    kept.pass(10);
    assert_eq!(kept.refusal("a").await, None);
}

#[tokio::test]
async fn a_clock_that_was_set_back_holds_up_no_fetch() {
    let kept = Kept::new();
    kept.write(&["a"]);
    assert_eq!(kept.refusal("a").await, None);
    kept.write(&["b"]);
    kept.pass(-5000);
    assert_eq!(kept.refusal("b").await, None);
}
