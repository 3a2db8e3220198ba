//! Tier 3 (精排): a cross-encoder reads question and chunk together and orders what tier 2 kept,
//! within a deadline.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tributary_models::Reranker;
use tributary_schemas::search::{QueryPlan, ScoredChunk};
use tributary_schemas::{ChunkId, Error, ErrorKind, Result};
use tributary_store::search_index::{SearchIndex, StoredChunk};

use crate::config::RerankConfig;
use crate::exact_name::boosted;
use crate::fine::{self, FineChunk};
use crate::leaving;

/// The reranker's scores, 0 to 1; chunks that were deleted or forbidden meanwhile have none. Fails
/// with `Timeout` after the deadline; the caller then keeps the order of tier 2.
pub async fn rerank(
    index: &dyn SearchIndex,
    reranker: &Arc<dyn Reranker>,
    permits: &Arc<Semaphore>,
    plan: &QueryPlan,
    chunks: &[ChunkId],
    config: RerankConfig,
) -> Result<HashMap<ChunkId, f32>> {
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
    let scored = |(chunk_id, score)| (chunk_id, score_or_0(score));
    Ok(ids.into_iter().zip(scores).map(scored).collect())
}

/// The final order, best first, of what the reranker read and what stands behind it.
///
/// A chunk's score is (1 − weight) · s + weight · r, with its score s of tier 2 and
/// r = 2 / (1 + e^((best − logit) / 2)): how near its logit comes to the best one of this answer, 1
/// for the best, since s tells of this answer alone too; 0 for what it did not read. With a weight
/// of 1 it is the reranker's score itself. What the question names stays first, whatever a reranker thinks of its text.
pub fn order(
    scores: &HashMap<ChunkId, f32>,
    fine: &[FineChunk],
    config: RerankConfig,
) -> Vec<ScoredChunk> {
    let highest = fine::strongest(fine);
    let best = scores.values().copied().map(logit).fold(f32::MIN, f32::max);
    let of_reranker = |score: f32| match config.weight < 1.0 {
        true => 2.0 / (1.0 + ((best - logit(score)) / 2.0).exp()),
        false => score,
    };
    let read = fine.len().min(config.candidates);
    let final_score = |(at, chunk): (usize, &FineChunk)| {
        let of_reranker = match scores.get(&chunk.chunk_id) {
            Some(score) => of_reranker(*score),
            // What it was to read and is gone.
            None if at < read => return None,
            None => 0.0,
        };
        let both = (1.0 - config.weight) * chunk.unboosted(highest) + config.weight * of_reranker;
        Some(ScoredChunk {
            chunk_id: chunk.chunk_id,
            score: boosted(both, chunk.exact_name, highest),
        })
    };
    let mut order: Vec<ScoredChunk> = fine.iter().enumerate().filter_map(final_score).collect();
    // Equal ones stay in the order of tier 2.
    order.sort_by(|left, right| right.score.total_cmp(&left.score));
    order
}

/// What the sigmoid made a score of. A score of 0 or 1, such as a word's, has none: it is taken as
/// very sure.
fn logit(score: f32) -> f32 {
    let score = score.clamp(1e-6, 1.0 - 1e-6);
    (score / (1.0 - score)).ln()
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A chunk that tier 2 gave a score before what the question names.
    fn chunk(id: u128, unboosted: f32, exact_name: f32, highest: f32) -> FineChunk {
        FineChunk {
            chunk_id: ChunkId(id),
            keyword: 0.0,
            vector: 0.0,
            keyword_raw: 0.0,
            similarity: None,
            nearest_window: None,
            standing: unboosted,
            exact_name,
            score: boosted(unboosted, exact_name, highest),
        }
    }

    fn config(weight: f32, candidates: usize) -> RerankConfig {
        RerankConfig {
            deadline_ms: 1000,
            concurrency: 1,
            candidates,
            weight,
        }
    }

    /// Ids and scores, to two decimals.
    fn ordered(
        fine: &[FineChunk],
        scores: &[(u128, f32)],
        config: RerankConfig,
    ) -> Vec<(u128, f32)> {
        let scores = scores.iter().map(|(id, score)| (ChunkId(*id), *score));
        order(&scores.collect(), fine, config)
            .iter()
            .map(|chunk| (chunk.chunk_id.0, (chunk.score * 100.0).round() / 100.0))
            .collect()
    }

    #[test]
    fn both_tiers_count_by_the_weight() {
        let fine = [1.0, 0.8, 0.6, 0.4]
            .iter()
            .zip(1..)
            .map(|(score, id)| chunk(id, *score, 0.0, 0.0))
            .collect::<Vec<_>>();
        // logits -2, 0, 2: 2 / (1 + e^((2 - logit) / 2)) is 0.24, 0.54, 1
        let scores = [(1, 0.119_203), (2, 0.5), (3, 0.880_797)];
        // alone: its own scores; what it did not read stands behind
        let alone = [(3, 0.88), (2, 0.5), (1, 0.12), (4, 0.0)];
        assert_eq!(ordered(&fine, &scores, config(1.0, 3)), alone);
        // .75 * 1 + .25 * .24, .75 * .8 + .25 * .54, .75 * .6 + .25, .75 * .4
        let quarter = [(1, 0.81), (2, 0.73), (3, 0.7), (4, 0.3)];
        assert_eq!(ordered(&fine, &scores, config(0.25, 3)), quarter);
        let nothing = [(1, 1.0), (2, 0.8), (3, 0.6), (4, 0.4)];
        assert_eq!(ordered(&fine, &scores, config(0.0, 3)), nothing);
    }

    #[test]
    fn what_is_gone_is_left_out_and_what_was_not_read_keeps_its_order() {
        let fine = [3, 9, 5, 2].map(|id| chunk(id, 0.5, 0.0, 0.0));
        let scores = [(3, 0.2)];
        // 9 was to be read; 5 and 2 were not, and stand as they stood
        let expected = [(3, 0.2), (5, 0.0), (2, 0.0)];
        assert_eq!(ordered(&fine, &scores, config(1.0, 2)), expected);
        assert!(ordered(&[], &[], config(0.3, 80)).is_empty());
    }

    #[test]
    fn what_the_question_names_stays_first() {
        let highest = 1.2;
        let fine = [chunk(1, 0.3, highest, highest), chunk(2, 1.0, 0.0, highest)];
        let scores = [(1, 0.0), (2, 1.0)];
        for weight in [0.0, 0.3, 1.0] {
            let order = ordered(&fine, &scores, config(weight, 80));
            assert_eq!(order.first().map(|(id, _)| *id), Some(1), "{order:?}");
            assert!(order.iter().all(|(_, score)| (0.0..=1.0).contains(score)));
        }
    }
}
