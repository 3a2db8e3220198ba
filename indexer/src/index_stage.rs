//! Writes every document version to the generation that its record names, once or many times with
//! the same result, and reports what became of it.

use std::collections::BTreeSet;
use std::collections::btree_map::{BTreeMap, Entry};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use tributary_schemas::{
    DocumentHeader, DocumentState, EmbeddedDocument, Error, ErrorKind, Result, StageTime, State,
    event,
};
use tributary_store::blobs::Blobs;
use tributary_store::event_log::stage::{Output, Stage};
use tributary_store::event_log::{Position, StoredRecord, message};
use tributary_store::generations::Generations;
use tributary_store::manifest::table::DocumentTable;
use tributary_store::search_index::{Operation, Outcome, SharedSearchIndex};
use tributary_store::{Clock, manifest};

use crate::editions::Editions;
use crate::exact_duplicates::ExactDuplicates;
use crate::unserved::UnservedReports;

/// The stage `index`.
pub struct IndexStage {
    index: SharedSearchIndex,
    generations: Arc<Generations>,
    /// Generations written to since they were last flushed.
    written: Mutex<BTreeSet<String>>,
    /// What records brought that are not over, once for each time that they were processed: only
    /// with the flush of their own batch is it sure that it can be seen.
    arrived: Mutex<BTreeMap<Position, Vec<Arrival>>>,
    duplicates: ExactDuplicates,
    editions: Editions,
    unserved: UnservedReports,
    table: Option<Arc<DocumentTable>>,
    clock: Clock,
}

/// What one processing of a record brought.
struct Arrival {
    /// Nothing where its generation is gone.
    change: Option<Change>,
    /// What became of it, where its generation does not serve queries.
    unserved: Option<DocumentState>,
}

/// A document that was written to a generation, or deleted from it.
struct Change {
    generation: String,
    document_id: String,
    version: u64,
    /// Nothing for a deletion.
    written: Option<(DocumentHeader, Bytes)>,
}

/// The generation that a record is for.
struct Target {
    name: String,
    is_serving: bool,
}

impl IndexStage {
    /// Writes to the generations of this index; what exact duplicates and editions may be written
    /// from again is kept in `blobs`.
    pub fn new(
        index: SharedSearchIndex,
        generations: Arc<Generations>,
        blobs: Blobs,
        clock: Clock,
    ) -> Self {
        let editions = Editions::new(Arc::clone(&index), blobs.clone(), Arc::clone(&clock));
        let duplicates = ExactDuplicates::new(Arc::clone(&index), blobs, Arc::clone(&clock));
        let unserved = UnservedReports::new(Arc::clone(&index));
        Self {
            index,
            generations,
            written: Mutex::default(),
            arrived: Mutex::default(),
            duplicates,
            editions,
            unserved,
            table: None,
            clock,
        }
    }

    /// The same; what this table knows already keeps the time since when it does.
    pub fn with_table(self, table: Arc<DocumentTable>) -> Self {
        let table = Some(table);
        Self { table, ..self }
    }

    /// The report of a document, with the times since when it is so.
    fn output(&self, state: &DocumentState) -> Result<Output> {
        let table = self.table.as_ref();
        match table.and_then(|table| table.get(&state.document_id)) {
            Some(row) => Output::report(&row.dated(state.clone())),
            None => Output::report(state),
        }
    }

    /// The generation that the record names, or the serving one; `None` when it is gone.
    async fn target(&self, input: &StoredRecord) -> Result<Option<Target>> {
        let serving = || self.generations.serving();
        let Some(name) = input
            .record
            .header(event::GENERATION)
            .map(str::to_owned)
            .or_else(serving)
        else {
            return Err(no_generation());
        };
        match self.generations.find(&name).await? {
            Some(found) => Ok(Some(Target {
                name,
                is_serving: found.serving,
            })),
            None if serving().is_none() => Err(no_generation()),
            None => Ok(None),
        }
    }

    /// Whether this error says no more than that a generation was dropped meanwhile. An index that
    /// has lost the serving one too holds all work: it is away, or somebody removed it.
    async fn was_dropped(&self, error: &Error) -> Result<bool> {
        if !is_gone(error) {
            return Ok(false);
        }
        self.generations.refresh().await?;
        if self.generations.serving().is_none() {
            Err(no_generation())
        } else {
            Ok(true)
        }
    }

    fn written(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn arrived(&self) -> MutexGuard<'_, BTreeMap<Position, Vec<Arrival>>> {
        self.arrived.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, input: &StoredRecord, arrival: Arrival) {
        let mut arrived = self.arrived();
        arrived.entry(input.position).or_default().push(arrival);
    }

    async fn write(&self, target: &Target, operation: Operation) -> Result<Outcome> {
        let written = self.index.write(&target.name, vec![operation]).await;
        let outcomes = written.map_err(again_if_gone)?;
        self.written().insert(target.name.clone());
        match outcomes.into_iter().next() {
            Some(Outcome::Failed(error)) => Err(error),
            Some(outcome) => Ok(outcome),
            None => Err(Error::new(
                ErrorKind::Internal,
                "the index gave no outcome for an operation",
            )),
        }
    }

    async fn replace(
        &self,
        target: &Target,
        embedded: EmbeddedDocument,
        body: Option<String>,
    ) -> Result<Option<DocumentState>> {
        let now_ms = (self.clock)();
        // Which documents stand for which is decided here alone.
        let mut document = DocumentHeader {
            duplicate_of: None,
            duplicates: Vec::new(),
            superseded_by: None,
            body,
            ..embedded.document
        };
        document.timeline.push(StageTime {
            stage: self.name().to_owned(),
            at_ms: now_ms,
        });
        let chunks = embedded.chunks.len();
        let written = Operation::Replace {
            document: Box::new(document.clone()),
            chunks: embedded.chunks,
            vectors: embedded.vectors,
        };
        Ok(match self.write(target, written).await? {
            Outcome::Older { stored } => target
                .is_serving
                .then(|| superseded(&document, stored, now_ms)),
            Outcome::Applied | Outcome::Failed(_) => {
                Some(manifest::indexed(&document, &target.name, chunks, now_ms))
            }
        })
    }

    /// What becomes of a record whose generation is gone, as far as it is true of the one that
    /// serves queries now.
    fn dropped(
        &self,
        document_id: &str,
        version: u64,
        embedded: Option<EmbeddedDocument>,
    ) -> DocumentState {
        let now_ms = (self.clock)();
        let Some(EmbeddedDocument {
            document, chunks, ..
        }) = embedded
        else {
            let document = DocumentHeader {
                document_id: document_id.to_owned(),
                version,
                ..DocumentHeader::default()
            };
            return manifest::report(&document, State::Deleted, now_ms);
        };
        // Of which generation it is true is not known before it is looked up.
        manifest::indexed(&document, "", chunks.len(), now_ms)
    }

    async fn delete(
        &self,
        target: &Target,
        document_id: &str,
        version: u64,
    ) -> Result<Option<DocumentState>> {
        let now_ms = (self.clock)();
        let stored = self
            .index
            .documents(Some(&target.name), &[document_id.to_owned()])
            .await
            .map_err(again_if_gone)?
            .pop()
            .flatten();
        let was_stored = stored.as_ref().is_some_and(|stored| !stored.deleted);
        let known = stored.map(|stored| stored.document).unwrap_or_default();
        let document = DocumentHeader {
            document_id: document_id.to_owned(),
            version,
            ..known
        };
        let deleted = Operation::Delete {
            document_id: document_id.to_owned(),
            version,
        };
        Ok(match self.write(target, deleted).await? {
            Outcome::Older { stored } => target
                .is_serving
                .then(|| superseded(&document, stored, now_ms)),
            Outcome::Applied | Outcome::Failed(_) => Some(DocumentState {
                reason: (!was_stored && target.is_serving).then(|| "nothing was stored".to_owned()),
                ..manifest::report(&document, State::Deleted, now_ms)
            }),
        })
    }
}

/// Whether there is no such generation, as far as the index can tell.
pub(crate) fn is_gone(error: &Error) -> bool {
    error.kind() == ErrorKind::NotFound && !error.is_held()
}

/// A generation that is gone is no record's fault: it comes again at once, and finds out what became
/// of its generation.
pub(crate) fn again_if_gone(error: Error) -> Error {
    if is_gone(&error) {
        error.of_environment()
    } else {
        error
    }
}

pub(crate) fn no_generation() -> Error {
    Error::new(ErrorKind::Unavailable, "no generation of the index serves queries")
        .with_hint("if the index was removed, `tributary knowledge-sets reindex --all` makes a new one and fills it from the log")
}

fn superseded(document: &DocumentHeader, stored: u64, now_ms: i64) -> DocumentState {
    DocumentState {
        reason: Some(format!("superseded by version {stored}")),
        ..manifest::report(document, State::Skipped, now_ms)
    }
}

#[async_trait]
impl Stage for IndexStage {
    fn name(&self) -> &'static str {
        "index"
    }

    async fn process(&self, input: &StoredRecord) -> Result<Vec<Output>> {
        let (document_id, version) = (
            message::document_id(&input.record)?,
            message::version(&input.record)?,
        );
        let embedded = message::decode::<EmbeddedDocument>(&input.record)?;
        let Some(target) = self.target(input).await? else {
            tracing::debug!(
                document_id,
                "a document for a generation that is gone is dropped"
            );
            let unserved = Some(self.dropped(document_id, version, embedded));
            self.note(
                input,
                Arrival {
                    change: None,
                    unserved,
                },
            );
            return Ok(Vec::new());
        };
        let (state, written) = match embedded {
            Some(embedded) => {
                let written = (
                    embedded.document.clone(),
                    input.record.value.clone().unwrap_or_default(),
                );
                let body = self
                    .editions
                    .keep(&embedded, input.record.value.as_ref())
                    .await?;
                (self.replace(&target, embedded, body).await?, Some(written))
            }
            None => (self.delete(&target, document_id, version).await?, None),
        };
        let (reported, unserved) = if target.is_serving {
            (state, None)
        } else {
            (None, state)
        };
        let change = Change {
            generation: target.name,
            document_id: document_id.to_owned(),
            version,
            written,
        };
        self.note(
            input,
            Arrival {
                change: Some(change),
                unserved,
            },
        );
        reported
            .iter()
            .map(|state| Ok(self.output(state)?.traced(&input.record)))
            .collect()
    }

    async fn flush(&self) -> Result<()> {
        let written = std::mem::take(&mut *self.written());
        for (done, name) in written.iter().enumerate() {
            match self.index.flush(name).await {
                Ok(()) => {}
                Err(error) => {
                    let looked = self.was_dropped(&error).await;
                    // Dropped meanwhile: there is nothing left to make durable.
                    if !looked.as_ref().is_ok_and(|dropped| *dropped) {
                        self.written().extend(written.iter().skip(done).cloned());
                        return Err(looked.err().unwrap_or(error));
                    }
                }
            }
        }
        Ok(())
    }

    async fn settle(&self, done: &[Position]) -> Result<Vec<Output>> {
        let arrived: Vec<Arrival> = {
            let mut arrived = self.arrived();
            done.iter()
                .filter_map(|position| arrived.remove(position))
                .flatten()
                .collect()
        };
        for Arrival { change, unserved } in arrived {
            self.unserved.wait(unserved);
            let Some(Change {
                generation,
                document_id,
                version,
                written,
            }) = change
            else {
                continue;
            };
            self.editions.note(
                &generation,
                &document_id,
                written.as_ref().map(|(document, _)| document),
            );
            match written {
                Some((document, record)) => {
                    self.duplicates.note_written(&generation, &document, record)
                }
                None => self
                    .duplicates
                    .note_deleted(&generation, &document_id, version),
            }
        }
        let serving = self.generations.serving();
        let served = self.unserved.served(serving.as_deref()).await?;
        // Of every generation: the last word on a document is whether it is stored once, or steps
        // aside.
        self.editions.settle().await?;
        let mut settled = self.duplicates.settle().await?;
        settled.extend(self.editions.settled());
        served
            .iter()
            .chain(settled.iter().map(|settled| &settled.state))
            .map(|state| self.output(state))
            .collect()
    }

    fn over(&self, records: &[Position]) {
        let mut arrived = self.arrived();
        for position in records {
            // Only what was taken away is still there. Its partition may be back, and the record
            // with it.
            if let Entry::Occupied(mut kept) = arrived.entry(*position) {
                kept.get_mut().pop();
                if kept.get().is_empty() {
                    kept.remove();
                }
            }
        }
    }

    fn abandoned(&self, input: &StoredRecord, error: &Error) -> Vec<Output> {
        // A document that a generation under construction cannot take is told by the build, not by
        // the document's state.
        let is_serving = input
            .record
            .header(event::GENERATION)
            .is_none_or(|name| self.generations.is_serving(name));
        if is_serving {
            manifest::abandoned(input, error, (self.clock)())
        } else {
            Vec::new()
        }
    }
}
