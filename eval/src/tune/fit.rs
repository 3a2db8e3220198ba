//! Fits the three ways to weigh the vector side to what was collected. Pure functions.

use std::collections::BTreeMap;

use tributary_retrieval::{FEATURES, WeightFeatures};

use super::collect::{Case, Curve, WEIGHTS, weight_at};
use super::rule::{Adaptive, Length, Rule, at, logistic, slope};

/// Steps of gradient ascent.
const STEPS: usize = 400;
/// Size of the first step; it halves where a step gains nothing.
const FIRST_STEP: f64 = 4.0;
/// Below this a step changes nothing that anybody measures.
const SMALL_STEP: f64 = 1e-3;
/// What a coefficient of 1 standard deviation costs, in nDCG: keeps the weight fixed where the
/// features say nothing.
const RIDGE: f64 = 2e-4;
/// Deviation of the kernel that smooths a [`Curve`], in its steps, so that it has a slope.
const SMOOTHING: f64 = 5.0;
/// How far the kernel reaches, in steps.
const REACH: i64 = 9;

/// The best single weight.
pub fn fixed(cases: &[&Case]) -> Rule {
    // Smoothed: a peak of one step is chance.
    Rule::Fixed(highest(&smooth(&sum(cases))).0)
}

/// The weight that scores highest without any smoothing, and its score: an upper bound for single
/// weights that only hindsight reaches.
pub fn best_afterwards(cases: &[&Case]) -> (f64, f64) {
    highest(&sum(cases))
}

/// The mean curve, each set by its share.
fn sum(cases: &[&Case]) -> Curve {
    let mut sum = [0.0; WEIGHTS];
    for (case, share) in cases.iter().zip(shares(cases)) {
        add(&mut sum, &case.found.curve, share);
    }
    sum
}

fn add(sum: &mut Curve, curve: &Curve, share: f64) {
    for (sum, value) in sum.iter_mut().zip(curve) {
        *sum += share * value;
    }
}

/// The weight at the highest point, and that point.
fn highest(curve: &Curve) -> (f64, f64) {
    let points = curve.iter().enumerate();
    let best = points.max_by(|(_, left), (_, right)| left.total_cmp(right));
    best.map_or((0.5, 0.0), |(place, value)| (weight_at(place), *value))
}

/// The best weight by length, of a grid.
pub fn length(cases: &[&Case]) -> Rule {
    let by_length = by_length(cases);
    let mut best: Option<(Length, f64)> = None;
    for length in lengths() {
        let scores = by_length.iter();
        let score: f64 = scores
            .map(|(tokens, curve)| at(curve, length.weight(*tokens)))
            .sum();
        if best.is_none_or(|(_, highest)| score > highest) {
            best = Some((length, score));
        }
    }
    best.map_or(Rule::Fixed(0.5), |(length, _)| Rule::Length(length))
}

/// What is tried by length: short and long weights in steps of .1, and where one becomes the other.
fn lengths() -> impl Iterator<Item = Length> {
    let tenths = || (0..=10).map(|tenth| f64::from(tenth) / 10.0);
    let ends = tenths().flat_map(move |base| tenths().map(move |end| (base, end)));
    ends.flat_map(|(base, end)| {
        let midpoints = [3.0, 5.0, 8.0, 12.0, 16.0, 24.0];
        midpoints.map(|midpoint_tokens| Length {
            base,
            range: end - base,
            midpoint_tokens,
            slope_tokens: midpoint_tokens / 8.0,
        })
    })
}

/// The smoothed curves of all questions of one length, added up.
fn by_length(cases: &[&Case]) -> Vec<(usize, Curve)> {
    let mut sums: BTreeMap<usize, Curve> = BTreeMap::new();
    for (case, share) in cases.iter().zip(shares(cases)) {
        let sum = sums.entry(case.query_tokens).or_insert([0.0; WEIGHTS]);
        add(sum, &case.found.curve, share);
    }
    let smoothed = sums.into_iter();
    smoothed
        .map(|(tokens, sum)| (tokens, smooth(&sum)))
        .collect()
}

/// The best weight by features: gradient ascent on the smoothed curves, from the best fixed weight,
/// over features of mean 0 and deviation 1.
pub fn adaptive(cases: &[&Case]) -> Rule {
    let (start, _) = highest(&smooth(&sum(cases)));
    let scale = Scale::of(cases);
    let problem = Problem {
        rows: cases
            .iter()
            .map(|case| scale.row(&case.found.features.unwrap_or_default()))
            .collect(),
        curves: cases.iter().map(|case| smooth(&case.found.curve)).collect(),
        shares: shares(cases),
    };
    let start = start.clamp(0.02, 0.98);
    let mut weights = [0.0; PARAMETERS];
    if let Some(intercept) = weights.first_mut() {
        *intercept = (start / (1.0 - start)).ln();
    }
    Rule::Adaptive(scale.unscaled(&problem.climb(weights)))
}

/// Intercept and one weight for each feature.
const PARAMETERS: usize = FEATURES.len() + 1;
type Parameters = [f64; PARAMETERS];

/// Mean and deviation of each feature.
struct Scale {
    means: [f64; FEATURES.len()],
    deviations: [f64; FEATURES.len()],
}

impl Scale {
    fn of(cases: &[&Case]) -> Self {
        let known: Vec<WeightFeatures> = cases
            .iter()
            .filter_map(|case| case.found.features)
            .collect();
        let count = known.len().max(1) as f64;
        let values = |feature: usize| {
            let value = move |of: &WeightFeatures| of.get(feature).copied().unwrap_or(0.0);
            known.iter().map(value).map(f64::from)
        };
        let means = std::array::from_fn(|feature| values(feature).sum::<f64>() / count);
        let deviations = std::array::from_fn(|feature| {
            let mean: f64 = values(feature).sum::<f64>() / count;
            let squares: f64 = values(feature).map(|value| (value - mean).powi(2)).sum();
            (squares / count).sqrt()
        });
        Self { means, deviations }
    }

    /// 1, then the features; 0 for one that is always the same.
    fn row(&self, features: &WeightFeatures) -> Parameters {
        let mut row = [1.0; PARAMETERS];
        let [_, cells @ ..] = &mut row;
        let scales = self.means.iter().zip(&self.deviations);
        for ((cell, feature), (mean, deviation)) in cells.iter_mut().zip(features).zip(scales) {
            *cell = match *deviation > 1e-9 {
                true => (f64::from(*feature) - mean) / deviation,
                false => 0.0,
            };
        }
        row
    }

    /// For features as they are.
    fn unscaled(&self, parameters: &Parameters) -> Adaptive {
        let [intercept, scaled @ ..] = *parameters;
        let mut weights = scaled;
        for (weight, deviation) in weights.iter_mut().zip(&self.deviations) {
            *weight = match *deviation > 1e-9 {
                true => *weight / deviation,
                false => 0.0,
            };
        }
        let shift: f64 = weights.iter().zip(&self.means).map(|(w, m)| w * m).sum();
        Adaptive {
            intercept: intercept - shift,
            weights,
        }
    }
}

/// What is maximised.
struct Problem {
    rows: Vec<Parameters>,
    curves: Vec<Curve>,
    shares: Vec<f64>,
}

impl Problem {
    /// Climbs while it gains; the step grows again after a gain.
    fn climb(&self, mut weights: Parameters) -> Parameters {
        let (mut value, mut gradient) = self.value(&weights);
        let mut step = FIRST_STEP;
        for _ in 0..STEPS {
            let mut next = weights;
            for (weight, slope) in next.iter_mut().zip(gradient) {
                *weight += step * slope;
            }
            let (next_value, next_gradient) = self.value(&next);
            if next_value > value {
                (weights, value, gradient) = (next, next_value, next_gradient);
                step *= 1.5;
            } else {
                step /= 2.0;
            }
            if step < SMALL_STEP {
                break;
            }
        }
        weights
    }

    fn value(&self, weights: &Parameters) -> (f64, Parameters) {
        let mut value = 0.0;
        let mut gradient = [0.0; PARAMETERS];
        let cases = self.rows.iter().zip(&self.curves).zip(&self.shares);
        for ((row, curve), share) in cases {
            let sum: f64 = row.iter().zip(weights).map(|(x, weight)| x * weight).sum();
            let alpha = logistic(sum);
            value += share * at(curve, alpha);
            let rise = share * slope(curve, alpha) * alpha * (1.0 - alpha);
            for (slope, x) in gradient.iter_mut().zip(row) {
                *slope += rise * x;
            }
        }
        // The intercept is free.
        for (slope, weight) in gradient.iter_mut().zip(weights).skip(1) {
            value -= RIDGE * weight * weight;
            *slope -= 2.0 * RIDGE * weight;
        }
        (value, gradient)
    }
}

/// The place in `with_others` of the numbers of BM25 that are best with this rule; none where those
/// that are configured are.
pub fn bm25(cases: &[&Case], rule: &Rule) -> Option<usize> {
    let shares = shares(cases);
    let score = |place: Option<usize>| -> f64 {
        let scores = cases.iter().zip(&shares);
        let scores = scores.map(|(case, share)| share * rule.score_of(case, case.with(place)));
        scores.sum()
    };
    let most = cases.iter().map(|case| case.with_others.len()).min();
    let places = (0..most.unwrap_or(0)).map(Some);
    let mut best = (None, score(None));
    for place in places {
        let score = score(place);
        if score > best.1 {
            best = (place, score);
        }
    }
    best.0
}

/// What each case weighs, 1 in all: a set weighs with the square root of its number of questions, so
/// that neither one large set decides nor the chance of a small one.
fn shares(cases: &[&Case]) -> Vec<f64> {
    let mut counts: BTreeMap<usize, f64> = BTreeMap::new();
    for case in cases {
        *counts.entry(case.set).or_default() += 1.0;
    }
    let all: f64 = counts.values().map(|count| count.sqrt()).sum();
    let count = |case: &&Case| counts.get(&case.set).copied().unwrap_or(1.0);
    cases
        .iter()
        .map(|case| 1.0 / (count(case).sqrt() * all))
        .collect()
}

/// With a Gaussian kernel; the ends count as going on.
fn smooth(curve: &Curve) -> Curve {
    let value = |place: i64| {
        let place = place.clamp(0, WEIGHTS as i64 - 1) as usize;
        curve.get(place).copied().unwrap_or(0.0)
    };
    let kernel = |distance: i64| (-0.5 * (distance as f64 / SMOOTHING).powi(2)).exp();
    let norm: f64 = (-REACH..=REACH).map(kernel).sum();
    std::array::from_fn(|place| {
        let near = (-REACH..=REACH).map(|by| kernel(by) * value(place as i64 + by));
        near.sum::<f64>() / norm
    })
}

#[cfg(test)]
mod tests {
    use super::super::collect::Found;
    use super::*;

    /// A question whose best weight is `best`.
    fn case(set: usize, best: f64, features: WeightFeatures) -> Case {
        Case {
            id: String::new(),
            set,
            query_tokens: if best > 0.5 { 20 } else { 2 },
            found: Found {
                features: Some(features),
                curve: std::array::from_fn(|place| 1.0 - (weight_at(place) - best).abs()),
            },
            with_others: Vec::new(),
        }
    }

    /// Half of the questions want .2, half .8, and one feature says which.
    fn cases() -> Vec<Case> {
        let one = |at: usize| match at % 2 {
            0 => case(at % 3, 0.2, [1.0, 0.01]),
            _ => case(at % 3, 0.8, [0.0, 0.01]),
        };
        (0..120).map(one).collect()
    }

    #[test]
    fn each_way_finds_what_it_can() {
        let cases = cases();
        let cases: Vec<&Case> = cases.iter().collect();
        let score = |rule: Rule| {
            let scores = cases.iter().map(|case| rule.score(case));
            scores.sum::<f64>() / cases.len() as f64
        };
        assert!(
            (score(fixed(&cases)) - 0.7).abs() < 0.01,
            "any between is as good"
        );
        assert!(score(length(&cases)) > 0.98);
        let adaptive = adaptive(&cases);
        assert!(score(adaptive) > 0.95, "{adaptive:?}");
        let Rule::Adaptive(Adaptive { weights, .. }) = adaptive else {
            panic!("{adaptive:?}");
        };
        let [first, second] = weights;
        assert!(first < -1.0 && second == 0.0, "{weights:?}");
    }

    #[test]
    fn a_set_weighs_with_the_root_of_its_questions() {
        let many = (0..90).map(|_| case(0, 0.1, [0.0; 2]));
        let few = (0..10).map(|_| case(1, 0.9, [0.0; 2]));
        let cases: Vec<Case> = many.chain(few).collect();
        let shares = shares(&cases.iter().collect::<Vec<_>>());
        let of_first: f64 = shares.iter().take(90).sum();
        assert!((of_first - 0.75).abs() < 1e-9, "3 to 1, not 9 to 1");
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    }
}
