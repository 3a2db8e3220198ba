//! What the HTTP interface needs to make up for what was done in a lesser way. The command line
//! fills it with the chunk stage.

use async_trait::async_trait;
use tributary_schemas::Result;
use tributary_schemas::repair::DegradedRepair;

/// Repairs of degraded documents.
#[async_trait]
pub trait Repairing: Send + Sync {
    /// Starts one, unless one runs. `Unsupported` without a model.
    async fn start(&self) -> Result<DegradedRepair>;

    /// The one that runs, or the last one.
    fn report(&self) -> DegradedRepair;
}
