//! Which tables a question is asked of: two rankings, united by the sum of reciprocal ranks. One is
//! the search's, by document; the other counts the question's words in headings, names and cells, each
//! as much as it tells tables apart: ln((n + 1) / (d + ½)), d tables of n that have it.

use std::collections::{HashMap, HashSet};

use super::words;

/// As in the fusion of searches.
const RANK_CONSTANT: f64 = 60.0;
/// How much the words of a table count beside the search.
const WORDS_COUNT: f64 = 2.0;

/// A table as it is compared.
pub struct Candidate<'a> {
    /// Words of its name.
    pub name: HashSet<String>,
    /// Words of its headings and cells.
    pub words: &'a HashSet<String>,
    /// Place of its document in the search, from 0.
    pub rank: Option<usize>,
}

/// Positions of the candidates, best first.
pub fn order(question: &str, candidates: &[Candidate<'_>]) -> Vec<usize> {
    let mut asked = words::words(question);
    asked.retain(|word| !words::is_common(word));
    let has = |candidate: &Candidate<'_>, word: &String| {
        candidate.words.contains(word) || candidate.name.contains(word)
    };
    let count = candidates.len() as f64;
    let weight = |word: &String| {
        let holders = candidates.iter().filter(|one| has(one, word)).count() as f64;
        ((count + 1.0) / (holders + 0.5)).ln()
    };
    let weights: HashMap<&String, f64> = asked.iter().map(|word| (word, weight(word))).collect();
    let score = |candidate: &Candidate<'_>| -> f64 {
        let words = asked.iter().filter(|word| has(candidate, word));
        words.filter_map(|word| weights.get(word)).sum()
    };
    let scores: Vec<f64> = candidates.iter().map(score).collect();
    let reciprocal = |rank: usize| 1.0 / (RANK_CONSTANT + rank as f64 + 1.0);
    let better = |at: usize| {
        let own = scores.get(at).copied().unwrap_or(0.0);
        scores.iter().filter(|score| **score > own).count()
    };
    let total = |at: usize| {
        let searched = candidates.get(at).and_then(|one| one.rank);
        let by_words = scores.get(at).is_some_and(|score| *score > 0.0);
        let by_words = if by_words {
            WORDS_COUNT * reciprocal(better(at))
        } else {
            0.0
        };
        by_words + searched.map_or(0.0, reciprocal)
    };
    let mut order: Vec<(usize, f64)> = (0..candidates.len()).map(|at| (at, total(at))).collect();
    order.sort_by(|left, right| right.1.total_cmp(&left.1).then(left.0.cmp(&right.0)));
    order.into_iter().map(|(at, _)| at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_that_has_the_telling_words_comes_first() {
        let texts = [
            "year team points rank",
            "year mountain height meters Everest",
            "year city population rank",
        ];
        let found: Vec<HashSet<String>> = texts.iter().map(|text| words::words(text)).collect();
        let candidates: Vec<Candidate<'_>> = found
            .iter()
            .zip([Some(0), Some(2), Some(1)])
            .map(|(words, rank)| Candidate {
                name: HashSet::new(),
                words,
                rank,
            })
            .collect();
        let order_of = |question: &str| order(question, &candidates);
        assert_eq!(
            order_of("what is the height of the Everest in that year")[0],
            1
        );
        assert_eq!(order_of("which city has the highest rank?")[0], 2);
        // Without a word of theirs the search decides.
        assert_eq!(order_of("who won")[..2], [0, 2]);
    }
}
