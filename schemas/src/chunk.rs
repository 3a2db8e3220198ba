//! Chunks: the values of `chunks.tagged` and `chunks.embedded`. A message carries all chunks of one
//! document version.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api_entry::ApiEntry;
use crate::code_entry::CodeEntry;
use crate::window_vectors::WindowVectors;
use crate::{ChunkId, DocumentHeader, vector};

/// What a chunk is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChunkKind {
    /// A whole section (at most the section limit).
    Section,
    /// A piece of a section, between the leaf limits.
    Leaf,
    /// A summary that stands for a section too long to be a chunk.
    Summary,
    /// Code, formula or table of its own that continues the leaf before it.
    Continuation,
    /// A document that is never cut.
    Whole,
    /// An entry of an API reference: a class, a function, a method.
    Api,
    /// A question with its answer.
    Faq,
    /// A file of source code, by what stands at its top.
    CodeFile,
    /// A definition in source code: function, method, type or macro.
    CodeFunction,
}

impl ChunkKind {
    /// All kinds.
    pub const ALL: [Self; 9] = [
        Self::Section,
        Self::Leaf,
        Self::Summary,
        Self::Continuation,
        Self::Whole,
        Self::Api,
        Self::Faq,
        Self::CodeFile,
        Self::CodeFunction,
    ];

    /// The name used in JSON, ids and filters.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Section => "section",
            Self::Leaf => "leaf",
            Self::Summary => "summary",
            Self::Continuation => "continuation",
            Self::Whole => "whole",
            Self::Api => "api",
            Self::Faq => "faq",
            Self::CodeFile => "code_file",
            Self::CodeFunction => "code_function",
        }
    }
}

/// One chunk of a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Chunk {
    /// Deterministic id, see [`ChunkId::derive`]; that of a definition is made of description and
    /// text.
    pub chunk_id: ChunkId,
    /// What it is made of.
    pub kind: ChunkKind,
    /// Position in the document, from 0.
    pub ordinal: u32,
    /// Titles from the document's top heading down to the nearest one; without the document title.
    pub section_path: Vec<String>,
    /// An exact slice of the document's Markdown, with the section's own heading line where it
    /// begins a section. A summary is the one text that is not found in the document.
    pub text: String,
    /// Model tokens in `text`, without special tokens.
    pub tokens: u32,
    /// The summary or section chunk above, if any.
    #[serde(default)]
    pub parent_id: Option<ChunkId>,
    /// Chunks directly below, in order.
    #[serde(default)]
    pub child_ids: Vec<ChunkId>,
    /// Page numbers from 1; empty when not known.
    #[serde(default)]
    pub pages: Vec<u32>,
    /// Whether it continues the chunk before it in the same section.
    #[serde(default)]
    pub is_continuation: bool,
    /// Summary of the section above it.
    #[serde(default)]
    pub parent_summary: Option<String>,
    /// Links of the images in it; never searched.
    #[serde(default)]
    pub images: Vec<String>,
    /// What an entry of an API reference says, by field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api: Option<Box<ApiEntry>>,
    /// What is known of a file or definition of source code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Box<CodeEntry>>,
    /// Programming language, where the text is source code and no Markdown: of definitions, and of
    /// what stands between and after them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// Security level (密级), where it is above that of the document: the highest of all sections
    /// that have text in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub security_level: Option<u8>,
    /// Ready tokens of title, section path and text, separated by one space: what the keyword side
    /// indexes.
    #[serde(default)]
    pub analyzed: String,
}

impl Chunk {
    /// Its security level in a document: the higher of both; `None` where neither has one.
    pub fn level_in(&self, document: &DocumentHeader) -> Option<u8> {
        self.security_level.max(document.attributes.security_level)
    }
}

/// The value of `chunks.tagged`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaggedDocument {
    /// What it is, with its tags.
    pub document: DocumentHeader,
    /// All chunks, by ordinal.
    pub chunks: Vec<Chunk>,
}

/// Vectors of one chunk.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChunkVectors {
    /// For tier 1; unit length. Base64 of little-endian f32.
    #[serde(with = "vector")]
    #[schemars(with = "String")]
    pub coarse: Vec<f32>,
    /// For tier 2; unit length; empty when the coarse vector serves both tiers.
    #[serde(with = "vector")]
    #[schemars(with = "String")]
    pub fine: Vec<f32>,
    /// Of a chunk that was cut into several windows: the vectors of these, of the model of tier 2.
    /// Base64 of a signed byte per dimension.
    #[serde(default, skip_serializing_if = "WindowVectors::is_empty")]
    #[schemars(with = "String")]
    pub windows: WindowVectors,
}

/// The value of `chunks.embedded`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EmbeddedDocument {
    /// What it is.
    pub document: DocumentHeader,
    /// All chunks, by ordinal.
    pub chunks: Vec<Chunk>,
    /// Vectors of `chunks`, in the same order.
    pub vectors: Vec<ChunkVectors>,
}
