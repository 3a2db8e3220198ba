//! The embedders: one file each.

pub mod hashing;
pub mod onnx;

/// Scales a vector to unit length. A zero or non-finite vector becomes the first unit vector, so
/// that callers always get a valid one.
pub fn normalize(vector: &mut [f32]) {
    let norm = vector
        .iter()
        .map(|value| f64::from(*value) * f64::from(*value))
        .sum::<f64>()
        .sqrt();
    if norm.is_finite() && norm > 1e-12 {
        vector
            .iter_mut()
            .for_each(|value| *value = (f64::from(*value) / norm) as f32);
        return;
    }
    vector.fill(0.0);
    if let Some(first) = vector.first_mut() {
        *first = 1.0;
    }
}

#[cfg(test)]
mod tests {
    use super::normalize;

    #[test]
    fn every_vector_becomes_a_unit_vector() {
        for mut vector in [
            vec![3.0, 4.0],
            vec![0.0, 0.0],
            vec![f32::NAN, 1.0],
            vec![1e-30, 0.0],
            vec![1e30, -1e30],
        ] {
            normalize(&mut vector);
            let norm: f32 = vector.iter().map(|value| value * value).sum();
            assert!((norm - 1.0).abs() < 1e-5, "{vector:?}");
        }
    }
}
