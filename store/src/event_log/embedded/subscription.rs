//! A reader of one topic: reads ahead on blocking threads, hands out what was read, and waits for
//! appends.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};
use tributary_schemas::{Error, ErrorKind, Result};

use super::counters::Counters;
use super::group::Group;
use super::partition::Cursor;
use super::topic::{Occupied, Topic};
use super::{Commands, blocking};
use crate::event_log::{BatchLimit, Position, StoredRecord, Subscription};

/// Read at least so much at once, however little is asked for.
const READ_AHEAD_BYTES: usize = 256 << 10;
const READ_AHEAD_RECORDS: usize = 256;
/// Longest wait that is really waited; keeps the arithmetic of deadlines from overflowing.
const MAXIMUM_WAIT: Duration = Duration::from_secs(365 * 24 * 3600);

/// A reader of one topic.
pub struct EmbeddedSubscription {
    topic: Arc<Topic>,
    group: Option<(Arc<Group>, Occupied)>,
    cursors: Vec<Cursor>,
    /// Partition whose turn it is to be read first.
    turn: usize,
    ahead: VecDeque<StoredRecord>,
    ahead_bytes: usize,
    appended: watch::Receiver<u64>,
    commands: Commands,
    counters: Arc<Counters>,
}

impl EmbeddedSubscription {
    /// Starts at the committed positions of the group, or at the start of the topic.
    pub fn open(
        topic: Arc<Topic>,
        group: Option<&str>,
        commands: Commands,
        counters: Arc<Counters>,
    ) -> Result<Self> {
        let group = match group {
            Some(name) => Some((topic.group(name)?, topic.occupy(name)?)),
            None => None,
        };
        let position = |partition: u32| {
            group
                .as_ref()
                .and_then(|(group, _)| group.committed(partition))
                .unwrap_or(0)
        };
        let cursors = topic
            .partitions
            .iter()
            .map(|partition| Cursor::at(position(partition.number)))
            .collect();
        let appended = topic.appended();
        Ok(Self {
            topic,
            group,
            cursors,
            turn: 0,
            ahead: VecDeque::new(),
            ahead_bytes: 0,
            appended,
            commands,
            counters,
        })
    }

    /// Goes on at these positions instead; other partitions stay where they are. For a reader that
    /// has read nothing yet.
    pub fn seek(&mut self, positions: &[Position]) {
        for position in positions {
            if let Some(cursor) = self.cursors.get_mut(position.partition as usize) {
                *cursor = Cursor::at(position.offset);
            }
        }
    }

    /// Reads on until `limit` can be filled or nothing is left. The state changes only after the
    /// last wait, so cancelling loses nothing.
    ///
    /// Returns whether it went past something that nobody can read any more.
    async fn read_ahead(&mut self, limit: BatchLimit) -> Result<bool> {
        while self.ahead.len() < limit.records
            && self.ahead_bytes < limit.bytes.max(1)
            && !self.is_at_end()
        {
            let (topic, cursors, turn) = (Arc::clone(&self.topic), self.cursors.clone(), self.turn);
            let (found, cursors) =
                match blocking(move || read_round(&topic, cursors, turn, limit)).await {
                    Ok(round) => round,
                    Err(_) if !self.ahead.is_empty() => return Ok(false),
                    Err(error) => return Err(error),
                };
            let has_moved = self
                .cursors
                .iter()
                .zip(&cursors)
                .any(|(before, after)| before.offset != after.offset);
            self.cursors = cursors;
            self.turn = (turn + 1) % self.cursors.len().max(1);
            if found.is_empty() {
                return Ok(has_moved);
            }
            let bytes: usize = found.iter().map(|stored| stored.record.size()).sum();
            self.counters.read_records.add(found.len() as u64);
            self.counters.read_bytes.add(bytes as u64);
            self.ahead_bytes += bytes;
            self.ahead.extend(found);
        }
        Ok(false)
    }

    fn is_at_end(&self) -> bool {
        self.topic
            .partitions
            .iter()
            .zip(&self.cursors)
            .all(|(partition, cursor)| cursor.offset >= partition.end())
    }

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

/// One read of each partition, beginning with the one whose turn it is.
fn read_round(
    topic: &Topic,
    mut cursors: Vec<Cursor>,
    turn: usize,
    limit: BatchLimit,
) -> Result<(Vec<StoredRecord>, Vec<Cursor>)> {
    let mut found: Vec<StoredRecord> = Vec::new();
    let mut failure = None;
    let (records, bytes) = (
        limit.records.max(READ_AHEAD_RECORDS),
        limit.bytes.max(READ_AHEAD_BYTES),
    );
    let count = topic.partitions.len();
    let share = |whole: usize, least: usize| (whole / count.max(1)).max(least);
    for index in (0..count).map(|step| (turn + step) % count) {
        match topic.partitions[index].read(
            &mut cursors[index],
            share(records, 16),
            share(bytes, READ_AHEAD_BYTES / 4),
        ) {
            Ok(more) => found.extend(more),
            Err(error) => {
                tracing::error!(topic = topic.name, partition = index, %error, "cannot read");
                failure = Some(error);
            }
        }
    }
    match failure {
        Some(error) if found.is_empty() => Err(error),
        _ => Ok((found, cursors)),
    }
}

#[async_trait]
impl Subscription for EmbeddedSubscription {
    async fn next_batch(&mut self, limit: BatchLimit, wait: Duration) -> Result<Vec<StoredRecord>> {
        if limit.records == 0 {
            return Ok(Vec::new());
        }
        let deadline = Instant::now() + wait.min(MAXIMUM_WAIT);
        loop {
            // Seen before the look, so that an append after the look wakes the wait below.
            self.appended.mark_unchanged();
            let has_moved = self.read_ahead(limit).await?;
            if !self.ahead.is_empty() || has_moved {
                return Ok(self.take(limit));
            }
            match timeout_at(deadline, self.appended.changed()).await {
                Ok(Ok(())) => {}
                // The sender lives in the topic that we hold, so it cannot be gone.
                Ok(Err(_)) | Err(_) => return Ok(Vec::new()),
            }
        }
    }

    fn positions(&self) -> Vec<Position> {
        let position = |(partition, cursor): (u32, &Cursor)| {
            let waiting = self
                .ahead
                .iter()
                .find(|stored| stored.position.partition == partition);
            Position {
                partition,
                offset: waiting.map_or(cursor.offset, |stored| stored.position.offset),
            }
        };
        (0..).zip(&self.cursors).map(position).collect()
    }

    async fn commit(&mut self, positions: &[Position]) -> Result<()> {
        let Some((group, _)) = &self.group else {
            return Err(Error::new(
                ErrorKind::Invalid,
                format!(
                    "a reader of topic `{}` without a group cannot commit",
                    self.topic.name
                ),
            ));
        };
        for position in positions {
            let end = self.topic.partition(position.partition)?.end();
            if position.offset > end {
                let place = format!(
                    "partition {} of topic `{}`",
                    position.partition, self.topic.name
                );
                return Err(Error::new(
                    ErrorKind::Invalid,
                    format!(
                        "position {} is beyond the end {end} of {place}",
                        position.offset
                    ),
                ));
            }
        }
        self.commands
            .commit(Arc::clone(group), positions.to_vec())
            .await
    }
}
