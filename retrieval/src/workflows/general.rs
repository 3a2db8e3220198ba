//! The workflow `general`: understand, retrieve, refuse or answer with citations, hold the answer
//! against its sources.

use std::time::Duration;

use tributary_models::chat::{Role, RoleModel};
use tributary_schemas::ask::{
    Answer, AskEvent, AskRequest, Retrieved, Source, Span, Support, Tokens, Verdict,
};
use tributary_schemas::search::{Hit, QueryPlan, SearchRequest};
use tributary_schemas::understanding::Understanding;
use tributary_schemas::{Error, ErrorKind};
use tributary_taxonomy::language::is_chinese;

use super::{Asked, Asker, Steps};
use crate::answer::generate::{Generated, Task, generate};
use crate::answer::{extractive, passages, support};
use crate::error::SearchError;
use crate::events::Events;
use crate::prompts::ANSWER;
use crate::retriever::{degrade, elapsed_ms};
use crate::understand::Understood;
use crate::variants::SearchedAll;

/// Hits that are named where a question is refused.
const RELATED: usize = 3;
/// Share of the relevance of an answerable question from which a passage is given to the answer.
const NEAR: f32 = 0.25;
/// What is named in `degraded` where no model answers, or not to the end.
const LESSER_ANSWER: &str = "answer";
/// What is named where a model answers in another language than the question's.
const OTHER_LANGUAGE: &str = "answer_language";

/// What was found for a question.
struct Found {
    understanding: Understanding,
    hits: Vec<Hit>,
    sources: Vec<Source>,
    plans: Vec<QueryPlan>,
    degraded: Vec<String>,
}

/// An answer, before it is written down with all that belongs to it.
#[derive(Default)]
struct Said {
    text: String,
    verdict: Option<Verdict>,
    support: Vec<Support>,
    marks: Vec<(u32, Span)>,
    cited: Vec<u32>,
    removed_citations: u32,
    model: Option<String>,
    tokens: Option<Tokens>,
}

/// Answers a question.
pub async fn answer(asker: &Asker, asked: &Asked, events: &Events) -> Result<Answer, SearchError> {
    let mut steps = Steps::begin();
    let mut found = find(asker, asked, events, &mut steps).await?;
    let is_chinese = is_chinese(&asked.request.question);
    let said = if is_answerable(asker, &found) {
        events.step("answer").await;
        let said = say(asker, asked, &mut found, events, &mut steps).await?;
        steps.end("answer");
        said
    } else {
        refused(asker.config().refusal.sentence(is_chinese), events).await
    };
    Ok(written(asked, found, said, steps, is_chinese))
}

async fn find(
    asker: &Asker,
    asked: &Asked,
    events: &Events,
    steps: &mut Steps,
) -> Result<Found, SearchError> {
    events.step("understanding").await;
    let rewrite = asked.request.rewrite.unwrap_or(true);
    let question = asked.request.question.trim();
    let understander = &asker.parts.understander;
    let Understood {
        understanding,
        degraded,
    } = understander
        .understand(question, &asked.history, rewrite)
        .await;
    steps.end("understanding");
    let event = AskEvent::Understanding(Box::new(understanding.clone()));
    events.send(event).await;
    events.step("retrieval").await;
    let request = search_request(asker, &asked.request, &understanding.standalone_question);
    let outcome = {
        let closed = |_| Error::new(ErrorKind::Internal, "the queue of searches is closed");
        let _permit = asker.search_permits.acquire().await.map_err(closed)?;
        let retriever = &asker.parts.retriever;
        retriever
            .search_all(&request, &understanding, &asked.principal)
            .await?
    };
    let SearchedAll { outcome, plans } = outcome;
    let hits = outcome.response.hits;
    let config = asker.config();
    let tokens = asker.parts.tokens.as_ref();
    let near: Vec<Hit> = hits
        .iter()
        .filter(|hit| is_near(hit, config.refuse_below))
        .cloned()
        .collect();
    let sources = passages::passages(&near, config.passage_tokens, tokens);
    let took_ms = steps.end("retrieval");
    let found = Found {
        understanding,
        sources,
        plans: if asked.request.explain {
            plans
        } else {
            Vec::new()
        },
        degraded: outcome
            .response
            .degraded
            .into_iter()
            .chain(degraded)
            .collect(),
        hits,
    };
    let sources = match is_answerable(asker, &found) {
        true => found.sources.clone(),
        false => Vec::new(),
    };
    let retrieved = Retrieved { sources, took_ms };
    events.send(AskEvent::Retrieval(retrieved)).await;
    Ok(found)
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
        minimum_relevance: request.minimum_relevance,
        rerank: request.rerank,
        profile: request.profile.clone(),
        neighbours: config.neighbours,
        explain: request.explain,
        ..SearchRequest::default()
    }
}

/// Whether the best passage is relevant enough; one whose relevance nobody estimates is.
fn is_answerable(asker: &Asker, found: &Found) -> bool {
    let best = found.hits.iter().map(|hit| hit.relevance.unwrap_or(1.0));
    best.fold(0.0, f32::max) >= asker.config().refuse_below && !found.sources.is_empty()
}

/// Whether a hit may say something beside a better one.
fn is_near(hit: &Hit, refuse_below: f32) -> bool {
    hit.relevance
        .is_none_or(|relevance| relevance >= refuse_below * NEAR)
}

async fn refused(sentence: &str, events: &Events) -> Said {
    let text = sentence.to_owned();
    let shown = text.clone();
    events.send(AskEvent::AnswerChunk { text: shown }).await;
    Said {
        text,
        verdict: Some(Verdict::Refused),
        ..Said::default()
    }
}

/// The model's answer, or one in the words of the sources.
async fn say(
    asker: &Asker,
    asked: &Asked,
    found: &mut Found,
    events: &Events,
    steps: &mut Steps,
) -> Result<Said, SearchError> {
    let Some(model) = asker.parts.chat.role(Role::Answer) else {
        degrade(&mut found.degraded, LESSER_ANSWER);
        return extract(asker, found, events).await;
    };
    match by_model(asker, asked, found, &model, events).await? {
        Some(generated) => said(asker, asked, found, generated, events, steps).await,
        None => {
            degrade(&mut found.degraded, LESSER_ANSWER);
            extract(asker, found, events).await
        }
    }
}

/// `None` if the model gave no answer, which the log tells.
async fn by_model(
    asker: &Asker,
    asked: &Asked,
    found: &Found,
    model: &RoleModel,
    events: &Events,
) -> Result<Option<Generated>, SearchError> {
    let config = asker.config();
    let is_chinese = is_chinese(&asked.request.question);
    let language = if is_chinese { "zh" } else { "en" };
    let prompt = asker.parts.prompts.get(ANSWER, Some(language))?;
    let task = Task {
        prompt: &prompt,
        question: &found.understanding.standalone_question,
        history: &asked.history,
        sources: &found.sources,
        refusal: config.refusal.sentence(is_chinese),
        reply_tokens: config.reply_tokens,
        deadline: Duration::from_millis(config.deadline_ms),
    };
    match generate(model, &task, events).await {
        Ok(generated) if generated.refused || !generated.text.trim().is_empty() => {
            Ok(Some(generated))
        }
        Ok(_) => {
            tracing::warn!("the model's answer was empty");
            Ok(None)
        }
        Err(failed) => {
            tracing::warn!(error = %failed, "the model gave no answer");
            Ok(None)
        }
    }
}

async fn extract(asker: &Asker, found: &Found, events: &Events) -> Result<Said, SearchError> {
    let question = found.understanding.standalone_question.clone();
    let (intent, sources) = (found.understanding.intent, found.sources.clone());
    let analyzer = asker.parts.retriever.analyzer();
    let extract = blocking(move || extractive::extract(&question, intent, &sources, &analyzer));
    let extract = extract.await?;
    let mut cited: Vec<u32> = extract.marks.iter().map(|(number, _)| *number).collect();
    cited.dedup();
    let text = extract.answer.clone();
    events.send(AskEvent::AnswerChunk { text }).await;
    for number in &cited {
        let number = *number;
        events.send(AskEvent::Citation { number }).await;
    }
    Ok(Said {
        text: extract.answer,
        verdict: Some(Verdict::Extractive),
        marks: extract.marks,
        cited,
        ..Said::default()
    })
}

/// Holds what the model said against its sources.
async fn said(
    asker: &Asker,
    asked: &Asked,
    found: &mut Found,
    generated: Generated,
    events: &Events,
    steps: &mut Steps,
) -> Result<Said, SearchError> {
    let is_chinese = is_chinese(&asked.request.question);
    found.sources.truncate(generated.sources.max(1));
    if let Some(first) = generated.first_text {
        let ms = elapsed_ms(steps.started) - elapsed_ms(first);
        steps.note("first_token", ms);
    }
    let ending = generated.ending.as_ref();
    let model = ending.map(|ending| ending.model.clone());
    let tokens = ending.map(|ending| Tokens {
        prompt: ending.usage.prompt_tokens.unwrap_or(0),
        completion: ending.usage.completion_tokens.unwrap_or(0),
    });
    if generated.refused {
        let sentence = asker.config().refusal.sentence(is_chinese);
        let said = refused(sentence, events).await;
        return Ok(Said {
            model,
            tokens,
            ..said
        });
    }
    let supported = held_against_sources(asker, found, &generated.text).await?;
    note_lacks(found, &generated, is_chinese);
    let is_whole = !generated.cut && supported.support.iter().all(|one| one.supported);
    let verdict = if is_whole {
        Verdict::Answered
    } else {
        Verdict::Partly
    };
    let mut cited = generated.cited;
    let named = supported.support.iter().filter(|one| one.supported);
    cited.extend(named.flat_map(|one| one.citations.iter().copied()));
    Ok(Said {
        text: generated.text,
        verdict: Some(verdict),
        support: supported.support,
        marks: supported.marks,
        cited,
        removed_citations: generated.removed_citations,
        model,
        tokens,
    })
}

async fn held_against_sources(
    asker: &Asker,
    found: &Found,
    answer: &str,
) -> Result<support::Supported, SearchError> {
    let (answer, sources) = (answer.to_owned(), found.sources.clone());
    let minimum = asker.config().minimum_coverage;
    let analyzer = asker.parts.retriever.analyzer();
    blocking(move || support::support(&answer, &sources, minimum, &analyzer)).await
}

fn note_lacks(found: &mut Found, generated: &Generated, is_chinese_question: bool) {
    if generated.cut {
        degrade(&mut found.degraded, LESSER_ANSWER);
    }
    let letters = generated.text.chars().filter(|one| one.is_alphabetic());
    // A name alone is in any language.
    let says_enough = letters.count() > 40;
    if says_enough && is_chinese(&generated.text) != is_chinese_question {
        degrade(&mut found.degraded, OTHER_LANGUAGE);
    }
}

/// Everything that belongs to an answer.
fn written(asked: &Asked, found: Found, said: Said, mut steps: Steps, is_chinese: bool) -> Answer {
    let request = &asked.request;
    let verdict = said.verdict.unwrap_or(Verdict::Refused);
    let is_refused = verdict == Verdict::Refused;
    let related = match is_refused {
        true => related(&found.hits),
        false => Vec::new(),
    };
    let mut sources = if is_refused {
        Vec::new()
    } else {
        found.sources
    };
    for source in &mut sources {
        source.cited = said.cited.contains(&source.number);
        let marks = said
            .marks
            .iter()
            .filter(|(number, _)| *number == source.number);
        source.spans = marks.map(|(_, span)| *span).collect();
    }
    steps.note("total", elapsed_ms(steps.started));
    Answer {
        id: asked.id.clone(),
        conversation_id: request.conversation_id.clone(),
        question: request.question.clone(),
        answer: said.text,
        verdict,
        workflow: request.workflow,
        language: if is_chinese { "zh" } else { "en" }.to_owned(),
        sources,
        support: said.support,
        related,
        degraded: found.degraded,
        removed_citations: said.removed_citations,
        took_ms: elapsed_ms(steps.started),
        steps: steps.steps,
        model: said.model,
        tokens: said.tokens,
        understanding: request.explain.then_some(found.understanding),
        plans: found.plans,
    }
}

fn related(hits: &[Hit]) -> Vec<Source> {
    let source = |(number, hit): (u32, &Hit)| passages::source(number, hit, hit.text.clone());
    (1..).zip(hits.iter().take(RELATED)).map(source).collect()
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, SearchError> {
    let failed = |error| Error::new(ErrorKind::Internal, format!("an answer failed: {error}"));
    Ok(tokio::task::spawn_blocking(work).await.map_err(failed)?)
}
