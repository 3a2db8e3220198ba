//! What workflows share when they answer: the model's answer held against its sources, the lesser
//! way in the words of the passages, the fixed sentence, and everything that belongs to an answer.

use std::collections::BTreeMap;
use std::time::Duration;

use tributary_models::chat::{Completion, Role, RoleModel};
use tributary_schemas::ask::{
    Answer, AskEvent, ErrorMap, Quotation, Section, Source, Span, Support, Verdict,
};
use tributary_schemas::report::Report;
use tributary_schemas::search::Hit;
use tributary_schemas::table_query::{ANSWERED, TableAnswer};
use tributary_schemas::understanding::{Intent, Understanding};
use tributary_schemas::{Error, ErrorKind};
use tributary_taxonomy::language::is_chinese;

use super::finding::{Found, is_answerable, is_extractable};
use super::{Asked, Asker, Steps};
use crate::answer::form::{Part, sections};
use crate::answer::generate::{Form, Generated, Task, generate};
use crate::answer::{CitationFilter, extractive, passages, support};
use crate::elapsed::elapsed_ms;
use crate::error::SearchError;
use crate::events::Events;
use crate::retriever::degrade;

/// Hits that are named where a question is refused.
pub const RELATED: usize = 3;
/// Relevance below which a hit has nothing to do with the question.
pub const LEAST_RELATED: f32 = 0.05;
/// What is named in `degraded` where no model answers, or not to the end.
const LESSER_ANSWER: &str = "answer";
/// What is named where no model has summed up what was said before the last rounds.
const LESSER_HISTORY: &str = "history";
/// What is named where a model answers in another language than the question's.
pub const OTHER_LANGUAGE: &str = "answer_language";
/// Letters of an answer that tell its language.
const LEAST_SAID: usize = 40;

/// What is named where an answer lacks the parts of its form.
const LESSER_FORM: &str = "form";

/// An answer, before it is written down with all that belongs to it.
#[derive(Default)]
pub struct Said {
    pub text: String,
    /// `Refused` when absent.
    pub verdict: Option<Verdict>,
    pub support: Vec<Support>,
    pub marks: Vec<(u32, Span)>,
    pub cited: Vec<u32>,
    pub removed_citations: u32,
    pub model: Option<String>,
    pub sections: Vec<Section>,
    pub quotations: Vec<Quotation>,
    pub error_map: Option<Box<ErrorMap>>,
    pub report: Option<Report>,
}

/// How a workflow has its answers written.
pub struct Manner {
    /// Name of the prompt.
    pub prompt: &'static str,
    /// What the form asks of the model.
    pub form: Form,
    /// The parts of an answer; none where it has no form.
    pub parts: &'static [Part],
    /// Least share of the words of a statement that must stand in what it cites.
    pub minimum_coverage: f32,
    /// Tokens of the reply at most, where they are not those of every answer.
    pub reply_tokens: Option<usize>,
}

impl Manner {
    /// An answer without a form.
    pub fn plain(asker: &Asker, prompt: &'static str) -> Self {
        Self {
            prompt,
            form: Form::default(),
            parts: &[],
            minimum_coverage: asker.config().minimum_coverage,
            reply_tokens: None,
        }
    }
}

/// Answers from what was found, by the prompt of this name, or refuses.
pub async fn answer(
    asker: &Asker,
    asked: &Asked,
    mut found: Found,
    prompt: &'static str,
    events: &Events,
    mut steps: Steps,
) -> Result<Answer, SearchError> {
    let saying = Saying {
        asker,
        asked,
        manner: &Manner::plain(asker, prompt),
        events,
    };
    let said = saying.part(&mut found, &mut steps).await?;
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
        model: Some(reply.ending.model),
        ..Said::default()
    };
    written(asker, asked, found, said, steps)
}

/// The fixed sentence behind a greeting, for which nothing is searched and no model asked.
pub async fn greeted(asker: &Asker, asked: &Asked, events: &Events) -> Answer {
    let mut steps = Steps::begin();
    events.step("understanding").await;
    let question = asked.request.question.trim();
    let understanding = Understanding {
        intent: Intent::Smalltalk,
        ..Understanding::of(question)
    };
    let event = AskEvent::Understanding(Box::new(understanding.clone()));
    events.send(event).await;
    let sentence = asker.config().greeting.sentence(is_chinese(question));
    let text = sentence.to_owned();
    events.send(AskEvent::AnswerChunk { text }).await;
    steps.end("answer");
    let said = Said {
        text: sentence.to_owned(),
        verdict: Some(Verdict::Unsourced),
        ..Said::default()
    };
    written(
        asker,
        asked,
        Found::new(asker, understanding, Vec::new(), Vec::new()),
        said,
        steps,
    )
}

/// An answer that no model of the role `answer` wrote.
pub struct Told {
    /// The whole answer.
    pub text: String,
    /// What kind it is.
    pub verdict: Verdict,
    /// Numbers of the sources that it cites.
    pub cited: Vec<u32>,
    /// The model that took part, if one did.
    pub model: Option<String>,
}

/// Shows such an answer, and makes it whole.
pub async fn told(
    asker: &Asker,
    asked: &Asked,
    found: Found,
    told: Told,
    events: &Events,
    steps: Steps,
) -> Answer {
    let text = told.text.clone();
    events.send(AskEvent::AnswerChunk { text }).await;
    for number in &told.cited {
        let number = *number;
        events.send(AskEvent::Citation { number }).await;
    }
    let said = Said {
        text: told.text,
        verdict: Some(told.verdict),
        cited: told.cited,
        model: told.model,
        ..Said::default()
    };
    written(asker, asked, found, said, steps)
}

/// What an answer is said with.
pub struct Saying<'a> {
    pub asker: &'a Asker,
    pub asked: &'a Asked,
    pub manner: &'a Manner,
    pub events: &'a Events,
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
    /// The model's answer, one in the words of the sources, or the sentence of a refusal.
    pub async fn part(&self, found: &mut Found, steps: &mut Steps) -> Result<Said, SearchError> {
        if !is_answerable(found) {
            return Ok(self.refuse().await);
        }
        self.events.step("answer").await;
        let said = match self.by_role(found, steps).await? {
            Some(said) => said,
            None if is_extractable(found) => self.extract(found).await?,
            None => self.refuse().await,
        };
        steps.end("answer");
        Ok(said)
    }

    /// The fixed sentence.
    pub async fn refuse(&self) -> Said {
        let sentence = self.asker.config().refusal.sentence(self.is_chinese());
        refused(sentence, self.events).await
    }

    /// The model's answer, held against its sources; `None`, which `degraded` names, without one.
    pub async fn by_role(
        &self,
        found: &mut Found,
        steps: &mut Steps,
    ) -> Result<Option<Said>, SearchError> {
        let generated = match self.asker.parts.chat.role(Role::Answer) {
            Some(model) => self.by_model(found, &model).await?,
            None => None,
        };
        match generated {
            Some(generated) => Ok(Some(self.said(found, generated, steps).await?)),
            None => {
                degrade(&mut found.degraded, LESSER_ANSWER);
                Ok(None)
            }
        }
    }

    /// Whether the answer is in Chinese.
    pub fn is_chinese(&self) -> bool {
        is_chinese(&self.asked.request.question)
    }

    /// Shows more of the answer.
    pub async fn show(&self, said: &mut Said, text: &str) {
        said.text.push_str(text);
        let chunk = self.manner.form.chunk;
        self.events.send(chunk(text.to_owned())).await;
    }

    /// Says that a source is cited, the first time.
    pub async fn cite(&self, said: &mut Said, number: u32) {
        if !said.cited.contains(&number) {
            said.cited.push(number);
            self.events.send(AskEvent::Citation { number }).await;
        }
    }

    /// Finds the parts of the form in the answer, and names where they are lacking.
    pub fn divide(&self, said: &mut Said, found: &mut Found) {
        said.sections = sections(&said.text, self.manner.parts);
        // What the passages do not say is missing in their words too.
        let is_by_model = said
            .verdict
            .is_some_and(|verdict| !matches!(verdict, Verdict::Refused | Verdict::Extractive));
        let has_form = said.sections.len() >= 2;
        if !self.manner.parts.is_empty() && !has_form && is_by_model {
            degrade(&mut found.degraded, LESSER_FORM);
        }
    }

    /// `None` if the model gave no answer, which the log tells.
    async fn by_model(
        &self,
        found: &Found,
        model: &RoleModel,
    ) -> Result<Option<Generated>, SearchError> {
        let config = self.asker.config();
        let language = if self.is_chinese() { "zh" } else { "en" };
        let prompt = self
            .asker
            .parts
            .prompts
            .get(self.manner.prompt, Some(language))?;
        let task = Task {
            prompt: &prompt,
            question: &found.understanding.standalone_question,
            history: &self.asked.history,
            earlier: &self.asked.earlier,
            sources: &found.sources,
            refusal: config.refusal.sentence(self.is_chinese()),
            reply_tokens: self.manner.reply_tokens.unwrap_or(config.reply_tokens),
            deadline: self
                .asked
                .time_to_write(Duration::from_millis(config.deadline_ms)),
            form: &self.manner.form,
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

    /// The sentences of these sources that say most of the question.
    pub async fn best_sentences(
        &self,
        found: &Found,
        sources: Vec<Source>,
    ) -> Result<extractive::Extract, SearchError> {
        let question = found.understanding.standalone_question.clone();
        let intent = found.understanding.intent;
        let analyzer = self.asker.parts.retriever.analyzer();
        let extract = match found.has_rows() {
            true => extractive::extract_with_rows,
            false => extractive::extract,
        };
        blocking(move || extract(&question, intent, &sources, &analyzer)).await
    }

    async fn extract(&self, found: &Found) -> Result<Said, SearchError> {
        let extract = self.best_sentences(found, found.sources.clone()).await?;
        if extract.answer.is_empty() {
            return Ok(self.refuse().await);
        }
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

    /// What is said below code of no source is said by us, and needs no source.
    fn leave_out_notes(&self, support: &mut Vec<Support>, answer: &str) {
        let Some((note, _)) = &self.manner.form.verbatim else {
            return;
        };
        let note = letters(note);
        support.retain(|one| {
            let length = one.span.end - one.span.start;
            let statement: String = answer.chars().skip(one.span.start).take(length).collect();
            letters(&statement) != note
        });
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
        if generated.refused {
            let said = self.refuse().await;
            return Ok(Said { model, ..said });
        }
        let minimum = self.manner.minimum_coverage;
        let mut supported =
            held_against_sources(self.asker, found, &generated.text, minimum).await?;
        self.leave_out_notes(&mut supported.support, &generated.text);
        note_lacks(found, &generated, self.is_chinese());
        let mut quotations = generated.quotations.iter();
        let says_something = generated.text.chars().any(char::is_alphanumeric);
        let is_whole = !generated.cut
            && says_something
            && supported.support.iter().all(|one| one.supported)
            && quotations.all(|quotation| quotation.source.is_some());
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
            quotations: generated.quotations,
            model,
            ..Said::default()
        })
    }
}

async fn held_against_sources(
    asker: &Asker,
    found: &Found,
    answer: &str,
    minimum: f32,
) -> Result<support::Supported, SearchError> {
    let (answer, sources) = (answer.to_owned(), found.sources.clone());
    let analyzer = asker.parts.retriever.analyzer();
    blocking(move || support::support(&answer, &sources, minimum, &analyzer)).await
}

fn letters(text: &str) -> String {
    text.chars().filter(|one| one.is_alphanumeric()).collect()
}

fn note_lacks(found: &mut Found, generated: &Generated, is_chinese_question: bool) {
    if generated.cut {
        degrade(&mut found.degraded, LESSER_ANSWER);
    }
    if is_in_other_language(&generated.text, is_chinese_question) {
        degrade(&mut found.degraded, OTHER_LANGUAGE);
    }
}

/// Whether what a model wrote is not in the language of the question. A name alone is in any.
pub fn is_in_other_language(text: &str, is_chinese_question: bool) -> bool {
    let letters = text.chars().filter(|one| one.is_alphabetic());
    // A Chinese character says as much as some letters.
    let said: usize = letters.map(|one| if one.is_ascii() { 1 } else { 3 }).sum();
    said > LEAST_SAID && is_chinese(text) != is_chinese_question
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
    let has_asked = |table: &TableAnswer| table.err_code == ANSWERED;
    if request.nl2sql == Some(true) && !found.table.as_deref().is_some_and(has_asked) {
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
        unmatched_terms: found.unmatched_terms,
        unmet_filter: found.unmet_filter,
        degraded: found.degraded,
        removed_citations: said.removed_citations,
        took_ms: elapsed_ms(steps.started),
        steps: steps.steps,
        model: said.model,
        tokens: None,
        tokens_by_role: BTreeMap::new(),
        review: found.review,
        table: found.table,
        sections: said.sections,
        quotations: said.quotations,
        sides: found.sides,
        error_map: said.error_map,
        report: said.report,
        understanding: request.explain.then_some(found.understanding),
        plans: found.plans,
    }
}

/// Whether a question is in Chinese.
pub fn is_chinese_question(asked: &Asked) -> bool {
    is_chinese(&asked.request.question)
}

/// Where a part of a text stands in it, in characters.
pub fn span_of(text: &str, part: &str) -> Span {
    let before = text.find(part).and_then(|at| text.get(..at));
    let start = before.map_or(0, |before| before.chars().count());
    Span {
        start,
        end: start + part.chars().count(),
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
