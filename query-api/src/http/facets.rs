//! `GET /v1/facets`: what a search can be narrowed by, with counts, and what it may ask for.

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, web};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tributary_schemas::facets::Facets;

use super::caller::Caller;
use super::json;
use crate::problem::Problem;
use crate::server::ServerState;

/// Answer of `GET /v1/facets`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SearchChoices {
    /// Values by which documents can be found, counted over all that the caller may see.
    #[serde(flatten)]
    pub facets: Facets,
    /// The reranker of tier 3; none where none is configured.
    pub reranker: Option<String>,
    /// Most bytes of a question.
    pub query_limit_bytes: usize,
    /// Most bytes of a log that is asked about.
    pub log_limit_bytes: usize,
    /// Whether a report may search the web, too.
    pub searches_web: bool,
    /// Most hits of a search.
    pub maximum_top_k: usize,
}

/// `GET /v1/facets`.
pub async fn choices(
    state: web::Data<ServerState>,
    caller: Caller,
) -> Result<HttpResponse, Problem> {
    let facets = state.retriever.facets(&caller.principal).await?;
    let limits = state.retriever.limits();
    json(
        StatusCode::OK,
        &SearchChoices {
            facets,
            reranker: state.retriever.reranker(),
            query_limit_bytes: limits.query_limit_bytes,
            log_limit_bytes: state.asking.asker().config().error_map.log_limit_bytes,
            searches_web: state.asking.asker().searches_web(),
            maximum_top_k: limits.maximum_top_k,
        },
    )
}
