//! Counts what the index lacks: the table of documents knows what can be found, and an index that was
//! lost, or is of before, has less until it is built again from the log.

use std::sync::Arc;
use std::time::Duration;

use tributary_retrieval::MissingDocuments;
use tributary_schemas::Result;
use tributary_store::manifest::table::DocumentTable;
use tributary_store::search_index::SearchIndex;

use super::Parts;

/// Between two counts.
const PAUSE: Duration = Duration::from_secs(5);
/// As long as some are missing.
const PAUSE_WHILE_MISSING: Duration = Duration::from_secs(1);
/// A deleted document leaves the index before the table, so that a few less are nothing: so many, or
/// one in so many.
const FEW: u64 = 16;
/// See [`FEW`].
const ONE_IN: u64 = 100;

/// Counts now and then, for as long as the process lives.
pub async fn watch(parts: Arc<Parts>) -> anyhow::Result<()> {
    loop {
        let missing = &parts.missing;
        if let Err(error) = count(parts.stores.index.as_ref(), &parts.table, missing).await {
            tracing::debug!(%error, "what the index lacks is not known");
        }
        let pause = match missing.count() {
            0 => PAUSE,
            _ => PAUSE_WHILE_MISSING,
        };
        tokio::time::sleep(pause).await;
    }
}

/// Notes how many documents the serving generation lacks. `Err` leaves what was known before.
pub async fn count(
    index: &dyn SearchIndex,
    table: &DocumentTable,
    missing: &MissingDocuments,
) -> Result<()> {
    // In this order: what is indexed in between is in both.
    let searchable = table.counts().searchable;
    let generations = index.status().await?;
    let serving = generations.iter().find(|generation| generation.serving);
    let found = serving.map_or(0, |serving| serving.documents);
    let lacking = lacking(searchable, found);
    if lacking != missing.count() {
        said(missing.count(), lacking, searchable);
    }
    missing.set(lacking);
    Ok(())
}

fn said(before: u64, lacking: u64, searchable: u64) {
    match (before, lacking) {
        (0, _) => tracing::warn!(
            lacking,
            searchable,
            "the index lacks documents and is built again from the log, searches say `degraded: documents`"
        ),
        (_, 0) => tracing::info!(searchable, "the index has all documents again"),
        _ => {}
    }
}

fn lacking(searchable: u64, found: u64) -> u64 {
    let lacking = searchable.saturating_sub(found);
    let is_few = found > 0 && lacking <= FEW.max(searchable / ONE_IN);
    if is_few { 0 } else { lacking }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_index_lacks_all_and_a_few_that_are_on_their_way_are_none() {
        let table = [
            (0, 0, 0),
            (3, 0, 3),
            (3, 3, 0),
            (3, 5, 0),
            (100, 84, 0),
            (100, 83, 17),
            (10_000, 9_900, 0),
            (10_000, 9_899, 101),
        ];
        for (searchable, found, expected) in table {
            assert_eq!(
                lacking(searchable, found),
                expected,
                "{found} of {searchable}"
            );
        }
    }
}
