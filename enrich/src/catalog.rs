//! The knowledge sets that hold now: those last applied (kept in the log), else those of the
//! configuration.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use tokio_util::sync::CancellationToken;
use tributary_models::prompts::Prompts;
use tributary_schemas::{Error, ErrorKind, Result, Topic};
use tributary_store::Clock;
use tributary_store::event_log::topics::Topics;
use tributary_store::event_log::{BatchLimit, Record, StoredRecord};
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
    /// What was applied after those that hold, and cannot be read.
    unread: Mutex<Option<String>>,
}

impl Catalog {
    /// Reads what was last applied; `configured` holds if nothing ever was. `Invalid` where a set
    /// that holds names prompts that there are none of. Where the last record is damaged, what was
    /// applied before it holds, else `configured`; see [`Self::unread`].
    pub async fn open(
        topics: Topics,
        configured: KnowledgeSets,
        chunker: ChunkerConfig,
        prompts: Arc<Prompts>,
        clock: Clock,
    ) -> Result<Self> {
        check(&configured, &chunker)?;
        check_prompts(&configured, &prompts)?;
        let records = topics.read_all(Topic::KnowledgeSets).await?;
        let applied = newest(&topics, records).await?;
        if let Some(sets) = &applied.sets {
            check_prompts(sets, &prompts)?;
        }
        let current = SharedKnowledgeSets::new(applied.sets.unwrap_or(configured));
        Ok(Self {
            topics,
            current,
            chunker,
            prompts,
            clock,
            unread: Mutex::new(applied.unread),
        })
    }

    /// Where a record lies that was written after those that hold, and why it cannot be read; `None`
    /// where what was applied last holds. Applying sets again mends it.
    pub fn unread(&self) -> Option<String> {
        self.unread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn set_unread(&self, unread: Option<String>) {
        *self.unread.lock().unwrap_or_else(PoisonError::into_inner) = unread;
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
            if batch.is_empty() {
                continue;
            }
            let newest = newest(&self.topics, batch).await?;
            if newest.sets.is_some() || newest.unread.is_some() {
                self.set_unread(newest.unread);
            }
            let changed = newest.sets;
            if let Some(sets) = changed.filter(|sets| *sets != *self.current.current()) {
                self.current.replace(sets);
            }
        }
    }

    /// The handle that the chunk stage reads.
    pub fn shared(&self) -> SharedKnowledgeSets {
        self.current.clone()
    }
}

/// The newest sets that records name.
#[derive(Default)]
struct Newest {
    sets: Option<KnowledgeSets>,
    /// A newer record that cannot be read: where it lies, and why.
    unread: Option<String>,
}

/// What the newest of these records says that can be read. What others wrote there under another key
/// says nothing.
async fn newest(topics: &Topics, records: Vec<StoredRecord>) -> Result<Newest> {
    let mut newest = Newest::default();
    for stored in records
        .into_iter()
        .rev()
        .filter(|stored| stored.record.key == KEY)
    {
        let at = stored.position;
        let error = match read(topics, stored.record).await {
            Ok(sets) => return Ok(Newest { sets, ..newest }),
            Err(error) if error.is_held() => return Err(error),
            Err(error) => error,
        };
        let place = format!(
            "{} at partition {}, offset {}",
            Topic::KnowledgeSets.name(),
            at.partition,
            at.offset
        );
        tracing::error!(
            record = place,
            error = %error.full_message(),
            "the knowledge sets that were applied last cannot be read; those before them hold, or those of the configuration, until sets are applied again"
        );
        let what = format!("{place}: {error}");
        newest.unread.get_or_insert(what);
    }
    Ok(newest)
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
        self.set_unread(None);
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tributary_store::blobs::Blobs;
    use tributary_store::event_log::embedded::{Config, EmbeddedEventLog};

    use super::*;
    use crate::prompts::PROMPTS;

    async fn topics(folder: &std::path::Path) -> Topics {
        let config = Config {
            segment_bytes: 1 << 20,
            max_record_bytes: 1 << 20,
            linger_ms: 0,
            queue_bytes: 1 << 20,
            maintenance_interval_seconds: 0,
            compaction_dirty_ratio: 0.5,
            tombstone_retention_seconds: 86_400,
        };
        let log = EmbeddedEventLog::open(&folder.join("log"), config).unwrap();
        let blobs = Blobs::local(&folder.join("blobs")).unwrap();
        let topics = Topics::new(Arc::new(log), "t".into(), blobs, 1 << 20);
        topics.create(1, None, None).await.unwrap();
        topics
    }

    fn sets(id: &str) -> KnowledgeSets {
        let text = format!(
            "[[knowledge_set]]\nid = \"{id}\"\nname = \"Set\"\nview = \"capability\"\nrules = [{{ source = \"wiki\" }}]\n"
        );
        KnowledgeSets::from_toml(&text).unwrap()
    }

    async fn open(topics: &Topics) -> Catalog {
        let prompts = Arc::new(Prompts::load(&[&PROMPTS], None).unwrap());
        let chunker = ChunkerConfig {
            section_limit_tokens: 2000,
            leaf_minimum_tokens: 512,
            leaf_maximum_tokens: 800,
            overlap_minimum: 0.10,
            overlap_maximum: 0.15,
            summary_limit_tokens: 256,
            block_limit_tokens: 32768,
        };
        let clock: Clock = Arc::new(|| 7);
        Catalog::open(topics.clone(), sets("configured"), chunker, prompts, clock)
            .await
            .unwrap()
    }

    async fn write(topics: &Topics, key: &'static [u8], value: &'static str) {
        let record = Record {
            key: Bytes::from_static(key),
            value: Some(value.into()),
            headers: Vec::new(),
            timestamp_ms: 7,
        };
        let written = topics.append(Topic::KnowledgeSets, vec![record]);
        written.await.unwrap();
    }

    fn holding(catalog: &Catalog) -> Vec<String> {
        let current = catalog.current();
        current.iter().map(|set| set.id.clone()).collect()
    }

    #[tokio::test]
    async fn what_cannot_be_read_stops_no_start_and_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let topics = topics(folder.path()).await;
        write(&topics, KEY, "[1]").await;
        let catalog = open(&topics).await;
        assert_eq!(holding(&catalog), ["configured"]);
        let named = catalog.unread().unwrap();
        assert!(
            named.contains("knowledge-sets.v1 at partition 0, offset 0"),
            "{named}"
        );

        catalog.apply(sets("radio")).await.unwrap();
        assert_eq!(catalog.unread(), None);
        write(&topics, b"of-somebody", "not JSON").await;
        let again = open(&topics).await;
        assert_eq!(
            (holding(&again), again.unread()),
            (vec!["radio".to_owned()], None)
        );

        write(&topics, KEY, "").await;
        let damaged = open(&topics).await;
        assert_eq!(holding(&damaged), ["radio"]);
        assert!(damaged.unread().is_some());
    }
}
