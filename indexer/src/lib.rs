//! chunks.embedded → the index: the last stage. Called by the command line as the service `index`.

pub mod config;
pub mod editions;
pub mod index_stage;
pub mod near_duplicates;
pub mod reindex;
mod rewriting;
mod unserved;

pub use config::Config;
pub use editions::Editions;
pub use index_stage::IndexStage;
pub use near_duplicates::NearDuplicates;
pub use reindex::{PacedStage, ReindexDesk, ReindexStage};
