//! One question asked in several ways: tiers 1 and 2 for each, in parallel, united, and tier 3 for
//! the standalone question.
//!
//! score(chunk) = maxᵢ (scoreᵢ · (1 + Sᵢ)) / (1 + S): the best of its scores against each text, on
//! the scale of the text that names something most exactly ([`crate::exact_name`], Sᵢ the highest
//! strength of a text, S that of all). Equal scores are ordered by the sum of reciprocal ranks.
//!
//! What more texts never do: for every k, the best ⌊k / 2⌋ chunks that the question alone has are
//! among the first k. Beyond those, a chunk of the question alone gives way only to chunks that
//! score at least as high.

use std::collections::{HashMap, HashSet};

use futures::future::try_join_all;
use tributary_schemas::ChunkId;
use tributary_schemas::search::{QueryPlan, SearchRequest, Strategy};
use tributary_schemas::understanding::Understanding;

use crate::access::Principal;
use crate::error::SearchError;
use crate::fine::{self, FineChunk};
use crate::fusion::reciprocal_rank;
use crate::overtaken::Overtakable;
use crate::retriever::{Outcome, Retriever};
use crate::route::{Found, Route, United};

/// A search for all that an understanding says.
#[derive(Clone, Debug)]
pub struct SearchedAll {
    /// The answer to the standalone question.
    pub outcome: Outcome,
    /// How each text was searched for: the standalone question first, then the others in the order
    /// of [`Understanding::searches`], then the hypothetical passage.
    pub plans: Vec<QueryPlan>,
}

impl Overtakable for SearchedAll {
    fn is_overtaken(&self) -> bool {
        self.outcome.overtaken
    }

    fn degraded(&mut self) -> &mut Vec<String> {
        &mut self.outcome.response.degraded
    }
}

impl Retriever {
    /// Searches for all of [`Understanding::searches`], and by the vector of the hypothetical
    /// passage if there is one; `request.query` does not count. A text that is too long or empty
    /// is left out, unless it is the standalone question. With one text this is [`Self::search`].
    pub async fn search_all(
        &self,
        request: &SearchRequest,
        understanding: &Understanding,
        principal: &Principal,
    ) -> Result<SearchedAll, SearchError> {
        self.until_current(|| self.search_all_once(request, understanding, principal))
            .await
    }

    async fn search_all_once(
        &self,
        request: &SearchRequest,
        understanding: &Understanding,
        principal: &Principal,
    ) -> Result<SearchedAll, SearchError> {
        let request = SearchRequest {
            query: understanding.standalone_question.clone(),
            ..request.clone()
        };
        let route = Route::begin(self, &request, principal)?;
        let limit = self.limits().query_limit_bytes;
        let texts = understanding.searches().into_iter();
        let mut texts: Vec<(&str, Strategy)> = texts
            .enumerate()
            .filter(|(at, text)| *at == 0 || text.len() <= limit)
            .map(|(_, text)| (text, request.strategy))
            .collect();
        let passage = understanding.hypothetical_passage.as_deref();
        let passage = passage.filter(|passage| {
            let may_ask_vectors = request.strategy != Strategy::FullText;
            may_ask_vectors && !passage.trim().is_empty() && passage.len() <= limit
        });
        texts.extend(passage.map(|passage| (passage, Strategy::Semantic)));
        let searches = texts
            .iter()
            .map(|(text, strategy)| self.find(&route, text, *strategy));
        let mut found = try_join_all(searches).await?;
        let plans = found.iter().map(|found| found.plan.clone()).collect();
        let others = found.split_off(1);
        let Some(of_question) = found.pop() else {
            return Err(SearchError::EmptyQuery);
        };
        let united = (!others.is_empty()).then(|| self.united(&of_question, others));
        let outcome = self.answer(&route, of_question, united).await?;
        Ok(SearchedAll { outcome, plans })
    }

    fn united(&self, of_question: &Found, others: Vec<Found>) -> United {
        let found = || std::iter::once(of_question).chain(&others);
        let candidates: Vec<_> = found()
            .map(|found| found.coarse.candidates.as_slice())
            .collect();
        let candidates = reciprocal_rank(&candidates, self.config.reciprocal_rank_constant);
        let ranks = candidates
            .iter()
            .map(|candidate| (candidate.chunk_id, candidate.score))
            .collect();
        let fine: Vec<&[FineChunk]> = found().map(|found| found.fine.as_slice()).collect();
        let fine = unite(&fine, &ranks, of_question.plan.fine_keep);
        United {
            candidates,
            fine,
            others,
        }
    }
}

/// Unites rankings, that of the question first, each best first; at most `keep` chunks.
fn unite(rankings: &[&[FineChunk]], ranks: &HashMap<ChunkId, f32>, keep: usize) -> Vec<FineChunk> {
    let of_question = rankings.first().copied().unwrap_or_default();
    let mut best = best_of_each(rankings);
    let rank = |chunk: &FineChunk| ranks.get(&chunk.chunk_id).copied().unwrap_or(0.0);
    best.sort_unstable_by(|left, right| {
        let by_score = right.score.total_cmp(&left.score);
        let by_rank = by_score.then(rank(right).total_cmp(&rank(left)));
        by_rank.then(left.chunk_id.cmp(&right.chunk_id))
    });
    let mut united = with_every_second(of_question, best);
    united.truncate(keep);
    // What was put forward has a score that fits its place.
    let mut least = 0.0_f32;
    for chunk in united.iter_mut().rev() {
        chunk.score = chunk.score.max(least);
        least = chunk.score;
    }
    united
}

/// Each chunk once, with its best score on the scale of all rankings.
fn best_of_each(rankings: &[&[FineChunk]]) -> Vec<FineChunk> {
    let strongest = |ranking: &&[FineChunk]| fine::strongest(ranking);
    let highest = rankings.iter().map(strongest).fold(0.0, f32::max);
    let mut best: HashMap<ChunkId, FineChunk> = HashMap::new();
    for ranking in rankings {
        let scale = (1.0 + fine::strongest(ranking)) / (1.0 + highest);
        for chunk in *ranking {
            let score = chunk.score * scale;
            let known = best.entry(chunk.chunk_id);
            let known = known.or_insert(FineChunk { score, ..*chunk });
            if score > known.score {
                *known = FineChunk { score, ..*chunk };
            }
        }
    }
    best.into_values().collect()
}

/// The order of `best`, in which chunks of the question are put forward as far as its first ⌊k / 2⌋
/// must be among the first k.
fn with_every_second(of_question: &[FineChunk], best: Vec<FineChunk>) -> Vec<FineChunk> {
    let by_id: HashMap<ChunkId, FineChunk> =
        best.iter().map(|chunk| (chunk.chunk_id, *chunk)).collect();
    let mut placed: HashSet<ChunkId> = HashSet::new();
    let mut order: Vec<FineChunk> = Vec::with_capacity(best.len());
    let mut rest = best.into_iter();
    while order.len() < by_id.len() {
        let owed = order.len().div_ceil(2).checked_sub(1);
        let due = owed.and_then(|owed| of_question.get(owed));
        let due = due.filter(|chunk| !placed.contains(&chunk.chunk_id));
        let due = due.and_then(|chunk| by_id.get(&chunk.chunk_id).copied());
        let next = due.or_else(|| rest.find(|chunk| !placed.contains(&chunk.chunk_id)));
        let Some(next) = next else { break };
        placed.insert(next.chunk_id);
        order.push(next);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that look random, the same in every run.
    struct Random(u64);

    impl Random {
        fn below(&mut self, limit: u64) -> u64 {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (self.0 >> 33) % limit
        }

        fn ranking(&mut self) -> Vec<FineChunk> {
            let length = self.below(30);
            let mut ids = HashSet::new();
            let mut ranking: Vec<FineChunk> = Vec::new();
            for _ in 0..length {
                let id = u128::from(self.below(60));
                let score = self.below(11) as f32 / 10.0;
                if ids.insert(id) {
                    ranking.push(chunk(id, score));
                }
            }
            ranking.sort_by(|left, right| {
                right
                    .score
                    .total_cmp(&left.score)
                    .then(left.chunk_id.cmp(&right.chunk_id))
            });
            ranking
        }
    }

    fn chunk(id: u128, score: f32) -> FineChunk {
        FineChunk {
            chunk_id: ChunkId(id),
            keyword: 0.0,
            vector: 0.0,
            keyword_raw: 0.0,
            similarity: None,
            nearest_window: None,
            standing: score,
            exact_name: 0.0,
            score,
        }
    }

    fn ids(chunks: &[FineChunk]) -> Vec<ChunkId> {
        chunks.iter().map(|chunk| chunk.chunk_id).collect()
    }

    #[test]
    fn more_texts_never_lose_what_the_question_alone_finds() {
        let mut random = Random(7);
        for _ in 0..2000 {
            let rankings = [random.ranking(), random.ranking(), random.ranking()];
            let parts: Vec<&[FineChunk]> = rankings.iter().map(Vec::as_slice).collect();
            let united = unite(&parts, &HashMap::new(), 80);
            let scored: HashMap<ChunkId, f32> = best_of_each(&parts)
                .iter()
                .map(|chunk| (chunk.chunk_id, chunk.score))
                .collect();
            let alone = &rankings[0];
            for k in 1..=united.len() {
                let first: HashSet<ChunkId> = ids(&united[..k]).into_iter().collect();
                let half = alone.iter().take(k / 2);
                assert!(half.clone().all(|chunk| first.contains(&chunk.chunk_id)));
                let lost = alone
                    .iter()
                    .take(k)
                    .filter(|chunk| !first.contains(&chunk.chunk_id));
                for lost in lost {
                    let owed: HashSet<ChunkId> = half.clone().map(|chunk| chunk.chunk_id).collect();
                    let beaten = first
                        .iter()
                        .filter(|id| !owed.contains(id))
                        .all(|id| scored[id] >= lost.score);
                    assert!(beaten, "{lost:?} gave way to less");
                }
            }
            assert!(united.windows(2).all(|pair| pair[0].score >= pair[1].score));
            let unique: HashSet<ChunkId> = ids(&united).into_iter().collect();
            assert_eq!(unique.len(), united.len());
        }
    }

    #[test]
    fn one_ranking_stays_as_it_is() {
        let mut random = Random(3);
        for _ in 0..200 {
            let ranking = random.ranking();
            assert_eq!(unite(&[&ranking], &HashMap::new(), 80), ranking);
        }
    }

    #[test]
    fn the_best_score_counts_and_then_the_sum_of_ranks() {
        let question = [chunk(1, 1.0), chunk(2, 0.5), chunk(3, 0.1)];
        let variant = [chunk(4, 1.0), chunk(3, 0.9), chunk(1, 0.2)];
        let ranks = HashMap::from([(ChunkId(4), 0.02), (ChunkId(1), 0.01)]);
        let united = unite(&[&question, &variant], &ranks, 3);
        assert_eq!(ids(&united), [ChunkId(4), ChunkId(1), ChunkId(3)]);
        let named = FineChunk {
            exact_name: 1.0,
            ..chunk(5, 1.0)
        };
        let united = unite(&[&question, &[named]], &HashMap::new(), 4);
        let scores: Vec<f32> = united.iter().map(|chunk| chunk.score).collect();
        assert_eq!(ids(&united)[..2], [ChunkId(5), ChunkId(1)]);
        assert_eq!(scores, [1.0, 0.5, 0.25, 0.05]);
    }
}
