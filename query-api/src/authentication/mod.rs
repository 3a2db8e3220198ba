//! Who shows what: keys in `Authorization: Bearer …`, tokens of an identity provider there, or the
//! cookie that the page gets for one; or a trusted proxy says it ([`identity`]).
//!
//! The page's pictures, event streams and downloads are fetched by the browser, which sends cookies
//! and nothing else; so the page trades its key for a cookie that scripts cannot read. It is not the
//! key, as cookies go to every port of a machine, but a random name for a session of this process.
//! A session ends with its key or token, after twelve hours, when the page signs out, or with the
//! process.

pub mod identity;
mod sessions;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use actix_web::HttpRequest;
use actix_web::http::header::{self, HeaderMap};
use tributary_schemas::{Error, ErrorKind, Result, SharedNewestRights};
use tributary_store::Clock;
use tributary_store::keys::{Holder, KeyRing, Refusal};

use crate::config::{DocumentsWithoutAccess, NetworkAccess, ServerConfig};
use crate::http::caller::{Caller, Reading};
use crate::problem::{Code, Problem};
use identity::login::{Login, Returned};
use identity::{Identities, Tokens};
use sessions::{Basis, Sessions};

/// Name of the page's cookie.
pub const COOKIE: &str = "tributary_session";
/// How long it is accepted.
pub const SESSION_SECONDS: i64 = 12 * 3600;

/// Says who calls.
pub struct Authentication(Option<Keys>);

struct Keys {
    ring: Arc<KeyRing>,
    clock: Clock,
    sessions: Sessions,
    identities: Identities,
    reading: Reading,
    /// Behind the attributes of its cookies.
    secure: &'static str,
}

/// What a request shows of who sends it.
#[derive(Clone, Copy)]
pub struct Shown<'a> {
    /// Its headers.
    pub headers: &'a HeaderMap,
    /// The address that the connection comes from, whatever headers say.
    pub peer: Option<IpAddr>,
}

impl<'a> From<&'a HttpRequest> for Shown<'a> {
    fn from(request: &'a HttpRequest) -> Self {
        Self {
            headers: request.headers(),
            peer: request.peer_addr().map(|address| address.ip()),
        }
    }
}

/// The same, kept for as long as an answer goes on.
pub struct OwnedShown {
    headers: HeaderMap,
    peer: Option<IpAddr>,
}

impl Shown<'_> {
    /// Keeps it.
    pub fn to_owned(self) -> OwnedShown {
        OwnedShown {
            headers: self.headers.clone(),
            peer: self.peer,
        }
    }
}

impl OwnedShown {
    /// As it was shown.
    pub fn shown(&self) -> Shown<'_> {
        Shown {
            headers: &self.headers,
            peer: self.peer,
        }
    }
}

/// Who calls, and by what that is known.
enum Known {
    /// Whoever shows a key, or a session for one.
    Key(Holder),
    /// Whoever shows a token, which is refused from then on, in milliseconds since 1970.
    Token(Holder, i64),
    /// Whoever has a session for a token.
    Session(Holder),
    /// Whom a proxy names, with every request.
    Proxy(Holder),
}

impl Known {
    fn holder(self) -> Holder {
        match self {
            Self::Key(holder)
            | Self::Token(holder, _)
            | Self::Session(holder)
            | Self::Proxy(holder) => holder,
        }
    }
}

/// What callers are known by.
pub struct AuthenticationParts {
    /// Needed where the configuration wants keys.
    pub ring: Option<Arc<KeyRing>>,
    /// Rights of documents that are newer than those that the index has.
    pub newest_rights: SharedNewestRights,
    /// Says when keys and tokens end.
    pub clock: Clock,
}

impl Authentication {
    /// As the configuration wants it. `Denied` where keys are wanted and there is no ring of them,
    /// `Invalid` for settings of identities that cannot be used.
    pub fn new(config: &ServerConfig, parts: AuthenticationParts) -> Result<Self> {
        if config.network_access != NetworkAccess::Authenticated {
            return Ok(Self(None));
        }
        let ring = parts.ring.ok_or_else(|| {
            let what = "keys are wanted (query_api.server.network_access), and there are none";
            Error::new(ErrorKind::Denied, what)
        })?;
        let valid = Some(config.rights_valid_seconds).filter(|seconds| *seconds > 0);
        let valid = valid.map(Duration::from_secs);
        Ok(Self(Some(Keys {
            ring,
            identities: Identities::new(&config.identity, Arc::clone(&parts.clock))?,
            clock: parts.clock,
            sessions: Sessions::default(),
            reading: Reading {
                sees_unstated: config.documents_without_access == DocumentsWithoutAccess::Readers,
                newest: parts.newest_rights.valid_for(valid),
            },
            secure: match config.tls.files() {
                Some(_) => "; Secure",
                None => "",
            },
        })))
    }

    /// Whether a key must be shown.
    pub fn wants_keys(&self) -> bool {
        self.0.is_some()
    }

    /// Who sends a request that shows this. `unauthenticated`, `key_expired`, `key_revoked` or a
    /// code of a token's refusal for nobody who may; `unavailable` while the keys cannot be read.
    pub async fn caller(&self, shown: Shown<'_>) -> std::result::Result<Caller, Problem> {
        let Some(keys) = &self.0 else {
            return Ok(Caller::local());
        };
        let known = keys.known(shown).await?;
        Ok(Caller::of(known.holder(), &keys.reading))
    }

    /// `unavailable` for whoever sees what their rights allow, while what others say of rights has
    /// not been heard for too long.
    pub fn check_rights_are_known(&self, caller: &Caller) -> std::result::Result<(), Problem> {
        let Some(keys) = self.0.as_ref().filter(|_| caller.viewer().is_some()) else {
            return Ok(());
        };
        keys.reading.newest.check().map_err(Problem::from)
    }

    /// The cookie for who shows a key or a token: name, value and attributes, as `Set-Cookie` has
    /// them. `None` where no key is wanted, and for whom a proxy names.
    pub async fn cookie(&self, shown: Shown<'_>) -> std::result::Result<Option<String>, Problem> {
        let Some(keys) = &self.0 else {
            return Ok(None);
        };
        let now = (keys.clock)();
        let longest = now.saturating_add(SESSION_SECONDS * 1000);
        let (basis, until) = match keys.shown_itself(shown).await? {
            Known::Key(holder) => (Basis::of_key(&holder), longest),
            Known::Token(holder, until) => (Basis::Token(holder), until.min(longest)),
            Known::Session(_) | Known::Proxy(_) => return Ok(None),
        };
        let value = keys.sessions.begin(basis, until, now)?;
        let seconds = until.saturating_sub(now) / 1000;
        Ok(Some(session_cookie(&value, seconds) + keys.secure))
    }

    /// Signing in with an identity provider, where it is offered.
    pub fn login(&self) -> Option<&Login> {
        self.0.as_ref()?.identities.login.as_ref()
    }

    /// The cookie for whom the provider sends back with this.
    pub async fn sign_in(
        &self,
        login: &Login,
        returned: &Returned,
        headers: &HeaderMap,
    ) -> std::result::Result<String, Problem> {
        let keys = self.0.as_ref().ok_or_else(no_key)?;
        let holder = login.finish(returned, headers).await?;
        let key = holder.id.as_deref().unwrap_or_default();
        tracing::info!(target: "tributary_audit", key, "somebody signed in with the identity provider");
        let (now, seconds) = ((keys.clock)(), login.session_seconds);
        let until = now.saturating_add(seconds.saturating_mul(1000));
        let value = keys.sessions.begin(Basis::Token(holder), until, now)?;
        let secure = [keys.secure, login.secure()];
        let secure = secure.into_iter().find(|secure| !secure.is_empty());
        Ok(session_cookie(&value, seconds) + secure.unwrap_or_default())
    }

    /// Ends the session of these headers; the `Set-Cookie` that takes its cookie away.
    pub fn end_session(&self, headers: &HeaderMap) -> String {
        if let (Some(keys), Some(value)) = (&self.0, cookie_of(headers, COOKIE)) {
            keys.sessions.end(value);
        }
        session_cookie("", 0)
    }

    /// Keeps when keys were used, now and then, beside the requests.
    pub fn note_uses(&self) {
        let Some(keys) = &self.0 else { return };
        if !keys.ring.has_uses_to_write((keys.clock)()) {
            return;
        }
        let ring = Arc::clone(&keys.ring);
        // Nobody waits for it.
        drop(tokio::task::spawn_blocking(move || {
            if let Err(error) = ring.write_uses() {
                tracing::warn!(error = %error.full_message(), "when keys were used cannot be kept");
            }
        }));
    }
}

impl Keys {
    async fn known(&self, shown: Shown<'_>) -> std::result::Result<Known, Problem> {
        let is_shown = shown.headers.contains_key(header::AUTHORIZATION);
        if let Some(holder) = self.named_by_proxy(shown)? {
            return Ok(Known::Proxy(holder));
        }
        match is_shown {
            true => self.bearer(shown.headers).await,
            false => self.session(shown.headers),
        }
    }

    /// The same for what the request shows itself: a session makes no other.
    async fn shown_itself(&self, shown: Shown<'_>) -> std::result::Result<Known, Problem> {
        match self.named_by_proxy(shown)? {
            Some(holder) => Ok(Known::Proxy(holder)),
            None => self.bearer(shown.headers).await,
        }
    }

    fn named_by_proxy(&self, shown: Shown<'_>) -> std::result::Result<Option<Holder>, Problem> {
        match &self.identities.proxy {
            Some(proxy) => proxy.holder(shown.headers, shown.peer),
            None => Ok(None),
        }
    }

    fn session(&self, headers: &HeaderMap) -> std::result::Result<Known, Problem> {
        let now = (self.clock)();
        let basis = cookie_of(headers, COOKIE).and_then(|value| self.sessions.get(value, now));
        match basis.ok_or_else(no_key)? {
            Basis::Token(holder) => Ok(Known::Session(holder)),
            Basis::Key { id, mark } => {
                let holder = self.ring.still_holds(id.as_deref(), &mark, now);
                holder.map(Known::Key).map_err(refused)
            }
        }
    }

    async fn bearer(&self, headers: &HeaderMap) -> std::result::Result<Known, Problem> {
        let shown = bearer_of(headers).ok_or_else(no_key)?;
        match &self.identities.tokens {
            Some(tokens) if Tokens::is_one(shown) => {
                let accepted = tokens.holder(shown).await?;
                Ok(Known::Token(accepted.holder, accepted.until_ms))
            }
            _ => {
                let holder = self.ring.holder(shown, (self.clock)());
                holder.map(Known::Key).map_err(refused)
            }
        }
    }
}

/// Exactly one header, of exactly this form: anything else is no key.
fn bearer_of(headers: &HeaderMap) -> Option<&str> {
    let mut shown = headers.get_all(header::AUTHORIZATION);
    let (Some(value), None) = (shown.next(), shown.next()) else {
        return None;
    };
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then_some(token.trim())
}

fn session_cookie(value: &str, seconds: i64) -> String {
    format!("{COOKIE}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict")
}

/// The value of the cookie of this name, if there is one and no more.
fn cookie_of<'a>(headers: &'a HeaderMap, wanted: &str) -> Option<&'a str> {
    let pairs = headers.get_all(header::COOKIE);
    let pairs = pairs
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'));
    let mut named = pairs.filter_map(|pair| {
        let (name, value) = pair.trim().split_once('=')?;
        (name == wanted).then_some(value)
    });
    // Two of them: somebody else set one.
    let first = named.next()?;
    named.next().is_none().then_some(first)
}

fn no_key() -> Problem {
    let what = "this server wants a key, and none that it knows was shown";
    Problem::new(Code::Unauthenticated, what).with_hint(
        "send `Authorization: Bearer <key>`; `tributary keys create` makes keys, verbs take --key-file or TRIBUTARY_KEY",
    )
}

fn refused(refusal: Refusal) -> Problem {
    match refusal {
        Refusal::Unknown => no_key(),
        Refusal::Expired => Problem::new(Code::KeyExpired, "the time of this key is over")
            .with_hint("an administrator makes another with `tributary keys create`"),
        Refusal::Revoked => Problem::new(Code::KeyRevoked, "this key was revoked")
            .with_hint("an administrator makes another with `tributary keys create`"),
        Refusal::Unreadable => Problem::new(
            Code::Unavailable,
            "the server cannot read its keys and lets nobody in",
        )
        .with_hint("its log says why"),
    }
}
