//! Which position of each partition may be committed: the first that is not done. A partition that
//! was given to another worker is forgotten; what comes of its records afterwards counts for
//! nothing, also should the partition come back.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::event_log::Position;

/// What a record remembers of the [`Held`] time that it was read in.
pub(super) type Assignment = Arc<Held>;

/// The time from when this worker got a partition until it was taken away.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// No two have the same.
    epoch: u64,
    /// Cancelled when the partition is another's.
    pub revoked: CancellationToken,
}

/// Low-water marks of the partitions that a worker reads.
#[derive(Default)]
pub(super) struct LowWater {
    partitions: HashMap<u32, Partition>,
    epochs: u64,
}

#[derive(Default)]
struct Partition {
    assignment: Assignment,
    /// Read and not yet done.
    open: BTreeSet<u64>,
    /// Offset after the last one that was read.
    end: u64,
    committed: u64,
}

impl LowWater {
    /// A record was read; says under which assignment. A new one ends with what `revocation` gives,
    /// see [`crate::event_log::Subscription::revocation`], or when the partition is forgotten.
    pub fn add(
        &mut self,
        position: Position,
        revocation: impl FnOnce() -> CancellationToken,
    ) -> Assignment {
        let epochs = &mut self.epochs;
        let partition = self
            .partitions
            .entry(position.partition)
            .or_insert_with(|| {
                *epochs += 1;
                // A child: to forget an old time must not end the new one of a partition that came
                // back at once.
                Partition {
                    assignment: Arc::new(Held {
                        epoch: *epochs,
                        revoked: revocation().child_token(),
                    }),
                    ..Partition::default()
                }
            });
        partition.open.insert(position.offset);
        partition.end = partition.end.max(position.offset + 1);
        Arc::clone(&partition.assignment)
    }

    /// A record is done that was read under this assignment. After its end nothing of it is
    /// appended any more, so nothing counts as done.
    pub fn done(&mut self, position: Position, assignment: &Assignment) {
        if let Some(partition) = self.partitions.get_mut(&position.partition)
            && partition.assignment.epoch == assignment.epoch
            && !assignment.revoked.is_cancelled()
        {
            partition.open.remove(&position.offset);
        }
    }

    /// The partition is another's now.
    pub fn forget(&mut self, partition: u32) {
        if let Some(forgotten) = self.partitions.remove(&partition) {
            forgotten.assignment.revoked.cancel();
        }
    }

    /// Positions that moved since they were last committed.
    pub fn uncommitted(&self) -> Vec<Position> {
        let marks: BTreeMap<u32, u64> = self
            .partitions
            .iter()
            .filter(|(_, partition)| !partition.assignment.revoked.is_cancelled())
            .map(|(number, partition)| (*number, partition.mark(), partition.committed))
            .filter(|(_, mark, committed)| mark > committed)
            .map(|(number, mark, _)| (number, mark))
            .collect();
        marks
            .into_iter()
            .map(|(partition, offset)| Position { partition, offset })
            .collect()
    }

    /// These positions are committed.
    pub fn committed(&mut self, positions: &[Position]) {
        for position in positions {
            if let Some(partition) = self.partitions.get_mut(&position.partition) {
                partition.committed = position.offset;
            }
        }
    }
}

impl Partition {
    fn mark(&self) -> u64 {
        self.open.first().copied().unwrap_or(self.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(offset: u64) -> Position {
        Position {
            partition: 0,
            offset,
        }
    }

    #[test]
    fn an_open_record_holds_back_everything_behind_it() {
        let mut low_water = LowWater::default();
        let assignments = [5, 6, 9].map(|offset| low_water.add(at(offset), CancellationToken::new));
        let assignment = &assignments[0];
        low_water.done(at(6), assignment);
        low_water.done(at(9), assignment);
        assert_eq!(low_water.uncommitted(), vec![at(5)]);
        low_water.committed(&[at(5)]);
        assert!(low_water.uncommitted().is_empty());
        low_water.done(at(5), assignment);
        assert_eq!(low_water.uncommitted(), vec![at(10)]);
    }

    #[test]
    fn what_was_read_before_a_partition_was_taken_away_counts_for_nothing_when_it_comes_back() {
        let mut low_water = LowWater::default();
        let before = low_water.add(at(5), CancellationToken::new);
        low_water.add(at(6), CancellationToken::new);
        low_water.forget(0);
        assert!(before.revoked.is_cancelled() && low_water.uncommitted().is_empty());
        low_water.done(at(5), &before);
        assert!(
            low_water.uncommitted().is_empty(),
            "a partition that is another's is committed"
        );
        let after = low_water.add(at(5), CancellationToken::new);
        low_water.done(at(5), &before);
        assert_eq!(
            low_water.uncommitted(),
            vec![at(5)],
            "5 is not done under this assignment"
        );
        low_water.done(at(5), &after);
        assert_eq!(low_water.uncommitted(), vec![at(6)]);
    }

    #[test]
    fn what_ends_after_the_revocation_is_not_done_although_nobody_has_forgotten_the_partition_yet()
    {
        let (mut low_water, revocation) = (LowWater::default(), CancellationToken::new());
        let assignment = low_water.add(at(5), || revocation.clone());
        revocation.cancel();
        low_water.done(at(5), &assignment);
        assert!(
            low_water.uncommitted().is_empty(),
            "its outputs were not appended"
        );
    }
}
