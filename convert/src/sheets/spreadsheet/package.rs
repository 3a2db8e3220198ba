//! The ZIP container of a workbook: its parts by name, unpacked as a stream under a common budget.

use std::cell::Cell;
use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::rc::Rc;

use tributary_schemas::{Error, ErrorKind, Result};
use zip::ZipArchive;
use zip::result::ZipError;

use super::Bounds;

/// Parts that a workbook may have.
const MAXIMUM_PARTS: usize = 50_000;

/// Unpacked bytes for each packed one above which a large part is a bomb; ordinary sheets reach 50.
const MAXIMUM_RATIO: u64 = 400;

/// Unpacked bytes below which the ratio does not matter.
const HARMLESS_BYTES: u64 = 64 << 20;

/// Longest tag or text in bytes.
const MAXIMUM_EVENT_BYTES: u64 = 16 << 20;

/// The parts of a ZIP container.
pub(super) struct Package<'a> {
    archive: ZipArchive<Cursor<&'a [u8]>>,
    /// Places by name: with `/`, lowercase, without a leading `/`.
    parts: HashMap<String, usize>,
    budget: Budget,
    claimed_bytes: u64,
}

/// Bytes that may still be unpacked.
#[derive(Clone, Debug)]
struct Budget {
    left: Rc<Cell<u64>>,
    maximum: u64,
}

/// An unpacked part, read as a stream.
pub(super) struct Part<'a> {
    reader: BufReader<Counted<Box<dyn Read + 'a>>>,
    event_left: u64,
}

struct Counted<R> {
    inner: R,
    budget: Budget,
    packed: u64,
    unpacked: u64,
}

fn no_directory(error: &ZipError) -> Error {
    let message = format!("the ZIP container has no readable directory at its end: {error}");
    Error::new(ErrorKind::Corrupt, message)
        .with_hint("the file is damaged or cut off; send it again")
}

fn check_parts(parts: usize) -> Result<()> {
    if parts <= MAXIMUM_PARTS {
        return Ok(());
    }
    let message = format!("the ZIP container has {parts} parts, more than {MAXIMUM_PARTS}");
    Err(Error::new(ErrorKind::Invalid, message).with_hint("split the workbook"))
}

/// Why a part cannot be read: encrypted, or damaged.
fn refused(name: &str, error: &ZipError) -> Error {
    let is_encrypted = match error {
        ZipError::InvalidPassword => true,
        ZipError::UnsupportedArchive(reason) => reason.to_lowercase().contains("password"),
        _ => false,
    };
    if is_encrypted {
        return super::encrypted("a password on the ZIP container");
    }
    Error::new(
        ErrorKind::Corrupt,
        format!("the part {name} cannot be unpacked: {error}"),
    )
}

impl<'a> Package<'a> {
    /// Reads the directory.
    pub(super) fn open(bytes: &'a [u8], bounds: Bounds<'_>) -> Result<Self> {
        let archive = ZipArchive::new(Cursor::new(bytes)).map_err(|error| no_directory(&error))?;
        check_parts(archive.len())?;
        let maximum = bounds.settings.maximum_unpacked_bytes;
        let mut package = Self {
            archive,
            parts: HashMap::new(),
            budget: Budget {
                left: Rc::new(Cell::new(maximum)),
                maximum,
            },
            claimed_bytes: 0,
        };
        for index in 0..package.archive.len() {
            let Ok(file) = package.archive.by_index_raw(index) else {
                continue;
            };
            let name = file
                .name()
                .ok()
                .map(|name| normal(&name))
                .unwrap_or_default();
            package.claimed_bytes = package.claimed_bytes.saturating_add(file.size());
            package.parts.entry(name).or_insert(index);
        }
        Ok(package)
    }

    /// Unpacked bytes of all parts, as the directory claims.
    pub(super) fn claimed_bytes(&self) -> u64 {
        self.claimed_bytes
    }

    /// Whether there is a part of that name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.parts.contains_key(&normal(name))
    }

    /// Opens a part; `None` if there is none of that name.
    pub(super) fn part(&mut self, name: &str) -> Result<Option<Part<'_>>> {
        let Some(index) = self.parts.get(&normal(name)) else {
            return Ok(None);
        };
        let file = self
            .archive
            .by_index(*index)
            .map_err(|error| refused(name, &error))?;
        let counted = Counted {
            packed: file.compressed_size(),
            inner: Box::new(file) as Box<dyn Read>,
            budget: self.budget.clone(),
            unpacked: 0,
        };
        Ok(Some(Part {
            reader: BufReader::with_capacity(64 << 10, counted),
            event_left: MAXIMUM_EVENT_BYTES,
        }))
    }
}

fn normal(name: &str) -> String {
    name.replace('\\', "/")
        .trim_start_matches('/')
        .to_lowercase()
}

impl Part<'_> {
    /// Says that the next tag or text begins.
    pub(super) fn begin_event(&mut self) {
        self.event_left = MAXIMUM_EVENT_BYTES;
    }
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(buffer)?;
        self.unpacked += length as u64;
        let left = self.budget.left.get().checked_sub(length as u64);
        let is_bomb =
            self.unpacked > HARMLESS_BYTES && self.unpacked / self.packed.max(1) > MAXIMUM_RATIO;
        match left.filter(|_| !is_bomb) {
            Some(left) => {
                self.budget.left.set(left);
                Ok(length)
            }
            None => Err(io::Error::other(OverLimit {
                maximum: self.budget.maximum,
                is_bomb,
            })),
        }
    }
}

impl Read for Part<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.reader.read(buffer)
    }
}

impl BufRead for Part<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.event_left == 0 {
            return Err(io::Error::other(LongEvent));
        }
        self.reader.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.event_left = self.event_left.saturating_sub(amount as u64);
        self.reader.consume(amount);
    }
}

/// More bytes than are allowed, or a bomb.
#[derive(Debug)]
struct OverLimit {
    maximum: u64,
    is_bomb: bool,
}

/// A tag or text without end.
#[derive(Debug)]
struct LongEvent;

impl std::fmt::Display for OverLimit {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_bomb {
            return write!(
                formatter,
                "it unpacks to more than {MAXIMUM_RATIO} times its size"
            );
        }
        write!(
            formatter,
            "the parts unpack to more than {} bytes",
            self.maximum
        )
    }
}

impl std::fmt::Display for LongEvent {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "a tag or text in it has more than {MAXIMUM_EVENT_BYTES} bytes"
        )
    }
}

impl std::error::Error for OverLimit {}
impl std::error::Error for LongEvent {}

/// What a failed reading of a part means: a limit of ours is `Invalid`, everything else `Corrupt`.
pub(super) fn part_error(name: &str, error: &io::Error) -> Error {
    if error.get_ref().is_some_and(|inner| inner.is::<OverLimit>()) {
        return Error::new(
            ErrorKind::Invalid,
            format!("the part {name} is too large: {error}"),
        )
        .with_hint("split the workbook, or raise `convert.spreadsheet.maximum_unpacked_bytes`");
    }
    Error::new(
        ErrorKind::Corrupt,
        format!("the part {name} cannot be read: {error}"),
    )
    .with_hint("the file is damaged; send it again")
}
