//! SearXNG, a metasearch engine that one runs oneself: `GET /search?q=…&format=json`, if its
//! `settings.yml` allows the format.

use async_trait::async_trait;
use tributary_schemas::Result;

use super::config::LiveConfig;
use super::exchange::{Exchange, Fields};
use super::{LiveResult, LiveSearch};

const FIELDS: Fields = Fields {
    text: "content",
    published: "publishedDate",
};

/// The client of a SearXNG.
pub struct Searxng(Exchange);

impl Searxng {
    /// Makes no connection yet.
    pub fn new(config: &LiveConfig) -> Result<Self> {
        Exchange::new(config).map(Self)
    }
}

#[async_trait]
impl LiveSearch for Searxng {
    fn name(&self) -> &'static str {
        "searxng"
    }

    async fn search(&self, query: &str) -> Result<Vec<LiveResult>> {
        let Self(exchange) = self;
        let mut request = exchange
            .client
            .get(exchange.url.clone())
            .query(&[("q", query), ("format", "json")]);
        // One that stands behind a proxy may want a key.
        if let Some(key) = &exchange.key {
            request = request.header(reqwest::header::AUTHORIZATION, key);
        }
        exchange.results(request, &FIELDS).await
    }
}
