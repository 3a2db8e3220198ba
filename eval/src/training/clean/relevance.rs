//! Whether a passage answers its question, as the index sees it: by the score of the reranker where
//! one is configured, else by the rank of the passage in tier 2.
//!
//! The rank is a wide net on purpose. What the present model ranks low is what a new one is to
//! learn; only what it does not find at all is more likely a bad question than a hard one.

use anyhow::{Result, bail};
use tributary_schemas::search::{Hit, SearchResponse};

use super::super::{Pair, Search};
use super::{Cleaned, Step};
use crate::runner::Progress;

/// What the index must say of a question.
#[derive(Clone, Copy, Debug)]
pub struct RelevanceLimits {
    /// Without a reranker: the passage is among so many hits.
    pub rank: usize,
    /// With one: least score of the passage, 0 to 1.
    pub rerank_score: f32,
}

/// Score of tier 3 in a hit; there is none where no reranker ran.
const RERANK: &str = "rerank";

/// Drops questions whose passage does not answer them. `Err` where none of them finds its passage:
/// they are of another index.
pub fn drop_irrelevant(
    cleaned: &mut Cleaned,
    limits: RelevanceLimits,
    index: &dyn Search,
    progress: &dyn Progress,
) -> Result<()> {
    let all = cleaned.kept.len();
    let mut reasons = Vec::with_capacity(all);
    let (mut found, mut reranked) = (0, 0);
    for (done, pair) in cleaned.kept.iter().enumerate() {
        progress.at("relevance", done, all);
        let response = index.search(&pair.question, limits.rank, true)?;
        found += usize::from(own(&response, pair).is_some());
        let mut hits = response.hits.iter();
        reranked += usize::from(hits.any(|hit| hit.scores.contains_key(RERANK)));
        reasons.push(reason(&response, pair, limits));
    }
    progress.at("relevance", all, all);
    if found == 0 && all > 0 {
        bail!(
            "no question finds its passage within {} hits\nhint: is this the index that the passages were read from? \
             --without-index keeps all questions",
            limits.rank
        );
    }
    cleaned.judged_by = Some(if reranked > 0 { "reranker" } else { "rank" });
    let mut reasons = reasons.into_iter();
    cleaned.drop_where(Step::Relevance, |_| reasons.next().flatten());
    Ok(())
}

/// The hit that is the pair's passage.
pub fn own<'a>(response: &'a SearchResponse, pair: &Pair) -> Option<&'a Hit> {
    let mut hits = response.hits.iter();
    hits.find(|hit| hit.chunk_id == pair.chunk_id || hit.text == pair.passage)
}

fn reason(response: &SearchResponse, pair: &Pair, limits: RelevanceLimits) -> Option<String> {
    let Some(hit) = own(response, pair) else {
        return Some(format!("not found within {}", limits.rank));
    };
    let score = hit.scores.get(RERANK)?;
    (*score < limits.rerank_score)
        .then(|| format!("reranked below {}: {score:.3}", limits.rerank_score))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::super::samples::{pair, response};
    use super::*;

    const LIMITS: RelevanceLimits = RelevanceLimits {
        rank: 10,
        rerank_score: 0.4,
    };

    #[test]
    fn a_reranker_decides_where_there_is_one_and_the_rank_elsewhere() {
        let mut answer = response(&[(2, "d", 0.9), (1, "d", 0.5)]);
        assert_eq!(reason(&answer, &pair("?", 1, "d"), LIMITS), None);
        let lost = reason(&answer, &pair("?", 3, "d"), LIMITS);
        assert_eq!(lost.as_deref(), Some("not found within 10"));
        answer.hits[1].scores.insert(RERANK.to_owned(), 0.25);
        let low = reason(&answer, &pair("?", 1, "d"), LIMITS);
        assert_eq!(low.as_deref(), Some("reranked below 0.4: 0.250"));
    }

    #[test]
    fn an_equal_text_under_another_id_is_the_same_passage() {
        let mut answer = response(&[(2, "copy", 0.9)]);
        answer.hits[0].text = "passage 1".to_owned();
        assert!(own(&answer, &pair("?", 1, "d")).is_some());
    }
}
