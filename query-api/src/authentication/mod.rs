//! Who shows what: keys in `Authorization: Bearer …`, or the cookie that the page gets for one.
//!
//! The page's pictures, event streams and downloads are fetched by the browser, which sends cookies
//! and nothing else; so the page trades its key for a cookie that scripts cannot read. It is not the
//! key, as cookies go to every port of a machine, but a random name for a session of this process.
//! A session ends with its key, after twelve hours, when the page signs out, or with the process.

mod sessions;

use std::sync::Arc;

use actix_web::http::header::{self, HeaderMap};
use tributary_schemas::{Error, ErrorKind, Result};
use tributary_store::Clock;
use tributary_store::keys::{Holder, KeyRing, Refusal};

use crate::config::{DocumentsWithoutAccess, NetworkAccess, ServerConfig};
use crate::http::caller::Caller;
use crate::problem::{Code, Problem};
use sessions::Sessions;

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
    readers_see_unstated: bool,
    /// Behind the attributes of its cookies.
    secure: &'static str,
}

impl Authentication {
    /// As the configuration wants it. `Denied` where keys are wanted and there is no ring of them.
    pub fn new(config: &ServerConfig, ring: Option<Arc<KeyRing>>, clock: Clock) -> Result<Self> {
        if config.network_access != NetworkAccess::Authenticated {
            return Ok(Self(None));
        }
        let ring = ring.ok_or_else(|| {
            let what = "keys are wanted (query_api.server.network_access), and there are none";
            Error::new(ErrorKind::Denied, what)
        })?;
        Ok(Self(Some(Keys {
            ring,
            clock,
            sessions: Sessions::default(),
            readers_see_unstated: config.documents_without_access
                == DocumentsWithoutAccess::Readers,
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

    /// Who sends a request with these headers. `unauthenticated`, `key_expired` or `key_revoked`
    /// for nobody who may; `unavailable` while the keys cannot be read.
    pub fn caller(&self, headers: &HeaderMap) -> std::result::Result<Caller, Problem> {
        let Some(keys) = &self.0 else {
            return Ok(Caller::local());
        };
        let holder = keys.holder(headers)?;
        Ok(Caller::of(holder, keys.readers_see_unstated))
    }

    /// The cookie for who shows a key in these headers: name, value and attributes, as `Set-Cookie`
    /// has them. `None` where no key is wanted.
    pub fn cookie(&self, headers: &HeaderMap) -> std::result::Result<Option<String>, Problem> {
        let Some(keys) = &self.0 else {
            return Ok(None);
        };
        let holder = keys.bearer(headers)?;
        let now = (keys.clock)();
        let until = now.saturating_add(SESSION_SECONDS * 1000);
        let value = keys.sessions.begin(&holder, until, now)?;
        let secure = keys.secure;
        Ok(Some(format!(
            "{COOKIE}={value}; Path=/; Max-Age={SESSION_SECONDS}; HttpOnly; SameSite=Strict{secure}"
        )))
    }

    /// Ends the session of these headers; the `Set-Cookie` that takes its cookie away.
    pub fn end_session(&self, headers: &HeaderMap) -> String {
        if let (Some(keys), Some(value)) = (&self.0, session_cookie(headers)) {
            keys.sessions.end(value);
        }
        format!("{COOKIE}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict")
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
    fn holder(&self, headers: &HeaderMap) -> std::result::Result<Holder, Problem> {
        if headers.contains_key(header::AUTHORIZATION) {
            return self.bearer(headers);
        }
        let now = (self.clock)();
        let session = session_cookie(headers).and_then(|value| self.sessions.get(value, now));
        let session = session.ok_or_else(no_key)?;
        let id = session.key.as_deref();
        self.ring
            .still_holds(id, &session.mark, now)
            .map_err(refused)
    }

    /// Exactly one header, of exactly this form: anything else is no key.
    fn bearer(&self, headers: &HeaderMap) -> std::result::Result<Holder, Problem> {
        let mut shown = headers.get_all(header::AUTHORIZATION);
        let (Some(value), None) = (shown.next(), shown.next()) else {
            return Err(no_key());
        };
        let value = value.to_str().ok().and_then(|text| text.split_once(' '));
        let token = value.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        let (_, token) = token.ok_or_else(no_key)?;
        self.ring
            .holder(token.trim(), (self.clock)())
            .map_err(refused)
    }
}

fn session_cookie(headers: &HeaderMap) -> Option<&str> {
    let pairs = headers.get_all(header::COOKIE);
    let pairs = pairs
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'));
    let mut named = pairs.filter_map(|pair| {
        let (name, value) = pair.trim().split_once('=')?;
        (name == COOKIE).then_some(value)
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
