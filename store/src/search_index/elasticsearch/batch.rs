//! Writes of several documents together, each of them whole. For one document, in this order:
//!
//! 1. its chunks, under ids that no other revision of it has;
//! 2. its manifest, if the stored one is still the one that was read: the commit point; if it is
//!    not, from the beginning;
//! 3. the chunks of the revision before are removed.
//!
//! All lie in one shard, which shows a beginning of what was done there: so the chunks of the
//! revision that the manifest names are always whole, and `read` gives out no others. An attempt
//! that ends in the middle is made whole by the next one of the same operation, which has the same
//! revision; one that comes too late removes what it wrote. What an attempt may have written whose
//! answer never came is handed to `leftovers`. No two of one document may be here at a time.

use std::collections::HashMap;
use std::sync::Arc;

use elasticsearch::http::Method;
use serde_json::Value;
use tributary_schemas::filter::{chunk_terms, indexed_terms};
use tributary_schemas::{
    ChunkId, ChunkVectors, DocumentHeader, Error, ErrorKind, Result, WindowVectors,
};

use super::bulk::{Action, Bulk, ItemResult};
use super::client::{Body, Client, Request};
use super::generations::Generation;
use super::leftovers::Attempt;
use super::mapping::{
    self, ChunkRecord, Entry, ManifestRecord, Replaced, Revision, chunk_record_id, indexed_term,
    indexed_token, manifest_id,
};
use super::read::{Reader, StoredEntry};
use crate::search_index::{IndexSettings, IndexedDocument, Operation, Outcome};

/// How often a manifest that others change at the same time is tried.
const ATTEMPTS: usize = 16;

/// What a batch needs.
#[derive(Clone)]
pub struct Target {
    /// Way to the cluster.
    pub client: Client,
    /// Where to write.
    pub generation: Arc<Generation>,
    /// Bytes of a bulk request.
    pub bulk_bytes: usize,
}

/// What becomes of one operation.
type Written = Result<Outcome>;

/// What became of a batch.
pub struct Done {
    /// Of each operation. Errors are those of single operations, or the same for all where the
    /// cluster failed.
    pub written: Vec<Written>,
    /// What operations that failed may have written all the same.
    pub unfinished: Vec<Attempt>,
}

/// One operation on its way.
struct Task {
    operation: Operation,
    id: String,
    /// Names what is written, but for the turn.
    content: String,
    revision: Revision,
    stored: Option<StoredEntry>,
    /// Revisions under which chunks were written before the manifest changed.
    abandoned: Vec<Replaced>,
    written: Option<Written>,
}

/// Runs operations on different documents.
pub async fn run(target: &Target, operations: Vec<Operation>) -> Done {
    let count = operations.len();
    match Batch::read(target, operations).await {
        Ok(batch) => batch.run().await,
        Err(error) => Done {
            written: vec![Err(error); count],
            unfinished: Vec::new(),
        },
    }
}

impl Target {
    /// Shows what was written.
    pub async fn refresh(&self, what: &str) -> Result<()> {
        self.act_on_all_shards(what, &format!("/{}/_refresh", self.generation.index))
            .await
    }

    /// A shard that could not do it makes it fail.
    pub async fn act_on_all_shards(&self, what: &str, path: &str) -> Result<()> {
        let answer: Value = self
            .client
            .call(Request {
                what,
                method: Method::Post,
                path,
                query: &[],
                body: Body::Empty,
            })
            .await?;
        match answer.pointer("/_shards/failed").and_then(Value::as_u64) {
            Some(0) => Ok(()),
            _ => Err(Error::new(
                ErrorKind::Unavailable,
                format!("{what}: a shard could not do it"),
            )),
        }
    }
}

struct Batch<'a> {
    target: &'a Target,
    tasks: Vec<Task>,
}

fn without_vector(chunk_id: ChunkId) -> Outcome {
    let message = format!("chunk {chunk_id} comes without a vector and none is stored");
    Outcome::Failed(Error::new(ErrorKind::Invalid, message))
}

impl<'a> Batch<'a> {
    async fn read(target: &'a Target, operations: Vec<Operation>) -> Result<Self> {
        let tasks = operations
            .into_iter()
            .map(|operation| task(operation, &target.generation.settings));
        let mut tasks = tasks.collect::<Result<Vec<_>>>()?;
        let ids: Vec<String> = tasks
            .iter()
            .map(|task| document_id(&task.operation).to_owned())
            .collect();
        let stored = reader(target).entries(&ids, true).await?;
        tasks
            .iter_mut()
            .zip(stored)
            .for_each(|(task, stored)| task.see(stored));
        Ok(Self { target, tasks })
    }

    async fn run(mut self) -> Done {
        if let Err(error) = self.steps().await {
            self.tasks
                .iter_mut()
                .filter(|task| task.written.is_none())
                .for_each(|task| task.written = Some(Err(error.clone())));
        }
        let failed = |task: &&Task| matches!(task.written, None | Some(Err(_)));
        let unfinished = self
            .tasks
            .iter()
            .filter(failed)
            .flat_map(Task::attempts)
            .collect();
        let missing = || {
            Err(Error::new(
                ErrorKind::Internal,
                "an operation was neither done nor refused",
            ))
        };
        Done {
            written: self
                .tasks
                .into_iter()
                .map(|task| task.written.unwrap_or_else(missing))
                .collect(),
            unfinished,
        }
    }

    async fn steps(&mut self) -> Result<()> {
        self.settle_older().await?;
        self.keep_vectors().await?;
        for _ in 0..ATTEMPTS {
            if self.tasks.iter().all(|task| task.written.is_some()) {
                return self.take_back().await;
            }
            self.write_chunks().await?;
            self.write_manifests().await?;
        }
        for task in self.tasks.iter_mut().filter(|task| task.written.is_none()) {
            task.written = Some(Err(Error::new(
                ErrorKind::Unavailable,
                "a document is changed by others again and again",
            )));
        }
        self.take_back().await
    }

    /// Operations that are too late; what an earlier attempt may have written of them goes.
    async fn settle_older(&mut self) -> Result<()> {
        for task in self.tasks.iter_mut().filter(|task| task.written.is_none()) {
            if let Some(stored) = task
                .stored
                .as_ref()
                .map(|stored| stored.entry.indexed.document.version)
                && stored > version(&task.operation)
            {
                task.written = Some(Ok(Outcome::Older { stored }));
            }
        }
        self.sweep().await
    }

    /// Gives chunks that come without vectors those that are stored.
    async fn keep_vectors(&mut self) -> Result<()> {
        let wanted = self.wanted_vectors();
        let records: Vec<(String, String)> = wanted
            .iter()
            .filter_map(|(number, _, record)| {
                Some((record.clone()?, self.tasks[*number].id.clone()))
            })
            .collect();
        let mut found = reader(self.target)
            .record_vectors(&records)
            .await?
            .into_iter();
        for (number, chunk_id, record) in wanted {
            let kept = record.and_then(|_| found.next().flatten());
            let task = &mut self.tasks[number];
            match (kept, &mut task.operation) {
                (Some(kept), Operation::Replace { vectors, .. }) => vectors.push(kept),
                _ => task.written = Some(Ok(without_vector(chunk_id))),
            }
        }
        Ok(())
    }

    /// Chunks without vectors: number of the task, id, and the stored record where there is one.
    fn wanted_vectors(&self) -> Vec<(usize, ChunkId, Option<String>)> {
        let mut wanted = Vec::new();
        for (number, task) in self
            .tasks
            .iter()
            .enumerate()
            .filter(|(_, task)| task.written.is_none())
        {
            let Operation::Replace {
                chunks, vectors, ..
            } = &task.operation
            else {
                continue;
            };
            if !vectors.is_empty() {
                continue;
            }
            for chunk in chunks {
                let stored = task.stored.as_ref().map(|stored| &stored.entry);
                let place = stored.and_then(|entry| {
                    entry
                        .indexed
                        .chunk_ids
                        .iter()
                        .position(|id| *id == chunk.chunk_id)
                });
                let record = stored
                    .zip(place)
                    .map(|(entry, place)| chunk_record_id(&task.id, &entry.revision, place));
                wanted.push((number, chunk.chunk_id, record));
            }
        }
        wanted
    }

    async fn write_chunks(&mut self) -> Result<()> {
        let tasks = std::mem::take(&mut self.tasks);
        let keeps_windows = self.target.generation.settings.windows;
        let encoded =
            tokio::task::spawn_blocking(move || encode_chunks(tasks, keeps_windows)).await;
        let (tasks, bulk, owners) = encoded.map_err(|error| {
            Error::new(
                ErrorKind::Internal,
                format!("a task of the search index ended early: {error}"),
            )
        })??;
        self.tasks = tasks;
        let results = bulk
            .send(&self.target.client, &self.alias(), self.target.bulk_bytes)
            .await?;
        let mut outrun = false;
        for (owner, result) in owners.into_iter().zip(results) {
            let task = &mut self.tasks[owner];
            match result {
                ItemResult::Done => {}
                // Somebody removed this revision: a newer one is stored, or is just being written.
                ItemResult::Newer => {
                    outrun = true;
                    task.written.get_or_insert_with(|| {
                        Err(Error::new(
                            ErrorKind::Unavailable,
                            "a newer version of the document is being written",
                        ))
                    });
                }
                ItemResult::Refused(failure) => {
                    if task.written.as_ref().is_none_or(|written| written.is_ok()) {
                        task.written = Some(refused(&failure));
                    }
                }
            }
        }
        if outrun {
            self.settle_outrun().await
        } else {
            Ok(())
        }
    }

    /// Looks again at the manifests of documents that another process has changed meanwhile.
    async fn settle_outrun(&mut self) -> Result<()> {
        let is_outrun = |task: &Task| matches!(&task.written, Some(Err(error)) if error.kind() == ErrorKind::Unavailable);
        let places: Vec<usize> = self
            .tasks
            .iter()
            .enumerate()
            .filter(|(_, task)| is_outrun(task))
            .map(|(place, _)| place)
            .collect();
        let ids: Vec<String> = places
            .iter()
            .map(|place| document_id(&self.tasks[*place].operation).to_owned())
            .collect();
        for (place, stored) in places
            .into_iter()
            .zip(reader(self.target).entries(&ids, true).await?)
        {
            let task = &mut self.tasks[place];
            let newer = stored
                .as_ref()
                .map(|stored| stored.entry.indexed.document.version)
                .filter(|stored| *stored > version(&task.operation));
            task.abandoned.push(task.own());
            task.see(stored);
            if let Some(stored) = newer {
                task.written = Some(Ok(Outcome::Older { stored }));
            }
        }
        Ok(())
    }

    /// The commit points. Of a document that others changed meanwhile the manifest is read again
    /// and decided upon again.
    async fn write_manifests(&mut self) -> Result<()> {
        let open: Vec<usize> = (0..self.tasks.len())
            .filter(|place| self.tasks[*place].written.is_none())
            .collect();
        let mut bulk = Bulk::default();
        for place in &open {
            let task = &self.tasks[*place];
            let seen = task
                .stored
                .as_ref()
                .map(|stored| (stored.seq_no, stored.primary_term));
            bulk.push(
                &task.id,
                &task.id,
                &Action::Guarded { seen },
                &manifest(task),
            )?;
        }
        let results = bulk
            .send(&self.target.client, &self.alias(), self.target.bulk_bytes)
            .await?;
        let mut again = Vec::new();
        for (place, result) in open.into_iter().zip(results) {
            match result {
                ItemResult::Done => self.tasks[place].written = Some(Ok(Outcome::Applied)),
                ItemResult::Newer => again.push(place),
                ItemResult::Refused(failure) => self.tasks[place].written = Some(refused(&failure)),
            }
        }
        self.look_again(&again).await
    }

    /// Whoever changed the manifest may have removed chunks of ours that it knew; what comes next
    /// is written under ids of its own.
    async fn look_again(&mut self, places: &[usize]) -> Result<()> {
        let ids: Vec<String> = places
            .iter()
            .map(|place| document_id(&self.tasks[*place].operation).to_owned())
            .collect();
        for (place, stored) in places
            .iter()
            .zip(reader(self.target).entries(&ids, true).await?)
        {
            let task = &mut self.tasks[*place];
            let attempted = task.revision.to_string();
            let known = stored.as_ref().map(|stored| {
                (
                    stored.entry.indexed.document.version,
                    &stored.entry.revision,
                )
            });
            match known {
                Some((stored, _)) if stored > version(&task.operation) => {
                    task.written = Some(Ok(Outcome::Older { stored }))
                }
                // An attempt of ours whose answer was lost had come through.
                Some((_, revision)) if *revision == attempted => {
                    task.written = Some(Ok(Outcome::Applied))
                }
                _ => {}
            }
            task.abandoned.push(task.own());
            task.see(stored);
        }
        Ok(())
    }

    /// Removes chunks of revisions that are not valid: those before the one that was written, and
    /// what was written of operations that failed or came too late.
    async fn take_back(&mut self) -> Result<()> {
        let mut bulk = Bulk::default();
        for task in &self.tasks {
            let over = match &task.written {
                Some(Ok(Outcome::Applied)) => replaced_by(task),
                Some(Ok(Outcome::Failed(_))) if !is_stored(task) => vec![task.own()],
                _ => Vec::new(),
            };
            let valid = |revision: &str| {
                task.stored_revision() == Some(revision) || task.revision.to_string() == revision
            };
            let abandoned = task
                .abandoned
                .iter()
                .filter(|abandoned| !valid(&abandoned.revision));
            for replaced in over.iter().chain(abandoned) {
                remove(
                    &mut bulk,
                    task,
                    replaced,
                    task.stored_version().max(version(&task.operation)),
                )?;
            }
        }
        self.remove_all(bulk).await?;
        self.sweep().await
    }

    /// Removes what is left of operations that came too late, which is hardly ever anything: so it
    /// is looked for first.
    async fn sweep(&mut self) -> Result<()> {
        let older = self.tasks.iter().filter(|task| {
            matches!(task.written, Some(Ok(Outcome::Older { .. }))) && !is_stored(task)
        });
        let attempts: Vec<Attempt> = older.flat_map(Task::attempts).collect();
        let stored: HashMap<&str, u64> = self
            .tasks
            .iter()
            .map(|task| (task.id.as_str(), task.stored_version()))
            .collect();
        let records: Vec<(String, String)> = attempts.iter().flat_map(Attempt::records).collect();
        let existing = reader(self.target).existing(&records).await?;
        let mut bulk = Bulk::default();
        for ((record, routing), _) in records.iter().zip(existing).filter(|(_, exists)| *exists) {
            let version = signed(stored.get(routing.as_str()).copied().unwrap_or(0));
            bulk.push(record, routing, &Action::Delete { version }, &())?;
        }
        self.remove_all(bulk).await
    }

    async fn remove_all(&mut self, bulk: Bulk) -> Result<()> {
        if bulk.len() == 0 {
            return Ok(());
        }
        let results = bulk
            .send(&self.target.client, &self.alias(), self.target.bulk_bytes)
            .await?;
        let refused = results.into_iter().find_map(|result| {
            if let ItemResult::Refused(failure) = result {
                Some(failure)
            } else {
                None
            }
        });
        match refused {
            Some(failure) => {
                // The operation comes again and removes them then; until it does, it does not count
                // as done.
                let error = failure.error("cannot remove chunks");
                self.tasks
                    .iter_mut()
                    .for_each(|task| task.written = Some(Err(error.clone())));
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn alias(&self) -> String {
        mapping::write_alias(&self.target.generation.index)
    }
}

/// Reads what others have just written.
pub fn reader(target: &Target) -> Reader<'_> {
    Reader {
        client: &target.client,
        generation: &target.generation,
        preference: "_local",
        oversample: 1.0,
    }
}

/// Checks an operation and names its revision.
fn task(operation: Operation, settings: &IndexSettings) -> Result<Task> {
    let (content, failed) = match &operation {
        Operation::Replace {
            document,
            chunks,
            vectors,
        } => (
            mapping::content(document, chunks.iter().map(|chunk| chunk.chunk_id))?,
            check_vectors(chunks.len(), vectors, settings).err(),
        ),
        Operation::Delete { version, .. } => (format!("deleted-{version}"), None),
    };
    let id = manifest_id(document_id(&operation));
    let revision = Revision::first(content.clone());
    let written = failed.map(|error| Ok(Outcome::Failed(error)));
    Ok(Task {
        operation,
        id,
        content,
        revision,
        stored: None,
        abandoned: Vec::new(),
        written,
    })
}

impl Task {
    /// Takes notice of the manifest that is stored; the next attempt is made after it.
    fn see(&mut self, stored: Option<StoredEntry>) {
        let before = stored
            .as_ref()
            .filter(|stored| stored.entry.indexed.document.version == version(&self.operation));
        self.revision = Revision::after(
            self.content.clone(),
            before.map(|stored| stored.entry.revision.as_str()),
        );
        self.stored = stored;
    }

    fn stored_revision(&self) -> Option<&str> {
        self.stored
            .as_ref()
            .map(|stored| stored.entry.revision.as_str())
    }

    fn stored_version(&self) -> u64 {
        self.stored
            .as_ref()
            .map_or(0, |stored| stored.entry.indexed.document.version)
    }

    fn own(&self) -> Replaced {
        let chunks = if let Operation::Replace { chunks, .. } = &self.operation {
            chunks.len()
        } else {
            0
        };
        Replaced {
            revision: self.revision.to_string(),
            chunks,
        }
    }

    /// All that may have been written of it.
    fn attempts(&self) -> impl Iterator<Item = Attempt> {
        let (document_id, version) = (document_id(&self.operation), version(&self.operation));
        let revisions = self
            .abandoned
            .iter()
            .cloned()
            .chain([self.own()])
            .filter(|replaced| replaced.chunks > 0);
        revisions.map(move |replaced| Attempt {
            document_id: document_id.to_owned(),
            version,
            replaced,
        })
    }
}

fn check_vectors(chunks: usize, vectors: &[ChunkVectors], settings: &IndexSettings) -> Result<()> {
    let invalid = |message: String| Err(Error::new(ErrorKind::Invalid, message));
    if !vectors.is_empty() && vectors.len() != chunks {
        return invalid(format!("{} vectors for {chunks} chunks", vectors.len()));
    }
    let fine = if settings.shared_vectors {
        0
    } else {
        settings.fine_dimensions
    };
    for vectors in vectors {
        if vectors.coarse.len() != settings.coarse_dimensions || vectors.fine.len() != fine {
            let message = format!(
                "vectors of {} and {} dimensions, the generation has {} and {fine}",
                vectors.coarse.len(),
                vectors.fine.len(),
                settings.coarse_dimensions
            );
            return invalid(message);
        }
        if !vectors
            .coarse
            .iter()
            .chain(&vectors.fine)
            .all(|value| value.is_finite())
        {
            return invalid("a vector has values that are no numbers".to_owned());
        }
        let dimensions = settings.window_dimensions();
        if !vectors.windows.has_dimensions(dimensions) {
            return invalid(format!(
                "windows of {} bytes, no multiple of {dimensions} dimensions",
                vectors.windows.as_bytes().len()
            ));
        }
    }
    Ok(())
}

fn document_id(operation: &Operation) -> &str {
    match operation {
        Operation::Replace { document, .. } => &document.document_id,
        Operation::Delete { document_id, .. } => document_id,
    }
}

fn version(operation: &Operation) -> u64 {
    match operation {
        Operation::Replace { document, .. } => document.version,
        Operation::Delete { version, .. } => *version,
    }
}

/// The server's versions are signed.
pub fn signed(version: u64) -> i64 {
    i64::try_from(version).unwrap_or(i64::MAX)
}

/// Whether the task's own revision is the valid one.
fn is_stored(task: &Task) -> bool {
    task.stored_revision() == Some(&task.revision.to_string())
}

/// Revisions that are over once the task's manifest is stored. What the revision before had
/// replaced was removed long ago, unless its writer was stopped in the middle.
fn replaced_by(task: &Task) -> Vec<Replaced> {
    let Some(StoredEntry { entry, .. }) = &task.stored else {
        return Vec::new();
    };
    let before = Replaced {
        revision: entry.revision.clone(),
        chunks: entry.indexed.chunk_ids.len(),
    };
    let mut replaced: Vec<Replaced> = entry.replaced.iter().cloned().chain([before]).collect();
    let own = task.revision.to_string();
    replaced.retain(|replaced| replaced.chunks > 0 && replaced.revision != own);
    replaced
}

fn remove(bulk: &mut Bulk, task: &Task, replaced: &Replaced, version: u64) -> Result<()> {
    let action = Action::Delete {
        version: signed(version),
    };
    (0..replaced.chunks).try_for_each(|place| {
        bulk.push(
            &chunk_record_id(&task.id, &replaced.revision, place),
            &task.id,
            &action,
            &(),
        )
    })
}

fn refused(failure: &super::errors::Failure) -> Written {
    let error = failure.error("cannot write a document");
    // What only this document can be blamed for does not hold up the others.
    match error.kind() {
        ErrorKind::Invalid => Ok(Outcome::Failed(error)),
        _ => Err(error),
    }
}

fn manifest(task: &Task) -> ManifestRecord {
    let (indexed, terms) = match &task.operation {
        Operation::Replace {
            document, chunks, ..
        } => {
            let terms = document
                .manifest_terms()
                .into_iter()
                .map(indexed_term)
                .collect();
            let chunk_ids = chunks.iter().map(|chunk| chunk.chunk_id).collect();
            (
                IndexedDocument {
                    document: document.as_ref().clone(),
                    chunk_ids,
                    deleted: false,
                },
                terms,
            )
        }
        Operation::Delete {
            document_id,
            version,
        } => (deleted(document_id, *version), Vec::new()),
    };
    ManifestRecord {
        manifest: indexed.document.document_id.clone(),
        alive: !indexed.deleted,
        terms,
        entry: Entry {
            indexed,
            revision: task.revision.to_string(),
            replaced: replaced_by(task),
        },
    }
}

/// What is kept of a document that was deleted.
fn deleted(document_id: &str, version: u64) -> IndexedDocument {
    let document = DocumentHeader {
        document_id: document_id.to_owned(),
        version,
        ..DocumentHeader::default()
    };
    IndexedDocument {
        document,
        chunk_ids: Vec::new(),
        deleted: true,
    }
}

/// The chunks of all tasks that are still open, and whose each of them is.
fn encode_chunks(
    mut tasks: Vec<Task>,
    keeps_windows: bool,
) -> Result<(Vec<Task>, Bulk, Vec<usize>)> {
    let (mut bulk, mut owners) = (Bulk::default(), Vec::new());
    for (owner, task) in tasks
        .iter_mut()
        .enumerate()
        .filter(|(_, task)| task.written.is_none())
    {
        let revision = task.revision.to_string();
        let Operation::Replace {
            document,
            chunks,
            vectors,
        } = &mut task.operation
        else {
            continue;
        };
        let of_document: Vec<String> = indexed_terms(document)
            .into_iter()
            .map(indexed_term)
            .collect();
        let action = Action::Index {
            version: signed(document.version),
        };
        let none = WindowVectors::default();
        for (place, (chunk, vectors)) in chunks.iter_mut().zip(vectors.iter()).enumerate() {
            // They stand in `text`.
            let analyzed = std::mem::take(&mut chunk.analyzed);
            let mut filter = of_document.clone();
            filter.extend(chunk_terms(chunk).map(indexed_term));
            let text = indexed_tokens(&analyzed);
            let record = ChunkRecord {
                chunk: chunk.chunk_id,
                document: &document.document_id,
                revision: &revision,
                version: signed(document.version),
                text: &text,
                filter: &filter,
                updated_at: document.attributes.updated_at,
                security_level: chunk.level_in(document),
                coarse: &vectors.coarse,
                fine: &vectors.fine,
                windows: if keeps_windows {
                    &vectors.windows
                } else {
                    &none
                },
                stored: chunk,
            };
            bulk.push(
                &chunk_record_id(&task.id, &revision, place),
                &task.id,
                &action,
                &record,
            )?;
            owners.push(owner);
            chunk.analyzed = analyzed;
        }
    }
    Ok((tasks, bulk, owners))
}

fn indexed_tokens(analyzed: &str) -> String {
    let tokens: Vec<_> = analyzed
        .split(' ')
        .filter(|token| !token.is_empty())
        .map(indexed_token)
        .collect();
    tokens.join(" ")
}
