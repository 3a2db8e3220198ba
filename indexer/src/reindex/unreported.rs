//! Reports that a change of the serving generation makes true. While two generations exist, a
//! document's record comes once for each, and only the one for the serving generation is reported.
//! If that one dies or is dropped after the change, nothing else would report what the
//! other one has brought already, and the document would stay on its way for ever.

use tributary_schemas::{DocumentState, Result, State, Topic};
use tributary_store::event_log::stage::Output;
use tributary_store::event_log::topics::Topics;
use tributary_store::manifest;
use tributary_store::manifest::table::{DocumentRow, DocumentTable};
use tributary_store::search_index::{IndexedDocument, SharedSearchIndex};

const PAGE: usize = 1000;

/// Reports every document that the table does not call searchable in its newest version, and that
/// `generation` has in that version. Called once queries go to `generation`; may be repeated.
pub async fn report_found(
    topics: &Topics,
    table: &DocumentTable,
    index: &SharedSearchIndex,
    generation: &str,
    now_ms: i64,
) -> Result<()> {
    table.catch_up(topics).await?;
    let mut after: Option<String> = None;
    loop {
        let page = table.page(after.as_deref(), PAGE);
        let Some(last) = page.last() else {
            return Ok(());
        };
        after = Some(last.latest.document_id.clone());
        let open: Vec<DocumentRow> = page.into_iter().filter(is_open).collect();
        let reports = found_of(&open, index, generation, now_ms).await?;
        append(topics, &reports).await?;
    }
}

/// On its way, or given up: for one generation, which need not be the one that serves now.
fn is_open(row: &DocumentRow) -> bool {
    !row.latest.state.is_final() || row.latest.state == State::Dead
}

async fn found_of(
    open: &[DocumentRow],
    index: &SharedSearchIndex,
    generation: &str,
    now_ms: i64,
) -> Result<Vec<DocumentState>> {
    if open.is_empty() {
        return Ok(Vec::new());
    }
    let ids: Vec<String> = open
        .iter()
        .map(|row| row.latest.document_id.clone())
        .collect();
    let stored = index.documents(Some(generation), &ids).await?;
    let found = open.iter().zip(stored).filter_map(|(row, stored)| {
        let stored = stored?;
        let is_newest = stored.document.version == row.latest.version;
        is_newest.then(|| what_is_found(stored, generation, now_ms))
    });
    Ok(found.collect())
}

/// What the index stage says of a document that it finds stored like this.
pub(crate) fn what_is_found(
    stored: IndexedDocument,
    generation: &str,
    now_ms: i64,
) -> DocumentState {
    let document = stored.document;
    if stored.deleted {
        return manifest::report(&document, State::Deleted, now_ms);
    }
    if let Some(newer) = &document.superseded_by {
        return DocumentState {
            reason: Some(format!(
                "superseded by another edition of the same work: {newer}"
            )),
            ..manifest::report(&document, State::Skipped, now_ms)
        };
    }
    let indexed = manifest::indexed(&document, generation, stored.chunk_ids.len(), now_ms);
    let stored_once = document
        .duplicate_of
        .as_ref()
        .map(|canonical| format!("{}{canonical}", DocumentState::STORED_ONCE));
    DocumentState {
        reason: stored_once.or(indexed.reason),
        ..indexed
    }
}

async fn append(topics: &Topics, reports: &[DocumentState]) -> Result<()> {
    if reports.is_empty() {
        return Ok(());
    }
    let outputs: Result<Vec<Output>> = reports.iter().map(Output::report).collect();
    let records = outputs?.into_iter().map(|output| output.record).collect();
    topics.append(Topic::DocumentsStates, records).await?;
    tracing::info!(
        documents = reports.len(),
        "documents on their way were found in the generation that serves now"
    );
    Ok(())
}
