//! `/v1/knowledge-sets`: those that hold, and a new definition of all of them.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tributary_schemas::set_contents::SetContents;
use tributary_schemas::set_status::SetStatusList;
use tributary_taxonomy::{KnowledgeSet, KnowledgeSets};

use super::body::{self, Incoming};
use super::caller::Caller;
use super::json;
use crate::problem::{Code, Problem};
use crate::server::ServerState;
use crate::set_status;

/// All knowledge sets, by id.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnowledgeSetList {
    /// The sets with their rules.
    pub knowledge_sets: KnowledgeSets,
}

/// Answer of `GET /v1/knowledge-sets/{id}`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SetInformation {
    /// Its definition.
    #[schemars(with = "Value")]
    pub knowledge_set: KnowledgeSet,
    /// What can be found in it, as far as the caller may see it; some seconds old.
    pub contents: SetContents,
}

/// `GET /v1/knowledge-sets`.
pub async fn list(state: web::Data<ServerState>) -> Result<HttpResponse, Problem> {
    json(
        StatusCode::OK,
        &KnowledgeSetList {
            knowledge_sets: state.knowledge_sets.current().as_ref().clone(),
        },
    )
}

/// `PUT /v1/knowledge-sets`: JSON as `GET` gives it, or TOML with `[[knowledge_set]]` tables.
/// Replaces all of them.
pub async fn apply(
    state: web::Data<ServerState>,
    caller: Caller,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let knowledge_sets = match body::media_type(&request).as_str() {
        "application/json" => {
            body::read_json::<KnowledgeSetList>(&state, &request, payload)
                .await?
                .knowledge_sets
        }
        "application/toml" | "text/toml" | "text/x-toml" => {
            let body = Incoming::small(&state, &request, payload).read().await?;
            // Long files take a moment.
            web::block(move || parse_toml(&body))
                .await
                .map_err(|error| {
                    Problem::new(
                        Code::Internal,
                        format!("the knowledge sets were not read: {error}"),
                    )
                })??
        }
        other => {
            return Err(body::unsupported_media_type(
                other,
                "application/json or application/toml",
            ));
        }
    };
    let changed = changed_sets(&state.knowledge_sets.current(), &knowledge_sets);
    if !changed.is_empty() {
        caller.require_building(&changed)?;
    }
    state.knowledge_sets.apply(knowledge_sets).await?;
    list(state).await
}

/// `GET /v1/knowledge-sets/{id}`: what one is and holds.
pub async fn information(
    state: web::Data<ServerState>,
    id: web::Path<String>,
    caller: Caller,
) -> Result<HttpResponse, Problem> {
    let contents = state.retriever.set_contents(&id, &caller.principal).await?;
    let sets = state.knowledge_sets.current();
    let knowledge_set = sets.get(&id).cloned().ok_or_else(|| gone(&id))?;
    json(
        StatusCode::OK,
        &SetInformation {
            knowledge_set,
            contents,
        },
    )
}

/// `GET /v1/knowledge-sets/status`: how each is.
pub async fn status(
    state: web::Data<ServerState>,
    caller: Caller,
) -> Result<HttpResponse, Problem> {
    json(StatusCode::OK, &statuses(&state, &caller).await?)
}

/// `GET /v1/knowledge-sets/{id}/status`: how one is.
pub async fn status_of(
    state: web::Data<ServerState>,
    caller: Caller,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let id = id.into_inner();
    let known = state.knowledge_sets.current();
    known.check(std::slice::from_ref(&id))?;
    let list = statuses(&state, &caller).await?;
    let found = list.sets.into_iter().find(|set| set.id == id);
    json(StatusCode::OK, &found.ok_or_else(|| gone(&id))?)
}

/// Sets that come, go or are defined anew.
fn changed_sets(before: &KnowledgeSets, after: &KnowledgeSets) -> Vec<String> {
    let is_other = |set: &&KnowledgeSet, other: &KnowledgeSets| other.get(&set.id) != Some(*set);
    let gone_or_changed = before.iter().filter(|set| is_other(set, after));
    let new = after.iter().filter(|set| before.get(&set.id).is_none());
    gone_or_changed
        .chain(new)
        .map(|set| set.id.clone())
        .collect()
}

/// It went away in between.
fn gone(id: &str) -> Problem {
    let what = format!("no knowledge set `{id}` any more");
    Problem::new(Code::UnknownKnowledgeSet, what)
}

async fn statuses(state: &ServerState, caller: &Caller) -> Result<SetStatusList, Problem> {
    let sets = state.knowledge_sets.current();
    let asked = std::sync::Arc::clone(&sets);
    let tallies = state
        .documents
        .tally(move |source| asked.of_source(source))
        .await?;
    let mut list = set_status::statuses(&sets, tallies);
    if caller.viewer().is_some() {
        name_what_is_seen(state, caller, &mut list).await?;
    }
    Ok(list)
}

/// Counts are of all documents, names of those only that the caller may see: failures by document,
/// and sources without a set by what can be found of them.
async fn name_what_is_seen(
    state: &ServerState,
    caller: &Caller,
    list: &mut SetStatusList,
) -> Result<(), Problem> {
    let seen = match caller.reads() {
        true => state.retriever.facets(&caller.principal).await?.sources,
        false => Vec::new(),
    };
    let is_named =
        |source: &str| caller.publishes(source) || seen.iter().any(|value| value.value == source);
    list.unplaced.retain(|status| is_named(&status.source));
    let sets = list.sets.iter_mut().map(|set| &mut set.documents);
    let unplaced = list.unplaced.iter_mut().map(|source| &mut source.documents);
    for documents in sets.chain(unplaced) {
        let failures = documents.failures.iter();
        let ids: Vec<String> = failures.map(|failed| failed.document_id.clone()).collect();
        let rows = state
            .documents
            .get_many_where(&ids, |standing| caller.sees(standing));
        let mut rows = rows.into_iter();
        documents
            .failures
            .retain(|_| rows.next().is_some_and(|row| row.is_some()));
    }
    Ok(())
}

fn parse_toml(body: &[u8]) -> Result<KnowledgeSets, Problem> {
    let text = std::str::from_utf8(body).map_err(|error| {
        Problem::new(Code::MalformedBody, format!("body is not UTF-8: {error}"))
    })?;
    Ok(KnowledgeSets::from_toml(text)?)
}
