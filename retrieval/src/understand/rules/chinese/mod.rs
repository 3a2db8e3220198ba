//! Chinese follow-ups, completed.

mod contrast;
mod ellipsis;
mod pronoun;
mod sentence;
mod subject;
mod topic;

use tributary_schemas::ask::Round;
use tributary_taxonomy::Analyzer;

use super::follow_up::Completion;
use sentence::Sentence;

/// The question as it would be asked without the rounds; `None` where it needs nothing of them.
pub fn complete(question: &str, history: &[Round], analyzer: &Analyzer) -> Option<Completion> {
    let sentence = Sentence::read(question, analyzer);
    let topics = topic::topics(history, analyzer);
    contrast::contrast(&sentence, history, analyzer)
        .or_else(|| pronoun::complete(&sentence, &topics))
        .or_else(|| ellipsis::complete(&sentence, history, &topics))
}
