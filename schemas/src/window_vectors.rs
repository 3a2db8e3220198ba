//! The vectors of the windows of a long chunk, beside the one vector that stands for all of it: one
//! byte per dimension, since tier 2 alone reads them, for few chunks.
//!
//! Layout: the windows one after the other, each as many signed bytes as the vector has dimensions,
//! `round(value · 127 / max|value|)`. A window's direction is all that counts, so no scale is kept.
//! The cosine of a window of 384 dimensions is so exact to about ±.002.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Vectors of windows, in order; none for a chunk that is one window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WindowVectors(Vec<u8>);

/// The largest code; -128 is never written.
const LARGEST: f32 = 127.0;

impl WindowVectors {
    /// Encodes vectors of one length.
    pub fn of<'a>(vectors: impl IntoIterator<Item = &'a [f32]>) -> Self {
        let mut codes = Vec::new();
        for vector in vectors {
            let largest = vector
                .iter()
                .fold(0.0_f32, |largest, value| largest.max(value.abs()));
            let scale = if largest > 0.0 {
                LARGEST / largest
            } else {
                0.0
            };
            // `as` saturates, and makes 0 of what is no number.
            codes.extend(
                vector
                    .iter()
                    .map(|value| ((value * scale).round() as i8).cast_unsigned()),
            );
        }
        Self(codes)
    }

    /// As they are stored.
    pub fn from_bytes(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// As they are stored.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether these are whole vectors of so many dimensions.
    pub fn has_dimensions(&self, dimensions: usize) -> bool {
        dimensions > 0 && self.0.len().is_multiple_of(dimensions)
    }
}

/// Highest dot product of a vector with the direction of a window, of windows as
/// [`WindowVectors::as_bytes`] has them; none without windows.
pub fn nearest(windows: &[u8], vector: &[f32]) -> Option<f32> {
    windows
        .chunks_exact(vector.len().max(1))
        .map(|codes| dot(codes, vector))
        .max_by(f32::total_cmp)
}

/// Sums are kept apart so that they can be made side by side.
const LANES: usize = 16;

/// Products and squares of codes so far.
#[derive(Default)]
struct Sums {
    products: [f32; LANES],
    squares: [f32; LANES],
}

impl Sums {
    /// Inlined, so that the compiler sees that all but the last are [`LANES`] long.
    #[inline(always)]
    fn add(&mut self, codes: &[u8], values: &[f32]) {
        let sums = self.products.iter_mut().zip(&mut self.squares);
        for ((product, square), (code, value)) in sums.zip(codes.iter().zip(values)) {
            let code = f32::from(code.cast_signed());
            *product += code * value;
            *square += code * code;
        }
    }
}

fn dot(codes: &[u8], vector: &[f32]) -> f32 {
    let (codes, last_codes) = codes.as_chunks::<LANES>();
    let (values, last_values) = vector.as_chunks::<LANES>();
    let mut sums = Sums::default();
    for (codes, values) in codes.iter().zip(values) {
        sums.add(codes, values);
    }
    sums.add(last_codes, last_values);
    let length = sums.squares.iter().sum::<f32>().sqrt();
    if length > 0.0 {
        sums.products.iter().sum::<f32>() / length
    } else {
        0.0
    }
}

impl Serialize for WindowVectors {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for WindowVectors {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        STANDARD
            .decode(text.as_ref())
            .map(Self)
            .map_err(|error| serde::de::Error::custom(format!("windows are not base64: {error}")))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A unit vector that looks like noise.
    fn noise(seed: u32, dimensions: usize) -> Vec<f32> {
        let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
        let mut values: Vec<f32> = (0..dimensions)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 8) as f32 / (1 << 24) as f32 - 0.5
            })
            .collect();
        let length = values.iter().map(|value| value * value).sum::<f32>().sqrt();
        values.iter_mut().for_each(|value| *value /= length);
        values
    }

    fn exact(left: &[f32], right: &[f32]) -> f32 {
        left.iter()
            .zip(right)
            .map(|(left, right)| left * right)
            .sum()
    }

    #[test]
    fn the_nearest_window_is_found_with_nearly_its_exact_cosine() {
        for dimensions in [3, 16, 384, 1000] {
            let windows: Vec<Vec<f32>> = (1..6).map(|seed| noise(seed, dimensions)).collect();
            let stored = WindowVectors::of(windows.iter().map(Vec::as_slice));
            assert!(stored.has_dimensions(dimensions) && !stored.has_dimensions(dimensions + 1));
            let query = noise(99, dimensions);
            let best = windows
                .iter()
                .map(|window| exact(window, &query))
                .fold(f32::MIN, f32::max);
            let found = nearest(stored.as_bytes(), &query).unwrap();
            assert!((found - best).abs() < 0.005, "{found} for {best}");
        }
    }

    #[test]
    fn no_windows_have_no_nearest_one_and_a_window_of_zeros_is_nothing() {
        assert_eq!(nearest(&[], &[1.0, 0.0]), None);
        let zeros = WindowVectors::of([[0.0, 0.0].as_slice()]);
        assert_eq!(nearest(zeros.as_bytes(), &[1.0, 0.0]), Some(0.0));
    }

    #[test]
    fn windows_survive_a_round_trip_and_bad_text_is_refused() {
        let windows = WindowVectors::of([[0.6, -0.8].as_slice(), &[1.0, 0.0]]);
        let json = serde_json::to_string(&windows).unwrap();
        assert_eq!(json, "\"X4F/AA==\"");
        assert_eq!(
            serde_json::from_str::<WindowVectors>(&json).unwrap(),
            windows
        );
        assert!(serde_json::from_str::<WindowVectors>("\"?\"").is_err());
    }
}
