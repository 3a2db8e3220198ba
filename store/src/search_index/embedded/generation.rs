//! One generation in its folder: writes wait in memory, a flush puts all of them into the files and
//! commits.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use arc_swap::ArcSwap;
use tantivy::{Index, IndexReader, ReloadPolicy};
use tributary_schemas::filter::chunk_terms;
use tributary_schemas::{
    ChunkId, ChunkVectors, DocumentHeader, Error, ErrorKind, Result, WindowVectors,
};

use super::Config;
use super::commit::{self, Commit, EncodedRows, Files};
use super::manifest::{Documents, Manifest};
use super::pending::{Content, Pending};
use super::snapshot::{PartsCache, Snapshot, VectorSide};
use super::text::{self, Fields, Which};
use super::text_folder::{MANAGED_FILE, META_FILE};
use super::vectors::Vectors;
use super::windows::Windows;
use crate::backup::draft::Draft;
use crate::search_index::{IndexSettings, IndexedDocument, Operation, Outcome, StoredChunk};

/// Fewer dead rows than this are not worth a rewrite.
const SMALLEST_COMPACTION_ROWS: usize = 4096;
/// How often a backup looks again when merges come in between.
const IMAGE_ATTEMPTS: usize = 50;

/// Smaller manifests are not worth a rewrite.
const SMALLEST_COMPACTION_BYTES: u64 = 4 << 20;

/// A generation that is open.
pub struct Generation {
    folder: PathBuf,
    settings: IndexSettings,
    config: Config,
    index: Index,
    fields: Fields,
    reader: IndexReader,
    snapshot: ArcSwap<Snapshot>,
    /// Changed together with `snapshot`, under its write lock.
    documents: RwLock<Documents>,
    writer: Mutex<Writer>,
    /// Chunks whose stored text was found damaged.
    damaged_chunks: Mutex<HashSet<ChunkId>>,
}

struct Writer {
    /// Made by the first flush that has something to write.
    tantivy: Option<tantivy::IndexWriter>,
    pending: BTreeMap<String, Pending>,
    pending_bytes: usize,
    files: Files,
    commit: Commit,
    parts: PartsCache,
    /// A flush failed half-way: what is on disk decides what was committed.
    damaged: bool,
}

/// What one flush adds to the files.
#[derive(Default)]
struct Addition {
    records: Vec<IndexedDocument>,
    encoded: EncodedRows,
    /// Row numbers of the chunks of each record.
    rows: Vec<Vec<u64>>,
}

impl Generation {
    /// Makes the folder of a generation; the caller renames it into place.
    pub fn create(folder: &Path, settings: &IndexSettings) -> Result<()> {
        commit::create(folder, settings)
    }

    /// Opens a generation and cuts off what a crash left behind the last commit.
    pub fn open(folder: &Path, config: &Config) -> Result<Self> {
        let settings = commit::read_settings(folder)?;
        let (index, fields) = text::open(&commit::text_folder(folder))?;
        check_text(&index, &commit::text_folder(folder))?;
        let reader = index
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            .doc_store_cache_num_blocks(32)
            .try_into();
        let reader: IndexReader = reader.map_err(|error| {
            text::failure(format_args!("cannot read {}", folder.display()), &error)
        })?;
        let commit = Commit::read(&index)?;
        let (mut files, documents) = Files::open(folder, &settings, &commit)?;
        if commit.prefilter_groups.is_some() && files.bit_groups().is_none() {
            files.extend_bits(folder, commit.epoch)?;
        }
        commit::remove_other_epochs(folder, commit.epoch)?;
        let mut parts = PartsCache::new();
        let snapshot = Snapshot::build(reader.searcher(), fields, files.vector_side(), &mut parts)?;
        let writer = Writer {
            tantivy: None,
            pending: BTreeMap::new(),
            pending_bytes: 0,
            files,
            commit,
            parts,
            damaged: false,
        };
        Ok(Self {
            folder: folder.to_owned(),
            settings,
            config: config.clone(),
            index,
            fields,
            reader,
            snapshot: ArcSwap::from_pointee(snapshot),
            documents: RwLock::new(documents),
            writer: Mutex::new(writer),
            damaged_chunks: Mutex::default(),
        })
    }

    /// What it was created with.
    pub fn settings(&self) -> &IndexSettings {
        &self.settings
    }

    /// tantivy's side.
    pub fn text_index(&self) -> &Index {
        &self.index
    }

    /// What readers see now.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.load_full()
    }

    /// Documents of the last commit.
    pub fn count_documents(&self) -> u64 {
        self.documents
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .count()
    }

    /// Bytes of all its files.
    pub fn bytes(&self) -> u64 {
        commit::folder_bytes(&self.folder)
    }

    /// What is committed of some documents.
    pub fn documents(&self, ids: &[String]) -> Result<Vec<Option<IndexedDocument>>> {
        let (entries, reader) = {
            let documents = self
                .documents
                .read()
                .unwrap_or_else(PoisonError::into_inner);
            (
                ids.iter().map(|id| documents.get(id)).collect::<Vec<_>>(),
                documents.reader(),
            )
        };
        entries
            .iter()
            .map(|entry| entry.as_ref().map(|entry| reader.read(entry)).transpose())
            .collect()
    }

    /// A page of committed documents by id.
    pub fn list_documents(
        &self,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<IndexedDocument>> {
        let (entries, reader) = {
            let documents = self
                .documents
                .read()
                .unwrap_or_else(PoisonError::into_inner);
            (
                documents
                    .after(after)
                    .take(limit)
                    .map(|(_, entry)| entry)
                    .collect::<Vec<_>>(),
                documents.reader(),
            )
        };
        entries.iter().map(|entry| reader.read(entry)).collect()
    }

    /// Committed documents that carry one of the terms, by id.
    pub fn documents_with(&self, terms: &[String], limit: usize) -> Result<Vec<IndexedDocument>> {
        let (places, reader) = {
            let documents = self
                .documents
                .read()
                .unwrap_or_else(PoisonError::into_inner);
            (documents.with_terms(terms), documents.reader())
        };
        let wanted: HashSet<&String> = terms.iter().collect();
        let mut found = Vec::new();
        for place in places {
            let record = reader.read_at(place)?;
            if record
                .document
                .manifest_terms()
                .iter()
                .any(|term| wanted.contains(term))
            {
                found.push(record);
            }
        }
        found.sort_by(|left, right| left.document.document_id.cmp(&right.document.document_id));
        found.truncate(limit);
        Ok(found)
    }

    /// Chunks as they are stored; `None` for those that are not there, and for damaged ones, which
    /// are noted.
    pub fn fetch(&self, chunks: &[ChunkId]) -> Result<Vec<Option<StoredChunk>>> {
        let snapshot = self.snapshot();
        let mut headers: HashMap<String, Arc<DocumentHeader>> = HashMap::new();
        let mut read = |chunk: &ChunkId| {
            let Some(document) = snapshot.find(*chunk) else {
                return Ok(None);
            };
            let stored = match snapshot.stored(document) {
                Err(error) if error.kind() == ErrorKind::Corrupt => {
                    self.note_damage(*chunk, &error);
                    return Ok(None);
                }
                stored => stored?,
            };
            let id = stored.document.document_id.clone();
            let header = headers
                .entry(id)
                .or_insert_with(|| Arc::new(stored.document));
            Ok(Some(StoredChunk {
                chunk: stored.chunk,
                document: Arc::clone(header),
            }))
        };
        chunks.iter().map(&mut read).collect()
    }

    fn note_damage(&self, chunk: ChunkId, error: &Error) {
        let is_new = self
            .damaged_chunks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(chunk);
        if is_new {
            tracing::error!(folder = %self.folder.display(), %chunk, %error, "a stored chunk is damaged and is left out of answers");
        }
    }

    /// Those of the chunks that were found damaged and are still there.
    pub fn damaged(&self, chunks: &[ChunkId]) -> Vec<ChunkId> {
        let known = self
            .damaged_chunks
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let snapshot = self.snapshot();
        chunks
            .iter()
            .copied()
            .filter(|chunk| known.contains(chunk) && snapshot.find(*chunk).is_some())
            .collect()
    }

    /// How many stored chunks and rows of vectors were found damaged since it was opened.
    pub fn known_damage(&self) -> u64 {
        let snapshot = self.snapshot();
        let chunks = self
            .damaged_chunks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .len();
        let rows = snapshot.coarse.known_damage()
            + snapshot.fine.as_ref().map_or(0, Vectors::known_damage)
            + snapshot.windows.as_ref().map_or(0, Windows::known_damage);
        (chunks + rows) as u64
    }

    fn lock(&self) -> MutexGuard<'_, Writer> {
        // A panic in a flush leaves `damaged` set, which the next call mends.
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends its threads; what was not flushed is forgotten. For a generation that is dropped while
    /// queries may still read it.
    pub fn close(&self) {
        let mut writer = self.lock();
        writer.tantivy = None;
        writer.pending.clear();
        writer.pending_bytes = 0;
    }

    /// Takes operations over; they become visible with the next flush.
    pub fn write(&self, operations: Vec<Operation>) -> Result<Vec<Outcome>> {
        let mut writer = self.lock();
        self.mend(&mut writer)?;
        let outcomes = operations
            .into_iter()
            .map(|operation| self.accept(&mut writer, operation))
            .collect();
        if writer.pending_bytes > self.config.pending_memory_mib << 20 {
            self.commit(&mut writer)?;
        }
        Ok(outcomes)
    }

    fn accept(&self, writer: &mut Writer, operation: Operation) -> Outcome {
        let (document_id, version) = match &operation {
            Operation::Replace { document, .. } => (document.document_id.clone(), document.version),
            Operation::Delete {
                document_id,
                version,
            } => (document_id.clone(), *version),
        };
        let committed = || {
            self.documents
                .read()
                .unwrap_or_else(PoisonError::into_inner)
                .get(&document_id)
                .map(|entry| entry.version)
        };
        let stored = writer
            .pending
            .get(&document_id)
            .map(|pending| pending.version)
            .or_else(committed);
        if let Some(stored) = stored.filter(|stored| *stored > version) {
            return Outcome::Older { stored };
        }
        let stored_vectors =
            |chunks: &[ChunkId]| self.stored_vectors(writer.pending.get(&document_id), chunks);
        match Pending::new(operation, &self.settings, stored_vectors) {
            Err(error) => Outcome::Failed(error),
            Ok(pending) => {
                writer.pending_bytes += pending.bytes;
                if let Some(replaced) = writer.pending.insert(document_id, pending) {
                    writer.pending_bytes -= replaced.bytes;
                }
                Outcome::Applied
            }
        }
    }

    /// Vectors of a document's chunks as last written, for a `Replace` that brings none.
    fn stored_vectors(
        &self,
        pending: Option<&Pending>,
        chunks: &[ChunkId],
    ) -> Result<Vec<ChunkVectors>> {
        let snapshot = self.snapshot();
        let find = |chunk: &ChunkId| {
            let waiting = pending.and_then(|pending| pending.vectors_of(*chunk).cloned());
            waiting
                .or_else(|| chunk_vectors(&snapshot, *chunk))
                .ok_or_else(|| {
                    Error::new(
                        ErrorKind::Invalid,
                        format!("no vectors were given and none are stored for chunk {chunk}"),
                    )
                })
        };
        chunks.iter().map(find).collect()
    }

    /// Holds the writer, so that what is committed stays as it is until this is dropped.
    pub fn hold(&self) -> Result<Held<'_>> {
        let mut writer = self.lock();
        self.mend(&mut writer)?;
        Ok(Held {
            generation: self,
            writer,
        })
    }

    /// Makes everything written before durable and visible.
    pub fn flush(&self) -> Result<()> {
        let mut writer = self.lock();
        self.mend(&mut writer)?;
        if writer.pending.is_empty() {
            self.refresh(&mut writer)?;
        } else {
            self.commit(&mut writer)?;
        }
        if let Err(error) = self.compact_if_worthwhile(&mut writer) {
            // Nothing is lost: the flush is done, and the next one tries again.
            tracing::warn!(folder = %self.folder.display(), error = %error.full_message(), "compaction failed");
        }
        Ok(())
    }

    /// Shows readers the segments that merges have made since.
    fn refresh(&self, writer: &mut Writer) -> Result<()> {
        self.reader
            .reload()
            .map_err(|error| text::failure("cannot reload the text index", &error))?;
        if self.reader.searcher().generation().segments()
            != self.snapshot().searcher.generation().segments()
        {
            let snapshot = Snapshot::build(
                self.reader.searcher(),
                self.fields,
                writer.files.vector_side(),
                &mut writer.parts,
            )?;
            self.snapshot.store(Arc::new(snapshot));
        }
        Ok(())
    }

    /// Puts everything that waits into the files and commits. What waits stays in memory until that
    /// has succeeded.
    fn commit(&self, writer: &mut Writer) -> Result<()> {
        writer.damaged = true;
        let addition = self.addition(writer)?;
        let appended = writer.files.append(&addition.encoded, &addition.records)?;
        let next = Commit {
            rows: writer.files.rows(),
            next_number: writer.commit.next_number + addition.encoded.numbers.len() as u64 / 8,
            manifest_bytes: writer.files.manifest_bytes(),
            prefilter_groups: writer.files.bit_groups(),
            numbers_crc: Some(writer.files.numbers_crc()),
            windows: writer.files.window_count(),
            format: commit::format(&self.settings),
            ..writer.commit.clone()
        };
        self.commit_text(writer, &addition.rows, &next)?;
        self.extend_bits(writer, next.epoch);
        let snapshot = self.build(writer)?;
        let mut documents = self
            .documents
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        appended
            .into_iter()
            .for_each(|appended| documents.put(appended));
        self.snapshot.store(Arc::new(snapshot));
        drop(documents);
        writer.commit = next;
        writer.pending.clear();
        writer.pending_bytes = 0;
        writer.damaged = false;
        Ok(())
    }

    /// Keeps the one-bit codes up with the rows, which are committed. A failure costs speed, not
    /// results.
    fn extend_bits(&self, writer: &mut Writer, epoch: u64) {
        if writer.files.rows() < self.config.prefilter_from_chunks {
            return;
        }
        if let Err(error) = writer.files.extend_bits(&self.folder, epoch) {
            tracing::warn!(folder = %self.folder.display(), error = %error.full_message(), "one-bit codes are not complete");
        }
    }

    /// Deletes, adds and commits on tantivy's side.
    fn commit_text(&self, writer: &mut Writer, rows: &[Vec<u64>], next: &Commit) -> Result<()> {
        let failed = |error: tantivy::TantivyError| self.write_failure(&error);
        let tantivy = match writer.tantivy.take() {
            Some(tantivy) => tantivy,
            None => {
                commit::text_writer(&self.index, self.config.writer_memory_mib).map_err(failed)?
            }
        };
        let tantivy = writer.tantivy.insert(tantivy);
        for ((document_id, pending), rows) in writer.pending.iter().zip(rows) {
            tantivy.delete_term(self.fields.document_term(document_id));
            let Content::Replace {
                document,
                chunks,
                analyzed,
                ..
            } = &pending.content
            else {
                continue;
            };
            let of_document = text::filter_terms(document);
            for ((chunk, analyzed), row) in chunks.iter().zip(analyzed).zip(rows) {
                let mut terms = of_document.clone();
                terms.extend(chunk_terms(chunk));
                if let Err(error) = tantivy.add_document(
                    self.fields
                        .document(document, &terms, chunk, analyzed, *row)?,
                ) {
                    // The thread that died of it knows more.
                    return Err(tantivy
                        .prepare_commit()
                        .map(drop)
                        .map_or_else(failed, |()| failed(error)));
                }
            }
        }
        let payload = next.to_json()?;
        let mut prepared = tantivy.prepare_commit().map_err(failed)?;
        prepared.set_payload(&payload);
        prepared.commit().map_err(failed)?;
        Ok(())
    }

    /// tantivy's threads do not always tell why they ended: a disk that is nearly full is the
    /// likely reason.
    fn write_failure(&self, error: &tantivy::TantivyError) -> Error {
        let failed = text::failure(
            format_args!("cannot write the text index in {}", self.folder.display()),
            error,
        );
        let is_full = matches!(failed.kind(), ErrorKind::Internal | ErrorKind::Corrupt)
            && commit::is_disk_full(&self.folder);
        if is_full {
            Error::new(ErrorKind::Exhausted, failed.full_message())
                .with_hint("free some disk space")
        } else {
            failed
        }
    }

    fn build(&self, writer: &mut Writer) -> Result<Snapshot> {
        self.reader
            .reload()
            .map_err(|error| text::failure("cannot reload the text index", &error))?;
        Snapshot::build(
            self.reader.searcher(),
            self.fields,
            writer.files.vector_side(),
            &mut writer.parts,
        )
    }

    /// Encodes everything that waits. A chunk whose document had it before with the same vectors
    /// keeps its row.
    fn addition(&self, writer: &Writer) -> Result<Addition> {
        let snapshot = self.snapshot();
        let side = writer.files.vector_side();
        let mut addition = Addition::default();
        let mut number = writer.commit.next_number;
        for (document_id, pending) in &writer.pending {
            let Content::Replace {
                document,
                chunks,
                vectors,
                ..
            } = &pending.content
            else {
                let document = DocumentHeader {
                    document_id: document_id.clone(),
                    version: pending.version,
                    ..DocumentHeader::default()
                };
                addition.records.push(IndexedDocument {
                    document,
                    chunk_ids: Vec::new(),
                    deleted: true,
                });
                addition.rows.push(Vec::new());
                continue;
            };
            let before = self.chunks_of(document_id)?;
            let mut rows = Vec::with_capacity(chunks.len());
            for (chunk, vectors) in chunks.iter().zip(vectors) {
                let kept = before
                    .contains(&chunk.chunk_id)
                    .then(|| same_row(&snapshot, &side, chunk.chunk_id, vectors))
                    .flatten();
                rows.push(kept.unwrap_or_else(|| {
                    let encoded = &mut addition.encoded;
                    encoded.coarse.push(&vectors.coarse);
                    if !self.settings.shared_vectors {
                        encoded.fine.push(&vectors.fine);
                    }
                    if self.settings.windows {
                        encoded.windows.push(&vectors.windows);
                    }
                    encoded.numbers.extend(number.to_le_bytes());
                    number += 1;
                    number - 1
                }));
            }
            let chunk_ids = chunks.iter().map(|chunk| chunk.chunk_id).collect();
            addition.records.push(IndexedDocument {
                document: (**document).clone(),
                chunk_ids,
                deleted: false,
            });
            addition.rows.push(rows);
        }
        Ok(addition)
    }

    /// Chunks of the committed version of a document.
    fn chunks_of(&self, document_id: &str) -> Result<HashSet<ChunkId>> {
        let (entry, reader) = {
            let documents = self
                .documents
                .read()
                .unwrap_or_else(PoisonError::into_inner);
            (documents.get(document_id), documents.reader())
        };
        match entry.filter(|entry| !entry.deleted && entry.chunks > 0) {
            None => Ok(HashSet::new()),
            Some(entry) => Ok(reader.read(&entry)?.chunk_ids.into_iter().collect()),
        }
    }

    /// After a flush that failed half-way: reads again from disk what was committed. What waits
    /// stays as it is.
    fn mend(&self, writer: &mut Writer) -> Result<()> {
        if !writer.damaged {
            return Ok(());
        }
        writer.tantivy = None;
        let commit = Commit::read(&self.index)?;
        let (files, documents) = Files::open(&self.folder, &self.settings, &commit)?;
        writer.files = files;
        writer.commit = commit;
        writer.parts.clear();
        let snapshot = self.build(writer)?;
        let mut current = self
            .documents
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *current = documents;
        self.snapshot.store(Arc::new(snapshot));
        drop(current);
        writer.damaged = false;
        Ok(())
    }

    fn compact_if_worthwhile(&self, writer: &mut Writer) -> Result<()> {
        let snapshot = self.snapshot();
        let dead = snapshot.dead_rows();
        let rows_pay = dead >= SMALLEST_COMPACTION_ROWS && dead * 2 > snapshot.coarse.rows();
        let live = self
            .documents
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .live_bytes();
        let bytes = writer.files.manifest_bytes();
        let manifest_pays = bytes >= SMALLEST_COMPACTION_BYTES && live * 2 < bytes;
        if rows_pay || manifest_pays {
            self.compact(writer, &snapshot)
        } else {
            Ok(())
        }
    }

    /// Copies what is alive into files of the next epoch; the commit that names it makes them the
    /// valid ones.
    fn compact(&self, writer: &mut Writer, snapshot: &Snapshot) -> Result<()> {
        writer.damaged = true;
        let epoch = writer.commit.epoch + 1;
        let mut files = Files::create(&self.folder, &self.settings, epoch)?;
        files.copy_rows(&writer.files.vector_side(), |row| {
            snapshot.is_row_alive(row)
        })?;
        let documents = {
            let documents = self
                .documents
                .read()
                .unwrap_or_else(PoisonError::into_inner);
            let (manifest, documents) =
                Manifest::compact(&documents, &commit::manifest_path(&self.folder, epoch))?;
            files.set_manifest(manifest);
            documents
        };
        files.sync()?;
        commit::sync_folder(&self.folder)?;
        let next = Commit {
            format: commit::format(&self.settings),
            epoch,
            rows: files.rows(),
            manifest_bytes: files.manifest_bytes(),
            prefilter_groups: None,
            numbers_crc: Some(files.numbers_crc()),
            windows: files.window_count(),
            ..writer.commit.clone()
        };
        self.commit_text(writer, &[], &next)?;
        writer.files = files;
        writer.commit = next;
        writer.parts.clear();
        self.extend_bits(writer, epoch);
        let snapshot = self.build(writer)?;
        let mut current = self
            .documents
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *current = documents;
        self.snapshot.store(Arc::new(snapshot));
        drop(current);
        writer.damaged = false;
        commit::remove_other_epochs(&self.folder, epoch)
    }
}

/// A generation whose writer is held.
pub struct Held<'a> {
    generation: &'a Generation,
    writer: MutexGuard<'a, Writer>,
}

impl Held<'_> {
    /// Keeps what is committed in a draft below `path`.
    pub fn image(&self, draft: &mut Draft, path: &str) -> Result<()> {
        let folder = &self.generation.folder;
        self.text_image(draft, &format!("{path}/text"))?;
        for (file, name) in commit::files_of(folder, self.writer.commit.epoch)? {
            draft.keep(&file, &format!("{path}/{name}"), None)?;
        }
        Ok(())
    }

    /// tantivy merges and tidies by itself: what was kept counts if it still is the last commit
    /// afterwards.
    fn text_image(&self, draft: &mut Draft, path: &str) -> Result<()> {
        let folder = commit::text_folder(&self.generation.folder);
        let read = |name: &str| {
            std::fs::read(folder.join(name))
                .map_err(|error| Error::io(format_args!("cannot read {name}"), &error))
        };
        for _ in 0..IMAGE_ATTEMPTS {
            let count = draft.files().len();
            let meta = read(META_FILE)?;
            let metas = self
                .generation
                .index
                .load_metas()
                .map_err(|error| text::failure("cannot read the last commit", &error))?;
            let segments: HashSet<String> = metas
                .segments
                .iter()
                .map(|segment| segment.id().uuid_string())
                .collect();
            for name in commit::names_in(&folder)? {
                if name
                    .split_once('.')
                    .is_some_and(|(segment, _)| segments.contains(segment))
                {
                    // Deletions that a later commit replaced may go while we look.
                    draft.keep(&folder.join(&name), &format!("{path}/{name}"), None)?;
                }
            }
            draft.keep(
                &folder.join(MANAGED_FILE),
                &format!("{path}/{MANAGED_FILE}"),
                None,
            )?;
            if read(META_FILE)? == meta {
                return draft.keep_content(&meta, &format!("{path}/{META_FILE}"));
            }
            draft.truncate(count)?;
        }
        Err(Error::new(
            ErrorKind::Unavailable,
            "the text index changed all the time while it was backed up",
        )
        .with_hint("try again"))
    }
}

/// Stored vectors of a chunk; none of a damaged row, so that they are made again.
pub fn chunk_vectors(snapshot: &Snapshot, chunk: ChunkId) -> Option<ChunkVectors> {
    let row = snapshot.row(snapshot.find(chunk)?) as usize;
    let fine = match &snapshot.fine {
        Some(fine) => fine.row(row)?.to_vec(),
        None => Vec::new(),
    };
    let windows = match &snapshot.windows {
        Some(windows) => windows.row(row)?.to_vec(),
        None => Vec::new(),
    };
    Some(ChunkVectors {
        coarse: snapshot.coarse.row(row)?.to_vec(),
        fine,
        windows: WindowVectors::from_bytes(windows),
    })
}

/// Number of the row that holds exactly these vectors of a chunk.
fn same_row(
    snapshot: &Snapshot,
    side: &VectorSide,
    chunk: ChunkId,
    vectors: &ChunkVectors,
) -> Option<u64> {
    let row = snapshot.row(snapshot.find(chunk)?) as usize;
    let same = snapshot.coarse.row(row) == Some(vectors.coarse.as_slice())
        && snapshot
            .fine
            .as_ref()
            .is_none_or(|fine| fine.row(row) == Some(vectors.fine.as_slice()))
        && snapshot
            .windows
            .as_ref()
            .is_none_or(|windows| windows.row(row) == Some(vectors.windows.as_bytes()));
    same.then(|| side.numbers.numbers::<u64>(row..row + 1).first().copied())
        .flatten()
}

/// What is read whole at opening is checked whole: a wrong chunk id or row would give one chunk the
/// place of another.
fn check_text(index: &Index, folder: &Path) -> Result<()> {
    let failed = |error: tantivy::TantivyError| {
        text::failure(format_args!("cannot read {}", folder.display()), &error)
    };
    match text::damaged_files(index, Which::ReadAtOpening)
        .map_err(failed)?
        .first()
    {
        None => Ok(()),
        Some(file) => Err(Error::new(
            ErrorKind::Corrupt,
            format!("the checksum of {} differs", folder.join(file).display()),
        )),
    }
}
