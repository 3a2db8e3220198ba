//! Turns a request into a [`QueryPlan`]: plain data that is checked, logged and then run by
//! [`crate::retriever`].

use std::collections::BTreeMap;

use tributary_schemas::search::{QueryPlan, SearchRequest, Strategy};

use crate::config::Config;
use crate::error::SearchError;
use crate::exact_name;
use crate::preferences;

/// Most chunks around a hit that a request may ask for, on each side.
pub const MAXIMUM_NEIGHBOURS: u32 = 5;
/// Most values of one filter condition, and most weights of a profile.
pub const MAXIMUM_VALUES: usize = 1000;
/// Most attributes that one filter asks for.
pub const MAXIMUM_ATTRIBUTES: usize = 100;

/// Refuses a request that cannot be searched. Called before anything is spent on it.
pub fn check(request: &SearchRequest, config: &Config) -> Result<(), SearchError> {
    check_query(&request.query, config)?;
    let top_k = request.top_k.unwrap_or(config.top_k);
    if top_k == 0 || top_k > config.maximum_top_k {
        return Err(SearchError::Invalid(format!(
            "top_k is {top_k}, it must be between 1 and {}",
            config.maximum_top_k
        )));
    }
    if request.per_document == Some(0) {
        return Err(SearchError::Invalid(
            "per_document is 0, it must be at least 1; leave it out for any number".to_owned(),
        ));
    }
    if request.neighbours > MAXIMUM_NEIGHBOURS {
        return Err(SearchError::Invalid(format!(
            "neighbours is {}, it must be at most {MAXIMUM_NEIGHBOURS}",
            request.neighbours
        )));
    }
    check_share("minimum_score", request.minimum_score)?;
    check_share("vector_weight", request.vector_weight)?;
    if request.vector_weight.is_some() && request.strategy != Strategy::Hybrid {
        return Err(SearchError::Invalid(
            "vector_weight is given and strategy is not hybrid: only one side is searched"
                .to_owned(),
        ));
    }
    check_share("minimum_relevance", request.minimum_relevance)?;
    if request.minimum_relevance.is_some() && request.strategy == Strategy::Semantic {
        return Err(SearchError::Invalid(
            "minimum_relevance is given and strategy is semantic: relevance is estimated from \
             keywords too"
                .to_owned(),
        ));
    }
    if let Some((tag, weight)) = request
        .profile
        .iter()
        .find(|(_, weight)| !weight.is_finite() || **weight < 0.0)
    {
        return Err(SearchError::Invalid(format!(
            "weight of tag `{tag}` in profile is {weight}, it must be 0 or more"
        )));
    }
    let attributes = request.filter.attributes.as_ref().map_or(0, BTreeMap::len);
    if attributes > MAXIMUM_ATTRIBUTES {
        return Err(SearchError::Invalid(format!(
            "filter.attributes names {attributes} attributes, at most {MAXIMUM_ATTRIBUTES} are accepted"
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
        return Err(SearchError::Invalid(format!(
            "a filter condition or profile has {longest} values, at most {MAXIMUM_VALUES} are accepted"
        )));
    }
    Ok(())
}

fn check_share(name: &str, value: Option<f32>) -> Result<(), SearchError> {
    match value.filter(|value| !(0.0..=1.0).contains(value)) {
        Some(value) => Err(SearchError::Invalid(format!(
            "{name} is {value}, it must be between 0 and 1"
        ))),
        None => Ok(()),
    }
}

fn check_query(query: &str, config: &Config) -> Result<(), SearchError> {
    if query.trim().is_empty() {
        return Err(SearchError::EmptyQuery);
    }
    if query.len() > config.query_limit_bytes {
        return Err(SearchError::QueryTooLong {
            bytes: query.len(),
            maximum: config.query_limit_bytes,
        });
    }
    Ok(())
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
        Strategy::Hybrid => {
            let planned = || config.vector_weight.planned(query_tokens);
            let weight = request.vector_weight.unwrap_or_else(planned);
            (weight + preferences::shift(request)).clamp(0.0, 1.0)
        }
        Strategy::Semantic => 1.0,
        Strategy::FullText => 0.0,
    };
    QueryPlan {
        generation: None,
        names: exact_name::in_question(&query),
        query,
        tokens,
        query_tokens,
        vector_weight,
        weight_features: BTreeMap::new(),
        strategy: request.strategy,
        filter: request.filter.clone(),
        coarse: config.coarse,
        fine: config.fine,
        fine_keep: config.fine_keep,
        window_weight: config.window_weight,
        reranker: reranker
            .filter(|_| request.rerank.unwrap_or(true))
            .map(str::to_owned),
        top_k: request.top_k.unwrap_or(config.top_k),
        per_document: request.per_document,
        minimum_score: request.minimum_score,
        minimum_relevance: request.minimum_relevance,
        profile: preferences::tag_weights(request),
        preferences: None,
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
