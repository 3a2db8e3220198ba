//! Settings of signing in on the page, `[query_api.server.identity.login]`.

use reqwest::Url;
use serde::{Deserialize, Serialize};
use tributary_models::http_client::is_this_machine;
use tributary_schemas::{Error, ErrorKind, Result};

const SECTION: &str = "query_api.server.identity.login";
/// A week.
const MAXIMUM_SESSION_SECONDS: u64 = 7 * 24 * 3600;

/// Signing in on the page with the identity provider that makes the tokens.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LoginConfig {
    /// How the provider calls this server; empty offers no such way.
    pub client_id: String,
    /// File with the secret that the provider gave it; empty for a public client.
    pub client_secret_file: String,
    /// Where browsers have the page.
    pub page_url: String,
    /// What is asked for; `openid` must be there.
    pub scopes: Vec<String>,
    /// How long somebody is signed in.
    pub session_seconds: u64,
}

impl LoginConfig {
    /// Whether this way is offered.
    pub fn is_on(&self) -> bool {
        !self.client_id.is_empty()
    }

    /// Everything that is wrong with the values, one line each.
    pub fn problems(&self, accepts_tokens: bool) -> Vec<String> {
        if !self.is_on() {
            return Vec::new();
        }
        let mut problems = Vec::new();
        if !accepts_tokens {
            problems.push("client_id is set and query_api.server.identity.tokens is not: it says who the provider is".to_owned());
        }
        if !self.scopes.iter().any(|scope| scope == "openid") {
            problems.push("scopes must have `openid`".to_owned());
        }
        if !(60..=MAXIMUM_SESSION_SECONDS).contains(&self.session_seconds) {
            problems.push("session_seconds must be between 60 and 604800".to_owned());
        }
        problems.extend(self.page().err().map(|error| error.to_string()));
        let place = |what: String| format!("{SECTION}.{what}");
        problems.into_iter().map(place).collect()
    }

    /// The name by which browsers call the server, where this way is offered.
    pub fn host(&self) -> Option<String> {
        let page = self.is_on().then(|| self.page().ok()).flatten();
        page?.host_str().map(str::to_owned)
    }

    /// The address of the page, with a stroke at its end. `Invalid` for what is none, and for one
    /// over which codes would travel openly.
    pub(super) fn page(&self) -> Result<Url> {
        let invalid = |what: &str| Error::new(ErrorKind::Invalid, format!("page_url {what}"));
        let address = format!("{}/", self.page_url.trim_end_matches('/'));
        let url = Url::parse(&address).map_err(|_| {
            invalid(
                "is the address at which browsers have the page, such as https://kb.example.com",
            )
        })?;
        if url.query().is_some() || url.fragment().is_some() {
            return Err(invalid("has more than a path behind the host"));
        }
        match url.scheme() {
            "https" => Ok(url),
            "http" if is_this_machine(&url) => Ok(url),
            _ => Err(invalid("must be https://, but for this machine")),
        }
    }

    /// The client's secret, if there is one.
    pub(super) fn secret(&self) -> Result<Option<String>> {
        let file = &self.client_secret_file;
        if file.is_empty() {
            return Ok(None);
        }
        let secret = tributary_schemas::files::read_to_string(file);
        let secret = secret
            .map_err(|error| Error::io(format!("{SECTION}.client_secret_file {file}"), &error))?;
        Ok(Some(secret.trim().to_owned()))
    }
}
