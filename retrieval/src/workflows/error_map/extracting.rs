//! The lesser way to answer for an error: the same form in the words of the sources.

use tributary_schemas::ChunkKind;
use tributary_schemas::ask::{ErrorMap, Quotation, QuotationKind, Source, Verdict};
use tributary_schemas::names::last_part;

use super::{answer_of, cited, verbatim};
use crate::answer::form;
use crate::answer::words::Words;
use crate::error::SearchError;
use crate::exact_name;
use crate::workflows::finding::Found;
use crate::workflows::saying::{Said, Saying, blocking, span_of};

/// Characters of a passage that is no answer by itself, as a solution.
const SHOWN_CHARACTERS: usize = 1_500;

/// Share of the words of a message that a passage about it has.
const LEAST_SHARE: f32 = 0.5;

/// The sentences that say most of the error, then the answer of the frequent question or, without
/// one, the best passage; of passages that are about it. A refusal where none is: nobody reads them.
pub async fn extracted(
    saying: &Saying<'_>,
    found: &Found,
    frequent: Option<&Source>,
    map: &ErrorMap,
) -> Result<Said, SearchError> {
    let mut said = Said {
        verdict: Some(Verdict::Extractive),
        ..Said::default()
    };
    let about = about(saying, found, map).await?;
    let Some(solution) = frequent.or(best(&about)) else {
        return Ok(saying.refuse().await);
    };
    let others = about.iter();
    let others = others
        .filter(|source| source.number != solution.number)
        .cloned();
    let others: Vec<Source> = others.collect();
    let analysis = saying.best_sentences(found, others).await?;
    let is_chinese = saying.is_chinese();
    if !analysis.answer.is_empty() {
        let text = format!("{}{}\n\n", form::ANALYSIS.line(is_chinese), analysis.answer);
        saying.show(&mut said, &text).await;
        for (number, _) in &analysis.marks {
            saying.cite(&mut said, *number).await;
        }
        said.marks.extend(analysis.marks);
    }
    let answer = match frequent {
        Some(source) => answer_of(&source.text),
        None => beginning(&solution.text),
    };
    let text = format!(
        "{}{}",
        form::SOLUTION.line(is_chinese),
        cited(answer, solution.number)
    );
    saying.show(&mut said, &text).await;
    saying.cite(&mut said, solution.number).await;
    said.marks
        .push((solution.number, span_of(&solution.text, answer)));
    if frequent.is_some() {
        said.quotations.push(Quotation {
            kind: QuotationKind::Faq,
            source: Some(solution.number),
            replaced: false,
        });
    }
    Ok(said)
}

/// The passages that are about what the log tells of. For a question all of them, but pages of a
/// reference that it does not name.
async fn about(
    saying: &Saying<'_>,
    found: &Found,
    map: &ErrorMap,
) -> Result<Vec<Source>, SearchError> {
    let sources = found.sources.clone();
    if !map.is_log {
        let question = found.understanding.standalone_question.as_str();
        let names: Vec<String> = exact_name::words(question).map(str::to_owned).collect();
        let is_about = |source: &Source| source.kind != ChunkKind::Api || is_named(source, &names);
        return Ok(sources.into_iter().filter(is_about).collect());
    }
    let analyzer = saying.asker.parts.retriever.analyzer();
    let sure_from = saying.asker.config().error_map.verbatim_from;
    let (errors, identifiers) = (map.errors.clone(), map.identifiers.clone());
    blocking(move || {
        let words = |text: &str| Words::of(text, &analyzer);
        let messages: Vec<Words> = errors.iter().map(|error| words(error)).collect();
        let is_about = |source: &Source| {
            // A reference has the words of every message about its parameters.
            if source.kind == ChunkKind::Api {
                return is_named(source, &identifiers);
            }
            let text = words(&format!("{}\n{}", source.title, source.text));
            let says_most = |message: &Words| message.coverage_by([&text]) >= LEAST_SHARE;
            source.relevance.is_some_and(|sure| sure >= sure_from)
                || messages.iter().any(says_most)
                || verbatim::has_message(&source.text, &errors)
        };
        sources.into_iter().filter(is_about).collect()
    })
    .await
}

/// Whether a name in the log is that of the page, whole or its last part.
fn is_named(source: &Source, identifiers: &[String]) -> bool {
    let title = last_part(&source.title);
    let is_it = |name: &String| last_part(name).eq_ignore_ascii_case(title);
    identifiers.iter().any(is_it)
}

/// The most relevant passage; of equal ones the first.
fn best(sources: &[Source]) -> Option<&Source> {
    let relevance = |source: &Source| source.relevance.unwrap_or(0.0);
    let sources = sources.iter().rev();
    sources.max_by(|left, right| relevance(left).total_cmp(&relevance(right)))
}

/// Whole lines from the beginning.
fn beginning(text: &str) -> &str {
    let mut end = 0;
    let mut characters = 0;
    for line in text.split_inclusive('\n') {
        characters += line.chars().count();
        if end > 0 && characters > SHOWN_CHARACTERS {
            break;
        }
        end += line.len();
    }
    text.get(..end).unwrap_or(text).trim()
}
