//! One partition in memory: its segments as readers see them, and reading from them.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, RwLock};

use tributary_schemas::{ErrorKind, Result};

use super::damage::DamageList;
use super::folder::{corrupt, finished_files, lock, read, remove, sync_folder, write};
use super::format::HEADER_BYTES;
use super::scanner::{Scanner, SegmentFile};
use super::segment::{Segment, SegmentName, SegmentView, open_closed, open_last};
use super::tail::Tail;
use crate::event_log::{Position, StoredRecord};

/// A partition.
#[derive(Debug)]
pub struct Partition {
    /// Number within the topic.
    pub number: u32,
    /// Its folder.
    pub folder: PathBuf,
    /// What only the writer touches.
    pub tail: Mutex<Tail>,
    /// Held while compaction or retention changes it.
    pub maintenance: Mutex<Upkeep>,
    /// What of it rotted.
    pub damage: DamageList,
    segments: RwLock<Vec<SegmentView>>,
}

/// What maintenance remembers of a partition.
#[derive(Debug, Default)]
pub struct Upkeep {
    /// Closed segments that end at or before this offset hold no key twice.
    pub clean_until: u64,
}

/// Where a reader is in a partition. A clone is an independent place.
#[derive(Clone, Debug, Default)]
pub struct Cursor {
    /// Offset to read next.
    pub offset: u64,
    open: Option<OpenSegment>,
}

#[derive(Clone, Debug)]
struct OpenSegment {
    segment: Arc<Segment>,
    file: SegmentFile,
    position: u64,
}

impl Cursor {
    /// Starts at an offset.
    pub fn at(offset: u64) -> Self {
        Self { offset, open: None }
    }
}

impl Partition {
    /// Opens the folder, recovers it, and returns also how many bytes of torn tail were cut off.
    /// `read_to` is the offset that groups have read up to.
    pub fn open(folder: PathBuf, number: u32, read_to: u64) -> Result<(Self, u64)> {
        let (names, damage) = (current_names(&folder, number)?, DamageList::default());
        let mut segments: Vec<SegmentView> = Vec::with_capacity(names.len());
        let mut torn = 0;
        for (index, name) in names.iter().enumerate() {
            let next = names.get(index + 1);
            let opened = match next {
                None => open_last(&folder, name.clone(), number, read_to)?,
                Some(_) => open_closed(&folder, name.clone(), number)?,
            };
            let mut view = opened.view;
            // Without a footer a segment ends where the next one begins.
            if let Some(next) = next.filter(|next| !opened.has_footer && next.base > view.end) {
                view.end = next.base;
            }
            opened
                .damage
                .into_iter()
                .for_each(|found| damage.note(found));
            torn += opened.torn;
            segments.push(view);
        }
        check_chain(&segments)?;
        let tail = Tail::after(segments.last())?;
        let clean_until = segments
            .iter()
            .take_while(|view| view.segment.name.generation > 0)
            .last()
            .map_or(0, |view| view.end);
        let partition = Self {
            number,
            folder,
            tail: Mutex::new(tail),
            maintenance: Mutex::new(Upkeep { clean_until }),
            damage,
            segments: RwLock::new(segments),
        };
        Ok((partition, torn))
    }

    /// First offset that can be read.
    pub fn start(&self) -> u64 {
        read(&self.segments)
            .first()
            .map_or(0, |view| view.segment.name.base)
    }

    /// Offset that the next append gets.
    pub fn end(&self) -> u64 {
        read(&self.segments).last().map_or(0, |view| view.end)
    }

    /// All segments now, oldest first.
    pub fn segments(&self) -> Vec<SegmentView> {
        read(&self.segments).clone()
    }

    /// Calls `look` with all segments, none of which is exchanged or removed meanwhile.
    pub fn with_segments<T>(&self, look: impl FnOnce(&[SegmentView]) -> T) -> T {
        look(&read(&self.segments))
    }

    /// Lets the partition end at `end` at least, because a group has read so far: what lay before
    /// is gone, and its offsets are never used again.
    pub fn raise_end(&self, end: u64) {
        lock(&self.tail).raise(end);
        self.update_last(|view| view.end = view.end.max(end));
    }

    /// Adds a segment at the end.
    pub fn push(&self, view: SegmentView) {
        write(&self.segments).push(view);
    }

    /// Changes what is known of the last segment: more durable frames, or closed.
    pub fn update_last(&self, change: impl FnOnce(&mut SegmentView)) {
        if let Some(last) = write(&self.segments).last_mut() {
            change(last);
        }
    }

    /// Puts one segment, or none, in the place of neighbours, which start at base `first` and are
    /// `count`.
    pub fn exchange(&self, first: u64, count: usize, new: Option<SegmentView>) {
        let mut segments = write(&self.segments);
        if let Some(at) = segments
            .iter()
            .position(|view| view.segment.name.base == first)
        {
            segments.splice(at..at + count, new);
        }
    }

    /// Records from the cursor on, at least one if there is one, and moves the cursor behind them.
    pub fn read(
        &self,
        cursor: &mut Cursor,
        records: usize,
        bytes: usize,
    ) -> Result<Vec<StoredRecord>> {
        let mut found = Vec::new();
        let mut found_bytes = 0;
        while found.len() < records && found_bytes < bytes {
            let Some(view) = self.view_at(cursor.offset) else {
                break;
            };
            match self.read_segment(
                cursor,
                &view,
                records - found.len(),
                bytes - found_bytes,
                &mut found,
            ) {
                Ok(count) => found_bytes += count,
                // Compaction replaced the file between the look at the list and its opening: look
                // again.
                Err(error) if error.kind() == ErrorKind::NotFound && self.is_replaced(&view) => {}
                Err(error) if found.is_empty() => return Err(error),
                // What was read before the damage is handed out first.
                Err(_) => break,
            }
        }
        Ok(found)
    }

    fn read_segment(
        &self,
        cursor: &mut Cursor,
        view: &SegmentView,
        records: usize,
        bytes: usize,
        found: &mut Vec<StoredRecord>,
    ) -> Result<usize> {
        let mut open = open_at(cursor, view)?;
        let mut scanner = Scanner::new(open.file.clone(), open.position, view.data_end);
        let (mut count, mut count_bytes) = (0, 0);
        let (mut resume, mut damage) = (view.segment.resume(view.end), Vec::new());
        let result = loop {
            if count >= records || count_bytes >= bytes {
                break Ok(());
            }
            let frame = match scanner.next_past_damage(&mut resume, &mut damage) {
                Ok(Some((_, frame))) => frame,
                Ok(None) => {
                    cursor.offset = cursor.offset.max(view.end);
                    break Ok(());
                }
                Err(error) => break Err(error),
            };
            if frame.offset() >= cursor.offset {
                let record = match frame.record() {
                    Ok(record) => record,
                    Err(what) => {
                        break Err(open
                            .file
                            .corrupt(scanner.position() - frame.size() as u64, what));
                    }
                };
                found.push(StoredRecord {
                    position: Position {
                        partition: self.number,
                        offset: frame.offset(),
                    },
                    record,
                });
                cursor.offset = frame.offset() + 1;
                count += 1;
                count_bytes += frame.size();
            }
            open.position = scanner.position();
        };
        damage.into_iter().for_each(|found| self.damage.note(found));
        cursor.open = Some(open);
        result.map(|()| count_bytes)
    }

    /// Timestamp of the first record at or after `offset`.
    pub fn timestamp_at(&self, offset: u64) -> Result<Option<i64>> {
        let records = self.read(&mut Cursor::at(offset), 1, 1)?;
        Ok(records.first().map(|stored| stored.record.timestamp_ms))
    }

    fn view_at(&self, offset: u64) -> Option<SegmentView> {
        let segments = read(&self.segments);
        let at = segments.partition_point(|view| view.end <= offset);
        segments.get(at).cloned()
    }

    fn is_replaced(&self, view: &SegmentView) -> bool {
        !read(&self.segments)
            .iter()
            .any(|other| Arc::ptr_eq(&other.segment, &view.segment))
    }
}

fn open_at(cursor: &Cursor, view: &SegmentView) -> Result<OpenSegment> {
    if let Some(open) = cursor
        .open
        .as_ref()
        .filter(|open| Arc::ptr_eq(&open.segment, &view.segment))
    {
        return Ok(open.clone());
    }
    let file = SegmentFile::open(&view.segment.path)?;
    let position = view.segment.seek(&file, cursor.offset, view.data_end)?;
    Ok(OpenSegment {
        segment: Arc::clone(&view.segment),
        file,
        position,
    })
}

/// Segment files of a partition, oldest first, after leftovers of compaction are removed.
fn current_names(folder: &Path, number: u32) -> Result<Vec<SegmentName>> {
    let mut names: Vec<SegmentName> = finished_files(folder)?
        .iter()
        .filter_map(|path| SegmentName::parse(path))
        .collect();
    names.sort_by_key(|name| (name.base, name.generation));
    let mut covered = Vec::new();
    for name in names.iter().filter(|name| name.generation > 0) {
        let opened = open_closed(folder, name.clone(), number)?;
        covered.push((name.base..opened.view.end, name.generation));
    }
    let is_leftover = |name: &SegmentName| {
        covered
            .iter()
            .any(|(range, generation)| *generation > name.generation && range.contains(&name.base))
    };
    let mut removed = false;
    for name in names.extract_if(.., |name| is_leftover(name)) {
        tracing::info!(path = %name.path(folder).display(), "removed what a compaction left over");
        remove(&name.path(folder))?;
        removed = true;
    }
    if removed {
        sync_folder(folder)?;
    }
    Ok(names)
}

fn check_chain(segments: &[SegmentView]) -> Result<()> {
    for pair in segments.windows(2) {
        if let [before, after] = pair
            && before.end != after.segment.name.base
        {
            let what = format!(
                "offset {} follows on {}: a segment is missing",
                after.segment.name.base, before.end
            );
            return Err(corrupt(&after.segment.path, HEADER_BYTES as u64, &what));
        }
    }
    Ok(())
}
