//! The issuer's keys as they are had: fetched when they are needed first, again when they are old
//! or a token names one that is not among them, and never more often than once in a stated time,
//! whatever tokens are sent. While they cannot be fetched, those that are known go on for a while.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use reqwest::{Client, Url};
use tributary_models::http_client::client;
use tributary_schemas::{Error, ErrorKind, Result};
use tributary_store::Clock;

use super::config::TokensConfig;
use super::exchange::{self, MAXIMUM_BYTES};
use super::jws::{Algorithm, PublicKey};
use super::key_set::{KeySet, Lookup};
use super::refusal::TokenRefusal;

/// The keys of one issuer.
pub struct KeySource(Arc<Shared>);

struct Shared {
    origin: Origin,
    times: Times,
    clock: Clock,
    state: Mutex<State>,
    /// Held by whoever fetches.
    turn: tokio::sync::Mutex<()>,
}

/// In milliseconds.
struct Times {
    refresh: i64,
    retry: i64,
    valid: i64,
}

#[derive(Default)]
struct State {
    keys: Option<Arc<KeySet>>,
    /// When they were fetched last, milliseconds since 1970.
    fetched: i64,
    /// When that was tried last.
    attempted: Option<i64>,
    has_failed: bool,
}

/// Where keys are.
enum Origin {
    File(PathBuf),
    Web {
        client: Client,
        url: Url,
        deadline: Duration,
    },
}

/// Fetches the keys of these settings and counts those that can be used, for `doctor`.
pub async fn key_count(config: &TokensConfig) -> Result<usize> {
    let keys = Origin::new(config)?.fetch().await?;
    Ok(keys.count())
}

impl KeySource {
    /// Fetches nothing yet. `Invalid` for an address that cannot be used.
    pub fn new(config: &TokensConfig, clock: Clock) -> Result<Self> {
        let ms = |seconds: u64| i64::try_from(seconds.saturating_mul(1000)).unwrap_or(i64::MAX);
        Ok(Self(Arc::new(Shared {
            origin: Origin::new(config)?,
            times: Times {
                refresh: ms(config.jwks_refresh_seconds),
                retry: ms(config.jwks_retry_seconds),
                valid: ms(config.jwks_valid_seconds),
            },
            clock,
            state: Mutex::default(),
            turn: tokio::sync::Mutex::default(),
        })))
    }

    /// The keys with which a token may be signed that names this one. Waits for a fetch only where
    /// none of those that are known is meant.
    pub async fn keys(
        &self,
        id: Option<&str>,
        algorithm: Algorithm,
    ) -> std::result::Result<Vec<PublicKey>, TokenRefusal> {
        if let Some(known) = self.0.look_up(id, algorithm) {
            if self.0.is_to_be_refreshed() {
                // Nobody waits for it.
                drop(self.begin_fetch());
            }
            return known;
        }
        // A task of its own: whoever goes away ends no fetch that others wait for.
        if let Err(error) = self.begin_fetch().await {
            tracing::error!(%error, "keys of the identity provider were not fetched");
        }
        let found = self.0.look_up(id, algorithm);
        found.unwrap_or_else(|| {
            let is_known_well = self.0.valid_keys().is_some() && !self.0.lock().has_failed;
            Err(match is_known_well {
                true => TokenRefusal::UnknownKey,
                false => TokenRefusal::Unavailable,
            })
        })
    }

    fn begin_fetch(&self) -> tokio::task::JoinHandle<()> {
        let shared = Arc::clone(&self.0);
        tokio::spawn(async move { shared.fetch_in_turn().await })
    }
}

impl Shared {
    /// `None` where the key is not among those that are known.
    fn look_up(
        &self,
        id: Option<&str>,
        algorithm: Algorithm,
    ) -> Option<std::result::Result<Vec<PublicKey>, TokenRefusal>> {
        let keys = self.valid_keys()?;
        match keys.look_up(id, algorithm) {
            Lookup::Found(keys) => Some(Ok(keys.into_iter().cloned().collect())),
            Lookup::Unfit => Some(Err(TokenRefusal::Algorithm)),
            Lookup::Unknown => None,
        }
    }

    fn valid_keys(&self) -> Option<Arc<KeySet>> {
        let (state, now) = (self.lock(), (self.clock)());
        let is_valid = now.saturating_sub(state.fetched) < self.times.valid;
        state.keys.as_ref().filter(|_| is_valid).map(Arc::clone)
    }

    fn is_to_be_refreshed(&self) -> bool {
        let is_old = {
            let (state, now) = (self.lock(), (self.clock)());
            now.saturating_sub(state.fetched) >= self.times.refresh
        };
        is_old && self.may_attempt()
    }

    fn may_attempt(&self) -> bool {
        let (attempted, now) = (self.lock().attempted, (self.clock)());
        // A clock that was set back holds up nothing.
        attempted.is_none_or(|last| now < last || now - last >= self.times.retry)
    }

    /// Fetches, unless somebody did so a moment ago.
    async fn fetch_in_turn(&self) {
        let _turn = self.turn.lock().await;
        if !self.may_attempt() {
            return;
        }
        self.lock().attempted = Some((self.clock)());
        let fetched = self.origin.fetch().await;
        let mut state = self.lock();
        state.has_failed = fetched.is_err();
        match fetched {
            Ok(keys) => {
                state.keys = Some(Arc::new(keys));
                state.fetched = (self.clock)();
            }
            Err(error) => {
                tracing::warn!(error = %error.full_message(), "keys of the identity provider cannot be fetched");
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Origin {
    fn new(config: &TokensConfig) -> Result<Self> {
        let Some(url) = config.jwks_address()? else {
            return Ok(Self::File(PathBuf::from(&config.jwks)));
        };
        let deadline = Duration::from_millis(config.jwks_timeout_ms);
        let invalid = |what: String| Error::new(ErrorKind::Invalid, what);
        let client = client(&url, deadline).map_err(invalid)?;
        Ok(Self::Web {
            client,
            url,
            deadline,
        })
    }

    async fn fetch(&self) -> Result<KeySet> {
        let (bytes, place) = match self {
            Self::File(path) => (file(path.clone()).await?, path.display().to_string()),
            Self::Web {
                client,
                url,
                deadline,
            } => {
                let fetched = exchange::reply(client.get(url.clone()), url, *deadline);
                (fetched.await?, url.to_string())
            }
        };
        KeySet::parse(&bytes).map_err(|error| {
            let hint = "it must be the JWKS: `jwks_uri` of ISSUER/.well-known/openid-configuration";
            Error::new(error.kind(), format!("{place} {error}")).with_hint(hint)
        })
    }
}

async fn file(path: PathBuf) -> Result<Vec<u8>> {
    let read = move || {
        let failed = |error: std::io::Error| {
            Error::io(
                format!("cannot read the keys in {}", path.display()),
                &error,
            )
        };
        let length = std::fs::metadata(&path).map_err(failed)?;
        if !length.is_file() || length.len() > MAXIMUM_BYTES as u64 {
            let what = format!("{} is no file of at most 1 MiB", path.display());
            return Err(Error::new(ErrorKind::Invalid, what));
        }
        std::fs::read(&path).map_err(failed)
    };
    let read = tokio::task::spawn_blocking(read).await;
    read.unwrap_or_else(|error| Err(Error::new(ErrorKind::Internal, error.to_string())))
}

#[cfg(test)]
mod tests;
