//! Searches that a change overtakes. Between tier 1 and the reading of texts a document may be
//! replaced: its old chunks are gone then, and nobody has looked at the new ones. Such a search is made
//! again, or nothing would be found of a document that is there before and after.

use std::collections::HashSet;
use std::time::Duration;

use tributary_schemas::search::QueryPlan;
use tributary_schemas::{ChunkId, Result};
use tributary_store::search_index::SearchIndex;

use crate::coarse::Coarse;
use crate::fine::Lists;
use crate::retriever::{Outcome, degrade};

/// How long it is waited before each next time: an index may read what it does not find yet.
pub const AGAIN_AFTER: [Duration; 4] = [
    Duration::from_millis(5),
    Duration::from_millis(50),
    Duration::from_millis(200),
    Duration::from_millis(500),
];
/// Candidates without a score that are looked for: all of them are gone, or none.
const LOOKED_FOR: usize = 16;
/// What is named where a search was overtaken each time.
const OVERTAKEN: &str = "overtaken";

impl Outcome {
    /// Says in `degraded` that it was overtaken, where the last one was too.
    pub(crate) fn name_overtaken(&mut self) {
        if self.overtaken {
            degrade(&mut self.response.degraded, OVERTAKEN);
        }
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
