//! The knowledge sets that hold now: those last applied (kept in the log), else those of the configuration.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use tributary_enrich::SharedKnowledgeSets;
use tributary_query_api::knowledge_sets::KnowledgeSetCatalog;
use tributary_schemas::{Error, ErrorKind, Result, Topic};
use tributary_store::Clock;
use tributary_store::event_log::topics::Topics;
use tributary_store::event_log::{BatchLimit, Record};
use tributary_taxonomy::KnowledgeSets;

/// All sets are one record: applying them is atomic.
const KEY: &[u8] = b"knowledge-sets";
const READ_LIMIT: BatchLimit = BatchLimit { records: 1000, bytes: 8 << 20 };

/// Knowledge sets of this process.
pub struct Catalog {
    topics: Topics,
    /// Shared with the chunk stage, which asks for every document.
    current: SharedKnowledgeSets,
    clock: Clock,
}

impl Catalog {
    /// Reads what was last applied; `configured` holds if nothing ever was.
    pub async fn open(topics: Topics, configured: KnowledgeSets, clock: Clock) -> Result<Self> {
        let applied = last_applied(&topics).await?;
        let current = SharedKnowledgeSets::new(applied.unwrap_or(configured));
        Ok(Self { topics, current, clock })
    }

    /// The handle that the chunk stage reads.
    pub fn shared(&self) -> SharedKnowledgeSets {
        self.current.clone()
    }
}

async fn last_applied(topics: &Topics) -> Result<Option<KnowledgeSets>> {
    let mut subscription = topics.subscribe(Topic::KnowledgeSets, None).await?;
    let mut last = None;
    loop {
        let batch = subscription.next_batch(READ_LIMIT, Duration::ZERO).await?;
        let Some(newest) = batch.into_iter().next_back() else { break };
        last = Some(topics.redeem(newest.record).await?);
    }
    let Some(value) = last.and_then(|record| record.value) else { return Ok(None) };
    serde_json::from_slice(&value)
        .map(Some)
        .map_err(|error| Error::new(ErrorKind::Corrupt, format!("the knowledge sets kept in the log cannot be read: {error}")))
}

#[async_trait]
impl KnowledgeSetCatalog for Catalog {
    fn current(&self) -> Arc<KnowledgeSets> {
        self.current.current()
    }

    async fn apply(&self, knowledge_sets: KnowledgeSets) -> Result<()> {
        let value = serde_json::to_vec(&knowledge_sets)
            .map_err(|error| Error::new(ErrorKind::Internal, format!("cannot encode knowledge sets: {error}")))?;
        let record = Record { key: Bytes::from_static(KEY), value: Some(value.into()), headers: Vec::new(), timestamp_ms: (self.clock)() };
        self.topics.append(Topic::KnowledgeSets, vec![record]).await?;
        self.current.replace(knowledge_sets);
        Ok(())
    }
}
