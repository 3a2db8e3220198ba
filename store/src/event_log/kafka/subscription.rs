//! A reader of a topic on Kafka, as the trait wants it: batches out of the read-ahead, commits of
//! what it owns.

use std::collections::BTreeMap;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use rdkafka::config::FromClientConfigAndContext;
use rdkafka::consumer::Consumer as _;
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use tributary_schemas::{Error, ErrorKind, Result};

use super::brokers::Brokers;
use super::config::Config;
use super::consumer::{Consumer, Polling};
use super::membership::{Callbacks, Membership, State};
use super::metadata::Metadata;
use super::{blocking, committing, errors, group_id, lock};
use crate::event_log::{BatchLimit, Position, StoredRecord, Subscription};

/// Longest wait that is really waited; keeps the arithmetic of deadlines from overflowing.
const MAXIMUM_WAIT: Duration = Duration::from_secs(365 * 24 * 3600);
/// How long dropping a reader waits for it to leave its group.
const LEAVING: Duration = Duration::from_secs(2);

/// Where a reader begins.
pub enum Start {
    /// Where the group is, with the partitions that it gives.
    Group(String),
    /// At these offsets by partition, with all partitions; those that are not named from their
    /// start.
    At(BTreeMap<u32, u64>),
}

/// A reader of one topic.
pub struct KafkaSubscription {
    shared: Arc<Shared>,
    has_group: bool,
    /// Taken away as of the last batch, not yet asked for.
    revoked: Vec<u32>,
    session_timeout: Duration,
    is_closed: Receiver<()>,
}

struct Shared {
    topic: String,
    partitions: u32,
    /// `None` once the reader is dropped: its thread is the last to let go of it.
    consumer: Mutex<Option<Arc<Consumer>>>,
    membership: Arc<Membership>,
    metadata: Arc<Metadata>,
    timeout: Duration,
}

impl KafkaSubscription {
    /// Joins the group, or takes all partitions. Blocks.
    pub fn open(
        config: Config,
        metadata: Arc<Metadata>,
        topic: String,
        partitions: u32,
        start: Start,
    ) -> Result<Self> {
        let group = match &start {
            Start::Group(group) => Some(group.as_str()),
            Start::At(_) => None,
        };
        let membership = Arc::new(Membership::default());
        let settings = config.consumer(&group_id(&topic, group));
        let what = || format!("cannot subscribe to topic `{topic}`");
        let callbacks = Callbacks {
            membership: Arc::clone(&membership),
            brokers: Brokers::new(&config.brokers),
        };
        let created = Consumer::from_config_and_context(&settings, callbacks);
        let consumer = Arc::new(created.map_err(|error| errors::failed(what(), &error))?);
        let begun = match &start {
            Start::Group(_) => consumer.subscribe(&[&topic]),
            Start::At(positions) => {
                let all: Vec<u32> = (0..partitions).collect();
                membership.assign(&all);
                let from = all
                    .iter()
                    .map(|partition| (*partition, offset(positions.get(partition).copied())));
                list(&topic, from).and_then(|list| consumer.assign(&list))
            }
        };
        begun.map_err(|error| errors::failed(what(), &error))?;
        let polling = Polling {
            consumer: Arc::clone(&consumer),
            membership: Arc::clone(&membership),
            topic: topic.clone(),
            has_group: matches!(start, Start::Group(_)),
            read_ahead_bytes: config.read_ahead_bytes,
            timeout: config.request_timeout(),
        };
        let is_closed = polling.start()?;
        let consumer = Mutex::new(Some(consumer));
        let shared = Arc::new(Shared {
            topic,
            partitions,
            consumer,
            membership,
            metadata,
            timeout: config.request_timeout(),
        });
        let session_timeout = Duration::from_millis(config.session_timeout_ms);
        Ok(Self {
            shared,
            has_group: matches!(start, Start::Group(_)),
            revoked: Vec::new(),
            session_timeout,
            is_closed,
        })
    }

    /// What the reader is told through.
    pub fn membership(&self) -> &Arc<Membership> {
        &self.shared.membership
    }

    /// What is there to return now; `None` if there is nothing. Revocations are noted together with
    /// the records that came after them.
    fn take(&mut self, limit: BatchLimit) -> Option<Result<Vec<StoredRecord>>> {
        let mut state = self.shared.membership.state();
        let is_news = !state.revoked.is_empty();
        self.revoked.append(&mut state.revoked);
        let batch = state.take(limit);
        if !batch.is_empty() {
            drop(state);
            self.shared.membership.made_room();
            return Some(Ok(batch));
        }
        match state.problem.take() {
            Some(problem) => Some(Err(problem)),
            None => is_news.then(|| Ok(Vec::new())),
        }
    }
}

impl State {
    fn take(&mut self, limit: BatchLimit) -> Vec<StoredRecord> {
        let mut batch = Vec::with_capacity(limit.records.min(self.ahead.len()));
        let mut bytes = 0;
        while batch.len() < limit.records && (batch.is_empty() || bytes < limit.bytes) {
            let Some(stored) = self.ahead.pop_front() else {
                break;
            };
            bytes += stored.record.size();
            batch.push(stored);
        }
        self.ahead_bytes = self.ahead_bytes.saturating_sub(bytes);
        batch
    }
}

#[async_trait]
impl Subscription for KafkaSubscription {
    async fn next_batch(&mut self, limit: BatchLimit, wait: Duration) -> Result<Vec<StoredRecord>> {
        if limit.records == 0 {
            let mut state = self.shared.membership.state();
            self.revoked.append(&mut state.revoked);
            return Ok(Vec::new());
        }
        let shared = Arc::clone(&self.shared);
        let deadline = Instant::now() + wait.min(MAXIMUM_WAIT);
        loop {
            // Registered before the look, so that news after the look end the wait below.
            let news = shared.membership.news.notified();
            if let Some(batch) = self.take(limit) {
                return batch;
            }
            if timeout_at(deadline, news).await.is_err() {
                return Ok(Vec::new());
            }
        }
    }

    async fn commit(&mut self, positions: &[Position]) -> Result<()> {
        if !self.has_group {
            let what = format!(
                "a reader of topic `{}` without a group cannot commit",
                self.shared.topic
            );
            return Err(Error::new(ErrorKind::Invalid, what));
        }
        if positions.is_empty() {
            return Ok(());
        }
        let (shared, positions) = (Arc::clone(&self.shared), positions.to_vec());
        shared.joined(self.session_timeout).await?;
        blocking(move || shared.commit(&positions)).await
    }

    fn revoked(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.revoked)
    }

    fn revocation(&self, partition: u32) -> CancellationToken {
        let owned = self
            .shared
            .membership
            .state()
            .owned
            .get(&partition)
            .map(|owned| owned.revoked.clone());
        owned.unwrap_or_else(|| {
            let ended = CancellationToken::new();
            ended.cancel();
            ended
        })
    }
}

impl Drop for KafkaSubscription {
    fn drop(&mut self) {
        self.shared.membership.stop();
        lock(&self.shared.consumer).take();
        // A process that ends before it has left keeps its partitions from the others for the
        // length of a session.
        if self.is_closed.recv_timeout(LEAVING) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            tracing::warn!(
                topic = self.shared.topic,
                "a reader did not leave its group in time"
            );
        }
    }
}

impl Shared {
    /// Waits until the group has given this reader its share, so that a first commit finds out what
    /// it owns.
    async fn joined(&self, patience: Duration) -> Result<()> {
        let deadline = Instant::now() + patience;
        loop {
            let news = self.membership.news.notified();
            if self.membership.state().is_member {
                return Ok(());
            }
            // Short waits: the news may have gone to nobody.
            let look_again = deadline.min(Instant::now() + Duration::from_millis(50));
            if timeout_at(look_again, news).await.is_err() && Instant::now() >= deadline {
                let what = format!(
                    "the group has given this reader of topic `{}` no partitions yet",
                    self.topic
                );
                return Err(Error::new(ErrorKind::Unavailable, what));
            }
        }
    }

    fn consumer(&self) -> Result<Arc<Consumer>> {
        let gone = || {
            Error::new(
                ErrorKind::Unavailable,
                format!("the reader of topic `{}` was dropped", self.topic),
            )
        };
        lock(&self.consumer).clone().ok_or_else(gone)
    }

    /// Commits what is owned and ahead of what is committed. Blocks.
    fn commit(&self, positions: &[Position]) -> Result<()> {
        let _no_revocation = lock(&self.membership.commits);
        let mut furthest: BTreeMap<u32, u64> = BTreeMap::new();
        for position in positions {
            let offset = furthest.entry(position.partition).or_default();
            *offset = position.offset.max(*offset);
        }
        for (partition, offset) in &furthest {
            self.check(*partition, *offset)?;
        }
        self.learn_committed(furthest.keys().copied())?;
        {
            let state = self.membership.state();
            let committed =
                |partition: &u32| state.owned.get(partition).map(|owned| owned.committed);
            furthest.retain(|partition, offset| {
                committed(partition).is_some_and(|known| known.is_none_or(|known| *offset > known))
            });
        }
        if furthest.is_empty() {
            return Ok(());
        }
        let what = || format!("cannot commit positions of topic `{}`", self.topic);
        let offsets = furthest.iter().map(|(partition, offset)| {
            (
                *partition,
                Offset::Offset(i64::try_from(*offset).unwrap_or(i64::MAX)),
            )
        });
        let consumer = self.consumer()?;
        let committed = list(&self.topic, offsets)
            .and_then(|list| committing::commit(&consumer, &list, self.timeout));
        committed.map_err(|error| errors::failed(what(), &error))?;
        self.note_committed(furthest);
        Ok(())
    }

    fn note_committed(&self, offsets: BTreeMap<u32, u64>) {
        let mut state = self.membership.state();
        for (partition, offset) in offsets {
            if let Some(owned) = state.owned.get_mut(&partition) {
                owned.committed = Some(offset);
            }
        }
    }

    /// Refuses a position that no record can have yet; asks the brokers only about those that were
    /// not read here.
    fn check(&self, partition: u32, offset: u64) -> Result<()> {
        let owned = self.membership.state().owned.get(&partition).cloned();
        let refuse = |what: String| Err(Error::new(ErrorKind::Invalid, what));
        match owned {
            None if partition >= self.partitions => refuse(format!(
                "topic `{}` has no partition {partition}, but {}",
                self.topic, self.partitions
            )),
            None => Ok(()),
            Some(owned) if offset <= owned.end => Ok(()),
            Some(_) => {
                let end = self.metadata.end(&self.topic, partition)?;
                if offset > end {
                    return refuse(format!(
                        "position {offset} is beyond the end {end} of partition {partition} of topic `{}`",
                        self.topic
                    ));
                }
                Ok(())
            }
        }
    }

    /// Asks for the committed positions of partitions that this reader owns and has not committed
    /// yet.
    fn learn_committed(&self, partitions: impl Iterator<Item = u32>) -> Result<()> {
        let unknown: Vec<u32> = {
            let state = self.membership.state();
            partitions
                .filter(|partition| {
                    state
                        .owned
                        .get(partition)
                        .is_some_and(|owned| owned.committed.is_none())
                })
                .collect()
        };
        if unknown.is_empty() {
            return Ok(());
        }
        let asked = list(
            &self.topic,
            unknown
                .iter()
                .map(|partition| (*partition, Offset::Invalid)),
        );
        let consumer = self.consumer()?;
        let known = asked.and_then(|list| consumer.committed_offsets(list, self.timeout));
        let known = known.map_err(|error| {
            errors::failed(
                format_args!(
                    "cannot ask for committed positions of topic `{}`",
                    self.topic
                ),
                &error,
            )
        })?;
        let mut state = self.membership.state();
        for element in known.elements() {
            let (Ok(partition), offset) = (u32::try_from(element.partition()), element.offset())
            else {
                continue;
            };
            if let Some(owned) = state.owned.get_mut(&partition) {
                owned.committed = match offset {
                    Offset::Offset(offset) => u64::try_from(offset).ok(),
                    _ => Some(0),
                };
            }
        }
        Ok(())
    }
}

/// Partitions of one topic with an offset each, as librdkafka wants them.
pub fn list(
    topic: &str,
    offsets: impl Iterator<Item = (u32, Offset)>,
) -> rdkafka::error::KafkaResult<TopicPartitionList> {
    let mut list = TopicPartitionList::new();
    for (partition, offset) in offsets {
        list.add_partition_offset(topic, i32::try_from(partition).unwrap_or(i32::MAX), offset)?;
    }
    Ok(list)
}

/// An offset to begin at; the start of the partition for none.
fn offset(at: Option<u64>) -> Offset {
    at.map_or(Offset::Beginning, |at| {
        Offset::Offset(i64::try_from(at).unwrap_or(i64::MAX))
    })
}
