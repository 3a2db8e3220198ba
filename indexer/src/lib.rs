//! chunks.embedded → the index: the last stage. Called by the command line as the service `index`.

pub mod config;
pub mod generation;
pub mod index_stage;

pub use config::Config;
pub use generation::open_generation;
pub use index_stage::IndexStage;
