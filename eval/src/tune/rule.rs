//! The three ways to weigh the vector side, as numbers that are fitted and scored.

use tributary_retrieval::{FEATURES, VectorWeight, WeightFeatures, WeightKind};

use super::collect::{Case, Curve, Found, WEIGHTS};

/// α = base + range / (1 + e^(−(L − midpoint) / slope)).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Length {
    /// α of a very short question.
    pub base: f64,
    /// What a very long one adds.
    pub range: f64,
    /// In tokens.
    pub midpoint_tokens: f64,
    /// In tokens.
    pub slope_tokens: f64,
}

/// α = 1 / (1 + e^−z), z = intercept + Σ weight · feature.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adaptive {
    /// Of nothing.
    pub intercept: f64,
    /// In the order of [`FEATURES`].
    pub weights: [f64; FEATURES.len()],
}

/// A way to weigh the vector side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// The same for all.
    Fixed(f64),
    /// By length.
    Length(Length),
    /// By features.
    Adaptive(Adaptive),
}

impl Rule {
    /// What searches do with these settings and this embedding model.
    pub fn configured(config: &VectorWeight, model: &str) -> Self {
        match config.kind {
            WeightKind::Fixed => Self::Fixed(f64::from(config.fixed)),
            WeightKind::Adaptive if config.adapts(model) => Self::Adaptive(Adaptive {
                intercept: f64::from(config.adaptive.intercept),
                weights: config.adaptive.coefficients().map(f64::from),
            }),
            WeightKind::Length | WeightKind::Adaptive => Self::Length(Length {
                base: f64::from(config.base),
                range: f64::from(config.range),
                midpoint_tokens: f64::from(config.midpoint_tokens),
                slope_tokens: f64::from(config.slope_tokens),
            }),
        }
    }

    /// `fixed`, `length` or `adaptive`, as `kind` in the configuration.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Fixed(_) => "fixed",
            Self::Length(_) => "length",
            Self::Adaptive(_) => "adaptive",
        }
    }

    /// Its numbers by their keys in the configuration, in order.
    pub fn parameters(&self) -> Vec<(&'static str, f64)> {
        match self {
            Self::Fixed(weight) => vec![("fixed", *weight)],
            Self::Length(length) => vec![
                ("base", length.base),
                ("range", length.range),
                ("midpoint_tokens", length.midpoint_tokens),
                ("slope_tokens", length.slope_tokens),
            ],
            Self::Adaptive(adaptive) => std::iter::once(("intercept", adaptive.intercept))
                .chain(FEATURES.into_iter().zip(adaptive.weights))
                .collect(),
        }
    }

    /// nDCG@10 of a question.
    pub fn score(&self, case: &Case) -> f64 {
        self.score_of(case, &case.found)
    }

    /// The same with what was found for the question with other numbers of BM25.
    pub fn score_of(&self, case: &Case, found: &Found) -> f64 {
        let weight = match self {
            Self::Fixed(weight) => *weight,
            Self::Length(length) => length.weight(case.query_tokens),
            Self::Adaptive(adaptive) => adaptive.weight(&found.features.unwrap_or_default()),
        };
        at(&found.curve, weight)
    }
}

impl Length {
    /// α of a question of so many tokens.
    pub fn weight(&self, query_tokens: usize) -> f64 {
        let exponent = -(query_tokens as f64 - self.midpoint_tokens) / self.slope_tokens;
        self.base + self.range / (1.0 + exponent.exp())
    }
}

impl Adaptive {
    fn weight(&self, features: &WeightFeatures) -> f64 {
        let products = self.weights.iter().zip(features);
        let sum: f64 = products.map(|(weight, x)| weight * f64::from(*x)).sum();
        logistic(self.intercept + sum)
    }
}

/// 1 / (1 + e^−x).
pub fn logistic(exponent: f64) -> f64 {
    1.0 / (1.0 + (-exponent).exp())
}

/// The value of a curve at a weight, on the line between its neighbours.
pub fn at(curve: &Curve, weight: f64) -> f64 {
    let (below, above, part) = neighbours(curve, weight);
    below + (above - below) * part
}

/// How steeply a curve rises at a weight.
pub fn slope(curve: &Curve, weight: f64) -> f64 {
    let (below, above, _) = neighbours(curve, weight);
    (above - below) * (WEIGHTS - 1) as f64
}

fn neighbours(curve: &Curve, weight: f64) -> (f64, f64, f64) {
    let place = weight.clamp(0.0, 1.0) * (WEIGHTS - 1) as f64;
    let below = (place.floor() as usize).min(WEIGHTS - 2);
    let value = |place: usize| curve.get(place).copied().unwrap_or(0.0);
    (value(below), value(below + 1), place - below as f64)
}

#[cfg(test)]
mod tests {
    use super::super::collect::weight_at;
    use super::*;

    #[test]
    fn a_curve_is_read_between_its_points() {
        let rising: Curve = std::array::from_fn(weight_at);
        for weight in [0.0, 0.013, 0.5, 0.99, 1.0] {
            assert!((at(&rising, weight) - weight).abs() < 1e-9);
            assert!((slope(&rising, weight) - 1.0).abs() < 1e-9);
        }
    }
}
