//! Our topics in some event log: names with their prefix, and values over the inline limit by claim
//! check.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tributary_schemas::{Error, ErrorKind, Result, Topic, event};

use super::reading::each_record;
use super::{
    BatchLimit, PartitionLag, Position, Record, SharedEventLog, StoredRecord, Subscription,
    TopicSettings,
};
use crate::blobs::Blobs;

const READ_ALL_BATCH: BatchLimit = BatchLimit {
    records: 1000,
    bytes: 8 << 20,
};
const READ_ALL_WAIT: Duration = Duration::from_secs(10);

/// Values of dead letters above this travel as references, however much is inline elsewhere.
const DEAD_LETTER_INLINE_BYTES: usize = 4 << 10;

/// The value of a record that travels as a reference.
#[derive(Deserialize, Serialize)]
struct Claim {
    claim_check: String,
    bytes: u64,
}

/// Bytes of the value that a record stands for with a reference; `None` for one that has its value
/// itself.
pub fn claimed_bytes(record: &Record) -> Option<u64> {
    record.header(event::CLAIM_CHECK)?;
    serde_json::from_slice::<Claim>(record.value.as_ref()?)
        .ok()
        .map(|claim| claim.bytes)
}

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
    pub fn new(
        log: SharedEventLog,
        prefix: String,
        blobs: Blobs,
        inline_limit_bytes: usize,
    ) -> Self {
        Self {
            log,
            prefix,
            blobs,
            inline_limit_bytes,
        }
    }

    /// Creates the topics that are not there yet.
    pub async fn create(
        &self,
        partitions: u32,
        retention_age: Option<Duration>,
        retention_bytes: Option<u64>,
    ) -> Result<()> {
        for topic in Topic::ALL {
            // What became of each reindex says which generation to go back to.
            let keeps_all = topic.is_compacted() || topic == Topic::ReindexRequests;
            let settings = TopicSettings {
                partitions,
                compacted: topic.is_compacted(),
                retention_age: retention_age.filter(|_| !keeps_all),
                retention_bytes: retention_bytes.filter(|_| !keeps_all),
            };
            self.log
                .create_topic(&topic.full_name(&self.prefix), settings)
                .await?;
        }
        Ok(())
    }

    /// Creates one topic of its own settings, or gives it them.
    pub async fn create_one(&self, topic: Topic, settings: TopicSettings) -> Result<()> {
        self.log
            .create_topic(&topic.full_name(&self.prefix), settings)
            .await
    }

    /// Appends durably, see [`super::EventLog::append`].
    pub async fn append(&self, topic: Topic, records: Vec<Record>) -> Result<Vec<Position>> {
        let mut deposited = Vec::with_capacity(records.len());
        for record in records {
            deposited.push(self.deposit(topic, record).await?);
        }
        self.log
            .append(&topic.full_name(&self.prefix), deposited)
            .await
    }

    /// Everything that the topic holds now, in order within each partition. For topics of few
    /// records; they may need [`Topics::redeem`].
    pub async fn read_all(&self, topic: Topic) -> Result<Vec<StoredRecord>> {
        let mut records = Vec::new();
        self.scan(topic, |stored| records.push(stored)).await?;
        Ok(records)
    }

    /// Shows `see` everything that the topic holds now, in order within each partition. Records may
    /// need [`Topics::redeem`]. `Timeout` if the topic does not come to its end.
    pub async fn scan(&self, topic: Topic, mut see: impl FnMut(StoredRecord)) -> Result<()> {
        // The name of a group that never commits: only the ends matter here.
        let ends = self.lag(topic, "read-all").await?;
        let mut open: BTreeMap<u32, u64> = ends
            .iter()
            .filter(|lag| lag.end > lag.start)
            .map(|lag| (lag.partition, lag.end))
            .collect();
        let mut subscription = self.subscribe(topic, None).await?;
        while !open.is_empty() {
            let batch = subscription
                .next_batch(READ_ALL_BATCH, READ_ALL_WAIT)
                .await?;
            let read = batch.iter().map(|stored| Position {
                offset: stored.position.offset + 1,
                ..stored.position
            });
            let open_before = open.len();
            for position in read.chain(subscription.positions()) {
                if open
                    .get(&position.partition)
                    .is_some_and(|end| position.offset >= *end)
                {
                    open.remove(&position.partition);
                }
            }
            if batch.is_empty() && open.len() == open_before {
                let what = format!(
                    "topic {} could not be read within {} s",
                    topic.name(),
                    READ_ALL_WAIT.as_secs()
                );
                return Err(Error::new(ErrorKind::Timeout, what));
            }
            batch.into_iter().for_each(&mut see);
        }
        Ok(())
    }

    /// Opens a reader, see [`super::EventLog::subscribe`]. Its records may need [`Topics::redeem`].
    pub async fn subscribe(
        &self,
        topic: Topic,
        group: Option<&str>,
    ) -> Result<Box<dyn Subscription>> {
        self.log
            .subscribe(&topic.full_name(&self.prefix), group)
            .await
    }

    /// Opens a reader without a group that begins at these positions, see
    /// [`super::EventLog::subscribe_from`].
    pub async fn subscribe_from(
        &self,
        topic: Topic,
        from: &[Position],
    ) -> Result<Box<dyn Subscription>> {
        self.log
            .subscribe_from(&topic.full_name(&self.prefix), from)
            .await
    }

    /// The record at a position, if it is still there. It may need [`Topics::redeem`].
    pub async fn read_at(&self, topic: Topic, position: Position) -> Result<Option<StoredRecord>> {
        // The name of a group that never commits: only the ends matter here.
        let ends = self.lag(topic, "read-all").await?;
        if !ends
            .iter()
            .any(|lag| lag.partition == position.partition && position.offset < lag.end)
        {
            return Ok(None);
        }
        let deadline = tokio::time::Instant::now() + READ_ALL_WAIT;
        // The other partitions from their ends on, so that none of their records come first.
        let from: Vec<Position> = ends
            .iter()
            .map(|lag| {
                if lag.partition == position.partition {
                    position
                } else {
                    Position {
                        partition: lag.partition,
                        offset: lag.end,
                    }
                }
            })
            .collect();
        let mut subscription = self.subscribe_from(topic, &from).await?;
        loop {
            let batch = subscription
                .next_batch(
                    BatchLimit {
                        records: 1,
                        bytes: 1,
                    },
                    READ_ALL_WAIT,
                )
                .await?;
            let is_past = |stored: &StoredRecord| {
                stored.position.partition == position.partition
                    && stored.position.offset >= position.offset
            };
            match batch.into_iter().find(is_past) {
                Some(stored) => return Ok((stored.position == position).then_some(stored)),
                // Appended to another partition meanwhile.
                None if tokio::time::Instant::now() < deadline => {}
                None => return Ok(None),
            }
        }
    }

    /// See [`super::EventLog::hold_for`].
    pub async fn hold_for(&self, topic: Topic, group: &str) -> Result<()> {
        self.log
            .hold_for(&topic.full_name(&self.prefix), group)
            .await
    }

    /// See [`super::EventLog::probe`].
    pub async fn probe(&self) -> Result<()> {
        self.log.probe().await
    }

    /// See [`each_record`].
    pub async fn each_record(&self, topic: Topic, each: impl FnMut(&StoredRecord)) -> Result<()> {
        each_record(self.log.as_ref(), &topic.full_name(&self.prefix), each).await
    }

    /// How far a group is, see [`super::EventLog::lag`].
    pub async fn lag(&self, topic: Topic, group: &str) -> Result<Vec<PartitionLag>> {
        self.log.lag(&topic.full_name(&self.prefix), group).await
    }

    /// Forgets a group that will not come back, see [`super::EventLog::forget_group`].
    pub async fn forget_group(&self, topic: Topic, group: &str) -> Result<()> {
        self.log
            .forget_group(&topic.full_name(&self.prefix), group)
            .await
    }

    /// Puts the value back that travelled as a reference.
    pub async fn redeem(&self, mut record: Record) -> Result<Record> {
        let Some(url) = record.header(event::CLAIM_CHECK).map(str::to_owned) else {
            return Ok(record);
        };
        record.value = Some(self.blobs.get(&url).await?);
        record
            .headers
            .retain(|(name, _)| name != event::CLAIM_CHECK);
        Ok(record)
    }

    async fn deposit(&self, topic: Topic, mut record: Record) -> Result<Record> {
        let limit = match topic {
            // Whoever lists them reads the whole topic.
            Topic::DeadLetters => self.inline_limit_bytes.min(DEAD_LETTER_INLINE_BYTES),
            // Small, and nothing looks there for names of blobs.
            Topic::Audit => usize::MAX,
            _ => self.inline_limit_bytes,
        };
        let Some(value) = record.value.clone().filter(|value| value.len() > limit) else {
            return Ok(record);
        };
        let bytes = value.len() as u64;
        let url = self.blobs.put(value).await?;
        let claim = serde_json::to_vec(&Claim {
            claim_check: url.clone(),
            bytes,
        })
        .map_err(|error| {
            Error::new(
                ErrorKind::Internal,
                format!("cannot encode a reference: {error}"),
            )
        })?;
        record.value = Some(claim.into());
        record
            .headers
            .push((event::CLAIM_CHECK.to_owned(), Bytes::from(url)));
        Ok(record)
    }
}
