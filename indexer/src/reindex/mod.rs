//! Building a new generation of the index while queries go on, and switching to it.
//!
//! ```text
//! request ─► create generation N+1 ─► its own reader of documents.clean (group chunk-<generation>) replays everything and then follows
//!         ─► everything that N can find is in N+1 ─► promote ─► N goes on being fed, for a rollback, until the next build
//! ```
//! [`requests::ReindexRequests`] is what users call, [`build::ReindexStage`] does the work in
//! whichever process reads `reindex.requests`. What happened is a history of reports in the same
//! topic, so that a crash at any point is resumed and every process knows the same.

pub mod build;
mod history;
mod removals;
pub mod requests;
mod rules;
mod serving;
mod unreported;

pub use build::{ReindexParts, ReindexStage};
pub use removals::{remember_removals, remember_versions};
pub use requests::ReindexRequests;
pub use serving::restore_serving;
pub use unreported::report_found;
pub(crate) use unreported::what_is_found;

/// All requests and reports have one key: builds come one after the other.
const KEY: &str = "reindex";
