//! What a token gives, for how long, and what holds when keys change or cannot be fetched.

use std::time::Duration;

use ring::signature;
use serde_json::{Value, json};
use tributary_store::keys::Grant;

use super::issuer::{KeyServer, SigningKey, claims, now};
use super::{ISSUER, accepting_tokens, get};
use crate::rights::Keyed;

fn with(name: &str, value: Value) -> Value {
    let mut claims = claims("alice");
    claims[name] = value;
    claims
}

#[tokio::test(flavor = "multi_thread")]
async fn claims_become_roles_groups_and_clearance_and_without_a_role_there_is_no_right() {
    let key = SigningKey::ed25519("a");
    let keys = KeyServer::start(&[&key]);
    let keyed = Keyed::start_with(accepting_tokens(keys.url())).await;
    let who = async |claims: Value| {
        let answer = get(&keyed, "/v1/session", &key.token(&claims)).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    };
    assert_eq!(
        who(claims("alice")).await,
        json!({"wants_keys": true, "key": format!("{ISSUER}#alice"), "roles": [{"role": "reader"}],
               "groups": ["radio", "无线"], "clearance": 2})
    );
    let editor = who(with("roles", json!("编辑"))).await;
    assert_eq!(
        editor["roles"][1],
        json!({"role": "publisher", "sources": ["wiki"]})
    );
    let chief = who(with("roles", json!(["kb-readers", "kb-admins"]))).await;
    assert_eq!(chief["roles"][1], json!({"role": "administrator"}));
    assert_eq!(chief.get("clearance"), None);
    for nothing in [
        json!([]),
        json!("reader"),
        json!("administrator"),
        json!({"kb-readers": 1}),
    ] {
        assert_eq!(
            who(with("roles", nothing.clone())).await["roles"],
            json!([]),
            "{nothing}"
        );
        let token = key.token(&with("roles", nothing));
        let refused = get(&keyed, "/v1/facets", &token).await;
        assert_eq!((refused.status, refused.code().as_str()), (403, "denied"));
    }
    assert_eq!(
        get(&keyed, "/v1/facets", &key.token(&claims("alice")))
            .await
            .status,
        200
    );
    let named = who(with("preferred_username", json!("爱丽丝"))).await;
    assert_eq!(
        [&named["name"], &named["key"]],
        [&json!("爱丽丝"), &json!(format!("{ISSUER}#alice"))]
    );
    for audience in [json!("other-name"), json!(["x", "tributary"])] {
        assert_eq!(
            who(with("aud", audience)).await["key"],
            json!(format!("{ISSUER}#alice"))
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_algorithm_that_is_allowed_is_read_and_only_those_are() {
    let all = [
        SigningKey::rsa("a"),
        SigningKey::rsa_with("RS384", "b", &signature::RSA_PKCS1_SHA384),
        SigningKey::rsa_with("RS512", "c", &signature::RSA_PKCS1_SHA512),
        SigningKey::rsa_with("PS256", "d", &signature::RSA_PSS_SHA256),
        SigningKey::rsa_with("PS384", "e", &signature::RSA_PSS_SHA384),
        SigningKey::rsa_with("PS512", "f", &signature::RSA_PSS_SHA512),
        SigningKey::p256("g"),
        SigningKey::p384("h"),
        SigningKey::ed25519("i"),
    ];
    let keys = KeyServer::start(&all.each_ref());
    let with = async |algorithms: &[&str]| {
        let mut config = accepting_tokens(keys.url());
        let algorithms = algorithms.iter().map(|name| (*name).to_owned());
        config.identity.tokens.algorithms = algorithms.collect();
        Keyed::start_with(config).await
    };
    let every = all.each_ref().map(|key| key.algorithm);
    let (lenient, strict) = (with(&every).await, with(&["ES384"]).await);
    for key in &all {
        let token = key.token(&claims("alice"));
        let accepted = get(&lenient, "/v1/session", &token).await;
        assert_eq!(accepted.status, 200, "{}: {accepted:?}", key.algorithm);
        let status = get(&strict, "/v1/session", &token).await.status;
        assert_eq!(status == 200, key.algorithm == "ES384", "{}", key.algorithm);
    }
    let header = all[8].header().to_string().replace("EdDSA", "Ed25519");
    let token = all[8].token_of(&header, &claims("alice").to_string());
    let (accepted, refused) = (
        get(&lenient, "/v1/session", &token),
        get(&strict, "/v1/session", &token),
    );
    assert_eq!(
        (accepted.await.status, refused.await.status),
        (200, 401),
        "its newer name"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn conversations_belong_to_issuer_and_subject() {
    let key = SigningKey::ed25519("a");
    let keys = KeyServer::start(&[&key]);
    let keyed = Keyed::start_with(accepting_tokens(keys.url())).await;
    let bearer = |subject: &str| format!("Bearer {}", key.token(&claims(subject)));
    let made = keyed
        .send(
            &bearer("alice"),
            "POST",
            "/v1/conversations",
            Some(json!({"title": "own"})),
        )
        .await;
    assert_eq!(made.status, 201, "{made:?}");
    let path = format!("/v1/conversations/{}", made.json()["id"].as_str().unwrap());
    let mut later = claims("alice");
    later["exp"] = json!(now() + 900);
    assert_eq!(get(&keyed, &path, &key.token(&later)).await.status, 200);
    assert_eq!(
        get(&keyed, &path, &key.token(&claims("bob"))).await.status,
        404
    );
    assert_eq!(
        get(&keyed, &path, &key.token(&claims("Alice")))
            .await
            .status,
        404
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_and_the_pages_session_for_it_end_with_its_time() {
    let key = SigningKey::p256("a");
    let keys = KeyServer::start(&[&key]);
    let mut config = accepting_tokens(keys.url());
    config.identity.tokens.clock_skew_seconds = 0;
    let keyed = Keyed::start_with(config).await;
    let mut short = claims("alice");
    short["exp"] = json!(now() + 4);
    let token = format!("Bearer {}", key.token(&short));
    let begun = keyed.send(&token, "POST", "/v1/session", None).await;
    assert_eq!(begun.status, 200, "{begun:?}");
    let cookie = begun.header("set-cookie").unwrap().to_owned();
    let seconds = cookie
        .split("Max-Age=")
        .nth(1)
        .unwrap()
        .split(';')
        .next()
        .unwrap();
    assert!(seconds.parse::<i64>().unwrap() <= 4, "{cookie}");
    let cookie = cookie.split(';').next().unwrap();
    let by_cookie = async || {
        let answer = keyed
            .server
            .send("GET", "/v1/session", &[("Cookie", cookie)], b"")
            .await;
        (answer.status, answer.json()["key"].clone())
    };
    assert_eq!(by_cookie().await, (200, json!(format!("{ISSUER}#alice"))));
    while now() < short["exp"].as_i64().unwrap() {
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let replayed = keyed.send(&token, "GET", "/v1/session", None).await;
    assert_eq!(
        (replayed.status, replayed.code().as_str()),
        (401, "token_expired")
    );
    assert_eq!(by_cookie().await.0, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn signing_out_ends_the_session_of_a_token() {
    let key = SigningKey::ed25519("a");
    let keys = KeyServer::start(&[&key]);
    let keyed = Keyed::start_with(accepting_tokens(keys.url())).await;
    let token = format!("Bearer {}", key.token(&claims("alice")));
    let begun = keyed.send(&token, "POST", "/v1/session", None).await;
    let cookie = begun
        .header("set-cookie")
        .unwrap()
        .split(';')
        .next()
        .unwrap();
    let headers = [("Cookie", cookie)];
    let status = async |method: &str| {
        keyed
            .server
            .send(method, "/v1/session", &headers, b"")
            .await
            .status
    };
    assert_eq!(
        (status("GET").await, status("POST").await),
        (200, 401),
        "no session of a session"
    );
    assert_eq!((status("DELETE").await, status("GET").await), (204, 401));
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_roll_over_and_without_the_provider_unknown_ones_wait_while_api_keys_go_on() {
    let (old, new) = (SigningKey::ed25519("old"), SigningKey::p256("new"));
    let keys = KeyServer::start(&[&old]);
    let mut config = accepting_tokens(keys.url());
    config.identity.tokens.jwks_retry_seconds = 1;
    keys.fail();
    let keyed = Keyed::start_with(config).await;
    let by = async |key: &SigningKey| {
        let answer = get(&keyed, "/v1/session", &key.token(&claims("alice"))).await;
        let code = answer.json()["code"].as_str().map(str::to_owned);
        (answer.status, code)
    };
    let unavailable = (503, Some("identity_unavailable".to_owned()));
    assert_eq!(by(&old).await, unavailable);
    let (_, api_key) = keyed.key(vec![Grant::Reader]);
    assert_eq!(
        keyed.send(&api_key, "GET", "/v1/facets", None).await.status,
        200
    );
    keys.publish(&[&old]);
    until(async || by(&old).await == (200, None)).await;
    let unknown = (401, Some("token_key_unknown".to_owned()));
    assert_eq!(by(&new).await, unknown);
    keys.publish(&[&old, &new]);
    until(async || by(&new).await == (200, None)).await;
    keys.fail();
    let third = SigningKey::ed25519("third");
    until(async || by(&third).await == unavailable).await;
    assert_eq!((by(&old).await, by(&new).await), ((200, None), (200, None)));
}

async fn until(mut holds: impl AsyncFnMut() -> bool) {
    for _ in 0..300 {
        if holds().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("it did not come about within 30 s");
}
