//! α(L), the weight of the vector side by query length: short queries are names and codes, which
//! keywords find; long ones are descriptions, which vectors find.

use crate::config::VectorWeight;

/// α = base + range / (1 + e^(−(L − k) / s)), L = query tokens. With the defaults .4, .3, k = 8, s
/// = 1: α(8) = .55.
pub fn vector_weight(query_tokens: usize, config: &VectorWeight) -> f32 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "a query has far fewer than 2^24 tokens"
    )]
    let length = query_tokens as f32;
    let exponent = -(length - config.midpoint_tokens) / config.slope_tokens;
    config.base + config.range / (1.0 + exponent.exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weight_rises_with_the_length_of_the_query() {
        let config = VectorWeight {
            base: 0.4,
            range: 0.3,
            midpoint_tokens: 8.0,
            slope_tokens: 1.0,
        };
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
            let weight = vector_weight(tokens, &config);
            assert!(
                (weight - expected).abs() < 1e-4,
                "α({tokens}) = {weight}, expected {expected}"
            );
        }
    }
}
