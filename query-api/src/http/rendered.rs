//! `POST /v1/rendered`: Markdown as HTML for the page, with the words of a question marked.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
}

/// `POST /v1/rendered`.
pub async fn render(
    state: web::Data<ServerState>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let wanted: RenderRequest = body::read_json(&state, &request, payload).await?;
    state.page_limit(Some(wanted.markdown.len().max(1)))?;
    // Long texts cost as much as a search; both wait in one queue.
    let _turn = state.searches.turn().await?;
    let analyzer = state.retriever.analyzer();
    let rendering = tokio::task::spawn_blocking(move || {
        let marks = match &wanted.query {
            Some(question) => Marks::of(question, analyzer),
            None => Marks::default(),
        };
        let html = |text: &String| rendering::html(text, &marks);
        wanted.markdown.iter().map(html).collect()
    });
    let stopped = |error| Problem::new(Code::Internal, format!("rendering stopped: {error}"));
    json(
        StatusCode::OK,
        &Rendered {
            html: rendering.await.map_err(stopped)?,
        },
    )
}
