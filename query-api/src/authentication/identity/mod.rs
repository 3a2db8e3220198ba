//! Who calls, as somebody else says: tokens of an identity provider, and headers of a proxy that is
//! trusted. Both name a user, and what else they say becomes roles, groups and a clearance by one
//! table ([`mapping`]): whom it gives no role may do nothing.

pub mod config;
mod jws;
mod key_set;
mod key_source;
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
use mapping::Mapping;
use proxy::Proxy;

/// Everybody who is accepted beside the holders of keys.
pub struct Identities {
    /// Tokens of an identity provider, if any are accepted.
    pub tokens: Option<Tokens>,
    /// The proxy that says who calls, if there is one.
    pub proxy: Option<Proxy>,
}

impl Identities {
    /// As the configuration wants it; fetches nothing yet. `Invalid` for settings that cannot be
    /// used, which [`IdentityConfig::problems`] names all at once.
    pub fn new(config: &IdentityConfig, clock: Clock) -> Result<Self> {
        let mapping = Arc::new(Mapping::new(config)?);
        let tokens = match config.tokens.is_on() {
            true => Some(Tokens::new(&config.tokens, Arc::clone(&mapping), clock)?),
            false => None,
        };
        let proxy = match config.proxy.is_on() {
            true => Some(Proxy::new(&config.proxy, mapping)?),
            false => None,
        };
        Ok(Self { tokens, proxy })
    }
}
