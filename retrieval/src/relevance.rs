//! The estimated probability that a chunk answers the question, from what does not depend on the
//! other chunks of the answer alone, so that one value means the same for every question.
//!
//! relevance = 1 / (1 + e^−z), z = intercept + similarity · s + coverage · c + standing · f +
//! exact_name · n + rerank · r: a logistic regression (Platt, "Probabilistic outputs for support vector
//! machines", 1999) fitted by `tributary eval calibrate` on questions with and without an answer. Weights
//! of their own hold where question and chunk are written in different scripts.

use tributary_taxonomy::language::{Script, script};

use crate::config::{RelevanceConfig, RelevanceWeights};
use crate::coverage::TokenScores;
use crate::fine::FineChunk;

/// Relevance below which a hit is hardly an answer: the text output says so, and a search without a
/// better one counts as missed.
pub const LIKELY: f32 = 0.1;

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
    /// Score of tier 3, 0 to 1; none where it did not run, or a reranker that the weights were not
    /// fitted for.
    pub rerank: Option<f32>,
}

/// Relevance of a chunk, if its script is that of the question, and if it is another one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// 0 to 1.
    pub within: f32,
    /// 0 to 1.
    pub across: f32,
}

impl Estimate {
    /// For a chunk of this text. Texts without letters are of the question's script.
    pub fn of(self, question: Option<Script>, text: &str) -> f32 {
        match (question, script(text)) {
            (Some(question), Some(script)) if question != script => self.across,
            _ => self.within,
        }
    }
}

/// Estimates relevance for one search.
pub struct Estimates<'a> {
    /// Weights.
    pub config: &'a RelevanceConfig,
    /// Name of the model that embedded the question.
    pub model: &'a str,
    /// Name of the reranker, where one ran.
    pub reranker: Option<&'a str>,
    /// What its tokens are worth; none where the search did not use keywords.
    pub tokens: Option<&'a TokenScores>,
}

impl Estimates<'_> {
    /// What is known of a chunk, with its score of tier 3.
    pub fn signals(&self, chunk: &FineChunk, rerank: Option<f32>) -> Signals {
        let fitted = self.config.reranker.as_str();
        let is_fitted = |name: &str| !fitted.is_empty() && name.starts_with(fitted);
        let coverage = |tokens: &TokenScores| tokens.coverage(chunk.keyword_raw);
        Signals {
            similarity: chunk.similarity,
            coverage: self.tokens.map_or(0.0, coverage),
            standing: chunk.standing,
            exact_name: chunk.exact_name,
            rerank: rerank.filter(|_| self.reranker.is_some_and(is_fitted)),
        }
    }

    /// None for a search by meaning alone: the weights were fitted for both signals, or for
    /// keywords.
    pub fn of(&self, chunk: &FineChunk, rerank: Option<f32>) -> Option<Estimate> {
        self.tokens?;
        let signals = self.signals(chunk, rerank);
        Some(relevance(signals, self.model, self.config))
    }
}

/// Vectors of a model that the weights were not fitted for say nothing, and without them nothing tells
/// what a chunk in another script is about.
pub fn relevance(signals: Signals, model: &str, config: &RelevanceConfig) -> Estimate {
    let similarity = signals
        .similarity
        .filter(|_| model.starts_with(&config.model));
    let (within, across) = match (similarity, signals.rerank) {
        (Some(_), Some(_)) => (&config.with_reranker, &config.with_reranker),
        (Some(_), None) => (&config.with_vectors, &config.across_scripts),
        (None, _) => (&config.keywords_alone, &config.keywords_alone),
    };
    let by = |weights| logistic(weights, signals, similarity.unwrap_or(0.0));
    Estimate {
        within: by(within),
        across: by(across),
    }
}

fn logistic(weights: &RelevanceWeights, signals: Signals, similarity: f32) -> f32 {
    let exponent = weights.intercept
        + weights.similarity * similarity
        + weights.coverage * signals.coverage
        + weights.standing * signals.standing
        + weights.exact_name * signals.exact_name
        + weights.rerank * signals.rerank.unwrap_or(0.0);
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
            rerank: 0.0,
        };
        let config = RelevanceConfig {
            model: "e5".into(),
            reranker: "chat".into(),
            with_reranker: RelevanceWeights {
                rerank: 4.0,
                ..weights(-4.0, 0.0)
            },
            with_vectors: weights(-4.0, 3.0),
            across_scripts: weights(-4.0, 2.0),
            keywords_alone: weights(-1.0, 0.0),
        };
        let signals = |similarity, coverage, standing, exact_name| Signals {
            similarity,
            coverage,
            standing,
            exact_name,
            rerank: None,
        };
        let reranked = |rerank| Signals {
            rerank: Some(rerank),
            ..signals(Some(1.0), 0.0, 0.0, 0.0)
        };
        // z by hand → 1/(1+e^-z): z = 0 → .5, 1 → .731059, -1 → .268941, -4 → .017986
        let table = [
            (signals(Some(1.0), 0.5, 0.0, 0.0), "e5-small@1", 0.5),
            (signals(Some(1.0), 0.5, 1.0, 0.0), "e5-small@1", 0.731_059),
            (signals(Some(0.0), 0.0, 0.0, 0.0), "e5-small@1", 0.017_986),
            (signals(Some(1.0), 0.5, 0.0, 0.0), "hashing", 0.5),
            (signals(None, 0.0, 0.0, 0.0), "e5-small@1", 0.268_941),
            (signals(None, 0.5, 0.0, 1.0), "e5-small@1", 0.731_059),
            (reranked(1.0), "e5-small@1", 0.5),
            (reranked(0.0), "e5-small@1", 0.017_986),
            (reranked(1.0), "hashing", 0.268_941),
        ];
        for (signals, model, expected) in table {
            let found = relevance(signals, model, &config).within;
            assert!(
                (found - expected).abs() < 1e-5,
                "{signals:?} {model}: {found}"
            );
        }
    }

    #[test]
    fn a_text_in_another_script_than_the_question_has_weights_of_its_own() {
        let estimate = Estimate {
            within: 0.1,
            across: 0.9,
        };
        let asked = |question: &str, text: &str| estimate.of(script(question), text);
        let table = [
            ("怎样删除一个文档？", "How a document is deleted", 0.9),
            ("怎样删除一个文档？", "删除文档用 DELETE", 0.1),
            ("How do I delete it?", "删除文档用 DELETE", 0.9),
            ("404", "删除文档用 DELETE", 0.1),
            ("怎样删除一个文档？", "404", 0.1),
        ];
        for (question, text, expected) in table {
            assert_eq!(asked(question, text), expected, "{question} {text}");
        }
    }

    #[test]
    fn a_reranker_counts_that_the_weights_were_fitted_for() {
        let config = |reranker: &str| RelevanceConfig {
            reranker: reranker.to_owned(),
            ..crate::tests::config().relevance
        };
        let chunk = FineChunk {
            chunk_id: tributary_schemas::ChunkId(0),
            keyword: 0.0,
            vector: 0.0,
            keyword_raw: 0.0,
            similarity: Some(0.5),
            nearest_window: None,
            standing: 0.0,
            exact_name: 0.0,
            score: 0.0,
        };
        let seen = |fitted: &str, reranker| {
            let estimates = Estimates {
                config: &config(fitted),
                model: "e5",
                reranker,
                tokens: None,
            };
            estimates.signals(&chunk, Some(0.7)).rerank
        };
        assert_eq!(seen("chat:qwen", Some("chat:qwen@2")), Some(0.7));
        assert_eq!(seen("chat:qwen", Some("lexical@1")), None);
        assert_eq!(seen("chat:qwen", None), None);
        assert_eq!(seen("", Some("lexical@1")), None);
    }
}
