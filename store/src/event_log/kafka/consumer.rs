//! The thread behind a reader: polls for as long as the reader lives, so that it stays in its group
//! however slow its worker is, and pauses fetching while the read-ahead is full.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use bytes::Bytes;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode as Code};
use rdkafka::message::{BorrowedMessage, Headers, Message};
use rdkafka::topic_partition_list::Offset;
use tributary_schemas::{Error, ErrorKind, Result};

use super::changes::Change;
use super::membership::{Callbacks, Membership, Room, numbers};
use super::subscription::list;
use super::{committing, errors};
use crate::event_log::{Position, Record, StoredRecord};

/// Longest time without a look at whether the reader is still wanted, and at whether a commit still
/// uses its client.
const POLL: Duration = Duration::from_millis(50);
/// How long a full read-ahead is waited for before fetching is paused: pausing throws away what
/// librdkafka has fetched.
const PATIENCE: Duration = Duration::from_millis(200);
/// Messages between two looks whether the reader is still wanted.
const AT_ONCE: usize = 16;

/// The client of a reader.
pub type Consumer = BaseConsumer<Callbacks>;

/// What the thread needs.
pub struct Polling {
    pub consumer: Arc<Consumer>,
    pub membership: Arc<Membership>,
    pub topic: String,
    /// Whether a group gives it its partitions and keeps its positions.
    pub has_group: bool,
    pub read_ahead_bytes: usize,
    /// Longest time for one request.
    pub timeout: Duration,
}

impl Polling {
    /// Starts the thread; what it returns says when the client has left its group.
    pub fn start(self) -> Result<Receiver<()>> {
        let (closed, is_closed) = channel::<()>();
        let spawned = std::thread::Builder::new()
            .name("kafka-reader".to_owned())
            .spawn(move || {
                self.run();
                // Whoever drops the client last waits until it has left its group: not a thread
                // that others wait for.
                while Arc::strong_count(&self.consumer) > 1 {
                    std::thread::sleep(POLL);
                }
                drop(self.consumer);
                drop(closed);
            });
        spawned
            .map(|_| is_closed)
            .map_err(|error| Error::io("cannot start a thread of the kafka event log", &error))
    }

    fn run(&self) {
        loop {
            self.consumer
                .context()
                .brokers
                .name_if_lost(self.consumer.client());
            self.follow_changes();
            let patience = if self.membership.state().is_paused {
                Duration::from_millis(20)
            } else {
                PATIENCE
            };
            match self
                .membership
                .wait_for_room(self.read_ahead_bytes, patience)
            {
                Room::Stopped => return,
                Room::Full => self.set_paused(true),
                Room::Free => self.set_paused(false),
            }
            let mut wait = POLL;
            for _ in 0..AT_ONCE {
                match self.consumer.poll(wait) {
                    None => break,
                    Some(Ok(message)) => {
                        if stored(&message).is_some_and(|stored| {
                            self.membership.accept(stored) >= self.read_ahead_bytes
                        }) {
                            break;
                        }
                    }
                    Some(Err(error)) if !self.report(&error) => return,
                    Some(Err(_)) => {}
                }
                wait = Duration::ZERO;
            }
        }
    }

    /// Acts on what became of the topic; again with the next round if it cannot now.
    fn follow_changes(&self) {
        let Some(change) = self.membership.state().change.take() else {
            return;
        };
        let done = match change {
            Change::Anew { partitions } if self.has_group => self.begin_anew(partitions),
            Change::Anew { partitions } => self.take_all(partitions),
            // The group gives them to somebody within a minute: librdkafka asks as often.
            Change::Grown { .. } if self.has_group => Ok(()),
            Change::Grown { partitions } => self.take_new(partitions),
        };
        if let Err(error) = done {
            let what = format!("cannot read topic `{}`, which was changed", self.topic);
            let error = errors::failed(what, &error);
            self.membership
                .report(Error::new(ErrorKind::Unavailable, error.to_string()));
            let mut state = self.membership.state();
            state.change.get_or_insert(change);
        }
    }

    /// Reads what the group gave it from the start. What is on its way is another topic's: nothing of
    /// it is committed.
    fn begin_anew(&self, partitions: u32) -> KafkaResult<()> {
        let mut owned: Vec<u32> = self.consumer.assignment().map(|list| numbers(&list))?;
        self.membership.revoke(&owned);
        // The group takes away what is there no more.
        owned.retain(|number| *number < partitions);
        if owned.is_empty() {
            return Ok(());
        }
        let start = |offset| list(&self.topic, owned.iter().map(|number| (*number, offset)));
        committing::commit(&self.consumer, &start(Offset::Offset(0))?, self.timeout)?;
        self.consumer
            .seek_partitions(start(Offset::Beginning)?, self.timeout)?;
        self.membership.assign(&owned);
        Ok(())
    }

    /// Reads all partitions of a new topic from their start.
    fn take_all(&self, partitions: u32) -> KafkaResult<()> {
        let before: Vec<u32> = self.membership.state().owned.keys().copied().collect();
        self.membership.revoke(&before);
        let all: Vec<u32> = (0..partitions).collect();
        let start = all.iter().map(|number| (*number, Offset::Beginning));
        // Else librdkafka goes on where it was in partitions that it knows.
        self.consumer.unassign()?;
        self.consumer.assign(&list(&self.topic, start)?)?;
        self.membership.assign(&all);
        Ok(())
    }

    /// Reads the partitions that a topic did not have before, from their start.
    fn take_new(&self, partitions: u32) -> KafkaResult<()> {
        let new: Vec<u32> = {
            let state = self.membership.state();
            (0..partitions)
                .filter(|number| !state.owned.contains_key(number))
                .collect()
        };
        let start = new.iter().map(|number| (*number, Offset::Beginning));
        self.consumer
            .incremental_assign(&list(&self.topic, start)?)?;
        // Only then: what is owned is not taken again, should it have failed.
        self.membership.assign(&new);
        Ok(())
    }

    fn set_paused(&self, paused: bool) {
        if self.membership.state().is_all(paused) {
            return;
        }
        let done = self.consumer.assignment().and_then(|assigned| {
            if paused {
                self.consumer.pause(&assigned)
            } else {
                self.consumer.resume(&assigned)
            }
        });
        match done {
            Ok(()) => {
                tracing::debug!(topic = self.topic, paused, "back-pressure");
                let mut state = self.membership.state();
                (state.is_paused, state.is_mixed) = (paused, false);
            }
            Err(error) => {
                tracing::warn!(topic = self.topic, %error, "cannot pause or resume reading")
            }
        }
    }

    /// Whether reading goes on.
    fn report(&self, error: &KafkaError) -> bool {
        self.consumer.context().brokers.notice(error);
        let what = format!("cannot read topic `{}`", self.topic);
        match error {
            KafkaError::PartitionEOF(_) => true,
            KafkaError::MessageConsumptionFatal(code) => {
                self.membership
                    .report(Error::new(ErrorKind::Internal, format!("{what}: {code}")));
                false
            }
            KafkaError::MessageConsumption(Code::PollExceeded) => {
                tracing::warn!(
                    topic = self.topic,
                    "this process stood still for longer than poll_timeout_ms; joining the group again"
                );
                true
            }
            other => {
                let error = errors::failed(what, other);
                // What nobody foresaw is tried again: librdkafka goes on by itself.
                let passing = Error::new(ErrorKind::Unavailable, error.to_string());
                self.membership
                    .report(if error.kind() == ErrorKind::Internal {
                        passing
                    } else {
                        error
                    });
                true
            }
        }
    }
}

/// The message as a record; `None` for places that are none.
fn stored(message: &BorrowedMessage<'_>) -> Option<StoredRecord> {
    let position = Position {
        partition: u32::try_from(message.partition()).ok()?,
        offset: u64::try_from(message.offset()).ok()?,
    };
    let record = Record {
        key: message
            .key()
            .map(Bytes::copy_from_slice)
            .unwrap_or_default(),
        value: message.payload().map(Bytes::copy_from_slice),
        headers: message
            .headers()
            .map(|headers| copy(headers, position))
            .unwrap_or_default(),
        timestamp_ms: message.timestamp().to_millis().unwrap_or(0),
    };
    Some(StoredRecord { position, record })
}

/// The binding panics on a header whose name is not UTF-8; any producer could send one.
fn copy(headers: &impl Headers, position: Position) -> Vec<(String, Bytes)> {
    let one = |index| {
        let read = catch_unwind(AssertUnwindSafe(|| {
            let header = headers.try_get(index)?;
            Some((
                header.key.to_owned(),
                header.value.map(Bytes::copy_from_slice).unwrap_or_default(),
            ))
        }));
        read.unwrap_or_else(|_| {
            tracing::warn!(?position, "left out a header whose name is not UTF-8");
            None
        })
    };
    (0..headers.count()).filter_map(one).collect()
}
