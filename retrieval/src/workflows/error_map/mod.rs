//! The workflow `error_map`: what an error log means and what helps. A log is told from a question,
//! its messages and names are searched for on each side of the documents, and the answer is an
//! analysis, a solution and the environment that the sources speak of. The answer to a frequent
//! question and code are those of the sources, word for word.

mod config;
mod environment;
mod extracting;
mod telling;
mod verbatim;

use serde_json::json;
use tributary_schemas::ChunkKind;
use tributary_schemas::ask::{
    Answer, AskRequest, ErrorMap, Quotation, QuotationKind, Source, Verdict,
};
use tributary_schemas::understanding::{Intent, Understanding};

use super::finding::{self, Bar, Found, is_answerable};
use super::saying::{self, Manner, Said, Saying};
use super::sides::{self, Joining, Sides};
use super::{Asked, Asker, Steps};
use crate::answer::extractive::escaped;
use crate::answer::form;
use crate::answer::generate::Form;
use crate::error::SearchError;
use crate::events::Events;
use crate::prompts::ERROR_MAP_ANSWER;
use crate::understand::Understood;
use crate::understand::rules::error_query::ErrorQuery;
pub use config::{EnvironmentField, ErrorMapConfig};
use telling::Told;

/// Headings of an answer whose solution is that of a frequent question: nothing is let through from
/// the second on.
const ANALYSIS_ALONE: usize = 2;

/// What is wrong with a question before it is worked on; what is searched for it.
pub fn checked(asker: &Asker, request: &AskRequest) -> Result<String, SearchError> {
    let config = &asker.config().error_map;
    let bytes = request.question.len();
    if bytes > config.log_limit_bytes {
        return Err(SearchError::LogTooLong {
            bytes,
            maximum: config.log_limit_bytes,
        });
    }
    match telling::by_rules(&request.question) {
        Some(Told::Log(query)) => searched_for(asker, &query),
        // A model is asked later; what can be searched for now is enough to check.
        None => Ok(request
            .question
            .chars()
            .take(config.query_characters)
            .collect()),
        Some(Told::Question) => Ok(request.question.clone()),
    }
}

fn searched_for(asker: &Asker, query: &ErrorQuery) -> Result<String, SearchError> {
    if query.is_empty() {
        return Err(SearchError::Invalid(
            "the log says where something happened and not what: it has only paths, line numbers \
             and frames. Paste the lines with the error message too"
                .to_owned(),
        ));
    }
    Ok(query.text(asker.config().error_map.query_characters))
}

/// Answers a question.
pub async fn answer(asker: &Asker, asked: &Asked, events: &Events) -> Result<Answer, SearchError> {
    let mut steps = Steps::begin();
    let (understood, map) = understand(asker, asked, events, &mut steps).await?;
    events.step("retrieval").await;
    let mut found = search(asker, asked, understood).await?;
    let is_quoted = |source: &Source| verbatim::has_message(&source.text, &map.errors);
    if found.sources.iter().any(is_quoted) {
        found.bar = Bar::of(0.0);
    }
    let took_ms = steps.end("retrieval");
    finding::show(&found, took_ms, events).await;
    let manner = manner(asker, &found, saying::is_chinese_question(asked));
    let saying = Saying {
        asker,
        asked,
        manner: &manner,
        events,
    };
    let said = said(&saying, &mut found, map, &mut steps).await?;
    Ok(saying::written(asker, asked, found, said, steps))
}

/// A log stands for itself; a question is completed from what was said before.
async fn understand(
    asker: &Asker,
    asked: &Asked,
    events: &Events,
    steps: &mut Steps,
) -> Result<(Understood, ErrorMap), SearchError> {
    let question = asked.request.question.trim();
    let (told, is_degraded) = telling::tell(asker, question).await;
    let (mut understood, map) = match told {
        Told::Question => {
            let understood = finding::understand(asker, asked, events, steps).await;
            (understood, ErrorMap::default())
        }
        Told::Log(query) => {
            let text = searched_for(asker, &query)?;
            let understanding = of_log(question, &text, &query);
            events.step("understanding").await;
            steps.end("understanding");
            finding::tell(&understanding, events).await;
            let map = ErrorMap {
                is_log: true,
                errors: query.errors,
                identifiers: query.identifiers,
                environment: Vec::new(),
            };
            let understood = Understood {
                understanding,
                degraded: None,
            };
            (understood, map)
        }
    };
    if is_degraded {
        understood.degraded = Some(crate::understand::DEGRADED.to_owned());
    }
    Ok((understood, map))
}

fn of_log(question: &str, text: &str, query: &ErrorQuery) -> Understanding {
    Understanding {
        question: question.to_owned(),
        standalone_question: text.to_owned(),
        intent: Intent::Error,
        entities: query.identifiers.clone(),
        search_keywords: query.identifiers.clone(),
        error_log: Some(question.to_owned()),
        confidence: 1.0,
        ..Understanding::default()
    }
}

async fn search(
    asker: &Asker,
    asked: &Asked,
    understood: Understood,
) -> Result<Found, SearchError> {
    let config = &asker.config().error_map;
    if config.sides.is_empty() {
        let found = finding::search(asker, asked, understood).await?;
        return Ok(Found {
            bar: Bar::of(config.refuse_below),
            ..found
        });
    }
    let sides = Sides {
        sides: &config.sides,
        joining: Joining::Concatenated,
        passages: config.passages,
        bar: Bar::of(config.refuse_below),
    };
    sides::search(asker, asked, understood, &sides).await
}

fn manner(asker: &Asker, found: &Found, is_chinese: bool) -> Manner {
    let has_solution = frequent(asker, found).is_some();
    let values = json!({
        "analysis": form::ANALYSIS.heading(is_chinese),
        "solution": form::SOLUTION.heading(is_chinese),
        "has_solution": has_solution,
    });
    let unknown = match is_chinese {
        true => "（以上代码不在资料中。）",
        false => "(This code stands in no source.)",
    };
    let headings = if has_solution {
        ANALYSIS_ALONE
    } else {
        usize::MAX
    };
    Manner {
        prompt: ERROR_MAP_ANSWER,
        form: Form {
            values,
            verbatim: Some((unknown.to_owned(), headings)),
            ..Form::default()
        },
        parts: form::ERROR_MAP,
        minimum_coverage: asker.config().minimum_coverage,
        reply_tokens: None,
    }
}

/// The frequent question that is the one that was asked: the most relevant passage.
fn frequent<'a>(asker: &Asker, found: &'a Found) -> Option<&'a Source> {
    let relevance = |source: &&Source| source.relevance.unwrap_or(0.0);
    let best = found
        .sources
        .iter()
        .max_by(|left, right| relevance(left).total_cmp(&relevance(right)))?;
    let is_sure = best.relevance? >= asker.config().error_map.verbatim_from;
    (best.kind == ChunkKind::Faq && is_sure).then_some(best)
}

async fn said(
    saying: &Saying<'_>,
    found: &mut Found,
    map: ErrorMap,
    steps: &mut Steps,
) -> Result<Said, SearchError> {
    let frequent = frequent(saying.asker, found).cloned();
    let mut said = if is_answerable(found) {
        saying.events.step("answer").await;
        match saying.by_role(found, steps).await? {
            Some(said) => said,
            None => extracting::extracted(saying, found, frequent.as_ref(), &map).await?,
        }
    } else {
        saying.refuse().await
    };
    if said
        .verdict
        .is_none_or(|verdict| verdict == Verdict::Refused)
    {
        return Ok(Said {
            error_map: Some(Box::new(map)),
            ..said
        });
    }
    if let Some(source) = frequent.filter(|_| said.verdict != Some(Verdict::Extractive)) {
        found.sources = with(std::mem::take(&mut found.sources), &source);
        solve(saying, &mut said, &source).await;
    }
    let environment = environment(saying, found, &mut said).await;
    saying.divide(&mut said, found);
    steps.end("answer");
    said.error_map = Some(Box::new(ErrorMap { environment, ..map }));
    Ok(said)
}

/// The model may have seen fewer sources than there are.
fn with(mut sources: Vec<Source>, source: &Source) -> Vec<Source> {
    if !sources.iter().any(|known| known.number == source.number) {
        sources.push(source.clone());
    }
    sources
}

/// The solution is the answer to a frequent question, word for word.
async fn solve(saying: &Saying<'_>, said: &mut Said, source: &Source) {
    let heading = form::SOLUTION.line(saying.is_chinese());
    let gap = match said.text.trim().is_empty() {
        true => "",
        false => "\n\n",
    };
    let answer = answer_of(&source.text);
    let text = format!("{gap}{heading}{}", cited(answer, source.number));
    saying.show(said, &text).await;
    saying.cite(said, source.number).await;
    said.marks
        .push((source.number, saying::span_of(&source.text, answer)));
    said.quotations.push(Quotation {
        kind: QuotationKind::Faq,
        source: Some(source.number),
        replaced: false,
    });
}

/// A text with its citation: on a line of its own where the text ends in code or a list.
fn cited(text: &str, number: u32) -> String {
    let is_open = text.matches("```").count() % 2 == 1;
    let closing = if is_open { "\n```" } else { "" };
    let last = text.lines().last().unwrap_or_default().trim_start();
    let gap = match is_open || last.starts_with(['`', '|', '~']) {
        true => "\n\n",
        false => " ",
    };
    format!("{}{closing}{gap}[{number}]", escaped(text))
}

/// The answer of a frequent question without the question: what stands behind its first line and
/// the mark of an answer.
pub(super) fn answer_of(text: &str) -> &str {
    const MARKS: [&str; 6] = ["A:", "A：", "答:", "答：", "**A:**", "**A**:"];
    let begins = MARKS.iter().find_map(|mark| text.strip_prefix(mark));
    let found = MARKS.iter().filter_map(|mark| {
        let (_, rest) = text.split_once(&format!("\n{mark}"))?;
        Some(rest)
    });
    let longest = begins
        .into_iter()
        .chain(found)
        .max_by_key(|rest| rest.len());
    let rest = longest.map(str::trim).filter(|rest| !rest.is_empty());
    rest.unwrap_or_else(|| text.trim())
}

/// Names the environment that the cited sources speak of, below the answer.
async fn environment(
    saying: &Saying<'_>,
    found: &Found,
    said: &mut Said,
) -> Vec<tributary_schemas::ask::EnvironmentValue> {
    let fields = &saying.asker.config().error_map.environment;
    let is_cited = |source: &&Source| said.cited.contains(&source.number);
    let cited: Vec<&Source> = found.sources.iter().filter(is_cited).collect();
    let values = environment::environment(fields, &cited);
    if values.is_empty() {
        return values;
    }
    let is_chinese = saying.is_chinese();
    let mut text = format!("\n\n{}", form::ENVIRONMENT.line(is_chinese));
    for value in &values {
        let field = fields.iter().find(|field| field.name == value.name);
        let label = field.map_or(value.name.as_str(), |field| match is_chinese {
            true => field.zh.as_str(),
            false => field.en.as_str(),
        });
        let colon = if is_chinese { "：" } else { ": " };
        let said = escaped(&value.value);
        text.push_str(&format!("- {label}{colon}{said} [{}]\n", value.source));
    }
    saying.show(said, text.trim_end()).await;
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_of_a_frequent_question_is_told_from_the_question() {
        let table = [
            (
                "## Q: Why?\n\nA: Because.\n\n- A: no",
                "Because.\n\n- A: no",
            ),
            ("A：因为。", "因为。"),
            ("没有标记的回答。", "没有标记的回答。"),
        ];
        for (text, expected) in table {
            assert_eq!(answer_of(text), expected);
        }
        assert_eq!(cited("Because.", 2), "Because. [2]");
        assert_eq!(cited("Do:\n```\nx\n```", 2), "Do:\n```\nx\n```\n\n[2]");
        assert_eq!(cited("Do:\n```\nx", 2), "Do:\n```\nx\n```\n\n[2]");
    }
}
