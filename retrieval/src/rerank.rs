//! Tier 3 (精排): a cross-encoder reads question and chunk together and orders what tier 2 kept,
//! within a deadline.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tributary_models::Reranker;
use tributary_schemas::search::{QueryPlan, ScoredChunk};
use tributary_schemas::{ChunkId, Error, ErrorKind, Result};
use tributary_store::search_index::{SearchIndex, StoredChunk};

use crate::config::RerankConfig;
use crate::{fusion, leaving};

/// The chunks with the reranker's scores, best first; those that were deleted or forbidden
/// meanwhile are left out. Fails with `Timeout` after the deadline; the caller then keeps the order
/// of tier 2.
pub async fn rerank(
    index: &dyn SearchIndex,
    reranker: &Arc<dyn Reranker>,
    permits: &Arc<Semaphore>,
    plan: &QueryPlan,
    chunks: &[ChunkId],
    config: RerankConfig,
) -> Result<Vec<ScoredChunk>> {
    let stored = leaving::fetch(index, plan.generation.as_deref(), chunks, &plan.filter).await?;
    let (ids, passages): (Vec<ChunkId>, Vec<String>) = stored
        .into_iter()
        .flatten()
        .map(|stored| (stored.chunk.chunk_id, passage(&stored)))
        .unzip();
    let deadline = Duration::from_millis(config.deadline_ms);
    let scoring = tokio::time::timeout(deadline, score(reranker, permits, &plan.query, passages));
    let scores = scoring
        .await
        .map_err(|_| deadline_passed(config.deadline_ms))??;
    if scores.len() != ids.len() {
        return Err(Error::new(
            ErrorKind::Internal,
            format!(
                "reranker gave {} scores for {} chunks",
                scores.len(),
                ids.len()
            ),
        ));
    }
    let score_or_0 = |score: f32| {
        if score.is_finite() {
            score.clamp(0.0, 1.0)
        } else {
            0.0
        }
    };
    let scored = |(chunk_id, score)| ScoredChunk {
        chunk_id,
        score: score_or_0(score),
    };
    let mut reranked: Vec<ScoredChunk> = ids.into_iter().zip(scores).map(scored).collect();
    fusion::sort_best_first(&mut reranked);
    Ok(reranked)
}

/// A score of each text for a query, 0 to 1. Fails as [`rerank`].
pub async fn score_texts(
    reranker: &Arc<dyn Reranker>,
    permits: &Arc<Semaphore>,
    query: &str,
    texts: Vec<String>,
    config: RerankConfig,
) -> Result<Vec<f32>> {
    let count = texts.len();
    let deadline = Duration::from_millis(config.deadline_ms);
    let scoring = tokio::time::timeout(deadline, score(reranker, permits, query, texts));
    let scores = scoring
        .await
        .map_err(|_| deadline_passed(config.deadline_ms))??;
    if scores.len() != count {
        let message = format!("reranker gave {} scores for {count} texts", scores.len());
        return Err(Error::new(ErrorKind::Internal, message));
    }
    Ok(scores)
}

/// The permit goes with the work, not with the waiting: a call that missed its deadline still burns
/// a core until it ends.
async fn score(
    reranker: &Arc<dyn Reranker>,
    permits: &Arc<Semaphore>,
    query: &str,
    passages: Vec<String>,
) -> Result<Vec<f32>> {
    let closed = |error| {
        Error::new(
            ErrorKind::Internal,
            format!("rerank permits are closed: {error}"),
        )
    };
    let permit = Arc::clone(permits).acquire_owned().await.map_err(closed)?;
    let (reranker, query) = (Arc::clone(reranker), query.to_owned());
    let work = move || {
        let passages: Vec<&str> = passages.iter().map(String::as_str).collect();
        let scores = reranker.score(&query, &passages);
        drop(permit);
        scores
    };
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| Error::new(ErrorKind::Internal, format!("reranker stopped: {error}")))?
}

/// What the reranker reads of a chunk: where it stands, then the text.
fn passage(stored: &StoredChunk) -> String {
    let titles = std::iter::once(&stored.document.title).chain(&stored.chunk.section_path);
    let heading = titles
        .filter(|title| !title.is_empty())
        .cloned()
        .collect::<Vec<_>>()
        .join(" > ");
    format!("{heading}\n{}", stored.chunk.text)
}

fn deadline_passed(deadline_ms: u64) -> Error {
    Error::new(
        ErrorKind::Timeout,
        format!("reranker took longer than {deadline_ms} ms"),
    )
    .with_hint("raise query_api.retrieval.rerank.deadline_ms, or lower fine_keep")
}
