//! Long chunks in tier 2: what stands far down in one has little weight in its vector, so the window
//! that is nearest to the question counts beside it.
//!
//! cosine = (1 − w) · cosine of the chunk + w · cosine of its nearest window. A chunk that is one
//! window, and one of a generation that keeps none, has its own cosine alone.

use std::collections::HashMap;

use tributary_schemas::search::{QueryPlan, ScoredChunk};
use tributary_schemas::{ChunkId, Result};
use tributary_store::search_index::{SearchIndex, WindowQuery};

use crate::embed::QueryVectors;

/// Cosine of question and nearest window, of chunks that have several.
pub type Nearest = HashMap<ChunkId, f32>;

/// Asks for the nearest windows of the candidates; of none where they do not count.
pub async fn nearest(
    index: &dyn SearchIndex,
    plan: &QueryPlan,
    vectors: Option<&QueryVectors>,
    candidates: &[ChunkId],
) -> Result<Nearest> {
    let counts = plan.window_weight > 0.0 && !candidates.is_empty();
    let Some(vectors) = vectors.filter(|_| counts) else {
        return Ok(Nearest::new());
    };
    let query = WindowQuery {
        generation: plan.generation.as_deref(),
        vector: vectors.fine(),
        candidates,
    };
    let found = index.nearest_windows(query).await?;
    let pairs = found.into_iter().map(|found| (found.chunk_id, found.score));
    Ok(pairs.collect())
}

/// Lets windows count in a list by cosine, which stays best first, equal ones by chunk id.
pub fn count(vector: &mut [ScoredChunk], nearest: &Nearest, weight: f32) {
    for chunk in vector.iter_mut() {
        if let Some(window) = nearest.get(&chunk.chunk_id) {
            chunk.score = (1.0 - weight) * chunk.score + weight * window;
        }
    }
    vector.sort_unstable_by(|left, right| {
        let by_score = right.score.total_cmp(&left.score);
        by_score.then(left.chunk_id.cmp(&right.chunk_id))
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(id: u128, score: f32) -> ScoredChunk {
        ScoredChunk {
            chunk_id: ChunkId(id),
            score,
        }
    }

    #[test]
    fn the_nearest_window_counts_half_and_what_is_one_window_stays_as_it_is() {
        let mut list = [chunk(1, 0.75), chunk(2, 0.5), chunk(3, 0.25)];
        count(&mut list, &Nearest::from([(ChunkId(3), 1.0)]), 0.5);
        assert_eq!(list, [chunk(1, 0.75), chunk(3, 0.625), chunk(2, 0.5)]);
        count(&mut list, &Nearest::from([(ChunkId(1), 0.5)]), 0.5);
        assert_eq!(list, [chunk(1, 0.625), chunk(3, 0.625), chunk(2, 0.5)]);
        count(&mut list, &Nearest::new(), 0.5);
        assert_eq!(list, [chunk(1, 0.625), chunk(3, 0.625), chunk(2, 0.5)]);
    }
}
