//! BM25 over ready tokens. Tier 1 scores every document that has a token, term by term into a
//! window of sums; tier 2 seeks the postings for given documents only. Both add the terms in the
//! same order, so a chunk has the same score in both.
//!
//! Formula (Lucene's `BM25Similarity`, with the constant factor k1 + 1 kept): Σ over tokens of
//! `idf · tf · (k1 + 1) / (tf + k1 · (1 − b + b · length / average))`, `idf = ln(1 + (N − n + ½) /
//! (n + ½))`, k1 and b those of the generation, lengths rounded as Lucene does to one byte. N, n and the average
//! are those of the whole index and, as in Lucene, count deleted documents until a merge has
//! dropped them.

use std::cmp::Ordering;

use tantivy::fieldnorm::FieldNormReader;
use tantivy::postings::BlockSegmentPostings;
use tantivy::postings::Postings;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocSet, TERMINATED, Term};
use tributary_schemas::search::ScoredChunk;
use tributary_schemas::{ChunkId, Filter, Result};

use super::bitmap::{Bitmap, bits};
use super::snapshot::{Segment, Snapshot};
use super::text::{self, Fields};
use super::top::{Scored, Top};
use crate::search_index::Bm25;

/// Documents whose sums are held at once: 32 KB, the first-level cache.
const WINDOW: usize = 1 << 13;

/// Collection statistics.
#[derive(Clone, Copy, Debug, Default)]
pub struct Statistics {
    documents: u64,
    tokens: u64,
}

impl Statistics {
    /// Adds up the segments.
    pub fn read(segments: &[Segment], fields: Fields) -> tantivy::Result<Self> {
        let mut statistics = Self::default();
        for segment in segments {
            statistics.documents += u64::from(segment.reader.max_doc());
            statistics.tokens += segment
                .reader
                .inverted_index(fields.text)?
                .total_num_tokens();
        }
        Ok(statistics)
    }
}

/// A token of the query.
struct QueryTerm {
    term: Term,
    weight: f32,
}

/// A query ready to be scored.
struct Scoring {
    terms: Vec<QueryTerm>,
    /// `k1 · (1 − b + b · length / average)` by field norm.
    norms: [f32; 256],
}

/// What is looked for, and how its tokens are weighed.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// Ready tokens.
    pub tokens: &'a [String],
    /// The numbers of BM25.
    pub bm25: Bm25,
    /// Hits at most.
    pub limit: usize,
}

/// Best chunks of those that the filter lets through.
pub fn search(snapshot: &Snapshot, asked: Asked<'_>, filter: &Filter) -> Result<Vec<ScoredChunk>> {
    let limit = asked.limit;
    if limit == 0 || asked.tokens.is_empty() {
        return Ok(Vec::new());
    }
    let allowed = snapshot.allowed(filter)?;
    let failed = |error: tantivy::TantivyError| text::failure("cannot search by keyword", &error);
    let scoring = Scoring::new(snapshot, asked).map_err(failed)?;
    let by_chunk = |left: u32, right: u32| snapshot.chunk_id(left).cmp(&snapshot.chunk_id(right));
    let mut top = Top::new(limit.min(allowed.count), f32::MIN_POSITIVE);
    for (segment, documents) in snapshot.segments.iter().zip(&allowed.documents) {
        scoring
            .collect(snapshot.fields, segment, documents, &mut top, &by_chunk)
            .map_err(failed)?;
    }
    Ok(hits(snapshot, top.into_sorted(&by_chunk)))
}

/// Scores of given chunks; those that do not exist or have no token are left out.
pub fn score(
    snapshot: &Snapshot,
    asked: Asked<'_>,
    candidates: &[ChunkId],
) -> Result<Vec<ScoredChunk>> {
    let limit = asked.limit;
    if limit == 0 || asked.tokens.is_empty() {
        return Ok(Vec::new());
    }
    let mut documents: Vec<u32> = candidates
        .iter()
        .filter_map(|chunk| snapshot.find(*chunk))
        .collect();
    documents.sort_unstable();
    documents.dedup();
    let failed = |error: tantivy::TantivyError| text::failure("cannot score by keyword", &error);
    let scoring = Scoring::new(snapshot, asked).map_err(failed)?;
    let by_chunk = |left: u32, right: u32| snapshot.chunk_id(left).cmp(&snapshot.chunk_id(right));
    let mut top = Top::new(limit.min(documents.len()), f32::MIN_POSITIVE);
    let mut rest = &documents[..];
    for segment in &snapshot.segments {
        let end = segment.base + segment.reader.max_doc();
        let (inside, behind) = rest.split_at(rest.partition_point(|document| *document < end));
        rest = behind;
        let scores = scoring
            .seek(snapshot.fields, segment, inside)
            .map_err(failed)?;
        inside
            .iter()
            .zip(scores)
            .for_each(|(document, score)| top.push(score, *document, &by_chunk));
    }
    Ok(hits(snapshot, top.into_sorted(&by_chunk)))
}

fn hits(snapshot: &Snapshot, scored: Vec<Scored>) -> Vec<ScoredChunk> {
    scored
        .into_iter()
        .map(|(score, document)| ScoredChunk {
            chunk_id: snapshot.chunk_id(document),
            score,
        })
        .collect()
}

impl Scoring {
    fn new(snapshot: &Snapshot, asked: Asked<'_>) -> tantivy::Result<Self> {
        let Bm25 { k1, b } = asked.bm25;
        let statistics = snapshot.statistics;
        let average = statistics.tokens as f32 / statistics.documents.max(1) as f32;
        let mut tokens: Vec<&String> = asked.tokens.iter().collect();
        tokens.sort_unstable();
        let mut terms = Vec::new();
        for same in tokens.chunk_by(|left, right| left == right) {
            let term = Term::from_field_text(snapshot.fields.text, same[0]);
            let mut found_in = 0;
            for segment in &snapshot.segments {
                found_in += u64::from(
                    segment
                        .reader
                        .inverted_index(snapshot.fields.text)?
                        .doc_freq(&term)?,
                );
            }
            if found_in > 0 {
                let weight = idf(found_in, statistics.documents) * (k1 + 1.0) * same.len() as f32;
                terms.push(QueryTerm { term, weight });
            }
        }
        let norms = std::array::from_fn(|id| {
            let length = FieldNormReader::id_to_fieldnorm(id as u8) as f32;
            k1 * (1.0 - b + b * length / average.max(f32::MIN_POSITIVE))
        });
        Ok(Self { terms, norms })
    }

    #[inline(always)]
    fn score(&self, weight: f32, norm: u8, frequency: u32) -> f32 {
        let frequency = frequency as f32;
        weight * frequency / (frequency + self.norms[norm as usize])
    }

    /// Offers every allowed document with a token.
    fn collect(
        &self,
        fields: Fields,
        segment: &Segment,
        allowed: &Bitmap,
        top: &mut Top,
        order: &impl Fn(u32, u32) -> Ordering,
    ) -> tantivy::Result<()> {
        let inverted = segment.reader.inverted_index(fields.text)?;
        let mut cursors = Vec::new();
        for term in &self.terms {
            if let Some(postings) =
                inverted.read_block_postings(&term.term, IndexRecordOption::WithFreqs)?
            {
                cursors.push(Cursor {
                    postings,
                    place: 0,
                    weight: term.weight,
                });
            }
        }
        let mut sums = vec![0.0_f32; WINDOW];
        let norms = &segment.parts.norms;
        for (window, norms) in norms.chunks(WINDOW).enumerate() {
            let start = window * WINDOW;
            if !allowed.any_in(start / 64..(start + norms.len()).div_ceil(64)) {
                continue;
            }
            let mut touched = false;
            for cursor in &mut cursors {
                touched |= cursor.add(self, start as u32, norms, &mut sums);
            }
            if touched {
                offer(&mut sums, start, segment.base, allowed, top, order);
            }
        }
        Ok(())
    }

    /// Scores of documents of one segment (rising numbers); zero where no token is in it.
    fn seek(
        &self,
        fields: Fields,
        segment: &Segment,
        documents: &[u32],
    ) -> tantivy::Result<Vec<f32>> {
        let mut scores = vec![0.0; documents.len()];
        if documents.is_empty() {
            return Ok(scores);
        }
        let inverted = segment.reader.inverted_index(fields.text)?;
        for term in &self.terms {
            let Some(mut postings) =
                inverted.read_postings(&term.term, IndexRecordOption::WithFreqs)?
            else {
                continue;
            };
            for (document, score) in documents.iter().zip(&mut scores) {
                let place = document - segment.base;
                let found = if postings.doc() < place {
                    postings.seek(place)
                } else {
                    postings.doc()
                };
                if found == place {
                    *score += self.score(
                        term.weight,
                        segment.parts.norms[place as usize],
                        postings.term_freq(),
                    );
                } else if found == TERMINATED {
                    break;
                }
            }
        }
        Ok(scores)
    }
}

/// Where a token's postings have been read to.
struct Cursor {
    postings: BlockSegmentPostings,
    /// Next entry of the loaded block.
    place: usize,
    weight: f32,
}

impl Cursor {
    /// Adds the scores of the documents `start .. start + norms.len()`; whether there were any.
    fn add(&mut self, scoring: &Scoring, start: u32, norms: &[u8], sums: &mut [f32]) -> bool {
        let end = start + norms.len() as u32;
        let mut touched = false;
        if self
            .postings
            .docs()
            .last()
            .is_some_and(|last| *last < start)
        {
            self.place = self.postings.seek(start);
        }
        loop {
            let documents = self.postings.docs();
            let Some(last) = documents.last() else {
                return touched;
            };
            let whole_block = *last < end;
            let until = if whole_block {
                documents.len()
            } else {
                documents.partition_point(|document| *document < end)
            };
            let from = self.place.min(until);
            for (document, frequency) in documents[from..until]
                .iter()
                .zip(&self.postings.freqs()[from..until])
            {
                // A window may have been skipped, so the block may begin before this one.
                if let Some(place) = document.checked_sub(start) {
                    sums[place as usize] +=
                        scoring.score(self.weight, norms[place as usize], *frequency);
                }
            }
            touched |= until > from;
            if !whole_block {
                self.place = until;
                return touched;
            }
            self.postings.advance();
            self.place = 0;
        }
    }
}

/// Offers the sums of a window and clears them.
fn offer(
    sums: &mut [f32],
    start: usize,
    base: u32,
    allowed: &Bitmap,
    top: &mut Top,
    order: &impl Fn(u32, u32) -> Ordering,
) {
    for (index, sums) in sums.as_chunks_mut::<64>().0.iter_mut().enumerate() {
        let threshold = top.threshold();
        let mask = allowed.word(start / 64 + index);
        let any = sums
            .iter()
            .fold(false, |any, sum| any | (*sum >= threshold));
        if any && mask != 0 {
            for bit in bits(mask) {
                if sums[bit] >= threshold {
                    top.push(sums[bit], base + (start + index * 64 + bit) as u32, order);
                }
            }
        }
        *sums = [0.0; 64];
    }
}

/// In double precision: with many documents a common token's would otherwise round to zero.
fn idf(found_in: u64, documents: u64) -> f32 {
    let (n, all) = (found_in as f64, documents.max(found_in) as f64);
    ((all - n + 0.5) / (n + 0.5)).ln_1p() as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idf_follows_the_formula_and_never_vanishes() {
        assert!((idf(1, 2) - 2.0_f32.ln()).abs() < 1e-6);
        assert!(idf(100_000_000, 100_000_000) > 0.0);
        assert!(idf(1, 1_000_000) > idf(2, 1_000_000));
    }
}
