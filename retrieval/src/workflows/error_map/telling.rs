//! Tells a log from a question about one: by rules, and where they cannot say by the model of the
//! role `understand`.

use std::time::{Duration, Instant};

use crate::prompts::{LOG_OR_QUESTION, LogOrQuestionReply, ToTellLog};
use crate::understand::rules::error_log::error_log;
use crate::understand::rules::error_query::{ErrorQuery, error_query};
use crate::understand::rules::escapes::without_escapes;
use crate::workflows::Asker;
use crate::workflows::calling::Calls;

/// Lines from which a text without any sign of a log may be one all the same.
const MANY_LINES: usize = 3;
/// Characters of the question that a model is shown.
const SHOWN_CHARACTERS: usize = 2_000;
/// Tokens of the reply.
const REPLY_TOKENS: usize = 60;

/// What was pasted.
pub enum Told {
    /// A log, and what of it is searched for.
    Log(ErrorQuery),
    /// A question, which may lean on what was said before.
    Question,
}

/// What the rules say; `None` where they cannot.
pub fn by_rules(question: &str) -> Option<Told> {
    let question = &*without_escapes(question);
    if let Some(log) = error_log(question) {
        return Some(Told::Log(error_query(&log)));
    }
    let lines = question
        .lines()
        .filter(|line| !line.trim().is_empty())
        .count();
    (lines < MANY_LINES).then_some(Told::Question)
}

/// What a question is, and whether nobody could say.
pub async fn tell(asker: &Asker, question: &str) -> (Told, bool) {
    let question = &*without_escapes(question);
    if let Some(told) = by_rules(question) {
        return (told, false);
    }
    let shown: String = question.chars().take(SHOWN_CHARACTERS).collect();
    let calls = Calls {
        asker,
        question: &shown,
        deadline: Instant::now() + Duration::from_millis(asker.config().error_map.deadline_ms),
        reply_tokens: REPLY_TOKENS,
    };
    let values = ToTellLog { text: &shown };
    let reply: Option<LogOrQuestionReply> = calls.ask(LOG_OR_QUESTION, values, |_| Ok(())).await;
    let has_model = asker
        .parts
        .chat
        .role(tributary_models::chat::Role::Understand)
        .is_some();
    match reply {
        Some(reply) if reply.is_log => (Told::Log(error_query(question)), false),
        Some(_) => (Told::Question, false),
        // Several lines without a question are more likely a log.
        None if error_query(question).errors.is_empty() => (Told::Question, has_model),
        None => (Told::Log(error_query(question)), has_model),
    }
}
