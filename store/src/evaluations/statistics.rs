//! Means, percentiles, and the confidence interval of a gain: paired bootstrap over questions (Efron
//! and Tibshirani, "An introduction to the bootstrap", 1993, chapter 13). Pure, and the same for the
//! same input.

use serde::Serialize;

use super::chance::Chance;

/// Samples that are drawn; 1000 or more for percentiles.
const SAMPLES: usize = 2000;
const SEED: u64 = 20_261_125;
/// Share of samples that lie below, and above, a confidence interval of 95 %.
const TAIL: f64 = 0.025;

/// Mean; zero for none.
pub fn mean(values: &[f64]) -> f64 {
    match values.is_empty() {
        true => 0.0,
        false => values.iter().sum::<f64>() / values.len() as f64,
    }
}

/// The value below which `share` (0 to 1) of the values lie (nearest rank); zero for none.
pub fn percentile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0.0)
}

/// A mean difference and where it lies in 95 of 100 samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Gain {
    /// Mean.
    pub mean: f64,
    /// 2.5th percentile.
    pub low: f64,
    /// 97.5th percentile.
    pub high: f64,
}

/// The gain over all sets, each weighing alike; one list of differences per set, one difference per
/// question. Questions are drawn within their set.
pub fn gain(sets: &[Vec<f64>]) -> Gain {
    let mut chance = Chance::new(SEED);
    let of_sample = |chance: &mut Chance| {
        let means: Vec<f64> = sets.iter().map(|set| drawn_mean(set, chance)).collect();
        mean(&means)
    };
    let samples: Vec<f64> = (0..SAMPLES).map(|_| of_sample(&mut chance)).collect();
    let means: Vec<f64> = sets.iter().map(|set| mean(set)).collect();
    Gain {
        mean: mean(&means),
        low: percentile(&samples, TAIL),
        high: percentile(&samples, 1.0 - TAIL),
    }
}

fn drawn_mean(values: &[f64], chance: &mut Chance) -> f64 {
    let drawn = (0..values.len()).filter_map(|_| chance.one_of(values));
    drawn.sum::<f64>() / values.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gain_of_every_question_is_certain_and_one_of_half_of_them_is_not() {
        let certain = gain(&[vec![0.1; 50], vec![0.3; 5]]);
        assert!((certain.mean - 0.2).abs() < 1e-9, "each set weighs alike");
        assert!(certain.low > 0.199 && certain.high < 0.201);
        let both_ways: Vec<f64> = (0..100)
            .map(|at| if at % 2 == 0 { 0.2 } else { -0.2 })
            .collect();
        let uncertain = gain(&[both_ways]);
        // The mean of 100 draws of ±.2 has a standard error of .02.
        assert!(
            uncertain.low < -0.03 && uncertain.low > -0.06,
            "{uncertain:?}"
        );
        assert!(
            uncertain.high > 0.03 && uncertain.high < 0.06,
            "{uncertain:?}"
        );
        assert_eq!(gain(&[]).mean, 0.0);
    }
}
