//! Who may write which documents: administrators any, publishers those of their sources, under ids
//! that are made of source and path.

use actix_web::HttpRequest;
use bytes::Bytes;
use tributary_retrieval::SearchError;
use tributary_schemas::{DocumentEvent, ErrorKind, id};
use tributary_store::manifest::{Standing, Told};

use super::caller::Caller;
use super::documents::{Accepted, not_found};
use super::{body, large_bodies, upload};
use crate::problem::{Code, Problem};
use crate::server::ServerState;

/// A publication as it came.
pub(super) enum Body {
    Json(Bytes),
    /// Freed piece by piece while it is read.
    Form(Vec<Bytes>),
}

/// Somebody publishes something.
pub(super) struct Publication<'a> {
    pub state: &'a ServerState,
    pub caller: &'a Caller,
    pub request: &'a HttpRequest,
}

impl Publication<'_> {
    /// Checks it and makes it durable.
    pub async fn accept(&self, body: Body) -> Result<Accepted, Problem> {
        let state = self.state;
        let (mut event, file) = match body {
            Body::Json(body) => (body::parse_json::<DocumentEvent>(body).await?, None),
            Body::Form(blocks) => upload::event(self.request, blocks)
                .await
                .map(|(event, file)| (event, Some(file)))?,
        };
        if file.is_some() {
            event.check_but_content()?
        } else {
            event.check()?
        }
        event.required_id()?;
        require_own(self.caller, &event)?;
        require_free(state, self.caller, &event).await?;
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
}

/// Publishers name a source of theirs, no id but the derived one, which no other source can have,
/// and no blob, which may be anybody's.
fn require_own(caller: &Caller, event: &DocumentEvent) -> Result<(), Problem> {
    if caller.is_administrator() {
        return Ok(());
    }
    if !caller.publishes(&event.source) {
        let what = format!(
            "this key may not publish under the source `{}`",
            event.source
        );
        return Err(Problem::new(Code::Denied, what)
            .with_hint("GET /v1/session shows the sources of a key"));
    }
    let path = event.source_path.as_deref().unwrap_or_default();
    let derived = id::derive_document_id(&event.source, path);
    let is_derived = event.document_id.as_ref().is_none_or(|id| *id == derived);
    if path.is_empty() || !is_derived {
        let what = "publishers do not choose ids: they could take those of other sources";
        return Err(Problem::new(Code::Denied, what)
            .with_hint("give `source_path` and no `document_id`; the id is derived"));
    }
    if event.content_url.is_some() {
        let what =
            "`content_url` may name the content of any document: only administrators give it";
        return Err(Problem::new(Code::Denied, what)
            .with_hint("send `content`, `content_base64` or a form"));
    }
    Ok(())
}

/// An administrator may have given the derived id to a document of another source.
async fn require_free(
    state: &ServerState,
    caller: &Caller,
    event: &DocumentEvent,
) -> Result<(), Problem> {
    if caller.is_administrator() {
        return Ok(());
    }
    match state.documents.get(&event.required_id()?).await? {
        Some(row) if !caller.publishes(&row.latest.source) => Err(Problem::new(
            Code::Denied,
            "the id of this document is taken by another source",
        )),
        _ => Ok(()),
    }
}

/// The id of a document of the caller's sources; one of others is not there, word for word.
pub(super) async fn own_document(
    state: &ServerState,
    caller: &Caller,
    name: &str,
) -> Result<String, Problem> {
    let publisher = caller.clone();
    let told = move |standing: Standing<'_>| {
        let is_own = publisher.publishes(standing.source);
        is_own.then_some(Told::ALL)
    };
    let resolved = state.documents.resolve_told(name, told).await;
    resolved.map_err(|error| match error.kind() {
        // Of names that are near a deletion says nothing.
        ErrorKind::NotFound | ErrorKind::Invalid | ErrorKind::Conflict => not_found(name, None),
        _ => error.into(),
    })
}

/// Publishers who are no readers list one of their sources at a time.
pub(super) fn require_listing(caller: &Caller, source: Option<&str>) -> Result<(), Problem> {
    if caller.reads() || source.is_some_and(|source| caller.publishes(source)) {
        return Ok(());
    }
    let what = "this key may list documents of its own sources only";
    Err(Problem::new(Code::Denied, what)
        .with_hint("give `source`; GET /v1/session shows those of a key"))
}
