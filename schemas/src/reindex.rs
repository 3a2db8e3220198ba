//! Building a new generation of the index: what is asked for, and what became of it. Both are
//! records of `reindex.requests` under one key, so that builds come one after the other and
//! everybody reads the same history.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A request to build a new generation; the value of `reindex.requests` with the type
/// `tributary.reindex.requested.v1`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReindexRequest {
    /// Unique; a request that comes twice is done once.
    pub request_id: String,
    /// Knowledge sets whose documents follow today's settings from now on; empty for all
    /// documents. The settings that one generation can have only once (models, analyzer) hold
    /// for all documents in any case.
    #[serde(default)]
    pub knowledge_sets: Vec<String>,
    /// When it was asked for, milliseconds since 1970.
    pub requested_at_ms: i64,
}

/// Where a build is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReindexState {
    /// Asked for; another build is before it, or no index service runs.
    Waiting,
    /// Documents are replayed into the new generation; queries go to the old one.
    Building,
    /// Everything was replayed, but documents that can be found today are missing: queries stay
    /// where they are. The reason says what helps.
    Blocked,
    /// Queries go to the new generation.
    Promoted,
    /// Queries went back to the generation before.
    RolledBack,
    /// Given up on request; the new generation is gone.
    Cancelled,
    /// It cannot be done; the reason says why.
    Failed,
}

impl ReindexState {
    /// Whether nothing more will happen by itself.
    pub fn is_final(self) -> bool {
        !matches!(self, Self::Waiting | Self::Building | Self::Blocked)
    }

    /// The name used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Building => "building",
            Self::Blocked => "blocked",
            Self::Promoted => "promoted",
            Self::RolledBack => "rolled_back",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
        }
    }
}

/// What became of a request; the value of `reindex.requests` with the type
/// `tributary.reindex.state.v1`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReindexReport {
    /// The request.
    pub request_id: String,
    /// Where it is.
    pub state: ReindexState,
    /// The generation that is or was built; empty before one is.
    #[serde(default)]
    pub generation: String,
    /// The generation that served queries before.
    #[serde(default)]
    pub previous: String,
    /// Why, or what is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When, milliseconds since 1970.
    pub at_ms: i64,
}

/// One build with its progress: what `GET /v1/reindex` and `knowledge-sets reindex` show.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReindexProgress {
    /// The request.
    pub request: ReindexRequest,
    /// Its newest report.
    pub report: ReindexReport,
    /// Documents that the build has to bring over: those of the generation that is served.
    pub documents_total: u64,
    /// Documents in the new generation.
    pub documents_done: u64,
    /// Seconds until it is done at the pace so far; none before there is a pace, and after the
    /// end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remaining_seconds: Option<f64>,
}

/// A generation as users see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GenerationSummary {
    /// Name.
    pub name: String,
    /// Whether queries go to it.
    pub serving: bool,
    /// Documents that are not deleted.
    pub documents: u64,
    /// Chunks that can be found.
    pub chunks: u64,
    /// Bytes on disk.
    pub bytes: u64,
    /// Model of the coarse vectors.
    pub coarse_model: String,
    /// Model of the fine vectors.
    pub fine_model: String,
    /// Hash of lexicon and analyzer.
    pub analyzer: String,
}

/// The answer of `GET /v1/reindex`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReindexOverview {
    /// Builds, newest first.
    pub builds: Vec<ReindexProgress>,
    /// Generations, by name.
    pub generations: Vec<GenerationSummary>,
    /// Settings of this server that the serving generation was not built with (`analyzer`,
    /// `models`, `embedding`, `bm25`, `chunker`, `summaries`, `descriptions`; `chunker of SET`, `summaries of
    /// SET` and `prompts of SET`; `rules of knowledge sets`): a reindex makes them hold.
    pub outdated: Vec<String>,
    /// Documents that were tagged before the rules of knowledge sets were changed last.
    #[serde(default)]
    pub documents_under_old_rules: u64,
}
