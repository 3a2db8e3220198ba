//! What a worker has read and not yet done: bounded, one record of a key in the stage at a time.

use std::collections::{HashMap, HashSet, VecDeque};

use bytes::Bytes;

use super::low_water::Assignment;
use super::{Claimed, WorkerSettings};
use crate::event_log::topics::claimed_bytes;
use crate::event_log::{BatchLimit, StoredRecord};

/// A record and the assignment under which it was read.
pub(super) struct Taken {
    pub stored: StoredRecord,
    pub assignment: Assignment,
    /// What it holds in memory while it is processed.
    pub bytes: usize,
    /// How often it was put back after it had failed.
    pub trials: u32,
}

impl Taken {
    /// A record that was just read.
    pub fn new(stored: StoredRecord, assignment: Assignment) -> Self {
        let bytes = held_bytes(&stored);
        Self {
            stored,
            assignment,
            bytes,
            trials: 0,
        }
    }
}

/// What is read and not yet done.
#[derive(Default)]
pub(super) struct InFlight {
    /// Read, key is free, not yet started.
    ready: VecDeque<Taken>,
    /// Read, behind a record of the same key.
    waiting: HashMap<Bytes, VecDeque<Taken>>,
    busy_keys: HashSet<Bytes>,
    records: usize,
    bytes: usize,
}

impl InFlight {
    /// How much may be read now; zero records while the limits are nearly reached: little by little
    /// costs more than at once.
    pub fn room(&self, settings: &WorkerSettings) -> BatchLimit {
        let limit = settings.in_flight_records.max(1);
        let bytes = settings.in_flight_bytes.saturating_sub(self.bytes);
        let records = limit.saturating_sub(self.records);
        let is_worthwhile = bytes > 0 && records > 0 && records >= limit / 4;
        BatchLimit {
            records: if is_worthwhile { records } else { 0 },
            bytes,
        }
    }

    /// Whether nothing is on its way.
    pub fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// A record was read.
    pub fn accept(&mut self, taken: Taken) {
        self.records += 1;
        self.bytes += taken.bytes;
        let key = taken.stored.record.key.clone();
        if self.busy_keys.insert(key.clone()) {
            self.ready.push_back(taken);
        } else {
            self.waiting.entry(key).or_default().push_back(taken);
        }
    }

    /// The next record that can be started.
    pub fn start(&mut self) -> Option<Taken> {
        self.ready.pop_front()
    }

    /// Frees the room of a record that is done.
    pub fn release(&mut self, record: &Claimed) {
        self.records -= 1;
        self.bytes -= record.bytes;
    }

    /// A record of this key was processed: the next one may start.
    pub fn free(&mut self, key: &Bytes) {
        let next = if self.waiting.is_empty() {
            None
        } else {
            self.waiting.get_mut(key).and_then(VecDeque::pop_front)
        };
        if let Some(next) = next {
            return self.ready.push_back(next);
        }
        if !self.waiting.is_empty() {
            self.waiting.remove(key);
        }
        self.busy_keys.remove(key);
    }

    /// Drops what was read of a partition that is another's now and has not been started; what runs
    /// frees its key when it ends, and its room when it is done.
    pub fn drop_partition(&mut self, partition: u32) {
        let is_lost = |taken: &Taken| taken.stored.position.partition == partition;
        let (mut records, mut bytes) = (0, 0);
        let mut forget = |taken: &Taken| {
            records += 1;
            bytes += taken.bytes;
        };
        for queue in self.waiting.values_mut() {
            queue.retain(|taken| {
                let lost = is_lost(taken);
                if lost {
                    forget(taken);
                }
                !lost
            });
        }
        self.waiting.retain(|_, queue| !queue.is_empty());
        let (lost, kept) = std::mem::take(&mut self.ready)
            .into_iter()
            .partition(is_lost);
        self.ready = kept;
        let lost: VecDeque<Taken> = lost;
        lost.iter().for_each(&mut forget);
        self.records -= records;
        self.bytes -= bytes;
        for taken in lost {
            self.free(&taken.stored.record.key);
        }
    }
}

/// Bytes that a record takes in memory while it is processed: with the body that a claim check
/// stands for.
fn held_bytes(stored: &StoredRecord) -> usize {
    let body = claimed_bytes(&stored.record).unwrap_or(0);
    stored
        .record
        .size()
        .saturating_add(usize::try_from(body).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event_log::{Position, Record};

    fn taken(partition: u32, offset: u64, key: &'static str) -> Taken {
        let record = Record {
            key: Bytes::from_static(key.as_bytes()),
            ..Record::default()
        };
        Taken::new(
            StoredRecord {
                position: Position { partition, offset },
                record,
            },
            Assignment::default(),
        )
    }

    #[test]
    fn dropping_a_partition_frees_its_keys_and_keeps_the_others() {
        let mut in_flight = InFlight::default();
        for record in [
            taken(0, 0, "a"),
            taken(0, 1, "a"),
            taken(1, 0, "b"),
            taken(0, 2, "c"),
            taken(1, 1, "b"),
        ] {
            in_flight.accept(record);
        }
        let running = in_flight.start().map(|taken| taken.stored);
        assert_eq!(
            running.as_ref().map(|stored| stored.record.key.as_ref()),
            Some(b"a".as_slice())
        );
        in_flight.drop_partition(0);
        assert_eq!(
            (
                in_flight.records,
                in_flight.ready.len(),
                in_flight.waiting.len()
            ),
            (3, 1, 1),
            "running a, ready b, waiting b"
        );
        // It comes back while the old record of its key still runs.
        in_flight.accept(taken(0, 0, "a"));
        assert_eq!(
            in_flight.ready.len(),
            1,
            "two records of a key run side by side"
        );
        let position = Position {
            partition: 0,
            offset: 0,
        };
        in_flight.free(&Bytes::from_static(b"a"));
        assert_eq!(
            (in_flight.ready.len(), in_flight.records),
            (2, 4),
            "room is freed only when the record is done"
        );
        in_flight.release(&Claimed {
            position,
            bytes: 1,
            assignment: Assignment::default(),
        });
        assert_eq!((in_flight.ready.len(), in_flight.records), (2, 3));
    }
}
