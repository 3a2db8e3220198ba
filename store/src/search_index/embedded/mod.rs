//! The embedded index: tantivy for text, our own files for vectors, all in the data folder. One
//! process at a time.
//!
//! ```text
//! <folder>/lock                           held while open
//! <folder>/serving                        name of the generation that queries go to
//! <folder>/generations/<name>/
//!     settings.json, settings.copy.json   format version, `IndexSettings`; never changed
//!     text/                               tantivy: tokens, filter terms, stored chunks, chunk id, number of the vector row
//!     coarse-<epoch>.{codes,scales,values,sums}  vectors by row, see `vectors`; the same for `fine` unless shared
//!     windows-<epoch>.{codes,ends,sums}   windows of long chunks by row, unless none are kept, see `windows`
//!     rows-<epoch>.numbers                row numbers by row, rising; tantivy's documents name rows by number
//!     bits-<epoch>.{centroid,groups,sums} one-bit codes of the coarse vectors once there are many, see `bits`
//!     manifest-<epoch>.log                documents, see `manifest`
//! ```
//! The commit point is tantivy's `meta.json`: its payload (`commit::Commit`) names the epoch and
//! how much of the vector files and of the manifest is valid. A flush appends to them, makes them
//! durable, and only then commits; on open whatever lies behind the committed lengths is
//! cut. A compaction writes files of the next epoch and commits a payload that names it.
//!
//! **Format 2** has a checksum over every byte that counts: tantivy's files have their own,
//! `meta.json`, `settings.json` and `serving` get one (`text_folder`), so do stored chunks
//! (`text`), rows and one-bit codes (`sums`), records of documents (`manifest`), and the row
//! numbers (in the commit). What is read whole at opening is checked then; a generation where that
//! fails is left aside, and whoever asks for it is told. A stored chunk or a row is checked when it
//! is read; a damaged one is left out and noted. An index of format 1 is read as it is: its rows
//! get checksums when it is opened, its chunks as they are written again.
//!
//! **Format 3** is that of a generation that keeps windows (`IndexSettings::windows`); one that does
//! not is written in format 2 as before, and stays so.

mod bitmap;
mod bits;
mod column;
mod commit;
mod filter;
mod generation;
mod kernel;
mod keyword;
mod manifest;
mod manifest_terms;
mod pending;
mod serving;
mod snapshot;
mod sums;
mod text;
mod text_folder;
mod top;
mod vector_search;
mod vectors;
mod verify;
mod windows;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use arc_swap::ArcSwapOption;
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tributary_schemas::search::ScoredChunk;
use tributary_schemas::{ChunkId, ChunkVectors, Error, ErrorKind};

pub(crate) use self::commit::{folder_bytes, sync_folder};
use self::generation::Generation;
use self::serving::Serving;
pub(crate) use self::serving::{check as check_serving, forget as forget_serving};
use self::snapshot::Snapshot;
pub use self::verify::{IndexDamage, Remedy};
use super::{
    Bm25, GenerationStatus, IndexSettings, IndexedDocument, KeywordQuery, Operation, Outcome,
    SearchIndex, StoredChunk, VectorQuery, WindowQuery,
};
use crate::Result;
use crate::backup::draft::Draft;

/// Longest name of a generation, in bytes.
const MAXIMUM_NAME_BYTES: usize = 100;

/// Least memory that tantivy's writer accepts.
const SMALLEST_WRITER_MIB: usize = 16;
/// Most memory that tantivy's writer accepts.
const LARGEST_WRITER_MIB: usize = 4000;

/// How the embedded index uses memory and processors.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Memory of the text writer per generation that is being written, in MiB (16 to 4000).
    pub writer_memory_mib: usize,
    /// Writes that may wait in memory for a flush, in MiB; beyond that a write flushes by itself.
    pub pending_memory_mib: usize,
    /// Threads that one vector query may use.
    pub search_threads: usize,
    /// From so many chunks on, vector queries look at one bit per dimension first.
    pub prefilter_from_chunks: usize,
}

/// The embedded index.
pub struct EmbeddedIndex {
    inner: Arc<Inner>,
}

struct Inner {
    root: PathBuf,
    config: Config,
    generations: RwLock<BTreeMap<String, Arc<Generation>>>,
    /// Generations that could not be opened, and why.
    damaged: RwLock<BTreeMap<String, Error>>,
    serving: ArcSwapOption<Serving>,
    /// Held by whoever creates, promotes or drops.
    changing: Mutex<()>,
    /// Locked as long as this lives.
    _lock: File,
}

impl EmbeddedIndex {
    /// Opens the index in a folder, which is created if need be. Reads maps and manifests, but no
    /// vectors.
    ///
    /// Errors: `Conflict` when another process has it open, or it is of another format. A
    /// generation with damage that cutting off an unfinished write cannot mend is left aside:
    /// asking for it gives `Corrupt`.
    pub fn open(folder: &Path, config: Config) -> Result<Self> {
        check_config(&config)?;
        let failed = |error: std::io::Error| {
            Error::io(
                format_args!("cannot open the index in {}", folder.display()),
                &error,
            )
        };
        std::fs::create_dir_all(generations_folder(folder)).map_err(failed)?;
        let lock = lock(folder)?;
        let (mut generations, mut damaged) = (BTreeMap::new(), BTreeMap::new());
        for entry in std::fs::read_dir(generations_folder(folder)).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with('.') {
                // A creation or removal that was interrupted.
                std::fs::remove_dir_all(entry.path()).map_err(failed)?;
                continue;
            }
            match open_generation(&entry.path(), &config) {
                Ok(generation) => drop(generations.insert(name, Arc::new(generation))),
                Err(error) if error.kind() == ErrorKind::Corrupt => {
                    tracing::error!(generation = %name, error = %error.full_message(), "a generation of the index is damaged and is left aside");
                    damaged.insert(name, error);
                }
                Err(error) => return Err(error),
            }
        }
        let serving = match serving::read(folder, &generations)? {
            serving::Named::Open(serving) => Some(Arc::new(serving)),
            serving::Named::Missing(name) => {
                // Nobody must make an empty one in its place.
                damaged
                    .entry(name.clone())
                    .or_insert_with(|| serving::gone(&generation_folder(folder, &name)));
                None
            }
            serving::Named::Nothing => None,
        };
        let inner = Inner {
            root: folder.to_owned(),
            config,
            generations: RwLock::new(generations),
            damaged: RwLock::new(damaged),
            serving: ArcSwapOption::new(serving),
            changing: Mutex::new(()),
            _lock: lock,
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// Keeps all generations in a draft below `path` as of one moment, then calls `meanwhile`,
    /// before which no writer goes on. Not for async threads.
    pub(crate) fn image(
        &self,
        draft: &mut Draft,
        path: &str,
        meanwhile: impl FnOnce(&mut Draft) -> Result<()>,
    ) -> Result<()> {
        let _changing = self
            .inner
            .changing
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let generations = self
            .inner
            .generations
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let held = generations
            .values()
            .map(|generation| generation.hold())
            .collect::<Result<Vec<_>>>()?;
        draft.add_folder(&format!("{path}/generations"));
        for (name, held) in generations.keys().zip(&held) {
            held.image(draft, &format!("{path}/generations/{name}"))?;
        }
        draft.keep(
            &serving::path(&self.inner.root),
            &format!("{path}/serving"),
            None,
        )?;
        meanwhile(draft)
    }

    /// How many stored chunks and rows of vectors were found damaged since it was opened; a
    /// generation that did not open counts once.
    pub fn known_damage(&self) -> u64 {
        let generations = self
            .inner
            .generations
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        let aside = self
            .inner
            .damaged
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .len() as u64;
        aside
            + generations
                .values()
                .map(|generation| generation.known_damage())
                .sum::<u64>()
    }

    /// Runs work that reads files or computes on a thread made for it.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Inner) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let inner = Arc::clone(&self.inner);
        match tokio::task::spawn_blocking(move || work(&inner)).await {
            Ok(result) => result,
            // tantivy believes what it reads, and may panic over damaged postings.
            Err(error) => Err(Error::new(
                ErrorKind::Internal,
                format!("a task of the search index ended early: {error}"),
            )
            .with_hint(
                "stop the server and run `tributary doctor --verify`: the index may be damaged",
            )),
        }
    }

    /// The same with what queries see now of a generation, or of the serving one.
    async fn query<T: Send + 'static>(
        &self,
        generation: Option<&str>,
        work: impl FnOnce(&Snapshot) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.reading(generation, move |generation| work(&generation.snapshot()))
            .await
    }

    /// The same with a generation, or with the serving one.
    async fn reading<T: Send + 'static>(
        &self,
        generation: Option<&str>,
        work: impl FnOnce(&Generation) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let name = generation.map(str::to_owned);
        self.blocking(move |inner| match name {
            Some(name) => work(&*inner.generation(&name)?),
            None => work(&inner.serving()?.generation),
        })
        .await
    }

    /// BM25 with the numbers of the generation, or with others.
    async fn by_keyword(
        &self,
        query: KeywordQuery<'_>,
        other: Option<Bm25>,
    ) -> Result<Vec<ScoredChunk>> {
        let (tokens, limit) = (query.tokens.to_vec(), query.limit);
        let candidates = query.candidates.map(<[ChunkId]>::to_vec);
        let filter = query.filter.clone();
        self.reading(query.generation, move |generation| {
            let asked = keyword::Asked {
                tokens: &tokens,
                bm25: other.unwrap_or(generation.settings().bm25),
                limit,
            };
            match &candidates {
                Some(candidates) => keyword::score(&generation.snapshot(), asked, candidates),
                None => keyword::search(&generation.snapshot(), asked, &filter),
            }
        })
        .await
    }

    /// The same with one generation.
    async fn with<T: Send + 'static>(
        &self,
        generation: &str,
        work: impl FnOnce(&Generation) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let name = generation.to_owned();
        self.blocking(move |inner| work(&*inner.generation(&name)?))
            .await
    }
}

impl Inner {
    fn generation(&self, name: &str) -> Result<Arc<Generation>> {
        let generations = self
            .generations
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        generations.get(name).map(Arc::clone).ok_or_else(|| {
            let damaged = self
                .damaged
                .read()
                .unwrap_or_else(PoisonError::into_inner)
                .get(name)
                .cloned();
            damaged.unwrap_or_else(|| {
                Error::new(
                    ErrorKind::NotFound,
                    format!("there is no generation `{name}`"),
                )
            })
        })
    }

    fn serving(&self) -> Result<Arc<Serving>> {
        self.serving.load_full().ok_or_else(|| {
            let damaged = self
                .damaged
                .read()
                .unwrap_or_else(PoisonError::into_inner)
                .values()
                .next()
                .cloned();
            if let Some(error) = damaged {
                return error;
            }
            Error::new(ErrorKind::NotFound, "no generation serves queries yet")
                .with_hint("index a document, or promote a generation")
        })
    }

    fn folder(&self, name: &str) -> PathBuf {
        generation_folder(&self.root, name)
    }

    fn create(&self, name: &str, settings: &IndexSettings) -> Result<()> {
        check_name(name)?;
        settings.check()?;
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let existing = match self.generation(name) {
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            found => Some(found?),
        };
        if let Some(existing) = existing {
            if existing.settings() == settings {
                return Ok(());
            }
            let message = format!(
                "generation `{name}` exists with other settings: {:?}, wanted {settings:?}",
                existing.settings()
            );
            return Err(Error::new(ErrorKind::Conflict, message)
                .with_hint("create a generation of another name and reindex into it"));
        }
        let draft = self.folder(&format!(".new-{name}"));
        let failed = |error: std::io::Error| {
            Error::io(format_args!("cannot create generation `{name}`"), &error)
        };
        if draft.exists() {
            std::fs::remove_dir_all(&draft).map_err(failed)?;
        }
        Generation::create(&draft, settings)?;
        std::fs::rename(&draft, self.folder(name)).map_err(failed)?;
        sync_folder(&generations_folder(&self.root))?;
        let generation = Arc::new(Generation::open(&self.folder(name), &self.config)?);
        self.generations
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(name.to_owned(), generation);
        Ok(())
    }

    fn promote(&self, name: &str) -> Result<()> {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let generation = self.generation(name)?;
        serving::write(&self.root, name)?;
        self.serving.store(Some(Arc::new(Serving {
            name: name.to_owned(),
            generation,
        })));
        Ok(())
    }

    fn drop_generation(&self, name: &str) -> Result<()> {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let generation = match self.generation(name) {
            Err(error) if error.kind() == ErrorKind::Corrupt => None,
            found => Some(found?),
        };
        self.check_not_serving(name)?;
        let failed = |error: std::io::Error| {
            Error::io(format_args!("cannot drop generation `{name}`"), &error)
        };
        let grave = self.folder(&format!(".old-{name}"));
        std::fs::rename(self.folder(name), &grave).map_err(failed)?;
        sync_folder(&generations_folder(&self.root))?;
        self.forget(name);
        if let Some(generation) = generation {
            generation.close();
        }
        std::fs::remove_dir_all(&grave).map_err(failed)
    }

    fn check_not_serving(&self, name: &str) -> Result<()> {
        if !self.is_serving(name) {
            return Ok(());
        }
        let message = format!("generation `{name}` serves queries and cannot be dropped");
        Err(Error::new(ErrorKind::Conflict, message).with_hint("promote another generation first"))
    }

    fn forget(&self, name: &str) {
        self.generations
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(name);
        self.damaged
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(name);
    }

    fn is_empty(&self) -> bool {
        self.generations
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .is_empty()
    }

    fn is_serving(&self, name: &str) -> bool {
        self.serving
            .load()
            .as_ref()
            .is_some_and(|serving| serving.name == name)
    }

    /// Where the serving generation is damaged nobody must make another one in its place, so this
    /// fails.
    fn status(&self) -> Result<Vec<GenerationStatus>> {
        let damaged = self
            .damaged
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .values()
            .next()
            .cloned();
        if let Some(error) = damaged.filter(|_| self.serving.load().is_none()) {
            return Err(error);
        }
        let generations = self
            .generations
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let status = |(name, generation): (String, Arc<Generation>)| GenerationStatus {
            serving: self.is_serving(&name),
            settings: generation.settings().clone(),
            documents: generation.count_documents(),
            chunks: generation.snapshot().chunks() as u64,
            bytes: generation.bytes(),
            name,
        };
        Ok(generations.into_iter().map(status).collect())
    }
}

#[async_trait]
impl SearchIndex for EmbeddedIndex {
    async fn create(&self, generation: &str, settings: &IndexSettings) -> Result<()> {
        let (name, settings) = (generation.to_owned(), settings.clone());
        self.blocking(move |inner| inner.create(&name, &settings))
            .await
    }

    async fn promote(&self, generation: &str) -> Result<()> {
        let name = generation.to_owned();
        self.blocking(move |inner| inner.promote(&name)).await
    }

    async fn drop_generation(&self, generation: &str) -> Result<()> {
        let name = generation.to_owned();
        self.blocking(move |inner| inner.drop_generation(&name))
            .await
    }

    async fn write(&self, generation: &str, operations: Vec<Operation>) -> Result<Vec<Outcome>> {
        self.with(generation, move |generation| generation.write(operations))
            .await
    }

    async fn flush(&self, generation: &str) -> Result<()> {
        self.with(generation, |generation| generation.flush()).await
    }

    async fn keyword(&self, query: KeywordQuery<'_>) -> Result<Vec<ScoredChunk>> {
        self.by_keyword(query, None).await
    }

    async fn keyword_with(&self, query: KeywordQuery<'_>, bm25: Bm25) -> Result<Vec<ScoredChunk>> {
        self.by_keyword(query, Some(bm25)).await
    }

    async fn vector(&self, query: VectorQuery<'_>) -> Result<Vec<ScoredChunk>> {
        let (vector, field, limit) = (query.vector.to_vec(), query.field, query.limit);
        match query.candidates.map(<[ChunkId]>::to_vec) {
            Some(candidates) => {
                self.query(query.generation, move |snapshot| {
                    vector_search::score(snapshot, &vector, field, &candidates, limit)
                })
                .await
            }
            None => {
                let (filter, threads) = (query.filter.clone(), self.inner.config.search_threads);
                self.query(query.generation, move |snapshot| {
                    vector_search::search(snapshot, &vector, field, &filter, limit, threads)
                })
                .await
            }
        }
    }

    async fn nearest_windows(&self, query: WindowQuery<'_>) -> Result<Vec<ScoredChunk>> {
        let (vector, candidates) = (query.vector.to_vec(), query.candidates.to_vec());
        self.query(query.generation, move |snapshot| {
            vector_search::nearest_windows(snapshot, &vector, &candidates)
        })
        .await
    }

    async fn fetch(
        &self,
        generation: Option<&str>,
        chunks: &[ChunkId],
    ) -> Result<Vec<Option<StoredChunk>>> {
        let chunks = chunks.to_vec();
        self.reading(generation, move |generation| generation.fetch(&chunks))
            .await
    }

    async fn damaged(&self, generation: Option<&str>, chunks: &[ChunkId]) -> Result<Vec<ChunkId>> {
        let chunks = chunks.to_vec();
        self.reading(
            generation,
            move |generation| Ok(generation.damaged(&chunks)),
        )
        .await
    }

    async fn vectors(
        &self,
        generation: Option<&str>,
        chunks: &[ChunkId],
    ) -> Result<Vec<Option<ChunkVectors>>> {
        let chunks = chunks.to_vec();
        self.query(generation, move |snapshot| {
            Ok(chunks
                .iter()
                .map(|chunk| generation::chunk_vectors(snapshot, *chunk))
                .collect())
        })
        .await
    }

    async fn documents(
        &self,
        generation: Option<&str>,
        document_ids: &[String],
    ) -> Result<Vec<Option<IndexedDocument>>> {
        let ids = document_ids.to_vec();
        self.reading(generation, move |generation| generation.documents(&ids))
            .await
    }

    async fn list_documents(
        &self,
        generation: Option<&str>,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<IndexedDocument>> {
        let after = after.map(str::to_owned);
        self.reading(generation, move |generation| {
            generation.list_documents(after.as_deref(), limit)
        })
        .await
    }

    async fn documents_with(
        &self,
        generation: Option<&str>,
        terms: &[String],
        limit: usize,
    ) -> Result<Vec<IndexedDocument>> {
        let terms = terms.to_vec();
        self.reading(generation, move |generation| {
            generation.documents_with(&terms, limit)
        })
        .await
    }

    async fn list_chunks(&self, generation: Option<&str>) -> Result<Vec<(ChunkId, String)>> {
        self.query(generation, Snapshot::list).await
    }

    async fn status(&self) -> Result<Vec<GenerationStatus>> {
        self.blocking(Inner::status).await
    }
}

/// Where a generation lies in the folder of an index.
pub(crate) fn generation_folder(root: &Path, name: &str) -> PathBuf {
    generations_folder(root).join(name)
}

/// The settings of a generation in its folder.
pub(crate) fn settings_in(folder: &Path) -> Result<IndexSettings> {
    commit::read_settings(folder)
}

/// Removes the one-bit codes of a generation, which are made again when it is opened.
pub(crate) fn remove_bits(folder: &Path) -> Result<()> {
    let failed =
        |error: std::io::Error| Error::io(format_args!("cannot tidy {}", folder.display()), &error);
    for name in commit::names_in(folder)?
        .iter()
        .filter(|name| name.starts_with("bits-"))
    {
        std::fs::remove_file(folder.join(name)).map_err(failed)?;
    }
    sync_folder(folder)
}

fn generations_folder(root: &Path) -> PathBuf {
    root.join("generations")
}

fn lock(folder: &Path) -> Result<File> {
    let path = folder.join("lock");
    let file = File::create(&path)
        .map_err(|error| Error::io(format_args!("cannot create {}", path.display()), &error))?;
    file.try_lock().map_err(|error| {
        Error::new(
            ErrorKind::Conflict,
            format!(
                "the index in {} is open elsewhere: {error}",
                folder.display()
            ),
        )
        .with_hint("stop the other process, or talk to it with --server")
    })?;
    Ok(file)
}

/// Opens a generation; a panic over damaged bytes in tantivy is damage.
fn open_generation(folder: &Path, config: &Config) -> Result<Generation> {
    let opened = std::panic::catch_unwind(|| Generation::open(folder, config));
    let opened = opened.unwrap_or_else(|_| {
        Err(Error::new(
            ErrorKind::Corrupt,
            format!("{} does not decode", folder.display()),
        ))
    });
    opened.map_err(|error| explain(error, folder))
}

/// Damage needs a decision by the user: say where.
fn explain(error: Error, folder: &Path) -> Error {
    match error.kind() {
        ErrorKind::Corrupt => error.with_hint(format!(
            "`tributary repair` moves {} aside and builds it again from the log, or restore a backup",
            folder.display()
        )),
        _ => error,
    }
}

fn check_name(name: &str) -> Result<()> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    if name.is_empty()
        || name.len() > MAXIMUM_NAME_BYTES
        || name.starts_with('.')
        || !name.bytes().all(is_plain)
    {
        let message = format!("`{name}` is no name for a generation");
        return Err(Error::new(ErrorKind::Invalid, message)
            .with_hint("use letters, digits, dots, hyphens and underscores"));
    }
    Ok(())
}

fn check_config(config: &Config) -> Result<()> {
    if !(SMALLEST_WRITER_MIB..=LARGEST_WRITER_MIB).contains(&config.writer_memory_mib) {
        let message = format!(
            "writer_memory_mib is {}, allowed are {SMALLEST_WRITER_MIB} to {LARGEST_WRITER_MIB}",
            config.writer_memory_mib
        );
        return Err(Error::new(ErrorKind::Invalid, message));
    }
    if config.search_threads == 0 {
        return Err(Error::new(
            ErrorKind::Invalid,
            "search_threads is 0, at least 1 is needed",
        ));
    }
    Ok(())
}
