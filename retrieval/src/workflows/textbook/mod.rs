//! The workflow `textbook`: a model suggests what to search for, each passage found is judged, and
//! whether they are enough; what is missing is searched for once, and the answer explains as a
//! textbook does. Each step has a lesser way without a model, which `degraded` names.

mod config;
pub mod judging;
mod suggesting;

use std::time::{Duration, Instant};

use futures::future::{join, try_join_all};
use tributary_schemas::ask::Answer;
use tributary_schemas::review::{Review, ReviewedRound};
use tributary_schemas::search::{Hit, SearchRequest, SearchResponse};

use super::calling::Calls;
use super::finding::{self, Found};
use super::{Asked, Asker, Steps, saying};
use crate::error::SearchError;
use crate::events::Events;
use crate::prompts::TEXTBOOK_ANSWER;
use crate::retriever::degrade;
pub use config::TextbookConfig;

/// Answers a question.
pub async fn answer(asker: &Asker, asked: &Asked, events: &Events) -> Result<Answer, SearchError> {
    let mut steps = Steps::begin();
    let found = find(asker, asked, events, &mut steps).await?;
    saying::answer(asker, asked, found, TEXTBOOK_ANSWER, events, steps).await
}

/// What the answer is made from, judged and, where it was not enough, completed.
pub async fn find(
    asker: &Asker,
    asked: &Asked,
    events: &Events,
    steps: &mut Steps,
) -> Result<Found, SearchError> {
    let mut found = suggest_and_find(asker, asked, events, steps).await?;
    let question = found.understanding.standalone_question.clone();
    let round = Round {
        asker,
        asked,
        events,
        question: &question,
    };
    let searched = found.understanding.searches();
    let searched: Vec<String> = searched.into_iter().map(str::to_owned).collect();
    round.keep_relevant(&mut found, 0, searched.clone()).await;
    let took_ms = steps.end("relevance");
    finding::show(&found, took_ms, events).await;
    let missing = round.missing(&mut found, &searched).await;
    steps.end("sufficiency");
    if !missing.is_empty() {
        round.second(&mut found, missing).await?;
        let took_ms = steps.end("second_retrieval");
        finding::show(&found, took_ms, events).await;
    }
    Ok(found)
}

/// The first round: what the question means and what a model suggests, asked for at the same time.
async fn suggest_and_find(
    asker: &Asker,
    asked: &Asked,
    events: &Events,
    steps: &mut Steps,
) -> Result<Found, SearchError> {
    events.step("suggestion").await;
    let rewrites = asked.request.rewrite.unwrap_or(true);
    let history = if rewrites { &asked.history[..] } else { &[] };
    let suggesting = suggesting::suggest(calls(asker, asked.request.question.trim()), history);
    let understanding = finding::understand(asker, asked, events, steps);
    let (suggestion, mut understood) = join(suggesting, understanding).await;
    steps.end("suggestion");
    let limit = asker.config().textbook.queries;
    understood.understanding =
        suggesting::joined(understood.understanding, suggestion.as_ref(), limit);
    events.step("retrieval").await;
    let mut found = finding::search(asker, asked, understood).await?;
    steps.end("retrieval");
    if suggestion.is_none() {
        degrade(&mut found.degraded, "suggestion");
    }
    found.review = Some(Review {
        suggestion,
        ..Review::default()
    });
    Ok(found)
}

pub fn calls<'a>(asker: &'a Asker, question: &'a str) -> Calls<'a> {
    let config = asker.config().textbook;
    Calls {
        asker,
        question,
        deadline: Instant::now() + Duration::from_millis(config.deadline_ms),
        reply_tokens: config.reply_tokens,
    }
}

/// What the rounds of one question have in common.
struct Round<'a> {
    asker: &'a Asker,
    asked: &'a Asked,
    events: &'a Events,
    question: &'a str,
}

impl Round<'_> {
    /// Judges the sources from `first` on and leaves out those that say nothing to the question.
    async fn keep_relevant(&self, found: &mut Found, first: usize, queries: Vec<String>) {
        self.events.step("relevance").await;
        let config = self.asker.config().textbook;
        let new = found.sources.get(first..).unwrap_or_default();
        let calls = calls(self.asker, self.question);
        let judged = judging::relevance(calls, new, config.judgements_at_once).await;
        if judged.is_degraded {
            degrade(&mut found.degraded, "relevance");
        }
        let mut round = ReviewedRound {
            queries,
            found: judged.kept.len(),
            relevant: judged.kept.iter().filter(|kept| **kept).count(),
            ..ReviewedRound::default()
        };
        round.queries.dedup();
        let mut keeps = std::iter::repeat_n(true, first).chain(judged.kept);
        found.sources.retain(|_| keeps.next().unwrap_or(true));
        for (number, source) in (1..).zip(&mut found.sources) {
            source.number = number;
        }
        if let Some(review) = &mut found.review {
            review.rounds.push(round);
        }
    }

    /// Queries for what the sources lack; none where they are enough or nobody says.
    async fn missing(&self, found: &mut Found, searched: &[String]) -> Vec<String> {
        self.events.step("sufficiency").await;
        let searched: Vec<&str> = searched.iter().map(String::as_str).collect();
        let calls = calls(self.asker, self.question);
        let judged = judging::sufficiency(calls, &found.sources, &searched).await;
        let Some(judged) = judged else {
            degrade(&mut found.degraded, "sufficiency");
            return Vec::new();
        };
        let mut missing = judged.missing;
        missing.truncate(self.asker.config().textbook.second_queries);
        let rounds = found.review.as_mut().map(|review| &mut review.rounds);
        if let Some(round) = rounds.and_then(|rounds| rounds.last_mut()) {
            round.sufficient = Some(judged.is_sufficient);
            round.missing.clone_from(&missing);
        }
        missing
    }

    /// Searches for what is missing and adds what is relevant of it.
    async fn second(&self, found: &mut Found, queries: Vec<String>) -> Result<(), SearchError> {
        self.events.step("second_retrieval").await;
        let new = self.more(found, &queries).await?;
        let first = found.sources.len();
        let of_sources = |hit: &&Hit| {
            let mut sources = found.sources.iter();
            sources.any(|source| source.chunk_id == hit.chunk_id)
        };
        let mut hits: Vec<Hit> = found.hits.iter().filter(of_sources).cloned().collect();
        hits.extend(new.iter().cloned());
        found.sources = finding::sources(self.asker, &hits);
        found.hits.extend(new);
        self.keep_relevant(found, first, queries).await;
        Ok(())
    }

    /// Hits of these queries that were not judged before, the most relevant ones.
    async fn more(&self, found: &mut Found, queries: &[String]) -> Result<Vec<Hit>, SearchError> {
        let mut new: Vec<Hit> = Vec::new();
        for response in self.searched(queries).await? {
            found.plans.extend(response.plan);
            for what in &response.degraded {
                degrade(&mut found.degraded, what);
            }
            // What was too far from the question may be near what is missing.
            let known = |hit: &Hit| {
                let judged = found
                    .hits
                    .iter()
                    .filter(|hit| finding::is_near(self.asker, hit));
                let mut all = judged.chain(&new);
                all.any(|other| other.chunk_id == hit.chunk_id)
            };
            let unknown: Vec<Hit> = response
                .hits
                .into_iter()
                .filter(|hit| !known(hit))
                .collect();
            new.extend(unknown);
        }
        let relevance = |hit: &Hit| hit.relevance.unwrap_or(1.0);
        new.sort_by(|left, right| relevance(right).total_cmp(&relevance(left)));
        new = finding::near(self.asker, &new);
        new.truncate(self.asker.config().textbook.second_passages);
        Ok(new)
    }

    async fn searched(&self, queries: &[String]) -> Result<Vec<SearchResponse>, SearchError> {
        let _permit = finding::permit(self.asker).await?;
        let requests: Vec<SearchRequest> = queries
            .iter()
            .map(|query| SearchRequest {
                top_k: Some(self.asker.config().textbook.second_top_k),
                ..finding::search_request(self.asker, &self.asked.request, query)
            })
            .collect();
        let retriever = &self.asker.parts.retriever;
        let searches = requests
            .iter()
            .map(|request| retriever.search(request, &self.asked.principal));
        let outcomes = try_join_all(searches).await?.into_iter();
        Ok(outcomes.map(|outcome| outcome.response).collect())
    }
}
