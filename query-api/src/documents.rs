//! What the HTTP interface needs of the document side: publishing, states and dead letters. The
//! store implements these traits over the event log and the index; tests implement them in memory.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tributary_schemas::dead_letter::DeadLetter;
use tributary_schemas::state::Reconciliation;
use tributary_schemas::{DocumentEvent, DocumentState, Result, State};

/// Answer to a publication or a deletion: the record is durable, the rest happens by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Accepted {
    /// The given id, or the one derived from source and source path.
    pub document_id: String,
    /// The given version, or the time of receipt in milliseconds.
    pub version: u64,
    /// State of this version now.
    pub state: State,
}

/// Which documents a list shows; `None` sets no condition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocumentConditions {
    /// Only those in this state.
    pub state: Option<State>,
    /// Only those of this source.
    pub source: Option<String>,
}

/// One page of documents; what `tributary documents list --format json` prints.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DocumentPage {
    /// The newest report about each, by document id.
    pub documents: Vec<DocumentState>,
    /// Give this as `after` for the next page; `null` at the end.
    pub next: Option<String>,
}

/// How many dead letters were dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DroppedDeadLetters {
    /// Letters.
    pub dropped: u64,
}

/// One page of dead letters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeadLetterPage {
    /// Newest first.
    pub dead_letters: Vec<DeadLetter>,
    /// Give this as `after` for the next page; `null` at the end.
    pub next: Option<String>,
}

/// A dead letter with the beginning of the record's value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeadLetterDetail {
    /// The dead letter.
    pub dead_letter: DeadLetter,
    /// The first characters of the record's value, invalid UTF-8 replaced; `null` for a null
    /// value.
    pub preview: Option<String>,
}

/// Documents on their way and in the index.
#[async_trait]
pub trait Documents: Send + Sync {
    /// Makes the event durable and returns; it becomes searchable later. `Invalid` for an event
    /// that breaks the schema's rules.
    async fn publish(&self, event: DocumentEvent) -> Result<Accepted>;

    /// Makes a deletion durable and returns. `NotFound` for a document that was never accepted.
    async fn delete(&self, document_id: &str) -> Result<Accepted>;

    /// The newest report about the document, with its chunk count; `None` if it was never accepted.
    async fn get(&self, document_id: &str) -> Result<Option<DocumentState>>;

    /// The newest reports about several documents, in the order of the ids.
    async fn get_many(&self, document_ids: &[String]) -> Result<Vec<Option<DocumentState>>> {
        let mut reports = Vec::with_capacity(document_ids.len());
        for document_id in document_ids {
            reports.push(self.get(document_id).await?);
        }
        Ok(reports)
    }

    /// Documents by id, those after `after`, at most `limit`.
    async fn list(
        &self,
        conditions: &DocumentConditions,
        after: Option<&str>,
        limit: usize,
    ) -> Result<DocumentPage>;

    /// Compares what was accepted with what is in the index.
    async fn reconcile(&self) -> Result<Reconciliation>;
}

/// Records that were given up.
#[async_trait]
pub trait DeadLetters: Send + Sync {
    /// Dead letters that wait for a decision, newest first, those after the place `after`, at most
    /// `limit`. `Invalid` for a strange place.
    async fn list(&self, after: Option<&str>, limit: usize) -> Result<DeadLetterPage>;

    /// One of them; `None` if it does not exist (any more).
    async fn show(&self, id: &str) -> Result<Option<DeadLetterDetail>>;

    /// Sends the record through the pipeline again. `NotFound` for an unknown id.
    async fn replay(&self, id: &str) -> Result<()>;

    /// Forgets it. `NotFound` for an unknown id.
    async fn forget(&self, id: &str) -> Result<()>;

    /// Forgets all that are there now; says how many.
    async fn forget_all(&self) -> Result<u64>;
}
