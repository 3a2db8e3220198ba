//! What workflows share before they answer: the question understood, passages found and shown.

use tributary_models::chat::Role;
use tributary_schemas::ask::{AskEvent, AskRequest, Retrieved, SideFound, Source};
use tributary_schemas::review::Review;
use tributary_schemas::search::{Hit, QueryPlan, SearchRequest};
use tributary_schemas::table_query::{ANSWERED, TableAnswer};
use tributary_schemas::understanding::Understanding;
use tributary_schemas::unmet::UnmetFilter;
use tributary_schemas::{Error, ErrorKind};

use super::{Asked, Asker, Steps};
use crate::answer::passages;
use crate::error::SearchError;
use crate::events::Events;
use crate::understand::Understood;
use crate::variants::SearchedAll;

/// Share of the relevance of an answerable question from which a passage is given to the answer.
const NEAR: f32 = 0.25;

/// What was found for a question.
pub struct Found {
    pub understanding: Understanding,
    pub hits: Vec<Hit>,
    /// What the answer is made from.
    pub sources: Vec<Source>,
    pub plans: Vec<QueryPlan>,
    pub degraded: Vec<String>,
    /// Words of the question that stand nowhere.
    pub unmatched_terms: Vec<String>,
    pub unmet_filter: Option<UnmetFilter>,
    pub review: Option<Review>,
    /// What tables say.
    pub table: Option<Box<TableAnswer>>,
    /// What each side found, where there are sides.
    pub sides: Vec<SideFound>,
    /// Below which relevance of the best passage nothing answers.
    pub bar: Bar,
}

/// Relevance of the best passage, 0 to 1, below which nothing answers.
#[derive(Clone, Copy, Debug)]
pub struct Bar {
    /// Whoever answers.
    pub refuse_below: f32,
    /// Where it is answered in the words of the sources: nobody reads them then.
    pub extract_from: f32,
}

impl Bar {
    /// The same whoever answers.
    pub fn of(refuse_below: f32) -> Self {
        Self {
            refuse_below,
            extract_from: refuse_below,
        }
    }

    /// That of questions: lower where a model is there to read the passages.
    pub fn of_questions(asker: &Asker) -> Self {
        let config = asker.config();
        match asker.parts.chat.role(Role::Answer) {
            Some(_) => Self {
                refuse_below: config.refuse_below_with_model,
                extract_from: config.refuse_below,
            },
            None => Self::of(config.refuse_below),
        }
    }
}

impl Found {
    /// Adds what tables say, as one more ranking of one passage: by the sum of reciprocal ranks it
    /// stands behind the first passage of the search, which stands in more than one.
    pub fn add_tables(&mut self, answer: TableAnswer, source: Option<Source>) {
        if let Some(source) = source {
            let at = self.sources.len().min(1);
            self.sources.insert(at, source);
            for (source, number) in self.sources.iter_mut().zip(1..) {
                source.number = number;
            }
        }
        for what in &answer.degraded {
            if !self.degraded.contains(what) {
                self.degraded.push(what.clone());
            }
        }
        self.table = Some(Box::new(answer));
    }

    /// Whether tables have rows that are an answer.
    pub fn has_rows(&self) -> bool {
        let table = self.table.as_ref();
        table.is_some_and(|table| table.err_code == ANSWERED && !table.rows.is_empty())
    }
}

impl Found {
    /// Hits without anything beside.
    pub fn new(
        asker: &Asker,
        understanding: Understanding,
        hits: Vec<Hit>,
        degraded: Vec<String>,
    ) -> Self {
        Self {
            understanding,
            hits,
            sources: Vec::new(),
            plans: Vec::new(),
            degraded,
            unmatched_terms: Vec::new(),
            unmet_filter: None,
            review: None,
            table: None,
            sides: Vec::new(),
            bar: Bar::of_questions(asker),
        }
    }
}

/// What the question means.
pub async fn understand(
    asker: &Asker,
    asked: &Asked,
    events: &Events,
    steps: &mut Steps,
) -> Understood {
    events.step("understanding").await;
    let rewrite = asked.request.rewrite.unwrap_or(true);
    let question = asked.request.question.trim();
    let understander = &asker.parts.understander;
    let understood = understander
        .understand(question, &asked.history, rewrite)
        .await;
    steps.end("understanding");
    tell(&understood.understanding, events).await;
    understood
}

/// Says what the question means.
pub async fn tell(understanding: &Understanding, events: &Events) {
    let event = AskEvent::Understanding(Box::new(understanding.clone()));
    events.send(event).await;
}

/// Searches for all that the question means.
pub async fn search(
    asker: &Asker,
    asked: &Asked,
    understood: Understood,
) -> Result<Found, SearchError> {
    let Understood {
        understanding,
        degraded,
    } = understood;
    let request = search_request(asker, &asked.request, &understanding.standalone_question);
    let SearchedAll { outcome, plans } = {
        let _permit = permit(asker).await?;
        let retriever = &asker.parts.retriever;
        retriever
            .search_all(&request, &understanding, &asked.principal)
            .await?
    };
    let response = outcome.response;
    let sources = sources(asker, &near(asker, &response.hits));
    let degraded = response.degraded.into_iter().chain(degraded).collect();
    Ok(Found {
        sources,
        unmatched_terms: response.unmatched_terms,
        unmet_filter: response.unmet_filter,
        plans: if asked.request.explain {
            plans
        } else {
            Vec::new()
        },
        ..Found::new(asker, understanding, response.hits, degraded)
    })
}

/// A turn among the searches of questions.
pub async fn permit(asker: &Asker) -> Result<tokio::sync::SemaphorePermit<'_>, SearchError> {
    let closed = |_| Error::new(ErrorKind::Internal, "the queue of searches is closed");
    Ok(asker.search_permits.acquire().await.map_err(closed)?)
}

/// Says what was found.
pub async fn show(found: &Found, took_ms: f64, events: &Events) {
    let sources = match is_answerable(found) {
        true => found.sources.clone(),
        false => Vec::new(),
    };
    let retrieved = Retrieved { sources, took_ms };
    events.send(AskEvent::Retrieval(retrieved)).await;
}

/// The search for a question.
pub fn search_request(asker: &Asker, request: &AskRequest, question: &str) -> SearchRequest {
    let config = asker.config();
    let maximum = asker.parts.retriever.limits().maximum_top_k;
    SearchRequest {
        query: question.to_owned(),
        filter: request.filter.clone(),
        top_k: Some(request.top_k.unwrap_or(config.top_k.min(maximum))),
        strategy: request.strategy,
        minimum_score: request.minimum_score,
        minimum_relevance: request.minimum_relevance,
        rerank: request.rerank,
        profile: request.profile.clone(),
        user_profile: request.user_profile.clone(),
        user: request.user.clone(),
        neighbours: config.neighbours,
        explain: request.explain,
        ..SearchRequest::default()
    }
}

/// Hits as numbered passages.
pub fn sources(asker: &Asker, hits: &[Hit]) -> Vec<Source> {
    let tokens = asker.parts.tokens.as_ref();
    passages::passages(hits, asker.config().passage_tokens, tokens)
}

/// Hits that may say something beside a better one.
pub fn near(asker: &Asker, hits: &[Hit]) -> Vec<Hit> {
    let near = hits.iter().filter(|hit| is_near(asker, hit));
    near.cloned().collect()
}

/// Whether a hit may say something beside a better one.
pub fn is_near(asker: &Asker, hit: &Hit) -> bool {
    is_near_to(hit, asker.config().refuse_below)
}

/// The same where answers are refused below this relevance.
pub fn is_near_to(hit: &Hit, refuse_below: f32) -> bool {
    let least = refuse_below * NEAR;
    hit.relevance.is_none_or(|relevance| relevance >= least)
}

/// Whether the best passage is relevant enough, or tables have rows. Where nobody estimates the
/// relevance of any, one is enough.
pub fn is_answerable(found: &Found) -> bool {
    reaches(found, found.bar.refuse_below)
}

/// The same where it is answered in the words of the sources.
pub fn is_extractable(found: &Found) -> bool {
    reaches(found, found.bar.extract_from)
}

fn reaches(found: &Found, relevance: f32) -> bool {
    let known = found.hits.iter().filter_map(|hit| hit.relevance);
    let best = known.reduce(f32::max).unwrap_or(1.0);
    (best >= relevance || found.has_rows()) && !found.sources.is_empty()
}
