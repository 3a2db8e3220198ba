//! The repair side of the HTTP server, on top of the chunk stage.

use std::sync::Arc;

use async_trait::async_trait;
use tributary_enrich::repair::Repair;
use tributary_query_api::repairing::Repairing;
use tributary_schemas::Result;
use tributary_schemas::repair::DegradedRepair;

use super::Parts;
use crate::config::Config;

/// Repairs for HTTP.
pub struct RepairSide(Arc<Repair>);

impl RepairSide {
    /// On top of the given parts.
    pub fn new(parts: &Parts, config: &Config) -> Self {
        let topics = parts.stores.topics.clone();
        Self(Arc::new(Repair::new(parts.chunking(config), topics)))
    }
}

#[async_trait]
impl Repairing for RepairSide {
    async fn start(&self) -> Result<DegradedRepair> {
        self.0.start().await
    }

    fn report(&self) -> DegradedRepair {
        self.0.report()
    }
}
