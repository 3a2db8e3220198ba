//! `/v1/missed-searches`: the caller's own searches that found nothing, or nothing that seems to
//! answer them.

use std::sync::Arc;

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, web};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tributary_retrieval::{LIKELY, Principal};
use tributary_schemas::search::SearchResponse;
use tributary_schemas::{Error, ErrorKind};
use tributary_store::missed_searches::{Miss, MissedSearch, MissedSearches};

use super::caller::Caller;
use super::json;
use crate::problem::{Code, Problem};
use crate::server::ServerState;

/// A question that was not answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Missed {
    /// The same for the same question.
    pub id: String,
    /// As asked.
    pub query: String,
    /// Milliseconds since 1970 when it was asked last.
    pub at_ms: i64,
    /// How often it was asked without an answer.
    pub times: u64,
    /// Relevance of the best hit; `null` where nothing was found.
    pub relevance: Option<f32>,
}

/// One page of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MissedSearchPage {
    /// The one that was asked last first.
    pub missed_searches: Vec<Missed>,
    /// Give this as `after` for the next page; `null` at the end.
    pub next: Option<String>,
}

/// Parameters of `GET /v1/missed-searches`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MissedSearchParameters {
    /// `next` of the page before.
    after: Option<String>,
    /// Questions on the page; the server's maximum when absent.
    limit: Option<usize>,
}

/// Answer of `DELETE /v1/missed-searches`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ForgottenSearches {
    /// How many were forgotten.
    pub forgotten: usize,
}

/// `GET /v1/missed-searches`.
pub async fn list(
    state: web::Data<ServerState>,
    caller: Caller,
    parameters: web::Query<MissedSearchParameters>,
) -> Result<HttpResponse, Problem> {
    let limit = state.page_limit(parameters.limit)?;
    let owner = caller.owner().map(str::to_owned);
    let all = blocking(&state, move |kept| kept.list(owner.as_deref(), now_ms())).await?;
    let start = match &parameters.after {
        None => 0,
        Some(after) => place_behind(&all, after)?,
    };
    let has_more = all.len() > start + limit;
    let page: Vec<Missed> = all.into_iter().skip(start).take(limit).map(shown).collect();
    let last = page.last().filter(|_| has_more);
    let answer = MissedSearchPage {
        next: last.map(|last| last.id.clone()),
        missed_searches: page,
    };
    json(StatusCode::OK, &answer)
}

/// `DELETE /v1/missed-searches`.
pub async fn forget(
    state: web::Data<ServerState>,
    caller: Caller,
) -> Result<HttpResponse, Problem> {
    let owner = caller.owner().map(str::to_owned);
    let forgotten = blocking(&state, move |kept| kept.forget(owner.as_deref())).await?;
    json(StatusCode::OK, &ForgottenSearches { forgotten })
}

/// Keeps the question of a search that was not answered, beside the answer: who asks does not wait
/// for it. A filter that no document meets says nothing of the question.
pub(crate) fn note(state: &ServerState, response: &SearchResponse, principal: &Principal) {
    if !state.missed_searches.keeps() || !is_missed(response) {
        return;
    }
    let miss = Miss {
        owner: principal.owner.clone(),
        query: response.query.clone(),
        at_ms: now_ms(),
        relevance: best_relevance(response),
    };
    let kept = Arc::clone(&state.missed_searches);
    tokio::task::spawn_blocking(move || {
        if let Err(error) = kept.note(miss) {
            tracing::warn!(%error, "a search that was not answered was not kept");
        }
    });
}

fn is_missed(response: &SearchResponse) -> bool {
    let is_unlikely = best_relevance(response).is_some_and(|best| best < LIKELY);
    response.unmet_filter.is_none() && (response.hits.is_empty() || is_unlikely)
}

fn best_relevance(response: &SearchResponse) -> Option<f32> {
    let estimates = response.hits.iter().filter_map(|hit| hit.relevance);
    estimates.max_by(f32::total_cmp)
}

fn place_behind(all: &[MissedSearch], after: &str) -> Result<usize, Problem> {
    let place = all.iter().position(|one| one.id == after);
    place.map(|place| place + 1).ok_or_else(|| {
        let what = format!("after is `{after}`, which is not there");
        Problem::new(Code::InvalidParameter, what).with_hint("begin without `after`")
    })
}

fn shown(missed: MissedSearch) -> Missed {
    Missed {
        id: missed.id,
        query: missed.query,
        at_ms: missed.at_ms,
        times: missed.times,
        relevance: missed.relevance,
    }
}

async fn blocking<T: Send + 'static>(
    state: &ServerState,
    work: impl FnOnce(&MissedSearches) -> Result<T, Error> + Send + 'static,
) -> Result<T, Problem> {
    let kept = Arc::clone(&state.missed_searches);
    let done = tokio::task::spawn_blocking(move || work(&kept)).await;
    let failed = |error| {
        Error::new(
            ErrorKind::Internal,
            format!("searches were not read: {error}"),
        )
    };
    Ok(done.map_err(failed)??)
}

fn now_ms() -> i64 {
    Timestamp::now().as_millisecond()
}
