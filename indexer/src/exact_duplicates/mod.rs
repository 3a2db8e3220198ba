//! Stores exact duplicates once. [`ExactDuplicates::note_written`] and
//! [`ExactDuplicates::note_deleted`] remember what changed, [`ExactDuplicates::settle`] brings the
//! families of it into order after a flush.
//!
//! Documents of one content hash are a family. Which member is the canonical one follows from the
//! members alone ([`DocumentHeader::canonical_order`]); only it has chunks, and it remembers the
//! others, so that filters find the content by any of them. Every record is first written in full,
//! as if it were alone; once that is visible, families that it may have entered or left are read
//! and brought into order. A process that changed something looks again, until nothing is left to
//! change: of two processes that decide at the same time the later one sees what both have done.
//! After a crash the record is delivered again, and its families are looked at again.

mod family;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tributary_schemas::near_duplicate::{canonical_term, content_term, duplicate_term};
use tributary_schemas::{DocumentHeader, DocumentState, EmbeddedDocument, Lineage, Result};
use tributary_store::blobs::Blobs;
use tributary_store::search_index::{Operation, SharedSearchIndex};
use tributary_store::{Clock, manifest};

pub use self::family::MAXIMUM_MEMBERS;
use self::family::{Disorder, Family, chunks_of, disorder, in_families};
use crate::index_stage::is_gone;
use crate::rewriting;

/// Looks until nothing is left to change; more are needed only while another process changes the
/// same families, which then looks too.
const MAXIMUM_LOOKS: usize = 10;

/// Brings families into order.
pub struct ExactDuplicates {
    index: SharedSearchIndex,
    blobs: Blobs,
    clock: Clock,
    waiting: Mutex<Waiting>,
}

/// A document whose part changed, for its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settled {
    /// Generation in which that is so.
    pub generation: String,
    /// What became of it.
    pub state: DocumentState,
}

/// What arrived since families were last settled.
#[derive(Default)]
struct Waiting {
    /// By generation.
    touched: BTreeMap<String, Touched>,
    /// Settled, not yet handed over.
    settled: Vec<Settled>,
}

/// Documents that were written or deleted.
#[derive(Clone, Default)]
struct Touched {
    /// By document: the newest version that arrived, and its record unless it was deleted. An older
    /// one that arrives late changes nothing.
    documents: BTreeMap<String, (u64, Option<Body>)>,
    hashes: BTreeSet<String>,
}

impl Touched {
    fn note(&mut self, document_id: &str, version: u64, body: Option<Body>) {
        let newest = self
            .documents
            .get(document_id)
            .map_or(0, |(newest, _)| *newest);
        if version >= newest {
            self.documents
                .insert(document_id.to_owned(), (version, body));
        }
    }
}

/// The record of `chunks.embedded` from which a document was written.
#[derive(Clone)]
struct Body {
    content_hash: String,
    bytes: Bytes,
}

impl ExactDuplicates {
    /// Over the given index; records of duplicates are kept as blobs, since any of them may have to
    /// be written again.
    pub fn new(index: SharedSearchIndex, blobs: Blobs, clock: Clock) -> Self {
        Self {
            index,
            blobs,
            clock,
            waiting: Mutex::default(),
        }
    }

    /// Notes that a document was written to a generation, or an older version of it refused, and
    /// that this is visible; `record` is the value of its record.
    pub fn note_written(&self, generation: &str, document: &DocumentHeader, record: Bytes) {
        let mut waiting = self.waiting();
        let touched = waiting.touched.entry(generation.to_owned()).or_default();
        let content_hash = document.content_hash.clone();
        if !content_hash.is_empty() {
            touched.hashes.insert(content_hash.clone());
        }
        touched.note(
            &document.document_id,
            document.version,
            Some(Body {
                content_hash,
                bytes: record,
            }),
        );
    }

    /// Notes that a document was deleted from a generation as of this version, or a newer version
    /// of it stayed.
    pub fn note_deleted(&self, generation: &str, document_id: &str, version: u64) {
        self.waiting()
            .touched
            .entry(generation.to_owned())
            .or_default()
            .note(document_id, version, None);
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Brings the families of all that was noted since into order, durably, and says which
    /// documents changed their part. What was written must be visible. After an error everything
    /// is looked at again by the next call.
    pub async fn settle(&self) -> Result<Vec<Settled>> {
        let mut touched = std::mem::take(&mut self.waiting().touched);
        while let Some((generation, documents)) = touched.pop_first() {
            let settled = match self.settle_generation(&generation, &documents).await {
                Ok(settled) => settled,
                // Dropped meanwhile.
                Err(error) if is_gone(&error) => continue,
                Err(error) => {
                    touched.insert(generation, documents);
                    self.put_back(touched);
                    return Err(error);
                }
            };
            self.waiting().settled.extend(settled);
        }
        Ok(std::mem::take(&mut self.waiting().settled))
    }

    /// What came meanwhile is newer.
    fn put_back(&self, touched: BTreeMap<String, Touched>) {
        let mut waiting = self.waiting();
        for (generation, older) in touched {
            let newer = waiting.touched.entry(generation).or_default();
            newer.hashes.extend(older.hashes);
            for (document_id, (version, body)) in older.documents {
                if newer
                    .documents
                    .get(&document_id)
                    .is_none_or(|(newest, _)| *newest < version)
                {
                    newer.documents.insert(document_id, (version, body));
                }
            }
        }
    }

    async fn settle_generation(&self, generation: &str, touched: &Touched) -> Result<Vec<Settled>> {
        let mut settled: BTreeMap<String, DocumentState> = BTreeMap::new();
        let mut looked_at = touched.hashes.clone();
        for _ in 0..MAXIMUM_LOOKS {
            let mut changed = false;
            for family in self.families(generation, touched, &mut looked_at).await? {
                match self.order(generation, &family, touched).await {
                    Ok(states) => {
                        changed |= !states.is_empty();
                        settled.extend(self.reported_again(generation, &family, touched));
                        settled.extend(
                            states
                                .into_iter()
                                .map(|state| (state.document_id.clone(), state)),
                        );
                    }
                    Err(error) if error.is_held() => return Err(error),
                    Err(error) => {
                        let members: Vec<&str> = family
                            .iter()
                            .map(|member| member.document.document_id.as_str())
                            .collect();
                        tracing::error!(generation, ?members, error = %error.full_message(), "exact duplicates are left as they are");
                    }
                }
            }
            if !changed {
                break;
            }
            self.index.flush(generation).await?;
        }
        Ok(settled
            .into_values()
            .map(|state| Settled {
                generation: generation.to_owned(),
                state,
            })
            .collect())
    }

    /// Families that the touched documents are in or that still name them, and those of the hashes
    /// that were looked at before: a family that was put in order names the touched ones no
    /// more, and is looked at again all the same.
    async fn families(
        &self,
        generation: &str,
        touched: &Touched,
        looked_at: &mut BTreeSet<String>,
    ) -> Result<Vec<Family>> {
        let mut terms: Vec<String> = looked_at.iter().map(|hash| content_term(hash)).collect();
        terms.extend(
            touched
                .documents
                .keys()
                .flat_map(|document_id| [duplicate_term(document_id), canonical_term(document_id)]),
        );
        let mut found = self
            .index
            .documents_with(Some(generation), &terms, usize::MAX)
            .await?;
        let left: BTreeSet<String> = found
            .iter()
            .map(|found| found.document.content_hash.clone())
            .filter(|hash| !looked_at.contains(hash))
            .collect();
        if !left.is_empty() {
            let terms: Vec<String> = left.iter().map(|hash| content_term(hash)).collect();
            looked_at.extend(left);
            found.extend(
                self.index
                    .documents_with(Some(generation), &terms, usize::MAX)
                    .await?,
            );
        }
        in_families(found)
    }

    /// Writes what is wrong with a family; the states of the members whose part changed. Empty if
    /// all was right.
    async fn order(
        &self,
        generation: &str,
        family: &Family,
        touched: &Touched,
    ) -> Result<Vec<DocumentState>> {
        let Disorder { whole, empty } = disorder(family);
        if whole.is_empty() && empty.is_empty() {
            return Ok(Vec::new());
        }
        let Some((url, body)) = self.body(family, touched).await? else {
            tracing::debug!(
                generation,
                "exact duplicates stay stored twice: none of their records is at hand"
            );
            return Ok(Vec::new());
        };
        let mut states = Vec::new();
        for document in whole {
            let (operation, state) = self.whole(generation, &body, &url, document)?;
            if !rewriting::write(self.index.as_ref(), generation, operation).await? {
                // A newer version came: duplicates of the one before must not lose what stands for
                // them.
                return Ok(states);
            }
            states.push(state);
        }
        for document in empty {
            let document = DocumentHeader {
                body: Some(url.clone()),
                ..document
            };
            let state = self.duplicate(generation, &document);
            let empty = Operation::Replace {
                document: Box::new(document),
                chunks: Vec::new(),
                vectors: Vec::new(),
            };
            if rewriting::write(self.index.as_ref(), generation, empty).await? {
                states.push(state);
            }
        }
        Ok(states)
    }

    fn whole(
        &self,
        generation: &str,
        body: &EmbeddedDocument,
        url: &str,
        document: DocumentHeader,
    ) -> Result<(Operation, DocumentState)> {
        let lineage = Lineage {
            converter: document.lineage.converter.clone(),
            source_profile: document.lineage.source_profile.clone(),
            ..body.document.lineage.clone()
        };
        let document = DocumentHeader {
            lineage,
            body: Some(url.to_owned()),
            ..document
        };
        let chunks = chunks_of(body, &document.document_id)?;
        let state = self.report(generation, &document, chunks.len());
        Ok((
            Operation::Replace {
                document: Box::new(document),
                chunks,
                vectors: body.vectors.clone(),
            },
            state,
        ))
    }

    /// Reports once more those that arrived and were stored once already, as another batch or
    /// process left them: otherwise the stage's report would be the last one.
    fn reported_again(
        &self,
        generation: &str,
        family: &Family,
        touched: &Touched,
    ) -> Vec<(String, DocumentState)> {
        let duplicates = family
            .iter()
            .filter(|member| member.document.duplicate_of.is_some() && member.chunk_ids.is_empty());
        let duplicates = duplicates
            .map(|member| &member.document)
            .filter(|document| touched.documents.contains_key(&document.document_id));
        duplicates
            .map(|document| {
                let state = self.duplicate(generation, document);
                (document.document_id.clone(), state)
            })
            .collect()
    }

    /// What is said of a duplicate.
    fn duplicate(&self, generation: &str, document: &DocumentHeader) -> DocumentState {
        let canonical = document.duplicate_of.as_deref().unwrap_or_default();
        DocumentState {
            reason: Some(format!("{}{canonical}", DocumentState::STORED_ONCE)),
            ..self.report(generation, document, 0)
        }
    }

    fn report(&self, generation: &str, document: &DocumentHeader, chunks: usize) -> DocumentState {
        manifest::indexed(document, generation, chunks, (self.clock)())
    }

    /// The record from which members of the family are written, and where it is kept: the first
    /// member's in canonical order, and one that just came before one that is kept.
    async fn body(
        &self,
        family: &Family,
        touched: &Touched,
    ) -> Result<Option<(String, EmbeddedDocument)>> {
        let mut damage = None;
        for member in family.iter().map(|member| &member.document) {
            if let Some((_, Some(body))) = touched.documents.get(&member.document_id)
                && body.content_hash == member.content_hash
                && let Some(document) = rewriting::read(body.bytes.clone()).await?
            {
                return Ok(Some((self.blobs.put(body.bytes.clone()).await?, document)));
            }
            let Some(url) = &member.body else { continue };
            match self.kept(url).await {
                Ok(Some(document)) => return Ok(Some((url.clone(), document))),
                Ok(None) => {}
                Err(error) if error.is_held() => return Err(error),
                // The record of another member says the same.
                Err(error) => damage = damage.or(Some(error)),
            }
        }
        damage.map_or(Ok(None), Err)
    }

    async fn kept(&self, url: &str) -> Result<Option<EmbeddedDocument>> {
        rewriting::read(self.blobs.get(url).await?).await
    }
}
