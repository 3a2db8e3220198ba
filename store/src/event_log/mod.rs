//! The event log: durable, partitioned, keyed records that consumer groups read at their own pace.
//!
//! Implementations: [`embedded::EmbeddedEventLog`] (files in the data folder),
//! [`kafka::KafkaEventLog`] (brokers that processes share). The suite in
//! `tests/conformance/event_log` states in tests what the docs here state in words; every
//! implementation runs it.

pub mod dead_letter;
pub mod embedded;
#[cfg(feature = "kafka")]
pub mod kafka;
pub mod kafka_config;
pub mod message;
pub mod reading;
pub mod stage;
pub mod topics;
pub mod worker;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use tokio_util::sync::CancellationToken;

use crate::Result;

/// One record as a producer gives it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Records of one key keep their order: they go to one partition. The document id on all our
    /// topics.
    pub key: Bytes,
    /// `None` is a tombstone: it deletes what the key stands for.
    pub value: Option<Bytes>,
    /// Names and values, in order; names may repeat.
    pub headers: Vec<(String, Bytes)>,
    /// Milliseconds since 1970. Kafka takes 0 for "now".
    pub timestamp_ms: i64,
}

impl Record {
    /// The first header of that name, if it is UTF-8.
    pub fn header(&self, name: &str) -> Option<&str> {
        let (_, value) = self.headers.iter().find(|(other, _)| other == name)?;
        std::str::from_utf8(value).ok()
    }

    /// Bytes that it holds: key, value and headers.
    pub fn size(&self) -> usize {
        let headers: usize = self
            .headers
            .iter()
            .map(|(name, value)| name.len() + value.len())
            .sum();
        self.key.len() + self.value.as_ref().map_or(0, Bytes::len) + headers
    }
}

/// Place of a record in a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Position {
    /// Partition, from 0.
    pub partition: u32,
    /// Offset within the partition, from 0; grows by at least 1 per record, never reused.
    pub offset: u64,
}

/// A record as a consumer gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRecord {
    /// Where it lies.
    pub position: Position,
    /// What was appended, unchanged.
    pub record: Record,
}

/// How far a group is with one partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartitionLag {
    /// Partition, from 0.
    pub partition: u32,
    /// First offset that can still be read.
    pub start: u64,
    /// Offset that the group would read next after a restart.
    pub committed: u64,
    /// Offset that the next append will get.
    pub end: u64,
    /// Timestamp of the record at `committed`, if there is one: age of the oldest uncommitted
    /// record.
    pub oldest_uncommitted_ms: Option<i64>,
}

impl PartitionLag {
    /// Offsets between committed and end: an upper bound of the records to come (compaction leaves
    /// gaps).
    pub fn records(&self) -> u64 {
        self.end.saturating_sub(self.committed.max(self.start))
    }
}

/// The event log.
///
/// **Order.** Records of one key are read in the order of their appends. Records of one `append`
/// call that go to one partition keep the order of the call. Nothing is promised across partitions.
///
/// **Durability.** When `append` returns `Ok`, all its records survive a crash of the process and a
/// loss of power, and every subscription sees them. When it returns an error, or the caller stops
/// waiting, any subset may have been written: callers append again and consumers are idempotent. A
/// record that was once delivered never disappears, except by compaction and retention.
///
/// **Groups.** The position of a group is durable when `commit` returns. A group that never
/// committed starts at the first record. Within one process a (topic, group) pair has at most one
/// live subscription in the embedded log: a second is refused with `Conflict`. Where several
/// members share a group (Kafka), each partition belongs to one of them at a time, see
/// [`Subscription::revoked`].
///
/// **Compaction.** On topics that are compacted, a record may vanish once a later one has its key;
/// the newest record of each key stays, and a newest tombstone may vanish once every group has
/// committed past it and the tombstone retention has passed. Offsets of the remaining records do
/// not change. Retention by size or age drops whole old segments, never one that a group has yet to
/// read which has committed or that [`EventLog::hold_for`] was called for, never on compacted
/// topics.
///
/// **Damage.** A record that rots at rest is never given out as another one. It is passed over:
/// readers go on behind it, its offset stays unused, and whoever keeps it says so (the embedded log
/// in its own log, its counters and `tributary doctor --verify`). Waiting would not bring it back,
/// and nothing else has to wait for it.
///
/// **Errors.** `Exhausted` when the disk is full (later appends work again once there is room),
/// `Denied` when it is read-only, `Invalid` for a record over the size limit, `NotFound` for a
/// topic that was never created, `Corrupt` for files that are missing altogether.
#[async_trait]
pub trait EventLog: Send + Sync {
    /// Creates the topic if it is not there. An existing one keeps its partitions.
    async fn create_topic(&self, topic: &str, settings: TopicSettings) -> Result<()>;

    /// Appends all records; returns their positions in the order of `records` once they are
    /// durable.
    async fn append(&self, topic: &str, records: Vec<Record>) -> Result<Vec<Position>>;

    /// Opens a reader. With a group it starts at the committed positions and may commit; without
    /// one it reads the whole topic from its start, and `commit` is refused with `Invalid`.
    async fn subscribe(&self, topic: &str, group: Option<&str>) -> Result<Box<dyn Subscription>>;

    /// Opens a reader without a group that begins at these positions, none beyond its partition's
    /// end, and at the start of every partition that none of them names. What is gone by
    /// compaction or retention is passed over.
    async fn subscribe_from(&self, topic: &str, from: &[Position])
    -> Result<Box<dyn Subscription>>;

    /// How far the group is, one entry per partition, by partition. For a group that never
    /// committed, `committed` is `start`.
    async fn lag(&self, topic: &str, group: &str) -> Result<Vec<PartitionLag>>;

    /// Forgets the positions of a group that will not come back, so that it holds nothing back any
    /// more. `Conflict` while it has a subscription; nothing to do for a group that is not
    /// known.
    async fn forget_group(&self, topic: &str, group: &str) -> Result<()>;

    /// Makes a group that has yet to commit hold what is there now, and all that comes, against
    /// retention. Brokers know no such thing: there nothing happens, and whoever runs them
    /// watches the age of what is unread.
    async fn hold_for(&self, _topic: &str, _group: &str) -> Result<()> {
        Ok(())
    }

    /// A round trip through whatever makes appends durable. `Internal` if it has ended for good;
    /// any other error may pass.
    async fn probe(&self) -> Result<()> {
        Ok(())
    }
}

/// A reader of one topic.
#[async_trait]
pub trait Subscription: Send {
    /// Records after those already returned, in order within each partition: at least one if one
    /// exists or arrives within `wait`, else none. It may return none early where what came
    /// next cannot be read any more, see [`Subscription::positions`]. Stops at `limit.records` or
    /// as soon as `limit.bytes` is reached, so one record over that limit is still returned.
    /// Cancelling the future loses nothing.
    async fn next_batch(&mut self, limit: BatchLimit, wait: Duration) -> Result<Vec<StoredRecord>>;

    /// Makes durable that everything **before** each given position is done: `offset` is the next
    /// to read. Never moves backwards: a lower position than the committed one is ignored.
    /// Positions of partitions that this reader no longer holds are ignored too.
    async fn commit(&mut self, positions: &[Position]) -> Result<()>;

    /// What each partition will be read from next, for logs that know it: everything before was
    /// returned, or is gone for good (rotted, compacted away). Who waits for a certain offset
    /// looks here, because no record with that offset may come.
    fn positions(&self) -> Vec<Position> {
        Vec::new()
    }

    /// Partitions that were given to another member of the group since the last call, as of the
    /// last `next_batch`. Records read from them before that batch belong to somebody else now:
    /// what is not yet done is dropped, and must not be committed. Should such a partition come
    /// back, it is read from its committed position again; records of it in that last batch are of
    /// this new time. `next_batch` ends its wait when partitions are taken away; one for no
    /// records only looks for them. A log with one reader per group never takes any away.
    fn revoked(&mut self) -> Vec<u32> {
        Vec::new()
    }

    /// Ends in the moment in which this partition is taken away, which may be before
    /// [`Subscription::revoked`] is asked: for whoever is about to publish what came of its
    /// records. Ended already for a partition that this reader does not hold.
    fn revocation(&self, _: u32) -> CancellationToken {
        CancellationToken::new()
    }
}

/// How much `next_batch` may return.
#[derive(Clone, Copy, Debug)]
pub struct BatchLimit {
    /// Records at most.
    pub records: usize,
    /// Bytes after which it stops.
    pub bytes: usize,
}

/// What a topic is created with.
#[derive(Clone, Copy, Debug)]
pub struct TopicSettings {
    /// Partitions, at least 1; fixed at creation.
    pub partitions: u32,
    /// Keep only the newest record of each key.
    pub compacted: bool,
    /// Retention by age of topics that are not compacted; `None` keeps all.
    pub retention_age: Option<Duration>,
    /// Retention by bytes per partition of topics that are not compacted; `None` keeps all.
    pub retention_bytes: Option<u64>,
}

/// Shared handle to whichever log runs.
pub type SharedEventLog = Arc<dyn EventLog>;
