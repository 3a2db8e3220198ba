//! Who calls, as somebody else says: tokens of an identity provider, and headers of a proxy that is
//! trusted. Both name a user, and what else they say becomes roles, groups and a clearance by one
//! table ([`mapping`]): whom it gives no role may do nothing.

pub mod config;
mod exchange;
mod jws;
mod key_set;
mod key_source;
pub mod login;
mod mapping;
mod proxy;
mod refusal;
mod strict_json;
mod token;

use std::sync::Arc;

use tributary_schemas::Result;
use tributary_store::Clock;

pub use key_source::key_count;
pub use token::Tokens;

use config::IdentityConfig;
use login::Login;
use mapping::Mapping;
use proxy::Proxy;

/// Everybody who is accepted beside the holders of keys.
pub struct Identities {
    /// Tokens of an identity provider, if any are accepted.
    pub tokens: Option<Arc<Tokens>>,
    /// Signing in on the page with that provider, if it is offered.
    pub login: Option<Login>,
    /// The proxy that says who calls, if there is one.
    pub proxy: Option<Proxy>,
}

impl Identities {
    /// As the configuration wants it; fetches nothing yet. `Invalid` for settings that cannot be
    /// used, which [`IdentityConfig::problems`] names all at once.
    pub fn new(config: &IdentityConfig, clock: Clock) -> Result<Self> {
        let mapping = Arc::new(Mapping::new(config)?);
        let tokens = match config.tokens.is_on() {
            true => {
                let tokens = Tokens::new(&config.tokens, Arc::clone(&mapping), Arc::clone(&clock));
                Some(Arc::new(tokens?))
            }
            false => None,
        };
        let login = match &tokens {
            Some(tokens) if config.login.is_on() => {
                let tokens = Arc::clone(tokens);
                Some(Login::new(&config.login, &config.tokens, tokens, clock)?)
            }
            _ => None,
        };
        let proxy = match config.proxy.is_on() {
            true => Some(Proxy::new(&config.proxy, mapping)?),
            false => None,
        };
        Ok(Self {
            tokens,
            login,
            proxy,
        })
    }
}
