//! A token's way in: it can be read, a key of the issuer has signed it, and it is of this issuer,
//! for this server and of this time. In that order, so that claims are told only to who has a token
//! that the issuer made.

use std::sync::Arc;

use serde_json::{Map, Value};
use tributary_schemas::Result;
use tributary_store::Clock;
use tributary_store::keys::Holder;

use super::config::TokensConfig;
use super::jws::{Algorithm, Token};
use super::key_source::KeySource;
use super::mapping::{Mapping, Said, is_name};
use super::refusal::TokenRefusal;

/// Longest `sub` (OpenID Connect Core, section 2).
const MAXIMUM_SUBJECT_BYTES: usize = 255;
/// Claims that hold several values in one text, with spaces between them (RFC 8693, section 4.2).
const SPACED: [&str; 2] = ["scope", "scp"];

/// Whoever shows a token that is accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenHolder {
    /// `ISSUER#SUBJECT` and what they may do and see.
    pub holder: Holder,
    /// From when on the token is refused, milliseconds since 1970.
    pub until_ms: i64,
}

/// Tokens of one issuer.
pub struct Tokens {
    issuer: String,
    audiences: Vec<String>,
    algorithms: Vec<Algorithm>,
    skew_seconds: f64,
    claims: ClaimNames,
    keys: KeySource,
    mapping: Arc<Mapping>,
    clock: Clock,
}

struct ClaimNames {
    groups: String,
    roles: String,
    clearance: String,
    name: String,
}

impl Tokens {
    /// As the configuration says; fetches no keys yet.
    pub fn new(config: &TokensConfig, mapping: Arc<Mapping>, clock: Clock) -> Result<Self> {
        Ok(Self {
            issuer: config.issuer.clone(),
            audiences: config.audiences.clone(),
            algorithms: config.allowed()?,
            skew_seconds: config.clock_skew_seconds as f64,
            claims: ClaimNames {
                groups: config.groups_claim.clone(),
                roles: config.roles_claim.clone(),
                clearance: config.clearance_claim.clone(),
                name: config.name_claim.clone(),
            },
            keys: KeySource::new(config, Arc::clone(&clock))?,
            mapping,
            clock,
        })
    }

    /// Whether this has the look of a token; keys have no dot.
    pub fn is_one(text: &str) -> bool {
        text.contains('.')
    }

    /// Who makes them.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Who shows it.
    pub async fn holder(&self, text: &str) -> std::result::Result<TokenHolder, TokenRefusal> {
        let claims = self.signed_claims(text).await?;
        self.accepted(&claims, &self.audiences, text)
    }

    /// Whom an ID token names that was made for this client, and the sign-in that it belongs to
    /// (`nonce`).
    pub async fn sign_in(
        &self,
        text: &str,
        client_id: &str,
    ) -> std::result::Result<(Holder, Option<String>), TokenRefusal> {
        let claims = self.signed_claims(text).await?;
        let accepted = self.accepted(&claims, &[client_id.to_owned()], text)?;
        // Of several audiences, the one that may use it (OpenID Connect Core, section 3.1.3.7).
        if claims.get("azp").is_some_and(|party| party != client_id) {
            return Err(TokenRefusal::Audience);
        }
        let nonce = claims.get("nonce").and_then(Value::as_str);
        Ok((accepted.holder, nonce.map(str::to_owned)))
    }

    /// What the issuer has signed.
    async fn signed_claims(
        &self,
        text: &str,
    ) -> std::result::Result<Map<String, Value>, TokenRefusal> {
        let token = Token::parse(text, &self.algorithms)?;
        let keys = self.keys.keys(token.key_id.as_deref(), token.algorithm);
        match keys.await?.iter().any(|key| key.has_signed(&token)) {
            true => token.claims(),
            false => Err(TokenRefusal::Signature),
        }
    }

    fn accepted(
        &self,
        claims: &Map<String, Value>,
        audiences: &[String],
        text: &str,
    ) -> std::result::Result<TokenHolder, TokenRefusal> {
        self.check_names(claims, audiences)?;
        let expires = self.check_times(claims)?;
        let subject = subject(claims).ok_or(TokenRefusal::Malformed)?;
        let id = format!("{}#{subject}", self.issuer);
        let mark = *blake3::hash(text.as_bytes()).as_bytes();
        Ok(TokenHolder {
            holder: self.mapping.holder(id, self.said(claims), mark),
            until_ms: ((expires + self.skew_seconds) * 1000.0) as i64,
        })
    }

    fn check_names(
        &self,
        claims: &Map<String, Value>,
        audiences: &[String],
    ) -> std::result::Result<(), TokenRefusal> {
        if claims.get("iss").and_then(Value::as_str) != Some(&self.issuer) {
            return Err(TokenRefusal::Issuer);
        }
        let is_ours = |name: &Value| {
            let name = name.as_str();
            name.is_some_and(|name| audiences.iter().any(|own| own == name))
        };
        let is_meant = match claims.get("aud") {
            Some(Value::Array(names)) => names.iter().any(is_ours),
            Some(name) => is_ours(name),
            None => false,
        };
        is_meant.then_some(()).ok_or(TokenRefusal::Audience)
    }

    /// The end of its time, seconds since 1970. Each must have one.
    fn check_times(&self, claims: &Map<String, Value>) -> std::result::Result<f64, TokenRefusal> {
        let now = (self.clock)() as f64 / 1000.0;
        let time = |name: &str| match claims.get(name) {
            None => Ok(None),
            Some(value) => value.as_f64().map(Some).ok_or(TokenRefusal::Malformed),
        };
        let expires = time("exp")?.ok_or(TokenRefusal::Malformed)?;
        if now >= expires + self.skew_seconds {
            return Err(TokenRefusal::Expired);
        }
        let begins = [time("nbf")?, time("iat")?];
        let is_early = |begin: &f64| now < *begin - self.skew_seconds;
        match begins.iter().flatten().any(is_early) {
            true => Err(TokenRefusal::NotYetValid),
            false => Ok(expires),
        }
    }

    fn said(&self, claims: &Map<String, Value>) -> Said {
        Said {
            groups: values(claims, &self.claims.groups),
            roles: values(claims, &self.claims.roles),
            clearances: values(claims, &self.claims.clearance),
            name: values(claims, &self.claims.name).into_iter().next(),
        }
    }
}

/// The name of the user, which goes into logs.
fn subject(claims: &Map<String, Value>) -> Option<&str> {
    let subject = claims.get("sub")?.as_str()?;
    is_name(subject, MAXIMUM_SUBJECT_BYTES).then_some(subject)
}

/// The values of a claim: one, or a list of them; texts and numbers, nothing else.
fn values(claims: &Map<String, Value>, name: &str) -> Vec<String> {
    let found = match name.strip_prefix('/') {
        _ if name.is_empty() => None,
        Some(path) => pointed(claims, path),
        None => claims.get(name),
    };
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    match found {
        Some(Value::Array(values)) => values.iter().filter_map(text).collect(),
        Some(Value::String(all)) if SPACED.contains(&name) => {
            all.split(' ').map(str::to_owned).collect()
        }
        Some(value) => text(value).into_iter().collect(),
        None => Vec::new(),
    }
}

/// What a JSON pointer (RFC 6901) without its first stroke names.
fn pointed<'a>(claims: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
    let (first, rest) = match path.split_once('/') {
        Some((first, rest)) => (first, format!("/{rest}")),
        None => (path, String::new()),
    };
    let first = first.replace("~1", "/").replace("~0", "~");
    claims.get(&first)?.pointer(&rest)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn claims_are_named_or_pointed_at() {
        let claims = json!({
            "groups": ["radio", "无线", 7, {"x": 1}, null],
            "scope": "read write",
            "one": "a b",
            "realm_access": {"roles": ["kb"]},
            "https://example.com/groups": ["x"],
            "a/b": {"c": "d"},
        });
        let Value::Object(claims) = claims else {
            return;
        };
        let table: [(&str, &[&str]); 9] = [
            ("groups", &["radio", "无线", "7"]),
            ("scope", &["read", "write"]),
            ("one", &["a b"]),
            ("/realm_access/roles", &["kb"]),
            ("https://example.com/groups", &["x"]),
            ("/a~1b/c", &["d"]),
            ("realm_access", &[]),
            ("none", &[]),
            ("", &[]),
        ];
        for (name, expected) in table {
            assert_eq!(values(&claims, name), expected, "{name}");
        }
    }
}
