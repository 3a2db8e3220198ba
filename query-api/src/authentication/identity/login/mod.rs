//! Signing in on the page with the identity provider: OpenID Connect, the code flow with PKCE
//! (OpenID Connect Core, section 3.1; RFC 7636; RFC 9700). Nothing is kept between the two requests
//! of it but that it succeeded: `state`, `nonce` and the verifier of the code are derived from a
//! random cookie, which only the browser has that began.

pub mod config;
mod provider;
mod spent;

use std::sync::Arc;

use actix_web::http::header::HeaderMap;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::Url;
use ring::digest;
use serde::Deserialize;
use tributary_schemas::Result;
use tributary_store::Clock;
use tributary_store::keys::{Holder, random_bytes};

use super::config::TokensConfig;
use super::token::Tokens;
use crate::authentication::cookie_of;
use crate::problem::{Code, Problem};
use config::LoginConfig;
use provider::Provider;
pub use provider::authorization_address;
use spent::Spent;

/// The cookie of a sign-in that has begun.
const COOKIE: &str = "tributary_login";
/// The same where the page is reached by https: no other name of the domain can set one like it.
const HOST_COOKIE: &str = "__Host-tributary_login";
/// How long it may take.
const SECONDS: i64 = 600;

/// The way in.
pub struct Login {
    page: Url,
    client_id: String,
    scope: String,
    /// How long somebody is signed in.
    pub session_seconds: i64,
    tokens: Arc<Tokens>,
    provider: Provider,
    spent: Spent,
    clock: Clock,
}

/// Where a browser is sent, and the cookie that it keeps meanwhile.
pub struct Begun {
    /// The provider's address.
    pub location: String,
    /// A value of `Set-Cookie`.
    pub cookie: String,
}

/// What the provider sends a browser back with.
#[derive(Debug, Deserialize)]
pub struct Returned {
    code: Option<String>,
    state: Option<String>,
    iss: Option<String>,
    error: Option<String>,
}

/// What belongs to one sign-in.
struct Attempt {
    state: blake3::Hash,
    nonce: blake3::Hash,
    verifier: String,
}

impl Attempt {
    /// Of the value of its cookie.
    fn of(cookie: &str) -> Self {
        let derived = |what: &str| {
            let context = format!("tributary sign-in 2026 {what}");
            blake3::Hash::from_bytes(blake3::derive_key(&context, cookie.as_bytes()))
        };
        Self {
            state: derived("state"),
            nonce: derived("nonce"),
            verifier: derived("verifier").to_hex().to_string(),
        }
    }

    fn challenge(&self) -> String {
        let hash = digest::digest(&digest::SHA256, self.verifier.as_bytes());
        URL_SAFE_NO_PAD.encode(hash)
    }
}

impl Login {
    /// As the configuration says; asks the provider nothing yet. `Invalid` for an address that
    /// cannot be used, and a secret that cannot be read.
    pub fn new(
        config: &LoginConfig,
        trusted: &TokensConfig,
        tokens: Arc<Tokens>,
        clock: Clock,
    ) -> Result<Self> {
        Ok(Self {
            page: config.page()?,
            client_id: config.client_id.clone(),
            scope: config.scopes.join(" "),
            session_seconds: i64::try_from(config.session_seconds).unwrap_or(SECONDS),
            tokens,
            provider: Provider::new(trusted, config, Arc::clone(&clock))?,
            spent: Spent::default(),
            clock,
        })
    }

    /// Sends a browser to the provider. `identity_unavailable` while that cannot be asked.
    pub async fn begin(&self) -> std::result::Result<Begun, Problem> {
        let endpoints = self.provider.endpoints().await?;
        let secret = blake3::Hash::from_bytes(random_bytes()?)
            .to_hex()
            .to_string();
        let attempt = Attempt::of(&secret);
        let mut location = endpoints.authorization.clone();
        location
            .query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.client_id)
            .append_pair("redirect_uri", &self.callback())
            .append_pair("scope", &self.scope)
            .append_pair("state", &attempt.state.to_hex())
            .append_pair("nonce", &attempt.nonce.to_hex())
            .append_pair("code_challenge", &attempt.challenge())
            .append_pair("code_challenge_method", "S256");
        Ok(Begun {
            location: location.into(),
            cookie: self.login_cookie(&secret, SECONDS),
        })
    }

    /// Who came back. `unauthenticated` where this is not the browser that began, or the provider
    /// let nobody in; a code of a token's refusal for what it says.
    pub async fn finish(
        &self,
        returned: &Returned,
        headers: &HeaderMap,
    ) -> std::result::Result<Holder, Problem> {
        let cookie = cookie_of(headers, self.cookie_name());
        // Only what was made here is random enough.
        let cookie = cookie.filter(|value| blake3::Hash::from_hex(value).is_ok());
        let attempt = cookie.map(Attempt::of);
        let attempt = attempt.ok_or_else(|| failed("it was not begun in this browser"))?;
        let state = returned.state.as_deref().unwrap_or_default();
        // Hashes are compared in constant time.
        if !blake3::Hash::from_hex(state).is_ok_and(|state| state == attempt.state) {
            return Err(failed("it was begun in another tab, or elsewhere"));
        }
        // A reply of another provider (RFC 9207).
        let is_foreign = |issuer: &String| *issuer != self.tokens.issuer();
        if returned.iss.as_ref().is_some_and(is_foreign) {
            return Err(failed("another provider answered"));
        }
        let code = match (&returned.code, &returned.error) {
            (Some(code), None) => code,
            _ => return Err(failed("the identity provider let nobody in")),
        };
        let callback = self.callback();
        let token = self
            .provider
            .id_token(code, &attempt.verifier, &callback)
            .await?;
        let (holder, nonce) = self.tokens.sign_in(&token, &self.client_id).await?;
        let nonce = nonce.and_then(|nonce| blake3::Hash::from_hex(nonce).ok());
        if nonce.is_none_or(|nonce| nonce != attempt.nonce) {
            return Err(failed("the token belongs to another sign-in"));
        }
        match self.is_first(&attempt) {
            true => Ok(holder),
            false => Err(failed("it succeeded before")),
        }
    }

    /// Takes note that it succeeded, which it does once, even at a provider that takes a code twice.
    fn is_first(&self, attempt: &Attempt) -> bool {
        let now = (self.clock)();
        self.spent.spend(attempt.state, now + SECONDS * 1000, now)
    }

    /// The `Set-Cookie` that takes the cookie of a sign-in away.
    pub fn forget(&self) -> String {
        self.login_cookie("", 0)
    }

    /// Where the page is.
    pub fn page(&self) -> &Url {
        &self.page
    }

    /// What cookies have beside their name and value, where the page is reached by https.
    pub fn secure(&self) -> &'static str {
        match self.page.scheme() {
            "https" => "; Secure",
            _ => "",
        }
    }

    fn cookie_name(&self) -> &'static str {
        match self.secure().is_empty() {
            true => COOKIE,
            false => HOST_COOKIE,
        }
    }

    fn callback(&self) -> String {
        format!("{}sign-in/callback", self.page)
    }

    /// Lax: the browser comes back from the provider's page.
    fn login_cookie(&self, value: &str, seconds: i64) -> String {
        let (name, secure) = (self.cookie_name(), self.secure());
        format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}")
    }
}

fn failed(why: &str) -> Problem {
    let what = format!("signing in did not succeed: {why}");
    Problem::new(Code::SignInFailed, what).with_hint("open the page and sign in again")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_a_sign_in_is_of_its_cookie_and_tells_nothing_of_it() {
        let (one, other) = (Attempt::of("a"), Attempt::of("b"));
        assert_eq!(one.state, Attempt::of("a").state);
        assert_ne!(one.state, other.state);
        assert_ne!(one.state, one.nonce);
        assert_ne!(one.verifier, one.state.to_hex().to_string());
        assert_eq!((one.verifier.len(), one.challenge().len()), (64, 43));
        assert_ne!(one.challenge(), other.challenge());
    }
}
