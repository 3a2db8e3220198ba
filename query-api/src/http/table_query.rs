//! `GET /v1/tables` and `POST /v1/tables/query`: tables of documents listed, and asked by SQL.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use schemars::JsonSchema;
use serde::Deserialize;
use tributary_retrieval::Principal;
use tributary_schemas::Filter;
use tributary_schemas::table_query::{TableAnswer, TableQueryRequest};

use super::ask::working;
use super::caller::Caller;
use super::search::resolve_names;
use super::{body, json};
use crate::problem::{Code, Problem};
use crate::server::ServerState;

/// Documents of a page, unless fewer are asked for.
const DOCUMENTS: usize = 50;

/// Parameters of `GET /v1/tables`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TableListParameters {
    /// Only tables of this document, by its id or `source/path`.
    document: Option<String>,
    /// Only tables of documents from this source.
    source: Option<String>,
    /// Only tables of documents in this knowledge set.
    knowledge_set: Option<String>,
    /// Only after the document of this id: `next` of the page before.
    after: Option<String>,
    /// Documents of a page at most, 50 when absent and at most.
    limit: Option<usize>,
}

/// Tables of documents that the caller may see, with their columns and samples.
pub async fn list(
    state: web::Data<ServerState>,
    caller: Caller,
    parameters: web::Query<TableListParameters>,
) -> Result<HttpResponse, Problem> {
    let wanted = parameters.into_inner();
    let limit = wanted.limit.unwrap_or(DOCUMENTS);
    if !(1..=DOCUMENTS).contains(&limit) {
        let what = format!("limit is {limit}, it must be between 1 and {DOCUMENTS}");
        return Err(Problem::new(Code::InvalidParameter, what));
    }
    let mut filter = Filter {
        sources: wanted.source.map(|one| vec![one]),
        knowledge_sets: wanted.knowledge_set.map(|one| vec![one]),
        document_ids: wanted.document.map(|one| vec![one]),
        ..Filter::default()
    };
    resolve_names(&state, &mut filter).await?;
    let _turn = state.searches.turn().await?;
    let asker = state.asking.asker();
    let after = wanted.after.as_deref();
    let found = asker
        .list_tables(&filter, &caller.principal, after, limit)
        .await?;
    json(StatusCode::OK, &found)
}

/// Asks tables.
pub async fn query(
    state: web::Data<ServerState>,
    caller: Caller,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let wanted: TableQueryRequest = body::read_json(&state, &request, payload).await?;
    let answer = working(&request, ask(&state, wanted, &caller.principal)).await?;
    json(StatusCode::OK, &answer)
}

/// Asks tables as whoever asks may see them.
pub(crate) async fn ask(
    state: &ServerState,
    mut wanted: TableQueryRequest,
    principal: &Principal,
) -> Result<TableAnswer, Problem> {
    if let Some(sets) = wanted.knowledge_sets.take() {
        if wanted.filter.knowledge_sets.is_some() {
            let what = "`knowledge_sets` and `filter.knowledge_sets` are both given";
            return Err(Problem::new(Code::Invalid, what).with_hint("leave one of them out"));
        }
        wanted.filter.knowledge_sets = Some(sets);
    }
    resolve_names(state, &mut wanted.filter).await?;
    state.asking.query_tables(&wanted, principal).await
}
