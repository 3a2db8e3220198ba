//! Dot products. Tier 1 scans 8-bit codes for somewhat more rows than asked for and orders them by
//! the exact product; tier 2 takes the exact product of given chunks.

use tributary_schemas::search::ScoredChunk;
use tributary_schemas::{ChunkId, Error, ErrorKind, Filter, Result};

use super::snapshot::Snapshot;
use super::top::{Scored, better};
use super::vectors::Vectors;
use super::windows;
use crate::search_index::VectorField;

/// Rows taken from the scan of codes for a limit: a quarter more and some.
fn oversampled(limit: usize) -> usize {
    limit.saturating_add(limit / 4).saturating_add(64)
}

/// Best chunks of those that the filter lets through.
pub fn search(
    snapshot: &Snapshot,
    vector: &[f32],
    field: VectorField,
    filter: &Filter,
    limit: usize,
    threads: usize,
) -> Result<Vec<ScoredChunk>> {
    let vectors = checked(snapshot, vector, field)?;
    let allowed = snapshot.allowed(filter)?;
    let limit = limit.min(allowed.count);
    if limit == 0 {
        return Ok(Vec::new());
    }
    let rows = allowed.rows(snapshot);
    let take = oversampled(limit);
    let mut best: Vec<u32> = if allowed.count <= take {
        rows.iter().map(|row| row as u32).collect()
    } else {
        vectors
            .approximate_top(vector, rows, allowed.count, take, threads)
            .into_iter()
            .map(|(_, row)| row)
            .collect()
    };
    // In the order of the file, for the sake of the memory behind it.
    best.sort_unstable();
    Ok(hits(snapshot, vectors.exact_scores(vector, best), limit))
}

/// Exact scores of given chunks; those that do not exist are left out.
pub fn score(
    snapshot: &Snapshot,
    vector: &[f32],
    field: VectorField,
    candidates: &[ChunkId],
    limit: usize,
) -> Result<Vec<ScoredChunk>> {
    let vectors = checked(snapshot, vector, field)?;
    let mut rows: Vec<u32> = candidates
        .iter()
        .filter_map(|chunk| snapshot.find(*chunk))
        .map(|document| snapshot.row(document))
        .collect();
    rows.sort_unstable();
    rows.dedup();
    Ok(hits(snapshot, vectors.exact_scores(vector, rows), limit))
}

/// The nearest window of each of the chunks that have several.
pub fn nearest_windows(
    snapshot: &Snapshot,
    vector: &[f32],
    candidates: &[ChunkId],
) -> Result<Vec<ScoredChunk>> {
    checked(snapshot, vector, VectorField::Fine)?;
    Ok(windows::nearest(snapshot, vector, candidates))
}

/// The vectors of the field, if the query vector fits them.
fn checked<'a>(snapshot: &'a Snapshot, vector: &[f32], field: VectorField) -> Result<&'a Vectors> {
    let vectors = match field {
        VectorField::Coarse => &snapshot.coarse,
        VectorField::Fine => snapshot.fine.as_ref().unwrap_or(&snapshot.coarse),
    };
    if vector.len() != vectors.dimensions() {
        let message = format!(
            "the query vector has {} dimensions, the index {}",
            vector.len(),
            vectors.dimensions()
        );
        return Err(Error::new(ErrorKind::Invalid, message)
            .with_hint("query with the model that the generation was made with"));
    }
    if vector.iter().any(|value| !value.is_finite()) {
        return Err(Error::new(
            ErrorKind::Invalid,
            "the query vector holds a value that is not a number",
        ));
    }
    Ok(vectors)
}

/// Rows to chunks, best first.
fn hits(snapshot: &Snapshot, mut scored: Vec<Scored>, limit: usize) -> Vec<ScoredChunk> {
    let by_chunk = |left: u32, right: u32| {
        snapshot
            .chunk_id(snapshot.row_document(left))
            .cmp(&snapshot.chunk_id(snapshot.row_document(right)))
    };
    scored.sort_unstable_by(|left, right| better(left, right, &by_chunk));
    scored.truncate(limit);
    let hit = |(score, row): Scored| ScoredChunk {
        chunk_id: snapshot.chunk_id(snapshot.row_document(row)),
        score,
    };
    scored.into_iter().map(hit).collect()
}
