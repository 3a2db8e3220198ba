//! `/v1/documents`: publish, list, look at, delete, reconcile.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use bytes::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tributary_schemas::id::MAX_DOCUMENT_ID_BYTES;
use tributary_schemas::search::{FamilyMember, Passage};
use tributary_schemas::{
    ChunkId, DocumentEvent, DocumentState, Error, ErrorKind, Filter, State, limits,
};
use tributary_store::search_index::IndexedDocument;

use super::body::Incoming;
use super::idempotency::Claim;
use super::{body, json, large_bodies, upload};
use crate::access::{self, Principal};
use crate::documents::{Accepted, DocumentConditions};
use crate::problem::{Code, Problem};
use crate::server::ServerState;

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
    check(&event, file.is_some())?;
    access::check_knowledge_sets(&event.knowledge_sets, &state.knowledge_sets.current())?;
    match file {
        Some(file) => large_bodies::put_file(state, &mut event, file).await?,
        None => large_bodies::move_out(state, &mut event).await?,
    }
    Ok(state.documents.publish(event).await?)
}

/// Rules of an event that its types cannot say.
fn check(event: &DocumentEvent, has_file: bool) -> Result<(), Problem> {
    limits::check(event)?;
    let invalid =
        |detail: &str, hint: &str| Err(Problem::new(Code::Invalid, detail).with_hint(hint));
    if event.source.trim().is_empty() {
        return invalid(
            "`source` is missing or empty",
            "name the source, such as `wiki`; it picks the source profile",
        );
    }
    let contents = [&event.content, &event.content_base64, &event.content_url]
        .into_iter()
        .filter(|content| content.is_some())
        .count();
    if contents != 1 && !has_file {
        return invalid(
            &format!("{contents} of `content`, `content_base64` and `content_url` are given"),
            "give exactly one: text, bytes in base64, or a reference into the blob store",
        );
    }
    if event.document_id.is_none() && event.source_path.as_deref().unwrap_or_default().is_empty() {
        return invalid(
            "neither `document_id` nor `source_path` is given",
            "the id is derived from source and source path when absent",
        );
    }
    let id = event.document_id.as_deref().unwrap_or("derived");
    if id.is_empty() {
        return invalid(
            "`document_id` has 0 bytes",
            &format!("give 1 to {MAX_DOCUMENT_ID_BYTES} bytes"),
        );
    }
    if id.chars().any(char::is_control) {
        return invalid(
            "`document_id` holds a control character",
            "use a hash or a path as the id, or leave it out to have one derived",
        );
    }
    Ok(())
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
    let conditions = DocumentConditions {
        state: wanted,
        source,
    };
    json(
        StatusCode::OK,
        &state
            .documents
            .list(&conditions, after.as_deref(), limit)
            .await?,
    )
}

/// `GET /v1/documents/{id}`.
pub async fn get(
    state: web::Data<ServerState>,
    id: web::Path<String>,
    parameters: web::Query<GetParameters>,
) -> Result<HttpResponse, Problem> {
    let report = state
        .documents
        .get(&id)
        .await?
        .ok_or_else(|| not_found(&id))?;
    let indexed = match indexed(&state, &id).await {
        // Nothing was indexed yet.
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        found => found?,
    };
    let duplicate_of = indexed
        .as_ref()
        .and_then(|indexed| indexed.document.duplicate_of.clone());
    let filter = access::filter(
        &Filter::default(),
        &Principal::unrestricted(),
        &state.knowledge_sets.current(),
    )?;
    let family = match &indexed {
        Some(indexed) => state.retriever.family(&indexed.document, &filter).await?,
        None => Vec::new(),
    };
    let passages = if parameters.passages {
        Some(passages(&state, indexed, &filter).await?)
    } else {
        None
    };
    json(
        StatusCode::OK,
        &DocumentDetail {
            state: report,
            duplicate_of,
            family,
            passages,
        },
    )
}

async fn indexed(
    state: &ServerState,
    id: &str,
) -> tributary_schemas::Result<Option<IndexedDocument>> {
    Ok(state
        .retriever
        .index()
        .documents(None, &[id.to_owned()])
        .await?
        .pop()
        .flatten())
}

/// An exact duplicate has none of its own: it shows those of the document that stands for it.
async fn passages(
    state: &ServerState,
    found: Option<IndexedDocument>,
    filter: &Filter,
) -> Result<Vec<Passage>, Problem> {
    let canonical = found
        .as_ref()
        .and_then(|found| found.document.duplicate_of.clone());
    let found = match canonical {
        Some(canonical) => indexed(state, &canonical).await?,
        None => found,
    };
    let mut chunk_ids = found.map(|found| found.chunk_ids).unwrap_or_default();
    chunk_ids.truncate(state.config.maximum_page);
    let passages = state.retriever.passages(&chunk_ids, filter).await?;
    let is_shown = |id: &ChunkId| passages.iter().any(|passage| passage.chunk_id == *id);
    let absent: Vec<ChunkId> = chunk_ids
        .iter()
        .copied()
        .filter(|id| !is_shown(id))
        .collect();
    let damaged = if absent.is_empty() {
        Vec::new()
    } else {
        state.retriever.index().damaged(None, &absent).await?
    };
    if !damaged.is_empty() {
        let message = format!(
            "{} of {} passages are damaged in the index",
            damaged.len(),
            chunk_ids.len()
        );
        return Err(Error::new(ErrorKind::Corrupt, message)
            .with_hint(
                "`tributary knowledge-sets reindex --all` builds the index again from the log",
            )
            .into());
    }
    Ok(passages)
}

/// `DELETE /v1/documents/{id}`.
pub async fn delete(
    state: web::Data<ServerState>,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    // What the index has and no report tells of, as after the loss of the log, can be deleted too.
    if state.documents.get(&id).await?.is_none() {
        match indexed(&state, &id).await {
            Ok(Some(_)) => {}
            Ok(None) => return Err(not_found(&id)),
            Err(error) if error.kind() == ErrorKind::NotFound => return Err(not_found(&id)),
            Err(error) => return Err(error.into()),
        }
    }
    json(StatusCode::ACCEPTED, &state.documents.delete(&id).await?)
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
    json(
        StatusCode::OK,
        &StatesAnswer {
            documents: state.documents.get_many(&asked.document_ids).await?,
        },
    )
}

/// `POST /v1/documents/reconcile`.
pub async fn reconcile(state: web::Data<ServerState>) -> Result<HttpResponse, Problem> {
    json(StatusCode::OK, &state.documents.reconcile().await?)
}

fn not_found(id: &str) -> Problem {
    Problem::new(
        Code::DocumentNotFound,
        format!("document `{id}` was never accepted"),
    )
    .with_hint("GET /v1/documents lists those that were; percent-encode the id in the path")
}
