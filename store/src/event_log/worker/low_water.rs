//! Which position of each partition may be committed: the first that is not done.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::event_log::Position;

/// Low-water marks of the partitions that a worker reads.
#[derive(Default)]
pub(super) struct LowWater {
    partitions: HashMap<u32, Partition>,
}

#[derive(Default)]
struct Partition {
    /// Read and not yet done.
    open: BTreeSet<u64>,
    /// Offset after the last one that was read.
    end: u64,
    committed: u64,
}

impl LowWater {
    /// A record was read.
    pub fn add(&mut self, position: Position) {
        let partition = self.partitions.entry(position.partition).or_default();
        partition.open.insert(position.offset);
        partition.end = partition.end.max(position.offset + 1);
    }

    /// A record is done.
    pub fn done(&mut self, position: Position) {
        if let Some(partition) = self.partitions.get_mut(&position.partition) {
            partition.open.remove(&position.offset);
        }
    }

    /// Positions that moved since they were last committed.
    pub fn uncommitted(&self) -> Vec<Position> {
        let marks: BTreeMap<u32, u64> = self
            .partitions
            .iter()
            .map(|(number, partition)| (*number, partition.mark(), partition.committed))
            .filter(|(_, mark, committed)| mark > committed)
            .map(|(number, mark, _)| (number, mark))
            .collect();
        marks.into_iter().map(|(partition, offset)| Position { partition, offset }).collect()
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
        Position { partition: 0, offset }
    }

    #[test]
    fn an_open_record_holds_back_everything_behind_it() {
        let mut low_water = LowWater::default();
        for offset in [5, 6, 9] {
            low_water.add(at(offset));
        }
        low_water.done(at(6));
        low_water.done(at(9));
        assert_eq!(low_water.uncommitted(), vec![at(5)]);
        low_water.committed(&[at(5)]);
        assert!(low_water.uncommitted().is_empty());
        low_water.done(at(5));
        assert_eq!(low_water.uncommitted(), vec![at(10)]);
    }
}
