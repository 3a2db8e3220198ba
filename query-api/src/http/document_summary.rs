//! A document as somebody is told of it: what the last attempt did, what can be found, and of both
//! only what they may see.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tributary_schemas::{DocumentState, Labels, State, Viewer};
use tributary_store::manifest::Standing;
use tributary_store::manifest::documents::Documents;
use tributary_store::manifest::table::DocumentRow;
use tributary_store::search_index::IndexedDocument;

use super::caller::Caller;

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

/// A row as a caller may see it, if at all; reasons name other documents and places of the server.
pub(super) fn shown(
    row: DocumentRow,
    caller: &Caller,
    documents: &Documents,
) -> Option<DocumentRow> {
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
        row.latest.reason = row
            .latest
            .reason
            .filter(|_| row.latest.state == State::Indexed);
        // Who else may see it is not for its readers.
        row.latest.rights = None;
        row.latest.published_rights = None;
        // It is a hash of the whole text, of sections too that they may not see.
        row.latest.fingerprint = String::new();
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
pub(super) fn reported(row: DocumentRow) -> DocumentSummary {
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
pub(super) async fn summaries(
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
