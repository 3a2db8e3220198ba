//! What one reader shares between its polling thread, librdkafka's rebalance callback and the async
//! side: the bounded read-ahead, and which partitions it owns.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use rdkafka::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, ConsumerContext, Rebalance};
use rdkafka::error::KafkaError;
use rdkafka::topic_partition_list::TopicPartitionList;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tributary_schemas::Error;

use super::brokers::Brokers;
use super::changes::Change;
use super::context::pass_on;
use super::lock;
use crate::event_log::StoredRecord;

/// One reader's share of its topic.
#[derive(Default)]
pub struct Membership {
    state: Mutex<State>,
    /// There is room in the read-ahead again, or the reader stops.
    room: Condvar,
    /// Records, a rebalance or an error came.
    pub news: Notify,
    /// Held while positions are committed, and while partitions are given up: no commit can come
    /// after the partition is another's.
    pub commits: Mutex<()>,
}

/// The state behind the lock.
#[derive(Default)]
pub struct State {
    /// Read, not yet handed out.
    pub ahead: VecDeque<StoredRecord>,
    /// Bytes of `ahead`.
    pub ahead_bytes: usize,
    /// Partitions that this reader owns.
    pub owned: HashMap<u32, Owned>,
    /// Whether the group has given it a share, be it an empty one.
    pub is_member: bool,
    /// Taken away and not yet reported.
    pub revoked: Vec<u32>,
    /// What became of the topic and was not acted on yet.
    pub change: Option<Change>,
    /// A failure to report once.
    pub problem: Option<Error>,
    /// The reader has been dropped.
    pub is_stopped: bool,
    /// Fetching is paused.
    pub is_paused: bool,
    /// Partitions were assigned since fetching was last paused or resumed: what holds for the
    /// others does not hold for them.
    pub is_mixed: bool,
}

/// An owned partition.
#[derive(Clone, Debug, Default)]
pub struct Owned {
    /// Cancelled in the moment in which it is taken away.
    pub revoked: CancellationToken,
    /// Offset after the last record that was read.
    pub end: u64,
    /// What the group has committed, once known.
    pub committed: Option<u64>,
}

/// Whether to fetch on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Room {
    /// The read-ahead takes more.
    Free,
    /// It does not.
    Full,
    /// The reader is gone.
    Stopped,
}

impl Membership {
    /// The state.
    pub fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Waits for at most `patience` until there is room. Paused reading goes on only when half of
    /// the room is free.
    pub fn wait_for_room(&self, limit_bytes: usize, patience: Duration) -> Room {
        let deadline = Instant::now() + patience;
        let mut state = self.state();
        loop {
            let room = state.room(limit_bytes);
            let left = deadline.saturating_duration_since(Instant::now());
            if room != Room::Full || left.is_zero() {
                return room;
            }
            state = self
                .room
                .wait_timeout(state, left)
                .unwrap_or_else(std::sync::PoisonError::into_inner)
                .0;
        }
    }

    /// Keeps a record that was read, unless its partition is not owned any more; says how many
    /// bytes are kept now.
    pub fn accept(&self, stored: StoredRecord) -> usize {
        let mut state = self.state();
        let position = stored.position;
        let Some(owned) = state.owned.get_mut(&position.partition) else {
            return state.ahead_bytes;
        };
        owned.end = owned.end.max(position.offset + 1);
        state.ahead_bytes += stored.record.size();
        state.ahead.push_back(stored);
        if state.ahead.len() == 1 {
            self.news.notify_one();
        }
        state.ahead_bytes
    }

    /// Says that records were taken out of the read-ahead.
    pub fn made_room(&self) {
        self.room.notify_one();
    }

    /// Reports a failure with the next batch.
    pub fn report(&self, problem: Error) {
        self.state().problem = Some(problem);
        self.news.notify_one();
    }

    /// What became of the topic, for the polling thread. That it is a new one outweighs all.
    pub fn tell(&self, change: Change) {
        let mut state = self.state();
        state.change = match (state.change, change) {
            (Some(Change::Anew { .. }), Change::Grown { partitions }) => {
                Some(Change::Anew { partitions })
            }
            _ => Some(change),
        };
    }

    /// Ends the reader.
    pub fn stop(&self) {
        self.state().is_stopped = true;
        self.room.notify_one();
    }

    /// These partitions are this reader's.
    pub fn assign(&self, partitions: &[u32]) {
        let mut state = self.state();
        state.owned.extend(
            partitions
                .iter()
                .map(|partition| (*partition, Owned::default())),
        );
        // Not paused are only the new ones: librdkafka leaves the others as they were.
        (state.is_member, state.is_mixed) = (true, true);
        drop(state);
        self.news.notify_one();
    }

    /// These partitions are another's from now on; waits for a commit in progress.
    pub fn revoke(&self, partitions: &[u32]) {
        let _no_commit = lock(&self.commits);
        let mut state = self.state();
        state.owned.retain(|partition, owned| {
            let is_lost = partitions.contains(partition);
            if is_lost {
                owned.revoked.cancel();
            }
            !is_lost
        });
        state
            .ahead
            .retain(|stored| !partitions.contains(&stored.position.partition));
        state.ahead_bytes = state.ahead.iter().map(|stored| stored.record.size()).sum();
        state.revoked.extend(partitions);
        drop(state);
        self.room.notify_one();
        self.news.notify_one();
    }
}

impl State {
    /// Whether every partition is paused, or none is, as asked for.
    pub fn is_all(&self, paused: bool) -> bool {
        self.is_paused == paused && !self.is_mixed
    }

    fn room(&self, limit_bytes: usize) -> Room {
        let limit = if self.is_paused {
            limit_bytes / 2
        } else {
            limit_bytes
        };
        match (
            self.is_stopped,
            self.ahead.is_empty() || self.ahead_bytes < limit,
        ) {
            (true, _) => Room::Stopped,
            (false, true) => Room::Free,
            (false, false) => Room::Full,
        }
    }
}

/// Receives rebalances, log lines and errors of the reader's client.
pub struct Callbacks {
    pub membership: Arc<Membership>,
    /// Told of errors.
    pub brokers: Brokers,
}

impl ClientContext for Callbacks {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        pass_on(level, facility, message);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        tracing::debug!(%error, reason, "kafka consumer");
        self.brokers.notice(&error);
    }
}

impl ConsumerContext for Callbacks {
    fn pre_rebalance(&self, _: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        match rebalance {
            Rebalance::Assign(list) => {
                tracing::info!(partitions = ?numbers(list), "kafka assigned partitions");
                self.membership.assign(&numbers(list));
            }
            Rebalance::Revoke(list) => {
                tracing::info!(partitions = ?numbers(list), "kafka revoked partitions");
                self.membership.revoke(&numbers(list));
            }
            Rebalance::Error(error) => tracing::warn!(%error, "kafka rebalance failed"),
        }
    }
}

/// Numbers of the partitions of a list.
pub fn numbers(list: &TopicPartitionList) -> Vec<u32> {
    list.elements()
        .iter()
        .filter_map(|element| u32::try_from(element.partition()).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::event_log::{Position, Record};

    fn stored(partition: u32, offset: u64) -> StoredRecord {
        let record = Record {
            value: Some(Bytes::from_static(b"0123456789")),
            ..Record::default()
        };
        StoredRecord {
            position: Position { partition, offset },
            record,
        }
    }

    #[test]
    fn what_is_read_ahead_of_a_revoked_partition_is_gone() {
        let membership = Membership::default();
        membership.assign(&[0, 1]);
        for (partition, offset) in [(0, 5), (1, 7), (0, 6)] {
            membership.accept(stored(partition, offset));
        }
        membership.revoke(&[0]);
        membership.accept(stored(0, 7));
        let state = membership.state();
        assert_eq!(
            state
                .ahead
                .iter()
                .map(|stored| stored.position.partition)
                .collect::<Vec<_>>(),
            [1]
        );
        assert_eq!(
            (state.ahead_bytes, state.revoked.as_slice()),
            (10, [0].as_slice())
        );
        assert_eq!(state.owned.keys().copied().collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn a_partition_that_comes_back_is_held_anew() {
        let membership = Membership::default();
        let revoked = |partition: u32| {
            membership
                .state()
                .owned
                .get(&partition)
                .map(|owned| owned.revoked.clone())
        };
        membership.assign(&[0, 1]);
        let (before, other) = (revoked(0), revoked(1));
        membership.revoke(&[0]);
        membership.assign(&[0]);
        let ended =
            [before, revoked(0), other].map(|token| token.map(|token| token.is_cancelled()));
        assert_eq!(ended, [Some(true), Some(false), Some(false)]);
    }

    #[test]
    fn after_an_assignment_fetching_is_paused_or_resumed_anew() {
        let membership = Membership::default();
        membership.assign(&[0]);
        let is_all = |paused| membership.state().is_all(paused);
        assert!(
            !is_all(true) && !is_all(false),
            "what librdkafka does with new partitions is not known"
        );
        {
            let mut state = membership.state();
            (state.is_paused, state.is_mixed) = (true, false);
        }
        assert!(is_all(true));
        membership.assign(&[1]);
        assert!(!is_all(true), "1 would be fetched");
        membership.accept(stored(0, 0));
        assert_eq!(
            membership.wait_for_room(30, Duration::ZERO),
            Room::Free,
            "room is there at half of the limit only"
        );
        assert!(!is_all(false), "0 would stay paused for ever");
    }

    #[test]
    fn reading_pauses_at_the_limit_and_goes_on_at_half_of_it() {
        let membership = Membership::default();
        membership.assign(&[0]);
        let room = || membership.wait_for_room(30, Duration::ZERO);
        for offset in 0..3 {
            assert_eq!(room(), Room::Free);
            membership.accept(stored(0, offset));
        }
        assert_eq!(room(), Room::Full);
        membership.state().is_paused = true;
        for (left, expected) in [(20, Room::Full), (10, Room::Free)] {
            membership.state().ahead_bytes = left;
            assert_eq!(room(), expected, "{left} bytes left");
        }
        membership.stop();
        assert_eq!(room(), Room::Stopped);
    }
}
