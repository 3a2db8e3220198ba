//! Who may write which documents: administrators any, publishers those of their sources, under ids
//! that are made of source and path.

use actix_web::HttpRequest;
use bytes::Bytes;
use tributary_retrieval::SearchError;
use tributary_schemas::{DocumentEvent, ErrorKind, id};
use tributary_store::blobs::check_reference;
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

/// What it says, and the file of a form.
#[derive(Debug)]
pub(super) struct Publication {
    event: DocumentEvent,
    file: Option<Bytes>,
}

impl Publication {
    /// Reads it; what it says is not checked yet.
    pub async fn read(request: &HttpRequest, body: Body) -> Result<Self, Problem> {
        match body {
            Body::Json(body) => {
                let event = body::parse_json(body).await?;
                Ok(Self { event, file: None })
            }
            Body::Form(blocks) => {
                let (event, file) = upload::event(request, blocks).await?;
                let file = Some(file);
                Ok(Self { event, file })
            }
        }
    }

    /// Hash of what it says: the same however a client orders its fields or parts its form.
    pub async fn hash(self) -> Result<(Self, blake3::Hash), Problem> {
        let hashing = tokio::task::spawn_blocking(move || {
            let mut hasher = blake3::Hasher::new();
            serde_json::to_writer(&mut hasher, &self.event)?;
            if let Some(file) = &self.file {
                hasher.update(file);
            }
            Ok((self, hasher.finalize()))
        });
        let hashed: Result<_, serde_json::Error> = hashing.await.map_err(unhashed)?;
        hashed.map_err(unhashed)
    }

    /// Checks it and makes it durable.
    pub async fn accept(self, state: &ServerState, caller: &Caller) -> Result<Accepted, Problem> {
        let Self { mut event, file } = self;
        match file {
            Some(_) => event.check_but_content()?,
            None => event.check()?,
        }
        event.required_id()?;
        require_own(caller, &event)?;
        event
            .content_url
            .as_deref()
            .map_or(Ok(()), check_reference)?;
        require_free(state, caller, &event).await?;
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

fn unhashed(error: impl std::fmt::Display) -> Problem {
    Problem::new(Code::Internal, format!("body cannot be hashed: {error}"))
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
