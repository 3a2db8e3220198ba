//! What a question is told of its conversation: the last rounds word for word, and in short what
//! was said before them. A model sums that up after an answer, when nobody waits: once for each
//! round that leaves the last ones, one conversation at a time.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use tributary_retrieval::answer::{Earlier, MAXIMUM_EXTRACTED};
use tributary_retrieval::{Asker, Principal};
use tributary_schemas::Result;
use tributary_schemas::ask::Round;
use tributary_schemas::conversation::ConversationSummary;
use tributary_store::conversations::{PastRound, SharedConversations};

use super::owner;

/// What is known of what was said before a question.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remembered {
    /// The last rounds, oldest first.
    pub rounds: Vec<Round>,
    /// What was said before them.
    pub earlier: Earlier,
}

impl Remembered {
    /// From what a caller remembers, oldest first.
    pub fn given(mut history: Vec<Round>, rounds: usize) -> Self {
        let last = history.split_off(history.len().saturating_sub(rounds));
        Self {
            rounds: last,
            earlier: Earlier::new(None, &history),
        }
    }

    /// From a conversation.
    pub async fn read(
        store: &SharedConversations,
        principal: &Principal,
        conversation: &str,
        rounds: usize,
    ) -> Result<Self> {
        let past = Past::read(store, principal, conversation, rounds).await?;
        let summary = past.summary.as_ref().map(|summary| summary.text.as_str());
        Ok(Self {
            earlier: Earlier::new(summary, &past.not_summed_up()),
            rounds: past.last,
        })
    }
}

/// The rounds of a conversation, as far as they are looked at.
struct Past {
    last: Vec<Round>,
    /// Those before, oldest first.
    before: Vec<PastRound>,
    summary: Option<ConversationSummary>,
}

impl Past {
    async fn read(
        store: &SharedConversations,
        principal: &Principal,
        conversation: &str,
        rounds: usize,
    ) -> Result<Self> {
        let owner = owner(principal);
        let count = rounds + MAXIMUM_EXTRACTED;
        let mut before = store.last_rounds(owner, conversation, count).await?;
        let last = before.split_off(before.len().saturating_sub(rounds));
        let summary = match before.is_empty() {
            true => None,
            false => store.summary(owner, conversation).await?,
        };
        Ok(Self {
            last: last.into_iter().map(|past| past.round).collect(),
            before,
            summary,
        })
    }

    /// Rounds before the last ones that the summary does not hold.
    fn not_summed_up(&self) -> Vec<Round> {
        let through = self.summary.as_ref().map_or(0, |summary| summary.through);
        let new = self.before.iter().filter(|past| past.number > through);
        new.map(|past| past.round.clone()).collect()
    }
}

/// Sums conversations up.
#[derive(Clone)]
pub struct SummingUp {
    store: SharedConversations,
    asker: Arc<Asker>,
    under_way: Arc<Mutex<HashSet<String>>>,
}

impl SummingUp {
    /// Of the conversations of a store.
    pub fn new(store: SharedConversations, asker: Arc<Asker>) -> Self {
        Self {
            store,
            asker,
            under_way: Arc::default(),
        }
    }

    /// Sums up what has left the last rounds since the last time. What fails is done with the next
    /// round.
    pub async fn sum_up(&self, principal: &Principal, conversation: &str) {
        if !self.asker.can_sum_up() || !self.begin(conversation) {
            return;
        }
        let done = self.summed_up(principal, conversation).await;
        self.lock().remove(conversation);
        if let Err(error) = done {
            tracing::warn!(conversation, %error, "the conversation was not summed up");
        }
    }

    async fn summed_up(&self, principal: &Principal, conversation: &str) -> Result<()> {
        let rounds = self.asker.config().rounds;
        let past = Past::read(&self.store, principal, conversation, rounds).await?;
        let new = past.not_summed_up();
        let (Some(last), false) = (past.before.last(), new.is_empty()) else {
            return Ok(());
        };
        let before = past.summary.as_ref().map(|summary| summary.text.as_str());
        let Some(summed_up) = self.asker.sum_up(before, &new).await else {
            return Ok(());
        };
        let summary = ConversationSummary {
            through: last.number,
            text: summed_up.text,
            model: summed_up.model,
        };
        let owner = owner(principal);
        self.store.set_summary(owner, conversation, summary).await
    }

    /// Whether nobody is at it.
    fn begin(&self, conversation: &str) -> bool {
        self.lock().insert(conversation.to_owned())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashSet<String>> {
        let locked = self.under_way.lock();
        locked.unwrap_or_else(PoisonError::into_inner)
    }
}
