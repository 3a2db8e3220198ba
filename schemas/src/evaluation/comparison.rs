//! Two runs beside each other: what `tributary eval compare` prints and the server answers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CaseVerdict, Ranks, Step};

/// What changed from one run to another; `eval compare --format json` prints it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// The run before.
    pub a: String,
    /// The run after.
    pub b: String,
    /// Cases of both.
    pub cases: usize,
    /// Of these, cases of one id that ask something else: what they gain or lose is not the pipeline's
    /// doing.
    #[serde(default)]
    pub asked_otherwise: Vec<String>,
    /// Cases that need other documents or passages than before.
    #[serde(default)]
    pub judged_otherwise: Vec<String>,
    /// Hits among which evidence counts, before and after: verdicts compare where both are one.
    #[serde(default)]
    pub top_k: [usize; 2],
    /// Cases that only the first has.
    pub only_in_a: Vec<String>,
    /// Cases that only the second has.
    pub only_in_b: Vec<String>,
    /// Each measure over the cases of both.
    pub measures: Vec<MeasureDifference>,
    /// Cases whose nDCG@10 rose.
    pub won: usize,
    /// Cases whose nDCG@10 fell.
    pub lost: usize,
    /// Cases whose verdict, losing step or nDCG@10 changed, the greatest loss first.
    pub changes: Vec<CaseChange>,
}

/// A measure in both runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeasureDifference {
    /// Name.
    pub measure: String,
    /// Mean before.
    pub a: f64,
    /// Mean after.
    pub b: f64,
    /// After minus before.
    pub difference: f64,
    /// 95 % of the samples lie between these two.
    pub low: f64,
    /// See `low`.
    pub high: f64,
}

impl MeasureDifference {
    /// Whether the interval holds no 0.
    pub fn is_certain(&self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }
}

/// A case in both runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CaseChange {
    /// Identifier in the set of the run after.
    pub id: String,
    /// In that of the run before, where it is another: the question was put in another style.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id_before: Option<String>,
    /// As asked in the run after.
    pub question: String,
    /// nDCG@10 before and after.
    pub ndcg_10: [f64; 2],
    /// Verdicts before and after.
    pub verdict: [CaseVerdict; 2],
    /// Steps that lost it before and after.
    pub step: [Option<Step>; 2],
    /// Best ranks at each step before and after.
    pub ranks: [Ranks; 2],
}
