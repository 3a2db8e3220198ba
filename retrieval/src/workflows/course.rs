//! The workflow `course`: the answer of the textbook, a separating heading, then the explanation of
//! the source code, in one answer. Each part searches its own part of the documents; where one finds
//! nothing or fails the other one is the answer, and `degraded` names it.

use serde::{Deserialize, Serialize};
use tributary_schemas::ask::{Answer, AskEvent, PartDone, Section, Span, Support, Verdict};

use super::code;
use super::finding::{Found, is_answerable};
use super::saying::{self, Manner, Said, Saying};
use super::sides::Scope;
use super::textbook;
use super::{Asked, Asker, Steps};
use crate::error::SearchError;
use crate::events::Events;
use crate::prompts::TEXTBOOK_ANSWER;
use crate::retriever::degrade;
use crate::understand::Understood;

/// Names of the parts in `degraded` and in the sections of the answer.
const TEXTBOOK: &str = "textbook";
/// See [`TEXTBOOK`].
const CODE: &str = "code";

/// The section `[query_api.answer.course]`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CourseConfig {
    /// Where the textbook lies.
    pub textbook: Scope,
    /// Where the source code lies.
    pub code: Scope,
    /// What separates the parts.
    pub heading: Heading,
}

/// A heading, by language of the question.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Heading {
    /// For questions in Chinese.
    pub zh: String,
    /// For all others.
    pub en: String,
}

impl CourseConfig {
    /// Everything that is wrong with the values, one line each.
    pub fn problems(&self) -> Vec<String> {
        let texts = [&self.heading.zh, &self.heading.en];
        let is_line = |text: &&String| !text.trim().is_empty() && !text.contains('\n');
        let heading = (!texts.iter().all(is_line))
            .then(|| "course.heading must be one line in both languages".to_owned());
        let textbook = self.textbook.problems("course.textbook");
        let code = self.code.problems("course.code");
        heading.into_iter().chain(textbook).chain(code).collect()
    }
}

/// A part that is over.
enum Part {
    Said(Box<(Found, Said)>),
    Failed(SearchError),
}

/// Answers a question.
pub async fn answer(asker: &Asker, asked: &Asked, events: &Events) -> Result<Answer, SearchError> {
    let mut steps = Steps::begin();
    let config = &asker.config().course;
    let first = asked.within(config.textbook.filter());
    let textbook = match textbook_part(asker, &first, events, &mut steps).await {
        Ok(part) => Part::Said(Box::new(part)),
        Err(error) => failed(error)?,
    };
    events.send(AskEvent::TextbookDone(done(&textbook))).await;
    let second = asked.within(config.code.filter());
    let code = match code_part(asker, &second, &textbook, events, &mut steps).await {
        Ok(part) => Part::Said(Box::new(part)),
        Err(error) => failed(error)?,
    };
    events.send(AskEvent::CodeDone(done(&code))).await;
    let (found, said) = joined(textbook, code)?;
    if said.text.is_empty() {
        // The textbook has no answer and the code failed: nobody has said so yet.
        return Ok(saying::refuse(asker, asked, found, events, steps).await);
    }
    Ok(saying::written(asker, asked, found, said, steps))
}

/// A part that fails is named; a question that is wrong is wrong for both.
fn failed(error: SearchError) -> Result<Part, SearchError> {
    match error {
        SearchError::Failed(_) => {
            tracing::warn!(%error, "a part of an answer failed");
            Ok(Part::Failed(error))
        }
        wrong => Err(wrong),
    }
}

fn done(part: &Part) -> PartDone {
    match part {
        Part::Said(part) => code::done(&part.1),
        Part::Failed(error) => PartDone {
            verdict: None,
            failure: Some(error.kind().to_string()),
        },
    }
}

async fn textbook_part(
    asker: &Asker,
    asked: &Asked,
    events: &Events,
    steps: &mut Steps,
) -> Result<(Found, Said), SearchError> {
    let mut found = textbook::find(asker, asked, events, steps).await?;
    let manner = Manner::plain(asker, TEXTBOOK_ANSWER);
    let saying = Saying {
        asker,
        asked,
        manner: &manner,
        events,
    };
    // Whether that is the whole answer is known after the code.
    if !is_answerable(&found) {
        return Ok((found, Said::default()));
    }
    let said = saying.part(&mut found, steps).await?;
    Ok((found, said))
}

async fn code_part(
    asker: &Asker,
    asked: &Asked,
    textbook: &Part,
    events: &Events,
    steps: &mut Steps,
) -> Result<(Found, Said), SearchError> {
    let (understood, first, is_said) = match textbook {
        Part::Said(part) => {
            let is_refused = part.1.verdict.is_none_or(|one| one == Verdict::Refused);
            let last = part.0.sources.last().filter(|_| !is_refused);
            let last = last.map_or(0, |source| source.number);
            let understood = code::understood(&part.0.understanding);
            (understood, last + 1, !part.1.text.is_empty())
        }
        Part::Failed(_) => (understood_anew(asker, asked).await, 1, false),
    };
    let mut code = code::find(asker, asked, understood, first, events, steps).await?;
    if !code.is_answerable() && is_said {
        return Ok((code.found, Said::default()));
    }
    let mut heading = String::new();
    if code.is_answerable() {
        heading = separating(asker, asked, is_said);
        let text = heading.clone();
        events.send(AskEvent::AnswerChunk { text }).await;
    }
    let said = code::explain(asker, asked, &mut code, events, steps).await?;
    Ok((code.found, below(&heading, said)))
}

async fn understood_anew(asker: &Asker, asked: &Asked) -> Understood {
    let rewrite = asked.request.rewrite.unwrap_or(true);
    let question = asked.request.question.trim();
    let understander = &asker.parts.understander;
    understander
        .understand(question, &asked.history, rewrite)
        .await
}

fn separating(asker: &Asker, asked: &Asked, is_said: bool) -> String {
    let heading = &asker.config().course.heading;
    let heading = match saying::is_chinese_question(asked) {
        true => &heading.zh,
        false => &heading.en,
    };
    let gap = if is_said { "\n\n" } else { "" };
    format!("{gap}# {}\n\n", heading.trim())
}

/// What is said, below a heading.
fn below(heading: &str, said: Said) -> Said {
    let shift = heading.chars().count();
    let text = format!("{heading}{}", said.text);
    Said {
        text,
        ..shifted(said, shift)
    }
}

/// Places in an answer that stands so many characters later.
fn shifted(mut said: Said, by: usize) -> Said {
    let shift = |span: &mut Span| {
        span.start += by;
        span.end += by;
    };
    said.support
        .iter_mut()
        .for_each(|one: &mut Support| shift(&mut one.span));
    said.sections
        .iter_mut()
        .for_each(|one: &mut Section| shift(&mut one.span));
    said
}

fn joined(textbook: Part, code: Part) -> Result<(Found, Said), SearchError> {
    match (textbook, code) {
        (Part::Failed(error), Part::Failed(_)) => Err(error),
        (Part::Said(part), Part::Failed(_)) => Ok(alone(*part, CODE, TEXTBOOK)),
        (Part::Failed(_), Part::Said(part)) => Ok(alone(*part, TEXTBOOK, CODE)),
        (Part::Said(first), Part::Said(second)) => Ok(both(*first, *second)),
    }
}

/// One part is the answer; the other one is named.
fn alone((mut found, mut said): (Found, Said), lacking: &str, name: &str) -> (Found, Said) {
    degrade(&mut found.degraded, lacking);
    section(&mut said, name, 0);
    (found, said)
}

fn section(said: &mut Said, name: &str, start: usize) {
    let end = said.text.chars().count();
    if end > start {
        let part = Section {
            name: name.to_owned(),
            heading: String::new(),
            span: Span { start, end },
        };
        let at = said.sections.iter().position(|one| one.span.start >= start);
        said.sections
            .insert(at.unwrap_or(said.sections.len()), part);
    }
}

fn both((mut found, first): (Found, Said), (code, second): (Found, Said)) -> (Found, Said) {
    let is_refused = |said: &Said| said.verdict.is_none_or(|one| one == Verdict::Refused);
    // What stands in no textbook may stand in the code.
    found.unmatched_terms.clear();
    found.unmet_filter = found.unmet_filter.filter(|_| is_refused(&second));
    for what in code.degraded.iter().map(String::as_str) {
        degrade(&mut found.degraded, what);
    }
    if let (Some(review), Some(of_code)) = (&mut found.review, code.review) {
        review.code_rounds = of_code.code_rounds;
    }
    match (is_refused(&first), is_refused(&second)) {
        // Nothing answers, which is said once.
        (true, true) => {
            let text = first.text + &second.text;
            (
                found,
                Said {
                    text,
                    ..Said::default()
                },
            )
        }
        (false, true) => {
            found.plans.extend(code.plans);
            let (found, mut said) = alone((found, first), CODE, TEXTBOOK);
            said.text.push_str(&second.text);
            (found, said)
        }
        (is_empty, false) => {
            if is_empty {
                degrade(&mut found.degraded, TEXTBOOK);
            }
            let sources = if is_empty {
                Vec::new()
            } else {
                std::mem::take(&mut found.sources)
            };
            found.sources = sources.into_iter().chain(code.sources).collect();
            let start = first.text.chars().count();
            let mut said = together(first, second);
            if start > 0 && !is_empty {
                let part = Section {
                    name: TEXTBOOK.to_owned(),
                    heading: String::new(),
                    span: Span {
                        start: 0,
                        end: start,
                    },
                };
                said.sections.insert(0, part);
            }
            section(&mut said, CODE, start);
            (found, said)
        }
    }
}

fn together(first: Said, second: Said) -> Said {
    let verdict = match (first.verdict, second.verdict) {
        (one, other) if one == other => one,
        _ => Some(Verdict::Partly),
    };
    let second = shifted(second, first.text.chars().count());
    Said {
        text: first.text + &second.text,
        verdict,
        support: [first.support, second.support].concat(),
        marks: [first.marks, second.marks].concat(),
        cited: [first.cited, second.cited].concat(),
        removed_citations: first.removed_citations + second.removed_citations,
        model: first.model.or(second.model),
        sections: [first.sections, second.sections].concat(),
        quotations: [first.quotations, second.quotations].concat(),
        error_map: None,
        report: None,
    }
}
