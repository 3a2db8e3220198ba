//! Conversations in the data folder: one SQLite file, written by the one process that has the
//! folder. What lies in it: [`file`].

mod conversations;
mod errors;
mod file;
mod turns;
mod user_profiles;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use tributary_schemas::conversation::{Conversation, ConversationSummary, Feedback, Turn};
use tributary_schemas::user_profile::{StoredUserProfile, UserProfile};
use tributary_schemas::{Error, ErrorKind, Result};

use super::{
    BegunTurn, Config, ConversationStore, ListQuery, NewTurn, Page, PastRound, TurnEnd, TurnQuery,
    UserProfileStore, rules,
};
use crate::Clock;
use crate::backup::draft::Draft;

/// Folder in the data folder.
pub const FOLDER: &str = "conversations";

/// Conversations in a folder that this process has alone.
#[derive(Clone)]
pub struct EmbeddedConversations {
    inner: Arc<Inner>,
}

struct Inner {
    connection: Mutex<Connection>,
    path: PathBuf,
    config: Config,
    clock: Clock,
}

impl EmbeddedConversations {
    /// Opens the file in `folder`, or makes it. Turns that were pending have failed with the
    /// process that worked on them. A damaged file is moved to `aside`, with a line in the log
    /// that says so, and another one begun. Blocks.
    pub fn open(folder: &Path, aside: &Path, config: Config, clock: Clock) -> Result<Self> {
        let path = folder.join(file::NAME);
        let clock = rules::rising(clock);
        let mut connection = file::open(folder, aside, rules::now_ms(&clock))?;
        let failed = file::transaction(&mut connection, &path, |transaction| {
            turns::fail_pending(transaction, rules::now_ms(&clock))
        })?;
        if failed > 0 {
            tracing::warn!(failed, "questions that were being answered have failed");
        }
        Ok(Self {
            inner: Arc::new(Inner {
                connection: Mutex::new(connection),
                path,
                config,
                clock,
            }),
        })
    }

    /// Keeps a copy of all conversations in the draft of a backup; other calls wait meanwhile.
    /// Blocks.
    pub(crate) fn image(&self, draft: &mut Draft) -> Result<()> {
        draft.keep_made(&format!("{FOLDER}/{}", file::NAME), |place| {
            let connection = self.inner.connection();
            file::copy(&connection, &self.inner.path, place)
        })
    }

    /// Runs one transaction on a thread for blocking work.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Transaction<'_>, &Inner) -> errors::Result<T> + Send + 'static,
    ) -> Result<T> {
        let inner = Arc::clone(&self.inner);
        let running = tokio::task::spawn_blocking(move || {
            let mut connection = inner.connection();
            file::transaction(&mut connection, &inner.path, |transaction| {
                work(transaction, &inner)
            })
        });
        running
            .await
            .unwrap_or_else(|error| Err(broken_off(&error)))
    }

    /// The same for what removes texts: nothing of them stays in the journal either.
    async fn remove<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Transaction<'_>, &Inner) -> errors::Result<T> + Send + 'static,
    ) -> Result<T> {
        let removed = self.run(work).await?;
        let inner = Arc::clone(&self.inner);
        let emptied = tokio::task::spawn_blocking(move || {
            let connection = inner.connection();
            file::empty_journal(&connection, &inner.path)
        });
        emptied
            .await
            .unwrap_or_else(|error| Err(broken_off(&error)))?;
        Ok(removed)
    }
}

fn broken_off(error: &tokio::task::JoinError) -> Error {
    let message = format!("a task of the conversations ended early: {error}");
    Error::new(ErrorKind::Internal, message)
}

impl Inner {
    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn now_ms(&self) -> u64 {
        rules::now_ms(&self.clock)
    }
}

#[async_trait]
impl ConversationStore for EmbeddedConversations {
    async fn create(&self, owner: Option<&str>, title: &str) -> Result<Conversation> {
        rules::check_title(title)?;
        let (owner, title) = (owner.map(str::to_owned), title.trim().to_owned());
        self.run(move |transaction, inner| {
            conversations::create(transaction, owner, title, inner.now_ms())
        })
        .await
    }

    async fn get(&self, owner: Option<&str>, id: &str) -> Result<Conversation> {
        let (owner, id) = (owner.map(str::to_owned), id.to_owned());
        self.run(move |transaction, _| conversations::get(transaction, owner.as_deref(), &id))
            .await
    }

    async fn list(&self, owner: Option<&str>, query: ListQuery<'_>) -> Result<Page<Conversation>> {
        let after = query.after.map(rules::read_list_cursor).transpose()?;
        let after = after.map(|(time, id)| (time, id.to_owned()));
        let (owner, limit) = (owner.map(str::to_owned), query.limit);
        let title = query.title.map(rules::folded);
        self.run(move |transaction, _| {
            conversations::list(
                transaction,
                owner.as_deref(),
                title.as_deref(),
                after,
                limit,
            )
        })
        .await
    }

    async fn rename(&self, owner: Option<&str>, id: &str, title: &str) -> Result<Conversation> {
        rules::check_new_title(title)?;
        let (owner, id) = (owner.map(str::to_owned), id.to_owned());
        let title = title.trim().to_owned();
        self.run(move |transaction, inner| {
            conversations::rename(transaction, owner.as_deref(), &id, &title, inner.now_ms())
        })
        .await
    }

    async fn delete(&self, owner: Option<&str>, id: &str) -> Result<()> {
        let (owner, id) = (owner.map(str::to_owned), id.to_owned());
        self.remove(move |transaction, _| conversations::delete(transaction, owner.as_deref(), &id))
            .await
    }

    async fn clear(&self, owner: Option<&str>, id: &str) -> Result<Conversation> {
        let (owner, id) = (owner.map(str::to_owned), id.to_owned());
        self.remove(move |transaction, inner| {
            conversations::clear(transaction, owner.as_deref(), &id, inner.now_ms())
        })
        .await
    }

    async fn begin_turn(
        &self,
        owner: Option<&str>,
        id: &str,
        turn: NewTurn<'_>,
    ) -> Result<BegunTurn> {
        rules::check_new_turn(&turn)?;
        let (owner, id) = (owner.map(str::to_owned), id.to_owned());
        let question = turn.question.to_owned();
        let key = turn.idempotency_key.map(str::to_owned);
        self.run(move |transaction, inner| {
            let conversation = conversations::get(transaction, owner.as_deref(), &id)?;
            let beginning = turns::Beginning {
                conversation,
                question,
                key,
                maximum_turns: inner.config.maximum_turns,
                now_ms: inner.now_ms(),
            };
            turns::begin(transaction, beginning)
        })
        .await
    }

    async fn finish_turn(
        &self,
        owner: Option<&str>,
        id: &str,
        turn_id: &str,
        end: TurnEnd,
    ) -> Result<Turn> {
        let (owner, id) = (owner.map(str::to_owned), id.to_owned());
        let turn_id = turn_id.to_owned();
        self.run(move |transaction, inner| {
            conversations::get(transaction, owner.as_deref(), &id)?;
            turns::finish(transaction, &id, &turn_id, end, inner.now_ms())
        })
        .await
    }

    async fn turns(
        &self,
        owner: Option<&str>,
        id: &str,
        query: TurnQuery<'_>,
    ) -> Result<Page<Turn>> {
        let (owner, id) = (owner.map(str::to_owned), id.to_owned());
        let after = query.after.map(rules::read_number_cursor).transpose()?;
        let (limit, newest_first) = (query.limit, query.newest_first);
        self.run(move |transaction, _| {
            conversations::get(transaction, owner.as_deref(), &id)?;
            turns::page(transaction, &id, newest_first, after, limit)
        })
        .await
    }

    async fn last_rounds(
        &self,
        owner: Option<&str>,
        id: &str,
        count: usize,
    ) -> Result<Vec<PastRound>> {
        let (owner, id) = (owner.map(str::to_owned), id.to_owned());
        self.run(move |transaction, _| {
            conversations::get(transaction, owner.as_deref(), &id)?;
            turns::last_rounds(transaction, &id, count)
        })
        .await
    }

    async fn summary(&self, owner: Option<&str>, id: &str) -> Result<Option<ConversationSummary>> {
        let (owner, id) = (owner.map(str::to_owned), id.to_owned());
        self.run(move |transaction, _| conversations::summary(transaction, owner.as_deref(), &id))
            .await
    }

    async fn set_summary(
        &self,
        owner: Option<&str>,
        id: &str,
        summary: ConversationSummary,
    ) -> Result<()> {
        let (owner, id) = (owner.map(str::to_owned), id.to_owned());
        self.run(move |transaction, _| {
            conversations::set_summary(transaction, owner.as_deref(), &id, &summary)
        })
        .await
    }

    async fn set_feedback(
        &self,
        owner: Option<&str>,
        id: &str,
        turn_id: &str,
        feedback: Option<Feedback>,
    ) -> Result<Turn> {
        rules::check_feedback(feedback.as_ref())?;
        let (owner, id) = (owner.map(str::to_owned), id.to_owned());
        let turn_id = turn_id.to_owned();
        self.run(move |transaction, _| {
            conversations::get(transaction, owner.as_deref(), &id)?;
            turns::set_feedback(transaction, &id, &turn_id, feedback)
        })
        .await
    }

    async fn with_feedback(
        &self,
        owner: Option<&str>,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Page<Turn>> {
        let after = after.map(rules::read_id_cursor).transpose()?;
        let (owner, after) = (owner.map(str::to_owned), after.map(str::to_owned));
        self.run(move |transaction, _| {
            turns::with_feedback(transaction, owner.as_deref(), after.as_deref(), limit)
        })
        .await
    }

    async fn sweep(&self, kept_since_ms: Option<u64>) -> Result<u64> {
        let Some(since_ms) = kept_since_ms else {
            return Ok(0);
        };
        let gone = self
            .run(move |transaction, _| conversations::delete_older(transaction, since_ms))
            .await?;
        if gone > 0 {
            self.remove(|_, _| Ok(())).await?;
        }
        Ok(gone)
    }
}

#[async_trait]
impl UserProfileStore for EmbeddedConversations {
    async fn put_user_profile(
        &self,
        owner: Option<&str>,
        user: &str,
        profile: UserProfile,
    ) -> Result<StoredUserProfile> {
        rules::check_user(user)?;
        rules::check_profile(&profile)?;
        let (owner, user) = (owner.map(str::to_owned), user.to_owned());
        self.run(move |transaction, inner| {
            let now_ms = inner.now_ms();
            user_profiles::put(transaction, owner.as_deref(), &user, &profile, now_ms)
        })
        .await
    }

    async fn user_profile(&self, owner: Option<&str>, user: &str) -> Result<StoredUserProfile> {
        let (owner, user) = (owner.map(str::to_owned), user.to_owned());
        self.run(move |transaction, _| user_profiles::get(transaction, owner.as_deref(), &user))
            .await
    }

    async fn delete_user_profile(&self, owner: Option<&str>, user: &str) -> Result<()> {
        let (owner, user) = (owner.map(str::to_owned), user.to_owned());
        self.remove(move |transaction, _| {
            user_profiles::delete(transaction, owner.as_deref(), &user)
        })
        .await
    }

    async fn user_profiles(
        &self,
        owner: Option<&str>,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Page<StoredUserProfile>> {
        after.map(rules::check_user).transpose()?;
        let (owner, after) = (owner.map(str::to_owned), after.map(str::to_owned));
        self.run(move |transaction, _| {
            user_profiles::list(transaction, owner.as_deref(), after.as_deref(), limit)
        })
        .await
    }
}
