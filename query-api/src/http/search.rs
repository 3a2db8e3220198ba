//! `POST /v1/search`.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use tributary_schemas::search::SearchRequest;

use super::caller::Caller;
use super::{body, images, json};
use crate::problem::Problem;
use crate::server::ServerState;

/// Finds chunks.
pub async fn search(
    state: web::Data<ServerState>,
    caller: Caller,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let wanted: SearchRequest = body::read_json(&state, &request, payload).await?;
    let _turn = state.searches.turn().await?;
    let mut outcome = state.retriever.search(&wanted, &caller.0).await?;
    state.metrics.observe_search(&outcome.response);
    let images = outcome
        .response
        .hits
        .iter_mut()
        .flat_map(|hit| &mut hit.images);
    images.for_each(|image| *image = images::link(image));
    json(StatusCode::OK, &outcome.response)
}
