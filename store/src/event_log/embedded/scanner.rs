//! Reads the frames of a segment one after the other, in large pieces. Used by readers, recovery and compaction.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use tributary_schemas::{Error, Result};

use super::folder::{corrupt, failed};
use super::format::{Frame, HEADER_BYTES, Parsed};

/// Bytes read at once, unless records are long. Small, because records that are handed out keep the piece that they lie in alive.
const PIECE_BYTES: usize = 64 << 10;
/// Long records are read four at once up to this size, else what is read of the last one would be read again too often.
const LONG_RECORD_BYTES: usize = 256 << 10;

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
        Ok(Self { file: Arc::new(file), path: Arc::new(path.to_owned()) })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its length now.
    pub fn len(&self) -> Result<u64> {
        Ok(self.file.metadata().map_err(failed("read", &self.path))?.len())
    }

    /// The bytes from `position` on, as many as asked for. The caller knows that they are there.
    pub fn read(&self, position: u64, count: usize) -> Result<Bytes> {
        let mut bytes = vec![0; count];
        self.file.read_exact_at(&mut bytes, position).map_err(|error| {
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

/// A walk over the frames between two file positions.
#[derive(Clone, Debug)]
pub struct Scanner {
    file: SegmentFile,
    position: u64,
    end: u64,
    piece: Bytes,
}

impl Scanner {
    /// Starts at `position`, where a frame must begin; `end` is where the last frame ends.
    pub fn new(file: SegmentFile, position: u64, end: u64) -> Self {
        Self { file, position: position.max(HEADER_BYTES as u64), end, piece: Bytes::new() }
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
            // The length of a frame is believed only as far as the file reaches.
            let several = if wanted <= LONG_RECORD_BYTES { wanted * 4 } else { wanted };
            let count = left.min(several.max(PIECE_BYTES) as u64);
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

    /// File position of the next frame.
    pub fn position(&self) -> u64 {
        self.position
    }
}
