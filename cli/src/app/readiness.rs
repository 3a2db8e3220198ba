//! What `/health/readyz` looks at.

use std::path::PathBuf;

use async_trait::async_trait;
use tributary_query_api::http::health::{Check, ReadinessProbe};
use tributary_schemas::Topic;
use tributary_store::config::Stores;

use super::Parts;

/// Log and index answer, the data folder can be written to.
pub struct Readiness {
    stores: Stores,
    folder: PathBuf,
}

impl Readiness {
    /// Looks at the given parts.
    pub fn new(parts: &Parts, folder: &str) -> Self {
        Self { stores: parts.stores.clone(), folder: PathBuf::from(folder) }
    }
}

#[async_trait]
impl ReadinessProbe for Readiness {
    async fn check(&self) -> Vec<Check> {
        let log = self.stores.topics.lag(Topic::DocumentsRaw, "ingest").await.map(drop);
        let index = self.stores.index.status().await.map(drop);
        let folder = std::fs::metadata(self.folder.join("tributary.json")).map(drop).map_err(|error| error.to_string());
        vec![
            check("event_log", log.map_err(|error| error.full_message())),
            check("search_index", index.map_err(|error| error.full_message())),
            check("data_folder", folder),
        ]
    }
}

fn check(name: &str, result: std::result::Result<(), String>) -> Check {
    let ok = result.is_ok();
    Check { name: name.to_owned(), ok, detail: result.err().unwrap_or_default() }
}
