//! Documents that have tables, as far as a caller may see them: found by the search, or looked
//! through in the order of their ids. The header that the index has now decides, every time.

use std::collections::HashMap;

use tributary_schemas::document::TABLES_DATABASE;
use tributary_schemas::search::{Hit, SearchRequest};
use tributary_schemas::{DocumentHeader, Filter, Result};
use tributary_store::search_index::IndexedDocument;

use crate::access::Principal;
use crate::error::SearchError;
use crate::retriever::Retriever;

/// Documents that are read at once.
const PAGE: usize = 200;

/// A document that has tables.
#[derive(Clone, Debug)]
pub struct TableDocument {
    pub header: DocumentHeader,
    /// Where its database is kept.
    pub blob: String,
    /// What the search found of it, best first.
    pub hit: Option<Hit>,
}

impl TableDocument {
    /// How near the search found it by meaning, or by words where it has no vectors; 0 to 1.
    pub fn nearness(&self) -> f64 {
        let Some(hit) = &self.hit else {
            return 0.0;
        };
        let by_meaning = hit.scores.get("vector");
        f64::from(*by_meaning.unwrap_or(&hit.score)).clamp(0.0, 1.0)
    }
}

/// Some of them.
#[derive(Debug, Default)]
pub struct TableDocuments {
    pub documents: Vec<TableDocument>,
    /// What the search did in a lesser way.
    pub degraded: Vec<String>,
    /// The last document that was looked at, where there are more.
    pub next: Option<String>,
}

/// What is looked for.
#[derive(Clone, Copy)]
pub struct TableSearch<'a> {
    pub question: &'a str,
    pub wishes: &'a Filter,
    pub principal: &'a Principal,
    /// Documents wanted at most.
    pub limit: usize,
    /// Documents looked through at most where the search finds fewer.
    pub looked_through: usize,
}

impl Retriever {
    /// Documents with tables for a question: those that the search finds, best first, then others
    /// that the filter allows.
    pub(crate) async fn table_documents(
        &self,
        search: TableSearch<'_>,
    ) -> std::result::Result<TableDocuments, SearchError> {
        let filter = self.filter(search.wishes, search.principal)?;
        let mut found = self.searched_tables(search, &filter).await?;
        // Kinds are of chunks: only the search knows whether a document has some of them.
        if found.documents.len() < search.limit && search.wishes.kinds.is_none() {
            let mut others = self
                .list_tables(&filter, None, search.limit, search.looked_through)
                .await?;
            others.documents.retain(|other| {
                let is_same = |one: &TableDocument| one.blob == other.blob;
                !found.documents.iter().any(is_same)
            });
            found.documents.extend(others.documents);
            found.documents.truncate(search.limit);
        }
        Ok(found)
    }

    async fn searched_tables(
        &self,
        search: TableSearch<'_>,
        filter: &Filter,
    ) -> std::result::Result<TableDocuments, SearchError> {
        let query = within(search.question, self.limits().query_limit_bytes);
        if query.trim().is_empty() {
            return Ok(TableDocuments::default());
        }
        let request = SearchRequest {
            query: query.to_owned(),
            filter: search.wishes.clone(),
            top_k: Some(self.limits().maximum_top_k),
            rerank: Some(false),
            unfold: true,
            ..SearchRequest::default()
        };
        let response = self.search(&request, search.principal).await?.response;
        let mut ids: Vec<String> = Vec::new();
        let mut hits: HashMap<String, Hit> = HashMap::new();
        for hit in response.hits {
            if !hits.contains_key(&hit.document_id) {
                ids.push(hit.document_id.clone());
                hits.insert(hit.document_id.clone(), hit);
            }
        }
        let stored = self.stored_documents(&ids).await?;
        let mut documents: Vec<TableDocument> = Vec::new();
        for document in stored.into_iter().filter_map(|one| of(one, filter)) {
            let hit = hits.remove(&document.header.document_id);
            if !documents.iter().any(|one| one.blob == document.blob) {
                documents.push(TableDocument { hit, ..document });
            }
        }
        documents.truncate(search.limit);
        Ok(TableDocuments {
            documents,
            degraded: response.degraded,
            next: None,
        })
    }

    async fn stored_documents(&self, ids: &[String]) -> Result<Vec<IndexedDocument>> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let stored = match self.index.documents(None, ids).await {
            Err(error) if error.kind() == tributary_schemas::ErrorKind::NotFound => Vec::new(),
            found => found?,
        };
        Ok(stored.into_iter().flatten().collect())
    }

    /// Documents with tables after this id, by id, among the next `looked_through` documents. Of
    /// those that somebody may not see none counts or is named as the place to go on from.
    pub(crate) async fn list_tables(
        &self,
        filter: &Filter,
        after: Option<&str>,
        limit: usize,
        looked_through: usize,
    ) -> Result<TableDocuments> {
        let mut found = TableDocuments::default();
        let mut last = after.map(str::to_owned);
        let mut last_seen = last.clone();
        let mut left = looked_through;
        while left > 0 {
            let wanted = left.min(PAGE);
            let page = self
                .index
                .list_documents(None, last.as_deref(), wanted)
                .await;
            let page = match page {
                Err(error) if error.kind() == tributary_schemas::ErrorKind::NotFound => Vec::new(),
                page => page?,
            };
            let is_last = page.len() < wanted;
            for stored in page {
                if found.documents.len() == limit {
                    found.next = last_seen;
                    return Ok(found);
                }
                last = Some(stored.document.document_id.clone());
                if filter.viewer.is_none() || filter.allows_whole(&stored.document) {
                    left -= 1;
                    last_seen = last.clone();
                    found.documents.extend(of(stored, filter));
                }
            }
            if is_last {
                return Ok(found);
            }
        }
        found.next = last_seen;
        Ok(found)
    }
}

/// A document that is there, all of whose sections the filter allows, that no newer edition
/// replaces, and that has tables.
fn of(stored: IndexedDocument, filter: &Filter) -> Option<TableDocument> {
    let header = stored.document;
    let is_seen = filter.is_unrestricted() || filter.allows_whole(&header);
    let is_there = !stored.deleted && is_seen && header.superseded_by.is_none();
    let blob = header.metadata.get(TABLES_DATABASE).filter(|_| is_there)?;
    Some(TableDocument {
        blob: blob.clone(),
        header,
        hit: None,
    })
}

/// The beginning of a text, in whole characters.
fn within(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len())).rev();
    let end = end.into_iter().find(|end| text.is_char_boundary(*end));
    text.get(..end.unwrap_or(0)).unwrap_or("")
}
