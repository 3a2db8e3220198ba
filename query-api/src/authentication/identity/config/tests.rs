//! Settings that are off, whole or nonsense.

use super::*;
use crate::config::tests::server;

fn tokens() -> IdentityConfig {
    let mut config = server().identity;
    config
        .roles
        .insert("kb".to_owned(), "reader; publisher=wiki, 维基".to_owned());
    config.tokens.issuer = "https://id.example.com/realms/kb".to_owned();
    config.tokens.audiences = vec!["tributary".to_owned()];
    config.tokens.jwks = "https://id.example.com/keys".to_owned();
    config.tokens.roles_claim = "roles".to_owned();
    config
}

fn proxy() -> IdentityConfig {
    let mut config = server().identity;
    config.roles.insert("kb".to_owned(), "reader".to_owned());
    config.proxy.addresses = vec!["10.0.0.8/32".to_owned(), "::1".to_owned()];
    config.proxy.user_header = "X-Forwarded-User".to_owned();
    config.proxy.roles_header = "X-Forwarded-Groups".to_owned();
    config
}

fn login() -> IdentityConfig {
    let mut config = tokens();
    config.login.client_id = "tributary".to_owned();
    config.login.page_url = "https://kb.example.com/wiki".to_owned();
    config
}

#[test]
fn what_is_off_or_whole_has_no_problems() {
    for config in [server().identity, tokens(), login(), proxy()] {
        assert_eq!(config.problems(), Vec::<String>::new());
    }
}

#[test]
fn nonsense_is_refused_by_the_name_of_its_key() {
    type Change = fn(&mut IdentityConfig);
    let of_tokens: [(Change, &str); 13] = [
        (|config| config.tokens.issuer.clear(), "tokens.issuer"),
        (|config| config.tokens.issuer = "kb".into(), "tokens.issuer"),
        (|config| config.tokens.jwks.clear(), "tokens.jwks"),
        (
            |config| config.tokens.jwks = "ftp://h/keys".into(),
            "tokens.jwks",
        ),
        (
            |config| config.tokens.jwks = "https://u:p@h/keys".into(),
            "tokens.jwks",
        ),
        (|config| config.tokens.audiences.clear(), "tokens.audiences"),
        (
            |config| config.tokens.algorithms.clear(),
            "tokens.algorithms",
        ),
        (
            |config| config.tokens.algorithms = vec!["HS256".into()],
            "tokens.algorithms",
        ),
        (
            |config| config.tokens.algorithms = vec!["none".into()],
            "tokens.algorithms",
        ),
        (
            |config| config.tokens.clock_skew_seconds = 301,
            "clock_skew_seconds",
        ),
        (
            |config| config.tokens.jwks_retry_seconds = 0,
            "jwks_retry_seconds",
        ),
        (|config| config.roles.clear(), "identity.roles"),
        (
            |config| drop(config.roles.insert("x".into(), "king".into())),
            "identity.roles.\"x\"",
        ),
    ];
    let of_proxies: [(Change, &str); 6] = [
        (|config| config.proxy.addresses.clear(), "proxy.addresses"),
        (
            |config| config.proxy.addresses = vec!["0.0.0.0/0".into()],
            "believes everybody",
        ),
        (
            |config| config.proxy.addresses = vec!["proxy".into()],
            "proxy.addresses",
        ),
        (
            |config| config.proxy.user_header.clear(),
            "proxy.user_header",
        ),
        (
            |config| config.proxy.user_header = "Authorization".into(),
            "proxy.user_header",
        ),
        (
            |config| config.proxy.roles_header = "a b".into(),
            "proxy.roles_header",
        ),
    ];
    let of_logins: [(Change, &str); 6] = [
        (|config| config.tokens.issuer.clear(), "tokens.issuer"),
        (
            |config| config.tokens = server().identity.tokens,
            "login.client_id",
        ),
        (|config| config.login.page_url.clear(), "login.page_url"),
        (
            |config| config.login.page_url = "http://kb.example.com".into(),
            "login.page_url",
        ),
        (|config| config.login.scopes.clear(), "login.scopes"),
        (
            |config| config.login.session_seconds = 0,
            "login.session_seconds",
        ),
    ];
    let cases = of_tokens.map(|case| (tokens(), case)).into_iter();
    for (mut config, (change, named)) in cases
        .chain(of_proxies.map(|case| (proxy(), case)))
        .chain(of_logins.map(|case| (login(), case)))
    {
        change(&mut config);
        let problems = config.problems();
        assert!(
            problems.iter().any(|line| line.contains(named)),
            "{named}: {problems:?}"
        );
    }
}

#[test]
fn an_issuer_over_plain_http_from_elsewhere_is_an_open_door() {
    let open = |jwks: &str| {
        let mut config = tokens();
        config.tokens.jwks = jwks.to_owned();
        config.open_on_the_way().map(str::to_owned)
    };
    let address = "http://id.example.com/keys";
    assert_eq!(open(address).as_deref(), Some(address));
    for closed in [
        "https://id.example.com/keys",
        "http://127.0.0.1:1/keys",
        "/etc/jwks.json",
    ] {
        assert_eq!(open(closed), None);
    }
    let mut config = login();
    config.tokens.issuer = "http://id.example.com".to_owned();
    assert_eq!(config.open_on_the_way(), Some("http://id.example.com"));
    config.login.client_id.clear();
    assert_eq!(config.open_on_the_way(), None);
}
