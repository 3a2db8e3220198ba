//! The reindex side of the HTTP server, on top of the indexer.

use std::sync::Arc;

use async_trait::async_trait;
use tributary_enrich::Pipelines;
use tributary_indexer::ReindexRequests;
use tributary_query_api::reindexing::Reindexing;
use tributary_schemas::Result;
use tributary_schemas::reindex::{ReindexOverview, ReindexReport, ReindexRequest};

use super::Parts;

/// Builds for HTTP.
pub struct ReindexSide {
    requests: ReindexRequests,
    pipelines: Arc<Pipelines>,
}

impl ReindexSide {
    /// On top of the given parts.
    pub fn new(parts: &Parts) -> Self {
        let generations = Arc::clone(parts.pipelines.generations());
        let requests = ReindexRequests {
            topics: parts.stores.topics.clone(),
            table: Arc::clone(&parts.table),
            index: Arc::clone(&parts.stores.index),
            generations,
            clock: Arc::clone(&parts.clock),
        };
        Self {
            requests,
            pipelines: Arc::clone(&parts.pipelines),
        }
    }
}

#[async_trait]
impl Reindexing for ReindexSide {
    async fn request(&self, knowledge_sets: Vec<String>) -> Result<ReindexRequest> {
        self.requests.request(knowledge_sets).await
    }

    async fn cancel(&self) -> Result<ReindexReport> {
        self.requests.cancel().await
    }

    async fn rollback(&self) -> Result<ReindexReport> {
        self.requests.rollback().await
    }

    async fn overview(&self) -> Result<ReindexOverview> {
        let outdated = self.pipelines.outdated_now().await;
        self.requests
            .overview(outdated.unwrap_or_else(|error| vec![error.full_message()]))
            .await
    }
}
