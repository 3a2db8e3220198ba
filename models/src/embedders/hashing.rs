//! Feature hashing (Weinberger et al. 2009, "Feature Hashing for Large Scale Multitask Learning"):
//! signed hashes of words, of pairs of ideographs and of character trigrams. Needs no model and is
//! deterministic: the fallback when none is there. It finds shared words, not meanings.

use crate::terms::terms;
use crate::{Embedder, Error, Result, TextRole};
use std::collections::HashMap;
use tributary_schemas::ErrorKind;

/// Weights of a whole word or pair, of a single ideograph, and of a trigram inside a word.
const WORD_WEIGHT: f32 = 1.0;
const IDEOGRAPH_WEIGHT: f32 = 0.4;
const TRIGRAM_WEIGHT: f32 = 0.3;

/// The hashing embedder.
pub struct HashingEmbedder {
    dimensions: usize,
    name: String,
}

impl HashingEmbedder {
    /// An embedder of vectors of this length, at least 8.
    pub fn new(dimensions: usize) -> Result<Self> {
        if dimensions < 8 {
            return Err(Error::new(
                ErrorKind::Invalid,
                format!("hashing vectors of {dimensions} dimensions are too short"),
            )
            .with_hint("set `models.hashing_dimensions` to 8 or more; 384 is usual"));
        }
        Ok(Self {
            dimensions,
            name: format!("hashing-{dimensions}@1"),
        })
    }

    fn embed_one(&self, text: &str) -> Vec<f32> {
        let mut counts: HashMap<u64, (f32, f32)> = HashMap::new();
        let mut add = |hash: u64, weight: f32| counts.entry(hash).or_insert((weight, 0.0)).1 += 1.0;
        for term in terms(text) {
            add(
                hash(&term.text, 1),
                if term.is_word {
                    WORD_WEIGHT
                } else {
                    IDEOGRAPH_WEIGHT
                },
            );
            if term.is_word && term.text.is_ascii() {
                for trigram in term.text.as_bytes().windows(3) {
                    add(hash_bytes(trigram, 2), TRIGRAM_WEIGHT);
                }
            }
        }
        let mut features: Vec<(u64, (f32, f32))> = counts.into_iter().collect();
        // Sums of floats depend on their order, and a hash map has none.
        features.sort_unstable_by_key(|(hash, _)| *hash);
        let mut vector = vec![0.0; self.dimensions];
        for (hash, (weight, count)) in features {
            let sign = if hash >> 63 == 1 { -1.0 } else { 1.0 };
            if let Some(slot) = vector.get_mut((hash % self.dimensions as u64) as usize) {
                *slot += sign * weight * count.sqrt();
            }
        }
        super::normalize(&mut vector);
        vector
    }
}

impl Embedder for HashingEmbedder {
    fn name(&self) -> &str {
        &self.name
    }

    fn dimensions(&self) -> usize {
        self.dimensions
    }

    fn embed(&self, texts: &[&str], _role: TextRole) -> Result<Vec<Vec<f32>>> {
        Ok(texts.iter().map(|text| self.embed_one(text)).collect())
    }
}

fn hash(text: &str, kind: u64) -> u64 {
    hash_bytes(text.as_bytes(), kind)
}

/// FNV-1a with a final mix (that of SplitMix64), so that both the low bits and the sign bit are
/// good.
fn hash_bytes(bytes: &[u8], kind: u64) -> u64 {
    let mut state = 0xcbf2_9ce4_8422_2325 ^ kind.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for byte in bytes {
        state = (state ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    state = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state = (state ^ state >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ state >> 31
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn dot(left: &[f32], right: &[f32]) -> f32 {
        left.iter()
            .zip(right)
            .map(|(left, right)| left * right)
            .sum()
    }

    #[test]
    fn shared_words_bring_texts_together_and_vectors_are_stable() {
        let embedder = HashingEmbedder::new(384).unwrap();
        let texts = [
            "基站如何配置邻区关系",
            "配置邻区关系的步骤：先登录基站",
            "今天的天气很好，适合出门散步",
            "",
        ];
        let vectors = embedder.embed(&texts, TextRole::Passage).unwrap();
        assert!(dot(&vectors[0], &vectors[1]) > 0.3 + dot(&vectors[0], &vectors[2]));
        for vector in &vectors {
            assert!((dot(vector, vector) - 1.0).abs() < 1e-5);
        }
        assert_eq!(vectors, embedder.embed(&texts, TextRole::Query).unwrap());
        // Stored vectors outlive the program: the first values must never change.
        let word = embedder.embed(&["tributary"], TextRole::Query).unwrap();
        let marks: Vec<usize> = (0..384).filter(|slot| word[0][*slot] != 0.0).collect();
        assert_eq!(marks.len(), 8);
        assert!(HashingEmbedder::new(2).is_err());
    }
}
