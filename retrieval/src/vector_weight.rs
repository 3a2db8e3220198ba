//! α, the weight of the vector side in tier 2: fixed, by the length of the question, or by what was
//! found for it.
//!
//! By length: α(L) = base + range / (1 + e^(−(L − k) / s)), L = query tokens. Short questions are
//! names and codes, which keywords find; long ones are descriptions, which vectors find. With .4,
//! .3, k = 8, s = 1: α(8) = .55.
//!
//! Adaptive: α = 1 / (1 + e^−z), z = intercept + Σ coefficient · feature, over the features of
//! [`crate::weight_features`]: the signal that tells its chunks apart counts more. `tributary eval
//! tune` fits the coefficients.

use serde::{Deserialize, Serialize};

use crate::config::Rule;
use crate::weight_features::{FEATURES, WeightFeatures};

/// How α is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WeightKind {
    /// The same for every question.
    Fixed,
    /// By the length of the question.
    Length,
    /// By what both signals found; by length with another embedding model than the one that the
    /// coefficients were fitted for.
    Adaptive,
}

/// Settings of α, `[query_api.retrieval.vector_weight]`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct VectorWeight {
    /// How it is found.
    pub kind: WeightKind,
    /// Fixed: the weight, 0 to 1.
    pub fixed: f32,
    /// By length: the weight for a very short query.
    pub base: f32,
    /// By length: what a very long query adds to it.
    pub range: f32,
    /// By length: query tokens at which half of the range is added.
    pub midpoint_tokens: f32,
    /// By length: how gently α rises around the midpoint, in tokens; above 0.
    pub slope_tokens: f32,
    /// Adaptive: the coefficients.
    pub adaptive: AdaptiveWeight,
}

/// Coefficients of the features of [`crate::weight_features`].
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AdaptiveWeight {
    /// How the name of the embedding model begins that they were fitted for.
    pub model: String,
    /// Of nothing: what is added to all.
    pub intercept: f32,
    /// Of the lead of the best chunk by keyword before the tenth.
    pub keyword_spread: f32,
    /// Of the lead of the best chunk by vector before the tenth.
    pub vector_spread: f32,
}

impl VectorWeight {
    /// α before anything is found.
    pub fn planned(&self, query_tokens: usize) -> f32 {
        match self.kind {
            WeightKind::Fixed => self.fixed,
            WeightKind::Length | WeightKind::Adaptive => self.by_length(query_tokens),
        }
    }

    /// Whether α is found anew once both signals have found something.
    pub fn adapts(&self, model: &str) -> bool {
        self.kind == WeightKind::Adaptive && model.starts_with(&self.adaptive.model)
    }

    fn by_length(&self, query_tokens: usize) -> f32 {
        #[expect(
            clippy::cast_precision_loss,
            reason = "a query has far fewer than 2^24 tokens"
        )]
        let length = query_tokens as f32;
        self.base + self.range * logistic((length - self.midpoint_tokens) / self.slope_tokens)
    }

    /// What no search can work with.
    pub(crate) fn rules(&self) -> [Rule; 6] {
        let coefficients = self.adaptive.coefficients();
        [
            (
                (0.0..=1.0).contains(&self.fixed),
                "vector_weight.fixed",
                "must lie between 0 and 1",
            ),
            (
                (0.0..=1.0).contains(&self.base),
                "vector_weight.base",
                "must lie between 0 and 1",
            ),
            (
                (0.0..=1.0).contains(&(self.base + self.range)),
                "vector_weight.range",
                "added to base must lie between 0 and 1",
            ),
            (
                self.midpoint_tokens.is_finite(),
                "vector_weight.midpoint_tokens",
                "must be a number",
            ),
            (
                self.slope_tokens.is_finite() && self.slope_tokens > 0.0,
                "vector_weight.slope_tokens",
                "must be above 0",
            ),
            (
                self.adaptive.intercept.is_finite()
                    && coefficients
                        .iter()
                        .all(|coefficient| coefficient.is_finite()),
                "vector_weight.adaptive",
                "must have numbers as coefficients",
            ),
        ]
    }
}

impl AdaptiveWeight {
    /// α of a question with these features, between 0 and 1.
    pub fn weight(&self, features: &WeightFeatures) -> f32 {
        let products = self.coefficients().into_iter().zip(features);
        let sum: f32 = products
            .map(|(coefficient, value)| coefficient * value)
            .sum();
        logistic(self.intercept + sum)
    }

    /// In the order of [`FEATURES`].
    pub fn coefficients(&self) -> [f32; FEATURES.len()] {
        [self.keyword_spread, self.vector_spread]
    }
}

fn logistic(exponent: f32) -> f32 {
    1.0 / (1.0 + (-exponent).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weight_rises_with_the_length_of_the_query() {
        let config = crate::tests::config().vector_weight;
        // tokens → α, by hand: 1/(1+e^8) = .000335, 1/(1+e^1) = .268941, 1/(1+e^-1) = .731059
        let table = [
            (0, 0.400_1),
            (7, 0.480_682),
            (8, 0.55),
            (9, 0.619_318),
            (16, 0.699_9),
            (100_000, 0.7),
        ];
        for (tokens, expected) in table {
            let weight = config.planned(tokens);
            assert!(
                (weight - expected).abs() < 1e-4,
                "α({tokens}) = {weight}, expected {expected}"
            );
        }
    }

    #[test]
    fn the_weight_follows_the_signal_that_tells_its_chunks_apart() {
        let adaptive = AdaptiveWeight {
            model: "m".into(),
            intercept: 1.0,
            keyword_spread: -2.0,
            vector_spread: 20.0,
        };
        // features → z by hand → α = 1/(1+e^-z)
        let table = [
            ([0.0, 0.0], 0.731_059),
            ([0.5, 0.0], 0.5),
            ([1.0, 0.0], 0.268_941),
            ([1.0, 0.05], 0.5),
            ([0.25, 0.1], 0.924_142),
        ];
        for (features, expected) in table {
            let weight = adaptive.weight(&features);
            assert!(
                (weight - expected).abs() < 1e-4,
                "α{features:?} = {weight}, expected {expected}"
            );
        }
    }

    #[test]
    fn another_model_is_weighed_by_length() {
        let mut config = crate::tests::config().vector_weight;
        config.kind = WeightKind::Adaptive;
        config.adaptive.model = "multilingual-e5-small".into();
        assert!(config.adapts("multilingual-e5-small@1"));
        assert!(!config.adapts("hashing"));
        config.kind = WeightKind::Fixed;
        assert!(!config.adapts("multilingual-e5-small@1"));
        assert_eq!(config.planned(3), config.fixed);
    }
}
