//! `/v1/documents`: publish, list, look at, delete, reconcile.

use std::collections::HashMap;

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use bytes::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tributary_retrieval::SearchError;
use tributary_schemas::search::{FamilyMember, Passage};
use tributary_schemas::{DocumentEvent, DocumentState, State};
use tributary_store::manifest::documents::{self, Documents};
use tributary_store::manifest::table::{DocumentRow, ListFilter};

use super::body::Incoming;
use super::caller::Caller;
use super::idempotency::Claim;
use super::{body, json, large_bodies, upload};
use crate::problem::{Code, Problem};
use crate::server::ServerState;

/// Answer to a publication or a deletion: the record is durable, the rest happens by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Accepted {
    /// The given id, or the one derived from source and source path.
    pub document_id: String,
    /// The given version, or the time of receipt in milliseconds.
    pub version: u64,
    /// State of this version now.
    pub state: State,
}

impl From<documents::Accepted> for Accepted {
    fn from(accepted: documents::Accepted) -> Self {
        Self {
            document_id: accepted.document_id,
            version: accepted.version,
            state: State::Accepted,
        }
    }
}

/// One page of documents; what `tributary documents list --format json` prints.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DocumentPage {
    /// The newest report about each, by document id.
    pub documents: Vec<DocumentState>,
    /// Give this as `after` for the next page; `null` at the end.
    pub next: Option<String>,
}

/// Parameters of `GET /v1/documents`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListParameters {
    /// Only documents in this state.
    state: Option<State>,
    /// Only documents of this source.
    source: Option<String>,
    /// `next` of the page before.
    after: Option<String>,
    /// Documents on the page; the server's maximum when absent.
    limit: Option<usize>,
}

/// Parameters of `GET /v1/documents/{id}`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetParameters {
    /// Return the texts of the indexed chunks too.
    #[serde(default)]
    passages: bool,
}

/// Answer of `GET /v1/documents/{id}`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct DocumentDetail {
    /// The newest report about it: state, timeline, lineage, chunk count.
    #[serde(flatten)]
    pub state: DocumentState,
    /// The document whose chunks stand for this one's: an exact duplicate is stored once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicate_of: Option<String>,
    /// Near-duplicates in the index, most similar first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub family: Vec<FamilyMember>,
    /// With `passages`: its chunks in the index, by ordinal, at most one page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passages: Option<Vec<Passage>>,
}

/// `POST /v1/documents`: one document as JSON, or one file as a form.
pub async fn publish(
    state: web::Data<ServerState>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let media_type = body::media_type(&request);
    let is_form = media_type == "multipart/form-data";
    if !is_form && media_type != "application/json" && !media_type.ends_with("+json") {
        return Err(body::unsupported_media_type(
            &media_type,
            "application/json or multipart/form-data",
        ));
    }
    let key = idempotency_key(&request)?;
    let mut incoming = Incoming::document(&state, &request, payload);
    if key.is_some() {
        incoming.hash_bytes();
    }
    let body = if is_form {
        Body::Form(incoming.read_blocks().await?)
    } else {
        Body::Json(incoming.read().await?)
    };
    let accepted = match key.zip(incoming.hash()) {
        None => accept(&state, &request, body).await?,
        Some((key, hash)) => match state.idempotency_keys.claim(&key, hash)? {
            Claim::Answered(accepted) => accepted,
            Claim::New(reservation) => {
                let accepted = accept(&state, &request, body).await?;
                reservation.answer(&accepted);
                accepted
            }
        },
    };
    // What the body holds of the memory for bodies.
    drop(incoming);
    json(StatusCode::ACCEPTED, &accepted)
}

/// A publication as it came.
enum Body {
    Json(Bytes),
    /// Freed piece by piece while it is read.
    Form(Vec<Bytes>),
}

fn idempotency_key(request: &HttpRequest) -> Result<Option<String>, Problem> {
    let Some(key) = request.headers().get("idempotency-key") else {
        return Ok(None);
    };
    let key = key.to_str().map_err(|_| {
        Problem::new(
            Code::Invalid,
            "Idempotency-Key has characters other than visible ASCII",
        )
    })?;
    Ok(Some(key.to_owned()))
}

async fn accept(
    state: &ServerState,
    request: &HttpRequest,
    body: Body,
) -> Result<Accepted, Problem> {
    let (mut event, file) = match body {
        Body::Json(body) => (body::parse_json::<DocumentEvent>(body).await?, None),
        Body::Form(blocks) => upload::event(request, blocks)
            .await
            .map(|(event, file)| (event, Some(file)))?,
    };
    if file.is_some() {
        event.check_but_content()?
    } else {
        event.check()?
    }
    event.required_id()?;
    state
        .knowledge_sets
        .current()
        .check(&event.knowledge_sets)
        .map_err(SearchError::UnknownKnowledgeSet)?;
    match file {
        Some(file) => large_bodies::put_file(state, &mut event, file).await?,
        None => large_bodies::move_out(state, &mut event).await?,
    }
    Ok(state.documents.publish(event).await?.into())
}

/// `GET /v1/documents`.
pub async fn list(
    state: web::Data<ServerState>,
    parameters: web::Query<ListParameters>,
) -> Result<HttpResponse, Problem> {
    let ListParameters {
        state: wanted,
        source,
        after,
        limit,
    } = parameters.into_inner();
    let limit = state.page_limit(limit)?;
    let mut rows = state
        .documents
        .list(
            &ListFilter {
                state: wanted,
                source,
            },
            after.as_deref(),
            limit.saturating_add(1),
        )
        .await?;
    let more = rows.len() > limit;
    rows.truncate(limit);
    let next = rows
        .last()
        .filter(|_| more)
        .map(|row| row.latest.document_id.clone());
    json(
        StatusCode::OK,
        &DocumentPage {
            documents: searchable(&state.documents, rows).await,
            next,
        },
    )
}

/// `GET /v1/documents/{id}`.
pub async fn get(
    state: web::Data<ServerState>,
    id: web::Path<String>,
    parameters: web::Query<GetParameters>,
    caller: Caller,
) -> Result<HttpResponse, Problem> {
    let row = state.documents.get(&id).await?;
    let report = searchable(&state.documents, row.into_iter().collect())
        .await
        .pop()
        .ok_or_else(|| not_found(&id))?;
    let most = if parameters.passages {
        state.config.maximum_page
    } else {
        0
    };
    let view = state
        .retriever
        .document(&id, most, &caller.0)
        .await?
        .unwrap_or_default();
    let passages = parameters.passages.then_some(view.passages);
    json(
        StatusCode::OK,
        &DocumentDetail {
            state: report,
            duplicate_of: view.duplicate_of,
            family: view.family,
            passages,
        },
    )
}

/// `DELETE /v1/documents/{id}`.
pub async fn delete(
    state: web::Data<ServerState>,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    // What the index has and no report tells of, as after the loss of the log, can be deleted too.
    if state.documents.get(&id).await?.is_none() && !state.retriever.holds(&id).await? {
        return Err(not_found(&id));
    }
    json(
        StatusCode::ACCEPTED,
        &Accepted::from(state.documents.delete(&id, None).await?),
    )
}

/// Body of `POST /v1/documents/states`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatesRequest {
    /// Documents asked for, at most one page.
    document_ids: Vec<String>,
}

/// Answer of `POST /v1/documents/states`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct StatesAnswer {
    /// The newest report about each, in the order of the ids; `null` for those never accepted.
    documents: Vec<Option<DocumentState>>,
}

/// `POST /v1/documents/states`: what became of several documents, for those who wait for them.
pub async fn states(
    state: web::Data<ServerState>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let body = Incoming::small(&state, &request, payload).read().await?;
    let asked: StatesRequest = body::parse_json(body).await?;
    state.page_limit(Some(asked.document_ids.len().max(1)))?;
    let rows = state.documents.get_many(&asked.document_ids);
    json(
        StatusCode::OK,
        &StatesAnswer {
            documents: rows.into_iter().map(|row| row.map(reported)).collect(),
        },
    )
}

/// `POST /v1/documents/reconcile`.
pub async fn reconcile(state: web::Data<ServerState>) -> Result<HttpResponse, Problem> {
    json(StatusCode::OK, &state.documents.reconcile().await?)
}

/// The newest report, with the chunks that were last reported searchable, whichever version they
/// are of.
fn reported(row: DocumentRow) -> DocumentState {
    let chunks = row.indexed.map_or(0, |indexed| indexed.chunks);
    DocumentState {
        chunks,
        ..row.latest
    }
}

/// The newest reports, with the chunks that questions find now; as last reported while the index
/// does not answer.
async fn searchable(documents: &Documents, rows: Vec<DocumentRow>) -> Vec<DocumentState> {
    let indexed = |row: &&DocumentRow| row.indexed.is_some();
    let document_ids: Vec<String> = rows
        .iter()
        .filter(indexed)
        .map(|row| row.latest.document_id.clone())
        .collect();
    let counts = documents
        .searchable_chunks(&document_ids)
        .await
        .inspect_err(|error| tracing::warn!(%error, "chunks as reported"));
    let counts: HashMap<String, usize> = document_ids
        .into_iter()
        .zip(counts.unwrap_or_default())
        .collect();
    let state = |row: DocumentRow| {
        let counted = counts
            .get(&row.latest.document_id)
            .map(|chunks| u32::try_from(*chunks).unwrap_or(u32::MAX));
        let reported = reported(row);
        DocumentState {
            chunks: counted.unwrap_or(reported.chunks),
            ..reported
        }
    };
    rows.into_iter().map(state).collect()
}

fn not_found(id: &str) -> Problem {
    Problem::new(
        Code::DocumentNotFound,
        format!("document `{id}` was never accepted"),
    )
    .with_hint("GET /v1/documents lists those that were; percent-encode the id in the path")
}
