//! Confidence interval of a gain: paired bootstrap over questions (Efron and Tibshirani, "An
//! introduction to the bootstrap", 1993, chapter 13). Pure, and the same for the same input.

use serde::Serialize;

use crate::metrics::{mean, percentile};

/// Samples that are drawn.
const SAMPLES: usize = 2000;

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
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let of_sample = |random: &mut Random| {
        let means: Vec<f64> = sets.iter().map(|set| drawn_mean(set, random)).collect();
        mean(&means)
    };
    let samples: Vec<f64> = (0..SAMPLES).map(|_| of_sample(&mut random)).collect();
    let means: Vec<f64> = sets.iter().map(|set| mean(set)).collect();
    Gain {
        mean: mean(&means),
        low: percentile(&samples, 0.025),
        high: percentile(&samples, 0.975),
    }
}

fn drawn_mean(values: &[f64], random: &mut Random) -> f64 {
    let drawn = (0..values.len()).filter_map(|_| values.get(random.below(values.len())));
    drawn.sum::<f64>() / values.len().max(1) as f64
}

/// xorshift64* (Vigna, "An experimental exploration of Marsaglia's xorshift generators", 2016).
struct Random(u64);

impl Random {
    /// 0 to `limit` − 1; `limit` is at least 1.
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let high = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32;
        ((high * limit as u64) >> 32) as usize
    }
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
