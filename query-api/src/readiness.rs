//! Whether a process can do its work, and which program it is.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One thing that the process needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// What, such as `search_index`.
    pub name: String,
    /// Whether it works.
    pub ok: bool,
    /// How it is, in words.
    pub detail: String,
    /// What can be done about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// Answer of `/health/readyz`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Readiness {
    /// Whether work can be done: every check is ok.
    pub ready: bool,
    /// What was looked at; for administrators, where the server wants keys.
    pub checks: Vec<Check>,
}

/// Answer of `/version`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Version {
    /// `tributary`.
    pub name: String,
    /// Version of the program.
    pub version: String,
    /// Hash of the source profiles that it began with; the same files give the same.
    #[serde(default)]
    pub source_profiles: String,
}

/// Looks at everything that the process needs.
#[async_trait]
pub trait ReadinessProbe: Send + Sync {
    /// One check per thing; called often, and answers within a few seconds also when something does
    /// not answer at all.
    async fn check(&self) -> Vec<Check>;
}
