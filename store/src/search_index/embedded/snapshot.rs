//! What readers see: text index, vectors and the maps between documents, rows and chunk ids, all of
//! one commit and never changed. Built by `generation` after each commit; searched by `keyword` and
//! `vector_search`.
//!
//! Documents of all segments are numbered one after the other: number = base of the segment +
//! tantivy's number within it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tantivy::index::SegmentId;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocAddress, Searcher, SegmentReader, TERMINATED, TantivyError};
use tributary_schemas::{ChunkId, Error, ErrorKind, Filter, Result};

use super::bitmap::Bitmap;
use super::column::ColumnMap;
use super::filter;
use super::keyword::Statistics;
use super::text::{self, Fields};
use super::vectors::Vectors;
use super::windows::Windows;

/// No document.
const NONE: u32 = u32::MAX;

/// Filters whose bitmaps are kept per snapshot.
const CACHED_FILTERS: usize = 64;

/// All that a query reads.
pub struct Snapshot {
    /// tantivy's side.
    pub searcher: Searcher,
    /// Fields of the text index.
    pub fields: Fields,
    /// Segments in the order of the searcher.
    pub segments: Vec<Segment>,
    /// Coarse vectors.
    pub coarse: Vectors,
    /// Fine vectors, where they are not shared.
    pub fine: Option<Vectors>,
    /// Windows of long chunks, where they are kept.
    pub windows: Option<Windows>,
    /// Collection statistics for BM25.
    pub statistics: Statistics,
    /// Document of each row.
    row_documents: Vec<u32>,
    ids: IdTable,
    chunks: usize,
    filters: Mutex<HashMap<Filter, Arc<Allowed>>>,
}

/// One segment.
pub struct Segment {
    /// tantivy's reader.
    pub reader: SegmentReader,
    /// What never changes in a segment.
    pub parts: Arc<SegmentParts>,
    /// Documents that are not deleted.
    pub alive: Bitmap,
    /// Number of its first document.
    pub base: u32,
}

/// What never changes in a segment; kept from snapshot to snapshot.
pub struct SegmentParts {
    /// Chunk id by document.
    pub chunk_ids: Vec<u128>,
    /// Vector row by document.
    pub rows: Vec<u32>,
    /// Field norm (tantivy's byte for the length) by document.
    pub norms: Vec<u8>,
}

/// Parts of the segments of the last snapshot.
pub type PartsCache = HashMap<SegmentId, Arc<SegmentParts>>;

/// What a filter lets through.
pub struct Allowed {
    /// By segment, by document; never a deleted one.
    pub documents: Vec<Bitmap>,
    /// Number of chunks.
    pub count: usize,
    rows: OnceLock<Bitmap>,
}

/// The vector side of a commit.
pub struct VectorSide {
    /// Coarse vectors.
    pub coarse: Vectors,
    /// Fine vectors, where they are not shared.
    pub fine: Option<Vectors>,
    /// Windows of long chunks, where they are kept.
    pub windows: Option<Windows>,
    /// Row numbers, rising: the numbers that the text index knows rows by, whatever compactions
    /// have done to their places.
    pub numbers: Arc<ColumnMap>,
}

impl Snapshot {
    /// Reads what a snapshot needs; `cache` gives the parts of known segments and gets those of new
    /// ones.
    pub fn build(
        searcher: Searcher,
        fields: Fields,
        side: VectorSide,
        cache: &mut PartsCache,
    ) -> Result<Self> {
        let numbers: &[u64] = side.numbers.numbers(0..side.coarse.rows());
        let mut segments = Vec::with_capacity(searcher.segment_readers().len());
        let mut parts_now = PartsCache::new();
        let mut base = 0_u32;
        for reader in searcher.segment_readers() {
            let parts = match cache.get(&reader.segment_id()) {
                Some(parts) => Arc::clone(parts),
                None => Arc::new(SegmentParts::read(reader, fields, numbers)?),
            };
            parts_now.insert(reader.segment_id(), Arc::clone(&parts));
            segments.push(Segment {
                reader: reader.clone(),
                parts,
                alive: alive(reader),
                base,
            });
            base = base
                .checked_add(reader.max_doc())
                .filter(|base| *base < NONE)
                .ok_or_else(|| too_many(&searcher))?;
        }
        *cache = parts_now;
        let statistics = Statistics::read(&segments, fields)
            .map_err(|error| text::failure("cannot read term statistics", &error))?;
        let mut snapshot = Self {
            searcher,
            fields,
            segments,
            row_documents: vec![NONE; side.coarse.rows()],
            coarse: side.coarse,
            fine: side.fine,
            windows: side.windows,
            statistics,
            ids: IdTable::default(),
            chunks: 0,
            filters: Mutex::default(),
        };
        snapshot.number_documents();
        Ok(snapshot)
    }

    fn number_documents(&mut self) {
        self.chunks = self
            .segments
            .iter()
            .map(|segment| segment.alive.count())
            .sum();
        let mut ids = IdTable::with_room(self.chunks);
        for segment in &self.segments {
            for document in segment.alive.iter() {
                let number = segment.base + document as u32;
                ids.insert(segment.parts.chunk_ids[document], number, |number| {
                    self.chunk_id(number).0
                });
                self.row_documents[segment.parts.rows[document] as usize] = number;
            }
        }
        self.ids = ids;
    }

    /// Chunks that can be found.
    pub fn chunks(&self) -> usize {
        self.chunks
    }

    /// Rows that no chunk uses any more.
    pub fn dead_rows(&self) -> usize {
        self.row_documents
            .iter()
            .filter(|document| **document == NONE)
            .count()
    }

    /// Whether a chunk uses the row.
    pub fn is_row_alive(&self, row: usize) -> bool {
        self.row_documents
            .get(row)
            .is_some_and(|document| *document != NONE)
    }

    /// The document of a row that is alive.
    pub fn row_document(&self, row: u32) -> u32 {
        self.row_documents[row as usize]
    }

    /// The document of a chunk.
    pub fn find(&self, chunk: ChunkId) -> Option<u32> {
        self.ids.get(chunk.0, |number| self.chunk_id(number).0)
    }

    /// Segment and place within it of a document.
    pub fn place(&self, document: u32) -> (usize, u32) {
        let segment = self
            .segments
            .partition_point(|segment| segment.base <= document)
            .saturating_sub(1);
        (segment, document - self.segments[segment].base)
    }

    /// The chunk of a document.
    pub fn chunk_id(&self, document: u32) -> ChunkId {
        let (segment, place) = self.place(document);
        ChunkId(self.segments[segment].parts.chunk_ids[place as usize])
    }

    /// The vector row of a document.
    pub fn row(&self, document: u32) -> u32 {
        let (segment, place) = self.place(document);
        self.segments[segment].parts.rows[place as usize]
    }

    /// What is stored of a document.
    pub fn stored(&self, document: u32) -> Result<text::Stored> {
        let (segment, place) = self.place(document);
        // tantivy believes what it reads, and may panic over damage.
        let read = std::panic::AssertUnwindSafe(|| {
            self.searcher.doc(DocAddress::new(segment as u32, place))
        });
        let damaged = |what: &str| {
            Error::new(
                ErrorKind::Corrupt,
                format!(
                    "stored chunk {} is damaged: {what}",
                    self.chunk_id(document)
                ),
            )
        };
        let record = std::panic::catch_unwind(read).map_err(|_| damaged("it does not decode"))?;
        let record = record.map_err(|error| match &error {
            // The disk, and not what lies on it.
            TantivyError::IoError(failed) if failed.raw_os_error().is_some() => {
                text::failure("cannot read a stored chunk", &error)
            }
            _ => damaged(&error.to_string()),
        })?;
        self.fields.stored(&record, self.chunk_id(document))
    }

    /// What a filter lets through; kept for the next query with the same filter.
    pub fn allowed(&self, filter: &Filter) -> Result<Arc<Allowed>> {
        let known = self
            .filters
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(filter)
            .map(Arc::clone);
        if let Some(allowed) = known {
            return Ok(allowed);
        }
        let allowed = Arc::new(self.filtered(filter)?);
        let mut filters = self.filters.lock().unwrap_or_else(PoisonError::into_inner);
        if filters.len() >= CACHED_FILTERS {
            filters.clear();
        }
        filters.insert(filter.clone(), Arc::clone(&allowed));
        Ok(allowed)
    }

    fn filtered(&self, filter: &Filter) -> Result<Allowed> {
        let documents = self
            .segments
            .iter()
            .map(|segment| filter::documents(segment, self.fields, filter));
        let documents = documents
            .collect::<tantivy::Result<Vec<_>>>()
            .map_err(|error| text::failure("cannot read a filter", &error))?;
        let count = documents.iter().map(Bitmap::count).sum();
        Ok(Allowed {
            documents,
            count,
            rows: OnceLock::new(),
        })
    }

    /// Every findable chunk with its document id, read from the postings of the text index.
    pub fn list(&self) -> Result<Vec<(ChunkId, String)>> {
        let mut found = Vec::with_capacity(self.chunks);
        for segment in &self.segments {
            list_segment(segment, self.fields, &mut found)
                .map_err(|error| text::failure("cannot list chunks", &error))?;
        }
        found.sort_unstable_by(|left, right| (&left.1, left.0).cmp(&(&right.1, right.0)));
        Ok(found)
    }
}

impl Allowed {
    /// The same by vector row.
    pub fn rows(&self, snapshot: &Snapshot) -> &Bitmap {
        self.rows.get_or_init(|| {
            let mut rows = Bitmap::new(snapshot.coarse.rows());
            for (documents, segment) in self.documents.iter().zip(&snapshot.segments) {
                documents
                    .iter()
                    .for_each(|document| rows.set(segment.parts.rows[document] as usize));
            }
            rows
        })
    }
}

impl SegmentParts {
    fn read(reader: &SegmentReader, fields: Fields, numbers: &[u64]) -> Result<Self> {
        let failed = |error: tantivy::TantivyError| text::failure("cannot read a segment", &error);
        let [high, low, row] = [text::ID_HIGH, text::ID_LOW, text::ROW]
            .map(|name| reader.fast_fields().u64(name).map_err(failed));
        let (high, low, row) = (high?, low?, row?);
        let norms = reader.get_fieldnorms_reader(fields.text).map_err(failed)?;
        let mut parts = Self {
            chunk_ids: Vec::new(),
            rows: Vec::new(),
            norms: Vec::new(),
        };
        for document in 0..reader.max_doc() {
            let (Some(high), Some(low), Some(number)) = (
                high.first(document),
                low.first(document),
                row.first(document),
            ) else {
                return Err(Error::new(
                    ErrorKind::Corrupt,
                    format!("document {document} of a segment has no chunk id or row"),
                ));
            };
            parts
                .chunk_ids
                .push(u128::from(high) << 64 | u128::from(low));
            // Rows of deleted documents may be gone after a compaction.
            let place = place_of(numbers, number);
            if place.is_none() && !reader.is_deleted(document) {
                return Err(Error::new(
                    ErrorKind::Corrupt,
                    format!("the vectors of row {number} are missing"),
                ));
            }
            parts.rows.push(place.unwrap_or(NONE));
            parts.norms.push(norms.fieldnorm_id(document));
        }
        Ok(parts)
    }
}

/// Where a row number is among the rising `numbers`.
fn place_of(numbers: &[u64], number: u64) -> Option<u32> {
    let first = *numbers.first()?;
    let guess = usize::try_from(number.checked_sub(first)?).ok()?;
    if numbers.get(guess) == Some(&number) {
        return Some(guess as u32);
    }
    numbers
        .binary_search(&number)
        .ok()
        .map(|place| place as u32)
}

fn alive(reader: &SegmentReader) -> Bitmap {
    match reader.alive_bitset() {
        None => Bitmap::full(reader.max_doc() as usize),
        Some(alive) => {
            let mut bitmap = Bitmap::new(reader.max_doc() as usize);
            alive
                .iter_alive()
                .for_each(|document| bitmap.set(document as usize));
            bitmap
        }
    }
}

fn list_segment(
    segment: &Segment,
    fields: Fields,
    found: &mut Vec<(ChunkId, String)>,
) -> tantivy::Result<()> {
    let inverted = segment.reader.inverted_index(fields.document)?;
    let mut terms = inverted.terms().stream()?;
    while terms.advance() {
        let document_id = String::from_utf8_lossy(terms.key()).into_owned();
        let mut postings =
            inverted.read_block_postings_from_terminfo(terms.value(), IndexRecordOption::Basic)?;
        loop {
            let documents = postings.docs();
            if documents.is_empty() {
                break;
            }
            for document in documents
                .iter()
                .filter(|document| **document != TERMINATED)
                .map(|document| *document as usize)
            {
                if segment.alive.contains(document) {
                    found.push((
                        ChunkId(segment.parts.chunk_ids[document]),
                        document_id.clone(),
                    ));
                }
            }
            postings.advance();
        }
    }
    Ok(())
}

fn too_many(searcher: &Searcher) -> Error {
    Error::new(
        ErrorKind::Exhausted,
        format!(
            "one generation holds at most {NONE} chunks, this one {}",
            searcher.num_docs()
        ),
    )
    .with_hint("split the knowledge base over several installations")
}

/// Chunk id → document: open addressing over document numbers; ids themselves are looked up in the
/// segments.
#[derive(Default)]
struct IdTable {
    slots: Vec<u32>,
}

impl IdTable {
    fn with_room(count: usize) -> Self {
        Self {
            slots: vec![NONE; (count * 2).next_power_of_two().max(2)],
        }
    }

    /// Slots to look at for an id, first to last.
    fn probe(&self, id: u128) -> impl Iterator<Item = usize> + use<> {
        let length = self.slots.len();
        // Ids are hashes; the product only guards against ids that are not.
        let hash = ((id as u64) ^ (id >> 64) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        (0..length).map(move |step| (hash as usize + step) & (length - 1))
    }

    /// Of two documents with the same id the first stays.
    fn insert(&mut self, id: u128, document: u32, id_of: impl Fn(u32) -> u128) {
        for slot in self.probe(id) {
            if self.slots[slot] == NONE {
                self.slots[slot] = document;
                return;
            }
            if id_of(self.slots[slot]) == id {
                return;
            }
        }
    }

    fn get(&self, id: u128, id_of: impl Fn(u32) -> u128) -> Option<u32> {
        for slot in self.probe(id) {
            let document = self.slots[slot];
            if document == NONE {
                return None;
            }
            if id_of(document) == id {
                return Some(document);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn ids_are_found_even_when_they_collide() {
        let ids: Vec<u128> = (0..500)
            .map(|number| u128::from(number % 250_u64) << 64 | u128::from(number % 250_u64))
            .collect();
        let id_of = |document: u32| ids[document as usize];
        let mut table = IdTable::with_room(ids.len());
        (0..500).for_each(|document| table.insert(ids[document as usize], document, id_of));
        assert!(
            (0..250).all(|document| table.get(ids[document as usize], id_of) == Some(document))
        );
        assert_eq!(table.get(1 << 80, id_of), None);
        assert_eq!(IdTable::default().get(1, id_of), None);
    }

    #[test]
    fn row_numbers_are_found_before_and_after_a_compaction() {
        assert_eq!(place_of(&[5, 6, 7], 7), Some(2));
        assert_eq!(place_of(&[0, 3, 9], 9), Some(2));
        assert_eq!(
            [place_of(&[0, 3, 9], 4), place_of(&[5], 4), place_of(&[], 0)],
            [None; 3]
        );
    }
}
