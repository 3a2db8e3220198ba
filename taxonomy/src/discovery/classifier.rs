//! Logistic regression over a handful of features: how likely a candidate is a term. Its weights
//! start at a prior, and examples pull them away as far as they outweigh it (maximum a posteriori
//! with a Gaussian prior, Bishop 2006, section 4.3). So it scores without any example and learns
//! from fifty.

/// Steps of gradient ascent; the objective is concave, so that more change nothing.
const STEPS: usize = 600;

/// An example to learn from.
#[derive(Clone, Debug)]
pub(super) struct Example<const N: usize> {
    pub features: [f64; N],
    pub is_term: bool,
    /// How much it counts: 1 for a person's verdict.
    pub weight: f64,
}

/// Weights of the features, and a bias.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Classifier<const N: usize> {
    weights: [f64; N],
    bias: f64,
}

impl<const N: usize> Classifier<N> {
    /// One that knows no example.
    pub(super) const fn new(weights: [f64; N], bias: f64) -> Self {
        Self { weights, bias }
    }

    /// Probability that it is a term, 0 to 1.
    pub(super) fn score(&self, features: &[f64; N]) -> f64 {
        let sum: f64 = self
            .weights
            .iter()
            .zip(features)
            .map(|(weight, feature)| weight * feature)
            .sum();
        1.0 / (1.0 + (-(sum + self.bias)).exp())
    }

    /// The same after examples. `stiffness` is the precision of the prior: how many examples a
    /// weight resists.
    pub(super) fn learned(&self, examples: &[Example<N>], stiffness: f64) -> Self {
        let mut learned = self.clone();
        let scale = 1.0 / (steepest(examples) + stiffness);
        for _ in 0..STEPS {
            let mut slope = [0.0; N];
            let mut slope_of_bias = 0.0;
            for example in examples {
                let target = f64::from(u8::from(example.is_term));
                let error = example.weight * (target - learned.score(&example.features));
                slope_of_bias += error;
                for (slope, feature) in slope.iter_mut().zip(&example.features) {
                    *slope += error * feature;
                }
            }
            let weights = learned.weights.iter_mut().zip(&self.weights).zip(&slope);
            for ((weight, prior), slope) in weights {
                *weight += scale * (slope - stiffness * (*weight - prior));
            }
            learned.bias += scale * (slope_of_bias - stiffness * (learned.bias - self.bias));
        }
        learned
    }
}

/// Bound of the curvature of the log-likelihood, by which no step goes too far.
fn steepest<const N: usize>(examples: &[Example<N>]) -> f64 {
    let square = |example: &Example<N>| example.features.iter().map(|one| one * one).sum::<f64>();
    let curvature = |example: &Example<N>| example.weight * (1.0 + square(example)) / 4.0;
    examples.iter().map(curvature).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(first: f64, second: f64, is_term: bool) -> Example<2> {
        Example {
            features: [first, second],
            is_term,
            weight: 1.0,
        }
    }

    #[test]
    fn without_examples_the_prior_stands() {
        let prior = Classifier::new([2.0, -1.0], -0.5);
        assert_eq!(prior.learned(&[], 1.0), prior);
        assert!((prior.score(&[0.25, 0.0]) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn examples_pull_the_weights_and_many_turn_them_around() {
        let prior = Classifier::new([1.0, 0.0], 0.0);
        let pair = [example(1.0, 0.0, false), example(0.0, 1.0, true)];
        let few = prior.learned(&pair, 2.0);
        let many = prior.learned(
            &pair.iter().cycle().take(60).cloned().collect::<Vec<_>>(),
            2.0,
        );
        let wrong = [1.0, 0.0];
        assert!(few.score(&wrong) < prior.score(&wrong));
        assert!(many.score(&wrong) < 0.2, "{many:?}");
        assert!(many.score(&[0.0, 1.0]) > 0.8, "{many:?}");
    }
}
