//! Sides: parts of the documents that are searched apart, each in its own way, whose hits are then
//! put together. Which sides there are and how each is searched is data of a profile.

use std::collections::BTreeMap;
use std::collections::HashMap;

use futures::future::{join_all, try_join_all};
use serde::{Deserialize, Serialize};
use tributary_schemas::ask::{AskRequest, SideFound};
use tributary_schemas::search::{Hit, SearchRequest, SearchResponse, Strategy};
use tributary_schemas::understanding::Understanding;
use tributary_schemas::unmet::UnmetFilter;
use tributary_schemas::{ChunkId, Filter};

use super::finding::{self, Bar, Found};
use super::{Asked, Asker};
use crate::error::SearchError;
use crate::retriever::degrade;
use crate::understand::Understood;

/// What is named where a side is searched by the question, since no passage was made up.
const NO_PASSAGE: &str = "hypothetical_passage";

/// A part of the documents. An empty list sets no condition; several conditions hold together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Scope {
    /// In any of these knowledge sets.
    pub knowledge_sets: Vec<String>,
    /// With any of these tags.
    pub tags: Vec<String>,
    /// From any of these sources.
    pub sources: Vec<String>,
    /// With any of these values of an attribute, each as `name=value`; of several attributes with
    /// one of each.
    pub attributes: Vec<String>,
}

impl Scope {
    /// As a filter.
    pub fn filter(&self) -> Filter {
        let given = |values: &[String]| (!values.is_empty()).then(|| values.to_vec());
        let mut attributes: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, value) in self.attributes.iter().filter_map(|one| one.split_once('=')) {
            let values = attributes.entry(name.to_owned()).or_default();
            values.push(value.to_owned());
        }
        Filter {
            knowledge_sets: given(&self.knowledge_sets),
            tags: given(&self.tags),
            sources: given(&self.sources),
            attributes: (!attributes.is_empty()).then_some(attributes),
            ..Filter::default()
        }
    }

    /// Everything that is wrong with it, one line each.
    pub fn problems(&self, key: &str) -> Vec<String> {
        let lists = [
            ("knowledge_sets", &self.knowledge_sets),
            ("tags", &self.tags),
            ("sources", &self.sources),
        ];
        let blank = lists
            .into_iter()
            .filter(|(_, values)| values.iter().any(|value| value.trim().is_empty()));
        let blank = blank.map(|(name, _)| format!("{key}.{name} has an empty value"));
        let is_pair = |one: &&String| {
            let pair = one.split_once('=');
            pair.is_some_and(|(name, value)| !name.is_empty() && !value.is_empty())
        };
        let broken = self.attributes.iter().filter(|one| !is_pair(one));
        let broken = broken.map(|one| format!("{key}.attributes: `{one}` is not name=value"));
        blank.chain(broken).collect()
    }
}

/// What a side is searched for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SideText {
    /// The question as it is asked without what was said before.
    #[default]
    Question,
    /// A made-up passage that could answer it; the question where there is none, which is named in
    /// `degraded`.
    HypotheticalPassage,
}

/// A part of the documents and how it is searched.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Side {
    /// What answers call it.
    pub name: String,
    /// Where it lies.
    pub scope: Scope,
    /// What it is searched for.
    #[serde(default)]
    pub text: SideText,
    /// Which signals are used.
    #[serde(default)]
    pub strategy: Strategy,
    /// Weight of the keywords, 0 to 1, the rest being that of the vectors; by the length of the
    /// question when absent. With the strategy `hybrid` alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keyword_weight: Option<f32>,
    /// Whether tier 3 runs when a reranker is configured.
    #[serde(default)]
    pub rerank: bool,
    /// Passages that it gives at most.
    pub top_k: usize,
}

/// Everything that is wrong with the sides of a workflow, one line each.
pub fn problems(sides: &[Side], workflow: &str) -> Vec<String> {
    let mut problems = Vec::new();
    for (at, side) in sides.iter().enumerate() {
        let key = format!("{workflow}.sides[{at}]");
        let before = sides.get(..at).unwrap_or_default();
        let is_hybrid = side.strategy == Strategy::Hybrid;
        let weight = side.keyword_weight;
        let rules = [
            (!side.name.trim().is_empty(), "name must say something"),
            (
                before.iter().all(|one| one.name != side.name),
                "name is that of another side",
            ),
            (side.top_k > 0, "top_k must be at least 1"),
            (
                weight.is_none_or(|weight| (0.0..=1.0).contains(&weight)),
                "keyword_weight must lie between 0 and 1",
            ),
            (
                weight.is_none() || is_hybrid,
                "keyword_weight goes with the strategy hybrid alone",
            ),
        ];
        let broken = rules.iter().filter(|(holds, _)| !holds);
        problems.extend(broken.map(|(_, rule)| format!("{key}.{rule}")));
        problems.extend(side.scope.problems(&format!("{key}.scope")));
    }
    problems
}

/// How the hits of all sides are put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joining {
    /// One side after the other.
    Concatenated,
    /// By score over all.
    Sorted,
}

/// A search of all sides.
pub struct Sides<'a> {
    /// The sides.
    pub sides: &'a [Side],
    /// How their hits are put together.
    pub joining: Joining,
    /// Passages of all together at most.
    pub passages: usize,
    /// Below which relevance of the best passage nothing answers.
    pub bar: Bar,
}

/// What one side found.
struct SideHits {
    hits: Vec<Hit>,
    found: SideFound,
    responses: Vec<SearchResponse>,
}

/// Searches all sides at the same time, for the standalone question of `understood`.
pub async fn search(
    asker: &Asker,
    asked: &Asked,
    understood: Understood,
    sides: &Sides<'_>,
) -> Result<Found, SearchError> {
    let Understood {
        understanding,
        degraded,
    } = understood;
    let results = {
        let _permit = finding::permit(asker).await?;
        let searches = sides
            .sides
            .iter()
            .map(|side| of_side(asker, asked, side, &understanding));
        join_all(searches).await
    };
    let mut degraded: Vec<String> = degraded.into_iter().collect();
    let mut found: Vec<SideHits> = Vec::new();
    let mut failed = None;
    for (side, result) in sides.sides.iter().zip(results) {
        match result {
            Ok(hits) => found.push(hits),
            // What the caller asked is wrong for every side.
            Err(error) if !matches!(error, SearchError::Failed(_)) => return Err(error),
            Err(error) => {
                tracing::warn!(side = side.name, %error, "a side was not searched");
                degrade(&mut degraded, &format!("side {}", side.name));
                failed = Some(error);
            }
        }
    }
    if let Some(error) = failed.filter(|_| found.is_empty()) {
        return Err(error);
    }
    Ok(joined(asker, asked, sides, understanding, found, degraded))
}

fn joined(
    asker: &Asker,
    asked: &Asked,
    sides: &Sides<'_>,
    understanding: Understanding,
    found: Vec<SideHits>,
    mut degraded: Vec<String>,
) -> Found {
    let wants_passage = |side: &Side| side.text == SideText::HypotheticalPassage;
    let has_passage = passage(&understanding).is_some();
    if !has_passage && sides.sides.iter().any(wants_passage) {
        degrade(&mut degraded, NO_PASSAGE);
    }
    let mut plans = Vec::new();
    let mut hits: Vec<Hit> = Vec::new();
    let mut told = Vec::new();
    let unmatched_terms = unmatched_in_all(&found, &understanding.standalone_question);
    let unmet_filter = unmet_in_all(&found);
    for side in found {
        for response in side.responses {
            plans.extend(response.plan);
            response
                .degraded
                .iter()
                .for_each(|what| degrade(&mut degraded, what));
        }
        for hit in side.hits {
            let known = hits.iter_mut().find(|known| known.chunk_id == hit.chunk_id);
            match known {
                Some(known) if known.score >= hit.score => {}
                Some(known) => *known = hit,
                None => hits.push(hit),
            }
        }
        told.push(side.found);
    }
    if sides.joining == Joining::Sorted {
        hits.sort_by(|left, right| right.score.total_cmp(&left.score));
    }
    hits.truncate(asked.request.top_k.unwrap_or(sides.passages));
    for (rank, hit) in (1..).zip(&mut hits) {
        hit.rank = rank;
    }
    let near: Vec<Hit> = hits
        .iter()
        .filter(|hit| finding::is_near_to(hit, sides.bar.extract_from))
        .cloned()
        .collect();
    Found {
        sources: finding::sources(asker, &near),
        sides: told,
        unmatched_terms,
        unmet_filter,
        plans: if asked.request.explain {
            plans
        } else {
            Vec::new()
        },
        bar: sides.bar,
        ..Found::new(asker, understanding, hits, degraded)
    }
}

/// Words of the question that stand in none of the sides.
fn unmatched_in_all(sides: &[SideHits], question: &str) -> Vec<String> {
    let responses = sides.iter().flat_map(|side| &side.responses);
    let asked = responses.filter(|response| response.query == question);
    let mut terms = asked.map(|response| response.unmatched_terms.as_slice());
    let first = terms.next().unwrap_or_default().to_vec();
    terms.fold(first, |mut common, terms| {
        common.retain(|term| terms.contains(term));
        common
    })
}

/// Why nothing was found, where no side found anything.
fn unmet_in_all(sides: &[SideHits]) -> Option<UnmetFilter> {
    if sides.iter().any(|side| !side.hits.is_empty()) {
        return None;
    }
    let mut responses = sides.iter().flat_map(|side| &side.responses);
    responses.find_map(|response| response.unmet_filter.clone())
}

async fn of_side(
    asker: &Asker,
    asked: &Asked,
    side: &Side,
    understanding: &Understanding,
) -> Result<SideHits, SearchError> {
    let question = understanding.standalone_question.as_str();
    let passage = passage(understanding).filter(|_| side.text == SideText::HypotheticalPassage);
    let limit = asker.parts.retriever.limits().query_limit_bytes;
    let text = passage
        .filter(|text| text.len() <= limit)
        .unwrap_or(question);
    let request = side_request(asker, &asked.request, side, text);
    // A search by meaning alone estimates no relevance; one for the question does.
    let judging = (request.strategy == Strategy::Semantic).then(|| SearchRequest {
        strategy: Strategy::Hybrid,
        query: question.to_owned(),
        neighbours: 0,
        ..request.clone()
    });
    let requests: Vec<SearchRequest> = std::iter::once(request).chain(judging).collect();
    let retriever = &asker.parts.retriever;
    let searches = requests
        .iter()
        .map(|request| retriever.search(request, &asked.principal));
    let outcomes = try_join_all(searches).await?.into_iter();
    let mut responses: Vec<SearchResponse> = outcomes.map(|outcome| outcome.response).collect();
    let mut hits = match responses.first_mut() {
        Some(first) => std::mem::take(&mut first.hits),
        None => Vec::new(),
    };
    let judged = responses.get(1).map(relevances);
    for hit in &mut hits {
        let known = judged.as_ref().and_then(|known| known.get(&hit.chunk_id));
        hit.relevance = hit.relevance.or(known.copied());
    }
    if let Some(least) = asked.request.minimum_relevance {
        hits.retain(|hit| hit.relevance.is_none_or(|relevance| relevance >= least));
    }
    let found = SideFound {
        name: side.name.clone(),
        query: text.to_owned(),
        found: hits.len(),
    };
    Ok(SideHits {
        hits,
        found,
        responses,
    })
}

fn relevances(response: &SearchResponse) -> HashMap<ChunkId, f32> {
    let known = response.hits.iter();
    known
        .filter_map(|hit| Some((hit.chunk_id, hit.relevance?)))
        .collect()
}

fn passage(understanding: &Understanding) -> Option<&str> {
    let passage = understanding.hypothetical_passage.as_deref();
    passage.filter(|passage| !passage.trim().is_empty())
}

/// The search of a side. What the request says of signals holds for every side.
fn side_request(asker: &Asker, request: &AskRequest, side: &Side, text: &str) -> SearchRequest {
    let maximum = asker.parts.retriever.limits().maximum_top_k;
    let strategy = match request.strategy {
        Strategy::Hybrid => side.strategy,
        wished => wished,
    };
    let weight = side.keyword_weight.map(|keywords| 1.0 - keywords);
    let is_semantic = strategy == Strategy::Semantic;
    let whole = finding::search_request(asker, request, text);
    SearchRequest {
        filter: whole.filter.clone().narrowed_to(side.scope.filter()),
        strategy,
        vector_weight: weight.filter(|_| strategy == Strategy::Hybrid),
        rerank: Some(side.rerank && request.rerank.unwrap_or(true)),
        top_k: Some(side.top_k.min(maximum)),
        minimum_relevance: whole.minimum_relevance.filter(|_| !is_semantic),
        ..whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_sides_is_said_for_each() {
        let sides: Vec<Side> = toml::from_str::<BTreeMap<String, Vec<Side>>>(
            r#"
            sides = [
                { name = "api", scope = { knowledge_sets = ["api"] }, keyword_weight = 0.9, top_k = 5 },
                { name = "api", scope = { tags = [" "], attributes = ["api"] }, strategy = "semantic", keyword_weight = 1.5, top_k = 0 },
            ]
            "#,
        )
        .unwrap_or_else(|error| panic!("{error}"))
        .remove("sides")
        .unwrap_or_default();
        assert_eq!(
            problems(&sides, "error_map"),
            [
                "error_map.sides[1].name is that of another side",
                "error_map.sides[1].top_k must be at least 1",
                "error_map.sides[1].keyword_weight must lie between 0 and 1",
                "error_map.sides[1].keyword_weight goes with the strategy hybrid alone",
                "error_map.sides[1].scope.tags has an empty value",
                "error_map.sides[1].scope.attributes: `api` is not name=value",
            ]
        );
    }
}
