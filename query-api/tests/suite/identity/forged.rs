//! Tokens that must not be accepted: forged, expired, for others, confused, cut up. Each is refused
//! with its code, which the audit has too, and none of them makes the server fetch keys.

use std::collections::BTreeMap;

use super::forger::{Case, Forger};
use super::issuer::{KeyServer, SigningKey, claims};
use super::{accepting_tokens, audit, get};
use crate::rights::Keyed;

/// No other test asks for it.
const ROUTE: &str = "/v1/user-profiles";

#[tokio::test(flavor = "multi_thread")]
async fn five_hundred_tokens_are_refused_each_with_its_code_in_answer_and_audit() {
    audit::record();
    let all = [
        SigningKey::rsa("rsa-1"),
        SigningKey::p256("ec-1"),
        SigningKey::ed25519("ed-1"),
    ];
    let keys = KeyServer::start(&all.each_ref());
    let mut config = accepting_tokens(keys.url());
    config.identity.tokens.jwks_retry_seconds = 3600;
    config.identity.tokens.jwks_refresh_seconds = 3600;
    let keyed = Keyed::start_with(config).await;
    let accepted = async || {
        for key in &all {
            let answer = get(&keyed, "/v1/session", &key.token(&claims("alice"))).await;
            assert_eq!(answer.status, 200, "{}: {answer:?}", key.algorithm);
        }
    };
    accepted().await;
    let cases: Vec<Case> = all.iter().flat_map(|key| Forger::new(key).all()).collect();
    let mut counts = BTreeMap::<&str, usize>::new();
    for case in &cases {
        let answer = get(&keyed, ROUTE, &case.token).await;
        let what = format!("{}: {answer:?}", case.what);
        assert_eq!(answer.status, 401, "{what}");
        assert_eq!(answer.code(), case.code, "{what}");
        assert!(answer.header("www-authenticate").is_some(), "{what}");
        *counts.entry(case.code).or_default() += 1;
    }
    let said: Vec<String> = audit::of_route(ROUTE)
        .into_iter()
        .map(|entry| entry.get("code").cloned().unwrap_or_default())
        .collect();
    let expected: Vec<&str> = cases.iter().map(|case| case.code).collect();
    assert_eq!(said, expected);
    assert!(cases.len() >= 500, "{} cases: {counts:?}", cases.len());
    assert_eq!(counts.len(), 8, "{counts:?}");
    assert_eq!(
        keys.fetches(),
        1,
        "no token makes the server fetch keys again"
    );
    accepted().await;
}
