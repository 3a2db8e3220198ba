//! Ends of turns that could not be written, as on a full disk: they hold from the moment at which
//! this process knows them, and are written as soon as that is possible. Without this a turn would
//! stay pending for as long as the process runs, and its conversation would take no question.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use async_trait::async_trait;
use tributary_schemas::conversation::{
    Conversation, ConversationSummary, Feedback, Turn, TurnState,
};
use tributary_schemas::report::{KeptReport, ReportPart};
use tributary_schemas::user_profile::{StoredUserProfile, UserProfile};
use tributary_schemas::{Error, ErrorKind, Result};

use super::{
    BegunTurn, ConversationStore, ListQuery, NewTurn, Page, PastRound, ReportBeginning,
    ReportStore, SharedConversations, TurnEnd, TurnQuery, UserProfileStore, rules,
};
use crate::Clock;

/// Pauses between attempts to write what could not be written: the first and the longest.
const PAUSES: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(30)];

/// A store of conversations in which a turn is over as soon as its end was told.
#[derive(Clone)]
pub struct Settling {
    inner: Arc<Inner>,
}

struct Inner {
    store: SharedConversations,
    clock: Clock,
    /// By conversation, which has one pending turn at most.
    unwritten: Mutex<HashMap<String, Unwritten>>,
}

/// An end that the store does not have yet.
#[derive(Clone)]
struct Unwritten {
    owner: Option<String>,
    turn_id: String,
    end: TurnEnd,
    at_ms: u64,
}

impl Settling {
    /// Around a store.
    pub fn new(store: SharedConversations, clock: Clock) -> Self {
        Self {
            inner: Arc::new(Inner {
                store,
                clock,
                unwritten: Mutex::default(),
            }),
        }
    }

    /// The same, for whoever does not need to know.
    pub fn shared(store: SharedConversations, clock: Clock) -> SharedConversations {
        Arc::new(Self::new(store, clock))
    }

    /// Keeps an end in memory, and writes it when that is possible.
    fn remember(&self, id: &str, unwritten: Unwritten) {
        let is_first = {
            let mut all = self.inner.all();
            all.insert(id.to_owned(), unwritten);
            all.len() == 1
        };
        if is_first {
            tokio::spawn(write_later(Arc::downgrade(&self.inner)));
        }
    }
}

impl Inner {
    fn all(&self) -> MutexGuard<'_, HashMap<String, Unwritten>> {
        self.unwritten
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn unwritten(&self, owner: Option<&str>, id: &str) -> Option<Unwritten> {
        let found = self.all().get(id).cloned();
        found.filter(|unwritten| unwritten.owner.as_deref() == owner)
    }

    fn forget(&self, id: &str, turn_id: &str) {
        let mut all = self.all();
        if all.get(id).is_some_and(|known| known.turn_id == turn_id) {
            all.remove(id);
        }
    }

    /// Writes the end that a conversation waits for, if there is one.
    async fn settle(&self, owner: Option<&str>, id: &str) -> Result<()> {
        let Some(unwritten) = self.unwritten(owner, id) else {
            return Ok(());
        };
        let (turn_id, end) = (unwritten.turn_id, unwritten.end);
        match self.store.finish_turn(owner, id, &turn_id, end).await {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => {
                self.forget(id, &turn_id);
                Ok(())
            }
        }
    }

    /// Writes all of them. Gives how many are left.
    async fn settle_all(&self) -> usize {
        let waiting: Vec<(String, Option<String>)> = {
            let all = self.all();
            let known = all.iter();
            known
                .map(|(id, unwritten)| (id.clone(), unwritten.owner.clone()))
                .collect()
        };
        for (id, owner) in waiting {
            if let Err(error) = self.settle(owner.as_deref(), &id).await {
                tracing::debug!(conversation = id, %error, "an end is still not written");
            }
        }
        self.all().len()
    }

    /// The turn as it is, also where the store does not know it yet.
    fn as_known(&self, owner: Option<&str>, turn: Turn) -> Turn {
        let unwritten = self.unwritten(owner, &turn.conversation_id);
        match unwritten {
            Some(known) if known.turn_id == turn.id && turn.state == TurnState::Pending => {
                rules::ended(turn, known.end, known.at_ms)
            }
            _ => turn,
        }
    }
}

/// Until everything is written or the store is gone.
async fn write_later(inner: Weak<Inner>) {
    let [mut pause, longest] = PAUSES;
    loop {
        tokio::time::sleep(pause).await;
        let Some(inner) = inner.upgrade() else {
            return;
        };
        if inner.settle_all().await == 0 {
            return;
        }
        pause = (pause * 2).min(longest);
    }
}

fn is_kept_in_memory(error: &Error) -> bool {
    error.kind() != ErrorKind::NotFound
}

#[async_trait]
impl ConversationStore for Settling {
    async fn create(&self, owner: Option<&str>, title: &str) -> Result<Conversation> {
        self.inner.store.create(owner, title).await
    }

    async fn get(&self, owner: Option<&str>, id: &str) -> Result<Conversation> {
        self.inner.store.get(owner, id).await
    }

    async fn list(&self, owner: Option<&str>, query: ListQuery<'_>) -> Result<Page<Conversation>> {
        self.inner.store.list(owner, query).await
    }

    async fn rename(&self, owner: Option<&str>, id: &str, title: &str) -> Result<Conversation> {
        self.inner.store.rename(owner, id, title).await
    }

    async fn delete(&self, owner: Option<&str>, id: &str) -> Result<()> {
        let unwritten = self.inner.unwritten(owner, id);
        self.inner.store.delete(owner, id).await?;
        if let Some(gone) = unwritten {
            self.inner.forget(id, &gone.turn_id);
        }
        Ok(())
    }

    async fn clear(&self, owner: Option<&str>, id: &str) -> Result<Conversation> {
        let unwritten = self.inner.unwritten(owner, id);
        let cleared = self.inner.store.clear(owner, id).await?;
        if let Some(gone) = unwritten {
            self.inner.forget(id, &gone.turn_id);
        }
        Ok(cleared)
    }

    async fn begin_turn(
        &self,
        owner: Option<&str>,
        id: &str,
        turn: NewTurn<'_>,
    ) -> Result<BegunTurn> {
        self.inner.settle(owner, id).await?;
        self.inner.store.begin_turn(owner, id, turn).await
    }

    /// An error says that the end is not written yet, which it will be; `NotFound` says that there
    /// is nothing to write.
    async fn finish_turn(
        &self,
        owner: Option<&str>,
        id: &str,
        turn_id: &str,
        end: TurnEnd,
    ) -> Result<Turn> {
        let store = &self.inner.store;
        let finished = store.finish_turn(owner, id, turn_id, end.clone()).await;
        let error = match finished {
            Err(error) if is_kept_in_memory(&error) => error,
            finished => return finished,
        };
        let is_first = self.inner.unwritten(owner, id).is_none();
        if is_first {
            let unwritten = Unwritten {
                owner: owner.map(str::to_owned),
                turn_id: turn_id.to_owned(),
                end,
                at_ms: rules::now_ms(&self.inner.clock),
            };
            self.remember(id, unwritten);
        }
        Err(error)
    }

    async fn turns(
        &self,
        owner: Option<&str>,
        id: &str,
        query: TurnQuery<'_>,
    ) -> Result<Page<Turn>> {
        let mut page = self.inner.store.turns(owner, id, query).await?;
        let turns = page.items.into_iter();
        page.items = turns.map(|turn| self.inner.as_known(owner, turn)).collect();
        Ok(page)
    }

    async fn last_rounds(
        &self,
        owner: Option<&str>,
        id: &str,
        count: usize,
    ) -> Result<Vec<PastRound>> {
        // The question that wants them cannot be recorded before that either.
        self.inner.settle(owner, id).await?;
        self.inner.store.last_rounds(owner, id, count).await
    }

    async fn summary(&self, owner: Option<&str>, id: &str) -> Result<Option<ConversationSummary>> {
        self.inner.store.summary(owner, id).await
    }

    async fn set_summary(
        &self,
        owner: Option<&str>,
        id: &str,
        summary: ConversationSummary,
    ) -> Result<()> {
        self.inner.store.set_summary(owner, id, summary).await
    }

    async fn set_feedback(
        &self,
        owner: Option<&str>,
        id: &str,
        turn_id: &str,
        feedback: Option<Feedback>,
    ) -> Result<Turn> {
        self.inner.settle(owner, id).await?;
        let store = &self.inner.store;
        store.set_feedback(owner, id, turn_id, feedback).await
    }

    async fn with_feedback(
        &self,
        owner: Option<&str>,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Page<Turn>> {
        self.inner.store.with_feedback(owner, after, limit).await
    }

    async fn sweep(&self, kept_since_ms: Option<u64>) -> Result<u64> {
        self.inner.store.sweep(kept_since_ms).await
    }
}

#[async_trait]
impl UserProfileStore for Settling {
    async fn put_user_profile(
        &self,
        owner: Option<&str>,
        user: &str,
        profile: UserProfile,
    ) -> Result<StoredUserProfile> {
        let store = &self.inner.store;
        store.put_user_profile(owner, user, profile).await
    }

    async fn user_profile(&self, owner: Option<&str>, user: &str) -> Result<StoredUserProfile> {
        self.inner.store.user_profile(owner, user).await
    }

    async fn delete_user_profile(&self, owner: Option<&str>, user: &str) -> Result<()> {
        self.inner.store.delete_user_profile(owner, user).await
    }

    async fn user_profiles(
        &self,
        owner: Option<&str>,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Page<StoredUserProfile>> {
        self.inner.store.user_profiles(owner, after, limit).await
    }
}

#[async_trait]
impl ReportStore for Settling {
    async fn begin_report(
        &self,
        owner: Option<&str>,
        beginning: ReportBeginning,
    ) -> Result<KeptReport> {
        self.inner.store.begin_report(owner, beginning).await
    }

    async fn report(&self, owner: Option<&str>, id: &str) -> Result<KeptReport> {
        self.inner.store.report(owner, id).await
    }

    async fn keep_report_part(
        &self,
        owner: Option<&str>,
        id: &str,
        part: ReportPart,
    ) -> Result<()> {
        self.inner.store.keep_report_part(owner, id, part).await
    }

    async fn delete_report(&self, owner: Option<&str>, id: &str) -> Result<()> {
        self.inner.store.delete_report(owner, id).await
    }

    async fn sweep_reports(&self, kept_since_ms: u64) -> Result<u64> {
        self.inner.store.sweep_reports(kept_since_ms).await
    }
}
