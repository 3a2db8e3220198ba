//! Blobs that are named by documents of the index, or by their newest records in the log, and are
//! not there: originals, tables, pictures, long texts. A file that is gone has no checksum that could
//! be wrong, so nothing else sees it before somebody asks for it.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use tributary_schemas::document::TABLES_DATABASE;
use tributary_schemas::event::CLAIM_CHECK;
use tributary_schemas::{ChunkId, DocumentHeader, Result};

use crate::blobs;
use crate::event_log::reading::each_record;
use crate::event_log::{EventLog, StoredRecord};
use crate::search_index::{IndexedDocument, SearchIndex};

/// Documents and chunks asked for at once.
const PAGE: usize = 500;

/// What is gone of one document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LostBlobs {
    /// Id of the document.
    pub document_id: String,
    /// Its source.
    pub source: String,
    /// Its path within the source; empty where it has none.
    pub source_path: String,
    /// The bytes that were published.
    pub original: bool,
    /// The database of its tables.
    pub tables: bool,
    /// What an exact duplicate or an older edition is written from again.
    pub body: bool,
    /// Its text, from which it is indexed anew.
    pub text: bool,
    /// Pictures in its chunks.
    pub pictures: usize,
}

impl LostBlobs {
    fn is_empty(&self) -> bool {
        !(self.original || self.tables || self.body || self.text) && self.pictures == 0
    }

    /// What brings it back: publishing the same content writes its files again, and leaves alone what
    /// was made of it.
    pub fn remedy(&self) -> &'static str {
        match self.body || self.text {
            true => "delete the document and publish it again",
            false => "publish the document again",
        }
    }

    /// In words, such as `its original, 2 pictures`.
    pub fn said(&self) -> String {
        let parts = [
            (self.original, "its original"),
            (self.tables, "its tables"),
            (self.body, "its stored chunks"),
            (self.text, "its text in the log"),
        ];
        let parts = parts.iter().filter(|(is_lost, _)| *is_lost);
        let mut said: Vec<String> = parts.map(|(_, what)| (*what).to_owned()).collect();
        match self.pictures {
            0 => {}
            1 => said.push("1 picture".to_owned()),
            pictures => said.push(format!("{pictures} pictures")),
        }
        said.join(", ")
    }
}

/// Where documents name blobs.
pub struct Names<'a> {
    /// The serving generation is looked at.
    pub index: &'a dyn SearchIndex,
    /// The log with the full name of the topic of cleaned documents.
    pub log: Option<(&'a dyn EventLog, &'a str)>,
}

/// What is gone of each document that lacks any, by id. `folder` is that of the blobs.
pub async fn find(names: Names<'_>, folder: &Path) -> Result<Vec<LostBlobs>> {
    let there = blobs::files(folder)?.into_iter().map(|(hash, _)| hash);
    let there = There(there.collect());
    let found = indexed(names.index, &there).await?.into_iter();
    let mut lost: BTreeMap<String, LostBlobs> =
        found.map(|lost| (lost.document_id.clone(), lost)).collect();
    if let Some((log, topic)) = names.log {
        let texts = texts(log, topic, &there).await?;
        let known = names.index.documents(None, &texts).await?;
        for (document_id, known) in texts.into_iter().zip(known) {
            let document = known.map(|known| known.document).unwrap_or_default();
            let entry = lost.entry(document_id.clone());
            let of_document = entry.or_insert_with(|| LostBlobs {
                document_id,
                source: document.source,
                source_path: document.source_path,
                ..LostBlobs::default()
            });
            of_document.text = true;
        }
    }
    Ok(lost.into_values().collect())
}

/// Ids of the documents whose newest record in the log refers to a text that is gone.
async fn texts(log: &dyn EventLog, topic: &str, there: &There) -> Result<Vec<String>> {
    let mut lacking: BTreeMap<String, bool> = BTreeMap::new();
    let note = |stored: &StoredRecord| {
        let id = String::from_utf8_lossy(&stored.record.key).into_owned();
        lacking.insert(id, there.lacks(stored.record.header(CLAIM_CHECK)));
    };
    each_record(log, topic, note).await?;
    let lacking = lacking.into_iter().filter(|(_, is_lacking)| *is_lacking);
    Ok(lacking.map(|(id, _)| id).collect())
}

async fn indexed(index: &dyn SearchIndex, there: &There) -> Result<Vec<LostBlobs>> {
    let mut lost = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let page = index.list_documents(None, after.as_deref(), PAGE).await?;
        let Some(last) = page.last() else {
            return Ok(lost);
        };
        after = Some(last.document.document_id.clone());
        for document in page.iter().filter(|document| !document.deleted) {
            let found = of_document(index, there, document).await?;
            lost.extend((!found.is_empty()).then_some(found));
        }
    }
}

async fn of_document(
    index: &dyn SearchIndex,
    there: &There,
    indexed: &IndexedDocument,
) -> Result<LostBlobs> {
    let document: &DocumentHeader = &indexed.document;
    let tables = document.metadata.get(TABLES_DATABASE);
    Ok(LostBlobs {
        document_id: document.document_id.clone(),
        source: document.source.clone(),
        source_path: document.source_path.clone(),
        original: there.lacks(document.original.as_deref()),
        tables: there.lacks(tables.map(String::as_str)),
        body: there.lacks(document.body.as_deref()),
        text: false,
        pictures: pictures(index, there, &indexed.chunk_ids).await?,
    })
}

async fn pictures(index: &dyn SearchIndex, there: &There, chunks: &[ChunkId]) -> Result<usize> {
    let mut lost: HashSet<String> = HashSet::new();
    for chunks in chunks.chunks(PAGE) {
        for stored in index.fetch(None, chunks).await?.into_iter().flatten() {
            let images = stored.chunk.images.into_iter();
            lost.extend(images.filter(|image| there.lacks(Some(image))));
        }
    }
    Ok(lost.len())
}

/// Hashes of all blobs.
struct There(HashSet<String>);

impl There {
    /// Whether this names a blob that is not there; other links name none.
    fn lacks(&self, url: Option<&str>) -> bool {
        let hash = url.and_then(|url| url.strip_prefix(blobs::SCHEME));
        hash.is_some_and(|hash| !self.0.contains(hash))
    }
}
