//! The document side of the HTTP server, on top of the store.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use tributary_query_api::documents::{
    Accepted, DeadLetterDetail, DeadLetterPage, DeadLetters as DeadLetterSeam, DocumentConditions,
    DocumentPage, Documents as DocumentSeam,
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

    /// The newest reports, with the chunks that questions find now; as last reported while the
    /// index does not answer.
    async fn searchable(&self, rows: Vec<DocumentRow>) -> Vec<DocumentState> {
        let indexed = |row: &&DocumentRow| row.indexed.is_some();
        let document_ids: Vec<String> = rows
            .iter()
            .filter(indexed)
            .map(|row| row.latest.document_id.clone())
            .collect();
        let counts = self
            .documents
            .searchable_chunks(&document_ids)
            .await
            .inspect_err(|error| tracing::warn!(%error, "chunks as reported"));
        let counts: HashMap<String, usize> = document_ids
            .into_iter()
            .zip(counts.unwrap_or_default())
            .collect();
        let state = |row: DocumentRow| {
            let counted = counts
                .get(&row.latest.document_id)
                .map(|chunks| u32::try_from(*chunks).unwrap_or(u32::MAX));
            let reported = shown(row);
            DocumentState {
                chunks: counted.unwrap_or(reported.chunks),
                ..reported
            }
        };
        rows.into_iter().map(state).collect()
    }
}

fn accepted(accepted: documents::Accepted) -> Accepted {
    Accepted {
        document_id: accepted.document_id,
        version: accepted.version,
        state: State::Accepted,
    }
}

/// The newest report, with the chunks that were last reported searchable, whichever version they
/// are of.
fn shown(row: DocumentRow) -> DocumentState {
    let chunks = row.indexed.map_or(0, |indexed| indexed.chunks);
    DocumentState {
        chunks,
        ..row.latest
    }
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
        let row = self.documents.get(document_id).await?;
        Ok(self.searchable(row.into_iter().collect()).await.pop())
    }

    async fn get_many(&self, document_ids: &[String]) -> Result<Vec<Option<DocumentState>>> {
        Ok(self
            .documents
            .get_many(document_ids)
            .into_iter()
            .map(|row| row.map(shown))
            .collect())
    }

    async fn list(
        &self,
        conditions: &DocumentConditions,
        after: Option<&str>,
        limit: usize,
    ) -> Result<DocumentPage> {
        let filter = ListFilter {
            state: conditions.state,
            source: conditions.source.clone(),
        };
        let mut rows = self
            .documents
            .list(&filter, after, limit.saturating_add(1))
            .await?;
        let more = rows.len() > limit;
        rows.truncate(limit);
        let next = rows
            .last()
            .filter(|_| more)
            .map(|row| row.latest.document_id.clone());
        Ok(DocumentPage {
            documents: self.searchable(rows).await,
            next,
        })
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
        let page = self.letters.page(after, limit).await?;
        Ok(DeadLetterPage {
            dead_letters: page.letters,
            next: page.next,
        })
    }

    async fn show(&self, id: &str) -> Result<Option<DeadLetterDetail>> {
        match self.letters.show(id).await {
            Ok((dead_letter, value)) => {
                let preview = value.map(|value| {
                    String::from_utf8_lossy(&value)
                        .chars()
                        .take(PREVIEW_CHARACTERS)
                        .collect()
                });
                Ok(Some(DeadLetterDetail {
                    dead_letter,
                    preview,
                }))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn replay(&self, id: &str) -> Result<()> {
        self.letters.replay(id).await.map(drop)
    }

    async fn forget(&self, id: &str) -> Result<()> {
        self.letters.drop_letter(id).await
    }

    async fn forget_all(&self) -> Result<u64> {
        self.letters.drop_all().await
    }
}
