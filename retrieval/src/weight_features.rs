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

/// Tokens of a question of few words; with four, questions with a rare word by chance were answered
/// otherwise.
const FEW_TOKENS: usize = 2;

/// Names of the features.
pub const FEATURES: [&str; 2] = ["keyword_spread", "vector_spread"];

/// In the order of [`FEATURES`]:
///
/// - by which share of its score the best chunk by keyword leads before the tenth, 0 to 1;
/// - by how much cosine the best chunk by vector leads before the tenth, 0 to 2.
///
/// Where a list is shorter its last chunk stands for the tenth, but for the keywords of a question of
/// few words: that so few chunks have them tells these apart from all others.
pub type WeightFeatures = [f32; FEATURES.len()];

/// The features of a question for which this was found; none where one of the signals found
/// nothing: the other decides alone then.
///
/// `content_tokens` is how many tokens of the question are more than function words. A long question
/// has rare words by chance, and the few chunks that have one of them need not be about the rest.
pub fn features(lists: &Lists, content_tokens: usize) -> Option<WeightFeatures> {
    let best = score_at(&lists.keyword, 0).filter(|best| *best > 0.0)?;
    let is_rare = lists.keyword.len() < HEAD && content_tokens <= FEW_TOKENS;
    let lead = match is_rare {
        true => best,
        false => best - score_at(&lists.keyword, HEAD - 1)?,
    };
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
            let found = features(&lists, 5);
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

    #[test]
    fn few_chunks_with_the_words_of_a_short_question_lead_before_all_others() {
        let spread = |keyword: &[f32], content_tokens: usize| {
            let lists = Lists {
                keyword: list(keyword),
                vector: list(&[0.9, 0.8]),
                ..Lists::default()
            };
            features(&lists, content_tokens).map(|[keyword, _]| keyword)
        };
        assert_eq!(spread(&[4.0], 1), Some(1.0));
        assert_eq!(spread(&[4.0, 3.0], FEW_TOKENS), Some(1.0));
        assert_eq!(spread(&[4.0, 3.0], FEW_TOKENS + 1), Some(0.25));
        assert_eq!(spread(&[4.0; HEAD], 1), Some(0.0), "many chunks have them");
    }
}
