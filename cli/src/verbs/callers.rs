//! Who is let in beside the holders of keys, and by which doors more come in than one might think,
//! for `run` and `doctor`.

use std::net::SocketAddr;

use tributary_query_api::authentication::identity::config::{
    IdentityConfig, ProxyConfig, SharedAddress,
};
use tributary_query_api::authentication::identity::key_count;
use tributary_query_api::authentication::identity::login::authorization_address;
use tributary_query_api::config::{DocumentsWithoutAccess, NetworkAccess, ServerConfig};

use tributary_store::system_clock;

use crate::app;
use crate::config::Config;
use crate::print;

/// A way in that may be meant, and what closes it.
#[derive(Debug, PartialEq, Eq)]
pub struct OpenDoor {
    /// Who comes in.
    pub what: String,
    /// What closes it.
    pub hint: &'static str,
}

fn door(what: impl Into<String>, hint: &'static str) -> OpenDoor {
    let what = what.into();
    OpenDoor { what, hint }
}

/// What is accepted in place of a key, as a part of a sentence; empty for nothing.
pub fn in_place_of_keys(identity: &IdentityConfig) -> String {
    let mut others = String::new();
    if identity.tokens.is_on() {
        others.push_str(&format!(", or a token of {}", identity.tokens.issuer));
    }
    if identity.proxy.is_on() {
        let ProxyConfig {
            addresses,
            user_header,
            ..
        } = &identity.proxy;
        let addresses = addresses.join(", ");
        others.push_str(&format!(
            ", or a user in {user_header} of a proxy at {addresses}"
        ));
    }
    others
}

/// The keys of the identity provider, fetched once; nothing where no tokens are accepted.
pub fn look_at_provider(config: &Config) -> Option<tributary_schemas::Result<String>> {
    let tokens = &config.query_api.server.identity.tokens;
    if !tokens.is_on() {
        return None;
    }
    let count = runtime().and_then(|runtime| runtime.block_on(key_count(tokens)));
    Some(count.map(|keys| {
        let keys = print::count(keys, "key");
        format!(
            "{} has {keys} of {} that sign tokens",
            tokens.jwks, tokens.issuer
        )
    }))
}

/// Where people sign in on the page, as the provider says; nothing where the page does not offer it.
pub fn look_at_sign_in(config: &Config) -> Option<tributary_schemas::Result<String>> {
    let identity = &config.query_api.server.identity;
    if !identity.tokens.is_on() || !identity.login.is_on() {
        return None;
    }
    let asked = runtime().and_then(|runtime| {
        let address = authorization_address(&identity.tokens, &identity.login, system_clock());
        runtime.block_on(address)
    });
    Some(asked.map(|address| {
        let host = address.host_str().unwrap_or_default();
        format!("people sign in at {host}")
    }))
}

fn runtime() -> tributary_schemas::Result<tokio::runtime::Runtime> {
    app::runtime().map_err(|error| {
        tributary_schemas::Error::new(tributary_schemas::ErrorKind::Internal, error.to_string())
    })
}

/// What `run` says at its start of the address that it listens on: a key that was read on its way
/// is lost before anybody asks `doctor`.
pub fn warning_at_start(server: &ServerConfig, address: &str) -> Option<String> {
    if server.network_access != NetworkAccess::Authenticated {
        return None;
    }
    let OpenDoor { what, hint } = without_tls(server, address)?;
    Some(format!("warning: {what} ({hint})"))
}

/// Every door that is open.
pub fn open_doors(server: &ServerConfig) -> Vec<OpenDoor> {
    match server.network_access {
        NetworkAccess::Authenticated => with_keys(server),
        NetworkAccess::LoopbackOnly => {
            let doors = without_names(server).into_iter();
            doors.chain(of_listed_pages(server)).collect()
        }
        NetworkAccess::EveryoneWithoutAuthentication => {
            let everybody = (!is_local(&server.listen)).then(|| {
                door(
                    format!("whoever reaches {} may read, publish and delete", server.listen),
                    "set query_api.server.network_access = \"authenticated\", or let something in front of it authenticate",
                )
            });
            let doors = everybody.into_iter().chain(without_names(server));
            doors.chain(of_listed_pages(server)).collect()
        }
    }
}

/// Only where nobody shows a key: a browser sends none by itself.
fn without_names(server: &ServerConfig) -> Option<OpenDoor> {
    server.host_names.is_empty().then(|| {
        door(
            "web pages of others may call the server by a name of their own",
            "name the server in query_api.server.host_names",
        )
    })
}

/// Pages of other origins that show no key, as none is wanted.
fn of_listed_pages(server: &ServerConfig) -> Option<OpenDoor> {
    (!server.cors_origins.is_empty()).then(|| {
        let origins = server.cors_origins.join(", ");
        door(
            format!("pages of {origins} may do everything, in any browser on this machine"),
            "set query_api.server.network_access = \"authenticated\", or query_api.server.cors_origins = []",
        )
    })
}

fn is_local(address: &str) -> bool {
    let address = address.parse::<SocketAddr>();
    address.is_ok_and(|address| address.ip().is_loopback())
}

/// Keys that cross a network in plain text.
fn without_tls(server: &ServerConfig, address: &str) -> Option<OpenDoor> {
    let is_plain = server.tls.files().is_none() && !is_local(address);
    is_plain.then(|| {
        door(
            format!(
                "whoever listens on the way to {address} reads keys and answers: it speaks no TLS"
            ),
            "set query_api.server.tls, or let a proxy that does listen for it, and the server on 127.0.0.1",
        )
    })
}

fn with_keys(server: &ServerConfig) -> Vec<OpenDoor> {
    let mut doors: Vec<OpenDoor> = without_tls(server, &server.listen).into_iter().collect();
    if let Some(address) = server.identity.open_on_the_way() {
        doors.push(door(
            format!("whoever is between this machine and {address} can sign in as anybody"),
            "use https:// in query_api.server.identity.tokens, or a file for jwks",
        ));
    }
    doors.extend(by_proxy(&server.identity.proxy));
    if server.open_metrics {
        doors.push(door(
            "/metrics is answered without a key",
            "query_api.server.open_metrics = false wants that of an administrator",
        ));
    }
    if server.documents_without_access == DocumentsWithoutAccess::Readers {
        doors.push(door(
            "every reader sees documents that do not say who may",
            "`tributary rights status` counts them; query_api.server.documents_without_access = \"administrators\" hides them",
        ));
    }
    doors
}

/// Addresses that are believed although more than a proxy may be there.
fn by_proxy(proxy: &ProxyConfig) -> impl Iterator<Item = OpenDoor> {
    let shared = proxy.shared_addresses().into_iter();
    shared.map(|SharedAddress { block, is_this_machine }| {
        let (who, hint) = match is_this_machine {
            true => (
                "whoever works on this machine".to_owned(),
                "let nobody but the proxy work here, or take query_api.server.identity.proxy away",
            ),
            false => (
                format!("whoever calls from {block}"),
                "name the proxy's own addresses in query_api.server.identity.proxy.addresses",
            ),
        };
        door(format!("{who} can name any user in {}", proxy.user_header), hint)
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn server(changes: &str) -> ServerConfig {
        let mut defaults: toml::Table = include_str!("../../default.toml").parse().unwrap();
        let mut changed: toml::Table = changes.parse().unwrap();
        let mut section = |name: &str| match defaults.remove("query_api") {
            Some(toml::Value::Table(mut api)) => api.remove(name).unwrap(),
            _ => panic!("no section query_api"),
        };
        let toml::Value::Table(mut server) = section("server") else {
            panic!("no section query_api.server")
        };
        crate::config::merge::overlay(&mut server, std::mem::take(&mut changed));
        server.try_into().unwrap()
    }

    fn found(changes: &str) -> Vec<String> {
        let doors = open_doors(&server(changes));
        doors.into_iter().map(|door| door.what).collect()
    }

    #[test]
    fn what_lets_more_in_than_one_may_think_is_named() {
        assert_eq!(found(""), Vec::<String>::new());
        let with_keys = "network_access = 'authenticated'\n";
        assert_eq!(found(with_keys), Vec::<String>::new());
        let table = [
            ("host_names = []".to_owned(), "web pages of others"),
            (
                "listen = '0.0.0.0:1'\nnetwork_access = 'everyone_without_authentication'"
                    .to_owned(),
                "whoever reaches 0.0.0.0:1",
            ),
            (
                "cors_origins = ['https://a.example.com']".to_owned(),
                "pages of https://a.example.com",
            ),
            (
                format!("{with_keys}listen = '0.0.0.0:7470'"),
                "whoever listens on the way to 0.0.0.0:7470",
            ),
            (format!("{with_keys}open_metrics = true"), "/metrics"),
            (
                format!("{with_keys}documents_without_access = 'readers'"),
                "every reader",
            ),
            (
                format!(
                    "{with_keys}[identity.tokens]\nissuer = 'https://id'\njwks = 'http://id/keys'"
                ),
                "whoever is between",
            ),
            (
                format!(
                    "{with_keys}[identity.proxy]\nuser_header = 'X-User'\naddresses = ['127.0.0.1']"
                ),
                "whoever works on this machine",
            ),
            (
                format!(
                    "{with_keys}[identity.proxy]\nuser_header = 'X-User'\naddresses = ['10.0.0.0/8']"
                ),
                "whoever calls from 10.0.0.0/8",
            ),
        ];
        for (changes, expected) in table {
            let found = found(&changes);
            let is_named = found.len() == 1 && found.iter().all(|what| what.starts_with(expected));
            assert!(is_named, "{changes}: {found:?}");
        }
        let tls = "listen = '[::]:1'\ntls = { certificate_file = 'a.pem', key_file = 'b.pem' }";
        assert_eq!(found(&format!("{with_keys}{tls}")), Vec::<String>::new());
        let warned = |address| warning_at_start(&server(with_keys), address).is_some();
        assert_eq!(["10.0.0.1:1", "127.0.0.1:1"].map(warned), [true, false]);
        assert_eq!(warning_at_start(&server(""), "10.0.0.1:1"), None);
        let narrow =
            "[identity.proxy]\nuser_header = 'X-User'\naddresses = ['10.0.0.8', 'fd00::8']";
        assert_eq!(found(&format!("{with_keys}{narrow}")), Vec::<String>::new());
    }

    #[test]
    fn what_is_accepted_in_place_of_keys_is_said() {
        assert_eq!(in_place_of_keys(&server("").identity), "");
        let both = server(
            "[identity.tokens]\nissuer = 'https://id'\n[identity.proxy]\nuser_header = 'X-User'\naddresses = ['10.0.0.8']",
        );
        assert_eq!(
            in_place_of_keys(&both.identity),
            ", or a token of https://id, or a user in X-User of a proxy at 10.0.0.8"
        );
    }
}
