//! How similar documents find each other: MinHash signatures, and the terms under which a document's manifest is found in the index.
//! Ingest makes the signature; the indexer and the query server compare.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::{DocumentHeader, Error, ErrorKind, Result};

/// Values of a signature.
pub const SIGNATURE_LENGTH: usize = 128;
/// Values that make one band. 32 bands of 4: two texts with Jaccard similarity s share a band with probability 1 - (1 - s⁴)³², which is
/// .88 for s = .5 and .996 for s = .63 (two texts that differ in 5 % of their words, compared by 5-token shingles).
pub const BAND_LENGTH: usize = 4;

/// A MinHash signature: per hash function the least hash of the text's shingles (Broder 1997).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature(pub [u32; SIGNATURE_LENGTH]);

impl Signature {
    /// As it stands in [`DocumentHeader::signature`]: little-endian values in base64.
    pub fn encode(&self) -> String {
        let bytes: Vec<u8> = self.0.iter().flat_map(|value| value.to_le_bytes()).collect();
        STANDARD.encode(bytes)
    }

    /// Reads [`Signature::encode`]. `Corrupt` if it is none.
    pub fn decode(text: &str) -> Result<Self> {
        let damaged = || Error::new(ErrorKind::Corrupt, "a document's signature cannot be read");
        let bytes = STANDARD.decode(text).map_err(|_| damaged())?;
        let values: Vec<u32> =
            bytes.chunks_exact(4).map(|bytes| bytes.iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte))).collect();
        values.try_into().map(Self).map_err(|_| damaged())
    }

    /// Estimated Jaccard similarity of the two texts, 0 to 1; standard error at most .044.
    pub fn similarity(&self, other: &Self) -> f32 {
        let equal = self.0.iter().zip(&other.0).filter(|(left, right)| left == right).count();
        equal as f32 / SIGNATURE_LENGTH as f32
    }

    /// One term per band; similar texts share at least one.
    fn band_terms(&self) -> impl Iterator<Item = String> + '_ {
        self.0.chunks(BAND_LENGTH).enumerate().map(|(number, band)| {
            let bytes: Vec<u8> = band.iter().flat_map(|value| value.to_le_bytes()).collect();
            let hash: String = blake3::hash(&bytes).to_hex().chars().take(16).collect();
            format!("band={number}:{hash}")
        })
    }
}

impl DocumentHeader {
    /// Terms of the document's manifest: content, bands of the signature, and the document that it duplicates.
    pub fn manifest_terms(&self) -> Vec<String> {
        let mut terms: Vec<String> =
            Signature::decode(&self.signature).map(|signature| signature.band_terms().collect()).unwrap_or_default();
        if !self.content_hash.is_empty() {
            terms.push(content_term(&self.content_hash));
        }
        terms.extend(self.duplicate_of.iter().map(|canonical| duplicate_term(canonical)));
        terms
    }
}

/// Finds the documents of that [`DocumentHeader::content_hash`].
pub fn content_term(content_hash: &str) -> String {
    format!("content={content_hash}")
}

/// Finds the exact duplicates that a document stands for.
pub fn duplicate_term(canonical: &str) -> String {
    format!("duplicate_of={canonical}")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn signature(seed: u32) -> Signature {
        Signature(std::array::from_fn(|place| seed.wrapping_mul(2_654_435_761).wrapping_add(place as u32)))
    }

    #[test]
    fn a_signature_survives_a_round_trip_and_damage_is_told() {
        let signature = signature(7);
        assert_eq!(Signature::decode(&signature.encode()).unwrap(), signature);
        for damaged in ["", "AAAA", "not base64"] {
            assert_eq!(Signature::decode(damaged).unwrap_err().kind(), ErrorKind::Corrupt, "{damaged}");
        }
    }

    #[test]
    fn similar_documents_share_a_term_and_others_none() {
        let header = |signature: &Signature| DocumentHeader { signature: signature.encode(), ..DocumentHeader::default() };
        let first = signature(1);
        let mut near = first.clone();
        near.0.iter_mut().step_by(5).for_each(|value| *value ^= 1);
        let shared = |left: &Signature, right: &Signature| {
            let terms = header(right).manifest_terms();
            header(left).manifest_terms().iter().filter(|term| terms.contains(term)).count()
        };
        assert_eq!(first.similarity(&near), 102.0 / 128.0);
        assert!(shared(&first, &near) > 0);
        assert_eq!(shared(&first, &signature(2)), 0);
        assert_eq!(shared(&first, &first), SIGNATURE_LENGTH / BAND_LENGTH);
    }

    #[test]
    fn a_document_without_text_has_no_terms() {
        assert!(DocumentHeader::default().manifest_terms().is_empty());
        let duplicate = DocumentHeader { content_hash: "h".into(), duplicate_of: Some("a".into()), ..DocumentHeader::default() };
        assert_eq!(duplicate.manifest_terms(), ["content=h", "duplicate_of=a"]);
    }
}
