//! What the HTTP interface needs of the knowledge sets: those that hold now, and a way to change
//! them.

use std::sync::Arc;

use async_trait::async_trait;
use tributary_schemas::Result;
use tributary_taxonomy::KnowledgeSets;

/// The knowledge sets of a running server.
#[async_trait]
pub trait KnowledgeSetCatalog: Send + Sync {
    /// Those that hold now.
    fn current(&self) -> Arc<KnowledgeSets>;

    /// Makes these the ones that hold, durably. They are checked already.
    async fn apply(&self, knowledge_sets: KnowledgeSets) -> Result<()>;
}
