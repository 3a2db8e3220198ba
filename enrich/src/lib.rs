//! Enrichment: clean documents become tagged chunks (chunk stage), tagged chunks become embedded
//! chunks (embed stage). The worker loops of the services `chunk` and `embed` run the two stages;
//! the command line also cuts files with [`chunkers::chunk`].

pub mod catalog;
pub mod chunk_readers;
pub mod chunk_services;
pub mod chunk_stage;
pub mod chunkers;
pub mod chunking;
pub mod config;
pub mod descriptions;
pub mod embed_stage;
pub mod markdown;
pub mod pipelines;
pub mod plain;
pub mod prompts;
pub mod recipe;
pub mod repair;
pub mod search_text;
pub mod summaries;
mod summary_mode;
pub mod tag;
mod turns;
pub mod windows;
pub mod writing;

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tributary_schemas::ErrorKind;

pub use catalog::Catalog;
pub use chunk_readers::{ChunkReaderParts, ChunkReaders};
pub use chunk_services::ChunkServices;
pub use chunk_stage::{ChunkParts, ChunkStage, IsSuperseded, WrittenBy};
pub use chunking::{Chunking, Writers};
pub use config::{
    ChunkStageConfig, ChunkerConfig, Chunkers, Config, DescriptionsConfig, EmbedConfig,
    SummariesConfig,
};
pub use embed_stage::{EmbedGeneration, EmbedGenerations, EmbedParts, EmbedStage};
pub use pipelines::{Pipeline, Pipelines};
pub use recipe::{Recipe, RecipeConfig};
pub use tributary_schemas::{Error, Result};

/// Runs CPU-bound work away from the async threads; a panic in it becomes `Internal`.
async fn blocking<T: Send + 'static>(
    stage: &'static str,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => Err(Error::new(
            ErrorKind::Internal,
            format!("the {stage} stage failed: {error}"),
        )),
    }
}

/// Waits until one more document may be in memory.
async fn permit(permits: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit> {
    let closed = |_| {
        Error::new(
            ErrorKind::Internal,
            "the limit of documents in flight is closed",
        )
    };
    Arc::clone(permits).acquire_owned().await.map_err(closed)
}
