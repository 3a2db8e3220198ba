//! chunks.embedded → the index: the last stage.

pub mod config;
pub mod editions;
pub mod exact_duplicates;
pub mod index_stage;
pub mod reindex;
mod rewriting;
pub mod unfinished;
mod unserved;

pub use config::Config;
pub use editions::Editions;
pub use exact_duplicates::ExactDuplicates;
pub use index_stage::IndexStage;
pub use reindex::{ReindexRequests, ReindexStage};
pub use unfinished::Unfinished;
