//! What a generation's index looks like: names, settings, mapping, and the documents in it.
//!
//! ```text
//! <prefix>-<generation>            the index; its mapping's `_meta` holds format, prefix, generation and `IndexSettings`
//! <prefix>-<generation>=writes     alias of it that writes go through: with `require_alias` nothing ever makes an index by itself
//! <prefix>                         alias of the serving one
//! ```
//! Two kinds of documents, told apart by the fields that they have; all of one document of ours lie
//! in one shard, so that a refresh shows them together:
//! - a chunk: `chunk`, `document`, `revision`, `version`, `text`, `filter`, …, vectors, where they
//!   are kept `windows`, which are read from columns and not indexed, and `stored`, which is not indexed;
//! - a manifest: `manifest` (the document id), `alive`, `terms`, and `entry`, which is not indexed.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tributary_schemas::{Chunk, ChunkId, DocumentHeader, Error, ErrorKind, Result, WindowVectors};

use super::config::{Config, Durability};
use crate::search_index::{IndexSettings, IndexedDocument};

/// Version of what is described here.
pub const FORMAT: u32 = 1;
/// Most hits of one search, chunks and others.
pub const LARGEST_WINDOW: usize = 10_000;
/// Longest name of a generation, in bytes.
const MAXIMUM_NAME_BYTES: usize = 90;
/// Tokens of this many UTF-16 units on would be cut by the server's analyzer.
const LONGEST_TOKEN: usize = 255;
/// Longer terms are refused by the server.
const LONGEST_TERM_BYTES: usize = 8191;

/// `_meta` of a mapping.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Meta {
    /// Version of the layout.
    pub format: u32,
    /// Whose index it is: several installations may share a cluster.
    pub prefix: String,
    /// Name of the generation.
    pub generation: String,
    /// What it was created with.
    pub settings: IndexSettings,
}

/// What is stored of a document, and what of it may have to be removed still.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Entry {
    /// What readers are given.
    #[serde(flatten)]
    pub indexed: IndexedDocument,
    /// Revision that the document's chunks carry.
    pub revision: String,
    /// Revisions before, whose chunks were to be removed when this one was written.
    #[serde(default)]
    pub replaced: Vec<Replaced>,
}

/// A revision that is no longer valid.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Replaced {
    /// Revision.
    pub revision: String,
    /// Number of its chunks.
    pub chunks: usize,
}

/// `_source` of a chunk.
#[derive(Serialize)]
pub struct ChunkRecord<'a> {
    /// Chunk.
    pub chunk: ChunkId,
    /// Document.
    pub document: &'a str,
    /// Revision of the document.
    pub revision: &'a str,
    /// Version of the document, at most what a signed number holds.
    pub version: i64,
    /// Ready tokens.
    pub text: &'a str,
    /// Terms of the filter.
    pub filter: &'a [String],
    /// Time of the last update.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<i64>,
    /// Security level.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub security_level: Option<u8>,
    /// Coarse vector.
    pub coarse: &'a [f32],
    /// Fine vector, where it is not shared.
    #[serde(skip_serializing_if = "<[f32]>::is_empty")]
    pub fine: &'a [f32],
    /// Windows of a long chunk, where they are kept.
    #[serde(skip_serializing_if = "WindowVectors::is_empty")]
    pub windows: &'a WindowVectors,
    /// The chunk, without tokens.
    pub stored: &'a Chunk,
}

/// `_source` of a manifest.
#[derive(Deserialize, Serialize)]
pub struct ManifestRecord {
    /// Document id.
    pub manifest: String,
    /// Whether it is not deleted.
    pub alive: bool,
    /// Manifest terms; none when deleted.
    pub terms: Vec<String>,
    /// Everything.
    pub entry: Entry,
}

/// Name of a generation's index. Capitals, which a server does not accept, are marked.
pub fn index_name(prefix: &str, generation: &str) -> Result<String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    if generation.is_empty()
        || generation.len() > MAXIMUM_NAME_BYTES
        || generation.starts_with('.')
        || !generation.bytes().all(is_plain)
    {
        let message = format!("`{generation}` is no name for a generation");
        return Err(Error::new(ErrorKind::Invalid, message).with_hint(format!(
            "use at most {MAXIMUM_NAME_BYTES} letters, digits, dots, hyphens and underscores"
        )));
    }
    let mut name = format!("{prefix}-");
    for character in generation.chars() {
        if character.is_ascii_uppercase() {
            name.push('!');
        }
        name.push(character.to_ascii_lowercase());
    }
    Ok(name)
}

/// Alias that writes to an index go through.
pub fn write_alias(index: &str) -> String {
    format!("{index}=writes")
}

/// Id of a document's manifest, and the routing of all that belongs to the document.
pub fn manifest_id(document_id: &str) -> String {
    encode(blake3::hash(document_id.as_bytes()).as_bytes(), 18)
}

/// Id of the chunk at a place of a revision.
pub fn chunk_record_id(manifest_id: &str, revision: &str, place: usize) -> String {
    format!("{manifest_id}{revision}{place:x}")
}

/// Names what a document consists of: equal for two attempts to write the same, whatever time it
/// is.
pub fn content(document: &DocumentHeader, chunks: impl Iterator<Item = ChunkId>) -> Result<String> {
    let header = DocumentHeader {
        timeline: Vec::new(),
        ..document.clone()
    };
    let header = serde_json::to_vec(&header).map_err(|error| {
        Error::new(
            ErrorKind::Internal,
            format!("cannot encode a header: {error}"),
        )
    })?;
    let mut hasher = blake3::Hasher::new();
    hasher.update(&header);
    chunks.for_each(|chunk| {
        hasher.update(&chunk.0.to_be_bytes());
    });
    Ok(encode(hasher.finalize().as_bytes(), 9))
}

/// Name of what is written of a document at once: its content, and the turn of it among those of
/// one version. One version is written again with other content when its part in a family of
/// duplicates changes; then no two turns share a record, so that whoever removes the chunks of one
/// never meets another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revision {
    content: String,
    turn: u64,
}

impl Revision {
    /// The first of a version.
    pub fn first(content: String) -> Self {
        Self { content, turn: 0 }
    }

    /// The one that may follow what is stored of the same version; the stored one itself if it has
    /// the same content.
    pub fn after(content: String, stored: Option<&str>) -> Self {
        match stored.map(Self::parse) {
            Some(stored) if stored.content == content => stored,
            Some(stored) => Self {
                content,
                turn: stored.turn + 1,
            },
            None => Self::first(content),
        }
    }

    /// As it is stored.
    pub fn parse(text: &str) -> Self {
        let (content, turn) = text.split_once('.').unwrap_or((text, ""));
        Self {
            content: content.to_owned(),
            turn: u64::from_str_radix(turn.trim_end_matches('.'), 16).unwrap_or(0),
        }
    }

    /// Place among the revisions of one version.
    pub fn turn(&self) -> u64 {
        self.turn
    }
}

impl std::fmt::Display for Revision {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.turn {
            0 => formatter.write_str(&self.content),
            turn => write!(formatter, "{}.{turn:x}.", self.content),
        }
    }
}

fn encode(bytes: &[u8], length: usize) -> String {
    URL_SAFE_NO_PAD.encode(bytes.get(..length).unwrap_or(bytes))
}

/// A token as it is indexed and asked for: those that the server's analyzer would cut become a hash
/// of themselves.
pub fn indexed_token(token: &str) -> std::borrow::Cow<'_, str> {
    let is_cut = token.len() >= LONGEST_TOKEN && token.encode_utf16().count() >= LONGEST_TOKEN
        || token.chars().any(char::is_whitespace);
    if is_cut {
        format!("#{}", blake3::hash(token.as_bytes()).to_hex()).into()
    } else {
        token.into()
    }
}

/// A filter term or manifest term as it is indexed and asked for.
pub fn indexed_term(term: String) -> String {
    if term.len() <= LONGEST_TERM_BYTES {
        term
    } else {
        format!("#{}", blake3::hash(term.as_bytes()).to_hex())
    }
}

/// Body of the request that makes a generation's index.
pub fn index_body(
    config: &Config,
    generation: &str,
    index: &str,
    settings: &IndexSettings,
) -> Value {
    let meta = Meta {
        format: FORMAT,
        prefix: config.index_prefix.clone(),
        generation: generation.to_owned(),
        settings: settings.clone(),
    };
    let durability = match config.durability {
        Durability::Request => "request",
        Durability::Async => "async",
    };
    json!({
        "aliases": {write_alias(index): {}},
        "settings": {"index": {
            "number_of_shards": config.shards,
            "number_of_replicas": config.replicas_while_loading,
            // Only a flush of ours shows anything.
            "refresh_interval": "-1",
            "gc_deletes": format!("{}s", config.delete_memory_seconds),
            "translog": {"durability": durability},
            "max_result_window": LARGEST_WINDOW,
            "similarity": {"default": {"type": "BM25", "k1": settings.bm25.k1, "b": settings.bm25.b}},
        }},
        "mappings": mappings(config, settings, json!(meta)),
    })
}

fn mappings(config: &Config, settings: &IndexSettings, meta: Value) -> Value {
    // Any vectors are taken, not only those whose length is exactly one.
    let vector = |dimensions: usize| {
        json!({"type": "dense_vector", "dims": dimensions, "index": true, "similarity": "max_inner_product",
            "index_options": config.vector_index.options()})
    };
    let looked_up =
        json!({"type": "keyword", "doc_values": false, "norms": false, "index_options": "docs"});
    let mut properties = json!({
        "chunk": {"type": "keyword"},
        "document": {"type": "keyword"},
        "revision": {"type": "keyword", "index": false},
        "version": {"type": "long", "index": false},
        "text": {"type": "text", "analyzer": "whitespace", "index_options": "freqs", "norms": true},
        "filter": looked_up,
        "updated_at": {"type": "long"},
        "security_level": {"type": "short"},
        "coarse": vector(settings.coarse_dimensions),
        "stored": {"type": "object", "enabled": false},
        "manifest": {"type": "keyword"},
        "alive": {"type": "boolean"},
        "terms": looked_up,
        "entry": {"type": "object", "enabled": false},
    });
    if !settings.shared_vectors {
        properties["fine"] = vector(settings.fine_dimensions);
    }
    if settings.windows {
        // Kept in columns for tier 2; nothing searches it.
        properties["windows"] = json!({"type": "binary", "doc_values": true});
    }
    json!({"dynamic": "strict", "_meta": {"tributary": meta}, "_routing": {"required": true}, "properties": properties})
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn names_of_indexes_tell_generations_apart() {
        assert_eq!(index_name("p", "2026.a-B_c").unwrap(), "p-2026.a-!b_c");
        assert_ne!(index_name("p", "a").unwrap(), index_name("p", "A").unwrap());
        for wrong in [
            "",
            ".a",
            "a b",
            "a*",
            "a/b",
            "ä",
            "a=writes",
            "a!b",
            &"x".repeat(91),
        ] {
            assert_eq!(
                index_name("p", wrong).unwrap_err().kind(),
                ErrorKind::Invalid,
                "{wrong}"
            );
        }
    }

    #[test]
    fn a_revision_is_the_same_at_another_time_and_another_for_other_content() {
        let mut document = DocumentHeader {
            document_id: "d".into(),
            version: 3,
            ..DocumentHeader::default()
        };
        let ids = [ChunkId(1), ChunkId(2)];
        let first = content(&document, ids.into_iter()).unwrap();
        document.timeline.push(tributary_schemas::StageTime {
            stage: "index".into(),
            at_ms: 5,
        });
        assert_eq!(content(&document, ids.into_iter()).unwrap(), first);
        assert_ne!(content(&document, ids.into_iter().take(1)).unwrap(), first);
        document.version = 4;
        assert_ne!(content(&document, ids.into_iter()).unwrap(), first);
    }

    #[test]
    fn no_two_turns_of_a_version_share_a_record() {
        let name = |content: &str, stored: Option<&str>| {
            Revision::after(content.to_owned(), stored).to_string()
        };
        assert_eq!(name("one", None), "one");
        assert_eq!(
            name("one", Some("one")),
            "one",
            "the same again is completed"
        );
        let second = name("two", Some("one"));
        assert_eq!(
            (second.as_str(), name("two", Some(&second))),
            ("two.1.", second.clone())
        );
        let third = name("one", Some(&second));
        assert_eq!(
            (third.as_str(), Revision::parse(&third).turn()),
            ("one.2.", 2),
            "not the first one's records"
        );
        assert_ne!(
            chunk_record_id("m", &name("one", Some("two.9.")), 0x1),
            chunk_record_id("m", "one", 0xa1)
        );
    }

    #[test]
    fn long_tokens_and_terms_become_hashes() {
        assert_eq!(indexed_token("载波聚合"), "载波聚合");
        let (first, second) = ("长".repeat(255), "长".repeat(256));
        assert_ne!(indexed_token(&first), indexed_token(&second));
        assert_eq!(indexed_token(&first).len(), 65);
        assert_eq!(indexed_token("a\u{3000}b").len(), 65);
        assert_eq!(indexed_term("x".repeat(8192)).len(), 65);
    }
}
