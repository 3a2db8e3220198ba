//! Reads the frames of a segment one after the other, in large pieces.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use tributary_schemas::{Error, Result};

use super::damage::Damage;
use super::folder::{corrupt, failed};
use super::format::{
    FRAME_HEAD_BYTES, Frame, HEADER_BYTES, PREFIX_BYTES, Parsed, likely_key, may_begin_record,
    u32_at,
};

/// Bytes read at once, unless records are long. Small, because records that are handed out keep the
/// piece that they lie in alive.
const PIECE_BYTES: usize = 64 << 10;
/// Long records are read four at once up to this size, else what is read of the last one would be
/// read again too often.
const LONG_RECORD_BYTES: usize = 256 << 10;
/// Bytes of a damaged frame in which its key is looked for.
const KEY_SEARCH_BYTES: u64 = 4 << 10;
/// Bytes read at once in the search for the frame after damage.
const SEARCH_BYTES: u64 = 1 << 20;

/// A segment file open for reading. Cheap to clone; stays readable when the file is removed.
#[derive(Clone, Debug)]
pub struct SegmentFile {
    file: Arc<File>,
    path: Arc<PathBuf>,
}

impl SegmentFile {
    /// Opens it. `NotFound` if compaction or retention has just removed it.
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(failed("open", path))?;
        Ok(Self {
            file: Arc::new(file),
            path: Arc::new(path.to_owned()),
        })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its length now.
    pub fn len(&self) -> Result<u64> {
        Ok(self
            .file
            .metadata()
            .map_err(failed("read", &self.path))?
            .len())
    }

    /// The bytes from `position` on, as many as asked for. The caller knows that they are there.
    pub fn read(&self, position: u64, count: usize) -> Result<Bytes> {
        let mut bytes = vec![0; count];
        self.file
            .read_exact_at(&mut bytes, position)
            .map_err(|error| {
                if error.kind() == std::io::ErrorKind::UnexpectedEof {
                    self.corrupt(position, "the file ends too early")
                } else {
                    failed("read", &self.path)(error)
                }
            })?;
        Ok(bytes.into())
    }

    /// `Corrupt` at a byte of this file.
    pub fn corrupt(&self, position: u64, what: &str) -> Error {
        corrupt(&self.path, position, what)
    }
}

/// What comes next in a segment.
#[derive(Debug)]
pub enum Next {
    /// A sound frame, at this file position.
    Frame(u64, Frame),
    /// No sound frame, and why.
    Damaged(u64, &'static str),
    /// The end of the stretch.
    End,
}

/// What the frame after damage must be like.
#[derive(Clone, Debug)]
pub struct Resume {
    /// Offsets that it may have.
    pub offsets: Range<u64>,
    /// Whether the file was appended to, so that a frame's batch does not begin behind the frame.
    pub appended: bool,
}

/// A walk over the frames between two file positions.
#[derive(Clone, Debug)]
pub struct Scanner {
    file: SegmentFile,
    position: u64,
    end: u64,
    piece: Bytes,
}

/// How much to read for a frame of that length, which is believed only as far as the file reaches.
fn piece_bytes(wanted: usize) -> usize {
    let several = if wanted <= LONG_RECORD_BYTES {
        wanted * 4
    } else {
        wanted
    };
    several.max(PIECE_BYTES)
}

impl Scanner {
    /// Starts at `position`, where a frame must begin; `end` is where the last frame ends.
    pub fn new(file: SegmentFile, position: u64, end: u64) -> Self {
        Self {
            file,
            position: position.max(HEADER_BYTES as u64),
            end,
            piece: Bytes::new(),
        }
    }

    /// The next frame. After `Damaged` it stays where it is.
    pub fn step(&mut self) -> Result<Next> {
        loop {
            if self.position >= self.end {
                return Ok(Next::End);
            }
            let wanted = match Frame::parse(&self.piece) {
                Parsed::Frame(frame) => {
                    let position = self.position;
                    self.piece = self.piece.slice(frame.size()..);
                    self.position += frame.size() as u64;
                    return Ok(Next::Frame(position, frame));
                }
                Parsed::Damaged(what) => return Ok(Next::Damaged(self.position, what)),
                Parsed::Incomplete(wanted) => wanted,
            };
            let left = self.end - self.position;
            if wanted as u64 > left {
                return Ok(Next::Damaged(self.position, "a record is incomplete"));
            }
            let count = left.min(piece_bytes(wanted) as u64);
            self.piece = self.file.read(self.position, count as usize)?;
        }
    }

    /// The next frame of a stretch where damage is an error.
    pub fn next_sound(&mut self) -> Result<Option<(u64, Frame)>> {
        match self.step()? {
            Next::Frame(position, frame) => Ok(Some((position, frame))),
            Next::Damaged(position, what) => Err(self.file.corrupt(position, what)),
            Next::End => Ok(None),
        }
    }

    /// The next frame of a stretch where damage is passed over. What was passed over is added to
    /// `damage`; `resume.offsets` follows what is read.
    pub fn next_past_damage(
        &mut self,
        resume: &mut Resume,
        damage: &mut Vec<Damage>,
    ) -> Result<Option<(u64, Frame)>> {
        loop {
            let (position, what) = match self.step()? {
                Next::End => return Ok(None),
                Next::Frame(position, frame) if is_plausible(&frame, resume) => {
                    resume.offsets.start = frame.offset() + 1;
                    return Ok(Some((position, frame)));
                }
                Next::Frame(position, _) => (position, "a record is out of place"),
                Next::Damaged(position, what) => (position, what),
            };
            damage.push(self.skip(position, what, resume)?);
        }
    }

    /// Goes to the frame after the damage at `position`, or to the end.
    pub fn skip(&mut self, position: u64, what: &str, resume: &Resume) -> Result<Damage> {
        let next = self.after_damage(position, resume)?;
        (self.position, self.piece) = (next, Bytes::new());
        let head = self
            .file
            .read(position, (next - position).min(KEY_SEARCH_BYTES) as usize)?;
        Ok(Damage {
            key: likely_key(&head),
            ..Damage::new(self.file.path(), position, next - position, what)
        })
    }

    /// Where the frame after the damage begins, or the end.
    fn after_damage(&self, position: u64, resume: &Resume) -> Result<u64> {
        let head = self.file.read(
            position,
            (self.end - position).min(FRAME_HEAD_BYTES as u64) as usize,
        )?;
        if head.len() == FRAME_HEAD_BYTES {
            let named = position + PREFIX_BYTES as u64 + u64::from(u32_at(&head, 0));
            if named >= position + FRAME_HEAD_BYTES as u64
                && (named == self.end || self.is_record(named, resume)?)
            {
                return Ok(named);
            }
        }
        let mut from = position + 1;
        while from < self.end {
            let piece = self
                .file
                .read(from, (self.end - from).min(SEARCH_BYTES) as usize)?;
            for at in 0..piece.len().saturating_sub(FRAME_HEAD_BYTES - 1) {
                let place = from + at as u64;
                let latest_batch = if resume.appended { place } else { u64::MAX };
                let head = &piece[at..at + FRAME_HEAD_BYTES];
                if may_begin_record(head, latest_batch, self.end - place, &resume.offsets)
                    && self.is_record(place, resume)?
                {
                    return Ok(place);
                }
            }
            // The head of a frame may lie across two pieces.
            from += (piece.len().saturating_sub(FRAME_HEAD_BYTES - 1)).max(1) as u64;
            if self.end - from.min(self.end) < FRAME_HEAD_BYTES as u64 {
                break;
            }
        }
        Ok(self.end)
    }

    fn is_record(&self, position: u64, resume: &Resume) -> Result<bool> {
        if position >= self.end {
            return Ok(false);
        }
        let frame = Self::new(self.file.clone(), position, self.end).step()?;
        Ok(matches!(frame, Next::Frame(_, frame) if is_plausible(&frame, resume)))
    }

    /// File position of the next frame.
    pub fn position(&self) -> u64 {
        self.position
    }
}

/// Whether a sound frame can be the next record.
fn is_plausible(frame: &Frame, resume: &Resume) -> bool {
    resume.offsets.contains(&frame.offset()) && frame.record().is_ok()
}
