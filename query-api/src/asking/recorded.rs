//! Questions of conversations: recorded before the work starts, ended after it, so that a failure
//! keeps the question.

use std::sync::Arc;

use tributary_retrieval::Principal;
use tributary_schemas::ErrorKind;
use tributary_schemas::ask::AskEvent;
use tributary_schemas::conversation::{Turn, TurnState};
use tributary_store::conversations::{ConversationStore, NewTurn, TurnEnd};

use super::remembered::Remembered;
use crate::http::conversations::of_conversation;
use crate::problem::{Code, Problem};

/// Whose conversations a principal has; `None` for the owner of the data folder.
pub fn owner(principal: &Principal) -> Option<&str> {
    principal.owner.as_deref()
}

/// A question that is recorded as pending.
pub struct Recorded {
    store: Arc<dyn ConversationStore>,
    principal: Principal,
    /// Where.
    pub conversation: String,
    /// Of the turn and its answer.
    pub turn: String,
    /// What was said before.
    pub remembered: Remembered,
}

/// What became of the wish to record a question.
pub enum Begun {
    /// It is to be answered.
    New(Box<Recorded>),
    /// Its idempotency key was there already.
    Known(Box<Turn>),
}

impl Recorded {
    /// Records a question in a conversation.
    pub async fn begin(
        store: &Arc<dyn ConversationStore>,
        principal: &Principal,
        conversation: &str,
        turn: NewTurn<'_>,
        rounds: usize,
    ) -> Result<Begun, Problem> {
        let owner = owner(principal);
        let remembered = Remembered::read(store, principal, conversation, rounds);
        let remembered = remembered.await.map_err(of_conversation)?;
        let begun = store.begin_turn(owner, conversation, turn).await;
        let begun = begun.map_err(of_conversation)?;
        if !begun.is_new {
            return Ok(Begun::Known(Box::new(begun.turn)));
        }
        Ok(Begun::New(Box::new(Self {
            store: Arc::clone(store),
            principal: principal.clone(),
            conversation: conversation.to_owned(),
            turn: begun.turn.id,
            remembered,
        })))
    }

    /// The same, told nothing of what was said before.
    pub fn without_memory(self) -> Self {
        Self {
            remembered: Remembered::default(),
            ..self
        }
    }

    /// Records how it ended. What cannot be recorded is told in the answer.
    pub async fn end(&self, last: &mut AskEvent) {
        let end = match &*last {
            AskEvent::Done(answer) => TurnEnd::Answered(answer.clone()),
            AskEvent::Error(failure) => TurnEnd::Failed(failure.clone()),
            _ => return,
        };
        let owner = owner(&self.principal);
        let (conversation, turn) = (&self.conversation, &self.turn);
        let ended = self.store.finish_turn(owner, conversation, turn, end).await;
        let Err(failed) = ended else {
            return;
        };
        match failed.kind() {
            ErrorKind::NotFound => {
                tracing::debug!(turn, "a conversation was deleted while it was answered");
            }
            _ => tracing::error!(turn, error = %failed, "an answer is not recorded yet"),
        }
        if let AskEvent::Done(answer) = last {
            answer.degraded.push("conversation".to_owned());
        }
    }
}

/// The last event of a turn that is over; `idempotency_in_progress` for one that is not.
pub fn last_event(turn: Turn) -> Result<AskEvent, Problem> {
    match (turn.state, turn.answer, turn.failure) {
        (TurnState::Answered, Some(answer), _) => Ok(AskEvent::Done(answer)),
        (TurnState::Failed, _, Some(failure)) => Ok(AskEvent::Error(failure)),
        _ => {
            let what = "the same question is still being answered";
            Err(Problem::new(Code::IdempotencyInProgress, what)
                .with_hint(format!("read it at GET /v1/ask/{}", turn.id)))
        }
    }
}
