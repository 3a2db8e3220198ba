//! What tells questions apart as to how much the vector side should count: how far both signals tell
//! the chunks apart that they found.
//!
//! The question itself says little: its length, its share of identifiers, of lexicon terms and of
//! rare words were tried, and so was whether both lists agree. They gain nothing on sets that they
//! were not fitted on (`docs/decisions/0059-the-weight-of-vectors-adapts.md`).

use std::collections::BTreeMap;

use tributary_schemas::search::ScoredChunk;

use crate::fine::Lists;

/// First chunks of each list that are compared.
const HEAD: usize = 10;

/// Names of the features.
pub const FEATURES: [&str; 2] = ["keyword_spread", "vector_spread"];

/// In the order of [`FEATURES`]:
///
/// - by which share of its score the best chunk by keyword leads before the tenth, 0 to 1;
/// - by how much cosine the best chunk by vector leads before the tenth, 0 to 2.
///
/// Where a list is shorter its last chunk stands for the tenth.
pub type WeightFeatures = [f32; FEATURES.len()];

/// The features of a question for which this was found; none where one of the signals found
/// nothing: the other decides alone then.
pub fn features(lists: &Lists) -> Option<WeightFeatures> {
    let best = score_at(&lists.keyword, 0).filter(|best| *best > 0.0)?;
    let lead = best - score_at(&lists.keyword, HEAD - 1)?;
    let nearest = score_at(&lists.vector, 0)?;
    Some([lead / best, nearest - score_at(&lists.vector, HEAD - 1)?])
}

/// By name, as a plan shows them.
pub fn named(features: &WeightFeatures) -> BTreeMap<String, f32> {
    let named = FEATURES.iter().zip(features);
    named
        .map(|(name, value)| ((*name).to_owned(), *value))
        .collect()
}

/// The score at a place from 0, or of the last chunk; none of an empty list.
fn score_at(list: &[ScoredChunk], place: usize) -> Option<f32> {
    let chunk = list.get(place).or(list.last());
    chunk.map(|chunk| chunk.score)
}

#[cfg(test)]
mod tests {
    use tributary_schemas::ChunkId;

    use super::*;

    fn list(scores: &[f32]) -> Vec<ScoredChunk> {
        let scored = (0_u128..).zip(scores);
        let chunk = |(id, score): (u128, &f32)| ScoredChunk {
            chunk_id: ChunkId(id),
            score: *score,
        };
        scored.map(chunk).collect()
    }

    #[test]
    fn features_are_leads_of_the_best() {
        let ten = [8.0, 6.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 2.0, 0.0];
        let cosines = [0.9, 0.88, 0.8];
        let table: [(&[f32], &[f32], Option<WeightFeatures>); 5] = [
            (&ten, &cosines, Some([0.75, 0.1])),
            (&[4.0], &cosines, Some([0.0, 0.1])),
            (&[], &cosines, None),
            (&[0.0], &cosines, None),
            (&ten, &[], None),
        ];
        for (keyword, vector, expected) in table {
            let lists = Lists {
                keyword: list(keyword),
                vector: list(vector),
                ..Lists::default()
            };
            let found = features(&lists);
            let near = |(left, right): (WeightFeatures, WeightFeatures)| {
                left.iter()
                    .zip(right)
                    .all(|(one, other)| (one - other).abs() < 1e-6)
            };
            assert_eq!(
                found.is_some(),
                expected.is_some(),
                "{keyword:?} {vector:?}"
            );
            assert!(
                found.zip(expected).is_none_or(near),
                "{found:?}, expected {expected:?}"
            );
        }
    }
}
