//! A search index in memory: plain loops over all chunks. For tests of what stands above an index,
//! and for the example page.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use tributary_schemas::filter::{chunk_terms, indexed_terms};
use tributary_schemas::search::ScoredChunk;
use tributary_schemas::{
    Chunk, ChunkId, ChunkVectors, DocumentHeader, Error, ErrorKind, Filter, Result, Viewer,
    window_vectors,
};
use tributary_store::search_index::{
    GenerationStatus, IndexSettings, IndexedDocument, KeywordQuery, Operation, Outcome,
    SearchIndex, StoredChunk, VectorField, VectorQuery, WindowQuery,
};

/// One document with its chunks and vectors.
type Entry = (Arc<DocumentHeader>, Vec<(Chunk, ChunkVectors)>);

#[derive(Default)]
pub struct MemoryIndex {
    documents: Mutex<BTreeMap<String, Entry>>,
    /// Written before the next fetch, before the one after it, and so on.
    changes: Mutex<VecDeque<Vec<Operation>>>,
    /// Searches that are limited to one of these sources fail.
    broken_sources: Mutex<Vec<String>>,
    /// The generation is gone at the next fetch, upon which this is done.
    removed: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl MemoryIndex {
    /// Documents that change just before chunks are read: the first ones before the next reading,
    /// and so on.
    pub fn change_before_fetch(&self, changes: Vec<Vec<Operation>>) {
        *self.changes.lock().unwrap_or_else(PoisonError::into_inner) = changes.into();
    }

    /// The next fetch finds its generation removed.
    pub fn remove_before_fetch(&self, and_then: impl FnOnce() + Send + 'static) {
        *self.removed.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(and_then));
    }

    /// Searches that are limited to a source fail from now on.
    pub fn break_source(&self, source: &str) {
        let mut broken = self
            .broken_sources
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        broken.push(source.to_owned());
    }

    fn check_sources(&self, filter: &Filter) -> Result<()> {
        let broken = self
            .broken_sources
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let filters = std::iter::once(filter).chain(&filter.within);
        let mut sources = filters.flat_map(|filter| filter.sources.iter().flatten());
        match sources.find(|source| broken.contains(source)) {
            Some(source) => {
                let what = format!("the source {source} cannot be searched");
                Err(Error::new(ErrorKind::Unavailable, what))
            }
            None => Ok(()),
        }
    }

    /// Applies operations at once.
    pub fn apply(&self, operations: Vec<Operation>) {
        let mut documents = self
            .documents
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        for operation in operations {
            match operation {
                Operation::Replace {
                    document,
                    chunks,
                    vectors,
                } => {
                    let entry = (
                        Arc::new(*document),
                        chunks.into_iter().zip(vectors).collect(),
                    );
                    documents.insert(entry.0.document_id.clone(), entry);
                }
                Operation::Delete { document_id, .. } => {
                    documents.remove(&document_id);
                }
            }
        }
    }

    /// Puts a picture into the first chunk of a document.
    pub fn show_image(&self, document_id: &str, image: &str) {
        let mut documents = self
            .documents
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some((_, chunks)) = documents.get_mut(document_id)
            && let Some((chunk, _)) = chunks.first_mut()
        {
            chunk.images = vec![image.to_owned()];
        }
    }

    fn entries(&self) -> Vec<Entry> {
        self.documents
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .values()
            .cloned()
            .collect()
    }

    /// Every chunk that the query may see.
    fn visible(
        &self,
        filter: &Filter,
        candidates: Option<&[ChunkId]>,
    ) -> Vec<(Chunk, ChunkVectors)> {
        let sees = |document: &DocumentHeader, chunk: &Chunk| {
            let mut terms = indexed_terms(document);
            terms.extend(chunk_terms(chunk));
            let is_seen = |viewer: &Viewer| viewer.sees_document(document);
            let right = filter.viewer.as_ref().is_none_or(is_seen);
            let right = right && filter.allows_level(chunk.security_level);
            let level = filter.max_security_level.is_none_or(|maximum| {
                chunk
                    .level_in(document)
                    .is_some_and(|level| level <= maximum)
            });
            right
                && level
                && filter
                    .term_conditions()
                    .iter()
                    .all(|any| any.iter().any(|term| terms.contains(term)))
        };
        let is_seen = |document: &DocumentHeader, chunk: &Chunk| match candidates {
            Some(candidates) => candidates.contains(&chunk.chunk_id),
            None => sees(document, chunk),
        };
        let mut seen = Vec::new();
        for (document, chunks) in self.entries() {
            let chunks = chunks.into_iter();
            seen.extend(chunks.filter(|(chunk, _)| is_seen(&document, chunk)));
        }
        seen
    }
}

fn best(mut scored: Vec<ScoredChunk>, limit: usize) -> Vec<ScoredChunk> {
    scored.sort_by(|left, right| {
        right
            .score
            .total_cmp(&left.score)
            .then(left.chunk_id.cmp(&right.chunk_id))
    });
    scored.truncate(limit);
    scored
}

#[async_trait]
impl SearchIndex for MemoryIndex {
    async fn create(&self, _: &str, _: &IndexSettings) -> Result<()> {
        Ok(())
    }

    async fn promote(&self, _: &str) -> Result<()> {
        Ok(())
    }

    async fn drop_generation(&self, _: &str) -> Result<()> {
        Ok(())
    }

    async fn write(&self, _: &str, operations: Vec<Operation>) -> Result<Vec<Outcome>> {
        let count = operations.len();
        self.apply(operations);
        Ok(vec![Outcome::Applied; count])
    }

    async fn flush(&self, _: &str) -> Result<()> {
        Ok(())
    }

    /// Tokens of the query in the chunk, rare ones more: enough to tell chunks apart.
    async fn keyword(&self, query: KeywordQuery<'_>) -> Result<Vec<ScoredChunk>> {
        self.check_sources(query.filter)?;
        let mut frequency: HashMap<String, f32> = HashMap::new();
        for (chunk, _) in self.entries().into_iter().flat_map(|(_, chunks)| chunks) {
            for token in chunk.analyzed.split(' ') {
                *frequency.entry(token.to_owned()).or_default() += 1.0;
            }
        }
        let score = |chunk: &Chunk| {
            let in_chunk = |token: &&String| {
                chunk
                    .analyzed
                    .split(' ')
                    .any(|other| other == token.as_str())
            };
            query
                .tokens
                .iter()
                .filter(in_chunk)
                .map(|token| 1.0 / frequency.get(token).copied().unwrap_or(1.0))
                .sum::<f32>()
        };
        let visible = self.visible(query.filter, query.candidates);
        let scored = visible.iter().map(|(chunk, _)| ScoredChunk {
            chunk_id: chunk.chunk_id,
            score: score(chunk),
        });
        Ok(best(
            scored.filter(|chunk| chunk.score > 0.0).collect(),
            query.limit,
        ))
    }

    async fn vector(&self, query: VectorQuery<'_>) -> Result<Vec<ScoredChunk>> {
        self.check_sources(query.filter)?;
        let score = |vectors: &ChunkVectors| {
            let stored = if query.field == VectorField::Fine && !vectors.fine.is_empty() {
                &vectors.fine
            } else {
                &vectors.coarse
            };
            stored
                .iter()
                .zip(query.vector)
                .map(|(left, right)| left * right)
                .sum::<f32>()
        };
        let visible = self.visible(query.filter, query.candidates);
        let scored = visible.iter().map(|(chunk, vectors)| ScoredChunk {
            chunk_id: chunk.chunk_id,
            score: score(vectors),
        });
        Ok(best(scored.collect(), query.limit))
    }

    async fn nearest_windows(&self, query: WindowQuery<'_>) -> Result<Vec<ScoredChunk>> {
        let visible = self.visible(&Filter::default(), Some(query.candidates));
        let nearest = |(chunk, vectors): &(Chunk, ChunkVectors)| {
            let score = window_vectors::nearest(vectors.windows.as_bytes(), query.vector)?;
            Some(ScoredChunk {
                chunk_id: chunk.chunk_id,
                score,
            })
        };
        Ok(visible.iter().filter_map(nearest).collect())
    }

    async fn fetch(&self, _: Option<&str>, chunks: &[ChunkId]) -> Result<Vec<Option<StoredChunk>>> {
        let removed = self
            .removed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(and_then) = removed {
            and_then();
            return Err(Error::new(ErrorKind::NotFound, "there is no generation"));
        }
        let changes = self
            .changes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop_front();
        self.apply(changes.unwrap_or_default());
        let mut stored = HashMap::new();
        for (document, chunks) in self.entries() {
            for (chunk, _) in chunks {
                stored.insert(
                    chunk.chunk_id,
                    StoredChunk {
                        chunk,
                        document: Arc::clone(&document),
                    },
                );
            }
        }
        Ok(chunks
            .iter()
            .map(|chunk_id| stored.get(chunk_id).cloned())
            .collect())
    }

    async fn vectors(
        &self,
        _: Option<&str>,
        chunks: &[ChunkId],
    ) -> Result<Vec<Option<ChunkVectors>>> {
        let stored: HashMap<ChunkId, ChunkVectors> = self
            .entries()
            .into_iter()
            .flat_map(|(_, chunks)| chunks)
            .map(|(chunk, vectors)| (chunk.chunk_id, vectors))
            .collect();
        Ok(chunks
            .iter()
            .map(|chunk_id| stored.get(chunk_id).cloned())
            .collect())
    }

    async fn documents(
        &self,
        _: Option<&str>,
        ids: &[String],
    ) -> Result<Vec<Option<IndexedDocument>>> {
        let documents = self
            .documents
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        Ok(ids
            .iter()
            .map(|id| documents.get(id).map(indexed))
            .collect())
    }

    async fn list_documents(
        &self,
        _: Option<&str>,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<IndexedDocument>> {
        let entries = self.entries();
        let later = entries.iter().filter(|(document, _)| {
            after.is_none_or(|after| document.document_id.as_str() > after)
        });
        Ok(later.take(limit).map(indexed).collect())
    }

    async fn documents_with(
        &self,
        _: Option<&str>,
        terms: &[String],
        limit: usize,
    ) -> Result<Vec<IndexedDocument>> {
        let entries = self.entries();
        let carries = |entry: &&Entry| {
            entry
                .0
                .manifest_terms()
                .iter()
                .any(|term| terms.contains(term))
        };
        Ok(entries
            .iter()
            .filter(carries)
            .take(limit)
            .map(indexed)
            .collect())
    }

    async fn list_chunks(&self, _: Option<&str>) -> Result<Vec<(ChunkId, String)>> {
        let of = |(document, chunks): Entry| {
            chunks
                .into_iter()
                .map(move |(chunk, _)| (chunk.chunk_id, document.document_id.clone()))
        };
        Ok(self.entries().into_iter().flat_map(of).collect())
    }

    async fn status(&self) -> Result<Vec<GenerationStatus>> {
        Ok(Vec::new())
    }
}

fn indexed((document, chunks): &Entry) -> IndexedDocument {
    let chunk_ids = chunks.iter().map(|(chunk, _)| chunk.chunk_id).collect();
    IndexedDocument {
        document: document.as_ref().clone(),
        chunk_ids,
        deleted: false,
    }
}
