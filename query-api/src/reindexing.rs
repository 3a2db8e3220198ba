//! What the HTTP interface needs to build new generations of the index. The command line fills it
//! with the indexer.

use async_trait::async_trait;
use tributary_schemas::Result;
use tributary_schemas::reindex::{ReindexOverview, ReindexReport, ReindexRequest};

/// Builds of the index.
#[async_trait]
pub trait Reindexing: Send + Sync {
    /// Asks durably for a build of these knowledge sets, all documents if empty. They exist.
    async fn request(&self, knowledge_sets: Vec<String>) -> Result<ReindexRequest>;

    /// Gives up the newest build that has not ended. `NotFound` if there is none.
    async fn cancel(&self) -> Result<ReindexReport>;

    /// Makes queries go to the generation before the last promotion. `NotFound` if it is gone.
    async fn rollback(&self) -> Result<ReindexReport>;

    /// Builds, newest first, and generations.
    async fn overview(&self) -> Result<ReindexOverview>;
}
