//! The estimated probability that a chunk answers the question, from what does not depend on the
//! other chunks of the answer alone, so that one value means the same for every question.
//!
//! relevance = 1 / (1 + e^−z), z = intercept + similarity · s + coverage · c + standing · f +
//! exact_name · n: a logistic regression (Platt, "Probabilistic outputs for support vector
//! machines", 1999) fitted by `tributary eval calibrate` on questions with and without an answer.

use crate::config::{RelevanceConfig, RelevanceWeights};
use crate::coverage::TokenScores;
use crate::fine::FineChunk;

/// What the estimate is made from.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Signals {
    /// Cosine of question and chunk, -1 to 1; none where no vectors were asked.
    pub similarity: Option<f32>,
    /// Share of the question that the chunk covers, 0 to 1, see [`crate::coverage`].
    pub coverage: f32,
    /// Fused score of tier 2 before anything was named: where the chunk stands in this answer, 0
    /// to 1.
    pub standing: f32,
    /// How exactly the question names the chunk, 0 for not at all.
    pub exact_name: f32,
}

/// Estimates relevance for one search.
pub struct Estimates<'a> {
    /// Weights.
    pub config: &'a RelevanceConfig,
    /// Name of the model that embedded the question.
    pub model: &'a str,
    /// What its tokens are worth; none where the search did not use keywords.
    pub tokens: Option<&'a TokenScores>,
}

impl Estimates<'_> {
    /// What is known of a chunk.
    pub fn signals(&self, chunk: &FineChunk) -> Signals {
        let coverage = |tokens: &TokenScores| tokens.coverage(chunk.keyword_raw);
        Signals {
            similarity: chunk.similarity,
            coverage: self.tokens.map_or(0.0, coverage),
            standing: chunk.standing,
            exact_name: chunk.exact_name,
        }
    }

    /// None for a search by meaning alone: the weights were fitted for both signals, or for
    /// keywords.
    pub fn of(&self, chunk: &FineChunk) -> Option<f32> {
        self.tokens?;
        Some(relevance(self.signals(chunk), self.model, self.config))
    }
}

/// 0 to 1. Vectors of a model that the weights were not fitted for say nothing.
pub fn relevance(signals: Signals, model: &str, config: &RelevanceConfig) -> f32 {
    let similarity = signals
        .similarity
        .filter(|_| model.starts_with(&config.model));
    let weights = match similarity {
        Some(_) => &config.with_vectors,
        None => &config.keywords_alone,
    };
    logistic(weights, signals, similarity.unwrap_or(0.0))
}

fn logistic(weights: &RelevanceWeights, signals: Signals, similarity: f32) -> f32 {
    let exponent = weights.intercept
        + weights.similarity * similarity
        + weights.coverage * signals.coverage
        + weights.standing * signals.standing
        + weights.exact_name * signals.exact_name;
    1.0 / (1.0 + (-exponent).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relevance_is_a_logistic_function_of_the_signals() {
        let weights = |intercept, similarity| RelevanceWeights {
            intercept,
            similarity,
            coverage: 2.0,
            standing: 1.0,
            exact_name: 1.0,
        };
        let config = RelevanceConfig {
            model: "e5".into(),
            with_vectors: weights(-4.0, 3.0),
            keywords_alone: weights(-1.0, 0.0),
        };
        let signals = |similarity, coverage, standing, exact_name| Signals {
            similarity,
            coverage,
            standing,
            exact_name,
        };
        // z by hand → 1/(1+e^-z): z = 0 → .5, 1 → .731059, -1 → .268941, -4 → .017986
        let table = [
            (signals(Some(1.0), 0.5, 0.0, 0.0), "e5-small@1", 0.5),
            (signals(Some(1.0), 0.5, 1.0, 0.0), "e5-small@1", 0.731_059),
            (signals(Some(0.0), 0.0, 0.0, 0.0), "e5-small@1", 0.017_986),
            (signals(Some(1.0), 0.5, 0.0, 0.0), "hashing", 0.5),
            (signals(None, 0.0, 0.0, 0.0), "e5-small@1", 0.268_941),
            (signals(None, 0.5, 0.0, 1.0), "e5-small@1", 0.731_059),
        ];
        for (signals, model, expected) in table {
            let found = relevance(signals, model, &config);
            assert!(
                (found - expected).abs() < 1e-5,
                "{signals:?} {model}: {found}"
            );
        }
    }
}
