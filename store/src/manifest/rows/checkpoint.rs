//! The document table in a file, so that a start needs to read only the reports that came after it.
//!
//! ```text
//! file   = frame(header) frame(block)* frame(end)
//! frame  = length u32 LE, CRC-32 of the payload u32 LE, payload (postcard)
//! header = magic, format version, id of the data folder, per partition the offset after the last report applied
//! block  = texts, lineages and labels that are new, rows that refer to them by their number, by document id,
//!          or versions that passed ingest of documents without a row
//! end    = number of rows
//! ```
//! A new file takes the place of the old one when it is whole and synced. One that is damaged,
//! unfinished or of another format is left aside: the topic has everything.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::hash::Hash;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tributary_schemas::{DocumentRights, Error, ErrorKind, Labels, Lineage, Result, State};

use super::{Indexed, Packed, Rows};
use crate::event_log::embedded::folder::{create_folder, failed, publish, unfinished};
use crate::manifest::texts::Common;
use crate::manifest::view::Applied;

const MAGIC: &str = "tributary document table";
const FORMAT: u32 = 5;
/// Rows of a block. The table stands still while one is written.
const BLOCK_ROWS: usize = 5_000;
/// A frame above this is damage.
const LONGEST_FRAME: u32 = 1 << 30;

/// Where the checkpoint lies, and of which data folder.
#[derive(Clone, Debug)]
pub struct CheckpointFile {
    path: PathBuf,
    folder_id: String,
}

#[derive(Deserialize, Serialize)]
struct Header<'a> {
    magic: &'a str,
    format: u32,
    folder_id: &'a str,
    applied: Vec<(u32, u64)>,
}

#[derive(Deserialize, Serialize)]
enum Part<'a> {
    #[serde(borrow)]
    Block(Block<'a>),
    End {
        rows: u64,
    },
    Early(Vec<(&'a str, u64)>),
}

#[derive(Default, Deserialize, Serialize)]
struct Block<'a> {
    #[serde(borrow)]
    texts: Vec<&'a str>,
    /// JSON: postcard cannot leave fields out.
    lineages: Vec<String>,
    /// Generation, tags and knowledge sets.
    labels: Vec<(String, Vec<String>, Vec<String>)>,
    /// JSON, as above.
    rights: Vec<String>,
    rows: Vec<StoredRow<'a>>,
}

#[derive(Deserialize, Serialize)]
struct StoredRow<'a> {
    document_id: &'a str,
    state: u8,
    version: u64,
    at_ms: i64,
    passed: u64,
    taken: u64,
    chunks: u32,
    indexed_version: Option<u64>,
    #[serde(borrow)]
    indexed: Option<StoredIndexed<'a>>,
    fingerprint: &'a str,
    reason: Option<&'a str>,
    source: u32,
    source_path: &'a str,
    title: &'a str,
    lineage: Option<u32>,
    rights: Option<u32>,
    published_rights: Option<u32>,
    #[serde(borrow)]
    before: Option<Box<StoredRow<'a>>>,
    timeline: Vec<(u32, i64)>,
}

#[derive(Clone, Copy, Deserialize, Serialize)]
struct StoredIndexed<'a> {
    version: u64,
    at_ms: i64,
    chunks: u32,
    is_aside: bool,
    /// Where it is another one than the newest report's.
    fingerprint: Option<&'a str>,
    labels: Option<u32>,
    rights: Option<u32>,
}

impl CheckpointFile {
    /// In this folder, which is made if it is not there, of the data folder with this id.
    pub fn in_folder(folder: &Path, folder_id: &str) -> Result<Self> {
        create_folder(folder)?;
        Ok(Self {
            path: folder.join("documents.table"),
            folder_id: folder_id.to_owned(),
        })
    }

    /// The rows, and which reports they have; `None` if there is no file that can be used. Blocks.
    pub(in crate::manifest) fn read(&self) -> Option<(Rows, Applied)> {
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
            Err(error) => return self.left_aside(&failed("open", &self.path)(error)),
        };
        match self.read_from(BufReader::with_capacity(1 << 20, file)) {
            Ok(read) => Some(read),
            Err(error) => self.left_aside(&error),
        }
    }

    fn left_aside<T>(&self, error: &Error) -> Option<T> {
        tracing::warn!(path = %self.path.display(), %error, "a checkpoint of the document table cannot be used; all reports are read instead");
        None
    }

    fn read_from(&self, mut file: impl Read) -> Result<(Rows, Applied)> {
        let mut buffer = Vec::new();
        read_frame(&mut file, &mut buffer)?;
        let header: Header<'_> = decoded(&buffer)?;
        if header.magic != MAGIC || header.format != FORMAT {
            return Err(damaged("it has another format"));
        }
        if header.folder_id != self.folder_id {
            return Err(damaged("it is of another data folder"));
        }
        let applied = header.applied.into_iter().collect();
        let mut reading = Reading::default();
        loop {
            read_frame(&mut file, &mut buffer)?;
            match decoded(&buffer)? {
                Part::Block(block) => reading.add(block)?,
                Part::End { rows } if rows == reading.rows.len() as u64 => {
                    return Ok((reading.finish(), applied));
                }
                Part::End { .. } => return Err(damaged("it lacks rows")),
                Part::Early(passed) => reading.add_early(&passed),
            }
        }
    }

    /// Writes the rows that `look` lends; reports after `applied` may be in them already. Blocks.
    pub(in crate::manifest) fn write(
        &self,
        applied: &Applied,
        look: impl Fn(&mut dyn FnMut(&Rows)),
    ) -> Result<()> {
        let new = unfinished(&self.path);
        let file = File::create(&new).map_err(failed("create", &new))?;
        let mut file = BufWriter::with_capacity(1 << 20, file);
        let header = Header {
            magic: MAGIC,
            format: FORMAT,
            folder_id: &self.folder_id,
            applied: applied
                .iter()
                .map(|(partition, offset)| (*partition, *offset))
                .collect(),
        };
        let mut written = write_frame(&mut file, &encoded(&header)?);
        // First: of what has a row meanwhile the row says it.
        let mut early = Ok(None);
        look(&mut |rows| early = early_part(rows));
        if let (Ok(()), Some(early)) = (&written, early?) {
            written = write_frame(&mut file, &early);
        }
        let mut writing = Writing::default();
        while written.is_ok() && !writing.is_at_end {
            let mut block = Ok(Vec::new());
            look(&mut |rows| block = writing.block(rows));
            written = write_frame(&mut file, &block?);
        }
        let end = encoded(&Part::End { rows: writing.rows })?;
        let synced = written
            .and_then(|()| write_frame(&mut file, &end))
            .and_then(|()| file.flush());
        synced
            .and_then(|()| file.get_ref().sync_all())
            .map_err(failed("write", &new))?;
        publish(&self.path)
    }
}

/// What is known of documents without a row; `None` if nothing is.
fn early_part(rows: &Rows) -> Result<Option<Vec<u8>>> {
    let early = rows.early.iter();
    let early: Vec<(&str, u64)> = early.map(|(id, version)| (&**id, *version)).collect();
    match early.is_empty() {
        true => Ok(None),
        false => encoded(&Part::Early(early)).map(Some),
    }
}

/// The writing of rows, block by block.
#[derive(Default)]
struct Writing {
    after: Option<Box<str>>,
    is_at_end: bool,
    rows: u64,
    texts: HashMap<Arc<str>, u32>,
    lineages: Vec<Arc<Lineage>>,
    labels: HashMap<Arc<Labels>, u32>,
    rights: HashMap<Arc<DocumentRights>, u32>,
}

impl Writing {
    /// The next rows, encoded.
    fn block(&mut self, rows: &Rows) -> Result<Vec<u8>> {
        let known = [
            self.texts.len(),
            self.lineages.len(),
            self.labels.len(),
            self.rights.len(),
        ];
        let [known_texts, known_lineages, known_labels, known_rights] = known;
        let after = self.after.take();
        let mut next = rows.packed_after(after.as_deref());
        let page: Vec<(&str, &Packed)> = next.by_ref().take(BLOCK_ROWS).collect();
        self.is_at_end = next.next().is_none();
        self.rows += page.len() as u64;
        self.after = page.last().map(|(document_id, _)| (*document_id).into());
        let rows = page
            .iter()
            .map(|(document_id, packed)| self.row(document_id, packed))
            .collect();
        let new_texts = added(&self.texts, known_texts);
        let new_labels = added(&self.labels, known_labels);
        let lineages = self.lineages[known_lineages..].iter();
        let lineages = lineages.map(json).collect::<Result<_>>()?;
        let rights = added(&self.rights, known_rights);
        let rights = rights.into_iter().map(json).collect::<Result<_>>()?;
        encoded(&Part::Block(Block {
            texts: new_texts.into_iter().map(|text| &**text).collect(),
            lineages,
            labels: new_labels.into_iter().map(stored_labels).collect(),
            rights,
            rows,
        }))
    }

    fn row<'a>(&mut self, document_id: &'a str, packed: &'a Packed) -> StoredRow<'a> {
        StoredRow {
            document_id,
            state: packed.state as u8,
            version: packed.version,
            at_ms: packed.at_ms,
            passed: packed.passed,
            taken: packed.taken,
            chunks: packed.chunks,
            indexed_version: packed.indexed_version,
            indexed: (packed.indexed.as_ref())
                .map(|indexed| self.indexed(indexed, &packed.fingerprint)),
            fingerprint: &packed.fingerprint,
            reason: packed.reason.as_deref(),
            source: number(&mut self.texts, &packed.source),
            source_path: &packed.source_path,
            title: &packed.title,
            lineage: packed.lineage.as_ref().map(|lineage| self.lineage(lineage)),
            rights: self.rights(packed.rights.as_ref()),
            published_rights: self.rights(packed.published_rights.as_ref()),
            before: (packed.before.as_deref())
                .map(|before| Box::new(self.row(document_id, before))),
            timeline: packed
                .stages
                .iter()
                .zip(&packed.times)
                .map(|(stage, at_ms)| (number(&mut self.texts, stage), *at_ms))
                .collect(),
        }
    }

    fn indexed<'a>(&mut self, indexed: &'a Indexed, newest: &str) -> StoredIndexed<'a> {
        let labels = indexed.labels.as_ref();
        StoredIndexed {
            version: indexed.version,
            at_ms: indexed.at_ms,
            chunks: indexed.chunks,
            is_aside: indexed.is_aside,
            fingerprint: (*newest != *indexed.fingerprint).then_some(&*indexed.fingerprint),
            labels: labels.map(|labels| number(&mut self.labels, labels)),
            rights: self.rights(indexed.rights.as_ref()),
        }
    }

    fn rights(&mut self, rights: Option<&Arc<DocumentRights>>) -> Option<u32> {
        rights.map(|rights| number(&mut self.rights, rights))
    }

    fn lineage(&mut self, lineage: &Arc<Lineage>) -> u32 {
        let known = self
            .lineages
            .iter()
            .rposition(|known| Arc::ptr_eq(known, lineage));
        let number = known.unwrap_or_else(|| {
            self.lineages.push(Arc::clone(lineage));
            self.lineages.len() - 1
        });
        number as u32
    }
}

fn json<T: Serialize>(value: &Arc<T>) -> Result<String> {
    serde_json::to_string(&**value)
        .map_err(|error| Error::new(ErrorKind::Internal, error.to_string()))
}

/// The number of a value; the next one for a new value.
fn number<T: ?Sized + Eq + Hash>(known: &mut HashMap<Arc<T>, u32>, value: &Arc<T>) -> u32 {
    if let Some(number) = known.get(value) {
        return *number;
    }
    let number = known.len() as u32;
    known.insert(Arc::clone(value), number);
    number
}

/// The values from a number on, in their order.
fn added<T: ?Sized>(known: &HashMap<Arc<T>, u32>, from: usize) -> Vec<&Arc<T>> {
    let mut new: Vec<(u32, &Arc<T>)> = known
        .iter()
        .map(|(value, number)| (*number, value))
        .filter(|(number, _)| *number as usize >= from)
        .collect();
    new.sort_unstable_by_key(|(number, _)| *number);
    new.into_iter().map(|(_, value)| value).collect()
}

fn stored_labels(labels: &Arc<Labels>) -> (String, Vec<String>, Vec<String>) {
    let Labels {
        generation,
        tags,
        knowledge_sets,
    } = (**labels).clone();
    (generation, tags, knowledge_sets)
}

/// The reading of rows, block by block.
#[derive(Default)]
struct Reading {
    rows: Vec<(Box<str>, Box<Packed>)>,
    texts: Vec<Arc<str>>,
    stages: Common<[Arc<str>]>,
    lineages: Vec<Arc<Lineage>>,
    labels: Vec<Arc<Labels>>,
    rights: Vec<Arc<DocumentRights>>,
    early: Vec<(Box<str>, u64)>,
}

impl Reading {
    fn add_early(&mut self, passed: &[(&str, u64)]) {
        let passed = passed.iter();
        self.early
            .extend(passed.map(|(document_id, version)| ((*document_id).into(), *version)));
    }

    fn add(&mut self, block: Block<'_>) -> Result<()> {
        self.texts.extend(block.texts.into_iter().map(Arc::from));
        for lineage in block.lineages {
            let lineage = serde_json::from_str(&lineage)
                .map_err(|error| damaged(&format!("a lineage cannot be read: {error}")))?;
            self.lineages.push(Arc::new(lineage));
        }
        let labels = block
            .labels
            .into_iter()
            .map(|(generation, tags, knowledge_sets)| {
                Arc::new(Labels {
                    generation,
                    tags,
                    knowledge_sets,
                })
            });
        self.labels.extend(labels);
        for rights in block.rights {
            let rights = serde_json::from_str(&rights)
                .map_err(|error| damaged(&format!("rights cannot be read: {error}")))?;
            self.rights.push(Arc::new(rights));
        }
        for row in block.rows {
            let packed = self
                .packed(&row)
                .ok_or_else(|| damaged("a row names something that is not there"))?;
            self.rows.push((row.document_id.into(), Box::new(packed)));
        }
        Ok(())
    }

    fn packed(&mut self, row: &StoredRow<'_>) -> Option<Packed> {
        let fingerprint: Arc<str> = row.fingerprint.into();
        let indexed = match row.indexed {
            Some(indexed) => Some(self.indexed(indexed, &fingerprint)?),
            None => None,
        };
        let lineage = match row.lineage {
            Some(number) => Some(Arc::clone(self.lineages.get(number as usize)?)),
            None => None,
        };
        let rights = self.rights(row.rights)?;
        let published_rights = self.rights(row.published_rights)?;
        let before = match &row.before {
            Some(before) => Some(Box::new(self.packed(before)?)),
            None => None,
        };
        let stages: Option<Vec<Arc<str>>> = row
            .timeline
            .iter()
            .map(|(stage, _)| self.text(*stage))
            .collect();
        let stages = self.stages.share(&stages?);
        Some(Packed {
            version: row.version,
            at_ms: row.at_ms,
            passed: row.passed,
            taken: row.taken,
            chunks: row.chunks,
            state: *State::ALL.get(usize::from(row.state))?,
            indexed_version: row.indexed_version,
            indexed,
            fingerprint,
            reason: row.reason.map(Box::from),
            source: self.text(row.source)?,
            source_path: row.source_path.into(),
            title: row.title.into(),
            lineage,
            rights,
            published_rights,
            before,
            stages,
            times: row.timeline.iter().map(|(_, at_ms)| *at_ms).collect(),
        })
    }

    fn indexed(&self, stored: StoredIndexed<'_>, newest: &Arc<str>) -> Option<Indexed> {
        let labels = match stored.labels {
            Some(number) => Some(Arc::clone(self.labels.get(number as usize)?)),
            None => None,
        };
        Some(Indexed {
            version: stored.version,
            at_ms: stored.at_ms,
            chunks: stored.chunks,
            is_aside: stored.is_aside,
            fingerprint: stored
                .fingerprint
                .map_or_else(|| Arc::clone(newest), Arc::from),
            labels,
            rights: self.rights(stored.rights)?,
        })
    }

    /// The rights of this number, if there is one; `None` where nothing has it.
    fn rights(&self, number: Option<u32>) -> Option<Option<Arc<DocumentRights>>> {
        match number {
            Some(number) => self.rights.get(number as usize).cloned().map(Some),
            None => Some(None),
        }
    }

    fn text(&self, number: u32) -> Option<Arc<str>> {
        self.texts.get(number as usize).cloned()
    }

    fn finish(self) -> Rows {
        let mut rows = Rows::default();
        for (document_id, packed) in &self.rows {
            rows.note(document_id, packed);
        }
        rows.packed = self.rows.into_iter().collect::<BTreeMap<_, _>>();
        for (document_id, version) in &self.early {
            rows.note_passed(document_id, *version);
        }
        rows.shared.texts.take_over(self.texts);
        rows.shared.stages = self.stages;
        rows.shared.labels.take_over(self.labels);
        rows.shared.rights.take_over(self.rights);
        rows.shared.lineages = self.lineages;
        rows
    }
}

fn encoded(value: &impl Serialize) -> Result<Vec<u8>> {
    postcard::to_stdvec(value).map_err(|error| {
        Error::new(
            ErrorKind::Internal,
            format!("cannot encode a checkpoint: {error}"),
        )
    })
}

fn decoded<'a, T: Deserialize<'a>>(payload: &'a [u8]) -> Result<T> {
    postcard::from_bytes(payload).map_err(|error| damaged(&error.to_string()))
}

fn write_frame(file: &mut impl Write, payload: &[u8]) -> std::io::Result<()> {
    let length = u32::try_from(payload.len()).map_err(std::io::Error::other)?;
    file.write_all(&length.to_le_bytes())?;
    file.write_all(&crc32fast::hash(payload).to_le_bytes())?;
    file.write_all(payload)
}

fn read_frame(file: &mut impl Read, payload: &mut Vec<u8>) -> Result<()> {
    let cut_off = |error: std::io::Error| damaged(&format!("it breaks off: {error}"));
    let mut head = [0; 8];
    file.read_exact(&mut head).map_err(cut_off)?;
    let [l0, l1, l2, l3, c0, c1, c2, c3] = head;
    let (length, checksum) = (
        u32::from_le_bytes([l0, l1, l2, l3]),
        u32::from_le_bytes([c0, c1, c2, c3]),
    );
    if length > LONGEST_FRAME {
        return Err(damaged("a length is damaged"));
    }
    payload.clear();
    // As much as there is, and not what a damaged length claims.
    file.take(u64::from(length))
        .read_to_end(payload)
        .map_err(cut_off)?;
    if payload.len() != length as usize || crc32fast::hash(payload) != checksum {
        return Err(damaged("a checksum does not match"));
    }
    Ok(())
}

fn damaged(what: &str) -> Error {
    Error::new(ErrorKind::Corrupt, what.to_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tributary_schemas::{DocumentHeader, DocumentState, StageTime};

    use super::*;
    use crate::manifest::report;
    use crate::manifest::table::{DocumentRow, IndexedVersion};

    fn level(security_level: u8) -> DocumentRights {
        DocumentRights {
            security_level,
            ..DocumentRights::default()
        }
    }

    fn row(number: u64) -> DocumentRow {
        let state = State::ALL[(number % 8) as usize];
        DocumentRow {
            latest: DocumentState {
                document_id: format!("d{number}"),
                version: number,
                state,
                reason: match number % 6 {
                    0 => Some(format!("{}d1", DocumentState::STORED_ONCE)),
                    3 => Some(format!("reason {number}")),
                    _ => None,
                },
                source: format!("s{}", number % 7),
                source_path: format!("文件/{number}.md"),
                title: format!("标题 {number}"),
                chunks: number as u32,
                fingerprint: format!("f{number}"),
                lineage: number.is_multiple_of(2).then(|| Lineage {
                    converter: format!("c/{}", number % 5),
                    ..Lineage::default()
                }),
                timeline: vec![StageTime {
                    stage: "ingest".into(),
                    at_ms: number as i64,
                }],
                at_ms: -(number as i64),
                indexed_version: number.is_multiple_of(4).then_some(number),
                indexed_at_ms: None,
                labels: None,
                rights: (!number.is_multiple_of(3)).then(|| level(3)),
                published_rights: number.is_multiple_of(3).then(|| level(4)),
                indexed_rights: None,
                before: None,
            },
            before: number.is_multiple_of(13).then(|| {
                let document = DocumentHeader {
                    document_id: format!("d{number}"),
                    title: format!("before {number}"),
                    ..DocumentHeader::default()
                };
                Box::new(DocumentState {
                    rights: Some(level(6)),
                    ..report(&document, State::Indexed, 1)
                })
            }),
            indexed: (!number.is_multiple_of(5)).then(|| IndexedVersion {
                version: number,
                at_ms: (!number.is_multiple_of(9)).then_some(number as i64),
                chunks: 3,
                is_aside: number.is_multiple_of(11),
                labels: (!number.is_multiple_of(7)).then(|| Labels {
                    generation: "g1".into(),
                    tags: vec![format!("t{}", number % 13)],
                    knowledge_sets: vec!["common".into()],
                }),
                rights: (!number.is_multiple_of(4)).then(|| level(5)),
                fingerprint: if number.is_multiple_of(2) {
                    format!("f{number}")
                } else {
                    "other".into()
                },
            }),
            passed: number,
            taken: number + 1,
        }
    }

    fn table(count: u64) -> Rows {
        let mut rows = Rows::default();
        (0..count).for_each(|number| rows.set(row(number)));
        rows
    }

    fn written(rows: &Rows) -> (tempfile::TempDir, CheckpointFile) {
        let folder = tempfile::tempdir().unwrap();
        let file = CheckpointFile::in_folder(&folder.path().join("manifest"), "id").unwrap();
        file.write(&Applied::from([(0, 7), (1, 9)]), |look| look(rows))
            .unwrap();
        (folder, file)
    }

    #[test]
    fn a_table_comes_back_as_it_was() {
        for count in [0, 1, BLOCK_ROWS as u64, 2 * BLOCK_ROWS as u64 + 1] {
            let mut rows = table(count);
            rows.note_passed("unread", 5);
            let (_folder, file) = written(&rows);
            let (read, applied) = file.read().unwrap();
            assert_eq!(applied, Applied::from([(0, 7), (1, 9)]));
            assert_eq!(read.counts(), rows.counts());
            assert!(read.after(None).eq(rows.after(None)), "{count}");
            assert_eq!(read.changing, rows.changing, "{count}");
            assert_eq!(read.early, rows.early, "{count}");
            assert_eq!(read.stood_for, rows.stood_for, "{count}");
            assert_eq!(read.shared.lineages.len(), rows.shared.lineages.len());
        }
    }

    #[test]
    fn damage_of_any_kind_leaves_a_checkpoint_aside() {
        let mut rows = table(20);
        rows.note_passed("unread", 5);
        let (_folder, file) = written(&rows);
        let whole = std::fs::read(&file.path).unwrap();
        for bit in 0..whole.len() * 8 {
            let mut damaged = whole.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(&file.path, &damaged).unwrap();
            assert!(file.read().is_none(), "bit {bit}");
        }
        for length in 0..whole.len() {
            std::fs::write(&file.path, &whole[..length]).unwrap();
            assert!(file.read().is_none(), "cut at {length}");
        }
        std::fs::write(&file.path, &whole).unwrap();
        assert!(file.read().is_some());
        assert!(
            CheckpointFile {
                folder_id: "another".into(),
                ..file
            }
            .read()
            .is_none()
        );
    }
}
