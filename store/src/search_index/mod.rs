//! The search index: chunks with ready tokens and two vectors, searched by keyword and by vector
//! under one filter.
//!
//! Implementations: [`embedded::EmbeddedIndex`] (tantivy and our own vector file in the data
//! folder) and [`elasticsearch::ElasticsearchIndex`] (one index per generation behind an alias).
//! The suite in `tests/conformance/search_index` states in tests what the docs here state in words;
//! every implementation runs it.

#[cfg(feature = "elasticsearch")]
pub mod elasticsearch;
pub mod elasticsearch_config;
pub mod embedded;

use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tributary_schemas::search::ScoredChunk;
use tributary_schemas::{Chunk, ChunkId, ChunkVectors, DocumentHeader, ErrorKind, Filter};

use crate::Result;

/// The two numbers of BM25 (Robertson and Zaragoza, "The probabilistic relevance framework: BM25 and
/// beyond", 2009).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bm25 {
    /// How much a token's second, third … occurrence in a chunk adds, at least 0: at 0 it counts
    /// once however often it is there.
    pub k1: f32,
    /// How much the length of a chunk counts against it, 0 to 1.
    pub b: f32,
}

impl Bm25 {
    /// Lucene's numbers, and those of generations of before.
    pub const DEFAULT: Self = Self { k1: 1.2, b: 0.75 };
    /// Beyond it nothing changes any more; a bound for typing errors.
    pub const MAXIMUM_K1: f32 = 100.0;

    /// Whether they are Lucene's.
    pub fn is_default(&self) -> bool {
        *self == Self::DEFAULT
    }

    /// Whether both are in their ranges.
    pub fn is_valid(&self) -> bool {
        (0.0..=Self::MAXIMUM_K1).contains(&self.k1) && (0.0..=1.0).contains(&self.b)
    }
}

impl Default for Bm25 {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// What a generation is created with; fixed for its life.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IndexSettings {
    /// Dimensions of the coarse vectors.
    pub coarse_dimensions: usize,
    /// Dimensions of the fine vectors; equal to `coarse_dimensions` and `shared_vectors` when one
    /// vector serves both tiers.
    pub fine_dimensions: usize,
    /// The coarse vector serves both tiers: `ChunkVectors::fine` is empty and nothing is stored
    /// twice.
    pub shared_vectors: bool,
    /// Whether the vectors of the windows of long chunks are kept; those that come for another
    /// generation are left out.
    #[serde(default, skip_serializing_if = "is_not")]
    pub windows: bool,
    /// Model that makes the coarse vectors; vectors of another model are never mixed in.
    pub coarse_model: String,
    /// Model that makes the fine vectors.
    pub fine_model: String,
    /// Hash of lexicon and analyzer that made the tokens.
    pub analyzer: String,
    /// How tokens are weighed.
    #[serde(default, skip_serializing_if = "Bm25::is_default")]
    pub bm25: Bm25,
    /// Who asked for the generation and what else it is made with: a note that is opaque here.
    #[serde(default)]
    pub origin: String,
}

impl IndexSettings {
    /// Dimensions of the vectors of windows: those of tier 2.
    pub fn window_dimensions(&self) -> usize {
        if self.shared_vectors {
            self.coarse_dimensions
        } else {
            self.fine_dimensions
        }
    }

    /// Refuses what no index can be made with.
    fn check(&self) -> Result<()> {
        let refuse = |message: String| Err(crate::Error::new(ErrorKind::Invalid, message));
        if self.coarse_dimensions == 0 || self.fine_dimensions == 0 {
            return refuse("vectors need at least one dimension".to_owned());
        }
        if self.shared_vectors && self.coarse_dimensions != self.fine_dimensions {
            return refuse(format!(
                "shared vectors of {} coarse and {} fine dimensions",
                self.coarse_dimensions, self.fine_dimensions
            ));
        }
        if !self.bm25.is_valid() {
            return refuse(format!(
                "k1 = {} and b = {} are no numbers of BM25",
                self.bm25.k1, self.bm25.b
            ));
        }
        Ok(())
    }
}

fn is_not(flag: &bool) -> bool {
    !flag
}

/// One change. Each is atomic: a reader sees all of it or nothing.
#[derive(Clone, Debug)]
pub enum Operation {
    /// Makes exactly these chunks the document's content, whatever was there before.
    Replace {
        /// The document; its `version` decides against what is stored.
        document: Box<DocumentHeader>,
        /// All its chunks, by ordinal.
        chunks: Vec<Chunk>,
        /// Vectors of `chunks`, in the same order; empty means: keep the stored vectors of chunks
        /// with the same ids (all must exist).
        vectors: Vec<ChunkVectors>,
    },
    /// Removes the document's chunks and remembers the version, so that an older `Replace` that
    /// comes late does nothing.
    Delete {
        /// The document.
        document_id: String,
        /// Version of the deletion.
        version: u64,
    },
}

/// What became of one operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Done, or already so (the same version was stored): nothing more to do.
    Applied,
    /// A newer version is stored; nothing was changed.
    Older {
        /// The stored version.
        stored: u64,
    },
    /// This operation cannot be done; the others are not affected.
    Failed(crate::Error),
}

/// What the index holds of one document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexedDocument {
    /// The document; for a deleted one only id and version.
    pub document: DocumentHeader,
    /// Its chunks, by ordinal; empty for a deleted one.
    pub chunk_ids: Vec<ChunkId>,
    /// Whether this only remembers a deletion.
    pub deleted: bool,
}

/// A keyword query. BM25 by Lucene's formula, with the numbers of the generation.
#[derive(Clone, Copy, Debug)]
pub struct KeywordQuery<'a> {
    /// Generation that is asked; the serving one for `None`.
    pub generation: Option<&'a str>,
    /// Ready tokens; a repeated token counts as often as it is repeated.
    pub tokens: &'a [String],
    /// Which chunks may be found. Ignored when `candidates` is given: those have passed it
    /// already.
    pub filter: &'a Filter,
    /// Score only these chunks (tier 2); those that no longer exist are left out.
    pub candidates: Option<&'a [ChunkId]>,
    /// Hits at most.
    pub limit: usize,
}

/// Which of the two vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VectorField {
    /// Tier 1.
    Coarse,
    /// Tier 2; the coarse one where vectors are shared.
    Fine,
}

/// A vector query: dot product of unit vectors.
#[derive(Clone, Copy, Debug)]
pub struct VectorQuery<'a> {
    /// Generation that is asked; the serving one for `None`.
    pub generation: Option<&'a str>,
    /// Unit vector of the field's dimensions.
    pub vector: &'a [f32],
    /// Which of the two vectors.
    pub field: VectorField,
    /// Which chunks may be found. Ignored when `candidates` is given: those have passed it
    /// already.
    pub filter: &'a Filter,
    /// Score only these chunks (tier 2); those that no longer exist are left out.
    pub candidates: Option<&'a [ChunkId]>,
    /// Hits at most.
    pub limit: usize,
}

/// A question to the windows of long chunks.
#[derive(Clone, Copy, Debug)]
pub struct WindowQuery<'a> {
    /// Generation that is asked; the serving one for `None`.
    pub generation: Option<&'a str>,
    /// Unit vector of tier 2.
    pub vector: &'a [f32],
    /// Chunks that are asked about; they have passed the filter already.
    pub candidates: &'a [ChunkId],
}

/// A chunk as stored, with what a hit needs of its document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredChunk {
    /// The chunk; `analyzed` is empty.
    pub chunk: Chunk,
    /// Its document.
    pub document: Arc<DocumentHeader>,
}

/// One generation in numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GenerationStatus {
    /// Name.
    pub name: String,
    /// What it was created with.
    pub settings: IndexSettings,
    /// Whether queries go to it.
    pub serving: bool,
    /// Documents that are not deleted.
    pub documents: u64,
    /// Chunks that can be found.
    pub chunks: u64,
    /// Bytes on disk.
    pub bytes: u64,
}

/// The search index.
///
/// **Generations.** A generation is a whole index with its own settings. `write` and `flush` name
/// one; reads go to the one that they name, or to the serving one, which `promote` switches
/// atomically: a search of several steps that names its generation in each of them is never torn by
/// a promote. Before the first `promote` reads that name none fail with `NotFound`.
///
/// **Atomicity and visibility.** A write becomes visible and durable with the next `flush` that
/// returns `Ok` and may become visible earlier; each operation becomes visible as a whole: no
/// reader ever sees chunks of two versions of one document, or part of one. After a crash the index
/// is as at some moment between the last successful flush and the crash, never anything else.
///
/// **Idempotence.** An operation of a lower version than the stored one (deletions are remembered)
/// gives `Older`; of the same version it is applied again and leaves the same state; writing the
/// same operations in any order and any number of times leaves the state of the highest version of
/// each document.
///
/// **Filters.** Applied inside every query, before the limit: a query returns `limit` hits if so
/// many chunks pass. Fail closed.
///
/// **Scores.** Best first; equal scores by chunk id ascending. A keyword query without tokens, and
/// one whose tokens are all unknown, finds nothing. `vector` finds the exact top of the true dot
/// products up to quantisation (recall ≥ .995 of the exact top `limit`); with `candidates` the
/// scores are exact.
///
/// **Errors.** `Invalid` for a vector of another dimension than the settings say, `Conflict` for
/// `create` with other settings than the generation has, `NotFound` for an unknown generation,
/// `Corrupt` for one with damage that recovery cannot mend, `Exhausted` for a full disk.
///
/// **Damage.** Bytes that rot never come out as another text or another vector: a chunk whose
/// stored text is damaged is not given out and [`SearchIndex::damaged`] names it, one whose vectors
/// are damaged is not found by vector.
#[async_trait]
pub trait SearchIndex: Send + Sync {
    /// Creates a generation; an existing one with equal settings is left as it is.
    async fn create(&self, generation: &str, settings: &IndexSettings) -> Result<()>;

    /// Makes queries go to this generation from now on, durably.
    async fn promote(&self, generation: &str) -> Result<()>;

    /// Removes a generation; the serving one is refused with `Conflict`.
    async fn drop_generation(&self, generation: &str) -> Result<()>;

    /// Applies operations, in order; one outcome each.
    async fn write(&self, generation: &str, operations: Vec<Operation>) -> Result<Vec<Outcome>>;

    /// Makes everything written before this call durable and visible.
    async fn flush(&self, generation: &str) -> Result<()>;

    /// Best chunks by BM25.
    async fn keyword(&self, query: KeywordQuery<'_>) -> Result<Vec<ScoredChunk>>;

    /// The same with other numbers than those of the generation, for whoever looks for the best
    /// ones. Refused with `Invalid` by an index that knows those of the generation alone.
    async fn keyword_with(
        &self,
        _query: KeywordQuery<'_>,
        _bm25: Bm25,
    ) -> Result<Vec<ScoredChunk>> {
        let message = "this index scores with the numbers of BM25 that it was created with";
        Err(crate::Error::new(ErrorKind::Invalid, message))
    }

    /// Best chunks by dot product.
    async fn vector(&self, query: VectorQuery<'_>) -> Result<Vec<ScoredChunk>>;

    /// Of those of the candidates that have windows, the highest dot product of one of these; in no
    /// order. Nothing of a generation that keeps none. Windows are kept with a byte per dimension,
    /// so it is exact to about ±.002.
    async fn nearest_windows(&self, query: WindowQuery<'_>) -> Result<Vec<ScoredChunk>>;

    /// The chunks, in the order of the ids; `None` for those that do not exist, and for those that
    /// [`SearchIndex::damaged`] names.
    async fn fetch(
        &self,
        generation: Option<&str>,
        chunks: &[ChunkId],
    ) -> Result<Vec<Option<StoredChunk>>>;

    /// Those of the chunks that exist and that a `fetch` could not give because what is stored of
    /// them is damaged. An index that only gives what it has checked, or fails, names none.
    async fn damaged(
        &self,
        _generation: Option<&str>,
        _chunks: &[ChunkId],
    ) -> Result<Vec<ChunkId>> {
        Ok(Vec::new())
    }

    /// Stored vectors, in the order of the ids; `None` for chunks that do not exist or whose
    /// vectors are damaged. `fine` is empty where vectors are shared, `windows` where the chunk is
    /// one window or its generation keeps none.
    async fn vectors(
        &self,
        generation: Option<&str>,
        chunks: &[ChunkId],
    ) -> Result<Vec<Option<ChunkVectors>>>;

    /// What is stored of the documents in a generation (the serving one for `None`), deletions
    /// included, in the order of the ids.
    async fn documents(
        &self,
        generation: Option<&str>,
        document_ids: &[String],
    ) -> Result<Vec<Option<IndexedDocument>>>;

    /// Every document, deletions included, in pages by document id; `after` is the last id of the
    /// page before.
    async fn list_documents(
        &self,
        generation: Option<&str>,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<IndexedDocument>>;

    /// Documents that carry at least one of the manifest terms (see
    /// [`DocumentHeader::manifest_terms`]), by document id, at most `limit`; deleted ones carry
    /// none. Sees what the last flush made visible.
    async fn documents_with(
        &self,
        generation: Option<&str>,
        terms: &[String],
        limit: usize,
    ) -> Result<Vec<IndexedDocument>>;

    /// Ids of every chunk that a query can find, with the document that it belongs to; for
    /// `documents reconcile`. It reads the searchable side itself, not the manifest, so that
    /// the two can be compared; an id that is findable twice is listed twice.
    async fn list_chunks(&self, generation: Option<&str>) -> Result<Vec<(ChunkId, String)>>;

    /// All generations, by name.
    async fn status(&self) -> Result<Vec<GenerationStatus>>;

    /// Whether the serving generation, if there is one, can be searched now as a whole.
    async fn probe(&self) -> Result<()> {
        Ok(())
    }
}

/// Shared handle to whichever index runs.
pub type SharedSearchIndex = Arc<dyn SearchIndex>;
