//! Understanding without a model: one idea a file, all pure functions. The order is that in which
//! one needs the other: the standalone question first, the rest is read from it.

mod chinese;
mod comparison;
mod english;
mod entities;
pub mod error_log;
pub mod error_query;
pub mod escapes;
pub mod follow_up;
pub mod intent;
mod keywords;
pub mod language;
mod variants;

use tributary_schemas::ask::Round;
use tributary_schemas::understanding::{Understanding, UnderstoodBy};
use tributary_taxonomy::{Analyzer, Synonyms};

pub use variants::MAXIMUM as MAXIMUM_VARIANTS;

/// What the rules know of the domain.
#[derive(Clone, Copy)]
pub struct Domain<'a> {
    /// Cuts text, and knows the terms.
    pub analyzer: &'a Analyzer,
    /// Names of the same things.
    pub synonyms: &'a Synonyms,
}

/// What a question means. Without a history, or where it must not be rewritten, the standalone
/// question is the question.
pub fn understand(
    question: &str,
    history: &[Round],
    rewrite: bool,
    domain: Domain<'_>,
) -> Understanding {
    let question = question.trim();
    let history = if rewrite { history } else { &[] };
    let completion = follow_up::complete(question, history, domain.analyzer);
    let understanding = Understanding {
        question: question.to_owned(),
        confidence: completion.confidence,
        error_log: error_log::error_log(question),
        made_by: UnderstoodBy::Rules,
        ..Understanding::of(&completion.question)
    };
    read(understanding, domain)
}

/// Fills in what follows from the standalone question.
pub fn read(understanding: Understanding, domain: Domain<'_>) -> Understanding {
    let standalone = understanding.standalone_question.as_str();
    let entities = entities::entities(standalone, domain.analyzer, domain.synonyms);
    Understanding {
        variants: variants::variants(standalone, domain.synonyms),
        intent: intent::intent(standalone),
        search_keywords: keywords::keywords(standalone, &entities, domain.analyzer),
        sub_queries: comparison::sub_queries(standalone),
        entities,
        question: understanding.question.clone(),
        ..understanding.clone()
    }
}
