//! Our topics in some event log: names with their prefix, and values over the inline limit by claim check.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use tributary_schemas::{Error, ErrorKind, Result, Topic, event};

use super::{BatchLimit, PartitionLag, Position, Record, SharedEventLog, StoredRecord, Subscription, TopicSettings};
use crate::blobs::Blobs;

const READ_ALL_BATCH: BatchLimit = BatchLimit { records: 1000, bytes: 8 << 20 };
const READ_ALL_WAIT: Duration = Duration::from_secs(10);

/// The log as services see it: topics by role.
#[derive(Clone)]
pub struct Topics {
    log: SharedEventLog,
    prefix: String,
    blobs: Blobs,
    inline_limit_bytes: usize,
}

impl Topics {
    /// Values over `inline_limit_bytes` go to `blobs`, and a reference travels.
    pub fn new(log: SharedEventLog, prefix: String, blobs: Blobs, inline_limit_bytes: usize) -> Self {
        Self { log, prefix, blobs, inline_limit_bytes }
    }

    /// Creates the topics that are not there yet.
    pub async fn create(&self, partitions: u32, retention_age: Option<Duration>, retention_bytes: Option<u64>) -> Result<()> {
        for topic in Topic::ALL {
            // Dead letters wait for somebody to look; what became of each reindex says which generation to go back to.
            let keeps_all = topic.is_compacted() || matches!(topic, Topic::DeadLetters | Topic::ReindexRequests);
            let settings = TopicSettings {
                partitions,
                compacted: topic.is_compacted(),
                retention_age: retention_age.filter(|_| !keeps_all),
                retention_bytes: retention_bytes.filter(|_| !keeps_all),
            };
            self.log.create_topic(&topic.full_name(&self.prefix), settings).await?;
        }
        Ok(())
    }

    /// Appends durably, see [`super::EventLog::append`].
    pub async fn append(&self, topic: Topic, records: Vec<Record>) -> Result<Vec<Position>> {
        let mut deposited = Vec::with_capacity(records.len());
        for record in records {
            deposited.push(self.deposit(record).await?);
        }
        self.log.append(&topic.full_name(&self.prefix), deposited).await
    }

    /// Everything that the topic holds now, in order within each partition. For topics of few records; they may need
    /// [`Topics::redeem`].
    pub async fn read_all(&self, topic: Topic) -> Result<Vec<StoredRecord>> {
        // The name of a group that never commits: only the ends matter here.
        let ends = self.lag(topic, "read-all").await?;
        let mut open: BTreeMap<u32, u64> = ends.iter().filter(|lag| lag.end > lag.start).map(|lag| (lag.partition, lag.end)).collect();
        let mut subscription = self.subscribe(topic, None).await?;
        let mut records = Vec::new();
        while !open.is_empty() {
            let batch = subscription.next_batch(READ_ALL_BATCH, READ_ALL_WAIT).await?;
            let read = batch.iter().map(|stored| Position { offset: stored.position.offset + 1, ..stored.position });
            let open_before = open.len();
            for position in read.chain(subscription.positions()) {
                if open.get(&position.partition).is_some_and(|end| position.offset >= *end) {
                    open.remove(&position.partition);
                }
            }
            if batch.is_empty() && open.len() == open_before {
                let what = format!("topic {} could not be read within {} s", topic.name(), READ_ALL_WAIT.as_secs());
                return Err(Error::new(ErrorKind::Timeout, what));
            }
            records.extend(batch);
        }
        Ok(records)
    }

    /// Opens a reader, see [`super::EventLog::subscribe`]. Its records may need [`Topics::redeem`].
    pub async fn subscribe(&self, topic: Topic, group: Option<&str>) -> Result<Box<dyn Subscription>> {
        self.log.subscribe(&topic.full_name(&self.prefix), group).await
    }

    /// How far a group is, see [`super::EventLog::lag`].
    pub async fn lag(&self, topic: Topic, group: &str) -> Result<Vec<PartitionLag>> {
        self.log.lag(&topic.full_name(&self.prefix), group).await
    }

    /// Forgets a group that will not come back, see [`super::EventLog::forget_group`].
    pub async fn forget_group(&self, topic: Topic, group: &str) -> Result<()> {
        self.log.forget_group(&topic.full_name(&self.prefix), group).await
    }

    /// Puts the value back that travelled as a reference.
    pub async fn redeem(&self, mut record: Record) -> Result<Record> {
        let Some(url) = record.header(event::CLAIM_CHECK).map(str::to_owned) else { return Ok(record) };
        record.value = Some(self.blobs.get(&url).await?);
        record.headers.retain(|(name, _)| name != event::CLAIM_CHECK);
        Ok(record)
    }

    async fn deposit(&self, mut record: Record) -> Result<Record> {
        let Some(value) = record.value.clone().filter(|value| value.len() > self.inline_limit_bytes) else { return Ok(record) };
        let bytes = value.len();
        let url = self.blobs.put(value).await?;
        record.value = Some(Bytes::from(format!(r#"{{"claim_check":"{url}","bytes":{bytes}}}"#)));
        record.headers.push((event::CLAIM_CHECK.to_owned(), Bytes::from(url)));
        Ok(record)
    }
}
