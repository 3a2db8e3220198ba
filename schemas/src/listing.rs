//! How lists of documents are ordered.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a list of documents is sorted by. Documents that are equal in it follow by id, so that the
/// order is the same each time. Capitals and small letters count as the same letter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DocumentSort {
    /// By document id.
    Id,
    /// By source, then by path.
    #[default]
    Source,
    /// By path, then by source.
    Path,
    /// By title, then by path.
    Title,
    /// By the time of the newest report.
    Time,
    /// By what the last attempt did, along the route; then by source and path.
    State,
}

impl DocumentSort {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Id,
        Self::Source,
        Self::Path,
        Self::Title,
        Self::Time,
        Self::State,
    ];

    /// The name used in JSON and parameters.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::Source => "source",
            Self::Path => "path",
            Self::Title => "title",
            Self::Time => "time",
            Self::State => "state",
        }
    }
}
