//! `documents reconcile`: compares what the reports say with what the index can find.

use std::collections::{HashMap, HashSet};

use tributary_schemas::{ChunkId, Reconciliation, Result, State};

use super::table::DocumentTable;
use crate::search_index::{IndexedDocument, SearchIndex};

const PAGE: usize = 1000;

/// Documents that are on the way, with their versions.
pub fn on_the_way(table: &DocumentTable) -> HashMap<String, u64> {
    let mut found = HashMap::new();
    table.for_each(|document_id, row| {
        if !row.latest.state.is_final() {
            found.insert(document_id.to_owned(), row.latest.version);
        }
    });
    found
}

/// Compares. `waiting_records` is what stages had yet to take, all topics together, at a moment
/// after `earlier` documents were seen on the way and before the table caught up again: with none
/// waiting, one of those that still is on the way is stuck.
pub async fn reconcile(
    table: &DocumentTable,
    index: &dyn SearchIndex,
    waiting_records: u64,
    earlier: &HashMap<String, u64>,
) -> Result<Reconciliation> {
    let stored = stored_documents(index).await?;
    let findable = index.list_chunks(None).await?;
    let mut found = Reconciliation {
        waiting_records,
        ..Reconciliation::default()
    };
    let counts = compare_chunks(&stored, &findable, table, &mut found);
    table.for_each(|document_id, row| {
        found.accepted += 1;
        found.searchable += u64::from(row.is_searchable());
        *count_of(&mut found, row.latest.state) += 1;
        let stuck = !row.latest.state.is_final()
            && waiting_records == 0
            && earlier.get(document_id) == Some(&row.latest.version);
        let incomplete = row.indexed.as_ref().is_some_and(|indexed| {
            let whole = stored.get(document_id).is_some_and(|document| {
                let searchable = counts.get(document_id).copied().unwrap_or(0);
                document.document.version >= indexed.version
                    && searchable == document.chunk_ids.len()
                    && is_stood_for(document, &stored)
            });
            !whole
        });
        if stuck || incomplete {
            found.missing.push(document_id.to_owned());
        }
    });
    found.ok = found.in_flight == 0
        && waiting_records == 0
        && found.missing.is_empty()
        && found.orphan_chunks.is_empty()
        && found.duplicate_chunks.is_empty();
    Ok(found)
}

fn count_of(found: &mut Reconciliation, state: State) -> &mut u64 {
    match state {
        State::Indexed => &mut found.indexed,
        State::Skipped => &mut found.skipped,
        State::Deleted => &mut found.deleted,
        State::Dead => &mut found.dead,
        State::Accepted | State::Chunking | State::Embedding | State::Indexing => {
            &mut found.in_flight
        }
    }
}

/// Whether the document that stands for an exact duplicate is there and has its content.
fn is_stood_for(document: &IndexedDocument, stored: &HashMap<String, IndexedDocument>) -> bool {
    let Some(canonical) = &document.document.duplicate_of else {
        return true;
    };
    stored.get(canonical).is_some_and(|canonical| {
        let has_content = !canonical.deleted
            && canonical.document.duplicate_of.is_none()
            && !canonical.chunk_ids.is_empty();
        has_content && canonical.document.content_hash == document.document.content_hash
    })
}

async fn stored_documents(index: &dyn SearchIndex) -> Result<HashMap<String, IndexedDocument>> {
    let mut stored = HashMap::new();
    let mut after: Option<String> = None;
    loop {
        let page = index.list_documents(None, after.as_deref(), PAGE).await?;
        let Some(last) = page.last() else {
            return Ok(stored);
        };
        after = Some(last.document.document_id.clone());
        stored.extend(
            page.into_iter()
                .map(|document| (document.document.document_id.clone(), document)),
        );
    }
}

/// Finds orphans and duplicates; returns how many distinct chunks of each document can be found.
fn compare_chunks(
    stored: &HashMap<String, IndexedDocument>,
    findable: &[(ChunkId, String)],
    table: &DocumentTable,
    found: &mut Reconciliation,
) -> HashMap<String, usize> {
    let expected: HashSet<ChunkId> = stored
        .values()
        .flat_map(|document| document.chunk_ids.iter().copied())
        .collect();
    let mut seen = HashSet::new();
    let mut counts: HashMap<String, usize> = HashMap::new();
    for (chunk_id, document_id) in findable {
        if !seen.insert(*chunk_id) {
            found.duplicate_chunks.push(*chunk_id);
            continue;
        }
        let wanted = table
            .get(document_id)
            .is_some_and(|row| row.latest.state != State::Deleted);
        if !wanted || !expected.contains(chunk_id) {
            found.orphan_chunks.push(*chunk_id);
        }
        *counts.entry(document_id.clone()).or_default() += 1;
    }
    counts
}
