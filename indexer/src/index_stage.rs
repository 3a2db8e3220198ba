//! Writes every document version to the index, once or many times with the same result, and reports what became of it.

use async_trait::async_trait;
use tributary_schemas::{DocumentHeader, DocumentState, EmbeddedDocument, Error, ErrorKind, Result, StageTime, State};
use tributary_store::event_log::stage::{Output, Stage};
use tributary_store::event_log::{StoredRecord, message};
use tributary_store::search_index::{Operation, Outcome, SharedSearchIndex};
use tributary_store::{Clock, manifest};

/// The stage `index`.
pub struct IndexStage {
    index: SharedSearchIndex,
    generation: String,
    clock: Clock,
}

impl IndexStage {
    /// Writes to the given generation, which exists.
    pub fn new(index: SharedSearchIndex, generation: String, clock: Clock) -> Self {
        Self { index, generation, clock }
    }

    async fn write(&self, operation: Operation) -> Result<Outcome> {
        let outcomes = self.index.write(&self.generation, vec![operation]).await?;
        match outcomes.into_iter().next() {
            Some(Outcome::Failed(error)) => Err(error),
            Some(outcome) => Ok(outcome),
            None => Err(Error::new(ErrorKind::Internal, "the index gave no outcome for an operation")),
        }
    }

    async fn replace(&self, embedded: EmbeddedDocument) -> Result<DocumentState> {
        let now_ms = (self.clock)();
        let mut document = embedded.document;
        document.timeline.push(StageTime { stage: self.name().to_owned(), at_ms: now_ms });
        let chunks = u32::try_from(embedded.chunks.len()).unwrap_or(u32::MAX);
        let written = Operation::Replace { document: Box::new(document.clone()), chunks: embedded.chunks, vectors: embedded.vectors };
        Ok(match self.write(written).await? {
            Outcome::Older { stored } => superseded(&document, stored, now_ms),
            Outcome::Applied | Outcome::Failed(_) => {
                DocumentState { chunks, lineage: Some(document.lineage.clone()), ..manifest::report(&document, State::Indexed, now_ms) }
            }
        })
    }

    async fn delete(&self, document_id: &str, version: u64) -> Result<DocumentState> {
        let now_ms = (self.clock)();
        let stored = self.index.documents(Some(&self.generation), &[document_id.to_owned()]).await?.pop().flatten();
        let was_stored = stored.as_ref().is_some_and(|stored| !stored.deleted);
        let known = stored.map(|stored| stored.document).unwrap_or_default();
        let document = DocumentHeader { document_id: document_id.to_owned(), version, ..known };
        let deleted = Operation::Delete { document_id: document_id.to_owned(), version };
        Ok(match self.write(deleted).await? {
            Outcome::Older { stored } => superseded(&document, stored, now_ms),
            Outcome::Applied | Outcome::Failed(_) => DocumentState {
                reason: (!was_stored).then(|| "nothing was stored".to_owned()),
                ..manifest::report(&document, State::Deleted, now_ms)
            },
        })
    }
}

fn superseded(document: &DocumentHeader, stored: u64, now_ms: i64) -> DocumentState {
    DocumentState { reason: Some(format!("superseded by version {stored}")), ..manifest::report(document, State::Skipped, now_ms) }
}

#[async_trait]
impl Stage for IndexStage {
    fn name(&self) -> &'static str {
        "index"
    }

    async fn process(&self, input: &StoredRecord) -> Result<Vec<Output>> {
        let document_id = message::document_id(&input.record)?;
        let state = match message::decode::<EmbeddedDocument>(&input.record)? {
            Some(embedded) => self.replace(embedded).await?,
            None => self.delete(document_id, message::version(&input.record)).await?,
        };
        Ok(vec![manifest::output(&state)?])
    }

    async fn flush(&self) -> Result<()> {
        self.index.flush(&self.generation, None).await
    }

    fn abandoned(&self, input: &StoredRecord, error: &Error) -> Vec<Output> {
        manifest::abandoned(input, error, (self.clock)())
    }
}
