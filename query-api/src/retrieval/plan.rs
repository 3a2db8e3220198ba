//! Turns a request into a [`QueryPlan`]: plain data that is checked, logged and then run by
//! [`super::retriever`].

use tributary_schemas::search::{QueryPlan, SearchRequest, Strategy};

use super::config::Config;
use super::vector_weight::vector_weight;
use crate::problem::{Code, Problem};

/// Most chunks around a hit that a request may ask for, on each side.
pub const MAXIMUM_NEIGHBOURS: u32 = 5;
/// Most values of one filter condition, and most weights of a profile.
pub const MAXIMUM_VALUES: usize = 1000;

/// Refuses a request that cannot be searched. Called before anything is spent on it.
pub fn check(request: &SearchRequest, config: &Config) -> Result<(), Problem> {
    check_query(&request.query, config)?;
    let top_k = request.top_k.unwrap_or(config.top_k);
    if top_k == 0 || top_k > config.maximum_top_k {
        return Err(invalid(format!(
            "top_k is {top_k}, it must be between 1 and {}",
            config.maximum_top_k
        )));
    }
    if request.neighbours > MAXIMUM_NEIGHBOURS {
        return Err(invalid(format!(
            "neighbours is {}, it must be at most {MAXIMUM_NEIGHBOURS}",
            request.neighbours
        )));
    }
    if let Some(score) = request
        .minimum_score
        .filter(|score| !(0.0..=1.0).contains(score))
    {
        return Err(invalid(format!(
            "minimum_score is {score}, it must be between 0 and 1"
        )));
    }
    if let Some((tag, weight)) = request
        .profile
        .iter()
        .find(|(_, weight)| !weight.is_finite() || **weight < 0.0)
    {
        return Err(invalid(format!(
            "weight of tag `{tag}` in profile is {weight}, it must be 0 or more"
        )));
    }
    let longest = request
        .filter
        .term_conditions()
        .iter()
        .map(Vec::len)
        .max()
        .unwrap_or(0)
        .max(request.profile.len());
    if longest > MAXIMUM_VALUES {
        return Err(invalid(format!(
            "a filter condition or profile has {longest} values, at most {MAXIMUM_VALUES} are accepted"
        )));
    }
    Ok(())
}

fn check_query(query: &str, config: &Config) -> Result<(), Problem> {
    if query.trim().is_empty() {
        return Err(Problem::new(Code::EmptyQuery, "query is empty")
            .with_hint("put the question into `query`"));
    }
    if query.len() > config.query_limit_bytes {
        let what = format!(
            "query is {} bytes long, at most {} are accepted",
            query.len(),
            config.query_limit_bytes
        );
        return Err(Problem::new(Code::QueryTooLong, what)
            .with_hint("search for the part of the text that names the problem"));
    }
    Ok(())
}

fn invalid(detail: String) -> Problem {
    Problem::new(Code::Invalid, detail)
}

/// The plan of a request that [`check`] let pass. `query` is the trimmed and folded question,
/// `tokens` what the analyzer cut it into, `reranker` the name of the configured one.
pub fn plan(
    request: &SearchRequest,
    query: String,
    tokens: Vec<String>,
    reranker: Option<&str>,
    config: &Config,
) -> QueryPlan {
    let query_tokens = tokens.len();
    let vector_weight = match request.strategy {
        Strategy::Hybrid => vector_weight(query_tokens, &config.vector_weight),
        Strategy::Semantic => 1.0,
        Strategy::FullText => 0.0,
    };
    QueryPlan {
        generation: None,
        query,
        tokens,
        query_tokens,
        vector_weight,
        strategy: request.strategy,
        filter: request.filter.clone(),
        coarse: config.coarse,
        fine: config.fine,
        fine_keep: config.fine_keep,
        reranker: reranker
            .filter(|_| request.rerank.unwrap_or(true))
            .map(str::to_owned),
        top_k: request.top_k.unwrap_or(config.top_k),
        minimum_score: request.minimum_score,
        profile: request.profile.clone(),
        fold: config.near_duplicates.limits(request.unfold),
    }
}

/// Whether the plan asks the vector side. A question without any letter or digit (`???`, 「」)
/// means nothing to a model: every chunk would be found by chance, so nothing is. One made of stop
/// words alone is searched by vectors.
pub fn uses_vectors(plan: &QueryPlan) -> bool {
    plan.strategy != Strategy::FullText && plan.query.chars().any(char::is_alphanumeric)
}

/// Whether the plan asks the keyword side.
pub fn uses_keywords(plan: &QueryPlan) -> bool {
    plan.strategy != Strategy::Semantic && !plan.tokens.is_empty()
}
