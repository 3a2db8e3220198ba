//! Rank metrics with binary relevance, as BEIR and trec_eval compute them.

use std::collections::HashSet;

pub use tributary_schemas::evaluation::RankScores;
pub use tributary_store::evaluations::statistics::{mean, percentile};

/// Scores of one ranking (document ids, best first, each once).
pub fn rank_scores(ranking: &[&str], relevant: &HashSet<String>) -> RankScores {
    RankScores {
        recall_10: recall(ranking, relevant, 10),
        recall_20: recall(ranking, relevant, 20),
        mrr_10: reciprocal_rank(ranking, relevant, 10),
        ndcg_10: ndcg(ranking, relevant, 10),
        hit_1: hit(ranking, relevant, 1),
        hit_3: hit(ranking, relevant, 3),
        hit_5: hit(ranking, relevant, 5),
        hit_10: hit(ranking, relevant, 10),
    }
}

/// Mean of several; zero for none.
pub fn mean_scores(scores: &[RankScores]) -> RankScores {
    let mean = |field: fn(&RankScores) -> f64| mean(&scores.iter().map(field).collect::<Vec<_>>());
    RankScores {
        recall_10: mean(|scores| scores.recall_10),
        recall_20: mean(|scores| scores.recall_20),
        mrr_10: mean(|scores| scores.mrr_10),
        ndcg_10: mean(|scores| scores.ndcg_10),
        hit_1: mean(|scores| scores.hit_1),
        hit_3: mean(|scores| scores.hit_3),
        hit_5: mean(|scores| scores.hit_5),
        hit_10: mean(|scores| scores.hit_10),
    }
}

fn found<'a>(
    ranking: &'a [&str],
    relevant: &'a HashSet<String>,
    limit: usize,
) -> impl Iterator<Item = usize> + 'a {
    ranking
        .iter()
        .take(limit)
        .enumerate()
        .filter(|(_, document)| relevant.contains(**document))
        .map(|(index, _)| index)
}

fn recall(ranking: &[&str], relevant: &HashSet<String>, limit: usize) -> f64 {
    if relevant.is_empty() {
        0.0
    } else {
        found(ranking, relevant, limit).count() as f64 / relevant.len() as f64
    }
}

fn reciprocal_rank(ranking: &[&str], relevant: &HashSet<String>, limit: usize) -> f64 {
    found(ranking, relevant, limit)
        .next()
        .map_or(0.0, |index| 1.0 / (index + 1) as f64)
}

fn hit(ranking: &[&str], relevant: &HashSet<String>, limit: usize) -> f64 {
    if found(ranking, relevant, limit).next().is_some() {
        1.0
    } else {
        0.0
    }
}

/// Järvelin and Kekäläinen 2002, gain 1, discount log2(rank + 1).
fn ndcg(ranking: &[&str], relevant: &HashSet<String>, limit: usize) -> f64 {
    let discount = |index: usize| 1.0 / ((index + 2) as f64).log2();
    let ideal: f64 = (0..relevant.len().min(limit)).map(discount).sum();
    if ideal == 0.0 {
        0.0
    } else {
        // The sum of nothing is -0.
        let gained: f64 = found(ranking, relevant, limit).map(discount).sum();
        (gained + 0.0) / ideal
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_of_a_known_ranking() {
        let relevant: HashSet<String> = ["b", "d", "z"].map(str::to_owned).into();
        let scores = rank_scores(&["a", "b", "c", "d"], &relevant);
        assert!((scores.recall_10 - 2.0 / 3.0).abs() < 1e-9);
        assert!((scores.mrr_10 - 0.5).abs() < 1e-9);
        let ideal = 1.0 + 1.0 / 3_f64.log2() + 0.5;
        let gained = 1.0 / 3_f64.log2() + 1.0 / 5_f64.log2();
        assert!((scores.ndcg_10 - gained / ideal).abs() < 1e-9);
        assert!((scores.hit_5 - 1.0).abs() < 1e-9);
        assert_eq!((scores.hit_1, scores.hit_3), (0.0, 1.0));
    }

    #[test]
    fn nothing_found_scores_a_plain_zero() {
        let scores = rank_scores(&["a"], &["b".to_owned()].into());
        let negative = scores
            .named()
            .iter()
            .filter(|(_, value)| value.is_sign_negative())
            .count();
        assert_eq!(negative, 0, "{scores:?}");
    }

    #[test]
    fn percentiles_are_values_that_occurred() {
        let values: Vec<f64> = (1..=100).map(f64::from).collect();
        assert!((percentile(&values, 0.5) - 50.0).abs() < 1e-9);
        assert!((percentile(&values, 0.95) - 95.0).abs() < 1e-9);
        assert!(percentile(&[], 0.5).abs() < 1e-9);
    }
}
