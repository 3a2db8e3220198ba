//! Coarse and fine vectors of a text, from one model or two.

use crate::embedders::normalize;
use crate::{Embedder, Error, Result, TextRole};
use std::sync::Arc;
use tributary_schemas::{ChunkVectors, ErrorKind};

/// Where the coarse vector comes from.
enum Coarse {
    /// The fine vector serves both tiers.
    Shared,
    /// The renormalised front of the fine vector (Matryoshka models).
    Prefix(usize),
    /// Another model.
    Other(Arc<dyn Embedder>),
}

/// An embedder of coarse and fine vectors.
pub struct DualEmbedder {
    fine: Arc<dyn Embedder>,
    coarse: Coarse,
    coarse_name: String,
}

impl DualEmbedder {
    /// One model, one vector for both tiers.
    pub fn shared(embedder: Arc<dyn Embedder>) -> Self {
        let coarse_name = embedder.name().to_owned();
        Self {
            fine: embedder,
            coarse: Coarse::Shared,
            coarse_name,
        }
    }

    /// One Matryoshka model; the coarse vector is the front of the fine one. The full length is the
    /// same as `shared`.
    pub fn matryoshka(embedder: Arc<dyn Embedder>, coarse_dimensions: usize) -> Result<Self> {
        let full = embedder.dimensions();
        if coarse_dimensions == 0 || coarse_dimensions > full {
            return Err(Error::new(
                ErrorKind::Invalid,
                format!(
                    "coarse vectors of {coarse_dimensions} dimensions cannot be cut from {full}"
                ),
            )
            .with_hint(format!(
                "set `models.coarse_dimensions` between 1 and {full}, or 0 for one vector"
            )));
        }
        if coarse_dimensions == full {
            return Ok(Self::shared(embedder));
        }
        let coarse_name = format!("{}#{coarse_dimensions}", embedder.name());
        Ok(Self {
            fine: embedder,
            coarse: Coarse::Prefix(coarse_dimensions),
            coarse_name,
        })
    }

    /// Two models; the same one twice is `shared`.
    pub fn pair(coarse: Arc<dyn Embedder>, fine: Arc<dyn Embedder>) -> Self {
        if coarse.name() == fine.name() && coarse.dimensions() == fine.dimensions() {
            return Self::shared(fine);
        }
        let coarse_name = coarse.name().to_owned();
        Self {
            fine,
            coarse: Coarse::Other(coarse),
            coarse_name,
        }
    }

    /// Vectors of the texts, in their order. `fine` is empty when the coarse vector serves both
    /// tiers.
    pub fn embed(&self, texts: &[&str], role: TextRole) -> Result<Vec<ChunkVectors>> {
        let fine = self.fine.embed(texts, role)?;
        let vectors = match &self.coarse {
            Coarse::Shared => fine
                .into_iter()
                .map(|coarse| ChunkVectors {
                    coarse,
                    ..ChunkVectors::default()
                })
                .collect(),
            Coarse::Prefix(length) => fine
                .into_iter()
                .map(|fine| ChunkVectors {
                    coarse: prefix(&fine, *length),
                    fine,
                    ..ChunkVectors::default()
                })
                .collect(),
            Coarse::Other(embedder) => {
                let coarse = embedder.embed(texts, role)?;
                coarse
                    .into_iter()
                    .zip(fine)
                    .map(|(coarse, fine)| ChunkVectors {
                        coarse,
                        fine,
                        ..ChunkVectors::default()
                    })
                    .collect()
            }
        };
        Ok(vectors)
    }

    /// Length of the coarse vectors.
    pub fn coarse_dimensions(&self) -> usize {
        match &self.coarse {
            Coarse::Shared => self.fine.dimensions(),
            Coarse::Prefix(length) => *length,
            Coarse::Other(embedder) => embedder.dimensions(),
        }
    }

    /// Length of the vectors that tier 2 compares; when shared, that of the coarse ones.
    pub fn fine_dimensions(&self) -> usize {
        self.fine.dimensions()
    }

    /// Whether one vector serves both tiers.
    pub fn is_shared(&self) -> bool {
        matches!(self.coarse, Coarse::Shared)
    }

    /// Name and version of what makes the coarse vectors.
    pub fn coarse_name(&self) -> &str {
        &self.coarse_name
    }

    /// Name and version of what makes the fine vectors.
    pub fn fine_name(&self) -> &str {
        self.fine.name()
    }
}

/// The renormalised front of a vector.
fn prefix(vector: &[f32], length: usize) -> Vec<f32> {
    let mut front: Vec<f32> = vector.iter().take(length).copied().collect();
    normalize(&mut front);
    front
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::embedders::hashing::HashingEmbedder;

    fn hashing(dimensions: usize) -> Arc<dyn Embedder> {
        Arc::new(HashingEmbedder::new(dimensions).unwrap())
    }

    #[test]
    fn one_model_is_shared() {
        let dual = DualEmbedder::pair(hashing(64), hashing(64));
        assert!(dual.is_shared());
        let vectors = dual.embed(&["a b", ""], TextRole::Query).unwrap();
        assert!(
            vectors
                .iter()
                .all(|vectors| vectors.coarse.len() == 64 && vectors.fine.is_empty())
        );
        assert_eq!((dual.coarse_dimensions(), dual.fine_dimensions()), (64, 64));
        assert_eq!(dual.coarse_name(), dual.fine_name());
    }

    #[test]
    fn a_prefix_is_renormalised_and_bounded() {
        let dual = DualEmbedder::matryoshka(hashing(64), 16).unwrap();
        assert!(!dual.is_shared());
        let vectors = dual
            .embed(&["the quick brown fox jumps over it"], TextRole::Passage)
            .unwrap();
        let (coarse, fine) = (&vectors[0].coarse, &vectors[0].fine);
        assert_eq!((coarse.len(), fine.len()), (16, 64));
        assert!((coarse.iter().map(|value| value * value).sum::<f32>() - 1.0).abs() < 1e-5);
        let norm = fine
            .iter()
            .take(16)
            .map(|value| value * value)
            .sum::<f32>()
            .sqrt();
        assert!(
            norm > 0.1
                && coarse
                    .iter()
                    .zip(fine)
                    .all(|(coarse, fine)| (coarse * norm - fine).abs() < 1e-5)
        );
        assert_eq!(dual.coarse_name(), "hashing-64@1#16");
        assert!(DualEmbedder::matryoshka(hashing(64), 65).is_err());
        assert!(
            DualEmbedder::matryoshka(hashing(64), 64)
                .unwrap()
                .is_shared()
        );
    }

    #[test]
    fn two_models_keep_their_lengths() {
        let dual = DualEmbedder::pair(hashing(32), hashing(64));
        let vectors = dual.embed(&["x"], TextRole::Query).unwrap();
        assert_eq!((vectors[0].coarse.len(), vectors[0].fine.len()), (32, 64));
        assert_eq!(
            (dual.coarse_name(), dual.fine_name()),
            ("hashing-32@1", "hashing-64@1")
        );
    }
}
