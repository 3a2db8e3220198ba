//! What the index holds of each document: an append-only file of [`IndexedDocument`] records, and
//! compact maps to their places, by id and by manifest term.
//!
//! Layout: `TRIBMAN2`, then frames: length of the body and CRC-32 of the body (little-endian u32
//! each), body = version (u64), flags (u8, 1 = deleted, 2 = terms follow), number of chunks (u32),
//! length of the document id (u32), document id, with flag 2 the number of terms (u32) and the
//! CRC-32 of each (u32), JSON of the record. The newest frame of an id counts. The number of valid
//! bytes is named by the commit; whatever lies behind it is cut when the file is opened. A file of
//! the version before, `TRIBMAN1`, has no frames with flag 2 and becomes one of this version when
//! it is opened.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tributary_schemas::{Error, ErrorKind, Result};

use super::manifest_terms::{Number, Terms, hash};
use crate::search_index::IndexedDocument;

const MAGIC: &[u8; 8] = b"TRIBMAN2";
/// The version before: frames without terms.
const MAGIC_WITHOUT_TERMS: &[u8; 8] = b"TRIBMAN1";
const FLAG_DELETED: u8 = 1;
const FLAG_TERMS: u8 = 2;
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
    /// What the map by term calls it.
    number: Number,
}

/// A record that was appended: where it is, and what it is found by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Appended {
    /// Document.
    pub id: Box<str>,
    /// Place of its record.
    pub entry: Entry,
    /// Hashes of its manifest terms.
    terms: Vec<u32>,
}

/// Documents by id and by term, and the file that holds their records.
#[derive(Debug)]
pub struct Documents {
    entries: BTreeMap<Box<str>, Entry>,
    terms: Terms,
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
        let failed = |error: std::io::Error| {
            Error::io(format_args!("cannot create {}", path.display()), &error)
        };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(path)
            .map_err(failed)?;
        file.write_all(MAGIC).map_err(failed)?;
        Ok(Self {
            path: path.to_owned(),
            file: Arc::new(file),
            length: EMPTY_BYTES,
        })
    }

    /// Opens a manifest that must hold `committed` valid bytes, cuts what lies behind them, and
    /// reads it.
    pub fn open(path: &Path, committed: u64) -> Result<(Self, Documents)> {
        let failed = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::NotFound => Error::new(
                ErrorKind::Corrupt,
                format!("file {} is missing", path.display()),
            ),
            _ => Error::io(format_args!("cannot open {}", path.display()), &error),
        };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(path)
            .map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        if length < committed {
            let message = format!(
                "{} has {length} bytes, {committed} were committed",
                path.display()
            );
            return Err(Error::new(ErrorKind::Corrupt, message));
        }
        if length > committed {
            file.set_len(committed).map_err(failed)?;
        }
        let mut bytes = Vec::with_capacity(committed as usize);
        file.read_to_end(&mut bytes).map_err(failed)?;
        if bytes.starts_with(MAGIC_WITHOUT_TERMS) {
            file.seek(SeekFrom::Start(0))
                .and_then(|_| file.write_all(MAGIC))
                .and_then(|()| file.sync_data())
                .map_err(failed)?;
        }
        let file = Arc::new(file);
        let mut documents = Documents::empty(&file, path);
        documents.read(&bytes)?;
        Ok((
            Self {
                path: path.to_owned(),
                file,
                length: committed,
            },
            documents,
        ))
    }

    /// Bytes written so far.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Appends records; the entries say where they are.
    pub fn append<'a>(
        &mut self,
        records: impl IntoIterator<Item = &'a IndexedDocument>,
    ) -> Result<Vec<Appended>> {
        let mut bytes = Vec::new();
        let mut appended = Vec::new();
        for record in records {
            let position = self.length + bytes.len() as u64;
            let terms = if record.deleted {
                Vec::new()
            } else {
                term_hashes(&record.document.manifest_terms())
            };
            let length = frame(record, &terms, &mut bytes)?;
            appended.push(Appended {
                id: record.document.document_id.as_str().into(),
                entry: entry(record, position, length),
                terms,
            });
        }
        self.append_bytes(&bytes)?;
        Ok(appended)
    }

    fn append_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        let mut file = &*self.file;
        let written = file
            .seek(SeekFrom::Start(self.length))
            .and_then(|_| file.write_all(bytes));
        written.map_err(|error| {
            Error::io(
                format_args!("cannot append to {}", self.path.display()),
                &error,
            )
        })?;
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Makes everything appended durable.
    pub fn sync(&self) -> Result<()> {
        self.file
            .sync_data()
            .map_err(|error| Error::io(format_args!("cannot sync {}", self.path.display()), &error))
    }

    /// Copies only the newest record of each document into a new file.
    pub fn compact(documents: &Documents, path: &Path) -> Result<(Self, Documents)> {
        let mut manifest = Self::create(path)?;
        let mut compacted = Documents::empty(&manifest.file, path);
        let mut bytes = Vec::new();
        for old in documents.entries.values() {
            let position = manifest.length + bytes.len() as u64;
            let frame = documents.frame_bytes(old)?;
            let copied = body(&frame, 0)
                .and_then(|body| parse_prefix(body, position))
                .ok_or_else(|| documents.damaged(old.position))?;
            compacted.put(copied);
            bytes.extend(frame);
            if bytes.len() > 1 << 20 {
                manifest.append_bytes(&std::mem::take(&mut bytes))?;
            }
        }
        manifest.append_bytes(&bytes)?;
        compacted.terms.tidy();
        Ok((manifest, compacted))
    }
}

impl Documents {
    fn empty(file: &Arc<File>, path: &Path) -> Self {
        Self {
            entries: BTreeMap::new(),
            terms: Terms::default(),
            live_bytes: 0,
            file: Arc::clone(file),
            path: path.to_owned(),
        }
    }

    fn damaged(&self, position: u64) -> Error {
        Error::new(
            ErrorKind::Corrupt,
            format!(
                "{} is damaged at byte {position}, within what was committed",
                self.path.display()
            ),
        )
    }

    fn read(&mut self, bytes: &[u8]) -> Result<()> {
        if !bytes.starts_with(MAGIC) && !bytes.starts_with(MAGIC_WITHOUT_TERMS) {
            return Err(self.damaged(0));
        }
        let mut position = MAGIC.len();
        while position < bytes.len() {
            let body = body(bytes, position).ok_or_else(|| self.damaged(position as u64))?;
            let found =
                parse_prefix(body, position as u64).ok_or_else(|| self.damaged(position as u64))?;
            self.put(found);
            position += FRAME_BYTES + body.len();
        }
        self.terms.tidy();
        Ok(())
    }

    /// Takes over a record that was appended to the file.
    pub fn put(&mut self, Appended { id, entry, terms }: Appended) {
        self.live_bytes += u64::from(entry.length) + FRAME_BYTES as u64;
        let number = self.terms.add(&terms, entry.position);
        if let Some(old) = self.entries.insert(id, Entry { number, ..entry }) {
            self.live_bytes -= u64::from(old.length) + FRAME_BYTES as u64;
            self.terms.forget(old.number);
        }
    }

    /// Places of documents that carry one of the terms. A hash may stand for another term too, so
    /// whoever reads a record looks whether it really carries one.
    pub fn with_terms(&self, terms: &[String]) -> Vec<u64> {
        self.terms.find(&term_hashes(terms))
    }

    /// What is known of a document.
    pub fn get(&self, id: &str) -> Option<Entry> {
        self.entries.get(id).copied()
    }

    /// Entries after an id (from the first for `None`), by id.
    pub fn after(&self, id: Option<&str>) -> impl Iterator<Item = (&str, Entry)> {
        use std::ops::Bound::{Excluded, Unbounded};
        let from = id.map_or(Unbounded, Excluded);
        self.entries
            .range::<str, _>((from, Unbounded))
            .map(|(id, entry)| (&**id, *entry))
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
        Reader {
            file: Arc::clone(&self.file),
            path: self.path.clone(),
        }
    }

    fn frame_bytes(&self, entry: &Entry) -> Result<Vec<u8>> {
        self.reader().frame_bytes(entry.position, entry.length)
    }
}

/// Reads records by entry.
#[derive(Clone, Debug)]
pub struct Reader {
    file: Arc<File>,
    path: PathBuf,
}

impl Reader {
    fn frame_bytes(&self, position: u64, length: u32) -> Result<Vec<u8>> {
        let mut bytes = vec![0; FRAME_BYTES + length as usize];
        read_at(&self.file, &mut bytes, position).map_err(|error| self.unreadable(&error))?;
        Ok(bytes)
    }

    /// The record of an entry.
    pub fn read(&self, entry: &Entry) -> Result<IndexedDocument> {
        self.parse(
            entry.position,
            &self.frame_bytes(entry.position, entry.length)?,
        )
    }

    /// The record at a place.
    pub fn read_at(&self, place: u64) -> Result<IndexedDocument> {
        let mut length = [0; 4];
        read_at(&self.file, &mut length, place).map_err(|error| self.unreadable(&error))?;
        self.parse(place, &self.frame_bytes(place, u32::from_le_bytes(length))?)
    }

    fn parse(&self, position: u64, frame: &[u8]) -> Result<IndexedDocument> {
        let damaged = || {
            Error::new(
                ErrorKind::Corrupt,
                format!("{} is damaged at byte {position}", self.path.display()),
            )
        };
        let json = body(frame, 0).and_then(json_of).ok_or_else(damaged)?;
        serde_json::from_slice(json)
            .map_err(|error| Error::new(ErrorKind::Corrupt, format!("{}: {error}", damaged())))
    }

    fn unreadable(&self, error: &std::io::Error) -> Error {
        Error::io(format_args!("cannot read {}", self.path.display()), error)
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
    Entry {
        version: record.document.version,
        position,
        length,
        chunks,
        deleted: record.deleted,
        number: Number::NONE,
    }
}

/// Hashes of terms, each once.
fn term_hashes(terms: &[String]) -> Vec<u32> {
    let mut hashes: Vec<u32> = terms.iter().map(|term| hash(term)).collect();
    hashes.sort_unstable();
    hashes.dedup();
    hashes
}

/// Appends a frame; returns the length of its body.
fn frame(record: &IndexedDocument, terms: &[u32], bytes: &mut Vec<u8>) -> Result<u32> {
    let json = serde_json::to_vec(record).map_err(|error| {
        Error::new(
            ErrorKind::Internal,
            format!(
                "document {} cannot be written: {error}",
                record.document.document_id
            ),
        )
    })?;
    let id = record.document.document_id.as_bytes();
    let mut body = Vec::with_capacity(PREFIX_BYTES + id.len() + 4 + terms.len() * 4 + json.len());
    body.extend(record.document.version.to_le_bytes());
    body.push(FLAG_TERMS | if record.deleted { FLAG_DELETED } else { 0 });
    body.extend((record.chunk_ids.len() as u32).to_le_bytes());
    body.extend((id.len() as u32).to_le_bytes());
    body.extend(id);
    body.extend((terms.len() as u32).to_le_bytes());
    terms
        .iter()
        .for_each(|term| body.extend(term.to_le_bytes()));
    body.extend(json);
    let length = u32::try_from(body.len()).map_err(|_| {
        Error::new(
            ErrorKind::Invalid,
            format!(
                "document {} has too many chunks for one record",
                record.document.document_id
            ),
        )
    })?;
    bytes.extend(length.to_le_bytes());
    bytes.extend(crc32fast::hash(&body).to_le_bytes());
    bytes.extend(body);
    Ok(length)
}

/// The body of the frame at `position`, if it is whole and its checksum is right.
fn body(bytes: &[u8], position: usize) -> Option<&[u8]> {
    let length = u32::from_le_bytes(bytes.get(position..position + 4)?.try_into().ok()?) as usize;
    let checksum = u32::from_le_bytes(
        bytes
            .get(position + 4..position + FRAME_BYTES)?
            .try_into()
            .ok()?,
    );
    let body = bytes.get(position + FRAME_BYTES..(position + FRAME_BYTES).checked_add(length)?)?;
    (crc32fast::hash(body) == checksum).then_some(body)
}

/// What a body says of its record before the JSON.
struct Prefix<'a> {
    id: &'a [u8],
    terms: &'a [u8],
    json: &'a [u8],
}

fn number(bytes: &[u8]) -> Option<u32> {
    bytes.get(..4)?.try_into().ok().map(u32::from_le_bytes)
}

fn prefix(body: &[u8]) -> Option<Prefix<'_>> {
    let flags = *body.get(8)?;
    let id_length = number(body.get(13..)?)? as usize;
    let (id, rest) = body.get(PREFIX_BYTES..)?.split_at_checked(id_length)?;
    if flags & FLAG_TERMS == 0 {
        return Some(Prefix {
            id,
            terms: &[],
            json: rest,
        });
    }
    let count = number(rest)? as usize;
    let (terms, json) = rest.get(4..)?.split_at_checked(count.checked_mul(4)?)?;
    Some(Prefix { id, terms, json })
}

fn json_of(body: &[u8]) -> Option<&[u8]> {
    prefix(body).map(|prefix| prefix.json)
}

fn parse_prefix(body: &[u8], position: u64) -> Option<Appended> {
    let version = u64::from_le_bytes(body.get(..8)?.try_into().ok()?);
    let deleted = body.get(8)? & FLAG_DELETED != 0;
    let chunks = number(body.get(9..)?)?;
    let Prefix { id, terms, .. } = prefix(body)?;
    let entry = Entry {
        version,
        position,
        length: u32::try_from(body.len()).ok()?,
        chunks,
        deleted,
        number: Number::NONE,
    };
    let terms = terms.chunks_exact(4).filter_map(number).collect();
    Some(Appended {
        id: std::str::from_utf8(id).ok()?.into(),
        entry,
        terms,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use tributary_schemas::{ChunkId, DocumentHeader};

    fn record(id: &str, version: u64, deleted: bool) -> IndexedDocument {
        let document = DocumentHeader {
            document_id: id.into(),
            version,
            title: "标题".into(),
            ..DocumentHeader::default()
        };
        IndexedDocument {
            document,
            chunk_ids: vec![ChunkId(7)],
            deleted,
        }
    }

    #[test]
    fn the_newest_record_counts_and_the_tail_is_cut() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m");
        let mut manifest = Manifest::create(&path).unwrap();
        manifest
            .append(&[
                record("a", 1, false),
                record("b", 1, false),
                record("a", 2, true),
            ])
            .unwrap();
        let committed = manifest.length();
        manifest.append(&[record("c", 9, false)]).unwrap();
        drop(manifest);
        let (_, documents) = Manifest::open(&path, committed).unwrap();
        assert_eq!(
            documents
                .after(None)
                .map(|(id, entry)| (id, entry.version, entry.deleted))
                .collect::<Vec<_>>(),
            [("a", 2, true), ("b", 1, false)]
        );
        assert_eq!(documents.after(Some("a")).count(), 1);
        assert_eq!(documents.count(), 1);
        assert_eq!(
            documents
                .reader()
                .read(&documents.get("b").unwrap())
                .unwrap(),
            record("b", 1, false)
        );
        assert!(documents.live_bytes() < committed);
        let (compacted, copied) = Manifest::compact(&documents, &folder.path().join("n")).unwrap();
        assert_eq!(compacted.length(), EMPTY_BYTES + documents.live_bytes());
        assert_eq!(
            copied.reader().read(&copied.get("a").unwrap()).unwrap(),
            record("a", 2, true)
        );
    }

    #[test]
    fn documents_are_found_by_their_terms_also_after_opening_and_compaction() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m");
        let with = |id: &str, version, content: &str| {
            let document = DocumentHeader {
                content_hash: content.into(),
                ..record(id, version, false).document
            };
            IndexedDocument {
                document,
                chunk_ids: vec![],
                deleted: false,
            }
        };
        let mut manifest = Manifest::create(&path).unwrap();
        manifest
            .append(&[
                with("a", 1, "x"),
                with("b", 1, "y"),
                with("c", 1, "x"),
                with("a", 2, "y"),
                record("b", 2, true),
            ])
            .unwrap();
        let committed = manifest.length();
        let (_, opened) = Manifest::open(&path, committed).unwrap();
        let (_, compacted) = Manifest::compact(&opened, &folder.path().join("n")).unwrap();
        for documents in [&opened, &compacted] {
            let found = |content: &str| -> Vec<String> {
                let places = documents.with_terms(&[format!("content={content}")]);
                places
                    .iter()
                    .map(|place| {
                        documents
                            .reader()
                            .read_at(*place)
                            .unwrap()
                            .document
                            .document_id
                    })
                    .collect()
            };
            assert_eq!(
                [found("x"), found("y"), found("z")],
                [vec!["c"], vec!["a"], vec![]]
            );
        }
    }

    #[test]
    fn a_manifest_of_the_version_before_is_read_and_goes_on_in_this_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m");
        let json = serde_json::to_vec(&record("a", 1, false)).unwrap();
        let body = [
            &1_u64.to_le_bytes()[..],
            &[0],
            &1_u32.to_le_bytes(),
            &1_u32.to_le_bytes(),
            b"a",
            &json,
        ]
        .concat();
        let frame = [
            &(body.len() as u32).to_le_bytes()[..],
            &crc32fast::hash(&body).to_le_bytes(),
            &body,
        ]
        .concat();
        std::fs::write(&path, [&b"TRIBMAN1"[..], &frame].concat()).unwrap();
        let (mut manifest, documents) = Manifest::open(&path, (8 + frame.len()) as u64).unwrap();
        assert_eq!(
            documents
                .reader()
                .read(&documents.get("a").unwrap())
                .unwrap(),
            record("a", 1, false)
        );
        manifest.append(&[record("b", 1, false)]).unwrap();
        let (_, documents) = Manifest::open(&path, manifest.length()).unwrap();
        assert_eq!(documents.count(), 2);
        assert_eq!(
            documents
                .reader()
                .read(&documents.get("a").unwrap())
                .unwrap(),
            record("a", 1, false)
        );
        assert!(std::fs::read(&path).unwrap().starts_with(b"TRIBMAN2"));
    }

    #[test]
    fn damage_within_what_was_committed_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m");
        let mut manifest = Manifest::create(&path).unwrap();
        manifest.append(&[record("a", 1, false)]).unwrap();
        let committed = manifest.length();
        assert_eq!(
            Manifest::open(&path, committed + 1).unwrap_err().kind(),
            ErrorKind::Corrupt
        );
        let mut bytes = std::fs::read(&path).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(
            Manifest::open(&path, committed).unwrap_err().kind(),
            ErrorKind::Corrupt
        );
    }
}
