//! One-bit codes of the coarse vectors: a scan that reads a seventh of the bytes picks the rows
//! that the 8-bit scan looks at. Derived data: what is missing is made again.
//!
//! After RaBitQ (Gao and Long, SIGMOD 2024): with centroid c and a fixed rotation P, a vector x
//! keeps the signs s of r = P(x − c), the factor ‖r‖² / Σ|rᵢ|, the offset ⟨c, x − c⟩ and an error
//! bound. Then `factor · Σ sᵢ (P(q − c))ᵢ + offset` estimates ⟨q, x − c⟩, and ⟨q, c⟩ is the same
//! for all rows. The query has 4 bits. The bound decides how many rows are looked at, so recall
//! does not hang on the data.
//!
//! Layout: `bits-<epoch>.centroid` (little-endian f32, then their CRC-32) and the column
//! `bits-<epoch>.groups`: a record holds 64 rows, as eight blocks of eight rows (word w of the
//! eight rows side by side, see `Kernel::bit_sums`), then 64 each (f32) of factors, counts of set
//! bits, offsets and error bounds. `bits-<epoch>.sums` has the CRC-32 of each record: of a damaged
//! one all rows are looked at.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tributary_schemas::{Error, ErrorKind, Result};

use super::bitmap::{Bitmap, bits};
use super::column::{Column, ColumnMap};
use super::commit::write_synced;
use super::kernel::{ALIGNMENT, BIT_BLOCK, Kernel};
use super::sums::{SumColumn, Sums, append_sum};
use super::top::Top;
use super::vectors::Vectors;

/// Rows of a record, and of a word of the bitmap.
pub const GROUP: usize = 64;
const BLOCKS: usize = GROUP / BIT_BLOCK;

/// Vectors that the centroid is the mean of, at most.
const SAMPLE: usize = 20_000;

/// Standard deviations that the error bound covers.
const DEVIATIONS: f32 = 1.9;

/// Records encoded before they are written.
const WRITTEN_TOGETHER: usize = 256;

/// The writing side.
#[derive(Debug)]
pub struct BitColumn {
    column: Column,
    sums: SumColumn,
    shape: Arc<Shape>,
}

/// The codes as of one commit.
#[derive(Clone, Debug)]
pub struct Bits {
    groups: usize,
    map: Arc<ColumnMap>,
    sums: Sums,
    shape: Arc<Shape>,
}

/// What all codes of a file share.
#[derive(Debug)]
struct Shape {
    centroid: Vec<f32>,
    rotation: Rotation,
}

/// A query in 4 bits.
pub struct BitQuery {
    planes: Vec<u64>,
    lowest: f32,
    step: f32,
    total: f32,
    /// ‖q − c‖, which the error bounds are multiplied with.
    length: f32,
    /// ⟨q, c⟩, which the estimates leave out.
    pub base: f32,
}

impl BitColumn {
    /// Creates the files for some vectors; the centroid is made from a sample of them.
    pub fn create(folder: &Path, epoch: u64, vectors: &Vectors) -> Result<Self> {
        let dimensions = vectors.dimensions();
        let centroid = mean(vectors);
        let mut bytes: Vec<u8> = centroid
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
        let path = centroid_path(folder, epoch);
        write_synced(&path, &bytes)
            .map_err(|error| Error::io(format_args!("cannot create {}", path.display()), &error))?;
        let column = Column::create(&groups_path(folder, epoch), width(dimensions), dimensions)?;
        let sums = SumColumn::create(&sums_path(folder, epoch), dimensions)?;
        Ok(Self {
            column,
            sums,
            shape: Arc::new(Shape {
                centroid,
                rotation: Rotation::new(dimensions),
            }),
        })
    }

    /// Opens the files, of which `groups` records are valid.
    pub fn open(folder: &Path, epoch: u64, dimensions: usize, groups: usize) -> Result<Self> {
        let path = centroid_path(folder, epoch);
        let bytes = std::fs::read(&path)
            .map_err(|error| Error::io(format_args!("cannot read {}", path.display()), &error))?;
        let centroid = parse_centroid(&bytes, dimensions).ok_or_else(|| {
            Error::new(
                ErrorKind::Corrupt,
                format!(
                    "{} is no centroid of {dimensions} dimensions",
                    path.display()
                ),
            )
        })?;
        let column = Column::open(
            &groups_path(folder, epoch),
            width(dimensions),
            dimensions,
            groups,
        )?;
        let sums = SumColumn::open(&sums_path(folder, epoch), dimensions, groups)?;
        Ok(Self {
            column,
            sums,
            shape: Arc::new(Shape {
                centroid,
                rotation: Rotation::new(dimensions),
            }),
        })
    }

    /// Encodes whole groups of rows that are not encoded yet, durably.
    pub fn extend(&mut self, vectors: &Vectors) -> Result<()> {
        let complete = vectors.rows() / GROUP;
        if self.column.records() >= complete {
            return Ok(());
        }
        while self.column.records() < complete {
            let from = self.column.records();
            let mut bytes = Vec::new();
            for group in from..complete.min(from + WRITTEN_TOGETHER) {
                self.shape.encode(vectors, group, &mut bytes);
            }
            let mut sums = Vec::new();
            bytes
                .chunks_exact(width(vectors.dimensions()))
                .for_each(|record| append_sum(&mut sums, [record]));
            self.column.append(&bytes)?;
            self.sums.append(&sums)?;
        }
        self.column.sync()?;
        self.sums.sync()
    }

    /// Records that are durable.
    pub fn groups(&self) -> usize {
        self.column.records()
    }

    /// The reading side.
    pub fn bits(&self) -> Bits {
        Bits {
            groups: self.column.records(),
            map: self.column.map(),
            sums: self.sums.sums(),
            shape: Arc::clone(&self.shape),
        }
    }
}

impl Shape {
    /// Appends the record of one group.
    fn encode(&self, vectors: &Vectors, group: usize, bytes: &mut Vec<u8>) {
        let words = words(vectors.dimensions());
        let mut codes = vec![0_u64; words * GROUP];
        let mut factors = Vec::with_capacity(GROUP);
        let mut counts = Vec::with_capacity(GROUP);
        let mut offsets = Vec::with_capacity(GROUP);
        let mut errors = Vec::with_capacity(GROUP);
        let mut rotated = vec![0.0; words * 64];
        for place in 0..GROUP {
            rotated.fill(0.0);
            let row = vectors.unchecked_row(group * GROUP + place);
            row.iter()
                .zip(&self.centroid)
                .zip(&mut rotated)
                .for_each(|((value, centre), rest)| *rest = value - centre);
            offsets.push(
                rotated
                    .iter()
                    .zip(&self.centroid)
                    .map(|(rest, centre)| rest * centre)
                    .sum::<f32>(),
            );
            self.rotation.apply(&mut rotated);
            let square: f32 = rotated.iter().map(|value| value * value).sum();
            let sum: f32 = rotated.iter().map(|value| value.abs()).sum();
            let factor = if sum > 0.0 { square / sum } else { 0.0 };
            factors.push(factor);
            // ‖r‖ · √(1/⟨s/√D, r/‖r‖⟩² − 1) / √(D − 1), where the product is ‖r‖ / (factor · √D).
            let length = rotated.len() as f32;
            errors.push(((factor * factor * length - square).max(0.0) / (length - 1.0)).sqrt());
            let mut count = 0;
            for (index, word) in rotated.as_chunks::<64>().0.iter().enumerate() {
                let code = word.iter().enumerate().fold(0, |code, (bit, value)| {
                    code | u64::from(*value >= 0.0) << bit
                });
                count += code.count_ones();
                codes[(place / BIT_BLOCK * words + index) * BIT_BLOCK + place % BIT_BLOCK] = code;
            }
            counts.push(count as f32);
        }
        bytes.extend(codes.iter().flat_map(|code| code.to_le_bytes()));
        bytes.extend(
            factors
                .iter()
                .chain(&counts)
                .chain(&offsets)
                .chain(&errors)
                .flat_map(|value| value.to_le_bytes()),
        );
    }
}

impl Bits {
    /// Groups that are encoded.
    pub fn groups(&self) -> usize {
        self.groups
    }

    /// Groups whose bytes are not those that were written.
    pub fn damaged_groups(&self) -> Vec<usize> {
        (0..self.groups)
            .filter(|group| {
                !self
                    .sums
                    .matches(*group, [self.map.bytes(*group..group + 1)])
            })
            .collect()
    }

    /// Prepares a query.
    pub fn query(&self, vector: &[f32]) -> BitQuery {
        let words = words(vector.len());
        let mut rotated = vec![0.0; words * 64];
        vector
            .iter()
            .zip(&self.shape.centroid)
            .zip(&mut rotated)
            .for_each(|((value, centre), rest)| *rest = value - centre);
        let length = rotated
            .iter()
            .map(|value| value * value)
            .sum::<f32>()
            .sqrt();
        let base = vector
            .iter()
            .zip(&self.shape.centroid)
            .map(|(value, centre)| value * centre)
            .sum();
        self.shape.rotation.apply(&mut rotated);
        let lowest = rotated.iter().copied().fold(f32::INFINITY, f32::min);
        let highest = rotated.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let step = ((highest - lowest) / 15.0).max(f32::MIN_POSITIVE);
        let mut planes = vec![0_u64; words * 4];
        for (index, value) in rotated.iter().enumerate() {
            let level = ((value - lowest) / step).round() as u64 & 15;
            for plane in 0..4 {
                planes[index / 64 * 4 + plane] |= (level >> plane & 1) << (index % 64);
            }
        }
        BitQuery {
            planes,
            lowest,
            step,
            total: rotated.iter().sum(),
            length: length * DEVIATIONS,
            base,
        }
    }

    /// Offers the estimates of all allowed rows; returns an upper bound of each row of the groups,
    /// for rows that are not allowed the lowest number.
    pub fn scan(
        &self,
        query: &BitQuery,
        allowed: &Bitmap,
        groups: std::ops::Range<usize>,
        top: &mut Top,
    ) -> Vec<f32> {
        let kernel = Kernel::best();
        let words = query.planes.len() / 4;
        let order = |left: u32, right: u32| left.cmp(&right);
        let mut estimates = [0.0_f32; GROUP];
        let mut bounds = vec![f32::NEG_INFINITY; groups.len() * GROUP];
        for (group, bounds) in groups.zip(bounds.as_chunks_mut::<GROUP>().0) {
            let mask = allowed.word(group);
            if mask == 0 {
                continue;
            }
            if !self
                .sums
                .is_right(group, [self.map.bytes(group..group + 1)])
            {
                (0..GROUP)
                    .filter(|place| mask >> place & 1 == 1)
                    .for_each(|place| bounds[place] = f32::INFINITY);
                continue;
            }
            let record: &[u64] = self.map.numbers(group..group + 1);
            let values: &[f32] = self.map.numbers(group..group + 1);
            let codes = &record[..words * GROUP];
            let ([factors, counts, offsets, errors], []) =
                values[words * GROUP * 2..].as_chunks::<GROUP>()
            else {
                continue;
            };
            for (block, codes) in codes
                .chunks_exact(words * BIT_BLOCK)
                .enumerate()
                .take(BLOCKS)
            {
                let mut sums = [0; BIT_BLOCK];
                kernel.bit_sums(&query.planes, codes, &mut sums);
                for (row, sum) in sums.iter().enumerate() {
                    let place = block * BIT_BLOCK + row;
                    let inside = query.lowest * counts[place] + query.step * *sum as f32;
                    estimates[place] =
                        factors[place] * (2.0 * inside - query.total) + offsets[place];
                }
            }
            for place in 0..GROUP {
                let open = mask >> place & 1 == 1;
                bounds[place] = if open {
                    estimates[place] + errors[place] * query.length
                } else {
                    f32::NEG_INFINITY
                };
            }
            let threshold = top.threshold();
            if estimates
                .iter()
                .fold(false, |any, estimate| any | (*estimate >= threshold))
            {
                for place in bits(mask) {
                    top.push(estimates[place], (group * GROUP + place) as u32, &order);
                }
            }
        }
        bounds
    }
}

/// An orthogonal map that spreads every direction over all dimensions: three rounds of random signs
/// and Hadamard transforms over the first and the last power of two of the dimensions.
#[derive(Debug)]
struct Rotation {
    signs: [Vec<f32>; 3],
    span: usize,
}

impl Rotation {
    fn new(dimensions: usize) -> Self {
        let length = words(dimensions) * 64;
        // Fixed, because stored codes depend on it.
        let mut state = 0x7472_6962_7574_6172_u64;
        let mut sign = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            if state >> 63 == 0 { 1.0 } else { -1.0 }
        };
        let signs = std::array::from_fn(|_| (0..length).map(|_| sign()).collect());
        Self {
            signs,
            span: 1 << length.ilog2(),
        }
    }

    fn apply(&self, vector: &mut [f32]) {
        let last = vector.len() - self.span;
        for signs in &self.signs {
            vector
                .iter_mut()
                .zip(signs)
                .for_each(|(value, sign)| *value *= sign);
            hadamard(&mut vector[..self.span]);
            if last > 0 {
                hadamard(&mut vector[last..]);
            }
        }
    }
}

/// Normalised fast Walsh–Hadamard transform; the length is a power of two.
fn hadamard(values: &mut [f32]) {
    let mut half = 1;
    while half < values.len() {
        for pair in values.chunks_exact_mut(half * 2) {
            let (left, right) = pair.split_at_mut(half);
            for (a, b) in left.iter_mut().zip(right) {
                (*a, *b) = (*a + *b, *a - *b);
            }
        }
        half *= 2;
    }
    let scale = 1.0 / (values.len() as f32).sqrt();
    values.iter_mut().for_each(|value| *value *= scale);
}

/// Mean of an evenly spaced sample.
fn mean(vectors: &Vectors) -> Vec<f32> {
    let step = vectors.rows().div_ceil(SAMPLE).max(1);
    let mut sums = vec![0.0_f64; vectors.dimensions()];
    let mut count = 0;
    for row in (0..vectors.rows()).step_by(step) {
        vectors
            .unchecked_row(row)
            .iter()
            .zip(&mut sums)
            .for_each(|(value, sum)| *sum += f64::from(*value));
        count += 1;
    }
    sums.into_iter()
        .map(|sum| (sum / f64::from(count.max(1))) as f32)
        .collect()
}

fn parse_centroid(bytes: &[u8], dimensions: usize) -> Option<Vec<f32>> {
    let (values, checksum) = bytes.split_at_checked(dimensions * 4)?;
    let checksum = u32::from_le_bytes(checksum.try_into().ok()?);
    let values = (crc32fast::hash(values) == checksum).then_some(values)?;
    Some(
        values
            .as_chunks::<4>()
            .0
            .iter()
            .map(|value| f32::from_le_bytes(*value))
            .collect(),
    )
}

fn words(dimensions: usize) -> usize {
    dimensions.div_ceil(ALIGNMENT)
}

fn width(dimensions: usize) -> usize {
    GROUP * (words(dimensions) * 8 + 16)
}

fn groups_path(folder: &Path, epoch: u64) -> PathBuf {
    folder.join(format!("bits-{epoch}.groups"))
}

fn sums_path(folder: &Path, epoch: u64) -> PathBuf {
    folder.join(format!("bits-{epoch}.sums"))
}

fn centroid_path(folder: &Path, epoch: u64) -> PathBuf {
    folder.join(format!("bits-{epoch}.centroid"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_rotation_keeps_lengths_and_spreads() {
        for dimensions in [64, 100, 384, 768] {
            let rotation = Rotation::new(dimensions);
            let mut vector = vec![0.0; words(dimensions) * 64];
            vector[3] = 1.0;
            rotation.apply(&mut vector);
            let square: f32 = vector.iter().map(|value| value * value).sum();
            let largest = vector
                .iter()
                .fold(0.0_f32, |largest, value| largest.max(value.abs()));
            assert!(
                (square - 1.0).abs() < 1e-4 && largest < 0.5,
                "{dimensions}: {square} {largest}"
            );
        }
    }
}
