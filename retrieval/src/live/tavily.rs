//! Tavily, a paid search service: `POST /search` with a key as bearer token.

use async_trait::async_trait;
use serde_json::json;
use tributary_schemas::{Error, ErrorKind, Result};

use super::config::LiveConfig;
use super::exchange::{Exchange, Fields};
use super::{LiveResult, LiveSearch};

const FIELDS: Fields = Fields {
    text: "content",
    published: "published_date",
};
/// Results of one query that the service gives at most.
const MAXIMUM_RESULTS: usize = 20;

/// The client of Tavily.
pub struct Tavily {
    exchange: Exchange,
    results: usize,
}

impl Tavily {
    /// Makes no connection yet. `Invalid` without a key.
    pub fn new(config: &LiveConfig) -> Result<Self> {
        let exchange = Exchange::new(config)?;
        if exchange.key.is_none() {
            let what = "query_api.answer.live.api_key is empty, and the service wants one";
            return Err(Error::new(ErrorKind::Invalid, what)
                .with_hint("put the key into a file and name it with `api_key_file`"));
        }
        Ok(Self {
            exchange,
            results: config.results.min(MAXIMUM_RESULTS),
        })
    }
}

#[async_trait]
impl LiveSearch for Tavily {
    fn name(&self) -> &'static str {
        "tavily"
    }

    async fn search(&self, query: &str) -> Result<Vec<LiveResult>> {
        let body = json!({"query": query, "max_results": self.results});
        let exchange = &self.exchange;
        let mut request = exchange.client.post(exchange.url.clone()).json(&body);
        if let Some(key) = &exchange.key {
            request = request.header(reqwest::header::AUTHORIZATION, key);
        }
        exchange.results(request, &FIELDS).await
    }
}
