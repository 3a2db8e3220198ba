//! `/v1/documents`: publish, look at, delete, reconcile.

use std::collections::BTreeMap;
use std::time::Instant;

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tributary_retrieval::{DocumentParts, DocumentView};
use tributary_schemas::document::TABLES_DATABASE;
use tributary_schemas::search::{FamilyMember, Passage};
use tributary_schemas::{Attributes, ErrorKind, Lineage, State, Viewer};
use tributary_store::manifest::Standing;
use tributary_store::manifest::documents;

use super::body::Incoming;
use super::caller::Caller;
use super::document_summary::{DocumentSummary, reported, shown, summaries};
use super::idempotency::{Claim, OwnedKey};
use super::writing::{Body, Publication};
use super::{absence, body, images, json, originals, page_pictures, tables, writing};
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

/// Parameters of `GET /v1/documents/{id}`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetParameters {
    /// Return the texts of the indexed chunks too.
    #[serde(default)]
    passages: bool,
}

/// Parameters of `DELETE /v1/documents/{id}`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteParameters {
    /// Version of the deletion, as in an event: for who gives versions of their own. What is published
    /// later needs a higher one. [default: the time of receipt in milliseconds]
    version: Option<u64>,
}

/// Answer of `GET /v1/documents/{id}`; what `tributary documents show --format json` prints.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct DocumentDetail {
    /// As in a list.
    #[serde(flatten)]
    pub summary: DocumentSummary,
    /// What the producer and the document's own metadata say, of what can be found.
    #[serde(default)]
    pub attributes: Attributes,
    /// What the document says of itself (front matter, `<meta>`, properties), long values
    /// shortened.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    /// Detected media type; empty where nothing can be found.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub media_type: String,
    /// Where the bytes that were published are answered, such as `/v1/documents/…/original`;
    /// nothing where they are not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original: Option<String>,
    /// Of a PDF: where its pages are answered as pictures, by the number behind it, from 1, such as
    /// `/v1/documents/…/pages/`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_pictures: Option<String>,
    /// Where its tables are answered as an SQLite database, such as `/v1/tables/…?document=…`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tables: Option<String>,
    /// Links of its pictures in their order; those that the document carries are paths of the
    /// server, such as `/v1/images/…`. Those of as many chunks as a page has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pictures: Vec<String>,
    /// What it was made with where it can be found: after a rollback not what the last attempt was
    /// made with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_with: Option<Lineage>,
    /// The document whose chunks stand for this one's: an exact duplicate is stored once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicate_of: Option<String>,
    /// The newer edition of the same work for which it steps aside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<String>,
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
    caller: Caller,
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
    let key = idempotency_key(&request)?.map(|key| OwnedKey::new(caller.owner(), key));
    let mut incoming = Incoming::document(&state, &request, payload);
    let body = if is_form {
        Body::Form(incoming.read_blocks().await?)
    } else {
        Body::Json(incoming.read().await?)
    };
    let publication = Publication::read(&request, body).await?;
    let accepted = match key {
        None => publication.accept(&state, &caller).await?,
        Some(key) => {
            let (publication, hash) = publication.hash().await?;
            match state.idempotency_keys.claim(&key, hash)? {
                Claim::Answered(accepted) => accepted,
                Claim::New(reservation) => {
                    let accepted = publication.accept(&state, &caller).await?;
                    reservation.answer(&accepted);
                    accepted
                }
            }
        }
    };
    // What the body holds of the memory for bodies.
    drop(incoming);
    json(StatusCode::ACCEPTED, &accepted)
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

/// `GET /v1/documents/{id}`.
pub async fn get(
    state: web::Data<ServerState>,
    name: web::Path<String>,
    parameters: web::Query<GetParameters>,
    caller: Caller,
) -> Result<HttpResponse, Problem> {
    let id = resolved(&state, &name, caller.viewer()).await?;
    let row = state.documents.get(&id).await?;
    // It may have changed since it was looked for.
    let summary = summaries(&state.documents, row.into_iter().collect(), &caller)
        .await
        .pop()
        .ok_or_else(|| not_found(&name, None))?;
    let page = state.config.maximum_page;
    let wanted = DocumentParts {
        passages: if parameters.passages { page } else { 0 },
        pictures_of: page,
    };
    let view = state
        .retriever
        .document(&id, wanted, &caller.principal)
        .await?
        .unwrap_or_default();

    json(StatusCode::OK, &detail(summary, view, parameters.passages))
}

fn detail(summary: DocumentSummary, view: DocumentView, with_passages: bool) -> DocumentDetail {
    let mut metadata = view.metadata;
    let stored = metadata.remove(TABLES_DATABASE);
    let document_id = &summary.last_attempt.document_id;
    let tables = stored.map(|stored| tables::link(&stored, document_id));
    let original = view
        .original
        .is_some()
        .then(|| originals::link(document_id));
    let page_pictures = original
        .as_ref()
        .and_then(|_| page_pictures::link(document_id, &view.media_type));
    DocumentDetail {
        original,
        page_pictures,
        summary,
        attributes: view.attributes,
        metadata,
        media_type: view.media_type,
        tables,
        pictures: view
            .pictures
            .iter()
            .map(|link| images::link(link))
            .collect(),
        made_with: view.lineage,
        duplicate_of: view.duplicate_of,
        superseded_by: view.superseded_by,
        family: view.family,
        passages: with_passages.then_some(view.passages),
    }
}

/// `DELETE /v1/documents/{id}`. A document of a source that the caller does not publish under is
/// not there.
pub async fn delete(
    state: web::Data<ServerState>,
    caller: Caller,
    name: web::Path<String>,
    parameters: web::Query<DeleteParameters>,
) -> Result<HttpResponse, Problem> {
    let found = match caller.is_administrator() {
        true => of_any_source(&state, &name).await,
        false => writing::own_document(&state, &caller, &name).await,
    };
    let id = match found {
        Err(problem) => may_be_unread(&state, &caller, &name, problem).await?,
        found => found?,
    };
    json(
        StatusCode::ACCEPTED,
        &Accepted::from(state.documents.delete(&id, parameters.version).await?),
    )
}

async fn of_any_source(state: &ServerState, name: &str) -> Result<String, Problem> {
    match resolved(state, name, None).await {
        Ok(id) => Ok(id),
        // What the index has and no report tells of, as after the loss of the log, can be deleted
        // too.
        Err(problem) => {
            let is_held = state.retriever.holds(name).await?;
            is_held.then(|| name.to_owned()).ok_or(problem)
        }
    }
}

/// The id of a document of which nothing is known and that may be among what ingest has yet to read:
/// a server that was killed had no time to report what it took. Who may delete anything deletes it in
/// any case; for others, and for a name that may be a path, it is not known yet whether it is there.
async fn may_be_unread(
    state: &ServerState,
    caller: &Caller,
    name: &str,
    problem: Problem,
) -> Result<String, Problem> {
    let is_unknown = problem.code() == Code::DocumentNotFound;
    if !is_unknown || !state.documents.are_unread().await? {
        return Err(problem);
    }
    if caller.is_administrator() && !name.contains('/') {
        return Ok(name.to_owned());
    }
    let what = "whether there is such a document is known once all that was published is read";
    Err(Problem::new(Code::Unavailable, what).with_hint("try again in a moment"))
}

/// The id of the document that is called so: by its id, or by `source/path`. What the viewer may
/// not see is not there, word for word.
pub(super) async fn resolved(
    state: &ServerState,
    name: &str,
    viewer: Option<&Viewer>,
) -> Result<String, Problem> {
    let resolved = state.documents.resolve(name, viewer).await;
    resolved.map_err(|error| match error.kind() {
        ErrorKind::NotFound => not_found(name, error.hint()),
        _ => error.into(),
    })
}

/// Whether a document is called so, or several are, of those that the viewer may see.
pub(super) async fn is_known(state: &ServerState, name: &str, viewer: Option<&Viewer>) -> bool {
    let resolved = state.documents.resolve(name, viewer).await;
    resolved.map_or_else(|error| error.kind() == ErrorKind::Conflict, |_| true)
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
    documents: Vec<Option<DocumentSummary>>,
}

/// `POST /v1/documents/states`: what became of several documents, for those who wait for them.
pub async fn states(
    state: web::Data<ServerState>,
    caller: Caller,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let body = Incoming::small(&state, &request, payload).read().await?;
    let asked: StatesRequest = body::parse_json(body).await?;
    state.page_limit(Some(asked.document_ids.len().max(1)))?;
    let started = Instant::now();
    let may_see = |standing: Standing<'_>| caller.sees(standing);
    let rows = state
        .documents
        .get_many_where(&asked.document_ids, may_see)
        .into_iter();
    let told = |row: Option<_>| shown(row?, &caller, &state.documents).map(reported);
    let documents: Vec<_> = rows.map(told).collect();
    if documents.iter().any(Option::is_none) {
        absence::until_the_next_step(&caller.principal, started).await;
    }
    json(StatusCode::OK, &StatesAnswer { documents })
}

/// `POST /v1/documents/reconcile`.
pub async fn reconcile(state: web::Data<ServerState>) -> Result<HttpResponse, Problem> {
    json(StatusCode::OK, &state.documents.reconcile().await?)
}

/// `POST /v1/repair`: makes up for what was done in a lesser way.
pub async fn repair(state: web::Data<ServerState>) -> Result<HttpResponse, Problem> {
    json(StatusCode::ACCEPTED, &state.repairing.start().await?)
}

/// `GET /v1/repair`: how far that is.
pub async fn repair_report(state: web::Data<ServerState>) -> Result<HttpResponse, Problem> {
    json(StatusCode::OK, &state.repairing.report())
}

pub(super) fn not_found(name: &str, near: Option<&str>) -> Problem {
    let hint = near.unwrap_or(
        "GET /v1/documents lists those that were accepted; percent-encode the id in the path",
    );
    Problem::new(
        Code::DocumentNotFound,
        format!("no document has the id or the name `{name:.200}`"),
    )
    .with_hint(hint)
}
