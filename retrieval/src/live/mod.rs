//! Live search: services of the web that are asked while a report is made. Off until it is configured,
//! and asked by requests that want it alone. What comes back is text of strangers: it is cut to size
//! here, and models see it fenced like any passage.

mod addresses;
mod config;
mod exchange;
mod searxng;
mod tavily;

use std::collections::HashSet;

use async_trait::async_trait;
use futures::future::join_all;
use tributary_schemas::ask::{LiveSource, Source};
use tributary_schemas::{ChunkId, ChunkKind, Result};

pub use config::{LiveConfig, LiveKind};

/// Characters of a title that are kept, of an address, and of a date.
const TITLE_CHARACTERS: usize = 200;
const URL_BYTES: usize = 2000;
const DATE_CHARACTERS: usize = 40;

/// A page that a service found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LiveResult {
    /// Its title, in one line.
    pub title: String,
    /// Where it is, HTTP or HTTPS.
    pub url: String,
    /// What the service says stands there.
    pub text: String,
    /// When it was published, as the service writes it.
    pub published: Option<String>,
}

/// A service that searches the web.
#[async_trait]
pub trait LiveSearch: Send + Sync {
    /// What its results are marked with.
    fn name(&self) -> &'static str;

    /// Pages for a query, best first. Ends within the configured deadline, whatever the service does.
    /// Errors name neither address nor key.
    async fn search(&self, query: &str) -> Result<Vec<LiveResult>>;
}

/// The service that is configured, if one is. `Invalid` for settings that cannot be used.
pub fn open(config: &LiveConfig) -> Result<Option<Box<dyn LiveSearch>>> {
    Ok(match config.kind {
        LiveKind::None => None,
        LiveKind::Searxng => Some(Box::new(searxng::Searxng::new(config)?)),
        LiveKind::Tavily => Some(Box::new(tavily::Tavily::new(config)?)),
    })
}

/// Pages for all queries at once, the first ones of each before the second ones, each page once.
/// `None` where no query was answered.
pub async fn search_all(
    service: &dyn LiveSearch,
    queries: &[String],
    config: &LiveConfig,
) -> Option<Vec<LiveResult>> {
    let asked = queries.iter().take(config.queries);
    let answers = join_all(asked.map(|query| service.search(query))).await;
    let mut lists = Vec::new();
    for answer in answers {
        match answer {
            Ok(results) => lists.push(results.into_iter()),
            Err(error) => {
                tracing::warn!(service = service.name(), %error, "a live search failed");
            }
        }
    }
    if lists.is_empty() {
        return None;
    }
    let mut known = HashSet::new();
    let mut found = Vec::new();
    while found.len() < config.results {
        let round: Vec<LiveResult> = lists.iter_mut().filter_map(Iterator::next).collect();
        if round.is_empty() {
            break;
        }
        found.extend(
            round
                .into_iter()
                .filter(|result| known.insert(result.url.clone())),
        );
    }
    found.truncate(config.results);
    Some(found)
}

/// A page as a source with this number.
pub fn source(number: u32, service: &str, found_at: &str, result: LiveResult) -> Source {
    let document_id = format!("live:{}", result.url);
    Source {
        number,
        cited: false,
        chunk_id: ChunkId::derive(&document_id, "live", &[], &result.text, 0),
        document_id,
        version: 0,
        source: service.to_owned(),
        source_path: result.url.clone(),
        title: result.title,
        section_path: Vec::new(),
        pages: Vec::new(),
        url: result.url,
        kind: ChunkKind::Leaf,
        text: result.text,
        language: None,
        description: None,
        lines: None,
        images: Vec::new(),
        relevance: None,
        spans: Vec::new(),
        live: Some(LiveSource {
            service: service.to_owned(),
            found_at: found_at.to_owned(),
            published: result.published,
        }),
    }
}

/// A result as it is taken from a service: cut to size, in plain text; `None` without a text or an
/// address that a reader can open.
fn taken(
    title: &str,
    url: &str,
    text: &str,
    published: Option<&str>,
    text_characters: usize,
) -> Option<LiveResult> {
    let url = plain_url(url)?;
    let text = plain(text, text_characters);
    let title = match plain(title, TITLE_CHARACTERS) {
        empty if empty.is_empty() => url.clone(),
        title => title,
    };
    let published = published.map(|date| plain(date, DATE_CHARACTERS));
    (!text.is_empty()).then_some(LiveResult {
        title,
        url,
        text,
        published: published.filter(|date| !date.is_empty()),
    })
}

/// An address of HTTP without credentials.
fn plain_url(url: &str) -> Option<String> {
    let url = reqwest::Url::parse(url.trim()).ok()?;
    let is_web = matches!(url.scheme(), "http" | "https") && url.has_host();
    let is_bare = url.username().is_empty() && url.password().is_none();
    let url = String::from(url);
    (is_web && is_bare && url.len() <= URL_BYTES).then_some(url)
}

/// One line of signs that are seen.
fn plain(text: &str, characters: usize) -> String {
    let is_seen = |sign: &char| {
        sign.is_whitespace()
            || !(sign.is_control()
                || matches!(sign, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}'))
    };
    let seen: String = text.chars().filter(is_seen).collect();
    let words: Vec<&str> = seen.split_whitespace().collect();
    words.join(" ").chars().take(characters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_is_plain_and_has_an_address_to_open() {
        let result = taken(
            " a\u{0}\n b ",
            "https://x.example/p",
            "t\u{202e}ext",
            Some(""),
            3,
        );
        let result = result.unwrap_or_default();
        assert_eq!(
            (result.title.as_str(), result.text.as_str()),
            ("a b", "tex")
        );
        assert_eq!(result.published, None);
        for url in [
            "",
            "javascript:alert(1)",
            "file:///etc/passwd",
            "http://me:secret@x.y/",
        ] {
            assert_eq!(taken("a", url, "text", None, 9), None, "{url}");
        }
        assert_eq!(taken("a", "http://x.y", " \u{7}", None, 9), None);
        let untitled = taken("", "http://x.y/", "text", None, 9).unwrap_or_default();
        assert_eq!(untitled.title, "http://x.y/");
    }
}
