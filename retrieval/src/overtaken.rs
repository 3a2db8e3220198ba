//! Searches that a change overtakes. Between tier 1 and the reading of texts a document may be
//! replaced: its old chunks are gone then, and nobody has looked at the new ones. Such a search is made
//! again, or nothing would be found of a document that is there before and after.

use std::collections::HashSet;
use std::future::Future;
use std::time::Duration;

use tributary_schemas::search::QueryPlan;
use tributary_schemas::{ChunkId, ErrorKind, Result};
use tributary_store::search_index::SearchIndex;

use crate::coarse::Coarse;
use crate::error::SearchError;
use crate::fine::Lists;
use crate::retriever::{Retriever, degrade};
use crate::serving::Serving;

/// How long it is waited before each next time: an index may read what it does not find yet.
const AGAIN_AFTER: [Duration; 4] = [
    Duration::from_millis(5),
    Duration::from_millis(50),
    Duration::from_millis(200),
    Duration::from_millis(500),
];
/// Candidates without a score that are looked for: all of them are gone, or none.
const LOOKED_FOR: usize = 16;
/// What is named where a search was overtaken each time.
const OVERTAKEN: &str = "overtaken";

/// What a search gives, as far as it may have to be made again.
pub(crate) trait Overtakable {
    /// Whether a change came in between: it may have found less than there is.
    fn is_overtaken(&self) -> bool;
    /// What it was answered without.
    fn degraded(&mut self) -> &mut Vec<String>;
}

impl Retriever {
    /// A search in the generation that serves, also where that becomes another one meanwhile, and
    /// again for as long as it is overtaken. The answer says so where the last one was too.
    pub(crate) async fn until_current<T, Once>(
        &self,
        once: impl Fn() -> Once,
    ) -> std::result::Result<T, SearchError>
    where
        T: Overtakable,
        Once: Future<Output = std::result::Result<T, SearchError>>,
    {
        let mut found = self.in_current(&once).await?;
        for wait in AGAIN_AFTER {
            if found.is_overtaken() {
                tokio::time::sleep(wait).await;
                found = self.in_current(&once).await?;
            }
        }
        if found.is_overtaken() {
            degrade(found.degraded(), OVERTAKEN);
        }
        Ok(found)
    }

    async fn in_current<T, Once>(
        &self,
        once: impl Fn() -> Once,
    ) -> std::result::Result<T, SearchError>
    where
        Once: Future<Output = std::result::Result<T, SearchError>>,
    {
        let began_with = self.serving.current();
        match once().await {
            Err(failed) if self.outlived(&began_with, &failed) => once().await,
            searched => searched,
        }
    }

    /// Whether a search failed as the generation that it began with is gone, and another one serves:
    /// two builds may end while a long search goes on, and the second removes what served before the
    /// first.
    fn outlived(&self, began_with: &Serving, failed: &SearchError) -> bool {
        let is_gone =
            matches!(failed, SearchError::Failed(error) if error.kind() == ErrorKind::NotFound);
        is_gone && self.serving.current().generation != began_with.generation
    }
}

/// Whether some of the first `top_k` candidates of tier 1 are no more: those that no signal of tier 2
/// found.
pub async fn is_any_gone(
    index: &dyn SearchIndex,
    plan: &QueryPlan,
    coarse: &Coarse,
    lists: &Lists,
) -> Result<bool> {
    let found = lists.keyword.iter().chain(&lists.vector);
    let found: HashSet<ChunkId> = found.map(|chunk| chunk.chunk_id).collect();
    let candidates = coarse.candidates.iter().take(plan.top_k);
    let missing = candidates
        .map(|chunk| chunk.chunk_id)
        .filter(|id| !found.contains(id));
    let missing: Vec<ChunkId> = missing.take(LOOKED_FOR).collect();
    if missing.is_empty() {
        return Ok(false);
    }
    let generation = plan.generation.as_deref();
    let stored = index.fetch(generation, &missing).await?;
    let absent = missing.into_iter().zip(stored);
    let absent = absent.filter(|(_, stored)| stored.is_none());
    let absent: Vec<ChunkId> = absent.map(|(id, _)| id).collect();
    // What is damaged is there, and stays as it is however often it is searched.
    Ok(!absent.is_empty() && index.damaged(generation, &absent).await?.len() < absent.len())
}
