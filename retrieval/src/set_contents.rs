//! What each knowledge set holds, counted in the same reading of the index as the facets.

use std::collections::BTreeMap;

use tributary_schemas::DocumentHeader;
use tributary_schemas::set_contents::{NewestDocument, SetContents};
use tributary_store::search_index::IndexedDocument;

use crate::facets::{Tally, most_frequent, tally};

/// By the id of the set.
#[derive(Default)]
pub struct SetCounts(BTreeMap<String, Counts>);

#[derive(Default)]
struct Counts {
    documents: u64,
    chunks: u64,
    sources: Tally,
    languages: Tally,
    media_types: Tally,
    tags: Tally,
    newest: Option<NewestDocument>,
}

impl SetCounts {
    /// Counts a document in each of its sets.
    pub fn add(&mut self, listed: &IndexedDocument) {
        for set in &listed.document.knowledge_sets {
            match self.0.get_mut(set) {
                Some(counts) => counts.add(listed),
                None => self.0.entry(set.clone()).or_default().add(listed),
            }
        }
    }

    /// Lists of at most `values`.
    pub fn contents(self, values: usize) -> BTreeMap<String, SetContents> {
        let sets = self.0.into_iter();
        sets.map(|(set, counts)| (set, counts.contents(values)))
            .collect()
    }
}

impl Counts {
    fn add(&mut self, listed: &IndexedDocument) {
        let document = &listed.document;
        self.documents += 1;
        self.chunks += listed.chunk_ids.len() as u64;
        tally(&mut self.sources, [&document.source]);
        tally(&mut self.languages, &document.attributes.language);
        tally(&mut self.media_types, [&document.media_type]);
        tally(&mut self.tags, &document.tags);
        let is_newer = |newest: &NewestDocument| newest.version < document.version;
        if self.newest.as_ref().is_none_or(is_newer) {
            self.newest = Some(newest(document));
        }
    }

    fn contents(self, values: usize) -> SetContents {
        let frequent = |tally| most_frequent(tally, values);
        SetContents {
            documents: self.documents,
            chunks: self.chunks,
            sources: frequent(self.sources),
            languages: frequent(self.languages),
            media_types: frequent(self.media_types),
            tags: frequent(self.tags),
            newest: self.newest,
        }
    }
}

fn newest(document: &DocumentHeader) -> NewestDocument {
    NewestDocument {
        document_id: document.document_id.clone(),
        version: document.version,
        title: document.title.clone(),
        source: document.source.clone(),
        source_path: document.source_path.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(id: &str, version: u64, sets: &[&str], chunks: usize) -> IndexedDocument {
        IndexedDocument {
            document: DocumentHeader {
                document_id: id.to_owned(),
                version,
                source: format!("source of {id}"),
                knowledge_sets: sets.iter().map(|&set| set.to_owned()).collect(),
                ..DocumentHeader::default()
            },
            chunk_ids: vec![tributary_schemas::ChunkId(0); chunks],
            deleted: false,
        }
    }

    #[test]
    fn a_document_counts_in_each_of_its_sets() {
        let mut counts = SetCounts::default();
        counts.add(&listed("a", 2, &["common", "product"], 3));
        counts.add(&listed("b", 9, &["common"], 1));
        counts.add(&listed("c", 5, &["common"], 0));
        counts.add(&listed("d", 7, &[], 4));
        let contents = counts.contents(2);
        assert_eq!(contents.len(), 2);
        let common = &contents["common"];
        assert_eq!((common.documents, common.chunks), (3, 4));
        assert_eq!(common.sources.len(), 2, "the list ends at its limit");
        let newest = common.newest.as_ref().map(|newest| &*newest.document_id);
        assert_eq!(newest, Some("b"));
        let product = &contents["product"];
        assert_eq!((product.documents, product.chunks), (1, 3));
    }
}
