//! Lists: whether the items of a list have numbers, and which ([MS-DOC] 2.9.131, 2.9.147, 2.9.150).

use std::collections::BTreeMap;

use crate::office::bytes::{size_at, u8_at, u16_at, u32_at};

/// Number formats that show no number: bullets, and none at all.
const BULLET: u8 = 23;
const NONE: u8 = 255;
/// Levels of a list.
const LEVELS: usize = 9;

#[derive(Clone, Copy, Debug)]
struct Level {
    start: u64,
    format: u8,
}

/// The lists of a document, and how far each was counted.
#[derive(Debug, Default)]
pub(super) struct Lists {
    /// Levels by list identifier.
    levels: BTreeMap<u32, Vec<Level>>,
    /// List identifier of each entry that paragraphs name.
    overrides: Vec<u32>,
    counted: BTreeMap<u32, [Option<u64>; LEVELS]>,
}

impl Lists {
    /// Reads the lists at the start of `table_from_lists` (the table stream from where they begin;
    /// `length` is that of their fixed part) and the overrides.
    pub(super) fn read(table_from_lists: &[u8], length: usize, overrides: &[u8]) -> Self {
        let levels = if length == 0 {
            BTreeMap::new()
        } else {
            levels(table_from_lists, length).unwrap_or_default()
        };
        let count = size_at(overrides, 0).unwrap_or(0).min(overrides.len() / 16);
        let overrides = (0..count)
            .map_while(|index| u32_at(overrides, 4 + 16 * index))
            .collect();
        Self {
            levels,
            overrides,
            counted: BTreeMap::new(),
        }
    }

    /// Number of the next item of a list (1 is the first) at a level; `None` for a bullet.
    pub(super) fn next_number(&mut self, list: u16, level: u8) -> Option<u64> {
        let identifier = *self.overrides.get(usize::from(list).checked_sub(1)?)?;
        let level = usize::from(level).min(LEVELS - 1);
        let described = *self.levels.get(&identifier)?.get(level)?;
        let counted = self.counted.entry(identifier).or_default();
        counted
            .iter_mut()
            .skip(level + 1)
            .for_each(|deeper| *deeper = None);
        let slot = counted.get_mut(level)?;
        let number = slot.map_or(described.start, |number| number.saturating_add(1));
        *slot = Some(number);
        (!matches!(described.format, BULLET | NONE)).then_some(number)
    }
}

fn levels(table: &[u8], length: usize) -> Option<BTreeMap<u32, Vec<Level>>> {
    let count = usize::from(u16_at(table, 0)?).min(length / 28);
    let mut at = length;
    let mut lists = BTreeMap::new();
    for index in 0..count {
        let identifier = u32_at(table, 2 + 28 * index)?;
        let is_simple = u8_at(table, 2 + 28 * index + 26)? & 1 == 1;
        let mut levels = Vec::new();
        for _ in 0..if is_simple { 1 } else { LEVELS } {
            let Some((level, size)) = level(table, at) else {
                break;
            };
            levels.push(level);
            at += size;
        }
        lists.insert(identifier, levels);
    }
    Some(lists)
}

/// A level and the bytes that it takes.
fn level(table: &[u8], at: usize) -> Option<(Level, usize)> {
    let start = u64::from(u32_at(table, at)?).min(1 << 30);
    let format = u8_at(table, at + 4)?;
    let properties = usize::from(u8_at(table, at + 24)?) + usize::from(u8_at(table, at + 25)?);
    let text = usize::from(u16_at(table, at + 28 + properties)?);
    Some((Level { start, format }, 28 + properties + 2 + 2 * text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn simple_list(identifier: u32, start: u32, format: u8) -> Vec<u8> {
        let mut table = vec![1, 0];
        table.extend(identifier.to_le_bytes());
        table.resize(2 + 26, 0);
        table.extend([1, 0]);
        let fixed = table.len();
        table.extend(start.to_le_bytes());
        table.push(format);
        table.resize(fixed + 28, 0);
        table.extend([0, 0]);
        table
    }

    #[test]
    fn numbers_go_on_and_bullets_have_none() {
        let mut overrides = vec![1, 0, 0, 0];
        overrides.extend(7_u32.to_le_bytes());
        overrides.resize(20, 0);
        let mut numbered = Lists::read(&simple_list(7, 3, 0), 30, &overrides);
        assert_eq!(
            [
                numbered.next_number(1, 0),
                numbered.next_number(1, 0),
                numbered.next_number(2, 0)
            ],
            [Some(3), Some(4), None]
        );
        let mut bullets = Lists::read(&simple_list(7, 1, BULLET), 30, &overrides);
        assert_eq!(bullets.next_number(1, 0), None);
        assert_eq!(Lists::read(&[], 0, &[]).next_number(1, 0), None);
    }
}
