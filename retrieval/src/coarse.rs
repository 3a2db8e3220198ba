//! Tier 1 (粗筛): the best chunks by keyword and by vector, in parallel and under the filter,
//! merged.

use std::future::Future;

use tributary_schemas::Result;
use tributary_schemas::search::{QueryPlan, ScoredChunk};
use tributary_store::search_index::{KeywordQuery, SearchIndex, VectorField, VectorQuery};

use crate::embed::QueryVectors;
use crate::{fusion, plan};

/// What tier 1 found.
pub struct Coarse {
    /// Every chunk that one of the signals found, in the order of reciprocal rank fusion.
    pub candidates: Vec<ScoredChunk>,
    /// The embedded question; `None` when the plan needs none or the embedder failed.
    pub vectors: Option<QueryVectors>,
}

/// Runs tier 1. The question is embedded (`embedding`) while the keyword side works.
pub async fn search(
    index: &dyn SearchIndex,
    plan: &QueryPlan,
    embedding: impl Future<Output = Option<QueryVectors>>,
    reciprocal_rank_constant: f32,
) -> Result<Coarse> {
    let by_vector = async {
        let vectors = embedding.await;
        let found = match &vectors {
            Some(vectors) => vector(index, plan, vectors).await?,
            None => Vec::new(),
        };
        Ok((vectors, found))
    };
    let (by_keyword, (vectors, by_vector)) = futures::try_join!(keyword(index, plan), by_vector)?;
    let candidates = fusion::reciprocal_rank(&[&by_keyword, &by_vector], reciprocal_rank_constant);
    Ok(Coarse {
        candidates,
        vectors,
    })
}

async fn keyword(index: &dyn SearchIndex, plan: &QueryPlan) -> Result<Vec<ScoredChunk>> {
    if !plan::uses_keywords(plan) {
        return Ok(Vec::new());
    }
    index
        .keyword(KeywordQuery {
            generation: plan.generation.as_deref(),
            tokens: &plan.tokens,
            filter: &plan.filter,
            candidates: None,
            limit: plan.coarse.keyword,
        })
        .await
}

async fn vector(
    index: &dyn SearchIndex,
    plan: &QueryPlan,
    vectors: &QueryVectors,
) -> Result<Vec<ScoredChunk>> {
    let query = VectorQuery {
        generation: plan.generation.as_deref(),
        vector: &vectors.coarse,
        field: VectorField::Coarse,
        filter: &plan.filter,
        candidates: None,
        limit: plan.coarse.vector,
    };
    index.vector(query).await
}
