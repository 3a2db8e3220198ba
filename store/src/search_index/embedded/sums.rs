//! Checksums of the records of other columns: a column of CRC-32, one per row, and what has been
//! checked against it since the files were opened. Each row is checked when it is first read.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use tributary_schemas::Result;

use super::column::{Column, ColumnMap};

/// Bytes of a checksum.
const WIDTH: usize = 4;

/// The writing side.
#[derive(Debug)]
pub struct SumColumn {
    column: Column,
    checks: Arc<Checks>,
}

/// The reading side.
#[derive(Clone, Debug)]
pub struct Sums {
    map: Arc<ColumnMap>,
    checks: Arc<Checks>,
}

/// What is known of the rows, shared by all snapshots of an epoch.
#[derive(Debug, Default)]
struct Checks {
    path: PathBuf,
    /// One bit per row: checked and found right.
    right: RwLock<Vec<AtomicU64>>,
    wrong: Mutex<BTreeSet<usize>>,
}

impl SumColumn {
    /// Creates an empty column.
    pub fn create(path: &Path, dimensions: usize) -> Result<Self> {
        Ok(Self::over(Column::create(path, WIDTH, dimensions)?, path))
    }

    /// Opens a column that must hold `rows` checksums.
    pub fn open(path: &Path, dimensions: usize, rows: usize) -> Result<Self> {
        Ok(Self::over(
            Column::open(path, WIDTH, dimensions, rows)?,
            path,
        ))
    }

    fn over(column: Column, path: &Path) -> Self {
        Self {
            column,
            checks: Arc::new(Checks {
                path: path.to_owned(),
                ..Checks::default()
            }),
        }
    }

    /// Appends checksums as [`append_sum`] writes them.
    pub fn append(&mut self, sums: &[u8]) -> Result<()> {
        self.column.append(sums)
    }

    /// Makes everything appended durable.
    pub fn sync(&self) -> Result<()> {
        self.column.sync()
    }

    /// The reading side of everything appended so far.
    pub fn sums(&self) -> Sums {
        Sums {
            map: self.column.map(),
            checks: Arc::clone(&self.checks),
        }
    }
}

/// Adds the checksum of one row, whose parts are given in order.
pub fn append_sum<'a>(sums: &mut Vec<u8>, parts: impl IntoIterator<Item = &'a [u8]>) {
    sums.extend(sum(parts).to_le_bytes());
}

fn sum<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    parts.into_iter().for_each(|part| hasher.update(part));
    hasher.finalize()
}

impl Sums {
    /// Whether the row's parts are those that were written. Looks at them the first time only.
    pub fn is_right<'a>(&self, row: usize, parts: impl IntoIterator<Item = &'a [u8]>) -> bool {
        if self.checks.is_known(row) {
            return true;
        }
        let right = self.matches(row, parts);
        if right {
            self.checks.note_right(row)
        } else {
            self.checks.note_wrong(row)
        }
        right
    }

    /// The same without remembering and without a word.
    pub fn matches<'a>(&self, row: usize, parts: impl IntoIterator<Item = &'a [u8]>) -> bool {
        sum(parts).to_le_bytes() == self.bytes(row)
    }

    /// The checksum of a row as it is stored.
    pub fn bytes(&self, row: usize) -> &[u8] {
        self.map.bytes(row..row + 1)
    }

    /// Rows that were found damaged since the files were opened.
    pub fn wrong(&self) -> usize {
        self.checks
            .wrong
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .len()
    }
}

impl Checks {
    fn is_known(&self, row: usize) -> bool {
        let right = self.right.read().unwrap_or_else(PoisonError::into_inner);
        right
            .get(row / 64)
            .is_some_and(|word| word.load(Ordering::Relaxed) >> (row % 64) & 1 == 1)
    }

    fn note_right(&self, row: usize) {
        let right = self.right.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(word) = right.get(row / 64) {
            word.fetch_or(1 << (row % 64), Ordering::Relaxed);
            return;
        }
        drop(right);
        let mut right = self.right.write().unwrap_or_else(PoisonError::into_inner);
        if right.len() <= row / 64 {
            let words = (row / 64 + 1).next_power_of_two();
            right.resize_with(words, AtomicU64::default);
        }
        right[row / 64].fetch_or(1 << (row % 64), Ordering::Relaxed);
    }

    fn note_wrong(&self, row: usize) {
        if self
            .wrong
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(row)
        {
            tracing::error!(sums = %self.path.display(), row, "a row of the index is damaged and is left out: `tributary doctor --verify` says more");
        }
    }
}
