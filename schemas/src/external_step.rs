//! What is said between ingest and a cleaning step that is a service of a team's own: one request
//! for a document, and what the service changes of it.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::attributes::is_own_name;
use crate::document::TABLES_DATABASE;
use crate::{Attributes, ChunkId, ChunkKind, Error, ErrorKind, Result, limits};

/// The body of the `POST`: a document as all cleaning steps before left it. Unknown fields are to
/// be passed over: later versions may say more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExternalRequest {
    /// Stable id; the answer repeats it.
    pub document_id: String,
    /// Version of the document; the answer repeats it.
    pub version: u64,
    /// Name of the source.
    pub source: String,
    /// Path or URL within the source; empty when the producer gave none.
    #[serde(default)]
    pub source_path: String,
    /// Detected media type of what was published.
    #[serde(default)]
    pub media_type: String,
    /// Title, never empty.
    pub title: String,
    /// The text. A form feed stands before each page but the first.
    pub markdown: String,
    /// What the producer, the profile and the document itself say.
    #[serde(default)]
    pub attributes: Attributes,
    /// Metadata found so far.
    #[serde(default)]
    pub metadata: BTreeMap<String, String>,
    /// Tags so far: those of services before. Tags from rules come later.
    #[serde(default)]
    pub tags: Vec<String>,
}

/// The answer: what the service changes. What it leaves out stays as it is; an unknown field is
/// refused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExternalReply {
    /// That of the request.
    pub document_id: String,
    /// That of the request.
    pub version: u64,
    /// Another title, not blank. At most 4096 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = limits::TITLE_BYTES))]
    pub title: Option<String>,
    /// Another text. Pages begin where it has form feeds; a blank one means that nothing is left of
    /// the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub markdown: Option<String>,
    /// Other attributes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attributes: Option<ReplyAttributes>,
    /// Metadata by name: a new value, or null to remove it. `tables_database` stays as it is.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, Option<String>>,
    /// Tags that the document gets beside those that it has. At most 256 of at most 256 bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::KNOWLEDGE_SETS))]
    pub tags: Vec<String>,
}

/// Attributes that a service may change: those of the organisation's own. The others say who may see
/// a document and whose it is, which is the producer's to say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplyAttributes {
    /// Custom attributes by name: a new value, or null to remove it.
    #[serde(default)]
    pub custom: BTreeMap<String, Option<String>>,
}

impl ExternalReply {
    /// `Invalid` for an answer about another document or version, or with values that no document
    /// may have.
    pub fn check(&self, request: &ExternalRequest) -> Result<()> {
        check_identity(
            (&self.document_id, self.version),
            (&request.document_id, request.version),
        )?;
        let title = self.title.as_deref();
        if title.is_some_and(|title| title.trim().is_empty()) {
            return Err(invalid("has a blank title".to_owned()));
        }
        if title.is_some_and(|title| title.len() > limits::TITLE_BYTES) {
            let limit = limits::TITLE_BYTES;
            return Err(invalid(format!("has a title of more than {limit} bytes")));
        }
        if self.metadata.contains_key(TABLES_DATABASE) {
            return Err(invalid(format!("changes the metadata `{TABLES_DATABASE}`")));
        }
        self.check_custom()?;
        self.check_tags()
    }

    fn check_custom(&self) -> Result<()> {
        let custom = self.attributes.iter().flat_map(|given| given.custom.keys());
        let is_wrong =
            |name: &&String| is_own_name(name) || name.trim() != *name || name.is_empty();
        match custom.into_iter().find(is_wrong) {
            Some(name) => Err(invalid(format!(
                "changes the attribute `{name}`, which is the producer's or no name"
            ))),
            None => Ok(()),
        }
    }

    fn check_tags(&self) -> Result<()> {
        let is_wrong =
            |tag: &String| tag.trim().is_empty() || tag.len() > limits::KNOWLEDGE_SET_BYTES;
        if self.tags.len() > limits::KNOWLEDGE_SETS || self.tags.iter().any(is_wrong) {
            let (count, bytes) = (limits::KNOWLEDGE_SETS, limits::KNOWLEDGE_SET_BYTES);
            let what = format!("has a blank tag, or more than {count} tags of {bytes} bytes");
            return Err(invalid(what));
        }
        Ok(())
    }
}

/// The body of the `POST` of a step on chunks: all chunks of a document, as they are cut and
/// summarised. Unknown fields are to be passed over: later versions may say more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExternalChunksRequest {
    /// Stable id; the answer repeats it.
    pub document_id: String,
    /// Version of the document; the answer repeats it.
    pub version: u64,
    /// Name of the source.
    pub source: String,
    /// Path or URL within the source; empty when the producer gave none.
    #[serde(default)]
    pub source_path: String,
    /// Title, never empty.
    pub title: String,
    /// Knowledge sets that the document is in.
    #[serde(default)]
    pub knowledge_sets: Vec<String>,
    /// All its tags.
    #[serde(default)]
    pub tags: Vec<String>,
    /// What the producer, the profile and the document itself say.
    #[serde(default)]
    pub attributes: Attributes,
    /// In the order of the document.
    pub chunks: Vec<ExternalChunk>,
}

/// One chunk as a step gets it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExternalChunk {
    /// Its id; the answer names chunks by it.
    pub chunk_id: ChunkId,
    /// What it is made of.
    pub kind: ChunkKind,
    /// Titles down to the nearest one, without the document's.
    pub section_path: Vec<String>,
    /// Its text.
    pub text: String,
}

/// The answer of a step on chunks: what it changes. Chunks that it leaves out stay as they are; an
/// unknown field is refused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExternalChunksReply {
    /// That of the request.
    pub document_id: String,
    /// That of the request.
    pub version: u64,
    /// Chunks that change, each once.
    #[serde(default)]
    pub chunks: Vec<ChangedChunk>,
}

/// What becomes of one chunk: another text, or nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangedChunk {
    /// One of the request.
    pub chunk_id: ChunkId,
    /// Another text, not blank; at most four times as long as the longest of the request, or 64 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Takes the chunk out: it is not found, what was below it is.
    #[serde(default)]
    pub remove: bool,
}

/// Text of a chunk that is always taken, however short those of the request are.
const CHUNK_BYTES: usize = 64 << 10;

impl ExternalChunksReply {
    /// `Invalid` for an answer about another document, version or chunk, one that says two things
    /// of a chunk, or nothing, and for a blank text or one that is far too long.
    pub fn check(&self, request: &ExternalChunksRequest) -> Result<()> {
        check_identity(
            (&self.document_id, self.version),
            (&request.document_id, request.version),
        )?;
        let lengths = request.chunks.iter().map(|chunk| chunk.text.len());
        let limit = lengths
            .max()
            .unwrap_or(0)
            .saturating_mul(4)
            .max(CHUNK_BYTES);
        let known: BTreeSet<ChunkId> = request.chunks.iter().map(|chunk| chunk.chunk_id).collect();
        let mut seen = BTreeSet::new();
        for changed in &self.chunks {
            let id = changed.chunk_id;
            if !known.contains(&id) {
                return Err(invalid(format!(
                    "names the chunk {id}, which is not of this document"
                )));
            }
            if !seen.insert(id) {
                return Err(invalid(format!("names the chunk {id} twice")));
            }
            match &changed.text {
                Some(_) if changed.remove => {
                    return Err(invalid(format!("both changes and removes the chunk {id}")));
                }
                None if !changed.remove => {
                    return Err(invalid(format!(
                        "names the chunk {id} and changes nothing of it"
                    )));
                }
                Some(text) if text.trim().is_empty() => {
                    let what =
                        format!("has a blank text for the chunk {id} (`remove` takes one out)");
                    return Err(invalid(what));
                }
                Some(text) if text.len() > limit => {
                    return Err(invalid(format!(
                        "has a text of more than {limit} bytes for the chunk {id}"
                    )));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// An answer must be about what was asked.
fn check_identity(answer: (&str, u64), asked: (&str, u64)) -> Result<()> {
    if answer.0 != asked.0 {
        let other: String = answer.0.chars().take(80).collect();
        return Err(invalid(format!("is about another document, `{other}`")));
    }
    if answer.1 != asked.1 {
        let (other, asked) = (answer.1, asked.1);
        return Err(invalid(format!(
            "is about version {other} instead of {asked}"
        )));
    }
    Ok(())
}

fn invalid(what: String) -> Error {
    Error::new(ErrorKind::Invalid, format!("its answer {what}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn request() -> ExternalChunksRequest {
        let chunk = |number| ExternalChunk {
            chunk_id: ChunkId(number),
            kind: ChunkKind::Leaf,
            section_path: Vec::new(),
            text: "text".to_owned(),
        };
        ExternalChunksRequest {
            document_id: "d".to_owned(),
            version: 7,
            chunks: vec![chunk(1), chunk(2)],
            ..ExternalChunksRequest::default()
        }
    }

    fn checked(chunks: &Value) -> std::result::Result<(), String> {
        let reply = json!({"document_id": "d", "version": 7, "chunks": chunks});
        let reply = serde_json::from_value::<ExternalChunksReply>(reply);
        let reply = reply.map_err(|error| error.to_string())?;
        reply.check(&request()).map_err(|error| error.to_string())
    }

    #[test]
    fn an_answer_about_chunks_may_change_and_remove_those_of_the_request_alone() {
        let id = |number| ChunkId(number).to_string();
        checked(&json!([])).unwrap();
        checked(
            &json!([{"chunk_id": id(1), "text": "other"}, {"chunk_id": id(2), "remove": true}]),
        )
        .unwrap();
        for (chunks, named) in [
            (
                json!([{"chunk_id": id(3), "text": "x"}]),
                "not of this document",
            ),
            (
                json!([{"chunk_id": id(1), "text": "x"}, {"chunk_id": id(1), "remove": true}]),
                "twice",
            ),
            (
                json!([{"chunk_id": id(1), "text": "x", "remove": true}]),
                "both",
            ),
            (json!([{"chunk_id": id(1)}]), "changes nothing"),
            (json!([{"chunk_id": id(1), "text": " "}]), "blank"),
            (
                json!([{"chunk_id": id(1), "text": "x".repeat(70_000)}]),
                "more than 65536 bytes",
            ),
            (
                json!([{"chunk_id": id(1), "kind": "leaf", "text": "x"}]),
                "kind",
            ),
            (json!([{"chunk_id": "1", "text": "x"}]), ""),
        ] {
            let problem = checked(&chunks).unwrap_err();
            assert!(problem.contains(named), "{named} in {problem}");
        }
        let other = ExternalChunksReply {
            document_id: "e".to_owned(),
            version: 7,
            chunks: Vec::new(),
        };
        assert!(
            other
                .check(&request())
                .unwrap_err()
                .to_string()
                .contains("another document")
        );
    }
}
