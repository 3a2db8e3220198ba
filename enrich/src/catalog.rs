//! The knowledge sets that hold now: those last applied (kept in the log), else those of the
//! configuration.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use tokio_util::sync::CancellationToken;
use tributary_models::prompts::Prompts;
use tributary_schemas::{Error, ErrorKind, Result, Topic};
use tributary_store::Clock;
use tributary_store::event_log::topics::Topics;
use tributary_store::event_log::{BatchLimit, Record};
use tributary_taxonomy::{KnowledgeSetCatalog, KnowledgeSets, SharedKnowledgeSets};

use crate::config::ChunkerConfig;

/// All sets are one record: applying them is atomic.
const KEY: &[u8] = b"knowledge-sets";
const READ_LIMIT: BatchLimit = BatchLimit {
    records: 100,
    bytes: 8 << 20,
};
const LONG_WAIT: Duration = Duration::from_secs(60);
const RETRY_PAUSE: Duration = Duration::from_secs(2);

/// Knowledge sets of this process.
pub struct Catalog {
    topics: Topics,
    /// Shared with the chunk stage, which asks for every document.
    current: SharedKnowledgeSets,
    /// What a set's own chunker settings replace some keys of.
    chunker: ChunkerConfig,
    /// Whose variants sets may name.
    prompts: Arc<Prompts>,
    clock: Clock,
}

impl Catalog {
    /// Reads what was last applied; `configured` holds if nothing ever was. `Invalid` where a set
    /// that holds names prompts that there are none of.
    pub async fn open(
        topics: Topics,
        configured: KnowledgeSets,
        chunker: ChunkerConfig,
        prompts: Arc<Prompts>,
        clock: Clock,
    ) -> Result<Self> {
        check(&configured, &chunker)?;
        check_prompts(&configured, &prompts)?;
        let applied = last_applied(&topics).await?;
        if let Some(applied) = &applied {
            check_prompts(applied, &prompts)?;
        }
        let current = SharedKnowledgeSets::new(applied.unwrap_or(configured));
        Ok(Self {
            topics,
            current,
            chunker,
            prompts,
            clock,
        })
    }

    /// Takes over what other processes apply, until `shutdown`.
    pub async fn follow(self: Arc<Self>, shutdown: CancellationToken) {
        while !shutdown.is_cancelled() {
            let followed = tokio::select! {
                () = shutdown.cancelled() => return,
                followed = self.follow_topic() => followed,
            };
            if let Err(error) = followed {
                tracing::warn!(%error, "knowledge sets that other processes apply cannot be read, trying again");
                tokio::time::sleep(RETRY_PAUSE).await;
            }
        }
    }

    async fn follow_topic(&self) -> Result<()> {
        let mut subscription = self.topics.subscribe(Topic::KnowledgeSets, None).await?;
        loop {
            let batch = subscription.next_batch(READ_LIMIT, LONG_WAIT).await?;
            let Some(newest) = batch.into_iter().next_back() else {
                continue;
            };
            let newest = read(&self.topics, newest.record).await?;
            if let Some(newest) = newest.filter(|newest| *newest != *self.current.current()) {
                self.current.replace(newest);
            }
        }
    }

    /// The handle that the chunk stage reads.
    pub fn shared(&self) -> SharedKnowledgeSets {
        self.current.clone()
    }
}

async fn last_applied(topics: &Topics) -> Result<Option<KnowledgeSets>> {
    let Some(newest) = topics.read_all(Topic::KnowledgeSets).await?.pop() else {
        return Ok(None);
    };
    read(topics, newest.record).await
}

async fn read(topics: &Topics, record: Record) -> Result<Option<KnowledgeSets>> {
    let Some(value) = topics.redeem(record).await?.value else {
        return Ok(None);
    };
    serde_json::from_slice(&value).map(Some).map_err(|error| {
        Error::new(
            ErrorKind::Corrupt,
            format!("the knowledge sets kept in the log cannot be read: {error}"),
        )
    })
}

/// Settings that a set has for itself must be such that its documents can be cut with them.
fn check(knowledge_sets: &KnowledgeSets, chunker: &ChunkerConfig) -> Result<()> {
    for set in knowledge_sets.iter() {
        if let Some(pipeline) = &set.pipeline {
            chunker.with(&pipeline.chunker).map_err(|error| {
                Error::new(error.kind(), format!("knowledge set {}: {error}", set.id)).with_hint(
                    "the keys are those of [enrich.chunker]; see `tributary config show`",
                )
            })?;
        }
    }
    Ok(())
}

/// `Invalid` for a set that names a variant of prompts that there is none of.
pub fn check_prompts(knowledge_sets: &KnowledgeSets, prompts: &Prompts) -> Result<()> {
    for set in knowledge_sets.iter() {
        let pipeline = set.pipeline.as_ref();
        if let Some(variant) = pipeline.and_then(|pipeline| pipeline.prompts.as_ref()) {
            prompts.check_variant(&format!("knowledge set {}", set.id), variant)?;
        }
    }
    Ok(())
}

#[async_trait]
impl KnowledgeSetCatalog for Catalog {
    fn current(&self) -> Arc<KnowledgeSets> {
        self.current.current()
    }

    async fn apply(&self, knowledge_sets: KnowledgeSets) -> Result<()> {
        check(&knowledge_sets, &self.chunker)?;
        check_prompts(&knowledge_sets, &self.prompts)?;
        let value = serde_json::to_vec(&knowledge_sets).map_err(|error| {
            Error::new(
                ErrorKind::Internal,
                format!("cannot encode knowledge sets: {error}"),
            )
        })?;
        let record = Record {
            key: Bytes::from_static(KEY),
            value: Some(value.into()),
            headers: Vec::new(),
            timestamp_ms: (self.clock)(),
        };
        self.topics
            .append(Topic::KnowledgeSets, vec![record])
            .await?;
        self.current.replace(knowledge_sets);
        Ok(())
    }
}
