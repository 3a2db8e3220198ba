//! How similar documents find each other: MinHash signatures, exact duplicates, and the terms under
//! which a document's manifest is found in the index. Ingest makes the signature; the indexer and
//! the query server compare.

use std::cmp::{Ordering, Reverse};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{DocumentHeader, Error, ErrorKind, Result};

/// Values of a signature.
pub const SIGNATURE_LENGTH: usize = 128;
/// Values that make one band. 32 bands of 4: two texts with Jaccard similarity s share a band with
/// probability 1 - (1 - s⁴)³², which is .88 for s = .5 and .996 for s = .63 (two texts that differ
/// in 5 % of their words, compared by 5-token shingles).
pub const BAND_LENGTH: usize = 4;

/// A MinHash signature: per hash function the least hash of the text's shingles (Broder 1997).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature(pub [u32; SIGNATURE_LENGTH]);

impl Signature {
    /// As it stands in [`DocumentHeader::signature`]: little-endian values in base64.
    pub fn encode(&self) -> String {
        let bytes: Vec<u8> = self
            .0
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        STANDARD.encode(bytes)
    }

    /// Reads [`Signature::encode`]. `Corrupt` if it is none.
    pub fn decode(text: &str) -> Result<Self> {
        let damaged = || Error::new(ErrorKind::Corrupt, "a document's signature cannot be read");
        let bytes = STANDARD.decode(text).map_err(|_| damaged())?;
        let values: Vec<u32> = bytes
            .chunks_exact(4)
            .map(|bytes| {
                bytes
                    .iter()
                    .rev()
                    .fold(0, |value, byte| value << 8 | u32::from(*byte))
            })
            .collect();
        values.try_into().map(Self).map_err(|_| damaged())
    }

    /// Estimated Jaccard similarity of the two texts, 0 to 1; standard error at most .044.
    pub fn similarity(&self, other: &Self) -> f32 {
        let equal = self
            .0
            .iter()
            .zip(&other.0)
            .filter(|(left, right)| left == right)
            .count();
        equal as f32 / SIGNATURE_LENGTH as f32
    }

    /// One term per band; similar texts share at least one.
    fn band_terms(&self) -> impl Iterator<Item = String> + '_ {
        self.0
            .chunks(BAND_LENGTH)
            .enumerate()
            .map(|(number, band)| {
                let bytes: Vec<u8> = band.iter().flat_map(|value| value.to_le_bytes()).collect();
                let hash: String = blake3::hash(&bytes).to_hex().chars().take(16).collect();
                format!("band={number}:{hash}")
            })
    }
}

/// An exact duplicate, as the document that stands for it remembers it: what a filter finds it by
/// and a reader sees of it. Everything else is the same for both, which is what makes them
/// duplicates.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Duplicate {
    /// Stable id.
    pub document_id: String,
    /// Version of the document.
    pub version: u64,
    /// Name of the source.
    pub source: String,
    /// See [`DocumentHeader::source_priority`].
    #[serde(default, skip_serializing_if = "is_zero")]
    pub source_priority: i32,
    /// Path or URL within the source.
    #[serde(default)]
    pub source_path: String,
    /// Where a reader finds the original.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// Tags from rules.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Knowledge sets that it belongs to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub knowledge_sets: Vec<String>,
}

/// Whether a number can be left out of a message.
pub(crate) fn is_zero(number: &i32) -> bool {
    *number == 0
}

impl DocumentHeader {
    /// Terms of the document's manifest: content, bands of the signature, the document that it
    /// duplicates and those that it stands for, its work and the edition that it steps aside
    /// for.
    pub fn manifest_terms(&self) -> Vec<String> {
        let mut terms = self.band_terms();
        if !self.content_hash.is_empty() {
            terms.push(content_term(&self.content_hash));
        }
        terms.extend(
            self.duplicate_of
                .iter()
                .map(|canonical| duplicate_term(canonical)),
        );
        terms.extend(
            self.duplicates
                .iter()
                .map(|duplicate| canonical_term(&duplicate.document_id)),
        );
        terms.extend(self.edition_terms());
        terms
    }

    /// Band terms alone: what documents similar to this one carry too. Empty for a text too short
    /// to be compared, and for a signature that cannot be read.
    pub fn band_terms(&self) -> Vec<String> {
        let signature = Signature::decode(&self.signature).ok();
        signature
            .map(|signature| signature.band_terms().collect())
            .unwrap_or_default()
    }

    /// Which member of a family stands for it: `Less` comes first. The newest version, then the
    /// source of the highest priority, then the least id; a total order, so that whoever
    /// decides, decides the same.
    pub fn canonical_order(&self, other: &Self) -> Ordering {
        let key = |document: &Self| (Reverse(document.version), Reverse(document.source_priority));
        key(self)
            .cmp(&key(other))
            .then_with(|| self.document_id.cmp(&other.document_id))
    }

    /// What the document that stands for this one remembers of it.
    pub fn as_duplicate(&self) -> Duplicate {
        Duplicate {
            document_id: self.document_id.clone(),
            version: self.version,
            source: self.source.clone(),
            source_priority: self.source_priority,
            source_path: self.source_path.clone(),
            link: self.attributes.link.clone(),
            tags: self.tags.clone(),
            knowledge_sets: self.knowledge_sets.clone(),
        }
    }

    /// This document and each that it stands for, as documents of their own and in
    /// [`DocumentHeader::canonical_order`]: none of them stands for another.
    pub fn members(&self) -> Vec<Self> {
        let own = Self {
            duplicates: Vec::new(),
            ..self.clone()
        };
        let mut members: Vec<Self> = self
            .duplicates
            .iter()
            .map(|duplicate| duplicate.document(&own))
            .collect();
        members.push(own);
        members.sort_by(Self::canonical_order);
        members
    }
}

impl Duplicate {
    /// The header of this document, all of which but its identity is that of the `canonical` one.
    fn document(&self, canonical: &DocumentHeader) -> DocumentHeader {
        let mut document = DocumentHeader {
            document_id: self.document_id.clone(),
            version: self.version,
            source: self.source.clone(),
            source_priority: self.source_priority,
            source_path: self.source_path.clone(),
            tags: self.tags.clone(),
            knowledge_sets: self.knowledge_sets.clone(),
            ..canonical.clone()
        };
        document.attributes.link.clone_from(&self.link);
        document
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

/// Finds the document that stands for an exact duplicate.
pub fn canonical_term(duplicate: &str) -> String {
    format!("stands_for={duplicate}")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn signature(seed: u32) -> Signature {
        Signature(std::array::from_fn(|place| {
            seed.wrapping_mul(2_654_435_761).wrapping_add(place as u32)
        }))
    }

    #[test]
    fn a_signature_survives_a_round_trip_and_damage_is_told() {
        let signature = signature(7);
        assert_eq!(Signature::decode(&signature.encode()).unwrap(), signature);
        for damaged in ["", "AAAA", "not base64"] {
            assert_eq!(
                Signature::decode(damaged).unwrap_err().kind(),
                ErrorKind::Corrupt,
                "{damaged}"
            );
        }
    }

    #[test]
    fn similar_documents_share_a_term_and_others_none() {
        let header = |signature: &Signature| DocumentHeader {
            signature: signature.encode(),
            ..DocumentHeader::default()
        };
        let first = signature(1);
        let mut near = first.clone();
        near.0.iter_mut().step_by(5).for_each(|value| *value ^= 1);
        let shared = |left: &Signature, right: &Signature| {
            let terms = header(right).manifest_terms();
            header(left)
                .manifest_terms()
                .iter()
                .filter(|term| terms.contains(term))
                .count()
        };
        assert_eq!(first.similarity(&near), 102.0 / 128.0);
        assert!(shared(&first, &near) > 0);
        assert_eq!(shared(&first, &signature(2)), 0);
        assert_eq!(shared(&first, &first), SIGNATURE_LENGTH / BAND_LENGTH);
    }

    #[test]
    fn a_document_without_text_has_no_terms() {
        assert!(DocumentHeader::default().manifest_terms().is_empty());
        let duplicate = DocumentHeader {
            content_hash: "h".into(),
            duplicate_of: Some("a".into()),
            ..DocumentHeader::default()
        };
        assert_eq!(duplicate.manifest_terms(), ["content=h", "duplicate_of=a"]);
        let canonical = DocumentHeader {
            duplicates: vec![duplicate.as_duplicate()],
            ..DocumentHeader::default()
        };
        assert_eq!(canonical.manifest_terms(), ["stands_for="]);
    }

    #[test]
    fn the_newest_version_comes_first_then_the_better_source_then_the_least_id() {
        let document = |id: &str, version, source_priority| DocumentHeader {
            document_id: id.into(),
            version,
            source_priority,
            ..DocumentHeader::default()
        };
        let mut members = [
            document("a", 1, 9),
            document("c", 2, 0),
            document("b", 2, 0),
            document("d", 2, 1),
        ];
        members.sort_by(DocumentHeader::canonical_order);
        assert_eq!(
            members.map(|document| document.document_id),
            ["d", "b", "c", "a"]
        );
    }

    #[test]
    fn members_have_their_own_identity_and_what_they_share() {
        let own = DocumentHeader {
            document_id: "a".into(),
            version: 1,
            tags: vec!["x".into()],
            ..DocumentHeader::default()
        };
        let mut other = DocumentHeader {
            document_id: "b".into(),
            version: 2,
            tags: vec!["y".into()],
            ..own.clone()
        };
        other.attributes.link = Some("https://b".into());
        let canonical = DocumentHeader {
            duplicates: vec![other.as_duplicate()],
            ..own.clone()
        };
        assert_eq!(canonical.members(), [other, own]);
    }
}
