//! Users whom somebody else vouches for: tokens of an identity provider, and a trusted proxy.

mod audit;
mod forged;
mod forger;
mod issuer;
mod login;
mod provider;
mod proxy;
mod rsa;
mod tokens;

use tributary_query_api::config::{NetworkAccess, ServerConfig};

use crate::common;
use crate::common::client::Answer;
use crate::rights::Keyed;
use issuer::{AUDIENCE, ISSUER};

const ROLES: [(&str, &str); 3] = [
    ("kb-readers", "reader"),
    ("编辑", "reader; publisher=wiki"),
    ("kb-admins", "administrator"),
];

/// A server that wants keys and maps values to [`ROLES`].
fn config() -> ServerConfig {
    let mut config = common::server_config();
    config.network_access = NetworkAccess::Authenticated;
    let roles = ROLES.map(|(value, roles)| (value.to_owned(), roles.to_owned()));
    config.identity.roles.extend(roles);
    config.identity.clearances = ["秘密", "机密", "绝密"].map(str::to_owned).into();
    config
}

/// The same, which accepts tokens by keys at this address.
fn accepting_tokens(jwks: String) -> ServerConfig {
    let mut config = config();
    config.identity.tokens.issuer = ISSUER.to_owned();
    config.identity.tokens.audiences = vec![AUDIENCE.to_owned(), "other-name".to_owned()];
    config.identity.tokens.jwks = jwks;
    config
}

async fn get(keyed: &Keyed, path: &str, token: &str) -> Answer {
    let authorization = format!("Bearer {token}");
    let headers = [("Authorization", authorization.as_str())];
    keyed.server.send("GET", path, &headers, b"").await
}
