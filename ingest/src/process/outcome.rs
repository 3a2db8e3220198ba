//! What the stage says of documents that it does not pass on, or not as a whole.

use std::collections::BTreeMap;

use tributary_convert::picture::ocr;
use tributary_schemas::{DocumentHeader, DocumentState, State};
use tributary_store::manifest;
use tributary_store::manifest::table::IndexedVersion;

/// The report of a document that is indexed as it is. It says all that is known of what stays
/// indexed: once compacted, no other report does.
pub(super) fn unchanged(
    document: &DocumentHeader,
    indexed: IndexedVersion,
    now_ms: i64,
) -> DocumentState {
    let since = indexed.version;
    let reason = match indexed.is_aside {
        true => format!(
            "superseded by another edition of the same work; unchanged since version {since}"
        ),
        false => format!("content and settings unchanged since version {since}"),
    };
    DocumentState {
        reason: Some(reason),
        indexed_version: Some(indexed.version),
        indexed_at_ms: indexed.at_ms,
        chunks: indexed.chunks,
        labels: indexed.labels,
        ..manifest::report(document, State::Skipped, now_ms)
    }
}

/// What of a document was not read, and why.
pub(super) fn unread(metadata: &BTreeMap<String, String>) -> Option<String> {
    let what = match (
        metadata.get("pages_without_text"),
        metadata.get("ocr_left_out"),
    ) {
        (Some(pages), _) => {
            format!("pages {pages} have no text of their own and were not read as pictures")
        }
        (None, Some(count)) => format!("{count} pictures were not read"),
        (None, None) if metadata.contains_key(ocr::UNAVAILABLE_KEY) => {
            "its pictures were not read".to_owned()
        }
        (None, None) => {
            return metadata
                .get("damaged")
                .map(|damage| format!("it is damaged: {damage}"));
        }
    };
    let why = metadata
        .get(ocr::UNAVAILABLE_KEY)
        .map_or("they are over the limits of `convert.ocr`", String::as_str);
    Some(format!("{what}: {why}"))
}

/// Why nothing is left of a document.
pub(super) fn reason_of_emptiness(metadata: &BTreeMap<String, String>, body_is: &str) -> String {
    match unread(metadata) {
        Some(unread) => format!("no text: {unread}"),
        None if metadata.contains_key(ocr::FOUND_KEY) => {
            "no text: none was found in the document's pictures".to_owned()
        }
        None => format!("empty: nothing to search is left of {body_is}"),
    }
}
