//! Makes only the newest edition of a work searchable. [`Editions::note`] remembers what changed,
//! [`Editions::settle`] brings the works of it into order after a flush, and [`Editions::settled`]
//! hands over what became of their documents.
//!
//! Which edition is searchable follows from the live documents alone
//! ([`DocumentHeader::edition_order`]), so the order of arrival, replays and a second process make
//! no difference. Every record is first written in full; once it is visible, the works that it may
//! have entered or left are read and brought into order: the newest edition has its chunks, the
//! others have none and name it. A process that changed something looks again, until nothing is
//! left to change. A document that arrived is reported also where another batch, or process, has
//! put it in order by then: the report of its own record comes after theirs. When the newest
//! edition is deleted, the next one is written again from the record that was kept.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tributary_schemas::edition::{superseded_term, work_term};
use tributary_schemas::{DocumentHeader, DocumentState, EmbeddedDocument, Result, State};
use tributary_store::blobs::Blobs;
use tributary_store::search_index::{IndexedDocument, Operation, SharedSearchIndex};
use tributary_store::{Clock, manifest};

use crate::exact_duplicates::Settled;
use crate::index_stage::is_gone;
use crate::rewriting;

/// Looks until nothing is left to change; more are needed only while another process changes the
/// same works, which then looks too.
const MAXIMUM_LOOKS: usize = 10;

/// Brings works into order.
pub struct Editions {
    index: SharedSearchIndex,
    blobs: Blobs,
    clock: Clock,
    waiting: Mutex<Waiting>,
}

/// What arrived since works were last settled.
#[derive(Default)]
struct Waiting {
    /// By generation.
    touched: BTreeMap<String, Touched>,
    /// Settled, not yet handed over; the last word on a document comes last.
    settled: Vec<Settled>,
}

/// Documents that were written or deleted, and the works of those that were written.
#[derive(Clone, Default)]
struct Touched {
    documents: BTreeSet<String>,
    works: BTreeSet<String>,
}

/// All live editions of a work, the searchable one first.
type Work = Vec<IndexedDocument>;

/// What became of an edition that should have its chunks again.
enum Restored {
    /// It has them.
    Written(DocumentState),
    /// A newer version of the document arrived.
    Outdated,
    /// What was kept of it cannot be read.
    Damaged(DocumentState),
}

impl Editions {
    /// Over the given index; records of editions are kept as blobs, since any of them may have to
    /// be written again.
    pub fn new(index: SharedSearchIndex, blobs: Blobs, clock: Clock) -> Self {
        Self {
            index,
            blobs,
            clock,
            waiting: Mutex::default(),
        }
    }

    /// Keeps the record of an edition durably and returns its place; `None` for a document that is
    /// none, or for a record without vectors, from which it could not be written again.
    pub async fn keep(
        &self,
        embedded: &EmbeddedDocument,
        record: Option<&Bytes>,
    ) -> Result<Option<String>> {
        let is_whole = embedded.vectors.len() == embedded.chunks.len();
        match record.filter(|_| embedded.document.edition.is_some() && is_whole) {
            Some(record) => self.blobs.put(record.clone()).await.map(Some),
            None => Ok(None),
        }
    }

    /// Notes that a document was written to a generation, or deleted from it (`document` is then
    /// nothing), and that this is visible.
    pub fn note(&self, generation: &str, document_id: &str, document: Option<&DocumentHeader>) {
        let mut waiting = self.waiting();
        let touched = waiting.touched.entry(generation.to_owned()).or_default();
        touched.documents.insert(document_id.to_owned());
        let edition = document.and_then(|document| document.edition.as_ref());
        touched
            .works
            .extend(edition.map(|edition| edition.work.clone()));
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Brings the works of all that was noted since into order, durably. What was written must be
    /// visible. After an error everything is looked at again by the next call.
    pub async fn settle(&self) -> Result<()> {
        let mut touched = std::mem::take(&mut self.waiting().touched);
        while let Some((generation, documents)) = touched.pop_first() {
            match self.settle_generation(&generation, &documents).await {
                Ok(()) => {}
                // Dropped meanwhile.
                Err(error) if is_gone(&error) => {}
                Err(error) => {
                    touched.insert(generation, documents);
                    self.put_back(touched);
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Documents whose part changed, handed over once.
    pub fn settled(&self) -> Vec<Settled> {
        std::mem::take(&mut self.waiting().settled)
    }

    fn put_back(&self, touched: BTreeMap<String, Touched>) {
        let mut waiting = self.waiting();
        for (generation, older) in touched {
            let newer = waiting.touched.entry(generation).or_default();
            newer.documents.extend(older.documents);
            newer.works.extend(older.works);
        }
    }

    async fn settle_generation(&self, generation: &str, touched: &Touched) -> Result<()> {
        let mut looked_at = touched.works.clone();
        for _ in 0..MAXIMUM_LOOKS {
            let mut changed = false;
            for work in self.works(generation, touched, &mut looked_at).await? {
                match self.order(generation, &work).await {
                    Ok(did) => {
                        changed |= did;
                        self.report_again(generation, &work, touched);
                    }
                    Err(error) if error.is_held() || is_gone(&error) => return Err(error),
                    Err(error) => {
                        let editions: Vec<&str> = work
                            .iter()
                            .map(|edition| edition.document.document_id.as_str())
                            .collect();
                        tracing::error!(generation, ?editions, error = %error.full_message(), "the editions of a work are left as they are");
                    }
                }
            }
            if !changed {
                break;
            }
            self.index.flush(generation).await?;
        }
        Ok(())
    }

    /// The works of documents that were written, and those of documents that still step aside for
    /// one that was written or deleted.
    async fn works(
        &self,
        generation: &str,
        touched: &Touched,
        looked_at: &mut BTreeSet<String>,
    ) -> Result<Vec<Work>> {
        let aside: Vec<String> = touched
            .documents
            .iter()
            .map(|document_id| superseded_term(document_id))
            .collect();
        let left = self
            .index
            .documents_with(Some(generation), &aside, usize::MAX)
            .await?;
        looked_at.extend(
            left.into_iter()
                .filter_map(|found| Some(found.document.edition?.work)),
        );
        if looked_at.is_empty() {
            return Ok(Vec::new());
        }
        let terms: Vec<String> = looked_at.iter().map(|work| work_term(work)).collect();
        let found = self
            .index
            .documents_with(Some(generation), &terms, usize::MAX)
            .await?;
        let mut works: BTreeMap<String, Work> = BTreeMap::new();
        for document in found.into_iter().filter(|found| !found.deleted) {
            if let Some(edition) = &document.document.edition {
                works
                    .entry(edition.work.clone())
                    .or_default()
                    .push(document);
            }
        }
        works.values_mut().for_each(|work| {
            work.sort_by(|left, right| left.document.edition_order(&right.document))
        });
        Ok(works.into_values().collect())
    }

    /// Writes what is wrong with a work; whether anything was.
    async fn order(&self, generation: &str, work: &Work) -> Result<bool> {
        let Some((newest, older)) = work.split_first() else {
            return Ok(false);
        };
        let mut changed = false;
        // First the newest: there is never a moment without any.
        if newest.document.superseded_by.is_some() {
            match self.restore(generation, &newest.document).await? {
                Restored::Written(state) => {
                    self.report(generation, state);
                    changed = true;
                }
                Restored::Outdated => return Ok(false),
                Restored::Damaged(state) => {
                    self.report_once(generation, state);
                    return Ok(false);
                }
            }
        }
        for edition in older {
            if let Some(state) = self
                .set_aside(generation, edition, &newest.document)
                .await?
            {
                self.report(generation, state);
                changed = true;
            }
        }
        Ok(changed)
    }

    /// Reports once more those that arrived and were aside already: otherwise the stage's report,
    /// that they can be found, would be the last one.
    fn report_again(&self, generation: &str, work: &Work, touched: &Touched) {
        let Some((newest, older)) = work.split_first() else {
            return;
        };
        let aside = older
            .iter()
            .filter(|edition| is_aside(edition, &newest.document));
        for edition in
            aside.filter(|edition| touched.documents.contains(&edition.document.document_id))
        {
            self.report_once(generation, self.aside(&edition.document, &newest.document));
        }
    }

    /// What is said of an edition that steps aside.
    fn aside(&self, document: &DocumentHeader, newest: &DocumentHeader) -> DocumentState {
        let version = newest
            .edition
            .as_ref()
            .map(|edition| edition.version.clone())
            .unwrap_or_default();
        let reason = Some(format!(
            "superseded by edition {version} of the same work: {}",
            newest.document_id
        ));
        DocumentState {
            reason,
            ..manifest::report(document, State::Skipped, (self.clock)())
        }
    }

    fn report(&self, generation: &str, state: DocumentState) {
        self.waiting().settled.push(Settled {
            generation: generation.to_owned(),
            state,
        });
    }

    /// The same unless it is what was said last: damage does not go away by another look.
    fn report_once(&self, generation: &str, state: DocumentState) {
        let mut waiting = self.waiting();
        let last = waiting.settled.iter().rev().find(|said| {
            said.state.document_id == state.document_id && said.generation == generation
        });
        if last.is_none_or(|last| last.state.state != state.state) {
            waiting.settled.push(Settled {
                generation: generation.to_owned(),
                state,
            });
        }
    }

    /// Gives an edition its chunks again. Where the record that was kept of it is gone or damaged,
    /// nothing can, and its state says so.
    async fn restore(&self, generation: &str, document: &DocumentHeader) -> Result<Restored> {
        let body = match self.body(document).await {
            Ok(Some(body)) => body,
            Err(error) if error.is_held() => return Err(error),
            unreadable => {
                let document_id = &document.document_id;
                let error = unreadable.err().map_or_else(
                    || "it has no vectors".to_owned(),
                    |error| error.full_message(),
                );
                tracing::error!(
                    generation,
                    document_id,
                    error,
                    "an edition cannot be written again; publish the document"
                );
                let reason = Some("it is the newest edition again, and what was kept of it cannot be read; publish it again".to_owned());
                let damaged = DocumentState {
                    reason,
                    ..manifest::report(document, State::Dead, (self.clock)())
                };
                return Ok(Restored::Damaged(damaged));
            }
        };
        let document = DocumentHeader {
            superseded_by: None,
            ..document.clone()
        };
        let state = manifest::indexed(&document, generation, body.chunks.len(), (self.clock)());
        let written = Operation::Replace {
            document: Box::new(document),
            chunks: body.chunks,
            vectors: body.vectors,
        };
        let is_written = rewriting::write(self.index.as_ref(), generation, written).await?;
        Ok(if is_written {
            Restored::Written(state)
        } else {
            Restored::Outdated
        })
    }

    /// Takes an older edition's chunks away. Nothing if that is done already, or could not be
    /// undone.
    async fn set_aside(
        &self,
        generation: &str,
        found: &IndexedDocument,
        newest: &DocumentHeader,
    ) -> Result<Option<DocumentState>> {
        if is_aside(found, newest) || found.document.body.is_none() {
            return Ok(None);
        }
        let document = DocumentHeader {
            superseded_by: Some(newest.document_id.clone()),
            ..found.document.clone()
        };
        let state = self.aside(&document, newest);
        let written = Operation::Replace {
            document: Box::new(document),
            chunks: Vec::new(),
            vectors: Vec::new(),
        };
        Ok(rewriting::write(self.index.as_ref(), generation, written)
            .await?
            .then_some(state))
    }

    async fn body(&self, document: &DocumentHeader) -> Result<Option<EmbeddedDocument>> {
        match &document.body {
            Some(url) => rewriting::read(self.blobs.get(url).await?).await,
            None => Ok(None),
        }
    }
}

fn is_aside(edition: &IndexedDocument, newest: &DocumentHeader) -> bool {
    edition.document.superseded_by.as_ref() == Some(&newest.document_id)
        && edition.chunk_ids.is_empty()
}
