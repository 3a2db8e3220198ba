//! `POST /v1/search` and `POST /v1/code/search`.

use std::time::Instant;

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use tributary_retrieval::Principal;
use tributary_schemas::code_search::{CodeSearchRequest, CodeSearchResponse};
use tributary_schemas::search::{SearchRequest, SearchResponse};
use tributary_schemas::{ErrorKind, Filter};

use super::caller::Caller;
use super::{absence, body, images, json, missed_searches, user_profiles};
use crate::audit;
use crate::problem::Problem;
use crate::server::ServerState;

/// Puts the id of each document that the filter names by `source/path` in the place of the name. A
/// name that nothing has stays, and no document meets it.
pub(crate) async fn resolve_names(
    state: &ServerState,
    filter: &mut Filter,
    principal: &Principal,
) -> Result<(), Problem> {
    for name in filter.document_ids.iter_mut().flatten() {
        // Without a slash it is an id.
        if name.contains('/') {
            match state
                .documents
                .resolve(name, principal.viewer.as_ref())
                .await
            {
                Ok(id) => *name = id,
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    Ok(())
}

/// `POST /v1/search`.
pub async fn search(
    state: web::Data<ServerState>,
    caller: Caller,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let wanted: SearchRequest = body::read_json(&state, &request, payload).await?;
    json(
        StatusCode::OK,
        &find(&state, wanted, &caller.principal).await?,
    )
}

/// Finds chunks, in turn, as whoever asks may see them.
pub(crate) async fn find(
    state: &ServerState,
    mut wanted: SearchRequest,
    principal: &Principal,
) -> Result<SearchResponse, Problem> {
    let started = Instant::now();
    audit::asks(&wanted.query, &wanted.filter);
    resolve_names(state, &mut wanted.filter, principal).await?;
    let (user, profile) = (wanted.user.as_deref(), &mut wanted.user_profile);
    user_profiles::resolve(state.conversations.as_ref(), principal, user, profile).await?;
    let mut outcome = {
        let _turn = state.searches.turn().await?;
        state.retriever.search(&wanted, principal).await?
    };
    if wanted.filter.document_ids.is_some() && outcome.response.hits.is_empty() {
        let response = &mut outcome.response;
        let (took_ms, tiers) = (&mut response.took_ms, &mut response.tiers);
        if absence::of_named(principal, started, took_ms, tiers).await {
            let traces = response.traces.iter_mut().flatten();
            traces.for_each(|trace| trace.ms = 0.0);
        }
    }
    state.metrics.observe_search(&outcome.response);
    let images = outcome
        .response
        .hits
        .iter_mut()
        .flat_map(|hit| &mut hit.images);
    images.for_each(|image| *image = images::link(image));
    audit::answers_with(&outcome.response.hits);
    missed_searches::note(state, &outcome.response, principal);
    Ok(outcome.response)
}

/// `POST /v1/code/search`.
pub async fn search_code(
    state: web::Data<ServerState>,
    caller: Caller,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let wanted: CodeSearchRequest = body::read_json(&state, &request, payload).await?;
    json(
        StatusCode::OK,
        &find_code(&state, wanted, &caller.principal).await?,
    )
}

/// Finds files and definitions of source code, in turn, as whoever asks may see them.
pub(crate) async fn find_code(
    state: &ServerState,
    mut wanted: CodeSearchRequest,
    principal: &Principal,
) -> Result<CodeSearchResponse, Problem> {
    let started = Instant::now();
    audit::asks(&wanted.query, &wanted.filter);
    resolve_names(state, &mut wanted.filter, principal).await?;
    let mut response = {
        let _turn = state.searches.turn().await?;
        state.retriever.search_code(&wanted, principal).await?
    };
    if wanted.filter.document_ids.is_some() && response.hits.is_empty() {
        let CodeSearchResponse {
            took_ms, stages, ..
        } = &mut response;
        absence::of_named(principal, started, took_ms, stages).await;
    }
    state.metrics.observe_code_search(&response);
    Ok(response)
}
