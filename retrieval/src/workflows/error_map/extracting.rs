//! The lesser way to answer for an error: the same form in the words of the sources.

use tributary_schemas::ask::{Quotation, QuotationKind, Source, Verdict};

use super::{answer_of, cited};
use crate::answer::form;
use crate::error::SearchError;
use crate::workflows::finding::Found;
use crate::workflows::saying::{Said, Saying, span_of};

/// Characters of a passage that is no answer by itself, as a solution.
const SHOWN_CHARACTERS: usize = 1_500;

/// The sentences that say most of the error, then the answer of the frequent question or, without
/// one, the best passage.
pub async fn extracted(
    saying: &Saying<'_>,
    found: &Found,
    frequent: Option<&Source>,
) -> Result<Said, SearchError> {
    let mut said = Said {
        verdict: Some(Verdict::Extractive),
        ..Said::default()
    };
    let Some(solution) = frequent.or(best(found)) else {
        return Ok(said);
    };
    let others = found.sources.iter();
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

/// The most relevant passage; of equal ones the first.
fn best(found: &Found) -> Option<&Source> {
    let relevance = |source: &Source| source.relevance.unwrap_or(0.0);
    let sources = found.sources.iter().rev();
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
