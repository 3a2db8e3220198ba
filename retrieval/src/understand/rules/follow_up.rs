//! Follow-ups: a question that leans on what was said before is completed from it. A question that
//! stands for itself stays as it is, whatever was said before.

use tributary_schemas::ask::Round;
use tributary_taxonomy::Analyzer;

use super::{chinese, english, intent, language};

/// Rounds that are looked at, the last ones.
const ROUNDS: usize = 12;
/// Longer questions say themselves what they are about, in characters.
const LONGEST: usize = 200;
/// What was left out is put beside the question, since nothing says where it belongs.
pub const UNSURE: f32 = 0.4;
/// A question in which nothing points to the rounds before it.
const COMPLETE: f32 = 0.95;

/// A question that stands for itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Completion {
    /// It.
    pub question: String,
    /// How sure it is the one that was meant, 0 to 1.
    pub confidence: f32,
}

impl Completion {
    /// With a pronoun replaced by a name, which is more likely what was meant than another noun.
    pub fn of(question: String, is_named: bool) -> Self {
        Self {
            question,
            confidence: if is_named { 0.85 } else { 0.6 },
        }
    }
}

/// The question as it would be asked without the rounds.
pub fn complete(question: &str, history: &[Round], analyzer: &Analyzer) -> Completion {
    if history.is_empty() {
        return Completion {
            question: question.to_owned(),
            confidence: 1.0,
        };
    }
    let from = history.len().saturating_sub(ROUNDS);
    let recent = history.get(from..).unwrap_or(history);
    // Each question is read as it was meant, or the third one would know nothing of the first.
    let mut rounds: Vec<Round> = Vec::with_capacity(recent.len());
    for round in recent {
        let question = completed(&round.question, &rounds, analyzer).question;
        rounds.push(Round {
            question,
            answer: beginning(&round.answer),
        });
    }
    completed(question, &rounds, analyzer)
}

fn completed(question: &str, rounds: &[Round], analyzer: &Analyzer) -> Completion {
    let is_long = question.chars().count() > LONGEST;
    let completed = match rounds.is_empty() || is_long || intent::is_smalltalk(question) {
        true => None,
        false if language::is_chinese(question) => chinese::complete(question, rounds, analyzer),
        false => english::complete(question, rounds, analyzer),
    };
    completed.unwrap_or_else(|| Completion {
        question: question.to_owned(),
        confidence: COMPLETE,
    })
}

/// What an answer is about stands in its first sentences.
fn beginning(answer: &str) -> String {
    answer.chars().take(LONGEST).collect()
}
