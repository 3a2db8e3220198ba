//! The manifest: what became of every document. Stages report to `documents.states`;
//! [`table::DocumentTable`] is what the reports add up to, [`list`] its documents in order,
//! [`documents::Documents`] what users do with it, [`reconcile`] the proof that nothing was lost.

pub mod changes;
pub mod dead_letters;
pub mod documents;
mod followed_rights;
pub mod given_time;
mod letters;
pub mod list;
pub mod names;
pub mod reconcile;
pub mod restating;
mod rows;
mod standing;
pub mod table;
pub mod tally;
mod texts;
pub mod unchanged;
pub mod versions;
mod view;

pub use standing::{Standing, Told};

use serde_json::Value;
use tributary_schemas::id::MAXIMUM_DOCUMENT_ID_BYTES;
use tributary_schemas::{
    Attributes, DocumentHeader, DocumentRights, DocumentState, Error, Labels, State, limits,
};

use crate::event_log::stage::Output;
use crate::event_log::{StoredRecord, message};

/// The report that a document is indexed, with so many chunks, in this generation of the index.
pub fn indexed(
    document: &DocumentHeader,
    generation: &str,
    chunks: usize,
    now_ms: i64,
) -> DocumentState {
    DocumentState {
        chunks: u32::try_from(chunks).unwrap_or(u32::MAX),
        lineage: Some(document.lineage.clone()),
        labels: Some(Labels::of(document, generation)),
        ..report(document, State::Indexed, now_ms)
    }
}

/// A report that a document has come to `state`; the caller fills in what else it knows.
pub fn report(document: &DocumentHeader, state: State, now_ms: i64) -> DocumentState {
    DocumentState {
        document_id: document.document_id.clone(),
        version: document.version,
        state,
        reason: document.partial.clone().filter(|_| state == State::Indexed),
        source: document.source.clone(),
        source_path: document.source_path.clone(),
        title: document.title.clone(),
        chunks: 0,
        fingerprint: document.fingerprint.clone(),
        lineage: None,
        timeline: document.timeline.clone(),
        at_ms: now_ms,
        indexed_version: None,
        indexed_at_ms: None,
        labels: None,
        rights: DocumentRights::of(document),
        published_rights: None,
        indexed_rights: None,
        before: None,
    }
}

/// The report that a record was given up, for [`crate::event_log::stage::Stage::abandoned`]. It
/// says as much of the document as the record lets one read.
pub fn abandoned(input: &StoredRecord, error: &Error, now_ms: i64) -> Vec<Output> {
    let Ok(document_id) = message::document_id(&input.record) else {
        return Vec::new();
    };
    // No document can have it, and the table would keep it for ever.
    if document_id.len() > MAXIMUM_DOCUMENT_ID_BYTES {
        return Vec::new();
    }
    let document = readable_header(input, document_id);
    let state = DocumentState {
        reason: Some(format!("{}: {}", error.kind(), error.full_message())),
        // What the index has of an earlier version obeys them for as long as nothing newer comes.
        published_rights: readable_rights(input),
        ..report(&document, State::Dead, now_ms)
    };
    Output::report(&state)
        .map(|output| output.traced(&input.record))
        .into_iter()
        .collect()
}

/// What the record says of the document's readers, if it says anything that can be read.
fn readable_rights(input: &StoredRecord) -> Option<DocumentRights> {
    let value: Value = serde_json::from_slice(input.record.value.as_ref()?).ok()?;
    let body = value.get("document").unwrap_or(&value);
    let attributes: Attributes = serde_json::from_value(body.get("attributes")?.clone()).ok()?;
    Some(DocumentRights::stated(&attributes))
}

fn readable_header(input: &StoredRecord, document_id: &str) -> DocumentHeader {
    let value: Value = input
        .record
        .value
        .as_ref()
        .and_then(|value| serde_json::from_slice(value).ok())
        .unwrap_or(Value::Null);
    let body = value.get("document").unwrap_or(&value);
    let text = |name: &str, limit| {
        limits::shortened(
            body.get(name)
                .and_then(|value| value.as_str())
                .unwrap_or_default(),
            limit,
        )
    };
    let version = body.get("version").and_then(|version| version.as_u64());
    DocumentHeader {
        document_id: document_id.to_owned(),
        version: version
            .or_else(|| message::version(&input.record).ok())
            .unwrap_or_else(|| message::time_as_version(&input.record)),
        source: text("source", limits::SOURCE_BYTES),
        source_path: text("source_path", limits::SOURCE_PATH_BYTES),
        title: text("title", limits::TITLE_BYTES),
        ..DocumentHeader::default()
    }
}
