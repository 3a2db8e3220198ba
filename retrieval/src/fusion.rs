//! The two ways to make one ranking of several: relative score fusion (tier 2) and reciprocal rank
//! fusion (tier 1).

use std::collections::HashMap;

use tributary_schemas::ChunkId;
use tributary_schemas::search::ScoredChunk;

/// Relative score fusion of one chunk: α · vector + (1 − α) · keyword, both normalised to 0..1.
pub fn relative_score(vector: f32, keyword: f32, vector_weight: f32) -> f32 {
    vector_weight * vector + (1.0 - vector_weight) * keyword
}

/// Reciprocal rank fusion: the **sum** over all rankings of 1 / (k + rank), rank from 1. Cormack,
/// Clarke, Büttcher, "Reciprocal rank fusion outperforms Condorcet and individual rank learning
/// methods", SIGIR 2009, with k = 60. A ranking without the chunk adds 0.
pub fn reciprocal_rank(rankings: &[&[ScoredChunk]], constant: f32) -> Vec<ScoredChunk> {
    let mut sums: HashMap<ChunkId, f32> = HashMap::new();
    for ranking in rankings {
        let mut rank = 0.0;
        for candidate in *ranking {
            rank += 1.0;
            *sums.entry(candidate.chunk_id).or_default() += 1.0 / (constant + rank);
        }
    }
    let mut fused: Vec<ScoredChunk> = sums
        .into_iter()
        .map(|(chunk_id, score)| ScoredChunk { chunk_id, score })
        .collect();
    sort_best_first(&mut fused);
    fused
}

/// Best first; equal scores by chunk id, so that the same question always gets the same order.
pub fn sort_best_first(chunks: &mut [ScoredChunk]) {
    chunks.sort_unstable_by(|left, right| {
        right
            .score
            .total_cmp(&left.score)
            .then(left.chunk_id.cmp(&right.chunk_id))
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranking(ids: &[u128]) -> Vec<ScoredChunk> {
        ids.iter()
            .map(|id| ScoredChunk {
                chunk_id: ChunkId(*id),
                score: 0.0,
            })
            .collect()
    }

    #[test]
    fn relative_scores_are_a_weighted_sum() {
        let table = [
            (1.0, 0.0, 0.55, 0.55),
            (0.0, 1.0, 0.55, 0.45),
            (1.0, 1.0, 0.7, 1.0),
            (0.5, 0.2, 0.4, 0.32),
            (0.9, 0.1, 1.0, 0.9),
        ];
        for (vector, keyword, weight, expected) in table {
            assert!((relative_score(vector, keyword, weight) - expected).abs() < 1e-6);
        }
    }

    #[test]
    fn reciprocal_ranks_are_summed_not_the_best_taken() {
        let (left, right) = (ranking(&[1, 2, 3]), ranking(&[3, 2]));
        let fused = reciprocal_rank(&[&left, &right], 60.0);
        // 3: 1/63 + 1/61 = .032266, 2: 1/62 + 1/62 = .032258, 1: 1/61 = .016393; by the best rank
        // alone 1 and 3 would tie
        let expected = [(3, 0.032_266), (2, 0.032_258), (1, 0.016_393)];
        assert_eq!(fused.len(), expected.len());
        for (found, (id, score)) in fused.iter().zip(expected) {
            assert_eq!(found.chunk_id, ChunkId(id));
            assert!((found.score - score).abs() < 1e-5, "{found:?}");
        }
    }

    #[test]
    fn equal_sums_are_ordered_by_id() {
        let (left, right) = (ranking(&[2, 1]), ranking(&[1, 2]));
        let ids: Vec<u128> = reciprocal_rank(&[&left, &right], 60.0)
            .iter()
            .map(|chunk| chunk.chunk_id.0)
            .collect();
        assert_eq!(ids, [1, 2]);
        assert!(reciprocal_rank(&[], 60.0).is_empty());
    }
}
