//! What tier 2 has of a question before both signals are weighed, for those who fit the weights:
//! the order for any weight of the vector side follows from it without another search.

use tributary_schemas::ChunkId;
use tributary_schemas::search::{QueryPlan, SearchRequest};
use tributary_store::search_index::Bm25;

use crate::access::Principal;
use crate::coverage;
use crate::error::SearchError;
use crate::exact_name::boosted;
use crate::fine::{self, FineChunk, Lists};
use crate::fusion;
use crate::retriever::Retriever;
use crate::route::Route;
use crate::weight_features::{WeightFeatures, features};

/// Both signals of one question, not yet weighed.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// Tokens of the question.
    pub query_tokens: usize,
    /// What the adaptive weight is made from; none where it does not adapt.
    pub features: Option<WeightFeatures>,
    /// What tier 2 orders, in no order.
    chunks: Vec<FineChunk>,
}

impl Evidence {
    /// The chunks as tier 2 orders them with this weight of the vector side, best first.
    pub fn order(&self, vector_weight: f32) -> Vec<ChunkId> {
        let weighed = weighed(&self.chunks, vector_weight);
        weighed.into_iter().map(|chunk| chunk.chunk_id).collect()
    }
}

impl Retriever {
    /// Runs tiers 1 and 2 for a request and stops before the weight counts: first as a search does,
    /// then with each of `others` in tier 2 in the place of the generation's numbers of BM25. Errors
    /// as [`Self::search`], and where the index knows no other numbers.
    pub async fn evidence(
        &self,
        request: &SearchRequest,
        principal: &Principal,
        others: &[Bm25],
    ) -> Result<Vec<Evidence>, SearchError> {
        let route = Route::begin(self, request, principal)?;
        let (mut plan, words) = self.plan(&route.request, &route.serving).await?;
        let content = coverage::content_tokens(&words, &plan.tokens).len();
        let mut degraded = Vec::new();
        let (coarse, _) = self
            .coarse(
                &mut plan,
                &route.request.query,
                &route.serving,
                &mut degraded,
            )
            .await?;
        let mut lists = self.lists(&plan, &coarse).await?;
        let candidates = coarse.candidates.iter();
        let candidates: Vec<ChunkId> = candidates.map(|candidate| candidate.chunk_id).collect();
        let mut evidence = vec![self.weighable(&plan, &lists, content).await?];
        for bm25 in others {
            let index = self.index.as_ref();
            lists.keyword = fine::keyword_with(index, &plan, &candidates, *bm25).await?;
            evidence.push(self.weighable(&plan, &lists, content).await?);
        }
        Ok(evidence)
    }

    async fn weighable(
        &self,
        plan: &QueryPlan,
        lists: &Lists,
        content_tokens: usize,
    ) -> Result<Evidence, SearchError> {
        Ok(Evidence {
            query_tokens: plan.query_tokens,
            features: features(lists, content_tokens),
            chunks: fine::unranked(self.of_fine(plan), lists).await?,
        })
    }
}

/// The order of [`fine::unranked`] chunks for a weight of the vector side, best first.
fn weighed(chunks: &[FineChunk], vector_weight: f32) -> Vec<FineChunk> {
    let highest = fine::strongest(chunks);
    let weigh = |chunk: &FineChunk| {
        let standing = fusion::relative_score(chunk.vector, chunk.keyword, vector_weight);
        FineChunk {
            standing,
            score: boosted(standing, chunk.exact_name, highest),
            ..*chunk
        }
    };
    let mut chunks: Vec<FineChunk> = chunks.iter().map(weigh).collect();
    fine::sort(&mut chunks);
    chunks
}
