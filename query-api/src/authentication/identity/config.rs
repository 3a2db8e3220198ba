//! Settings of identities that others vouch for, `[query_api.server.identity]`.

use std::collections::BTreeMap;
use std::net::IpAddr;

use actix_web::http::header::HeaderName;
use ipnet::IpNet;
use reqwest::Url;
use serde::{Deserialize, Serialize};
use tributary_models::http_client::is_this_machine;
use tributary_schemas::{Error, ErrorKind, Result};
use tributary_store::keys::Grant;

use super::jws::Algorithm;
use super::login::config::LoginConfig;

const SECTION: &str = "query_api.server.identity";
/// Clocks that differ more are wrong.
const MAXIMUM_SKEW_SECONDS: u64 = 300;
/// Shortest prefix of a block of few machines, of IPv4 and of IPv6.
const SHORTEST_PREFIX: (u8, u8) = (16, 48);
/// Headers that mean something else.
const TAKEN_HEADERS: [&str; 6] = [
    "authorization",
    "cookie",
    "host",
    "origin",
    "content-type",
    "content-length",
];

/// Whom the server accepts beside the holders of its own keys.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct IdentityConfig {
    /// Names of the security levels 1, 2, 3, …, lowest first, as a clearance may be said. A number
    /// is taken as it is.
    pub clearances: Vec<String>,
    /// What each value of the claim or header with roles gives: roles as `tributary keys create
    /// --role` takes them, separated by semicolons. Other values give none.
    pub roles: BTreeMap<String, String>,
    /// Tokens of an identity provider.
    pub tokens: TokensConfig,
    /// Signing in on the page with that provider.
    pub login: LoginConfig,
    /// A proxy that says who calls.
    pub proxy: ProxyConfig,
}

/// JSON Web Tokens, `[query_api.server.identity.tokens]`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TokensConfig {
    /// Who makes them, exactly as their claim `iss` says; empty accepts no tokens.
    pub issuer: String,
    /// Whom they are for: one of these must be in their claim `aud`.
    pub audiences: Vec<String>,
    /// How they may be signed.
    pub algorithms: Vec<String>,
    /// Where the issuer's public keys are (JWKS): an address, or a file.
    pub jwks: String,
    /// How old keys may become before they are fetched again, beside the requests.
    pub jwks_refresh_seconds: u64,
    /// Shortest time between two attempts to fetch keys, whoever asks.
    pub jwks_retry_seconds: u64,
    /// How long keys are accepted after they were fetched last, while no fetch succeeds.
    pub jwks_valid_seconds: u64,
    /// Longest time of an attempt.
    pub jwks_timeout_ms: u64,
    /// How far the clocks of issuer and server may differ.
    pub clock_skew_seconds: u64,
    /// Claim with the groups: a name, or a JSON pointer such as `/realm_access/roles`; empty for
    /// none.
    pub groups_claim: String,
    /// The same for the values of which the table makes roles.
    pub roles_claim: String,
    /// The same for the clearance.
    pub clearance_claim: String,
    /// The same for what people call the user, which is shown and gives nothing; empty for none.
    pub name_claim: String,
}

/// A trusted proxy, `[query_api.server.identity.proxy]`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ProxyConfig {
    /// Addresses that are believed: CIDR blocks or single ones.
    pub addresses: Vec<String>,
    /// Header with the name of the user; empty trusts no proxy.
    pub user_header: String,
    /// Header with groups, separated by commas; empty for none.
    pub groups_header: String,
    /// The same for the values of which the table makes roles.
    pub roles_header: String,
    /// Header with the clearance; empty for none.
    pub clearance_header: String,
}

/// Where more than a proxy may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedAddress {
    /// The block.
    pub block: String,
    /// Whether it is this machine itself; else it is a whole network.
    pub is_this_machine: bool,
}

impl IdentityConfig {
    /// Whether anybody but the holders of keys is accepted.
    pub fn is_on(&self) -> bool {
        self.tokens.is_on() || self.proxy.is_on()
    }

    /// Everything that is wrong with the values, one line each.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = self.tokens.problems();
        problems.extend(self.login.problems(self.tokens.is_on()));
        problems.extend(self.proxy.problems());
        problems.extend(self.grants().err().map(|error| error.full_message()));
        if self.is_on() && self.roles.is_empty() {
            problems.push(format!(
                "{SECTION}.roles is empty, so nobody could do anything; name a value that users have: [{SECTION}.roles] \"kb-readers\" = \"reader\""
            ));
        }
        if self.clearances.len() > usize::from(u8::MAX) {
            problems.push(format!("{SECTION}.clearances has more than 255 names"));
        }
        problems
    }

    /// An address of the issuer in whose place whoever is on the way could answer, if it has one:
    /// that of its keys, or where it says how people sign in.
    pub fn open_on_the_way(&self) -> Option<&str> {
        let tokens = &self.tokens;
        let asks_issuer = tokens.is_on() && self.login.is_on();
        let asked = [
            tokens.is_on().then_some(&tokens.jwks),
            asks_issuer.then_some(&tokens.issuer),
        ];
        let mut asked = asked.into_iter().flatten().map(String::as_str);
        asked.find(|address| is_open_on_the_way(address))
    }

    /// The table of roles. `Invalid` names the value whose roles cannot be read.
    pub(super) fn grants(&self) -> Result<BTreeMap<String, Vec<Grant>>> {
        let of_value = |(value, text): (&String, &String)| {
            let roles = text.split(';').map(str::trim).map(str::parse);
            let roles: Result<Vec<Grant>> = roles.collect();
            let wrong = |error: Error| {
                let what = format!("{SECTION}.roles.{value:?}: {error}");
                Error::new(ErrorKind::Invalid, what)
                    .with_hint("several are separated by semicolons: \"reader; publisher=wiki\"")
            };
            Ok((value.clone(), roles.map_err(wrong)?))
        };
        self.roles.iter().map(of_value).collect()
    }
}

/// Whether whoever is on the way to an address could answer in its place.
fn is_open_on_the_way(address: &str) -> bool {
    Url::parse(address).is_ok_and(|url| url.scheme() == "http" && !is_this_machine(&url))
}

impl TokensConfig {
    /// Whether tokens are accepted.
    pub fn is_on(&self) -> bool {
        !self.issuer.is_empty() || !self.jwks.is_empty()
    }

    /// How they may be signed. `Invalid` for what is not asymmetric, or not known.
    pub(super) fn allowed(&self) -> Result<Vec<Algorithm>> {
        let parsed = self.algorithms.iter().map(|name| name.parse());
        parsed.collect()
    }

    /// The address of the keys, if it is one; else it is a file. `Invalid` for other schemes and
    /// addresses with credentials.
    pub(super) fn jwks_address(&self) -> Result<Option<Url>> {
        let invalid = |what: &str| Err(Error::new(ErrorKind::Invalid, what));
        if !self.jwks.contains("://") {
            return Ok(None);
        }
        let Ok(url) = Url::parse(&self.jwks) else {
            return invalid("is no address");
        };
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return invalid("is no address of HTTP; a file is named by its path");
        }
        if !url.username().is_empty() || url.password().is_some() {
            return invalid("has credentials in it; public keys need none");
        }
        Ok(Some(url))
    }

    fn problems(&self) -> Vec<String> {
        if !self.is_on() {
            return Vec::new();
        }
        let is_issuer = self.issuer.contains("://") && !self.issuer.contains(['#', ' ']);
        let has_audience =
            !self.audiences.is_empty() && !self.audiences.iter().any(String::is_empty);
        let times = [
            self.jwks_refresh_seconds,
            self.jwks_retry_seconds,
            self.jwks_timeout_ms,
        ];
        let rules = [
            (
                is_issuer,
                "issuer is the issuer's address, exactly as its tokens say in `iss`",
            ),
            (
                !self.jwks.is_empty(),
                "jwks is empty: it says where the issuer's public keys are (`jwks_uri` of ISSUER/.well-known/openid-configuration)",
            ),
            (
                has_audience,
                "audiences must name what tokens are for: without it, those for other services of the issuer would be accepted",
            ),
            (
                !self.algorithms.is_empty(),
                "algorithms is empty: [\"RS256\", \"ES256\", \"EdDSA\"]",
            ),
            (
                self.clock_skew_seconds <= MAXIMUM_SKEW_SECONDS,
                "clock_skew_seconds must be at most 300: set the clocks instead",
            ),
            (
                !times.contains(&0),
                "jwks_refresh_seconds, jwks_retry_seconds and jwks_timeout_ms must be at least 1",
            ),
            (
                self.jwks_valid_seconds >= self.jwks_refresh_seconds,
                "jwks_valid_seconds must not be less than jwks_refresh_seconds",
            ),
            (
                !self.roles_claim.is_empty(),
                "roles_claim is empty, so nobody could do anything: name the claim whose values the table of roles has",
            ),
        ];
        let broken = rules.iter().filter(|(holds, _)| !holds);
        let mut problems: Vec<String> = broken
            .map(|(_, what)| format!("{SECTION}.tokens.{what}"))
            .collect();
        let named = [
            ("algorithms: ", self.allowed().err()),
            ("jwks ", self.jwks_address().err()),
        ];
        let named = named
            .into_iter()
            .filter_map(|(key, error)| Some((key, error?)));
        problems.extend(named.map(|(key, error)| format!("{SECTION}.tokens.{key}{error}")));
        problems
    }
}

impl ProxyConfig {
    /// Whether a proxy is trusted.
    pub fn is_on(&self) -> bool {
        !self.user_header.is_empty() || !self.addresses.is_empty()
    }

    /// Addresses that are believed although more than a proxy may call from there.
    pub fn shared_addresses(&self) -> Vec<SharedAddress> {
        let blocks = self.blocks().ok().unwrap_or_default().into_iter();
        let shared = blocks.filter_map(|block| {
            let (of_4, of_6) = SHORTEST_PREFIX;
            let shortest = if block.addr().is_ipv4() { of_4 } else { of_6 };
            let is_this_machine = block.addr().is_loopback();
            (is_this_machine || block.prefix_len() < shortest).then(|| SharedAddress {
                block: block.to_string(),
                is_this_machine,
            })
        });
        shared.collect()
    }

    /// Blocks of addresses that are believed. `Invalid` for what is none, and for one that names
    /// every address there is.
    pub(super) fn blocks(&self) -> Result<Vec<IpNet>> {
        let block = |text: &String| {
            let parsed = text.parse::<IpNet>().ok();
            let single = || text.parse::<IpAddr>().ok().map(IpNet::from);
            let invalid = |what: String| Error::new(ErrorKind::Invalid, what);
            let block = parsed.or_else(single).ok_or_else(|| {
                invalid(format!(
                    "`{text}` is no address and no CIDR block such as 10.0.0.8/32"
                ))
            })?;
            if block.prefix_len() == 0 {
                let what = format!("`{text}` believes everybody; name the proxy's own addresses");
                return Err(invalid(what));
            }
            Ok(block)
        };
        self.addresses.iter().map(block).collect()
    }

    fn problems(&self) -> Vec<String> {
        if !self.is_on() {
            return Vec::new();
        }
        let mut problems = Vec::new();
        if self.addresses.is_empty() {
            problems.push("addresses is empty: anybody could send the header; name the addresses that the proxy calls from".to_owned());
        }
        if self.user_header.is_empty() {
            problems.push("user_header is empty: name the header in which the proxy says who calls, such as X-Forwarded-User".to_owned());
        }
        if self.roles_header.is_empty() {
            problems.push("roles_header is empty, so nobody could do anything; it may be the same as groups_header".to_owned());
        }
        problems.extend(self.headers().iter().filter_map(|(key, name)| {
            let is_known = HeaderName::try_from(*name).is_ok();
            let is_taken = TAKEN_HEADERS
                .iter()
                .any(|taken| name.eq_ignore_ascii_case(taken));
            (!name.is_empty() && (!is_known || is_taken))
                .then(|| format!("{key} `{name}` cannot be used; such as X-Forwarded-User"))
        }));
        problems.extend(
            self.blocks()
                .err()
                .map(|error| format!("addresses: {error}")),
        );
        let place = |what: String| format!("{SECTION}.proxy.{what}");
        problems.into_iter().map(place).collect()
    }

    /// Headers in which a proxy says who calls.
    pub fn header_names(&self) -> impl Iterator<Item = &str> {
        let names = self.headers().into_iter().map(|(_, name)| name);
        names.filter(|name| !name.is_empty())
    }

    fn headers(&self) -> [(&'static str, &str); 4] {
        [
            ("user_header", &self.user_header),
            ("groups_header", &self.groups_header),
            ("roles_header", &self.roles_header),
            ("clearance_header", &self.clearance_header),
        ]
    }
}

#[cfg(test)]
mod tests;
