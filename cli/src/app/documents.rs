//! The document side of the HTTP server, on top of the store.

use std::sync::Arc;

use async_trait::async_trait;
use tributary_query_api::documents::{
    Accepted, DeadLetterDetail, DeadLetterPage, DeadLetters as DeadLetterSeam, DocumentConditions, DocumentPage, Documents as DocumentSeam,
};
use tributary_schemas::{DocumentEvent, DocumentState, ErrorKind, Reconciliation, Result, State};
use tributary_store::manifest::dead_letters::DeadLetters;
use tributary_store::manifest::documents::{self, Documents};
use tributary_store::manifest::table::{DocumentRow, ListFilter};

const PREVIEW_CHARACTERS: usize = 4000;

/// Documents for HTTP.
pub struct DocumentSide {
    documents: Arc<Documents>,
}

impl DocumentSide {
    /// On top of the given ones.
    pub fn new(documents: Arc<Documents>) -> Self {
        Self { documents }
    }
}

fn accepted(accepted: documents::Accepted) -> Accepted {
    Accepted { document_id: accepted.document_id, version: accepted.version, state: State::Accepted }
}

/// The newest report, with the chunks that are searchable now, whichever version they are of.
fn shown(row: DocumentRow) -> DocumentState {
    let chunks = row.indexed.map_or(0, |indexed| indexed.chunks);
    DocumentState { chunks, ..row.latest }
}

#[async_trait]
impl DocumentSeam for DocumentSide {
    async fn publish(&self, event: DocumentEvent) -> Result<Accepted> {
        self.documents.publish(event).await.map(accepted)
    }

    async fn delete(&self, document_id: &str) -> Result<Accepted> {
        self.documents.delete(document_id, None).await.map(accepted)
    }

    async fn get(&self, document_id: &str) -> Result<Option<DocumentState>> {
        Ok(self.documents.get(document_id).await?.map(shown))
    }

    async fn get_many(&self, document_ids: &[String]) -> Result<Vec<Option<DocumentState>>> {
        Ok(self.documents.get_many(document_ids).into_iter().map(|row| row.map(shown)).collect())
    }

    async fn list(&self, conditions: &DocumentConditions, after: Option<&str>, limit: usize) -> Result<DocumentPage> {
        let filter = ListFilter { state: conditions.state, source: conditions.source.clone() };
        let mut rows = self.documents.list(&filter, after, limit.saturating_add(1)).await?;
        let more = rows.len() > limit;
        rows.truncate(limit);
        let next = rows.last().filter(|_| more).map(|row| row.latest.document_id.clone());
        Ok(DocumentPage { documents: rows.into_iter().map(shown).collect(), next })
    }

    async fn reconcile(&self) -> Result<Reconciliation> {
        self.documents.reconcile().await
    }
}

/// Dead letters for HTTP.
pub struct DeadLetterSide {
    letters: Arc<DeadLetters>,
}

impl DeadLetterSide {
    /// On top of the given ones.
    pub fn new(letters: Arc<DeadLetters>) -> Self {
        Self { letters }
    }
}

#[async_trait]
impl DeadLetterSeam for DeadLetterSide {
    async fn list(&self, after: Option<&str>, limit: usize) -> Result<DeadLetterPage> {
        let letters = self.letters.list().await?;
        let start = after.and_then(|after| letters.iter().position(|letter| letter.id == after)).map_or(0, |index| index + 1);
        let page: Vec<_> = letters.iter().skip(start).take(limit).cloned().collect();
        let more = start + page.len() < letters.len();
        let next = page.last().filter(|_| more).map(|letter| letter.id.clone());
        Ok(DeadLetterPage { dead_letters: page, next })
    }

    async fn show(&self, id: &str) -> Result<Option<DeadLetterDetail>> {
        match self.letters.show(id).await {
            Ok((dead_letter, value)) => {
                let preview = value.map(|value| String::from_utf8_lossy(&value).chars().take(PREVIEW_CHARACTERS).collect());
                Ok(Some(DeadLetterDetail { dead_letter, preview }))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn replay(&self, id: &str) -> Result<()> {
        self.letters.replay(id).await.map(drop)
    }

    async fn forget(&self, id: &str) -> Result<()> {
        self.letters.drop_letter(id).await.map(drop)
    }
}
