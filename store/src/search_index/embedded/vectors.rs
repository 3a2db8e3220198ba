//! The vectors of one field: one row per vector in three columns: 8-bit codes for the scan, their
//! scales, and the exact f32 values. Written by `generation`; read by `vector_search`. A fourth
//! column, `sums`, has the CRC-32 of each row's code, scale and values: a row whose bytes differ is
//! left out where its exact values are asked for, so the worst that a damaged code can do is to
//! hide its own row.
//!
//! A code is `round(value / scale) + 128` with `scale = max|value| / 127`, padded with 128 (zero)
//! to a multiple of 64 bytes.

use std::path::Path;
use std::sync::Arc;

use tributary_schemas::Result;

use super::bitmap::{Bitmap, bits};
use super::bits::Bits;
use super::column::{Column, ColumnMap};
use super::kernel::{ALIGNMENT, CodeQuery, Kernel};
use super::sums::{SumColumn, Sums, append_sum};
use super::top::{Scored, Top};

/// A zero.
const BIAS: f32 = 128.0;

/// Rows scored at once: one word of the bitmap.
const TOGETHER: usize = 64;

/// Allowed rows per row wanted from which on the one-bit codes are asked.
const PREFILTER_PAYS: usize = 20;

/// With fewer allowed rows than this among 64, they are scored one by one.
const DENSE: u32 = 20;

/// The writing side of one field.
#[derive(Debug)]
pub struct VectorColumns {
    dimensions: usize,
    codes: Column,
    scales: Column,
    values: Column,
    sums: SumColumn,
}

/// The vectors as of one commit.
#[derive(Clone, Debug)]
pub struct Vectors {
    dimensions: usize,
    rows: usize,
    codes: Arc<ColumnMap>,
    scales: Arc<ColumnMap>,
    values: Arc<ColumnMap>,
    sums: Sums,
    bits: Option<Bits>,
}

/// Vectors encoded and not yet written.
#[derive(Debug, Default)]
pub struct Encoded {
    codes: Vec<u8>,
    scales: Vec<u8>,
    values: Vec<u8>,
    sums: Vec<u8>,
}

/// Whether the rows of a commit have checksums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sealed {
    /// Every row has one.
    Yes,
    /// The format of before: what is found is believed, and gets its checksums now.
    Before,
}

impl VectorColumns {
    /// Creates empty columns named `<name>.codes`, `.scales`, `.values` and `.sums` in a folder.
    pub fn create(folder: &Path, name: &str, dimensions: usize) -> Result<Self> {
        let [codes, scales, values] = paths(folder, name);
        Ok(Self {
            dimensions,
            codes: Column::create(&codes, stride(dimensions), dimensions)?,
            scales: Column::create(&scales, 4, dimensions)?,
            values: Column::create(&values, dimensions * 4, dimensions)?,
            sums: SumColumn::create(&sums_path(folder, name), dimensions)?,
        })
    }

    /// Opens columns that must hold `rows` rows.
    pub fn open(
        folder: &Path,
        name: &str,
        dimensions: usize,
        rows: usize,
        sealed: Sealed,
    ) -> Result<Self> {
        let [codes, scales, values] = paths(folder, name);
        let codes = Column::open(&codes, stride(dimensions), dimensions, rows)?;
        let scales = Column::open(&scales, 4, dimensions, rows)?;
        let values = Column::open(&values, dimensions * 4, dimensions, rows)?;
        let path = sums_path(folder, name);
        let sums = match (SumColumn::open(&path, dimensions, rows), sealed) {
            (Err(_), Sealed::Before) => seal(
                &path,
                dimensions,
                rows,
                [&codes.map(), &scales.map(), &values.map()],
            )?,
            (opened, _) => opened?,
        };
        Ok(Self {
            dimensions,
            codes,
            scales,
            values,
            sums,
        })
    }

    /// Appends rows.
    pub fn append(&mut self, encoded: &Encoded) -> Result<()> {
        self.codes.append(&encoded.codes)?;
        self.scales.append(&encoded.scales)?;
        self.values.append(&encoded.values)?;
        self.sums.append(&encoded.sums)
    }

    /// Makes everything appended durable.
    pub fn sync(&self) -> Result<()> {
        self.codes.sync()?;
        self.scales.sync()?;
        self.values.sync()?;
        self.sums.sync()
    }

    /// The reading side of everything appended so far.
    pub fn vectors(&self) -> Vectors {
        Vectors {
            dimensions: self.dimensions,
            rows: self.values.records(),
            codes: self.codes.map(),
            scales: self.scales.map(),
            values: self.values.map(),
            sums: self.sums.sums(),
            bits: None,
        }
    }
}

/// What the codes of a vector are multiplied by: its largest value has the code 127 or -127.
fn scale_of(vector: &[f32]) -> f32 {
    vector
        .iter()
        .fold(0.0_f32, |largest, value| largest.max(value.abs()))
        / 127.0
}

impl Encoded {
    /// Adds one vector.
    pub fn push(&mut self, vector: &[f32]) {
        let scale = scale_of(vector);
        let inverse = if scale > 0.0 { 1.0 / scale } else { 0.0 };
        let padding = stride(vector.len()) - vector.len();
        let (first_code, first_value) = (self.codes.len(), self.values.len());
        // `as` saturates, so even a value beyond the scale by rounding stays a byte.
        self.codes.extend(
            vector
                .iter()
                .map(|value| ((value * inverse).round() + BIAS) as u8),
        );
        self.codes.extend(std::iter::repeat_n(BIAS as u8, padding));
        self.scales.extend(scale.to_le_bytes());
        self.values
            .extend(vector.iter().flat_map(|value| value.to_le_bytes()));
        append_sum(
            &mut self.sums,
            [
                &self.codes[first_code..],
                &scale.to_le_bytes(),
                &self.values[first_value..],
            ],
        );
    }

    /// Adds a stored row as it is.
    pub fn push_row(&mut self, vectors: &Vectors, row: usize) {
        self.codes.extend(vectors.codes.bytes(row..row + 1));
        self.scales.extend(vectors.scales.bytes(row..row + 1));
        self.values.extend(vectors.values.bytes(row..row + 1));
        // As it is stored, so that a damaged row stays one.
        self.sums.extend(vectors.sums.bytes(row));
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.codes.len() + self.scales.len() + self.values.len()
    }
}

impl Vectors {
    /// Dimensions of every vector.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Rows, dead ones included.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The exact vector of a row, `None` if the row is damaged.
    #[inline]
    pub fn row(&self, row: usize) -> Option<&[f32]> {
        self.sums
            .is_right(row, self.parts(row))
            .then(|| self.unchecked_row(row))
    }

    /// The vector of a row as it lies there. For what is derived from many rows, and does not
    /// suffer from a wrong one.
    #[inline]
    pub fn unchecked_row(&self, row: usize) -> &[f32] {
        assert!(row < self.rows, "row {row} of {}", self.rows);
        self.values.numbers(row..row + 1)
    }

    fn parts(&self, row: usize) -> [&[u8]; 3] {
        [&self.codes, &self.scales, &self.values].map(|column| column.bytes(row..row + 1))
    }

    /// Rows whose bytes are not those that were written.
    pub fn damaged_rows(&self) -> Vec<usize> {
        (0..self.rows)
            .filter(|row| !self.sums.matches(*row, self.parts(*row)))
            .collect()
    }

    /// The groups of one-bit codes that are damaged, as [`Self::damaged_rows`].
    pub fn damaged_groups(&self) -> Vec<usize> {
        self.bits
            .as_ref()
            .map(Bits::damaged_groups)
            .unwrap_or_default()
    }

    /// How many rows readers have found damaged since the files were opened.
    pub fn known_damage(&self) -> usize {
        self.sums.wrong()
    }

    /// Adds the one-bit codes of a prefix of the rows.
    pub fn set_bits(&mut self, bits: Bits) {
        self.bits = Some(bits);
    }

    /// The `take` allowed rows with the highest 8-bit dot products, in no order, with those (up to
    /// a common factor). `count` rows are allowed.
    pub fn approximate_top(
        &self,
        query: &[f32],
        allowed: &Bitmap,
        count: usize,
        take: usize,
        threads: usize,
    ) -> Vec<Scored> {
        let codes = quantized_query(query);
        let words = self.rows.div_ceil(TOGETHER);
        let scan = |words: std::ops::Range<usize>, top: &mut Top| {
            self.scan_words(Kernel::best(), &codes, allowed, words, top)
        };
        let bits = self.bits.as_ref().filter(|_| count / PREFILTER_PAYS > take);
        match bits.and_then(|bits| self.prefiltered(bits, query, &codes, allowed, take)) {
            None => in_parts(0..words, take, threads, scan),
            Some((mut top, covered)) => {
                scan(covered..words, &mut top);
                top.into_unsorted(&by_row)
            }
        }
    }

    /// The 8-bit top of the rows that the one-bit codes cannot rule out, and how many words of rows
    /// were covered. `None` if they rule out too little to be worth it.
    fn prefiltered(
        &self,
        bits: &Bits,
        query: &[f32],
        codes: &CodeQuery,
        allowed: &Bitmap,
        take: usize,
    ) -> Option<(Top, usize)> {
        let covered = bits.groups().min(self.rows / TOGETHER);
        let bit_query = bits.query(query);
        let mut likely = Top::new(take.saturating_mul(2), f32::NEG_INFINITY);
        let bounds = bits.scan(&bit_query, allowed, 0..covered, &mut likely);
        let mut rows: Vec<u32> = likely
            .into_unsorted(&by_row)
            .into_iter()
            .map(|(_, row)| row)
            .collect();
        rows.sort_unstable();
        let mut top = Top::new(take, f32::NEG_INFINITY);
        let likely_scores = self.approximate_scores(codes, &rows);
        likely_scores
            .iter()
            .for_each(|(score, row)| top.push(*score, *row, &by_row));
        // What `take` rows reach for certain; a row whose bound is below that is not among the best
        // `take`.
        let best = top.into_unsorted(&by_row);
        if best.len() < take {
            return None;
        }
        let lowest = best
            .iter()
            .fold(f32::INFINITY, |lowest, (score, _)| lowest.min(*score))
            * query_scale(query)
            - bit_query.base;
        let possible: Vec<u32> = (0_u32..)
            .zip(&bounds)
            .filter(|(_, bound)| **bound >= lowest)
            .map(|(row, _)| row)
            .collect();
        if possible.len() * 2 > covered * TOGETHER {
            return None;
        }
        let mut top = Top::new(take, f32::NEG_INFINITY);
        best.into_iter()
            .for_each(|(score, row)| top.push(score, row, &by_row));
        let rest: Vec<u32> = possible
            .into_iter()
            .filter(|row| rows.binary_search(row).is_err())
            .collect();
        self.approximate_scores(codes, &rest)
            .into_iter()
            .for_each(|(score, row)| top.push(score, row, &by_row));
        Some((top, covered))
    }

    fn scan_words(
        &self,
        kernel: Kernel,
        query: &CodeQuery,
        allowed: &Bitmap,
        words: std::ops::Range<usize>,
        top: &mut Top,
    ) {
        let mut sums = [0_i32; TOGETHER];
        let mut scores = [0.0_f32; TOGETHER];
        let scales: &[f32] = self.scales.numbers(0..self.rows);
        for word in words {
            let mask = allowed.word(word);
            let first = word * TOGETHER;
            let end = (first + TOGETHER).min(self.rows);
            if mask == 0 {
                continue;
            }
            if mask.count_ones() >= DENSE {
                kernel.code_dots(
                    query,
                    self.codes.bytes(first..end),
                    &mut sums[..end - first],
                );
            } else {
                for bit in bits(mask) {
                    let row = first + bit;
                    kernel.code_dots(query, self.codes.bytes(row..row + 1), &mut sums[bit..=bit]);
                }
            }
            let threshold = top.threshold();
            for ((score, sum), scale) in scores.iter_mut().zip(&sums).zip(&scales[first..end]) {
                *score = *sum as f32 * scale;
            }
            // Mostly none of the 64 gets in: one comparison of all is cheaper than one of each.
            if scores
                .iter()
                .fold(false, |any, score| any | (*score >= threshold))
            {
                for bit in bits(mask) {
                    top.push(scores[bit], (first + bit) as u32, &by_row);
                }
            }
        }
    }

    /// 8-bit dot products of some rows.
    fn approximate_scores(&self, query: &CodeQuery, rows: &[u32]) -> Vec<Scored> {
        let kernel = Kernel::best();
        let scales: &[f32] = self.scales.numbers(0..self.rows);
        let mut sum = [0];
        let mut score = |row: usize| {
            kernel.code_dots(query, self.codes.bytes(row..row + 1), &mut sum);
            sum[0] as f32 * scales[row]
        };
        rows.iter()
            .map(|row| (score(*row as usize), *row))
            .collect()
    }

    /// Exact dot products of some rows; damaged ones are left out.
    pub fn exact_scores(&self, query: &[f32], rows: impl IntoIterator<Item = u32>) -> Vec<Scored> {
        let kernel = Kernel::best();
        rows.into_iter()
            .filter_map(|row| Some((kernel.dot(query, self.row(row as usize)?), row)))
            .collect()
    }
}

/// Best `take` of a scan over words of the bitmap, which several threads may share.
fn in_parts(
    words: std::ops::Range<usize>,
    take: usize,
    threads: usize,
    scan: impl Fn(std::ops::Range<usize>, &mut Top) + Sync,
) -> Vec<Scored> {
    let share = words.len().div_ceil(threads.max(1)).max(1);
    let part = |from: usize| {
        let mut top = Top::new(take, f32::NEG_INFINITY);
        scan(from..(from + share).min(words.end), &mut top);
        top.into_unsorted(&by_row)
    };
    if share >= words.len() {
        return part(words.start);
    }
    let part = &part;
    let parts: Vec<Vec<Scored>> = std::thread::scope(|scope| {
        let start = |from| {
            std::thread::Builder::new()
                .spawn_scoped(scope, move || part(from))
                .map_err(|_| from)
        };
        let workers: Vec<_> = words.clone().step_by(share).map(start).collect();
        let join =
            |worker: std::result::Result<std::thread::ScopedJoinHandle<'_, _>, usize>| match worker
            {
                Ok(worker) => worker
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                // The system has no more threads: slower, and the same.
                Err(from) => part(from),
            };
        workers.into_iter().map(join).collect()
    });
    let mut top = Top::new(take, f32::NEG_INFINITY);
    parts
        .into_iter()
        .flatten()
        .for_each(|(score, row)| top.push(score, row, &by_row));
    top.into_unsorted(&by_row)
}

fn by_row(left: u32, right: u32) -> std::cmp::Ordering {
    left.cmp(&right)
}

fn stride(dimensions: usize) -> usize {
    dimensions.next_multiple_of(ALIGNMENT)
}

fn sums_path(folder: &Path, name: &str) -> std::path::PathBuf {
    folder.join(format!("{name}.sums"))
}

/// Writes the checksums of rows that have none.
fn seal(path: &Path, dimensions: usize, rows: usize, parts: [&ColumnMap; 3]) -> Result<SumColumn> {
    tracing::info!(sums = %path.display(), rows, "rows of an index of before get their checksums");
    let mut sums = Vec::with_capacity(rows * 4);
    (0..rows).for_each(|row| append_sum(&mut sums, parts.map(|column| column.bytes(row..row + 1))));
    let mut column = SumColumn::create(path, dimensions)?;
    column.append(&sums)?;
    column.sync()?;
    Ok(column)
}

fn paths(folder: &Path, name: &str) -> [std::path::PathBuf; 3] {
    ["codes", "scales", "values"].map(|part| folder.join(format!("{name}.{part}")))
}

/// What a code of the query stands for.
fn query_scale(query: &[f32]) -> f32 {
    query
        .iter()
        .fold(0.0_f32, |largest, value| largest.max(value.abs()))
        / 127.0
}

/// The query in bytes; its scale is common to all rows and left out.
fn quantized_query(query: &[f32]) -> CodeQuery {
    let scale = query_scale(query);
    let inverse = if scale > 0.0 { 1.0 / scale } else { 0.0 };
    CodeQuery::new(
        query
            .iter()
            .map(|value| (value * inverse).round() as i8)
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn vector(seed: u64, dimensions: usize) -> Vec<f32> {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 40) as f32 / (1 << 23) as f32 - 1.0
        };
        let vector: Vec<f32> = (0..dimensions).map(|_| next() + next() + next()).collect();
        let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
        vector.into_iter().map(|value| value / length).collect()
    }

    #[test]
    fn the_scan_finds_the_allowed_rows_in_their_order() {
        let folder = tempfile::tempdir().unwrap();
        for dimensions in [3, 64, 100] {
            let mut columns =
                VectorColumns::create(folder.path(), &format!("v{dimensions}"), dimensions)
                    .unwrap();
            let mut encoded = Encoded::default();
            (0..1000).for_each(|seed| encoded.push(&vector(seed, dimensions)));
            columns.append(&encoded).unwrap();
            let vectors = columns.vectors();
            assert_eq!(vectors.row(17), Some(&vector(17, dimensions)[..]));
            let query = vector(5000, dimensions);
            for keep in [1, 7, 3] {
                let mut allowed = Bitmap::new(1000);
                (0..1000)
                    .filter(|row| row % keep == 0)
                    .for_each(|row| allowed.set(row));
                let mut exact = vectors.exact_scores(&query, allowed.iter().map(|row| row as u32));
                exact.sort_by(|left, right| right.0.total_cmp(&left.0));
                for threads in [1, 3] {
                    let found =
                        vectors.approximate_top(&query, &allowed, allowed.count(), 60, threads);
                    let hits = exact[..30]
                        .iter()
                        .filter(|(_, row)| found.iter().any(|(_, other)| other == row))
                        .count();
                    assert_eq!(
                        (found.len(), hits),
                        (60, 30),
                        "{dimensions} dimensions, every {keep}th row"
                    );
                }
            }
        }
    }

    #[test]
    fn a_row_with_a_flipped_bit_is_left_out_and_named() {
        let folder = tempfile::tempdir().unwrap();
        let mut columns = VectorColumns::create(folder.path(), "v", 5).unwrap();
        let mut encoded = Encoded::default();
        (0..10).for_each(|seed| encoded.push(&vector(seed, 5)));
        columns.append(&encoded).unwrap();
        for (part, width) in [("codes", 64), ("scales", 4), ("values", 20), ("sums", 4)] {
            let path = folder.path().join(format!("v.{part}"));
            let whole = std::fs::read(&path).unwrap();
            let mut damaged = whole.clone();
            damaged[64 + 3 * width + 1] ^= 0x10;
            std::fs::write(&path, &damaged).unwrap();
            let vectors = VectorColumns::open(folder.path(), "v", 5, 10, Sealed::Yes)
                .unwrap()
                .vectors();
            assert_eq!(
                (
                    vectors.damaged_rows(),
                    vectors.row(3),
                    vectors.known_damage()
                ),
                (vec![3], None, 1),
                "{part}"
            );
            let scored: Vec<u32> = vectors
                .exact_scores(&vector(1, 5), 0..10)
                .into_iter()
                .map(|(_, row)| row)
                .collect();
            assert_eq!(scored, [0, 1, 2, 4, 5, 6, 7, 8, 9], "{part}");
            std::fs::write(&path, &whole).unwrap();
        }
    }

    #[test]
    fn rows_of_before_get_their_checksums_once() {
        let folder = tempfile::tempdir().unwrap();
        let mut columns = VectorColumns::create(folder.path(), "v", 5).unwrap();
        let mut encoded = Encoded::default();
        (0..10).for_each(|seed| encoded.push(&vector(seed, 5)));
        columns.append(&encoded).unwrap();
        std::fs::remove_file(folder.path().join("v.sums")).unwrap();
        assert!(VectorColumns::open(folder.path(), "v", 5, 10, Sealed::Yes).is_err());
        let vectors = VectorColumns::open(folder.path(), "v", 5, 10, Sealed::Before)
            .unwrap()
            .vectors();
        assert_eq!(
            (vectors.damaged_rows(), vectors.row(9)),
            (vec![], Some(&vector(9, 5)[..]))
        );
        assert!(VectorColumns::open(folder.path(), "v", 5, 10, Sealed::Yes).is_ok());
    }

    #[test]
    fn a_zero_vector_scores_zero() {
        let folder = tempfile::tempdir().unwrap();
        let mut columns = VectorColumns::create(folder.path(), "z", 5).unwrap();
        let mut encoded = Encoded::default();
        encoded.push(&[0.0; 5]);
        columns.append(&encoded).unwrap();
        assert_eq!(
            columns
                .vectors()
                .approximate_top(&vector(1, 5), &Bitmap::full(1), 1, 3, 1),
            [(0.0, 0)]
        );
    }
}
