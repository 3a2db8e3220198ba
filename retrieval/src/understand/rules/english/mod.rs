//! English follow-ups, completed.

mod ellipsis;
mod pronoun;
mod topic;
mod words;

use tributary_schemas::ask::Round;
use tributary_taxonomy::Analyzer;

use super::follow_up::{Completion, UNSURE};

/// The question as it would be asked without the rounds; `None` where it needs nothing of them.
pub fn complete(question: &str, history: &[Round], analyzer: &Analyzer) -> Option<Completion> {
    let words = words::words(question);
    let topics = topic::topics(history, analyzer);
    if topics.is_empty() && pronoun::leans(question, &words) {
        return joined(question, history);
    }
    pronoun::complete(question, &words, &topics)
        .or_else(|| ellipsis::complete(question, history, &topics, analyzer))
}

/// The question behind the last one, which says what its pronoun stands for in words that are no name.
fn joined(question: &str, history: &[Round]) -> Option<Completion> {
    let last = history.last()?.question.trim();
    let last = last.trim_end_matches(['?', '.', '!']);
    (!last.is_empty()).then(|| Completion {
        question: format!("{last}? {}", question.trim()),
        confidence: UNSURE,
    })
}
