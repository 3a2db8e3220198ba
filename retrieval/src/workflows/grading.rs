//! Has an answer read by the model of the role `judge`, as an evaluation does.

use std::time::{Duration, Instant};

use super::Asker;
use super::calling::Calls;
use crate::prompts::{ANSWER_GRADE, AnswerGradeReply, AnswerToGrade, NumberedPassage};

/// Tokens of the reply at most.
const REPLY_TOKENS: usize = 300;
/// Longest time for it: nobody waits.
const DEADLINE: Duration = Duration::from_secs(120);

/// An answer to be read.
#[derive(Clone, Copy, Debug)]
pub struct ToGrade<'a> {
    /// What was asked.
    pub question: &'a str,
    /// What was answered.
    pub answer: &'a str,
    /// What would be right; empty where nobody said it.
    pub expected: &'a [String],
    /// What the answer was made from, by number from 1.
    pub passages: &'a [&'a str],
}

/// What the model makes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grade {
    /// Whether it answers the question rightly.
    pub right: bool,
    /// Why, in a sentence.
    pub reason: String,
}

impl Asker {
    /// Whether an answer is right. `None` where there is no model, or no reply that can be read.
    pub async fn grade(&self, to_grade: &ToGrade<'_>) -> Option<Grade> {
        let calls = Calls {
            asker: self,
            question: to_grade.question,
            deadline: Instant::now() + DEADLINE,
            reply_tokens: REPLY_TOKENS,
        };
        let values = |passages: &[NumberedPassage]| AnswerToGrade {
            question: to_grade.question,
            answer: to_grade.answer,
            expected: to_grade.expected.join("\n"),
            passages: passages.to_vec(),
        };
        let passages: Vec<NumberedPassage> = (1..)
            .zip(to_grade.passages)
            .map(|(number, text)| NumberedPassage {
                number,
                text: (*text).to_owned(),
            })
            .collect();
        let reply: AnswerGradeReply = calls.ask_of_parts(ANSWER_GRADE, &passages, values).await?;
        Some(Grade {
            right: reply.right,
            reason: reply.reason,
        })
    }
}
