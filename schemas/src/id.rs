//! Stable identifiers: document ids derived from source and path, chunk ids derived from content.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Error, ErrorKind};

/// Longest document id that is accepted, in bytes.
pub const MAXIMUM_DOCUMENT_ID_BYTES: usize = 1024;

/// `Invalid` for what no document can have as its id.
pub fn check_document_id(document_id: &str) -> crate::Result<()> {
    let refused = |what: String| {
        let hint = "use a hash or a path as the id, or leave it out to have one derived from source and source path";
        Err(Error::new(ErrorKind::Invalid, what).with_hint(hint))
    };
    if document_id.trim().is_empty() || document_id.len() > MAXIMUM_DOCUMENT_ID_BYTES {
        return refused(format!(
            "`document_id` has {} bytes, 1 to {MAXIMUM_DOCUMENT_ID_BYTES} are taken",
            document_id.trim().len()
        ));
    }
    if document_id.chars().any(char::is_control) {
        return refused("`document_id` holds a control character".to_owned());
    }
    Ok(())
}

/// The document id of a producer that gives none: 32 hexadecimal digits of BLAKE3 over source and
/// path.
pub fn derive_document_id(source: &str, source_path: &str) -> String {
    let mut hasher = blake3::Hasher::new();
    hash_part(&mut hasher, source.as_bytes());
    hash_part(&mut hasher, source_path.as_bytes());
    hasher
        .finalize()
        .to_hex()
        .as_str()
        .chars()
        .take(32)
        .collect()
}

/// Identifier of a chunk: 128 bits, written as 32 hexadecimal digits.
///
/// It is made of the document id, the chunk's place in the structure and its text, so a chunk that
/// a new version of its document leaves unchanged keeps its id (and its vectors), and two versions
/// never share an id for different texts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChunkId(pub u128);

impl ChunkId {
    /// Derives the id. `text` is all that tells the chunk from others at its place: its text, before
    /// that of code the description and a line end. `occurrence` counts equal (kind, section path, text) triples within the
    /// document, from 0.
    pub fn derive(
        document_id: &str,
        kind: &str,
        section_path: &[String],
        text: &str,
        occurrence: u32,
    ) -> Self {
        let mut hasher = blake3::Hasher::new();
        hash_part(&mut hasher, document_id.as_bytes());
        hash_part(&mut hasher, kind.as_bytes());
        hash_part(&mut hasher, &(section_path.len() as u64).to_le_bytes());
        for title in section_path {
            hash_part(&mut hasher, title.as_bytes());
        }
        hash_part(&mut hasher, text.as_bytes());
        hash_part(&mut hasher, &occurrence.to_le_bytes());
        let mut bytes = [0_u8; 16];
        hasher.finalize_xof().fill(&mut bytes);
        Self(u128::from_be_bytes(bytes))
    }
}

/// Length first, so that ("ab", "c") and ("a", "bc") differ.
fn hash_part(hasher: &mut blake3::Hasher, part: &[u8]) {
    hasher.update(&(part.len() as u64).to_le_bytes());
    hasher.update(part);
}

impl fmt::Display for ChunkId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:032x}", self.0)
    }
}

impl fmt::Debug for ChunkId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ChunkId({self})")
    }
}

impl FromStr for ChunkId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.len() != 32 || text.starts_with('+') {
            return Err(format!(
                "`{text}` is no chunk id: 32 hexadecimal digits expected"
            ));
        }
        u128::from_str_radix(text, 16)
            .map(Self)
            .map_err(|_| format!("`{text}` is no chunk id: 32 hexadecimal digits expected"))
    }
}

impl Serialize for ChunkId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ChunkId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for ChunkId {
    fn schema_name() -> Cow<'static, str> {
        "ChunkId".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "pattern": "^[0-9a-f]{32}$", "description": "Identifier of a chunk: 128 bits in hexadecimal."})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn document_ids_depend_on_both_parts_and_on_where_they_are_cut() {
        assert_eq!(
            derive_document_id("wiki", "a/b.md"),
            derive_document_id("wiki", "a/b.md")
        );
        assert_ne!(
            derive_document_id("wiki", "a/b.md"),
            derive_document_id("wik", "ia/b.md")
        );
        assert_eq!(derive_document_id("wiki", "a/b.md").len(), 32);
    }

    #[test]
    fn chunk_ids_are_deterministic_and_read_back() {
        let path = vec!["载波聚合".to_owned()];
        let id = ChunkId::derive("d", "leaf", &path, "text", 0);
        assert_eq!(id, ChunkId::derive("d", "leaf", &path, "text", 0));
        assert_ne!(id, ChunkId::derive("d", "leaf", &path, "text", 1));
        assert_ne!(id, ChunkId::derive("e", "leaf", &path, "text", 0));
        assert_eq!(id.to_string().parse(), Ok(id));
        assert!("xyz".parse::<ChunkId>().is_err());
    }
}
