//! Tier 1 (粗筛): the best chunks by keyword and by vector, in parallel and under the filter,
//! merged; and those of the documents that the question names.

use std::collections::HashSet;
use std::future::Future;

use tributary_schemas::search::{QueryPlan, ScoredChunk};
use tributary_schemas::{ChunkId, Result};
use tributary_store::search_index::{KeywordQuery, SearchIndex, VectorField, VectorQuery};

use crate::embed::QueryVectors;
use crate::{fusion, named, plan};

/// What tier 1 found.
pub struct Coarse {
    /// Every chunk that one of the signals found, in the order of reciprocal rank fusion.
    pub candidates: Vec<ScoredChunk>,
    /// Those of them that are there for their document's name.
    pub named: HashSet<ChunkId>,
    /// The embedded question; `None` when the plan needs none or the embedder failed.
    pub vectors: Option<QueryVectors>,
}

/// Runs tier 1. The question is embedded (`embedding`) while the keyword side works; `documents` are
/// those that it names.
pub async fn search(
    index: &dyn SearchIndex,
    plan: &QueryPlan,
    documents: impl Future<Output = Result<Vec<String>>>,
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
    let (by_keyword, (vectors, by_vector), documents) =
        futures::try_join!(keyword(index, plan), by_vector, documents)?;
    let named = named::chunks(index, plan, vectors.as_ref(), &documents).await?;
    let named: HashSet<ChunkId> = named.into_iter().collect();
    let signals = [by_keyword.as_slice(), &by_vector];
    let mut candidates = fusion::reciprocal_rank(&signals, reciprocal_rank_constant);
    add_unfound(&mut candidates, &named);
    Ok(Coarse {
        candidates,
        named,
        vectors,
    })
}

/// Adds what no signal found, behind all that one did.
fn add_unfound(candidates: &mut Vec<ScoredChunk>, named: &HashSet<ChunkId>) {
    let found: HashSet<ChunkId> = candidates.iter().map(|found| found.chunk_id).collect();
    let unfound = named.difference(&found).map(|chunk_id| ScoredChunk {
        chunk_id: *chunk_id,
        score: 0.0,
    });
    candidates.extend(unfound);
    fusion::sort_best_first(candidates);
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
