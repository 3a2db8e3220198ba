//! The provider's endpoints, as its discovery document says (OpenID Connect Discovery 1.0), and the
//! exchange of a code for a token.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::AUTHORIZATION;
use reqwest::{Client, Url};
use serde_json::{Map, Value};
use tributary_models::http_client::client;
use tributary_schemas::{Error, ErrorKind, Result};
use tributary_store::Clock;

use super::config::LoginConfig;
use crate::authentication::identity::config::TokensConfig;
use crate::authentication::identity::{exchange, strict_json};
use crate::http::percent;
use crate::problem::{Code, Problem};

/// Where the provider does what.
pub struct Endpoints {
    /// Where people sign in.
    pub authorization: Url,
    token: Url,
}

/// The provider as a client knows it.
pub struct Provider {
    issuer: String,
    client: Client,
    client_id: String,
    secret: Option<String>,
    deadline: Duration,
    refresh_ms: i64,
    clock: Clock,
    /// With the time when they were fetched.
    known: Mutex<Option<(i64, Arc<Endpoints>)>>,
}

impl Provider {
    /// Asks nothing yet.
    pub fn new(trusted: &TokensConfig, config: &LoginConfig, clock: Clock) -> Result<Self> {
        let invalid = |what: String| Error::new(ErrorKind::Invalid, what);
        let deadline = Duration::from_millis(trusted.jwks_timeout_ms);
        let issuer = Url::parse(&trusted.issuer);
        let issuer = issuer.map_err(|error| invalid(format!("the issuer: {error}")))?;
        let refresh_ms = trusted.jwks_refresh_seconds.saturating_mul(1000);
        Ok(Self {
            issuer: trusted.issuer.clone(),
            client: client(&issuer, deadline).map_err(invalid)?,
            client_id: config.client_id.clone(),
            secret: config.secret()?,
            deadline,
            refresh_ms: i64::try_from(refresh_ms).unwrap_or(i64::MAX),
            clock,
            known: Mutex::default(),
        })
    }

    /// Its endpoints, asked for again once they are old.
    pub async fn endpoints(&self) -> std::result::Result<Arc<Endpoints>, Problem> {
        let now = (self.clock)();
        let known = self
            .known
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        if let Some((_, known)) = known.filter(|(at, _)| now.saturating_sub(*at) < self.refresh_ms)
        {
            return Ok(known);
        }
        let discovered = Arc::new(
            self.discovered()
                .await
                .map_err(|error| unavailable(&error))?,
        );
        let kept = Some((now, Arc::clone(&discovered)));
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = kept;
        Ok(discovered)
    }

    /// The token that the provider gives for a code.
    pub async fn id_token(
        &self,
        code: &str,
        verifier: &str,
        callback: &str,
    ) -> std::result::Result<String, Problem> {
        let url = &self.endpoints().await?.token;
        let mut form = BTreeMap::from([
            ("grant_type", "authorization_code"),
            ("code", code),
            ("code_verifier", verifier),
            ("redirect_uri", callback),
        ]);
        let mut request = self.client.post(url.clone());
        match &self.secret {
            // RFC 6749, section 2.3.1: both encoded before they are joined.
            Some(secret) => {
                let (id, secret) = (percent::encoded(&self.client_id), percent::encoded(secret));
                let joined = STANDARD.encode(format!("{id}:{secret}"));
                request = request.header(AUTHORIZATION, format!("Basic {joined}"));
            }
            None => {
                form.insert("client_id", &self.client_id);
            }
        }
        let replied = exchange::reply(request.form(&form), url, self.deadline).await;
        let reply = replied.map_err(|error| unavailable(&error))?;
        let reply = strict_json::object(&reply);
        let token = reply
            .as_ref()
            .and_then(|reply| reply.get("id_token")?.as_str());
        token.map(str::to_owned).ok_or_else(|| {
            unavailable(&Error::new(
                ErrorKind::Corrupt,
                "the reply has no `id_token`",
            ))
        })
    }

    async fn discovered(&self) -> Result<Endpoints> {
        let corrupt = |what: String| Error::new(ErrorKind::Corrupt, what);
        let base = self.issuer.trim_end_matches('/');
        let url = Url::parse(&format!("{base}/.well-known/openid-configuration"));
        let url = url.map_err(|error| corrupt(format!("the issuer: {error}")))?;
        let reply = exchange::reply(self.client.get(url.clone()), &url, self.deadline).await?;
        let document = strict_json::object(&reply);
        let document = document.ok_or_else(|| corrupt(format!("{url} is no JSON object")))?;
        if document.get("issuer").and_then(Value::as_str) != Some(&self.issuer) {
            return Err(corrupt(format!("{url} is of another issuer")));
        }
        let endpoint = |name: &str| {
            endpoint(&document, name, url.scheme())
                .ok_or_else(|| corrupt(format!("{url} has no `{name}` that can be used")))
        };
        Ok(Endpoints {
            authorization: endpoint("authorization_endpoint")?,
            token: endpoint("token_endpoint")?,
        })
    }
}

/// One that is no less safe than where it was found.
fn endpoint(document: &Map<String, Value>, name: &str, scheme: &str) -> Option<Url> {
    let url = Url::parse(document.get(name)?.as_str()?).ok()?;
    (url.scheme() == "https" || (url.scheme() == "http" && scheme == "http")).then_some(url)
}

/// The log has the whole of it: a browser need not know the provider's inside.
fn unavailable(error: &Error) -> Problem {
    tracing::warn!(error = %error.full_message(), "nobody can sign in with the identity provider");
    Problem::new(
        Code::IdentityUnavailable,
        "the identity provider did not answer as it must",
    )
    .with_hint("try again in a moment; the server's log says why")
}
