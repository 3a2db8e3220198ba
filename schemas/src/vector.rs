//! Vectors in messages: base64 (standard alphabet, padded) of little-endian f32, a third of the
//! size of JSON numbers.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serializer};

/// Encodes a vector.
pub fn encode(vector: &[f32]) -> String {
    let bytes: Vec<u8> = vector
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    STANDARD.encode(bytes)
}

/// Decodes a vector; the error says what is wrong with the text.
pub fn decode(text: &str) -> Result<Vec<f32>, String> {
    let bytes = STANDARD
        .decode(text)
        .map_err(|error| format!("vector is not base64: {error}"))?;
    let (values, rest) = bytes.as_chunks::<4>();
    if !rest.is_empty() {
        return Err(format!(
            "vector of {} bytes is not a whole number of f32",
            bytes.len()
        ));
    }
    Ok(values
        .iter()
        .map(|value| f32::from_le_bytes(*value))
        .collect())
}

/// For `#[serde(serialize_with)]`.
pub fn serialize<S: Serializer>(vector: &[f32], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&encode(vector))
}

/// For `#[serde(deserialize_with)]`.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f32>, D::Error> {
    let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
    decode(&text).map_err(serde::de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_survive_a_round_trip_and_bad_text_is_refused() {
        let vector = vec![0.0, -1.5, f32::MIN_POSITIVE, 3.25e7];
        assert_eq!(decode(&encode(&vector)), Ok(vector));
        assert!(decode("AAA=").is_err());
        assert!(decode("?").is_err());
    }
}
