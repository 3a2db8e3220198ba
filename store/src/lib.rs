//! Where things are kept: the event log, the search index, blobs, conversations, and the manifests
//! of documents.
//! Traits with an embedded implementation each; nothing above this crate knows which one runs.

use std::sync::Arc;

pub mod audit;
pub mod backup;
pub mod blobs;
pub mod collect;
pub mod config;
pub mod conversations;
pub mod damage;
pub mod data_folder;
pub mod evaluations;
pub mod event_log;
pub mod generations;
pub mod keys;
pub mod lost_blobs;
pub mod manifest;
pub mod metrics;
pub mod missed_searches;
mod panics;
pub mod parts;
pub mod search_index;
pub mod secrets;
pub mod set_costs;
pub mod work;

pub use tributary_schemas::{Error, Result};

/// Milliseconds since 1970, from wherever the caller takes its time.
pub type Clock = Arc<dyn Fn() -> i64 + Send + Sync>;

/// The clock of the machine.
pub fn system_clock() -> Clock {
    Arc::new(|| {
        let since_1970 = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap_or(std::time::Duration::ZERO);
        i64::try_from(since_1970.as_millis()).unwrap_or(i64::MAX)
    })
}
