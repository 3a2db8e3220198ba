//! The end of a partition: staging frames, writing and syncing them, closing and creating segments.
//! Only the writer calls this.

use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::Arc;

use tributary_schemas::{Error, ErrorKind, Result};

use super::folder::{failed, removed, replace};
use super::format::{HEADER_BYTES, Header, push_frame, seal};
use super::partition::Partition;
use super::segment::{OffsetIndex, Segment, SegmentName, SegmentView, Totals};
use crate::event_log::Record;

/// Buffers above this are given back after use.
const KEPT_BUFFER_BYTES: usize = 4 << 20;

/// Records of one append for one partition, encoded by the caller.
#[derive(Debug)]
pub struct Part {
    /// The partition.
    pub partition: Arc<Partition>,
    /// Which records of the call these are.
    pub places: Vec<usize>,
    /// Their frames, unsealed.
    pub frames: Vec<u8>,
    /// Bytes of each frame.
    pub lengths: Vec<usize>,
    /// Their counts.
    pub totals: Totals,
}

impl Part {
    /// An empty part.
    pub fn new(partition: Arc<Partition>) -> Self {
        Self {
            partition,
            places: Vec::new(),
            frames: Vec::new(),
            lengths: Vec::new(),
            totals: Totals::default(),
        }
    }

    /// Adds a record, the one at `place` of the call.
    pub fn push(&mut self, place: usize, record: &Record) {
        let before = self.frames.len();
        push_frame(&mut self.frames, record);
        self.places.push(place);
        self.lengths.push(self.frames.len() - before);
        self.totals
            .count(record.value.is_none(), record.timestamp_ms);
    }
}

/// The end of a partition.
#[derive(Debug, Default)]
pub struct Tail {
    active: Option<Active>,
    next_offset: u64,
    staged: Staged,
}

#[derive(Debug)]
struct Active {
    file: File,
    segment: Arc<Segment>,
    /// Durable and acknowledged bytes; what lies after them is a batch under way, or the rest of
    /// one that failed.
    length: u64,
    /// Something may lie after `length` that must be cut off before the next write.
    has_rest: bool,
}

#[derive(Debug, Default)]
struct Staged {
    bytes: Vec<u8>,
    frames: Vec<(u64, usize)>,
    totals: Totals,
}

impl Tail {
    /// The end after the last segment of a partition.
    pub fn after(last: Option<&SegmentView>) -> Result<Self> {
        let Some(view) = last else {
            return Ok(Self::default());
        };
        let mut tail = Self {
            next_offset: view.end,
            ..Self::default()
        };
        if !view.closed {
            let path = &view.segment.path;
            let file = File::options()
                .read(true)
                .write(true)
                .open(path)
                .map_err(failed("open", path))?;
            tail.active = Some(Active {
                file,
                segment: Arc::clone(&view.segment),
                length: view.data_end,
                has_rest: false,
            });
        }
        Ok(tail)
    }

    /// Gives no record an offset below `offset` from now on.
    pub fn raise(&mut self, offset: u64) {
        self.next_offset = self.next_offset.max(offset);
    }

    /// `Unavailable` if the file that is written to is not in its place any more.
    pub fn check_name(&self) -> Result<()> {
        self.active.as_ref().map_or(Ok(()), Active::check_name)
    }

    /// Whether so many more bytes should go to a new segment.
    pub fn is_full(&self, bytes: usize, segment_bytes: u64) -> bool {
        let used = self.length() + self.staged.bytes.len() as u64;
        used > HEADER_BYTES as u64 && used + bytes as u64 > segment_bytes
    }

    /// Gives offsets to the records of a part and takes their frames. Returns the first offset.
    pub fn stage(&mut self, part: &Part) -> u64 {
        let first = self.next_offset;
        let batch_start = self.length() as u32;
        let mut at = self.staged.bytes.len();
        self.staged.bytes.extend_from_slice(&part.frames);
        for length in &part.lengths {
            seal(
                &mut self.staged.bytes[at..at + length],
                self.next_offset,
                batch_start,
            );
            self.staged.frames.push((self.next_offset, *length));
            self.next_offset += 1;
            at += length;
        }
        self.staged.totals.add(part.totals);
        first
    }

    /// Writes what is staged; it is not durable yet.
    pub fn write(&mut self, partition: &Partition) -> Result<()> {
        if self.active.is_none() {
            let base = self.next_offset - self.staged.frames.len() as u64;
            self.active = Some(create(partition, base)?);
        }
        let Some(active) = &mut self.active else {
            return Ok(());
        };
        active.cut_rest()?;
        active.has_rest = true;
        active
            .file
            .write_all_at(&self.staged.bytes, active.length)
            .map_err(failed("write", &active.segment.path))
    }

    /// Makes what was written durable and shows it to readers. Returns records and bytes.
    pub fn finish(&mut self, partition: &Partition) -> Result<(u64, u64)> {
        let Some(active) = &mut self.active else {
            return Ok((0, 0));
        };
        active
            .file
            .sync_data()
            .map_err(failed("sync", &active.segment.path))?;
        active.check_name()?;
        let mut position = active.length;
        for (offset, length) in self.staged.frames.drain(..) {
            active.segment.note(offset, position, length as u64);
            position += length as u64;
        }
        let written = (self.staged.totals.records, position - active.length);
        active.length = position;
        active.has_rest = false;
        partition.update_last(|view| {
            view.end = self.next_offset;
            view.data_end = position;
            view.totals.add(self.staged.totals);
        });
        self.clear_staged();
        Ok(written)
    }

    /// Forgets what is staged, and cuts off what of it was written.
    pub fn abandon(&mut self, partition: &Partition) {
        self.clear_staged();
        self.next_offset = partition.end();
        if let Some(active) = &mut self.active
            && let Err(error) = active.cut_rest()
        {
            tracing::warn!(path = %active.segment.path.display(), %error, "cannot cut off a failed write yet; will try before the next one");
        }
    }

    /// Closes the active segment with a footer. Nothing may be staged. The next write creates a new
    /// one. An empty segment stays active: the next one would have its base, and so its name.
    pub fn close(&mut self, partition: &Partition) -> Result<()> {
        let Some(active) = &mut self.active else {
            return Ok(());
        };
        if active.length == HEADER_BYTES as u64 {
            return Ok(());
        }
        let totals = partition
            .segments()
            .last()
            .map(|view| view.totals)
            .unwrap_or_default();
        active.cut_rest()?;
        active.has_rest = true;
        let footer = totals.footer(self.next_offset).encode(active.length as u32);
        let written = active
            .file
            .write_all_at(&footer, active.length)
            .and_then(|()| active.file.sync_data());
        if let Err(error) = written {
            let failure = failed("close", &active.segment.path)(error);
            self.abandon(partition);
            return Err(failure);
        }
        partition.update_last(|view| view.closed = true);
        self.active = None;
        Ok(())
    }

    /// Closes the active segment and starts the next, so that the closed one can be removed when
    /// its time comes.
    pub fn roll(&mut self, partition: &Partition) -> Result<()> {
        self.close(partition)?;
        if self.active.is_none() && self.next_offset > 0 {
            self.active = Some(create(partition, self.next_offset)?);
        }
        Ok(())
    }

    fn length(&self) -> u64 {
        self.active
            .as_ref()
            .map_or(HEADER_BYTES as u64, |active| active.length)
    }

    fn clear_staged(&mut self) {
        self.staged.bytes.clear();
        self.staged.bytes.shrink_to(KEPT_BUFFER_BYTES);
        self.staged.frames.clear();
        self.staged.totals = Totals::default();
    }
}

impl Active {
    /// What is written to a file that was removed, or moved to another place, is not there at the
    /// next start.
    fn check_name(&self) -> Result<()> {
        let path = &self.segment.path;
        let open = self.file.metadata().map_err(failed("look at", path))?;
        if std::fs::metadata(path)
            .is_ok_and(|named| (named.dev(), named.ino()) == (open.dev(), open.ino()))
        {
            return Ok(());
        }
        tracing::error!(path = %path.display(), "a file of the event log was removed while it was in use; nothing more is taken");
        Err(removed())
    }

    fn cut_rest(&mut self) -> Result<()> {
        if self.has_rest {
            self.file
                .set_len(self.length)
                .map_err(failed("truncate", &self.segment.path))?;
            self.has_rest = false;
        }
        Ok(())
    }
}

fn create(partition: &Partition, base: u64) -> Result<Active> {
    check_absent(partition, base)?;
    let name = SegmentName {
        base,
        generation: 0,
    };
    let path = name.path(&partition.folder);
    let header = Header {
        generation: 0,
        base,
        partition: partition.number,
    }
    .encode();
    let file = replace(&path, &header)?;
    let segment = Arc::new(Segment::new(&partition.folder, name, OffsetIndex::new()));
    partition.push(SegmentView {
        segment: Arc::clone(&segment),
        end: base,
        data_end: HEADER_BYTES as u64,
        totals: Totals::default(),
        closed: false,
    });
    Ok(Active {
        file,
        segment,
        length: HEADER_BYTES as u64,
        has_rest: false,
    })
}

fn check_absent(partition: &Partition, base: u64) -> Result<()> {
    let last = partition
        .segments()
        .last()
        .map(|view| view.segment.name.base);
    if last >= Some(base) {
        let what = format!("a segment at {base} is there already");
        return Err(Error::new(ErrorKind::Internal, what));
    }
    Ok(())
}
