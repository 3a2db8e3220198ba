//! The provider's endpoints, as its discovery document says (OpenID Connect Discovery 1.0), and the
//! exchange of a code for a token.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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
pub struct Provider(Arc<Shared>);

struct Shared {
    issuer: String,
    client: Client,
    client_id: String,
    secret: Option<String>,
    deadline: Duration,
    refresh_ms: i64,
    retry_ms: i64,
    clock: Clock,
    state: Mutex<State>,
    /// Held by whoever asks for the endpoints.
    turn: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    /// With the time when they were asked for last.
    known: Option<(i64, Arc<Endpoints>)>,
    /// When that was tried last.
    attempted: Option<i64>,
}

/// Where people sign in, asked for once. Fails as a sign-in would.
pub async fn authorization_address(
    trusted: &TokensConfig,
    config: &LoginConfig,
    clock: Clock,
) -> Result<Url> {
    let provider = Provider::new(trusted, config, clock)?;
    Ok(provider.0.discovered().await?.authorization)
}

impl Provider {
    /// Asks nothing yet.
    pub fn new(trusted: &TokensConfig, config: &LoginConfig, clock: Clock) -> Result<Self> {
        let invalid = |what: String| Error::new(ErrorKind::Invalid, what);
        let ms = |seconds: u64| i64::try_from(seconds.saturating_mul(1000)).unwrap_or(i64::MAX);
        let deadline = Duration::from_millis(trusted.jwks_timeout_ms);
        let issuer = Url::parse(&trusted.issuer);
        let issuer = issuer.map_err(|error| invalid(format!("the issuer: {error}")))?;
        Ok(Self(Arc::new(Shared {
            issuer: trusted.issuer.clone(),
            client: client(&issuer, deadline).map_err(invalid)?,
            client_id: config.client_id.clone(),
            secret: config.secret()?,
            deadline,
            refresh_ms: ms(trusted.jwks_refresh_seconds),
            retry_ms: ms(trusted.jwks_retry_seconds),
            clock,
            state: Mutex::default(),
            turn: tokio::sync::Mutex::default(),
        })))
    }

    /// Its endpoints, asked for again once they are old, and never more often than keys are. Those
    /// of before hold while it does not answer: what they give is signed.
    pub async fn endpoints(&self) -> std::result::Result<Arc<Endpoints>, Problem> {
        if let Some(fresh) = self.0.known(self.0.refresh_ms) {
            return Ok(fresh);
        }
        let shared = Arc::clone(&self.0);
        // A task of its own: a browser that goes away ends no question that others wait for.
        let asked = tokio::spawn(async move { shared.discover_in_turn().await });
        if let Err(error) = asked.await {
            tracing::error!(%error, "the identity provider was not asked");
        }
        let known = self.0.known(i64::MAX);
        known.ok_or_else(unanswered)
    }

    /// The token that the provider gives for a code. `sign_in_failed` where it knows no such code.
    pub async fn id_token(
        &self,
        code: &str,
        verifier: &str,
        callback: &str,
    ) -> std::result::Result<String, Problem> {
        let endpoints = self.endpoints().await?;
        let replied = self
            .0
            .exchange(&endpoints.token, [code, verifier, callback]);
        let reply = replied.await.map_err(|error| match error.kind() {
            ErrorKind::Denied => {
                tracing::warn!(error = %error.full_message(), "the identity provider refuses a code");
                Problem::new(Code::SignInFailed, "the identity provider refuses the code")
                    .with_hint("open the page and sign in again; the server's log says more")
            }
            _ => unavailable(&error),
        })?;
        let reply = strict_json::object(&reply);
        let token = reply
            .as_ref()
            .and_then(|reply| reply.get("id_token")?.as_str());
        token.map(str::to_owned).ok_or_else(|| {
            let what = "the reply has no `id_token`; is `openid` among the scopes?";
            unavailable(&Error::new(ErrorKind::Corrupt, what))
        })
    }
}

impl Shared {
    /// The endpoints, if they are not older than that.
    fn known(&self, maximum_ms: i64) -> Option<Arc<Endpoints>> {
        let (state, now) = (self.lock(), (self.clock)());
        let known = state.known.as_ref();
        let known = known.filter(|(at, _)| now.saturating_sub(*at) < maximum_ms);
        known.map(|(_, endpoints)| Arc::clone(endpoints))
    }

    /// Asks, unless somebody did so a moment ago.
    async fn discover_in_turn(&self) {
        let _turn = self.turn.lock().await;
        let now = (self.clock)();
        let attempted = self.lock().attempted.replace(now);
        if attempted.is_some_and(|last| now >= last && now - last < self.retry_ms) {
            self.lock().attempted = attempted;
            return;
        }
        match self.discovered().await {
            Ok(endpoints) => self.lock().known = Some((now, Arc::new(endpoints))),
            Err(error) => {
                tracing::warn!(error = %error.full_message(), "the identity provider does not say where to sign in");
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn exchange(&self, url: &Url, [code, verifier, callback]: [&str; 3]) -> Result<Vec<u8>> {
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
        exchange::reply(request.form(&form), url, self.deadline).await
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
    unanswered()
}

fn unanswered() -> Problem {
    Problem::new(
        Code::IdentityUnavailable,
        "the identity provider did not answer as it must",
    )
    .with_hint("try again in a moment; the server's log says why")
}
