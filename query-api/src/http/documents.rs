//! `/v1/documents`: publish, list, look at, delete, reconcile.

use std::collections::{BTreeMap, HashMap};

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tributary_retrieval::{DocumentParts, DocumentView};
use tributary_schemas::document::TABLES_DATABASE;
use tributary_schemas::search::{FamilyMember, Passage};
use tributary_schemas::unmet::UnmetFilter;
use tributary_schemas::{
    Attributes, DocumentSort, DocumentState, Error, ErrorKind, Labels, Lineage, State, Viewer,
};
use tributary_store::manifest::Standing;
use tributary_store::manifest::documents::{self, Documents};
use tributary_store::manifest::list::{ListFilter, ListQuery, Order, Place, SourceRule};
use tributary_store::manifest::table::{DocumentRow, IndexedVersion};
use tributary_store::search_index::IndexedDocument;

use super::body::Incoming;
use super::caller::Caller;
use super::idempotency::{Claim, OwnedKey};
use super::writing::{Body, Publication};
use super::{body, images, json, originals, page_pictures, tables, unlisted, writing};
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
    /// In the order asked for.
    pub documents: Vec<DocumentSummary>,
    /// Documents that meet the conditions, on all pages together.
    pub total: u64,
    /// Of these: how many can be found.
    pub searchable: u64,
    /// Of these: how many there are by what the last attempt did; states that none has are left
    /// out.
    pub states: BTreeMap<String, u64>,
    /// Give this as `after` for the next page; `null` at the end.
    pub next: Option<String>,
    /// Where there is none: values of the conditions that no document has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmet_filter: Option<UnmetFilter>,
}

/// A document in a list: what the last attempt did (`version`, `state`, `reason`, `at_ms`), and
/// beside it what can be found, which may be an earlier version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DocumentSummary {
    /// The newest report: what the last attempt did. An unchanged document is `skipped` and stays
    /// `searchable`.
    #[serde(flatten)]
    pub last_attempt: DocumentState,
    /// What can be found; `null` if nothing.
    pub searchable: Option<Searchable>,
    /// Tags of what can be found.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Knowledge sets of what can be found.
    #[serde(default)]
    pub knowledge_sets: Vec<String>,
}

/// The version of a document that can be found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Searchable {
    /// Version.
    pub version: u64,
    /// Since when, milliseconds since 1970; `null` where it is not known.
    pub since_ms: Option<i64>,
    /// Chunks; 0 for an exact duplicate, which is stored once.
    pub chunks: u32,
}

/// Parameters of `GET /v1/documents`. Conditions are joined by AND; texts are found in capitals and
/// in small letters.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListParameters {
    /// Only documents whose last attempt came to this state.
    state: Option<State>,
    /// Only documents that can be found (`true`), or that cannot (`false`).
    searchable: Option<bool>,
    /// Only documents that were made in a lesser way than configured (`true`), such as without
    /// the model for summaries, or that were not.
    degraded: Option<bool>,
    /// Only documents of this source.
    source: Option<String>,
    /// Only documents in this knowledge set.
    knowledge_set: Option<String>,
    /// Only documents with this tag.
    tag: Option<String>,
    /// Only documents with this text in the title.
    title: Option<String>,
    /// Only documents with this text in the path.
    path: Option<String>,
    /// Only documents whose path begins with exactly this.
    path_prefix: Option<String>,
    /// Only documents with this text in title, `source/path` or id.
    text: Option<String>,
    /// Only documents whose last attempt is of this time or later, milliseconds since 1970.
    changed_from_ms: Option<i64>,
    /// Only documents whose last attempt is older, milliseconds since 1970.
    changed_before_ms: Option<i64>,
    /// What the list is sorted by; `source` when absent, or as in `after`.
    sort: Option<DocumentSort>,
    /// Whether the last come first.
    descending: Option<bool>,
    /// `next` of the page before, with the same conditions. A document that does not change itself
    /// is then listed once, whatever else is published or deleted.
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
    let publication = Publication {
        state: &state,
        caller: &caller,
        request: &request,
    };
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
        None => publication.accept(body).await?,
        Some((key, hash)) => match state.idempotency_keys.claim(&key, hash)? {
            Claim::Answered(accepted) => accepted,
            Claim::New(reservation) => {
                let accepted = publication.accept(body).await?;
                reservation.answer(&accepted);
                accepted
            }
        },
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

/// `GET /v1/documents`.
pub async fn list(
    state: web::Data<ServerState>,
    parameters: web::Query<ListParameters>,
    caller: Caller,
) -> Result<HttpResponse, Problem> {
    let mut parameters = parameters.into_inner();
    writing::require_listing(&caller, parameters.source.as_deref())?;
    let limit = state.page_limit(parameters.limit)?;
    let (order, after) = place(&mut parameters)?;
    let filter = ListFilter {
        viewer: listed_for(&caller, parameters.source.as_deref()),
        sources_of_set: sources_of_set(&state, parameters.knowledge_set.as_deref()),
        ..ListFilter::from(parameters)
    };
    let query = ListQuery {
        filter: filter.clone(),
        order,
        after,
        limit,
    };
    let listing = state.documents.list(query).await?;
    let states = State::ALL
        .into_iter()
        .map(|state| (state.as_str().to_owned(), listing.counts.in_state(state)))
        .filter(|(_, documents)| *documents > 0)
        .collect();
    let unmet_filter = match listing.counts.documents {
        // It tells of other sources.
        _ if !caller.reads() => None,
        0 => unlisted::unmet(&state, filter, &caller.principal).await?,
        _ => None,
    };
    json(
        StatusCode::OK,
        &DocumentPage {
            documents: summaries(&state.documents, listing.rows, &caller).await,
            total: listing.counts.documents,
            searchable: listing.counts.searchable,
            states,
            next: listing.next.map(|next| next.to_string()),
            unmet_filter,
        },
    )
}

/// Sources of which every document is in the set that is asked for.
fn sources_of_set(state: &ServerState, set: Option<&str>) -> SourceRule {
    let Some(set) = set.map(str::to_owned) else {
        return SourceRule::default();
    };
    let sets = state.knowledge_sets.current();
    SourceRule::new(move |source| sets.of_source(source).contains(&set))
}

/// Whose rights a list obeys: nobody's where publishers list a source of theirs.
fn listed_for(caller: &Caller, source: Option<&str>) -> Option<Viewer> {
    let is_own = source.is_some_and(|source| caller.publishes(source));
    caller.viewer().filter(|_| !is_own).cloned()
}

/// The order asked for, which is that of the place where the list goes on.
fn place(parameters: &mut ListParameters) -> Result<(Order, Option<Place>), Problem> {
    let invalid = |error: Error| {
        let problem = Problem::new(Code::InvalidParameter, error.to_string());
        error
            .hint()
            .map(|hint| problem.clone().with_hint(hint))
            .unwrap_or(problem)
    };
    let after: Option<Place> = parameters
        .after
        .take()
        .map(|after| after.parse())
        .transpose()
        .map_err(invalid)?;
    let known = after.as_ref().map(Place::order).unwrap_or_default();
    let order = Order {
        sort: parameters.sort.unwrap_or(known.sort),
        descending: parameters.descending.unwrap_or(known.descending),
    };
    if after.is_some() && order != known {
        let what = format!(
            "`after` is a place in a list by {}, and this one is asked for by {}",
            in_words(known),
            in_words(order)
        );
        return Err(Problem::new(Code::InvalidParameter, what)
            .with_hint("leave `sort` and `descending` as they were, or `after` out"));
    }
    Ok((order, after))
}

fn in_words(order: Order) -> String {
    let direction = if order.descending {
        "descending"
    } else {
        "ascending"
    };
    format!("{} ({direction})", order.sort.as_str())
}

impl From<ListParameters> for ListFilter {
    fn from(parameters: ListParameters) -> Self {
        Self {
            state: parameters.state,
            searchable: parameters.searchable,
            degraded: parameters.degraded,
            source: parameters.source,
            knowledge_set: parameters.knowledge_set,
            sources_of_set: SourceRule::default(),
            tag: parameters.tag,
            title: parameters.title,
            path: parameters.path,
            path_prefix: parameters.path_prefix,
            text: parameters.text,
            changed_from_ms: parameters.changed_from_ms,
            changed_before_ms: parameters.changed_before_ms,
            viewer: None,
        }
    }
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
) -> Result<HttpResponse, Problem> {
    let id = if caller.is_administrator() {
        of_any_source(&state, &name).await?
    } else {
        writing::own_document(&state, &caller, &name).await?
    };
    json(
        StatusCode::ACCEPTED,
        &Accepted::from(state.documents.delete(&id, None).await?),
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
    let may_see = |standing: Standing<'_>| caller.sees(standing);
    let rows = state
        .documents
        .get_many_where(&asked.document_ids, may_see)
        .into_iter();
    json(
        StatusCode::OK,
        &StatesAnswer {
            documents: rows
                .map(|row| shown(row?, &caller, &state.documents).map(reported))
                .collect(),
        },
    )
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

/// A row as a caller may see it, if at all: what is found of an earlier version may have had other
/// rights, and reasons name other documents and places of the server.
fn shown(row: DocumentRow, caller: &Caller, documents: &Documents) -> Option<DocumentRow> {
    let viewer = caller.viewer();
    let viewer = viewer.filter(|_| !caller.publishes(&row.latest.source));
    let mut row = match viewer {
        Some(viewer) => row.told(viewer)?,
        None => row,
    };
    if !may_read_reason(row.latest.reason.as_deref(), caller, documents) {
        row.latest.reason = None;
    }
    if viewer.is_some() {
        let latest = &row.latest;
        let is_the_same = |indexed: &IndexedVersion| {
            indexed.version == latest.version || Some(indexed.version) == latest.indexed_version
        };
        row.indexed = row.indexed.filter(is_the_same);
        row.latest.reason = row
            .latest
            .reason
            .filter(|_| row.latest.state == State::Indexed);
        // Who else may see it is not for its readers.
        row.latest.rights = None;
        row.latest.published_rights = None;
    }
    Some(row)
}

/// Whether the caller may see the document that a reason names, if it names one.
fn may_read_reason(reason: Option<&str>, caller: &Caller, documents: &Documents) -> bool {
    let named = reason.and_then(|reason| reason.strip_prefix(DocumentState::STORED_ONCE));
    let Some(named) = named.filter(|_| caller.viewer().is_some()) else {
        return true;
    };
    let may_see = |standing: Standing<'_>| caller.sees(standing);
    let rows = documents.get_many_where(&[named.to_owned()], may_see);
    rows.into_iter().flatten().next().is_some()
}

/// What reports say of a document.
fn reported(row: DocumentRow) -> DocumentSummary {
    let indexed = row.indexed.filter(|indexed| !indexed.is_aside);
    let labels = indexed.as_ref().and_then(|indexed| indexed.labels.clone());
    let Labels {
        tags,
        knowledge_sets,
        ..
    } = labels.unwrap_or_default();
    let searchable = indexed.map(|indexed| Searchable {
        version: indexed.version,
        since_ms: indexed.at_ms,
        chunks: indexed.chunks,
    });
    DocumentSummary {
        last_attempt: DocumentState {
            chunks: searchable.as_ref().map_or(0, |found| found.chunks),
            ..row.latest
        },
        searchable,
        tags,
        knowledge_sets,
    }
}

/// The same, with what questions find now; as reported while the index does not answer.
async fn summaries(
    documents: &Documents,
    rows: Vec<DocumentRow>,
    caller: &Caller,
) -> Vec<DocumentSummary> {
    let document_ids: Vec<String> = rows
        .iter()
        .filter(|row| row.indexed.is_some())
        .map(|row| row.latest.document_id.clone())
        .collect();
    let stored = documents
        .stored_many(&document_ids)
        .await
        .inspect_err(|error| tracing::warn!(%error, "what is searchable is as reported"));
    // An earlier version may have had other rights.
    let may_be_told = |stored: &IndexedDocument| {
        let document = &stored.document;
        let sees = |viewer: &Viewer| viewer.sees_document(document);
        caller.publishes(&document.source) || caller.viewer().is_none_or(sees)
    };
    let mut stored: HashMap<String, Option<IndexedDocument>> = document_ids
        .into_iter()
        .zip(stored.ok().unwrap_or_default())
        .collect();
    rows.into_iter()
        .filter_map(|row| shown(row, caller, documents))
        .map(|row| match stored.remove(&row.latest.document_id) {
            Some(stored) => found(row, stored.filter(may_be_told)),
            None => reported(row),
        })
        .collect()
}

/// What is known of a document whose place in the index is known.
fn found(row: DocumentRow, stored: Option<IndexedDocument>) -> DocumentSummary {
    let is_found =
        |stored: &IndexedDocument| !stored.deleted && stored.document.superseded_by.is_none();
    let Some(stored) = stored.filter(is_found) else {
        return reported(DocumentRow {
            indexed: None,
            ..row
        });
    };
    let indexed = row
        .indexed
        .as_ref()
        .filter(|indexed| indexed.version == stored.document.version);
    let chunks = u32::try_from(stored.chunk_ids.len()).unwrap_or(u32::MAX);
    DocumentSummary {
        searchable: Some(Searchable {
            version: stored.document.version,
            since_ms: indexed.and_then(|indexed| indexed.at_ms),
            chunks,
        }),
        last_attempt: DocumentState {
            chunks,
            ..row.latest
        },
        tags: stored.document.tags,
        knowledge_sets: stored.document.knowledge_sets,
    }
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
