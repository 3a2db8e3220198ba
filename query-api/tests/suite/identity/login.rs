//! Signing in on the page with an identity provider.

use std::collections::BTreeMap;

use serde_json::json;

use super::get;
use super::issuer::{SigningKey, claims, now};
use super::provider::{CLIENT, PAGE, Provider, pairs};
use crate::common::client::Answer;
use crate::rights::Keyed;

/// A browser that began: its cookie, and what the provider is asked.
async fn begun(keyed: &Keyed, provider: &Provider) -> (String, BTreeMap<String, String>) {
    let answer = keyed.server.get("/sign-in").await;
    assert_eq!(answer.status, 303, "{answer:?}");
    let (place, query) = answer.header("location").unwrap().split_once('?').unwrap();
    assert_eq!(place, format!("{}/authorize", provider.issuer()));
    let cookie = answer.header("set-cookie").unwrap();
    assert!(cookie.contains("HttpOnly; SameSite=Lax"), "{cookie}");
    (cookie.split(';').next().unwrap().to_owned(), pairs(query))
}

/// As a browser comes back from the provider's page.
async fn back(keyed: &Keyed, cookie: &str, query: &str) -> Answer {
    let headers = [
        ("Cookie", cookie),
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Mode", "navigate"),
        ("Sec-Fetch-Dest", "document"),
    ];
    let path = format!("/sign-in/callback?{query}");
    keyed.server.send("GET", &path, &headers, b"").await
}

/// The cookie of the session, if the answer gives one.
fn session(answer: &Answer) -> Option<String> {
    let cookies = answer
        .headers
        .iter()
        .filter(|(name, _)| name == "set-cookie");
    let mut values = cookies.map(|(_, value)| value.as_str());
    let found = values.find(|value| value.starts_with("tributary_session="))?;
    assert!(found.contains("HttpOnly; SameSite=Strict"), "{found}");
    Some(found.split(';').next().unwrap().to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn who_signs_in_with_the_provider_has_a_session_until_they_sign_out() {
    let (provider, folder) = (Provider::start(), tempfile::tempdir().unwrap());
    let keyed = Keyed::start_with(provider.config(&folder)).await;
    let ways = keyed.server.get("/sign-in/ways").await;
    assert_eq!(ways.json(), json!({"provider": true}));
    let (cookie, asked) = begun(&keyed, &provider).await;
    let expected = [
        ("tenant", "1"),
        ("response_type", "code"),
        ("client_id", CLIENT),
        ("redirect_uri", "http://127.0.0.1:1/kb/sign-in/callback"),
        ("scope", "openid"),
        ("code_challenge_method", "S256"),
    ];
    for (name, value) in expected {
        assert_eq!(asked[name], value);
    }
    let code = provider.sign_in(&asked, json!({}));
    let query = format!("code={code}&state={}&session_state=x", asked["state"]);
    let answer = back(&keyed, &cookie, &query).await;
    assert_eq!(
        (answer.status, answer.header("location")),
        (303, Some(PAGE))
    );
    let session = session(&answer).unwrap();
    let call = async |method: &str| {
        keyed
            .server
            .send(method, "/v1/session", &[("Cookie", &session)], b"")
            .await
    };
    let who = call("GET").await.json();
    assert_eq!(who["key"], json!(format!("{}#alice", provider.issuer())));
    assert_eq!(
        (&who["roles"], &who["clearance"]),
        (&json!([{"role": "reader"}]), &json!(2))
    );
    // Neither the same address nor another code with the same `state`.
    let another = provider.sign_in(&asked, json!({}));
    let with_another = format!("code={another}&state={}", asked["state"]);
    for query in [query, with_another] {
        let again = back(&keyed, &cookie, &query).await;
        assert_eq!(
            again.header("location"),
            Some(format!("{PAGE}?refused=sign_in_failed").as_str())
        );
    }
    assert_eq!(
        (call("DELETE").await.status, call("GET").await.status),
        (204, 401)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_did_not_begin_or_has_another_token_is_not_signed_in() {
    let (provider, folder) = (Provider::start(), tempfile::tempdir().unwrap());
    let keyed = Keyed::start_with(provider.config(&folder)).await;
    let refused = async |cookie: &str, query: &str, expected: &str| {
        let answer = back(&keyed, cookie, query).await;
        let location = format!("{PAGE}?refused={expected}");
        assert_eq!(
            answer.header("location"),
            Some(location.as_str()),
            "{query}: {answer:?}"
        );
        assert_eq!((answer.status, session(&answer)), (303, None));
    };
    let (cookie, asked) = begun(&keyed, &provider).await;
    let (other, of_other) = begun(&keyed, &provider).await;
    let good = || {
        format!(
            "code={}&state={}",
            provider.sign_in(&asked, json!({})),
            asked["state"]
        )
    };
    let foreign = "iss=https%3A%2F%2Fevil.example.com";
    let forgotten = good().replace(&asked["state"], "");
    let swapped = good().replace(&asked["state"], &of_other["state"]);
    let denied = format!("error=access_denied&state={}", asked["state"]);
    let unknown = format!("code=guessed&state={}", asked["state"]);
    // The code of somebody who began elsewhere: the verifier does not fit.
    let injected = format!(
        "code={}&state={}",
        provider.sign_in(&of_other, json!({})),
        asked["state"]
    );
    let table = [
        ("", good()),
        (other.as_str(), good()),
        (&format!("{cookie}; {other}"), good()),
        ("tributary_login=", good()),
        (&cookie, forgotten),
        (&cookie, swapped),
        (&cookie, denied),
        (&cookie, format!("state={}", asked["state"])),
        (&cookie, format!("{}&{foreign}", good())),
        (&cookie, unknown),
        (&cookie, injected),
        (&cookie, String::new()),
    ];
    for (cookie, query) in table {
        refused(cookie, &query, "sign_in_failed").await;
    }
    let tokens = [
        (json!({"nonce": of_other["nonce"]}), "sign_in_failed"),
        (json!({"nonce": null}), "sign_in_failed"),
        (json!({"aud": "tributary"}), "token_audience_wrong"),
        (
            json!({"aud": [CLIENT, "other"], "azp": "other"}),
            "token_audience_wrong",
        ),
        (
            json!({"iss": "https://evil.example.com"}),
            "token_issuer_wrong",
        ),
        (json!({"exp": now() - 100}), "token_expired"),
        (json!({"sub": ""}), "token_malformed"),
    ];
    for (edits, code) in tokens {
        let query = format!(
            "code={}&state={}",
            provider.sign_in(&asked, edits),
            asked["state"]
        );
        refused(&cookie, &query, code).await;
    }
    let stranger = SigningKey::p256("page").token(&claims("alice"));
    for (token, code) in [
        (Some(stranger), "token_signature_invalid"),
        (None, "identity_unavailable"),
    ] {
        let query = format!(
            "code={}&state={}",
            provider.give(&asked, token),
            asked["state"]
        );
        refused(&cookie, &query, code).await;
    }
    let answer = back(&keyed, &cookie, &good()).await;
    assert!(session(&answer).is_some(), "{answer:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_token_of_the_page_is_no_key_and_other_pages_cannot_fetch_the_way_back() {
    let (provider, folder) = (Provider::start(), tempfile::tempdir().unwrap());
    let keyed = Keyed::start_with(provider.config(&folder)).await;
    let mut of_page = claims("alice");
    of_page["iss"] = json!(provider.issuer());
    of_page["aud"] = json!(CLIENT);
    let refused = get(&keyed, "/v1/session", &provider.key.token(&of_page)).await;
    assert_eq!(
        (refused.status, refused.code().as_str()),
        (401, "token_audience_wrong")
    );
    let (cookie, asked) = begun(&keyed, &provider).await;
    let path = format!(
        "/sign-in/callback?code={}&state={}",
        provider.sign_in(&asked, json!({})),
        asked["state"]
    );
    for (mode, destination) in [
        ("no-cors", "image"),
        ("navigate", "iframe"),
        ("cors", "empty"),
    ] {
        let headers = [
            ("Cookie", cookie.as_str()),
            ("Sec-Fetch-Site", "cross-site"),
            ("Sec-Fetch-Mode", mode),
            ("Sec-Fetch-Dest", destination),
        ];
        let answer = keyed.server.send("GET", &path, &headers, b"").await;
        assert_eq!(
            (answer.status, session(&answer)),
            (403, None),
            "{mode} {destination}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_provider_nobody_is_sent_there_and_without_the_setting_there_is_no_way() {
    let (provider, folder) = (Provider::start(), tempfile::tempdir().unwrap());
    let mut config = provider.config(&folder);
    // Its discovery document names another issuer.
    config.identity.tokens.issuer = format!("{}/realms/other/..", provider.issuer());
    let keyed = Keyed::start_with(config).await;
    let answer = keyed.server.get("/sign-in").await;
    let expected = format!("{PAGE}?refused=identity_unavailable");
    assert_eq!(
        (answer.status, answer.header("location")),
        (303, Some(expected.as_str()))
    );
    let without = Keyed::start().await;
    assert_eq!(
        without.server.get("/sign-in/ways").await.json(),
        json!({"provider": false})
    );
    for path in ["/sign-in", "/sign-in/callback?code=a&state=b"] {
        let answer = without.server.get(path).await;
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (404, "route_not_found"),
            "{path}"
        );
    }
}
