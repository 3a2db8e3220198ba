//! Sums up what was said in a conversation before its last rounds, by the model of the role
//! `summarize`: a summary and the rounds after it become the next summary.

use std::time::{Duration, Instant};

use tributary_models::chat::Role;
use tributary_schemas::ask::Round;

use super::Asker;
use super::calling::Calls;
use crate::answer::generate::rounds_shown;
use crate::prompts::{CONVERSATION_SUMMARY, ConversationSummaryReply, ToSumUp};

/// Characters of a summary at most; a longer one is asked for again.
const MAXIMUM_CHARACTERS: usize = 1500;
/// Tokens of the reply at most.
const REPLY_TOKENS: usize = 1200;
/// Longest time for it: nobody waits.
const DEADLINE: Duration = Duration::from_secs(120);

/// A summary and who wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SummedUp {
    /// The summary.
    pub text: String,
    /// The model, as its endpoint is asked for it.
    pub model: String,
}

impl Asker {
    /// Whether there is a model that sums up.
    pub fn can_sum_up(&self) -> bool {
        self.parts.chat.role(Role::Summarize).is_some()
    }

    /// What was said until the last of these rounds (oldest first), `before` being the summary of
    /// what was said before them. `None` where there is no model, or none that does it.
    pub async fn sum_up(&self, before: Option<&str>, rounds: &[Round]) -> Option<SummedUp> {
        let model = self.parts.chat.role(Role::Summarize)?;
        let last = rounds.last()?;
        let calls = Calls {
            asker: self,
            question: &last.question,
            deadline: Instant::now() + DEADLINE,
            reply_tokens: REPLY_TOKENS,
        };
        let values = ToSumUp {
            before: before.unwrap_or_default(),
            rounds: &rounds_shown(rounds),
        };
        let check = |reply: &ConversationSummaryReply| {
            let length = reply.summary.chars().count();
            match reply.summary.trim().is_empty() || length > MAXIMUM_CHARACTERS {
                true => Err(format!(
                    "summary has {length} characters, it must have 1 to {MAXIMUM_CHARACTERS}"
                )),
                false => Ok(()),
            }
        };
        let reply = calls.ask(CONVERSATION_SUMMARY, values, check).await?;
        Some(SummedUp {
            text: reply.summary.trim().to_owned(),
            model: tributary_models::chat::ChatModel::describe(model.as_ref()).model,
        })
    }
}
