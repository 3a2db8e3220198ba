//! Min-max normalisation: brings the scores of one signal to 0..1, so that signals of different
//! scales can be added.

/// (score − min) / (max − min) of each score. Where all are equal nothing tells them apart: a
/// positive score becomes 1, else 0. A score that is no finite number becomes 0 and does not shape
/// the range.
pub fn min_max(scores: &[f32]) -> Vec<f32> {
    let finite = || scores.iter().copied().filter(|score| score.is_finite());
    let lowest = finite().fold(f32::INFINITY, f32::min);
    let highest = finite().fold(f32::NEG_INFINITY, f32::max);
    let range = highest - lowest;
    let normalize = |score: &f32| match () {
        () if !score.is_finite() => 0.0,
        () if range > 0.0 => ((score - lowest) / range).clamp(0.0, 1.0),
        () if *score > 0.0 => 1.0,
        () => 0.0,
    };
    scores.iter().map(normalize).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_land_between_0_and_1() {
        let table: [(&[f32], &[f32]); 6] = [
            (&[], &[]),
            (&[3.0], &[1.0]),
            (&[0.0, 0.0], &[0.0, 0.0]),
            (&[2.0, 2.0], &[1.0, 1.0]),
            (&[-1.0, 0.0, 1.0], &[0.0, 0.5, 1.0]),
            (&[1.0, f32::NAN, 3.0, f32::INFINITY], &[0.0, 0.0, 1.0, 0.0]),
        ];
        for (scores, expected) in table {
            assert_eq!(min_max(scores), expected, "{scores:?}");
        }
    }
}
