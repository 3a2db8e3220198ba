//! A case of an evaluation: what became of a question, of each thing that it needs, and at which
//! step that was lost.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::RankScores;
use crate::ChunkId;

/// How much of what a question needs is among the first hits.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum CaseVerdict {
    /// Nothing.
    None,
    /// Some.
    Partial,
    /// All.
    Full,
}

impl CaseVerdict {
    /// As in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Partial => "partial",
            Self::Full => "full",
        }
    }
}

/// Steps that can lose what a question needs, along the route.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// The document is dead, skipped, deleted or was never published.
    NotIndexed,
    /// The converted document lacks it.
    Conversion,
    /// The converted document has it, no single chunk does.
    Chunking,
    /// The search's filter keeps the document out.
    Filter,
    /// Tier 1 did not find it.
    Coarse,
    /// Tier 2 did not keep it, or ranked it too low where no reranker runs.
    Fine,
    /// The reranker ranked it too low.
    Rerank,
    /// It ranked among the first and is no hit: folded, or cut off.
    Packing,
    /// The answer does not use it.
    Answer,
}

impl Step {
    /// As in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::NotIndexed => "not_indexed",
            Self::Conversion => "conversion",
            Self::Chunking => "chunking",
            Self::Filter => "filter",
            Self::Coarse => "coarse",
            Self::Fine => "fine",
            Self::Rerank => "rerank",
            Self::Packing => "packing",
            Self::Answer => "answer",
        }
    }
}

/// What must be brought together for an answer.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum CaseLevel {
    /// One document suffices.
    Single,
    /// Several documents, side by side.
    MultiDocument,
    /// Several documents, of which one leads to the other.
    MultiHop,
    /// Several searches that depend on what was found.
    Agent,
}

/// How a question is put.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Style {
    /// In the words of the document.
    Verbatim,
    /// By its gist.
    Summary,
    /// As people type: with mistakes, fillers and mixed writing.
    Noisy,
}

impl Style {
    /// As in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Verbatim => "verbatim",
            Self::Summary => "summary",
            Self::Noisy => "noisy",
        }
    }
}

/// What the answer stands in.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Modality {
    /// Running text.
    Text,
    /// A table.
    Table,
    /// A picture or drawing.
    Figure,
    /// Source code.
    Code,
    /// A formula.
    Formula,
    /// A list.
    List,
}

/// Ranks, from 1, of the best chunk that carries a target; none where it was not among what the
/// step handed on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ranks {
    /// Tier 1, of all its candidates.
    pub coarse: Option<usize>,
    /// Tier 2, of what it keeps.
    pub fine: Option<usize>,
    /// Tier 3; none too where it did not run.
    pub rerank: Option<usize>,
    /// Among the hits.
    pub hit: Option<usize>,
}

/// What became of a target in a search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Trail {
    /// Document of the set.
    pub document: String,
    /// What stands there, where the set names a span.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<String>,
    /// Whether one of the first hits has it.
    pub found: bool,
    /// The step that lost it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<Step>,
    /// How, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// Where it was at each step.
    pub ranks: Ranks,
}

/// A hit of a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CaseHit {
    /// Position, from 1.
    pub rank: usize,
    /// Document.
    pub document_id: String,
    /// Chunk.
    pub chunk_id: ChunkId,
    /// Titles above it.
    pub section_path: Vec<String>,
    /// Final score.
    pub score: f32,
}

/// One question and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CaseRecord {
    /// Identifier in the set.
    pub id: String,
    /// As asked.
    pub question: String,
    /// See [`CaseLevel`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<CaseLevel>,
    /// See [`Style`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub style: Option<Style>,
    /// See [`Modality`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modality: Option<Modality>,
    /// How much was found.
    pub verdict: CaseVerdict,
    /// The step that lost it, where not all was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<Step>,
    /// How, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// Ranks of what was lost; of what was found last where all was found.
    pub ranks: Ranks,
    /// Each thing that it needs.
    pub targets: Vec<Trail>,
    /// The hits that count.
    pub hits: Vec<CaseHit>,
    /// Scores of all hits by documents.
    pub scores: RankScores,
    /// What was done in a lesser way than configured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub degraded: Vec<String>,
}
