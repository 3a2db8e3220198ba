//! Segment files: names, what is known of one in memory, and their recovery when the log is opened.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use tributary_schemas::Result;

use super::folder::{failed, lock};
use super::format::{FOOTER_BYTES, Footer, Frame, HEADER_BYTES, Header, Parsed, proves_durable};
use super::scanner::{Next, Scanner, SegmentFile};

/// File bytes between two entries of the offset index.
const INDEX_STRIDE: u64 = 32 << 10;

/// Name and range of a segment file, from its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentName {
    /// Offset that no record of it is below.
    pub base: u64,
    /// 0 as appended, higher after compaction.
    pub generation: u32,
}

impl SegmentName {
    /// Its path in the folder of a partition.
    pub fn path(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{:020}-{:08}.segment", self.base, self.generation))
    }

    /// Reads a file name; `None` for any other file.
    pub fn parse(path: &Path) -> Option<Self> {
        let (base, generation) = path.file_name()?.to_str()?.strip_suffix(".segment")?.split_once('-')?;
        Some(Self { base: base.parse().ok()?, generation: generation.parse().ok()? })
    }
}

/// A segment file, as long as anybody uses it.
#[derive(Debug)]
pub struct Segment {
    /// Name and range.
    pub name: SegmentName,
    /// Where it lies.
    pub path: PathBuf,
    index: Mutex<OffsetIndex>,
}

/// Some offsets and where their frames begin, ascending. An unknown stretch lies after `known_until`.
#[derive(Debug)]
pub struct OffsetIndex {
    entries: Vec<(u64, u64)>,
    known_until: u64,
}

impl OffsetIndex {
    /// Nothing is known yet.
    pub fn new() -> Self {
        Self { entries: Vec::new(), known_until: HEADER_BYTES as u64 }
    }

    /// Notes a frame if the last entry is far enough away.
    pub fn note(&mut self, offset: u64, position: u64, length: u64) {
        if self.entries.last().is_none_or(|(_, last)| position >= last + INDEX_STRIDE) {
            self.entries.push((offset, position));
        }
        self.known_until = position + length;
    }

    fn floor(&self, offset: u64) -> u64 {
        let after = self.entries.partition_point(|(entry, _)| *entry <= offset);
        after.checked_sub(1).map_or(HEADER_BYTES as u64, |last| self.entries[last].1)
    }
}

impl Segment {
    /// A segment with what is known of its offsets.
    pub fn new(folder: &Path, name: SegmentName, index: OffsetIndex) -> Self {
        Self { path: name.path(folder), name, index: Mutex::new(index) }
    }

    /// Notes a frame that was appended.
    pub fn note(&self, offset: u64, position: u64, length: u64) {
        lock(&self.index).note(offset, position, length);
    }

    /// A position at or shortly before the first frame with at least `offset`; `end` is where the frames end. Reads the stretch that
    /// nobody has read yet, once.
    pub fn seek(&self, file: &SegmentFile, offset: u64, end: u64) -> Result<u64> {
        if offset <= self.name.base {
            return Ok(HEADER_BYTES as u64);
        }
        let (known_until, floor) = {
            let index = lock(&self.index);
            (index.known_until, index.floor(offset))
        };
        if known_until >= end || self.is_behind(offset) {
            return Ok(floor);
        }
        let mut scanner = Scanner::new(file.clone(), known_until, end);
        let mut found = Vec::new();
        while let Some((position, frame)) = scanner.next_sound()? {
            found.push((frame.offset(), position, frame.size() as u64));
        }
        let mut index = lock(&self.index);
        if index.known_until <= known_until {
            found.into_iter().for_each(|(offset, position, length)| index.note(offset, position, length));
        }
        Ok(index.floor(offset))
    }

    fn is_behind(&self, offset: u64) -> bool {
        lock(&self.index).entries.last().is_some_and(|(last, _)| *last >= offset)
    }
}

/// What the partition knows of a segment at one moment.
#[derive(Clone, Debug)]
pub struct SegmentView {
    /// The file.
    pub segment: Arc<Segment>,
    /// Offset after it.
    pub end: u64,
    /// File position where its durable frames end.
    pub data_end: u64,
    /// Counts of its records.
    pub totals: Totals,
    /// Whether it has a footer; then it never changes.
    pub closed: bool,
}

/// Counts of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Totals {
    /// Records.
    pub records: u64,
    /// Tombstones among them.
    pub tombstones: u64,
    /// Largest timestamp, `i64::MIN` without records.
    pub max_timestamp_ms: i64,
}

impl Default for Totals {
    fn default() -> Self {
        Self { records: 0, tombstones: 0, max_timestamp_ms: i64::MIN }
    }
}

impl Totals {
    /// Counts a record.
    pub fn count(&mut self, tombstone: bool, timestamp_ms: i64) {
        self.records += 1;
        self.tombstones += u64::from(tombstone);
        self.max_timestamp_ms = self.max_timestamp_ms.max(timestamp_ms);
    }

    /// Adds other counts.
    pub fn add(&mut self, other: Self) {
        self.records += other.records;
        self.tombstones += other.tombstones;
        self.max_timestamp_ms = self.max_timestamp_ms.max(other.max_timestamp_ms);
    }

    /// The footer for a segment that ends at `end`.
    pub fn footer(&self, end: u64) -> Footer {
        Footer { end, max_timestamp_ms: self.max_timestamp_ms, records: self.records, tombstones: self.tombstones }
    }
}

impl From<Footer> for Totals {
    fn from(footer: Footer) -> Self {
        Self { records: footer.records, tombstones: footer.tombstones, max_timestamp_ms: footer.max_timestamp_ms }
    }
}

/// Opens a segment that must be closed: checks header and footer.
pub fn open_closed(folder: &Path, name: SegmentName, partition: u32) -> Result<SegmentView> {
    let file = SegmentFile::open(&name.path(folder))?;
    check_header(&file, &name, partition)?;
    let length = file.len()?;
    match footer(&file, length)? {
        Some(footer) => Ok(closed_view(folder, name, &footer, length)),
        None => Err(file.corrupt(length.saturating_sub(FOOTER_BYTES as u64), "the footer of a closed segment is missing or damaged")),
    }
}

fn closed_view(folder: &Path, name: SegmentName, footer: &Footer, length: u64) -> SegmentView {
    let index = OffsetIndex::new();
    SegmentView {
        segment: Arc::new(Segment::new(folder, name, index)),
        end: footer.end,
        data_end: length - FOOTER_BYTES as u64,
        totals: (*footer).into(),
        closed: true,
    }
}

/// Opens the last segment of a partition and cuts off a torn tail. Returns also how many bytes that were.
pub fn open_last(folder: &Path, name: SegmentName, partition: u32) -> Result<(SegmentView, u64)> {
    let file = SegmentFile::open(&name.path(folder))?;
    check_header(&file, &name, partition)?;
    let length = file.len()?;
    if let Some(footer) = footer(&file, length)? {
        return Ok((closed_view(folder, name, &footer, length), 0));
    }
    if name.generation > 0 {
        return Err(file.corrupt(length.saturating_sub(FOOTER_BYTES as u64), "the footer of a compacted segment is missing or damaged"));
    }
    let (view, damage) = read_all(folder, name, &file, length)?;
    if let Some((position, what)) = damage {
        cut(&file, position, length, what)?;
    }
    // Frames that were written but not synced when the process ended become durable before anyone sees them.
    File::open(file.path()).and_then(|handle| handle.sync_all()).map_err(failed("sync", file.path()))?;
    let torn = length - view.data_end;
    Ok((view, torn))
}

type Damage = Option<(u64, &'static str)>;

fn read_all(folder: &Path, name: SegmentName, file: &SegmentFile, length: u64) -> Result<(SegmentView, Damage)> {
    let mut index = OffsetIndex::new();
    let mut scanner = Scanner::new(file.clone(), 0, length);
    let mut totals = Totals::default();
    let mut end = name.base;
    let damage = loop {
        match scanner.step()? {
            Next::Frame(position, frame) if Footer::of(&frame).is_some() => {
                // A footer is the last thing in a file; this one has something after it.
                break Some((position, "a footer before the end"));
            }
            Next::Frame(position, frame) => {
                if frame.offset() < end {
                    return Err(file.corrupt(position, "offsets do not grow"));
                }
                index.note(frame.offset(), position, frame.size() as u64);
                totals.count(frame.is_tombstone(), frame.timestamp_ms());
                end = frame.offset() + 1;
            }
            Next::Damaged(position, what) => break Some((position, what)),
            Next::End => break None,
        }
    };
    let data_end = damage.map_or(length, |(position, _)| position);
    let segment = Arc::new(Segment::new(folder, name, index));
    Ok((SegmentView { segment, end, data_end, totals, closed: false }, damage))
}

/// Cuts the file at the damage, unless a later frame proves that what is damaged had been durable.
fn cut(file: &SegmentFile, position: u64, length: u64, what: &'static str) -> Result<()> {
    let rest = file.read(position, (length - position) as usize)?;
    let proof = (1..rest.len()).find(|at| proves_durable(&rest[*at..], position + *at as u64, position));
    if proof.is_some() {
        return Err(file.corrupt(position, what));
    }
    tracing::warn!(path = %file.path().display(), position, bytes = length - position, what, "cut off a torn tail");
    let writable = File::options().write(true).open(file.path()).map_err(failed("open", file.path()))?;
    writable.set_len(position).and_then(|()| writable.sync_all()).map_err(failed("truncate", file.path()))
}

fn check_header(file: &SegmentFile, name: &SegmentName, partition: u32) -> Result<()> {
    let length = file.len()?.min(HEADER_BYTES as u64);
    let header = Header::decode(&file.read(0, length as usize)?).map_err(|what| file.corrupt(0, what))?;
    if header != (Header { generation: name.generation, base: name.base, partition }) {
        return Err(file.corrupt(0, "header does not belong to this file name and partition"));
    }
    Ok(())
}

fn footer(file: &SegmentFile, length: u64) -> Result<Option<Footer>> {
    let Some(position) = length.checked_sub(FOOTER_BYTES as u64).filter(|position| *position >= HEADER_BYTES as u64) else {
        return Ok(None);
    };
    let bytes: Bytes = file.read(position, FOOTER_BYTES)?;
    // The batch start of a footer is its own position, so a record's bytes that look like one are not taken for it.
    Ok(match Frame::parse(&bytes) {
        Parsed::Frame(frame) if u64::from(frame.batch_start()) == position => Footer::of(&frame),
        _ => None,
    })
}
