//! Segment files: names, what is known of one in memory, and their recovery when the log is opened.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use tributary_schemas::Result;

use super::damage::Damage;
use super::folder::{failed, lock};
use super::format::{
    FOOTER_BYTES, Footer, Frame, HEADER_BYTES, Header, Parsed, VERSION, proves_durable,
};
use super::scanner::{Next, Resume, Scanner, SegmentFile};

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
        let (base, generation) = path
            .file_name()?
            .to_str()?
            .strip_suffix(".segment")?
            .split_once('-')?;
        Some(Self {
            base: base.parse().ok()?,
            generation: generation.parse().ok()?,
        })
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

/// Some offsets and where their frames begin, ascending. An unknown stretch lies after
/// `known_until`.
#[derive(Debug)]
pub struct OffsetIndex {
    entries: Vec<(u64, u64)>,
    known_until: u64,
}

impl OffsetIndex {
    /// Nothing is known yet.
    pub fn new() -> Self {
        Self {
            entries: Vec::new(),
            known_until: HEADER_BYTES as u64,
        }
    }

    /// Notes a frame if the last entry is far enough away.
    pub fn note(&mut self, offset: u64, position: u64, length: u64) {
        if self
            .entries
            .last()
            .is_none_or(|(_, last)| position >= last + INDEX_STRIDE)
        {
            self.entries.push((offset, position));
        }
        self.known_until = position + length;
    }

    fn floor(&self, offset: u64) -> u64 {
        let after = self.entries.partition_point(|(entry, _)| *entry <= offset);
        after
            .checked_sub(1)
            .map_or(HEADER_BYTES as u64, |last| self.entries[last].1)
    }
}

impl Segment {
    /// A segment with what is known of its offsets.
    pub fn new(folder: &Path, name: SegmentName, index: OffsetIndex) -> Self {
        Self {
            path: name.path(folder),
            name,
            index: Mutex::new(index),
        }
    }

    /// Notes a frame that was appended.
    pub fn note(&self, offset: u64, position: u64, length: u64) {
        lock(&self.index).note(offset, position, length);
    }

    /// A position at or shortly before the first frame with at least `offset`; `end` is where the
    /// frames end. Reads the stretch that nobody has read yet, once.
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
        let found = self.frames(file, known_until, end)?;
        let mut index = lock(&self.index);
        if index.known_until <= known_until {
            found
                .into_iter()
                .for_each(|(offset, position, length)| index.note(offset, position, length));
        }
        Ok(index.floor(offset))
    }

    /// Offset, position and length in bytes of each frame of a stretch.
    fn frames(&self, file: &SegmentFile, from: u64, end: u64) -> Result<Vec<(u64, u64, u64)>> {
        let mut scanner = Scanner::new(file.clone(), from, end);
        let (mut found, mut resume) = (Vec::new(), self.resume(u64::MAX));
        // Readers report the damage when they come to it.
        while let Some((position, frame)) =
            scanner.next_past_damage(&mut resume, &mut Vec::new())?
        {
            found.push((frame.offset(), position, frame.size() as u64));
        }
        Ok(found)
    }

    /// What a frame after damage must be like; `end` is the offset after the segment.
    pub fn resume(&self, end: u64) -> Resume {
        Resume {
            offsets: self.name.base..end,
            appended: self.name.generation == 0,
        }
    }

    fn is_behind(&self, offset: u64) -> bool {
        lock(&self.index)
            .entries
            .last()
            .is_some_and(|(last, _)| *last >= offset)
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
        Self {
            records: 0,
            tombstones: 0,
            max_timestamp_ms: i64::MIN,
        }
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
        Footer {
            end,
            max_timestamp_ms: self.max_timestamp_ms,
            records: self.records,
            tombstones: self.tombstones,
        }
    }
}

impl From<Footer> for Totals {
    fn from(footer: Footer) -> Self {
        Self {
            records: footer.records,
            tombstones: footer.tombstones,
            max_timestamp_ms: footer.max_timestamp_ms,
        }
    }
}

/// A segment that was opened.
#[derive(Debug)]
pub struct Opened {
    /// The segment.
    pub view: SegmentView,
    /// What of it rotted, as far as opening saw it.
    pub damage: Vec<Damage>,
    /// Bytes of a torn tail that were cut off.
    pub torn: u64,
    /// Whether the end is known; without a footer it is that of the last sound record, and may be
    /// higher.
    pub has_footer: bool,
}

/// Opens a segment that must be closed: checks header and footer. One whose footer is damaged is
/// read to its end.
pub fn open_closed(folder: &Path, name: SegmentName, partition: u32) -> Result<Opened> {
    let file = SegmentFile::open(&name.path(folder))?;
    let mut damage = check_header(&file, &name, partition)?;
    let length = file.len()?;
    if let Some(footer) = footer(&file, length)? {
        return Ok(Opened {
            view: closed_view(folder, name, &footer, length),
            damage,
            torn: 0,
            has_footer: true,
        });
    }
    let reading = Reading::past_damage(&file, &name, length)?;
    let data_end = reading.index.known_until;
    damage.extend(reading.damage.iter().cloned());
    damage.push(Damage::new(
        file.path(),
        data_end,
        length - data_end,
        "the footer of a closed segment is missing or damaged",
    ));
    Ok(Opened {
        view: reading.view(folder, name, data_end, true),
        damage,
        torn: 0,
        has_footer: false,
    })
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

/// Opens the last segment of a partition and cuts off a torn tail. `read_to` is the offset that
/// groups have read up to, which proves that what lies before it was durable.
pub fn open_last(folder: &Path, name: SegmentName, partition: u32, read_to: u64) -> Result<Opened> {
    let file = SegmentFile::open(&name.path(folder))?;
    let length = file.len()?;
    if name.generation > 0 || footer(&file, length)?.is_some() {
        return open_closed(folder, name, partition);
    }
    let mut damage = check_header(&file, &name, partition)?;
    let (reading, data_end) = read_tail(&file, &name, length, read_to)?;
    // Frames that were written but not synced when the process ended become durable before anyone
    // sees them.
    File::open(file.path())
        .and_then(|handle| handle.sync_all())
        .map_err(failed("sync", file.path()))?;
    damage.extend(reading.damage.iter().cloned());
    let view = reading.view(folder, name, data_end, false);
    Ok(Opened {
        view,
        damage,
        torn: length - data_end,
        has_footer: true,
    })
}

/// What the frames of a file add up to.
#[derive(Debug)]
struct Reading {
    index: OffsetIndex,
    totals: Totals,
    end: u64,
    damage: Vec<Damage>,
}

impl Reading {
    fn new(base: u64) -> Self {
        Self {
            index: OffsetIndex::new(),
            totals: Totals::default(),
            end: base,
            damage: Vec::new(),
        }
    }

    fn past_damage(file: &SegmentFile, name: &SegmentName, length: u64) -> Result<Self> {
        let mut reading = Self::new(name.base);
        let mut resume = Resume {
            offsets: name.base..u64::MAX,
            appended: name.generation == 0,
        };
        let mut scanner = Scanner::new(file.clone(), 0, length);
        while let Some((position, frame)) =
            scanner.next_past_damage(&mut resume, &mut reading.damage)?
        {
            reading.count(position, &frame);
        }
        Ok(reading)
    }

    fn count(&mut self, position: u64, frame: &Frame) {
        self.index
            .note(frame.offset(), position, frame.size() as u64);
        self.totals
            .count(frame.is_tombstone(), frame.timestamp_ms());
        self.end = frame.offset() + 1;
    }

    fn view(self, folder: &Path, name: SegmentName, data_end: u64, closed: bool) -> SegmentView {
        let segment = Arc::new(Segment::new(folder, name, self.index));
        SegmentView {
            segment,
            end: self.end,
            data_end,
            totals: self.totals,
            closed,
        }
    }
}

/// Reads an open segment. Damage of what was durable is passed over; anything else that is no sound
/// frame is cut off as a torn tail. Returns also where the frames end.
fn read_tail(
    file: &SegmentFile,
    name: &SegmentName,
    length: u64,
    read_to: u64,
) -> Result<(Reading, u64)> {
    let mut reading = Reading::new(name.base);
    let mut scanner = Scanner::new(file.clone(), 0, length);
    loop {
        let (position, what) = match scanner.step()? {
            Next::End => return Ok((reading, length)),
            // A footer is the last thing in a file; this one has something after it.
            Next::Frame(position, frame) if Footer::of(&frame).is_some() => {
                (position, "a footer before the end")
            }
            Next::Frame(position, frame) if frame.offset() < reading.end => {
                (position, "offsets do not grow")
            }
            Next::Frame(position, frame) => {
                reading.count(position, &frame);
                continue;
            }
            Next::Damaged(position, what) => (position, what),
        };
        let resume = Resume {
            offsets: reading.end..u64::MAX,
            appended: true,
        };
        let damage = scanner.skip(position, what, &resume)?;
        // Nobody is shown what is not durable. With nothing sound behind it there is nothing to
        // keep.
        let was_shown = reading.end < read_to && scanner.position() < length;
        if !was_shown && !was_durable(file, position, length)? {
            cut(file, position, length, what)?;
            return Ok((reading, position));
        }
        reading.damage.push(damage);
    }
}

/// Whether a later frame proves that what lies at `position` had been durable.
fn was_durable(file: &SegmentFile, position: u64, length: u64) -> Result<bool> {
    let rest = file.read(position, (length - position) as usize)?;
    Ok((1..rest.len()).any(|at| proves_durable(&rest[at..], position + at as u64, position)))
}

fn cut(file: &SegmentFile, position: u64, length: u64, what: &'static str) -> Result<()> {
    tracing::warn!(path = %file.path().display(), position, bytes = length - position, what, "cut off a torn tail");
    let writable = File::options()
        .write(true)
        .open(file.path())
        .map_err(failed("open", file.path()))?;
    writable
        .set_len(position)
        .and_then(|()| writable.sync_all())
        .map_err(failed("truncate", file.path()))
}

/// A damaged header is no more than a report: name and folder of the file say the same.
pub fn check_header(file: &SegmentFile, name: &SegmentName, partition: u32) -> Result<Vec<Damage>> {
    let length = file.len()?.min(HEADER_BYTES as u64);
    if length < HEADER_BYTES as u64 {
        return Err(file.corrupt(0, "header is incomplete"));
    }
    match Header::decode(&file.read(0, length as usize)?) {
        None => Ok(vec![Damage::new(
            file.path(),
            0,
            length,
            "the header is damaged",
        )]),
        Some((_, version)) if version != VERSION => Err(file.corrupt(
            0,
            "segment has a format version that this program does not know",
        )),
        Some((header, _))
            if header
                != (Header {
                    generation: name.generation,
                    base: name.base,
                    partition,
                }) =>
        {
            Err(file.corrupt(0, "header does not belong to this file name and partition"))
        }
        Some(_) => Ok(Vec::new()),
    }
}

/// The footer at the end of a file, if it is sound.
pub fn footer(file: &SegmentFile, length: u64) -> Result<Option<Footer>> {
    let Some(position) = length
        .checked_sub(FOOTER_BYTES as u64)
        .filter(|position| *position >= HEADER_BYTES as u64)
    else {
        return Ok(None);
    };
    let bytes: Bytes = file.read(position, FOOTER_BYTES)?;
    // The batch start of a footer is its own position, so a record's bytes that look like one are
    // not taken for it.
    Ok(match Frame::parse(&bytes) {
        Parsed::Frame(frame) if u64::from(frame.batch_start()) == position => Footer::of(&frame),
        _ => None,
    })
}
