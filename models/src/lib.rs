//! Models: embedders, rerankers, token counting and recognition of text in pictures, all of it
//! blocking, CPU-bound work: async callers go through `spawn_blocking`. [`load`] is the entry point:
//! it reads a [`Config`] and gives embedder, reranker and token counter. Language models ([`chat`])
//! and [`service`]s of a team's own are the exception: they run elsewhere, and everything about them is
//! async.

pub mod chat;
pub mod config;
pub mod dual;
pub mod embedders;
pub mod folder;
pub mod http_client;
pub mod load;
pub mod ocr;
pub mod prompts;
pub mod registry;
pub mod rerankers;
pub mod runtime;
pub mod service;
pub mod sessions;
pub mod terms;
pub mod tokens;

pub use config::{Config, EmbedderKind, RerankerConfig, RerankerKind};
pub use dual::DualEmbedder;
pub use load::{Models, load, load_reranker};
pub use tokens::token_counter;
pub use tributary_schemas::{Error, Result};

/// What a text is embedded as: models of the e5 family treat questions and passages differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TextRole {
    /// A question.
    Query,
    /// A passage that answers questions.
    Passage,
}

/// Turns texts into unit vectors.
pub trait Embedder: Send + Sync {
    /// Name and version, kept in lineage and in index settings: vectors of different names are
    /// never compared.
    fn name(&self) -> &str;

    /// Length of the vectors.
    fn dimensions(&self) -> usize;

    /// Unit vectors of the texts, in their order. A longer text than the model takes is cut at its
    /// limit. An empty text gives a valid unit vector. Any number of texts: the embedder makes
    /// its own batches (sorted by length, within a token budget).
    fn embed(&self, texts: &[&str], role: TextRole) -> Result<Vec<Vec<f32>>>;
}

/// Scores passages against a question.
pub trait Reranker: Send + Sync {
    /// Name and version.
    fn name(&self) -> &str;

    /// One score per passage, in their order, from 0 (unrelated) to 1.
    fn score(&self, query: &str, passages: &[&str]) -> Result<Vec<f32>>;
}

/// Counts model tokens.
pub trait TokenCounter: Send + Sync {
    /// Tokens of the text, without special tokens.
    fn count(&self, text: &str) -> usize;
}
