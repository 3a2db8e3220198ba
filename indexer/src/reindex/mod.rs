//! Building a new generation of the index while queries go on, and switching to it.
//!
//! ```text
//! request ─► create generation N+1 ─► its own reader of documents.clean (group chunk-<generation>) replays everything and then follows
//!         ─► everything that N can find is in N+1 ─► promote ─► N goes on being fed, for a rollback, until the next build
//! ```
//! [`desk::ReindexDesk`] is what users call, [`build::ReindexStage`] does the work in whichever
//! process reads `reindex.requests`, and [`paced::PacedStage`] keeps a replay from standing in the
//! way of documents that are published meanwhile. What happened is a history of reports in the same
//! topic, so that a crash at any point is resumed and every process knows the same.

pub mod build;
pub mod desk;
mod history;
pub mod paced;
mod removals;

use serde::{Deserialize, Serialize};
use tributary_schemas::{Error, ErrorKind, Result};

pub use build::{GenerationBuilder, ReindexParts, ReindexStage};
pub use desk::ReindexDesk;
pub use paced::PacedStage;
pub use removals::remember_removals;

/// All requests and reports have one key: builds come one after the other.
const KEY: &str = "reindex";

/// What a generation's [`origin`](tributary_store::search_index::IndexSettings::origin) says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The request that it was built for; empty for the first generation.
    #[serde(default)]
    pub request_id: String,
    /// Where the settings lie that it is built with (a blob's URL).
    pub recipe: String,
    /// The settings themselves, so that the index can be continued where the blob is not to be
    /// had. Absent in generations of before, and where they are too large for the index's own
    /// description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<serde_json::Value>,
}

impl Origin {
    /// As it is kept with the generation.
    pub fn encode(&self) -> Result<String> {
        serde_json::to_string(self).map_err(|error| {
            Error::new(
                ErrorKind::Internal,
                format!("cannot encode a generation's origin: {error}"),
            )
        })
    }

    /// Reads [`Origin::encode`]; `None` for a generation without one.
    pub fn decode(text: &str) -> Result<Option<Self>> {
        if text.is_empty() {
            return Ok(None);
        }
        serde_json::from_str(text).map(Some).map_err(|error| {
            Error::new(
                ErrorKind::Corrupt,
                format!("a generation's origin cannot be read: {error}"),
            )
        })
    }
}
