//! `/v1/reindex` and `/v1/knowledge-sets/{id}/reindex`: build a new generation of the index, look,
//! cancel, go back.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::caller::Caller;
use super::{body, json};
use crate::problem::Problem;
use crate::server::ServerState;

/// Body of `POST /v1/reindex`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReindexWish {
    /// Ids of knowledge sets; empty for all documents.
    #[serde(default)]
    pub knowledge_sets: Vec<String>,
}

/// `POST /v1/reindex`: several knowledge sets, or all documents.
pub async fn request(
    state: web::Data<ServerState>,
    caller: Caller,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let wish: ReindexWish = body::read_json(&state, &request, payload).await?;
    accept(&state, &caller, wish.knowledge_sets).await
}

/// `POST /v1/knowledge-sets/{id}/reindex`: one knowledge set.
pub async fn request_set(
    state: web::Data<ServerState>,
    caller: Caller,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    accept(&state, &caller, vec![id.into_inner()]).await
}

async fn accept(
    state: &ServerState,
    caller: &Caller,
    knowledge_sets: Vec<String>,
) -> Result<HttpResponse, Problem> {
    caller.require_building(&knowledge_sets)?;
    state.knowledge_sets.current().check(&knowledge_sets)?;
    json(
        StatusCode::ACCEPTED,
        &state.reindexing.request(knowledge_sets).await?,
    )
}

/// `GET /v1/reindex`.
pub async fn overview(state: web::Data<ServerState>) -> Result<HttpResponse, Problem> {
    json(StatusCode::OK, &state.reindexing.overview().await?)
}

/// `DELETE /v1/reindex`: gives up the newest build that has not ended.
pub async fn cancel(
    state: web::Data<ServerState>,
    caller: Caller,
) -> Result<HttpResponse, Problem> {
    caller.require_building(&[])?;
    json(StatusCode::OK, &state.reindexing.cancel().await?)
}

/// `POST /v1/reindex/rollback`: back to the generation before.
pub async fn rollback(
    state: web::Data<ServerState>,
    caller: Caller,
) -> Result<HttpResponse, Problem> {
    caller.require_building(&[])?;
    json(StatusCode::OK, &state.reindexing.rollback().await?)
}
