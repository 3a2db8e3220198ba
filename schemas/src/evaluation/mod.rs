//! A run of an evaluation set as it is kept and shown: what `tributary eval run` writes and the
//! server reads.

mod case;
mod comparison;

use std::collections::{BTreeMap, HashMap};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use case::{CaseHit, CaseLevel, CaseRecord, CaseVerdict, Modality, Ranks, Step, Style, Trail};
pub use comparison::{CaseChange, Comparison, MeasureDifference};

/// Format of the files of runs.
pub const FORMAT: u32 = 1;

/// A run as it is kept.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct StoredRun {
    /// [`FORMAT`].
    pub format: u32,
    /// Name of the run: when it was, and of which set.
    pub id: String,
    /// Milliseconds since 1970 when it ended.
    pub at_ms: i64,
    /// File of questions.
    pub queries: String,
    /// What the run reported.
    pub report: Report,
    /// Each case.
    pub cases: Vec<CaseRecord>,
}

/// A run without its cases.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct RunSummary {
    /// See [`StoredRun`].
    pub format: u32,
    /// See [`StoredRun`].
    pub id: String,
    /// See [`StoredRun`].
    pub at_ms: i64,
    /// See [`StoredRun`].
    pub queries: String,
    /// See [`StoredRun`].
    pub report: Report,
}

/// What a run reports; `eval run --format json` prints it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// Under which name it is kept, once it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Name of the set.
    pub set: String,
    /// Documents published.
    pub documents: usize,
    /// Questions asked.
    pub queries: usize,
    /// What could not be used or asked, each with its place and the reason; it is in no score.
    pub left_out: Vec<String>,
    /// Scores by tier.
    pub tiers: Tiers,
    /// What became of the cases, and which steps lost them.
    pub diagnosis: Diagnosis,
    /// Each of them.
    #[serde(skip)]
    pub cases: Vec<CaseRecord>,
    /// Milliseconds by tier.
    pub latency_ms: HashMap<String, Latency>,
    /// How the documents got in.
    pub ingest: Ingest,
    /// What it was run with.
    pub settings: Value,
}

/// Scores by tier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tiers {
    /// After tier 1.
    pub coarse: TierScores,
    /// After tier 2.
    pub fine: TierScores,
    /// What the caller gets.
    #[serde(rename = "final")]
    pub last: RankScores,
}

/// What a tier lets through.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TierScores {
    /// Share of relevant documents with a chunk among the candidates.
    pub recall: f64,
    /// Mean number of candidates.
    pub candidates: f64,
}

/// Milliseconds.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
}

/// How the documents got in.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Ingest {
    /// From the first publication to the last document's end.
    pub seconds: f64,
    /// Documents by seconds.
    pub documents_per_second: f64,
    /// Documents that were unchanged or empty.
    pub skipped: usize,
    /// Documents that were given up.
    pub dead: usize,
}

/// What a report says of all cases together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Diagnosis {
    /// Hits among which evidence counts.
    pub top_k: usize,
    /// Cases by verdict.
    pub verdicts: BTreeMap<String, usize>,
    /// Cases that are not full, by the step that lost them.
    pub steps: BTreeMap<Step, usize>,
    /// The first of those, the worst first.
    pub worst: Vec<CaseRecord>,
    /// Scores by what cases say of themselves: `level`, `style`, `modality`, then the value.
    pub groups: BTreeMap<String, BTreeMap<String, GroupScores>>,
}

/// Scores of a part of the cases.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GroupScores {
    /// Cases.
    pub cases: usize,
    /// By verdict.
    pub verdicts: BTreeMap<String, usize>,
    /// Means.
    pub scores: RankScores,
}

/// Means over all questions of a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RankScores {
    /// Share of relevant documents among the first 10.
    #[serde(rename = "recall@10")]
    pub recall_10: f64,
    /// Share of relevant documents among the first 20.
    #[serde(rename = "recall@20")]
    pub recall_20: f64,
    /// Reciprocal rank of the first relevant document, 0 beyond 10.
    #[serde(rename = "mrr@10")]
    pub mrr_10: f64,
    /// Discounted cumulative gain of the first 10, relative to the best order.
    #[serde(rename = "ndcg@10")]
    pub ndcg_10: f64,
    /// Share of questions whose first document is relevant.
    #[serde(rename = "hit@1")]
    pub hit_1: f64,
    /// Share of questions with a relevant document among the first 3.
    #[serde(rename = "hit@3")]
    pub hit_3: f64,
    /// Share of questions with a relevant document among the first 5.
    #[serde(rename = "hit@5")]
    pub hit_5: f64,
    /// Share of questions with a relevant document among the first 10.
    #[serde(rename = "hit@10")]
    pub hit_10: f64,
}

impl RankScores {
    /// All of them with their names.
    pub fn named(&self) -> [(&'static str, f64); 8] {
        [
            ("recall@10", self.recall_10),
            ("recall@20", self.recall_20),
            ("mrr@10", self.mrr_10),
            ("ndcg@10", self.ndcg_10),
            ("hit@1", self.hit_1),
            ("hit@3", self.hit_3),
            ("hit@5", self.hit_5),
            ("hit@10", self.hit_10),
        ]
    }
}
