//! How each knowledge set is: counts of its documents, what failed, what waits, and who is to look.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// All sets; what `GET /v1/knowledge-sets/status` answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SetStatusList {
    /// By id.
    pub sets: Vec<SetStatus>,
    /// By source: documents that are in no set, or were given up, or wait, before anybody could say
    /// in which. The first 100 sources.
    pub unplaced: Vec<SourceStatus>,
}

/// One knowledge set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SetStatus {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Whoever is asked about it, where its definition says it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub owner: String,
    /// What it comes to.
    pub state: SetState,
    /// Thresholds of its definition that are reached.
    pub alarms: Vec<SetAlarmReason>,
    /// Its documents.
    pub documents: SetDocuments,
    /// What language models wrote for its documents.
    #[serde(default)]
    pub cost: SetCost,
}

/// Calls of language models for the documents of a set, since the start of the process that answers.
/// A document of several sets counts for each of them. What came from the cache cost nothing and is
/// not here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SetCost {
    /// Calls that were answered, those whose reply was refused too.
    pub calls: u64,
    /// Tokens of prompts, as the servers count them.
    pub tokens_in: u64,
    /// Tokens of replies, reasoning included.
    pub tokens_out: u64,
    /// Since when, milliseconds since 1970.
    pub since_ms: i64,
}

impl SetCost {
    /// Adds what another one counted.
    pub fn add(&mut self, other: &Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.tokens_in = self.tokens_in.saturating_add(other.tokens_in);
        self.tokens_out = self.tokens_out.saturating_add(other.tokens_out);
    }
}

/// One source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SourceStatus {
    /// Its name.
    pub source: String,
    /// Its documents that are in no set.
    pub documents: SetDocuments,
}

/// What the state of a set comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SetState {
    /// A threshold is reached.
    Alarm,
    /// Documents are on their way.
    Building,
    /// Nothing is on its way.
    Ready,
    /// It has no documents.
    Empty,
}

/// A threshold that is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SetAlarmReason {
    /// Too many documents were given up.
    Failures,
    /// A document waits for too long.
    Lag,
}

impl SetAlarmReason {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Failures, Self::Lag];

    /// The name used in JSON and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Failures => "failures",
            Self::Lag => "lag",
        }
    }
}

impl SetState {
    /// The name used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Alarm => "alarm",
            Self::Building => "building",
            Self::Ready => "ready",
            Self::Empty => "empty",
        }
    }
}

/// Documents of a set or source, those that were deleted left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SetDocuments {
    /// All of them.
    pub all: u64,
    /// Those of which a version can be found, whatever became of the newest one.
    pub searchable: u64,
    /// Searchable ones for which something was done in a lesser way than configured.
    pub degraded: u64,
    /// Indexed by the last attempt.
    pub indexed: u64,
    /// Deliberately not indexed by the last attempt.
    pub skipped: u64,
    /// Given up; the record is in the dead letters.
    pub failed: u64,
    /// On their way.
    pub waiting: u64,
    /// How long the one that waits longest has been at its stage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest_waiting_seconds: Option<f64>,
    /// The five newest failures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<FailedDocument>,
}

/// A document that was given up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailedDocument {
    /// Its id.
    pub document_id: String,
    /// Its source.
    pub source: String,
    /// Path or URL within the source.
    pub source_path: String,
    /// Why.
    pub reason: String,
    /// When, milliseconds since 1970.
    pub at_ms: i64,
}
