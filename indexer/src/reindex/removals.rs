//! What a new generation must know of documents that are gone: their tombstones in the log may be
//! compacted away, and an older version that comes late (a replayed dead letter, a record delivered
//! again) would bring them back.

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
    let mut after: Option<String> = None;
    let mut written = 0;
    loop {
        let page = table.page(after.as_deref(), PAGE);
        let Some(last) = page.last() else { break };
        after = Some(last.latest.document_id.clone());
        let removals: Vec<Operation> = page
            .into_iter()
            .filter(is_removed)
            .filter_map(removal)
            .collect();
        if !removals.is_empty() {
            written += removals.len();
            index.write(generation, removals).await?;
        }
    }
    if written > 0 {
        index.flush(generation).await?;
        tracing::info!(
            generation,
            removals = written,
            "the new generation knows which documents are gone"
        );
    }
    Ok(())
}

/// Deleted, or without anything to search since its newest version.
fn is_removed(row: &DocumentRow) -> bool {
    row.indexed.is_none() && matches!(row.latest.state, State::Deleted | State::Skipped)
}

fn removal(row: DocumentRow) -> Option<Operation> {
    let version = row.latest.version.checked_sub(1)?;
    Some(Operation::Delete {
        document_id: row.latest.document_id,
        version,
    })
}
