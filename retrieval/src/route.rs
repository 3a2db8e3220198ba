//! The steps of a search that one question and several ways to ask it have in common: what is found
//! for one text, and the answer that is made of it.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use tributary_schemas::search::{
    Hit, QueryPlan, ScoredChunk, SearchRequest, SearchResponse, Strategy, TierSummary, TierTrace,
};
use tributary_schemas::{ChunkId, Filter};

use crate::access::Principal;
use crate::adapting::Adapting;
use crate::coverage::{self, TokenScores, Word};
use crate::elapsed::elapsed_ms;
use crate::error::SearchError;
use crate::exact_name::Naming;
use crate::fine::FineChunk;
use crate::hits::{self, Asked, Scores};
use crate::relevance::Estimates;
use crate::retriever::{Outcome, Ranking, Retriever, degrade};
use crate::serving::Serving;
use crate::{coarse, plan};

type SearchResult<T> = std::result::Result<T, SearchError>;

/// Names in [`SearchResponse::tiers`] and in metrics.
const TIER_COARSE: &str = "coarse";
/// See [`TIER_COARSE`].
const TIER_FINE: &str = "fine";
/// See [`TIER_COARSE`].
const TIER_RERANK: &str = "rerank";

/// What all steps of one search share.
pub(crate) struct Route<'a> {
    /// As asked, with the filter that holds.
    pub request: SearchRequest,
    /// The filter as asked for.
    pub wishes: &'a Filter,
    /// Who asks.
    pub principal: &'a Principal,
    /// The generation that answers, from the first step to the last.
    pub serving: Arc<Serving>,
    started: Instant,
}

impl<'a> Route<'a> {
    /// Checks the request and joins its filter with what the principal may see.
    pub fn begin(
        retriever: &Retriever,
        request: &'a SearchRequest,
        principal: &'a Principal,
    ) -> SearchResult<Self> {
        let started = Instant::now();
        plan::check(request, &retriever.config)?;
        retriever.check_preferences(request)?;
        let filter = retriever.filter(&request.filter, principal)?;
        Ok(Self {
            request: SearchRequest {
                filter,
                ..request.clone()
            },
            wishes: &request.filter,
            principal,
            serving: retriever.serving.current(),
            started,
        })
    }
}

/// What tiers 1 and 2 found for one text.
pub(crate) struct Found {
    /// The text.
    query: String,
    /// How it was searched for.
    pub plan: QueryPlan,
    words: Vec<Word>,
    tokens: TokenScores,
    /// Tier 1.
    pub coarse: coarse::Coarse,
    /// Tier 2, best first.
    pub fine: Vec<FineChunk>,
    summaries: [TierSummary; 2],
    /// Whether candidates were gone before tier 2 saw them.
    overtaken: bool,
    degraded: Vec<String>,
}

/// What was found for several texts, united.
pub(crate) struct United {
    /// Candidates of all of them.
    pub candidates: Vec<ScoredChunk>,
    /// The best of all of them, best first.
    pub fine: Vec<FineChunk>,
    /// What was found for each text but the question itself.
    pub others: Vec<Found>,
}

/// What all three tiers made of it.
struct Ranked {
    coarse: Vec<ScoredChunk>,
    fine: Vec<ScoredChunk>,
    ranking: Ranking,
    hits: Vec<Hit>,
    overtaken: bool,
    degraded: Vec<String>,
}

impl Ranked {
    fn summaries(&self, found: &Found) -> [(&'static str, TierSummary); 3] {
        let [mut coarse, mut fine] = found.summaries.clone();
        (coarse.candidates, fine.candidates) = (self.coarse.len(), self.fine.len());
        [
            (TIER_COARSE, coarse),
            (TIER_FINE, fine),
            (TIER_RERANK, self.ranking.summary.clone()),
        ]
    }

    /// Counts and traces of what is shown alone: what was withheld must not be counted either.
    fn keep_shown(&mut self) {
        let shown: HashSet<ChunkId> = self.hits.iter().map(|hit| hit.chunk_id).collect();
        let is_shown = |chunk: &ScoredChunk| shown.contains(&chunk.chunk_id);
        self.coarse.retain(is_shown);
        self.fine.retain(is_shown);
        if let Some(reranked) = &mut self.ranking.reranked {
            reranked.order.retain(is_shown);
        }
        self.ranking.summary.candidates = self.hits.len();
    }

    fn traces(&self, summaries: &[(&'static str, TierSummary); 3]) -> Vec<TierTrace> {
        let reranked = self.ranking.reranked.as_ref();
        let last = reranked.map_or(&self.fine, |reranked| &reranked.order);
        let found = [&self.coarse, &self.fine, last];
        let tiers = summaries.iter().zip(found);
        tiers
            .map(|((tier, summary), found)| trace(tier, summary, found))
            .collect()
    }
}

impl Retriever {
    /// Plans the search for one text and runs tiers 1 and 2.
    pub(crate) async fn find(
        &self,
        route: &Route<'_>,
        query: &str,
        strategy: Strategy,
    ) -> SearchResult<Found> {
        let request = SearchRequest {
            query: query.to_owned(),
            strategy,
            // A weight is for both signals.
            vector_weight: route
                .request
                .vector_weight
                .filter(|_| strategy == Strategy::Hybrid),
            ..route.request.clone()
        };
        plan::check(&request, &self.config)?;
        let serving = &route.serving;
        let mut degraded = self.lacking(serving);
        let (mut plan, words) = self.plan(&request, serving).await?;
        let content = coverage::content_tokens(&words, &plan.tokens);
        let planned = plan.clone();
        let (tokens, coarse) = futures::join!(
            coverage::token_scores(self.index.as_ref(), &planned, &content),
            self.coarse(&mut plan, query, serving, &mut degraded)
        );
        let (tokens, (coarse, coarse_summary)) = (tokens?, coarse?);
        let adapting = Adapting::of(&self.config, &request, serving, content.len());
        let sifted = self.fine(&mut plan, &coarse, adapting).await?;
        let (mut fine, fine_summary) = (sifted.fine, sifted.summary);
        coverage::score_by_content(self.index.as_ref(), &plan, &content, &mut fine).await?;
        Ok(Found {
            query: query.to_owned(),
            plan,
            words,
            tokens,
            coarse,
            fine,
            summaries: [coarse_summary, fine_summary],
            overtaken: sifted.overtaken,
            degraded,
        })
    }

    /// Runs tier 3 on what was found for the question, united with what was found for others, and
    /// makes hits of it.
    pub(crate) async fn answer(
        &self,
        route: &Route<'_>,
        found: Found,
        others: Option<United>,
    ) -> SearchResult<Outcome> {
        let (request, serving) = (&route.request, &route.serving);
        let plan = &found.plan;
        let mut degraded = found.degraded.clone();
        let (candidates, fine) = match &others {
            Some(united) => (&united.candidates, &united.fine),
            None => (&found.coarse.candidates, &found.fine),
        };
        let ranking = self.rerank(plan, serving, fine, &mut degraded).await;
        let fine_order: Vec<ScoredChunk> = fine.iter().copied().map(ScoredChunk::from).collect();
        let reranked = ranking.reranked.as_ref();
        let estimates = self.estimates(&found, serving);
        let mut scores = Scores::new(
            &found.query,
            &found.fine,
            reranked.map(|reranked| &reranked.scores),
            &estimates,
        );
        for other in others.iter().flat_map(|united| &united.others) {
            scores.add(&other.query, &other.fine, &self.estimates(other, serving));
            let lesser = other.degraded.iter();
            lesser.for_each(|what| degrade(&mut degraded, what));
        }
        let found_of_others = others.iter().flat_map(|united| &united.others);
        let overtaken = found.overtaken || found_of_others.into_iter().any(|one| one.overtaken);
        let order = reranked.map_or(&fine_order, |reranked| &reranked.order);
        let order = above(order, plan.minimum_score);
        let asked = Asked {
            request,
            plan,
            naming: Naming::new(plan, &self.config.exact_name),
        };
        let loaded = hits::load(self.index.as_ref(), &asked, order, &scores).await?;
        if loaded.lacks_damaged {
            degrade(&mut degraded, "chunks");
        }
        let ranked = Ranked {
            coarse: candidates.clone(),
            fine: fine_order,
            ranking,
            hits: loaded.hits,
            overtaken: overtaken || loaded.lacks_gone,
            degraded,
        };
        self.outcome(route, &found, ranked).await
    }

    /// The hits with everything that is said about how they were found.
    async fn outcome(
        &self,
        route: &Route<'_>,
        found: &Found,
        mut ranked: Ranked,
    ) -> SearchResult<Outcome> {
        let (request, plan) = (&route.request, &found.plan);
        if plan.filter.may_be_withheld() {
            ranked.keep_shown();
        }
        let summaries = ranked.summaries(found);
        let traces = request.explain.then(|| ranked.traces(&summaries));
        let seen = (plan, ranked.coarse.as_slice(), &found.coarse);
        let unmet_filter = self
            .unmet_filter(route.wishes, route.principal, seen)
            .await?;
        // Where it may be the filter that lets nothing be found, words that are not found say nothing.
        let may_be_filter = !route.wishes.is_unrestricted() && ranked.coarse.is_empty();
        let unmatched_terms = match unmet_filter {
            Some(_) => Vec::new(),
            None if may_be_filter && plan.filter.may_be_withheld() => Vec::new(),
            None => self.unmatched_terms(found, &ranked.hits).await?,
        };
        let tiers = summaries.into_iter();
        let response = SearchResponse {
            query: request.query.clone(),
            took_ms: elapsed_ms(route.started),
            degraded: ranked.degraded,
            unmatched_terms,
            unmet_filter,
            tiers: tiers
                .map(|(tier, summary)| (tier.to_owned(), summary))
                .collect::<BTreeMap<_, _>>(),
            hits: ranked.hits,
            plan: request.explain.then(|| plan.clone()),
            traces,
        };
        Ok(Outcome {
            response,
            coarse: ranked.coarse,
            fine: ranked.fine,
            overtaken: ranked.overtaken,
        })
    }

    /// What of the question stands in nothing that the caller may find.
    async fn unmatched_terms(&self, found: &Found, hits: &[Hit]) -> SearchResult<Vec<String>> {
        let (plan, best) = (&found.plan, best_relevance(hits));
        let mut nowhere = coverage::unmatched(&found.words, &found.tokens, best);
        if plan::uses_keywords(plan) {
            let index = self.index.as_ref();
            nowhere.extend(coverage::sequences_nowhere(index, plan, &found.query, best).await?);
        }
        Ok(coverage::without_parts(nowhere, hits))
    }

    /// How relevance is estimated for one search.
    fn estimates<'a>(&'a self, found: &'a Found, serving: &'a Serving) -> Estimates<'a> {
        Estimates {
            config: &self.config.relevance,
            model: serving.models.embedder.fine_name(),
            reranker: found.plan.reranker.as_deref(),
            tokens: plan::uses_keywords(&found.plan).then_some(&found.tokens),
        }
    }
}

/// 0 where nothing was found, or no relevance is estimated.
fn best_relevance(hits: &[Hit]) -> f32 {
    let known = hits.iter().filter_map(|hit| hit.relevance);
    known.fold(0.0, f32::max)
}

/// The part of `ranked` (best first) whose score reaches the minimum.
fn above(ranked: &[ScoredChunk], minimum_score: Option<f32>) -> &[ScoredChunk] {
    let Some(minimum) = minimum_score else {
        return ranked;
    };
    let end = ranked.partition_point(|chunk| chunk.score >= minimum);
    ranked.split_at(end).0
}

fn trace(tier: &str, summary: &TierSummary, candidates: &[ScoredChunk]) -> TierTrace {
    TierTrace {
        tier: tier.to_owned(),
        ms: summary.ms,
        candidates: candidates.to_vec(),
    }
}
