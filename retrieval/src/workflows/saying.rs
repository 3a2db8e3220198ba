//! What workflows share when they answer: the model's answer held against its sources, the lesser
//! way in the words of the passages, the fixed sentence, and everything that belongs to an answer.

use std::time::Duration;

use tributary_models::chat::{Completion, Ending, Role, RoleModel};
use tributary_schemas::ask::{Answer, AskEvent, Source, Span, Support, Tokens, Verdict};
use tributary_schemas::report::Report;
use tributary_schemas::search::Hit;
use tributary_schemas::{Error, ErrorKind};
use tributary_taxonomy::language::is_chinese;

use super::finding::{Found, is_answerable};
use super::{Asked, Asker, Steps};
use crate::answer::generate::{Generated, Task, generate};
use crate::answer::{CitationFilter, extractive, passages, support};
use crate::elapsed::elapsed_ms;
use crate::error::SearchError;
use crate::events::Events;
use crate::retriever::degrade;

/// Hits that are named where a question is refused.
const RELATED: usize = 3;
/// Relevance below which a hit has nothing to do with the question.
const LEAST_RELATED: f32 = 0.05;
/// What is named in `degraded` where no model answers, or not to the end.
const LESSER_ANSWER: &str = "answer";
/// What is named where no model has summed up what was said before the last rounds.
const LESSER_HISTORY: &str = "history";
/// What is named where a model answers in another language than the question's.
const OTHER_LANGUAGE: &str = "answer_language";

/// An answer, before it is written down with all that belongs to it.
#[derive(Default)]
pub struct Said {
    pub text: String,
    pub verdict: Option<Verdict>,
    pub support: Vec<Support>,
    pub marks: Vec<(u32, Span)>,
    pub cited: Vec<u32>,
    pub removed_citations: u32,
    pub model: Option<String>,
    pub tokens: Option<Tokens>,
    pub report: Option<Report>,
}

/// Answers from what was found, by the prompt of this name, or refuses.
pub async fn answer(
    asker: &Asker,
    asked: &Asked,
    mut found: Found,
    prompt: &str,
    events: &Events,
    mut steps: Steps,
) -> Result<Answer, SearchError> {
    let is_chinese = is_chinese(&asked.request.question);
    let said = if is_answerable(asker, &found) {
        events.step("answer").await;
        let saying = Saying {
            asker,
            asked,
            prompt,
            events,
        };
        let said = saying.say(&mut found, &mut steps).await?;
        steps.end("answer");
        said
    } else {
        refused(asker.config().refusal.sentence(is_chinese), events).await
    };
    Ok(written(asker, asked, found, said, steps))
}

/// The fixed sentence, where nothing that was found answers.
pub async fn refuse(
    asker: &Asker,
    asked: &Asked,
    found: Found,
    events: &Events,
    steps: Steps,
) -> Answer {
    let is_chinese = is_chinese(&asked.request.question);
    let said = refused(asker.config().refusal.sentence(is_chinese), events).await;
    written(asker, asked, found, said, steps)
}

/// A reply for which nothing was searched, as it is: it has no sources to cite.
pub async fn unsourced(
    asker: &Asker,
    asked: &Asked,
    found: Found,
    reply: Completion,
    events: &Events,
    steps: Steps,
) -> Answer {
    let mut filter = CitationFilter::new(0);
    let mut text = filter.push(&reply.text).text;
    text.push_str(&filter.finish().text);
    let shown = text.clone();
    events.send(AskEvent::AnswerChunk { text: shown }).await;
    let said = Said {
        text,
        verdict: Some(Verdict::Unsourced),
        removed_citations: filter.removed(),
        tokens: Some(tokens(&reply.ending)),
        model: Some(reply.ending.model),
        ..Said::default()
    };
    written(asker, asked, found, said, steps)
}

fn tokens(ending: &Ending) -> Tokens {
    Tokens {
        prompt: ending.usage.prompt_tokens.unwrap_or(0),
        completion: ending.usage.completion_tokens.unwrap_or(0),
    }
}

/// What an answer is said with.
struct Saying<'a> {
    asker: &'a Asker,
    asked: &'a Asked,
    prompt: &'a str,
    events: &'a Events,
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

impl Saying<'_> {
    /// The model's answer, or one in the words of the sources.
    async fn say(&self, found: &mut Found, steps: &mut Steps) -> Result<Said, SearchError> {
        let generated = match self.asker.parts.chat.role(Role::Answer) {
            Some(model) => self.by_model(found, &model).await?,
            None => None,
        };
        match generated {
            Some(generated) => self.said(found, generated, steps).await,
            None => {
                degrade(&mut found.degraded, LESSER_ANSWER);
                self.extract(found).await
            }
        }
    }

    fn is_chinese(&self) -> bool {
        is_chinese(&self.asked.request.question)
    }

    /// `None` if the model gave no answer, which the log tells.
    async fn by_model(
        &self,
        found: &Found,
        model: &RoleModel,
    ) -> Result<Option<Generated>, SearchError> {
        let config = self.asker.config();
        let language = if self.is_chinese() { "zh" } else { "en" };
        let prompt = self.asker.parts.prompts.get(self.prompt, Some(language))?;
        let task = Task {
            prompt: &prompt,
            question: &found.understanding.standalone_question,
            history: &self.asked.history,
            earlier: &self.asked.earlier,
            sources: &found.sources,
            refusal: config.refusal.sentence(self.is_chinese()),
            reply_tokens: config.reply_tokens,
            deadline: Duration::from_millis(config.deadline_ms),
        };
        match generate(model, &task, self.events).await {
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

    async fn extract(&self, found: &Found) -> Result<Said, SearchError> {
        let question = found.understanding.standalone_question.clone();
        let (intent, sources) = (found.understanding.intent, found.sources.clone());
        let analyzer = self.asker.parts.retriever.analyzer();
        let extract = blocking(move || extractive::extract(&question, intent, &sources, &analyzer));
        let extract = extract.await?;
        let mut cited: Vec<u32> = extract.marks.iter().map(|(number, _)| *number).collect();
        cited.dedup();
        let text = extract.answer.clone();
        self.events.send(AskEvent::AnswerChunk { text }).await;
        for number in &cited {
            let number = *number;
            self.events.send(AskEvent::Citation { number }).await;
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
        &self,
        found: &mut Found,
        generated: Generated,
        steps: &mut Steps,
    ) -> Result<Said, SearchError> {
        found.sources.truncate(generated.sources.max(1));
        if let Some(first) = generated.first_text {
            let ms = elapsed_ms(steps.started) - elapsed_ms(first);
            steps.note("first_token", ms);
        }
        let ending = generated.ending.as_ref();
        let model = ending.map(|ending| ending.model.clone());
        let tokens = ending.map(tokens);
        if generated.refused {
            let sentence = self.asker.config().refusal.sentence(self.is_chinese());
            let said = refused(sentence, self.events).await;
            return Ok(Said {
                model,
                tokens,
                ..said
            });
        }
        let supported = held_against_sources(self.asker, found, &generated.text).await?;
        note_lacks(found, &generated, self.is_chinese());
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
            report: None,
        })
    }
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
pub fn written(
    asker: &Asker,
    asked: &Asked,
    mut found: Found,
    said: Said,
    mut steps: Steps,
) -> Answer {
    let request = &asked.request;
    let is_chinese = is_chinese(&request.question);
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
    if asked.earlier.has_extracts {
        degrade(&mut found.degraded, LESSER_HISTORY);
    }
    if request.nl2sql == Some(true) {
        degrade(&mut found.degraded, "nl2sql");
    }
    steps.note("total", elapsed_ms(steps.started));
    Answer {
        id: asked.id.clone(),
        conversation_id: request.conversation_id.clone(),
        question: request.question.clone(),
        answer: said.text,
        verdict,
        workflow: asker.workflow(request),
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
        review: found.review,
        report: said.report,
        understanding: request.explain.then_some(found.understanding),
        plans: found.plans,
    }
}

fn related(hits: &[Hit]) -> Vec<Source> {
    let source = |(number, hit): (u32, &Hit)| passages::source(number, hit, hit.text.clone());
    let is_related = |hit: &&Hit| {
        hit.relevance
            .is_none_or(|relevance| relevance >= LEAST_RELATED)
    };
    let nearest = hits.iter().filter(is_related).take(RELATED);
    (1..).zip(nearest).map(source).collect()
}

/// Work of some milliseconds on a thread of its own.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, SearchError> {
    let failed = |error| Error::new(ErrorKind::Internal, format!("an answer failed: {error}"));
    Ok(tokio::task::spawn_blocking(work).await.map_err(failed)?)
}
