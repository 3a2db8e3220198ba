//! `POST /v1/rendered`: Markdown as HTML for the page, with the words of a question marked.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tributary_retrieval::SearchError;
use tributary_taxonomy::Analyzer;

use super::{body, json};
use crate::problem::{Code, Problem};
use crate::rendering::{self, Marks};
use crate::server::ServerState;

/// Body of `POST /v1/rendered`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RenderRequest {
    /// Texts as hits and passages have them, at most one page.
    pub markdown: Vec<String>,
    /// The question whose words are marked; none are without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
}

/// Answer of `POST /v1/rendered`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rendered {
    /// HTML of each text, in their order: elements that show and nothing that acts.
    pub html: Vec<String>,
    /// Places in `html`, from 0, of texts that are shown as they were written: they ask for more
    /// elements within each other, or for more output, than is rendered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub as_written: Vec<usize>,
}

/// `POST /v1/rendered`.
pub async fn render(
    state: web::Data<ServerState>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let wanted: RenderRequest = body::read_json(&state, &request, payload).await?;
    state.page_limit(Some(wanted.markdown.len().max(1)))?;
    check_question(&wanted, state.retriever.limits().query_limit_bytes)?;
    let turn = state.renderings.turn().await?;
    let analyzer = state.retriever.analyzer();
    let waiting = Waiting::default();
    let is_left = Arc::clone(&waiting.is_over);
    let rendering = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        rendered(&wanted, analyzer, &is_left)
    });
    let stopped = |error| Problem::new(Code::Internal, format!("rendering stopped: {error}"));
    json(StatusCode::OK, &rendering.await.map_err(stopped)?)
}

/// The words of a question are looked for in all texts.
fn check_question(wanted: &RenderRequest, maximum: usize) -> Result<(), Problem> {
    let bytes = wanted.query.as_deref().map_or(0, str::len);
    if bytes > maximum {
        return Err(SearchError::QueryTooLong { bytes, maximum }.into());
    }
    Ok(())
}

/// Says when it is dropped that nobody waits any more: the client is gone, or its time is over.
#[derive(Default)]
struct Waiting {
    is_over: Arc<AtomicBool>,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

/// Ends between two texts once nobody waits for them.
fn rendered(wanted: &RenderRequest, analyzer: Arc<Analyzer>, is_left: &AtomicBool) -> Rendered {
    let marks = match &wanted.query {
        Some(question) => Marks::of(question, analyzer),
        None => Marks::default(),
    };
    let mut rendered = Rendered {
        html: Vec::with_capacity(wanted.markdown.len()),
        as_written: Vec::new(),
    };
    for (place, text) in wanted.markdown.iter().enumerate() {
        if is_left.load(Ordering::Relaxed) {
            break;
        }
        let shown = rendering::show(text, &marks);
        if shown.is_as_written {
            rendered.as_written.push(place);
        }
        rendered.html.push(shown.html);
    }
    rendered
}

#[cfg(test)]
mod tests {
    use tributary_taxonomy::{AnalyzerConfig, Lexicon};

    use super::*;

    #[test]
    fn nothing_is_rendered_for_a_client_that_left() {
        let config = AnalyzerConfig {
            guess_words: true,
            sub_words: true,
            term_words: true,
            english_stems: true,
        };
        let analyzer = Analyzer::new(&config, Lexicon::default());
        let analyzer = Arc::new(analyzer.unwrap_or_else(|error| panic!("{error}")));
        let wanted = RenderRequest {
            markdown: vec!["a".to_owned(), "> ".repeat(1000)],
            query: None,
        };
        let waiting = Waiting::default();
        let is_left = Arc::clone(&waiting.is_over);
        let all = rendered(&wanted, Arc::clone(&analyzer), &is_left);
        assert_eq!((all.html.len(), all.as_written), (2, vec![1]));
        drop(waiting);
        assert!(rendered(&wanted, analyzer, &is_left).html.is_empty());
    }
}
