//! Hard negatives: passages that tier 2 finds for a question and that do not answer it.
//!
//! What is found may answer the question after all. So passages of the same document and of its
//! near-duplicates are left out, and those that score within a margin of the right passage: NV-
//! Retriever (Moreira et al. 2024) keeps negatives below 95 % of the positive's score.

use tributary_schemas::search::{Hit, SearchResponse};

use super::Pair;
use super::clean::relevance::own;

/// Score of tier 2 in a hit.
const FINE: &str = "fine";

/// Which hits are negatives.
#[derive(Clone, Copy, Debug)]
pub struct NegativeLimits {
    /// Negatives of a question at most.
    pub count: usize,
    /// A negative scores below this share of the right passage's score, 0 to 1.
    pub share_of_positive: f32,
}

/// The negatives of a question in an answer of near-duplicates folded, best first. None where the
/// right passage was not found: nothing is known to score below it then. `is_allowed` says which
/// documents may be named.
pub fn negatives<'a>(
    response: &'a SearchResponse,
    pair: &Pair,
    limits: NegativeLimits,
    is_allowed: impl Fn(&str) -> bool,
) -> Option<Vec<&'a Hit>> {
    let positive = score(own(response, pair)?);
    let is_negative = |hit: &&Hit| {
        !is_family(hit, pair)
            && hit.text != pair.passage
            && score(hit) < positive * limits.share_of_positive
            && is_allowed(&hit.document_id)
    };
    let hits = response.hits.iter().filter(is_negative);
    Some(hits.take(limits.count).collect())
}

/// Whether a hit is of the same document, or of one that is nearly the same.
fn is_family(hit: &Hit, pair: &Pair) -> bool {
    let is_own = |id: &String| *id == pair.document_id || pair.family.contains(id);
    is_own(&hit.document_id) || hit.family.iter().any(|member| is_own(&member.document_id))
}

fn score(hit: &Hit) -> f32 {
    hit.scores.get(FINE).copied().unwrap_or(hit.score)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::samples::{pair, response};
    use super::*;

    const LIMITS: NegativeLimits = NegativeLimits {
        count: 2,
        share_of_positive: 0.95,
    };

    #[test]
    fn what_may_be_an_answer_is_no_negative() {
        let mut answer = response(&[
            (9, "other", 0.99),
            (1, "d", 0.9),
            (8, "close", 0.88),
            (7, "d", 0.8),
            (6, "copy", 0.7),
            (5, "folded", 0.6),
            (4, "tested", 0.5),
            (3, "a", 0.4),
            (2, "b", 0.3),
            (10, "c", 0.2),
        ]);
        answer.hits[5].family = vec![
            serde_json::from_value(
                serde_json::json!({"document_id": "d", "version": 1, "source": "s",
                "source_path": "p", "title": "t", "similarity": 0.9}),
            )
            .unwrap(),
        ];
        let mut own = pair("?", 1, "d");
        own.family = vec!["copy".to_owned()];
        let found = negatives(&answer, &own, LIMITS, |document| document != "tested").unwrap();
        let documents: Vec<&str> = found.iter().map(|hit| hit.document_id.as_str()).collect();
        assert_eq!(documents, ["a", "b"]);
        assert!(negatives(&answer, &pair("?", 99, "d"), LIMITS, |_| true).is_none());
    }
}
