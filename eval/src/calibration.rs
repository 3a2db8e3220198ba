//! Fits and measures estimates of relevance: logistic regression, the error of calibration, and how
//! well a value tells two groups apart. Pure functions.

use serde::Serialize;

/// Signals of one hit, in the order of [`SIGNALS`].
pub type Features = [f64; SIGNALS.len()];

/// Names of the signals, as in `scores` of a hit.
pub const SIGNALS: [&str; 5] = ["similarity", "coverage", "standing", "exact_name", "rerank"];

/// Parts of the questions: each is estimated by weights that were fitted on the others.
pub const FOLDS: usize = 5;
/// Bins of equal width in which estimate and truth are compared.
const BINS: usize = 10;
/// Keeps weights finite where a signal is always the same; far below what data say.
const RIDGE: f64 = 1e-3;
const MAXIMUM_STEPS: usize = 50;
const SMALL_STEP: f64 = 1e-8;
/// Intercept and one weight for each signal.
const WEIGHTS: usize = SIGNALS.len() + 1;

/// One hit of one question.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Number of the question: hits of one question are never on both sides of a split.
    pub question: usize,
    /// What is known of the hit.
    pub features: Features,
    /// Whether it answers the question.
    pub is_relevant: bool,
    /// Whether it is written in another script than the question.
    pub is_across: bool,
}

/// Weights of a logistic regression.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Weights {
    /// Of nothing.
    pub intercept: f64,
    /// In the order of [`SIGNALS`].
    pub signals: Features,
}

impl Weights {
    /// Probability, 0 to 1.
    pub fn estimate(&self, features: &Features) -> f64 {
        let products = self.signals.iter().zip(features).map(|(w, x)| w * x);
        1.0 / (1.0 + (-(self.intercept + products.sum::<f64>())).exp())
    }
}

/// Weights of the highest likelihood, by Newton's method (iteratively reweighted least squares).
/// `used` says which signals take part; the others get 0.
pub fn fit(samples: &[&Sample], used: [bool; SIGNALS.len()]) -> Weights {
    let mut weights = [0.0; WEIGHTS];
    for _ in 0..MAXIMUM_STEPS {
        let (gradient, curvature) = derivatives(samples, &weights, used);
        let step = solve(curvature, gradient);
        for (weight, change) in weights.iter_mut().zip(step) {
            *weight += change;
        }
        if step.iter().all(|change| change.abs() < SMALL_STEP) {
            break;
        }
    }
    of_vector(&weights)
}

fn of_vector(weights: &[f64; WEIGHTS]) -> Weights {
    let [intercept, signals @ ..] = *weights;
    Weights { intercept, signals }
}

type Matrix = [[f64; WEIGHTS]; WEIGHTS];

/// Gradient and negative second derivatives of the log-likelihood, less the ridge.
fn derivatives(
    samples: &[&Sample],
    weights: &[f64; WEIGHTS],
    used: [bool; SIGNALS.len()],
) -> ([f64; WEIGHTS], Matrix) {
    let mut gradient = weights.map(|weight| -RIDGE * weight);
    let mut curvature = [[0.0; WEIGHTS]; WEIGHTS];
    for (place, row) in curvature.iter_mut().enumerate() {
        if let Some(diagonal) = row.get_mut(place) {
            *diagonal = RIDGE;
        }
    }
    let current = of_vector(weights);
    for sample in samples {
        let row = with_intercept(&sample.features, used);
        let estimate = current.estimate(&sample.features);
        let error = f64::from(u8::from(sample.is_relevant)) - estimate;
        let spread = estimate * (1.0 - estimate);
        for ((slope, curve), left) in gradient.iter_mut().zip(&mut curvature).zip(row) {
            *slope += error * left;
            for (cell, right) in curve.iter_mut().zip(row) {
                *cell += spread * left * right;
            }
        }
    }
    (gradient, curvature)
}

fn with_intercept(features: &Features, used: [bool; SIGNALS.len()]) -> [f64; WEIGHTS] {
    let mut row = [1.0; WEIGHTS];
    let [_, cells @ ..] = &mut row;
    for ((cell, feature), used) in cells.iter_mut().zip(features).zip(used) {
        *cell = if used { *feature } else { 0.0 };
    }
    row
}

/// Gaussian elimination with pivots; the ridge keeps the matrix regular.
fn solve(mut matrix: Matrix, mut right: [f64; WEIGHTS]) -> [f64; WEIGHTS] {
    for column in 0..WEIGHTS {
        let size = |row: &usize| matrix[*row][column].abs();
        let pivot = (column..WEIGHTS)
            .max_by(|left, other| size(left).total_cmp(&size(other)))
            .unwrap_or(column);
        matrix.swap(column, pivot);
        right.swap(column, pivot);
        for row in column + 1..WEIGHTS {
            let pivot_row = matrix[column];
            let factor = matrix[row][column] / pivot_row[column];
            for (cell, pivot) in matrix[row].iter_mut().zip(pivot_row) {
                *cell -= factor * pivot;
            }
            right[row] -= factor * right[column];
        }
    }
    let mut solution = [0.0; WEIGHTS];
    for row in (0..WEIGHTS).rev() {
        let known: f64 = (row + 1..WEIGHTS)
            .map(|cell| matrix[row][cell] * solution[cell])
            .sum();
        solution[row] = (right[row] - known) / matrix[row][row];
    }
    solution
}

/// Estimates of all samples, each by weights that were fitted on the questions of other folds.
pub fn cross_fitted(samples: &[Sample], used: [bool; SIGNALS.len()]) -> Vec<f64> {
    let fold = |sample: &Sample| sample.question % FOLDS;
    let weights: Vec<Weights> = (0..FOLDS)
        .map(|held_out| {
            let others: Vec<&Sample> = samples
                .iter()
                .filter(|sample| fold(sample) != held_out)
                .collect();
            fit(&others, used)
        })
        .collect();
    samples
        .iter()
        .filter_map(|sample| Some(weights.get(fold(sample))?.estimate(&sample.features)))
        .collect()
}

/// One bin of estimates.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Bin {
    /// Hits in it.
    pub hits: usize,
    /// Their mean estimate.
    pub estimated: f64,
    /// Share of them that is relevant.
    pub relevant: f64,
}

/// Ten bins of equal width, empty ones included.
pub fn bins(estimates: &[f64], relevant: &[bool]) -> Vec<Bin> {
    let mut bins = vec![Bin::default(); BINS];
    for (estimate, is_relevant) in estimates.iter().zip(relevant) {
        let number = ((estimate * BINS as f64) as usize).min(BINS - 1);
        if let Some(bin) = bins.get_mut(number) {
            bin.hits += 1;
            bin.estimated += estimate;
            bin.relevant += f64::from(u8::from(*is_relevant));
        }
    }
    for bin in bins.iter_mut().filter(|bin| bin.hits > 0) {
        bin.estimated /= bin.hits as f64;
        bin.relevant /= bin.hits as f64;
    }
    bins
}

/// Mean distance of estimate and truth, each bin weighing as many hits as it has; 0 for none.
pub fn calibration_error(bins: &[Bin]) -> f64 {
    let hits: usize = bins.iter().map(|bin| bin.hits).sum();
    let distance = |bin: &Bin| (bin.estimated - bin.relevant).abs() * bin.hits as f64;
    bins.iter().map(distance).sum::<f64>() / (hits.max(1)) as f64
}

/// The same with each bin that is not empty weighing alike: a small bin that is wrong shows.
pub fn calibration_error_of_bins(bins: &[Bin]) -> f64 {
    let filled: Vec<&Bin> = bins.iter().filter(|bin| bin.hits > 0).collect();
    let distance = |bin: &&Bin| (bin.estimated - bin.relevant).abs();
    filled.iter().map(distance).sum::<f64>() / (filled.len().max(1)) as f64
}

/// The chance that one of `higher` is above one of `lower`, equal ones counting half: the area
/// under the receiver operating characteristic. 0 if one of them is empty.
pub fn area_under_roc(higher: &[f64], lower: &[f64]) -> f64 {
    let above = |value: &f64| {
        let wins = lower.iter().filter(|other| value > other).count() as f64;
        let ties = lower.iter().filter(|other| value == *other).count() as f64;
        wins + ties / 2.0
    };
    let pairs = (higher.len() * lower.len()).max(1) as f64;
    higher.iter().map(above).sum::<f64>() / pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hits whose true weights are known: similarity 4, coverage -2, intercept -1.
    fn samples() -> Vec<Sample> {
        let mut state = 7_u64;
        let mut random = move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as f64 / (1_u64 << 31) as f64
        };
        let truth = Weights {
            intercept: -1.0,
            signals: [4.0, -2.0, 0.0, 0.0, 0.0],
        };
        (0..20_000)
            .map(|number| {
                let features = [random(), random(), random(), 0.0, 0.0];
                Sample {
                    question: number / 10,
                    features,
                    is_relevant: random() < truth.estimate(&features),
                    is_across: false,
                }
            })
            .collect()
    }

    #[test]
    fn known_weights_are_found_again_and_their_estimates_are_calibrated() {
        let samples = samples();
        let all: Vec<&Sample> = samples.iter().collect();
        let weights = fit(&all, [true; SIGNALS.len()]);
        let [similarity, coverage, standing, exact_name, rerank] = weights.signals;
        assert!((weights.intercept + 1.0).abs() < 0.2, "{weights:?}");
        assert!((similarity - 4.0).abs() < 0.2, "{weights:?}");
        assert!((coverage + 2.0).abs() < 0.2, "{weights:?}");
        assert!(
            standing.abs() < 0.2 && exact_name == 0.0 && rerank == 0.0,
            "{weights:?}"
        );
        assert_eq!(
            fit(&all, SIGNALS.map(|name| name != "similarity")).signals[0],
            0.0
        );
        let relevant: Vec<bool> = samples.iter().map(|sample| sample.is_relevant).collect();
        let estimates = cross_fitted(&samples, [true; SIGNALS.len()]);
        assert_eq!(estimates.len(), samples.len());
        assert!(calibration_error(&bins(&estimates, &relevant)) < 0.02);
        let doubled: Vec<f64> = estimates.iter().map(|estimate| estimate / 2.0).collect();
        let doubled = bins(&doubled, &relevant);
        assert!(calibration_error(&doubled) > 0.1);
        assert!(calibration_error_of_bins(&doubled) > 0.1);
    }

    #[test]
    fn the_area_is_the_share_of_pairs_in_the_right_order() {
        let table: [(&[f64], &[f64], f64); 4] = [
            (&[0.9, 0.8], &[0.1], 1.0),
            (&[0.9, 0.1], &[0.5], 0.5),
            (&[0.5], &[0.5], 0.5),
            (&[], &[0.5], 0.0),
        ];
        for (higher, lower, expected) in table {
            assert_eq!(area_under_roc(higher, lower), expected);
        }
    }
}
