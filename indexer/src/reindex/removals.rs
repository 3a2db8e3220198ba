//! What a new generation must know of documents that are gone: their tombstones in the log may be
//! compacted away, and an older version that comes late (a replayed dead letter, a record delivered
//! again) would bring them back. One that serves while it is filled must know it of replaced
//! versions, too.

use tributary_schemas::{Result, State};
use tributary_store::manifest::table::{DocumentRow, DocumentTable};
use tributary_store::search_index::{Operation, SharedSearchIndex};

const PAGE: usize = 1000;

/// Writes the removal of every document of which nothing is searchable, as one of the version
/// before: what the removing version itself or a later one brings still gets in, in whatever order
/// both come.
pub async fn remember_removals(
    table: &DocumentTable,
    index: &SharedSearchIndex,
    generation: &str,
) -> Result<()> {
    remember(table, index, generation, removal).await
}

/// Of a generation that lost what it had, and serves while it is filled from the log again: beside
/// the removals, that nothing older than what was searchable of a document gets in.
pub async fn remember_versions(
    table: &DocumentTable,
    index: &SharedSearchIndex,
    generation: &str,
) -> Result<()> {
    remember(table, index, generation, |row| match &row.indexed {
        Some(indexed) => before(indexed.version, row.latest.document_id),
        None => removal(row),
    })
    .await
}

async fn remember(
    table: &DocumentTable,
    index: &SharedSearchIndex,
    generation: &str,
    operation: impl Fn(DocumentRow) -> Option<Operation>,
) -> Result<()> {
    let mut after: Option<String> = None;
    let mut written = 0;
    loop {
        let page = table.page(after.as_deref(), PAGE);
        let Some(last) = page.last() else { break };
        after = Some(last.latest.document_id.clone());
        let operations: Vec<Operation> = page.into_iter().filter_map(&operation).collect();
        if !operations.is_empty() {
            written += operations.len();
            index.write(generation, operations).await?;
        }
    }
    if written > 0 {
        index.flush(generation).await?;
        tracing::info!(
            generation,
            documents = written,
            "the generation knows what is too old for it"
        );
    }
    Ok(())
}

/// Of what is deleted, or without anything to search since its newest version.
fn removal(row: DocumentRow) -> Option<Operation> {
    let is_removed =
        row.indexed.is_none() && matches!(row.latest.state, State::Deleted | State::Skipped);
    is_removed.then(|| before(row.latest.version, row.latest.document_id))?
}

/// Lets in what is of this version or newer.
fn before(version: u64, document_id: String) -> Option<Operation> {
    let version = version.checked_sub(1)?;
    Some(Operation::Delete {
        document_id,
        version,
    })
}
