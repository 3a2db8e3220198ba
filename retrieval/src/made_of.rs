//! What a text of before was made of, and whether all of it may still be seen: kept answers,
//! conversations and reports.

use std::collections::{BTreeMap, BTreeSet};

use tributary_schemas::{ChunkId, Filter, Result};
use tributary_store::search_index::{IndexedDocument, SearchIndex};

use crate::leaving;

/// Documents, each with what of it was used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MadeOf {
    documents: BTreeMap<String, Used>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Used {
    chunks: BTreeSet<ChunkId>,
    /// Something that is not divided by sections, or nobody knows what.
    is_whole: bool,
}

impl MadeOf {
    /// A document that is named, and of which nothing is shown.
    pub fn add_name(&mut self, document: &str) {
        self.documents.entry(document.to_owned()).or_default();
    }

    /// A chunk of a document.
    pub fn add_chunk(&mut self, document: &str, chunk: ChunkId) {
        let used = self.documents.entry(document.to_owned()).or_default();
        used.chunks.insert(chunk);
    }

    /// Something of a document that is not divided by sections, such as its tables.
    pub fn add_whole(&mut self, document: &str) {
        let used = self.documents.entry(document.to_owned()).or_default();
        used.is_whole = true;
    }

    /// Ids of the documents, in their order.
    pub fn documents(&self) -> impl Iterator<Item = &str> {
        self.documents.keys().map(String::as_str)
    }

    /// Whether it names no document.
    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// Whether the filter allows all of it as it is now. Of a document some of whose sections it
    /// does not allow, the very chunks must be there: what became of others cannot be told.
    pub(crate) async fn may_leave(&self, index: &dyn SearchIndex, filter: &Filter) -> Result<bool> {
        let ids: Vec<String> = self.documents.keys().cloned().collect();
        let stored = index.documents(None, &ids).await?;
        let mut chunks: Vec<ChunkId> = Vec::new();
        for (stored, used) in stored.into_iter().zip(self.documents.values()) {
            let Some(stored) = stored.filter(|stored| is_seen(stored, filter)) else {
                return Ok(false);
            };
            if filter.allows_level(Some(stored.document.highest_level())) {
                continue;
            }
            if used.is_whole {
                return Ok(false);
            }
            chunks.extend(&used.chunks);
        }
        if chunks.is_empty() {
            return Ok(true);
        }
        let left = leaving::fetch(index, None, &chunks, filter).await?;
        Ok(left.iter().all(Option::is_some))
    }
}

fn is_seen(stored: &IndexedDocument, filter: &Filter) -> bool {
    !stored.deleted && leaving::may_leave(&stored.document, filter)
}
