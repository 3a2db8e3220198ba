//! What the index holds of each document: an append-only file of [`IndexedDocument`] records, and a compact map to their places.
//!
//! Layout: `TRIBMAN1`, then frames: length of the body and CRC-32 of the body (little-endian u32 each), body = version (u64), flags (u8, 1 =
//! deleted), number of chunks (u32), length of the document id (u32), document id, JSON of the record. The newest frame of an id counts.
//! The number of valid bytes is named by the commit; whatever lies behind it is cut when the file is opened.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tributary_schemas::{Error, ErrorKind, Result};

use crate::search_index::IndexedDocument;

const MAGIC: &[u8; 8] = b"TRIBMAN1";
/// Length and checksum before each body.
const FRAME_BYTES: usize = 8;
/// Version, flags, number of chunks and length of the id at the start of each body.
const PREFIX_BYTES: usize = 17;

/// Bytes of a manifest without records.
pub const EMPTY_BYTES: u64 = MAGIC.len() as u64;

/// What is kept in memory of one document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Stored version.
    pub version: u64,
    /// Offset of its frame.
    position: u64,
    /// Length of its body.
    length: u32,
    /// Chunks.
    pub chunks: u32,
    /// Whether this only remembers a deletion.
    pub deleted: bool,
}

/// Documents by id, and the file that holds their records.
#[derive(Debug)]
pub struct Documents {
    entries: BTreeMap<Box<str>, Entry>,
    live_bytes: u64,
    file: Arc<File>,
    path: PathBuf,
}

/// The writing side.
#[derive(Debug)]
pub struct Manifest {
    path: PathBuf,
    file: Arc<File>,
    length: u64,
}

impl Manifest {
    /// Creates an empty manifest; an older file of that name is replaced.
    pub fn create(path: &Path) -> Result<Self> {
        let failed = |error: std::io::Error| Error::io(format_args!("cannot create {}", path.display()), &error);
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path).map_err(failed)?;
        file.write_all(MAGIC).map_err(failed)?;
        Ok(Self { path: path.to_owned(), file: Arc::new(file), length: EMPTY_BYTES })
    }

    /// Opens a manifest that must hold `committed` valid bytes, cuts what lies behind them, and reads it.
    pub fn open(path: &Path, committed: u64) -> Result<(Self, Documents)> {
        let failed = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::NotFound => Error::new(ErrorKind::Corrupt, format!("file {} is missing", path.display())),
            _ => Error::io(format_args!("cannot open {}", path.display()), &error),
        };
        let mut file = OpenOptions::new().read(true).write(true).open(path).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        if length < committed {
            let message = format!("{} has {length} bytes, {committed} were committed", path.display());
            return Err(Error::new(ErrorKind::Corrupt, message));
        }
        if length > committed {
            file.set_len(committed).map_err(failed)?;
        }
        let mut bytes = Vec::with_capacity(committed as usize);
        file.read_to_end(&mut bytes).map_err(failed)?;
        let file = Arc::new(file);
        let mut documents = Documents { entries: BTreeMap::new(), live_bytes: 0, file: Arc::clone(&file), path: path.to_owned() };
        documents.read(&bytes)?;
        Ok((Self { path: path.to_owned(), file, length: committed }, documents))
    }

    /// Bytes written so far.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Appends records; the entries say where they are.
    pub fn append<'a>(&mut self, records: impl IntoIterator<Item = &'a IndexedDocument>) -> Result<Vec<(Box<str>, Entry)>> {
        let mut bytes = Vec::new();
        let mut entries = Vec::new();
        for record in records {
            let position = self.length + bytes.len() as u64;
            let length = frame(record, &mut bytes)?;
            entries.push((record.document.document_id.as_str().into(), entry(record, position, length)));
        }
        self.append_bytes(&bytes)?;
        Ok(entries)
    }

    fn append_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        let mut file = &*self.file;
        let written = file.seek(SeekFrom::Start(self.length)).and_then(|_| file.write_all(bytes));
        written.map_err(|error| Error::io(format_args!("cannot append to {}", self.path.display()), &error))?;
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Makes everything appended durable.
    pub fn sync(&self) -> Result<()> {
        self.file.sync_data().map_err(|error| Error::io(format_args!("cannot sync {}", self.path.display()), &error))
    }

    /// Copies only the newest record of each document into a new file.
    pub fn compact(documents: &Documents, path: &Path) -> Result<(Self, Documents)> {
        let mut manifest = Self::create(path)?;
        let mut entries = BTreeMap::new();
        let mut bytes = Vec::new();
        for (id, old) in &documents.entries {
            let position = manifest.length + bytes.len() as u64;
            bytes.extend(documents.frame_bytes(old)?);
            entries.insert(id.clone(), Entry { position, ..*old });
            if bytes.len() > 1 << 20 {
                manifest.append_bytes(&std::mem::take(&mut bytes))?;
            }
        }
        manifest.append_bytes(&bytes)?;
        let file = Arc::clone(&manifest.file);
        let compacted = Documents { entries, live_bytes: documents.live_bytes, file, path: path.to_owned() };
        Ok((manifest, compacted))
    }
}

impl Documents {
    fn read(&mut self, bytes: &[u8]) -> Result<()> {
        let damaged = |position: usize| {
            Error::new(ErrorKind::Corrupt, format!("{} is damaged at byte {position}, within what was committed", self.path.display()))
        };
        if !bytes.starts_with(MAGIC) {
            return Err(damaged(0));
        }
        let mut found = Vec::new();
        let mut position = MAGIC.len();
        while position < bytes.len() {
            let body = body(bytes, position).ok_or_else(|| damaged(position))?;
            found.push(parse_prefix(body, position as u64).ok_or_else(|| damaged(position))?);
            position += FRAME_BYTES + body.len();
        }
        for (id, entry) in found {
            self.put(id, entry);
        }
        Ok(())
    }

    /// Takes over an entry that was appended to the file.
    pub fn put(&mut self, id: Box<str>, entry: Entry) {
        self.live_bytes += u64::from(entry.length) + FRAME_BYTES as u64;
        if let Some(old) = self.entries.insert(id, entry) {
            self.live_bytes -= u64::from(old.length) + FRAME_BYTES as u64;
        }
    }

    /// What is known of a document.
    pub fn get(&self, id: &str) -> Option<Entry> {
        self.entries.get(id).copied()
    }

    /// Entries after an id (from the first for `None`), by id.
    pub fn after(&self, id: Option<&str>) -> impl Iterator<Item = (&str, Entry)> {
        use std::ops::Bound::{Excluded, Unbounded};
        let from = id.map_or(Unbounded, Excluded);
        self.entries.range::<str, _>((from, Unbounded)).map(|(id, entry)| (&**id, *entry))
    }

    /// Documents that are not deleted.
    pub fn count(&self) -> u64 {
        self.entries.values().filter(|entry| !entry.deleted).count() as u64
    }

    /// Bytes of the records that still count.
    pub fn live_bytes(&self) -> u64 {
        self.live_bytes
    }

    /// A reader that stays valid after this map has moved on.
    pub fn reader(&self) -> Reader {
        Reader { file: Arc::clone(&self.file), path: self.path.clone() }
    }

    fn frame_bytes(&self, entry: &Entry) -> Result<Vec<u8>> {
        self.reader().frame_bytes(entry)
    }
}

/// Reads records by entry.
#[derive(Clone, Debug)]
pub struct Reader {
    file: Arc<File>,
    path: PathBuf,
}

impl Reader {
    fn frame_bytes(&self, entry: &Entry) -> Result<Vec<u8>> {
        let mut bytes = vec![0; FRAME_BYTES + entry.length as usize];
        read_at(&self.file, &mut bytes, entry.position)
            .map_err(|error| Error::io(format_args!("cannot read {}", self.path.display()), &error))?;
        Ok(bytes)
    }

    /// The record of an entry.
    pub fn read(&self, entry: &Entry) -> Result<IndexedDocument> {
        let damaged = || Error::new(ErrorKind::Corrupt, format!("{} is damaged at byte {}", self.path.display(), entry.position));
        let bytes = self.frame_bytes(entry)?;
        let body = body(&bytes, 0).ok_or_else(damaged)?;
        let id_length = body.get(13..PREFIX_BYTES).and_then(|bytes| bytes.try_into().ok()).map(u32::from_le_bytes).ok_or_else(damaged)?;
        let json = body.get(PREFIX_BYTES + id_length as usize..).ok_or_else(damaged)?;
        serde_json::from_slice(json).map_err(|error| Error::new(ErrorKind::Corrupt, format!("{}: {error}", damaged())))
    }
}

#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], position: u64) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, position)
}

#[cfg(windows)]
fn read_at(file: &File, mut bytes: &mut [u8], mut position: u64) -> std::io::Result<()> {
    while !bytes.is_empty() {
        let read = std::os::windows::fs::FileExt::seek_read(file, bytes, position)?;
        if read == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        bytes = &mut bytes[read..];
        position += read as u64;
    }
    Ok(())
}

fn entry(record: &IndexedDocument, position: u64, length: u32) -> Entry {
    let chunks = record.chunk_ids.len() as u32;
    Entry { version: record.document.version, position, length, chunks, deleted: record.deleted }
}

/// Appends a frame; returns the length of its body.
fn frame(record: &IndexedDocument, bytes: &mut Vec<u8>) -> Result<u32> {
    let json = serde_json::to_vec(record)
        .map_err(|error| Error::new(ErrorKind::Internal, format!("document {} cannot be written: {error}", record.document.document_id)))?;
    let id = record.document.document_id.as_bytes();
    let mut body = Vec::with_capacity(PREFIX_BYTES + id.len() + json.len());
    body.extend(record.document.version.to_le_bytes());
    body.push(u8::from(record.deleted));
    body.extend((record.chunk_ids.len() as u32).to_le_bytes());
    body.extend((id.len() as u32).to_le_bytes());
    body.extend(id);
    body.extend(json);
    let length = u32::try_from(body.len()).map_err(|_| {
        Error::new(ErrorKind::Invalid, format!("document {} has too many chunks for one record", record.document.document_id))
    })?;
    bytes.extend(length.to_le_bytes());
    bytes.extend(crc32fast::hash(&body).to_le_bytes());
    bytes.extend(body);
    Ok(length)
}

/// The body of the frame at `position`, if it is whole and its checksum is right.
fn body(bytes: &[u8], position: usize) -> Option<&[u8]> {
    let length = u32::from_le_bytes(bytes.get(position..position + 4)?.try_into().ok()?) as usize;
    let checksum = u32::from_le_bytes(bytes.get(position + 4..position + FRAME_BYTES)?.try_into().ok()?);
    let body = bytes.get(position + FRAME_BYTES..(position + FRAME_BYTES).checked_add(length)?)?;
    (crc32fast::hash(body) == checksum).then_some(body)
}

fn parse_prefix(body: &[u8], position: u64) -> Option<(Box<str>, Entry)> {
    let version = u64::from_le_bytes(body.get(..8)?.try_into().ok()?);
    let deleted = body.get(8)? & 1 == 1;
    let chunks = u32::from_le_bytes(body.get(9..13)?.try_into().ok()?);
    let id_length = u32::from_le_bytes(body.get(13..PREFIX_BYTES)?.try_into().ok()?) as usize;
    let id = std::str::from_utf8(body.get(PREFIX_BYTES..PREFIX_BYTES.checked_add(id_length)?)?).ok()?;
    Some((id.into(), Entry { version, position, length: body.len() as u32, chunks, deleted }))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use tributary_schemas::{ChunkId, DocumentHeader};

    fn record(id: &str, version: u64, deleted: bool) -> IndexedDocument {
        let document = DocumentHeader { document_id: id.into(), version, title: "标题".into(), ..DocumentHeader::default() };
        IndexedDocument { document, chunk_ids: vec![ChunkId(7)], deleted }
    }

    #[test]
    fn the_newest_record_counts_and_the_tail_is_cut() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m");
        let mut manifest = Manifest::create(&path).unwrap();
        manifest.append(&[record("a", 1, false), record("b", 1, false), record("a", 2, true)]).unwrap();
        let committed = manifest.length();
        manifest.append(&[record("c", 9, false)]).unwrap();
        drop(manifest);
        let (_, documents) = Manifest::open(&path, committed).unwrap();
        assert_eq!(
            documents.after(None).map(|(id, entry)| (id, entry.version, entry.deleted)).collect::<Vec<_>>(),
            [("a", 2, true), ("b", 1, false)]
        );
        assert_eq!(documents.after(Some("a")).count(), 1);
        assert_eq!(documents.count(), 1);
        assert_eq!(documents.reader().read(&documents.get("b").unwrap()).unwrap(), record("b", 1, false));
        assert!(documents.live_bytes() < committed);
        let (compacted, copied) = Manifest::compact(&documents, &folder.path().join("n")).unwrap();
        assert_eq!(compacted.length(), EMPTY_BYTES + documents.live_bytes());
        assert_eq!(copied.reader().read(&copied.get("a").unwrap()).unwrap(), record("a", 2, true));
    }

    #[test]
    fn damage_within_what_was_committed_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m");
        let mut manifest = Manifest::create(&path).unwrap();
        manifest.append(&[record("a", 1, false)]).unwrap();
        let committed = manifest.length();
        assert_eq!(Manifest::open(&path, committed + 1).unwrap_err().kind(), ErrorKind::Corrupt);
        let mut bytes = std::fs::read(&path).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(Manifest::open(&path, committed).unwrap_err().kind(), ErrorKind::Corrupt);
    }
}
