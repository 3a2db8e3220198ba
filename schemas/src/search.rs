//! Bodies of `POST /v1/search`, and the query plan that `explain` returns.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api_entry::ApiEntry;
use crate::code_entry::CodeEntry;
use crate::unmet::UnmetFilter;
use crate::user_profile::UserProfile;
use crate::{Attributes, ChunkId, ChunkKind, Filter, strict};

/// Which signals a search uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// Keywords and vectors, fused.
    #[default]
    Hybrid,
    /// Vectors only.
    Semantic,
    /// Keywords only.
    FullText,
}

/// Body of `POST /v1/search`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchRequest {
    /// The question, as written.
    pub query: String,
    /// What the caller wants to see.
    #[serde(default, deserialize_with = "strict::object")]
    pub filter: Filter,
    /// Hits wanted; the server's default when absent.
    #[serde(default)]
    pub top_k: Option<usize>,
    /// Hits of one document, from 1, while others have something for the places: the best ones stay,
    /// and of the rest as many as no other document has anything for. Any number when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_document: Option<usize>,
    /// Which signals to use.
    #[serde(default)]
    pub strategy: Strategy,
    /// Weight of the vector side in tier 2, 0 to 1, with the strategy `hybrid`; as configured
    /// when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vector_weight: Option<f32>,
    /// Lowest final score of a hit, 0 to 1.
    #[serde(default)]
    pub minimum_score: Option<f32>,
    /// Lowest relevance of a hit, 0 to 1; unlike the score it means the same for every question.
    #[serde(default)]
    pub minimum_relevance: Option<f32>,
    /// Whether tier 3 runs when a reranker is configured.
    #[serde(default)]
    pub rerank: Option<bool>,
    /// User profile (画像): tag → weight that fine scores are multiplied with; 1 is neutral.
    #[serde(default, deserialize_with = "strict::distinct")]
    pub profile: BTreeMap<String, f32>,
    /// What the user prefers (画像), with this request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_profile: Option<UserProfile>,
    /// The user whose stored profile holds; not together with `user_profile`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Return the chunk above each hit.
    #[serde(default)]
    pub parents: bool,
    /// Return this many chunks before and after each hit, at most 5.
    #[serde(default)]
    pub neighbours: u32,
    /// Return the plan and what each tier found.
    #[serde(default)]
    pub explain: bool,
    /// Return near-duplicates as hits of their own, instead of one hit that names the others.
    #[serde(default)]
    pub unfold: bool,
}

/// What one tier did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TierSummary {
    /// Chunks that it handed on.
    pub candidates: usize,
    /// Milliseconds that it took.
    pub ms: f64,
}

/// Answer of `POST /v1/search`; what `tributary search --format json` prints.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SearchResponse {
    /// The question, as received.
    pub query: String,
    /// Milliseconds from receipt to answer.
    pub took_ms: f64,
    /// What was done in a lesser way than configured, such as `reranker` or `embedder`.
    pub degraded: Vec<String>,
    /// Words of the question that stand in no chunk that the caller may find, as written: what is
    /// asked for may not be there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmatched_terms: Vec<String>,
    /// Where nothing was found because no document meets the filter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmet_filter: Option<UnmetFilter>,
    /// By tier: `coarse`, `fine`, `rerank`.
    pub tiers: BTreeMap<String, TierSummary>,
    /// Best first.
    pub hits: Vec<Hit>,
    /// With `explain`: what was planned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<QueryPlan>,
    /// With `explain`: what each tier found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traces: Option<Vec<TierTrace>>,
}

/// One chunk that was found.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Hit {
    /// Position, from 1.
    pub rank: usize,
    /// Final score, 0 to 1, comparable within one answer.
    pub score: f32,
    /// Estimated probability that the hit answers the question, 0 to 1: comparable across
    /// questions. None from a server that does not estimate it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relevance: Option<f32>,
    /// Chunk.
    pub chunk_id: ChunkId,
    /// Position in the document, from 0.
    #[serde(default)]
    pub ordinal: u32,
    /// Its document.
    pub document_id: String,
    /// Version of the document.
    pub version: u64,
    /// Name of the source.
    pub source: String,
    /// Path or URL within the source.
    pub source_path: String,
    /// Title of the document.
    pub title: String,
    /// Titles above the chunk.
    pub section_path: Vec<String>,
    /// The text as Markdown.
    pub text: String,
    /// Where a reader finds the original; empty when not known.
    pub url: String,
    /// Page numbers from 1; empty when not known.
    pub pages: Vec<u32>,
    /// What the chunk is made of.
    pub kind: ChunkKind,
    /// Tags of the document.
    pub tags: Vec<String>,
    /// Knowledge sets of the document.
    pub knowledge_sets: Vec<String>,
    /// Links of images in the chunk; those that the document carries are paths of the server, such
    /// as `/v1/images/…`.
    pub images: Vec<String>,
    /// Scores by signal and tier: `keyword`, `vector` (normalised, 0 to 1), `nearest_window` (the
    /// cosine of the nearest window of a long chunk), `exact_name` (how exactly the question names
    /// it, if it does: it was added to the score), `fine`, `rerank`.
    pub scores: BTreeMap<String, f32>,
    /// What producer, profile and document say of it: product, department, category and the like.
    #[serde(default, skip_serializing_if = "is_without_attributes")]
    pub attributes: Attributes,
    /// What an entry of an API reference says, by field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api: Option<Box<ApiEntry>>,
    /// What is known of a file or definition of source code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Box<CodeEntry>>,
    /// Programming language, where the text is source code and no Markdown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// With `parents`: the chunk above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Passage>,
    /// With `neighbours`: chunks around it, by ordinal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub neighbours: Vec<Passage>,
    /// Near-duplicates of its document that were found too and step aside for it; on the first hit
    /// of a document.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub family: Vec<FamilyMember>,
    /// With `per_document`: chunks of its document that were found too and are left out; on the first
    /// hit of a document.
    #[serde(default, skip_serializing_if = "is_none_left")]
    pub more_in_document: usize,
}

fn leaf() -> ChunkKind {
    ChunkKind::Leaf
}

fn is_leaf(kind: &ChunkKind) -> bool {
    *kind == ChunkKind::Leaf
}

fn is_none_left(more: &usize) -> bool {
    *more == 0
}

fn is_without_attributes(attributes: &Attributes) -> bool {
    *attributes == Attributes::default()
}

/// A document that is nearly the same as another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FamilyMember {
    /// The document.
    pub document_id: String,
    /// Its version.
    pub version: u64,
    /// Name of the source.
    pub source: String,
    /// Path or URL within the source.
    pub source_path: String,
    /// Title of the document.
    pub title: String,
    /// Estimated share of common phrases (five words in a row), 0 to 1; 1 for an exact duplicate.
    pub similarity: f32,
}

/// A chunk given as context of a hit.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Passage {
    /// Chunk.
    pub chunk_id: ChunkId,
    /// Position in the document.
    pub ordinal: u32,
    /// What it is, a leaf where it is absent; a `summary` stands for a section that is too long to be a
    /// chunk, and is no text of the document.
    #[serde(default = "leaf", skip_serializing_if = "is_leaf")]
    pub kind: ChunkKind,
    /// Titles above it.
    pub section_path: Vec<String>,
    /// Page numbers from 1; empty when not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pages: Vec<u32>,
    /// The text as Markdown.
    pub text: String,
    /// Programming language, where the text is source code and no Markdown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
}

/// A search as plain data: made first, logged, then run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QueryPlan {
    /// Generation of the index that all its steps ask; the serving one at each step for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<String>,
    /// The question after trimming and folding.
    pub query: String,
    /// Ready tokens for the keyword side.
    pub tokens: Vec<String>,
    /// Tokens of the query.
    pub query_tokens: usize,
    /// What the question may name a document by, folded: identifiers, paths, error codes, quoted
    /// titles, and the question itself if it is short.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// Weight of the vector side, 0 to 1.
    pub vector_weight: f32,
    /// What the weight was made from, by name, where it adapts to what was found; empty where it
    /// is fixed, made from the length of the question, or given.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub weight_features: BTreeMap<String, f32>,
    /// Which signals are used.
    pub strategy: Strategy,
    /// Access and wishes of the caller, applied inside tier 1.
    pub filter: Filter,
    /// Tier 1.
    pub coarse: TierLimits,
    /// Tier 2.
    pub fine: TierLimits,
    /// Chunks that tier 2 hands on.
    pub fine_keep: usize,
    /// Share of the nearest window in the cosine of a chunk that has several, 0 to 1; the rest is
    /// that of the chunk as a whole.
    #[serde(default, skip_serializing_if = "is_zero_share")]
    pub window_weight: f32,
    /// Tier 3: the reranker's name, none when tier 3 is off.
    pub reranker: Option<String>,
    /// Hits wanted.
    pub top_k: usize,
    /// Hits of one document while others have something for the places; any number for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_document: Option<usize>,
    /// Lowest final score of a hit.
    pub minimum_score: Option<f32>,
    /// Lowest relevance of a hit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimum_relevance: Option<f32>,
    /// Tag → weight: of the request, else of the user's profile.
    pub profile: BTreeMap<String, f32>,
    /// What else the user prefers; its shift is in `vector_weight` already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preferences: Option<Preferences>,
    /// How near-duplicates become one hit; none when each is a hit of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fold: Option<FoldLimits>,
}

fn is_zero_share(share: &f32) -> bool {
    *share == 0.0
}

/// What a user prefers beside tags, with the weights that fine scores are multiplied with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Preferences {
    /// What was added to the weight of the vector side.
    pub vector_weight_shift: f32,
    /// Preferred knowledge sets.
    pub sets: Vec<String>,
    /// Those that were preferred and do not exist any more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown_sets: Vec<String>,
    /// Weight of documents in one of them.
    pub set_weight: f32,
    /// Preferred language.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// Weight of texts in it.
    pub language_weight: f32,
}

/// When a document steps aside for a near-duplicate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FoldLimits {
    /// Least estimated similarity of two documents of one family, 0 to 1.
    pub threshold: f32,
    /// The same for two documents of different titles, which are more likely pages made from one
    /// template.
    #[serde(default)]
    pub other_title_threshold: f32,
    /// How far the best chunk of the member that answers may score below the family's best.
    pub score_margin: f32,
}

/// How many candidates each signal gives in a tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TierLimits {
    /// By keywords.
    pub keyword: usize,
    /// By vectors.
    pub vector: usize,
}

/// What one tier found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TierTrace {
    /// `coarse`, `fine` or `rerank`.
    pub tier: String,
    /// Milliseconds that it took.
    pub ms: f64,
    /// Candidates that it handed on, best first.
    pub candidates: Vec<ScoredChunk>,
}

/// A chunk and its score in a tier.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScoredChunk {
    /// Chunk.
    pub chunk_id: ChunkId,
    /// Score; comparable within one tier and signal.
    pub score: f32,
}
