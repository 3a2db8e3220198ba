//! What tier 2 has of a question before both signals are weighed, for those who fit the weights:
//! the order for any weight of the vector side follows from it without another search.

use tributary_schemas::ChunkId;
use tributary_schemas::search::SearchRequest;

use crate::access::Principal;
use crate::error::SearchError;
use crate::exact_name::boosted;
use crate::fine::{self, FineChunk};
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
    /// Runs tiers 1 and 2 for a request and stops before the weight counts. Errors as
    /// [`Self::search`].
    pub async fn evidence(
        &self,
        request: &SearchRequest,
        principal: &Principal,
    ) -> Result<Evidence, SearchError> {
        let route = Route::begin(self, request, principal)?;
        let (mut plan, _) = self.plan(&route.request, &route.serving).await?;
        let mut degraded = Vec::new();
        let (coarse, _) = self
            .coarse(&mut plan, &route.serving, &mut degraded)
            .await?;
        let lists = self.lists(&plan, &coarse).await?;
        let chunks = fine::unranked(self.of_fine(&plan), &lists).await?;
        Ok(Evidence {
            query_tokens: plan.query_tokens,
            features: features(&lists),
            chunks,
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
