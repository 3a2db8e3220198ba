//! Tier 1 (粗筛): the best chunks by keyword and by vector, in parallel and under the filter,
//! merged; and those of the documents that the question names.

use std::collections::HashSet;
use std::future::Future;

use tributary_schemas::search::{QueryPlan, ScoredChunk};
use tributary_schemas::{ChunkId, Result};
use tributary_store::search_index::{KeywordQuery, SearchIndex, VectorField, VectorQuery};

use crate::embed::QueryVectors;
use crate::exact_name::Naming;
use crate::named::Names;
use crate::serving::Serving;
use crate::{fusion, leaving, plan};

/// What tier 1 found.
pub struct Coarse {
    /// Every chunk that one of the signals found, in the order of reciprocal rank fusion, and behind
    /// them what is there for its document's name alone, with a score of 0.
    pub candidates: Vec<ScoredChunk>,
    /// Those of them that are there for their document's name.
    pub named: HashSet<ChunkId>,
    /// The embedded question; `None` when the plan needs none or the embedder failed.
    pub vectors: Option<QueryVectors>,
}

/// What tier 1 is asked beside the plan.
pub struct Asked<'a> {
    /// Names that are looked up.
    pub names: Names,
    /// What a name has to be like.
    pub naming: Naming<'a>,
    /// The generation that is asked.
    pub serving: &'a Serving,
    /// See [`fusion::reciprocal_rank`].
    pub reciprocal_rank_constant: f32,
}

/// Runs tier 1. The question is embedded (`embedding`) while the keyword side works.
pub async fn search(
    index: &dyn SearchIndex,
    plan: &QueryPlan,
    asked: Asked<'_>,
    embedding: impl Future<Output = Option<QueryVectors>>,
) -> Result<Coarse> {
    let by_vector = async {
        let vectors = embedding.await;
        let (found, named) = match &vectors {
            Some(vectors) => futures::try_join!(
                vector(index, plan, vectors),
                asked
                    .names
                    .chunks(index, plan, asked.naming, &vectors.coarse)
            )?,
            None => {
                let any = leaving::any_vector(asked.serving);
                let named = asked.names.chunks(index, plan, asked.naming, &any);
                (Vec::new(), named.await?)
            }
        };
        Ok((vectors, found, named))
    };
    let (by_keyword, (vectors, by_vector, named)) =
        futures::try_join!(keyword(index, plan), by_vector)?;
    let named: HashSet<ChunkId> = named.into_iter().collect();
    let signals = [by_keyword.as_slice(), &by_vector];
    let mut candidates = fusion::reciprocal_rank(&signals, asked.reciprocal_rank_constant);
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
