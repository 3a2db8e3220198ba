//! English follow-ups, completed.

mod ellipsis;
mod pronoun;
mod topic;
mod words;

use tributary_schemas::ask::Round;
use tributary_taxonomy::Analyzer;

use super::follow_up::Completion;

/// The question as it would be asked without the rounds; `None` where it needs nothing of them.
pub fn complete(question: &str, history: &[Round], analyzer: &Analyzer) -> Option<Completion> {
    let words = words::words(question);
    let topics = topic::topics(history, analyzer);
    pronoun::complete(question, &words, &topics)
        .or_else(|| ellipsis::complete(question, history, &topics, analyzer))
}
