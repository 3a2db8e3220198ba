//! Conversations in the data folder: one SQLite file, written by the one process that has the
//! folder. What lies in it: [`file`].

mod conversations;
mod errors;
mod file;
mod reports;
mod turns;
mod user_profiles;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use tributary_schemas::conversation::{Conversation, ConversationSummary, Feedback, Turn};
use tributary_schemas::report::{KeptReport, ReportPart};
use tributary_schemas::user_profile::{StoredUserProfile, UserProfile};
use tributary_schemas::{Error, ErrorKind, Result};

use super::{
    BegunTurn, Config, ConversationStore, ListQuery, NewTurn, Page, PastRound, ReportBeginning,
    ReportStore, TurnEnd, TurnQuery, UserProfileStore, rules,
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
        // Callers read it in errors: where the data folder lies is not theirs to know.
        let path = Path::new(FOLDER).join(file::NAME);
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

    /// The same for what removes texts: nothing of them stays in the journal either. On a full
    /// disk the room that the journal has is used again.
    async fn remove<T: Send + 'static>(
        &self,
        work: impl Fn(&Transaction<'_>, &Inner) -> errors::Result<T> + Send + Sync + 'static,
    ) -> Result<T> {
        let work = Arc::new(work);
        let first = Arc::clone(&work);
        let removed = match self
            .run(move |transaction, inner| first(transaction, inner))
            .await
        {
            Err(error) if error.kind() == ErrorKind::Exhausted => {
                self.reuse_journal().await?;
                self.run(move |transaction, inner| work(transaction, inner))
                    .await?
            }
            removed => removed?,
        };
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

    async fn reuse_journal(&self) -> Result<()> {
        let inner = Arc::clone(&self.inner);
        let reused = tokio::task::spawn_blocking(move || {
            file::reuse_journal(&inner.connection(), &inner.path)
        });
        reused.await.unwrap_or_else(|error| Err(broken_off(&error)))
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
        let (owner, title) = (owner.map(str::to_owned), rules::plain_title(title));
        rules::check_title(&title)?;
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
        let title = rules::plain_title(title);
        rules::check_new_title(&title)?;
        let (owner, id) = (owner.map(str::to_owned), id.to_owned());
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
        let fingerprint = turn.fingerprint.map(str::to_owned);
        self.run(move |transaction, inner| {
            let conversation = conversations::get(transaction, owner.as_deref(), &id)?;
            let beginning = turns::Beginning {
                conversation,
                question,
                key,
                fingerprint,
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
        let feedback = rules::plain_feedback(feedback);
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

#[async_trait]
impl ReportStore for EmbeddedConversations {
    async fn begin_report(
        &self,
        owner: Option<&str>,
        beginning: ReportBeginning,
    ) -> Result<KeptReport> {
        rules::check_report_id(&beginning.id)?;
        let owner = owner.map(str::to_owned);
        self.run(move |transaction, inner| {
            reports::begin(transaction, owner.as_deref(), &beginning, inner.now_ms())
        })
        .await
    }

    async fn report(&self, owner: Option<&str>, id: &str) -> Result<KeptReport> {
        let (owner, id) = (owner.map(str::to_owned), id.to_owned());
        self.run(move |transaction, _| reports::get(transaction, owner.as_deref(), &id))
            .await
    }

    async fn keep_report_part(
        &self,
        owner: Option<&str>,
        id: &str,
        part: ReportPart,
    ) -> Result<()> {
        let (owner, id) = (owner.map(str::to_owned), id.to_owned());
        self.run(move |transaction, inner| {
            reports::keep_part(transaction, owner.as_deref(), &id, &part, inner.now_ms())
        })
        .await
    }

    async fn delete_report(&self, owner: Option<&str>, id: &str) -> Result<()> {
        let (owner, id) = (owner.map(str::to_owned), id.to_owned());
        self.remove(move |transaction, _| reports::delete(transaction, owner.as_deref(), &id))
            .await
    }

    async fn sweep_reports(&self, kept_since_ms: u64) -> Result<u64> {
        let gone = self
            .run(move |transaction, _| reports::delete_older(transaction, kept_since_ms))
            .await?;
        if gone > 0 {
            self.remove(|_, _| Ok(())).await?;
        }
        Ok(u64::try_from(gone).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tributary_schemas::ask::{Answer, AskFailure};
    use tributary_schemas::conversation::TurnState;

    use super::*;
    use crate::conversations::Settling;
    use crate::system_clock;

    const ALL: TurnQuery<'_> = TurnQuery {
        newest_first: false,
        after: None,
        limit: 100,
    };

    fn open(folder: &Path) -> EmbeddedConversations {
        let config = Config {
            retention_days: 0,
            maximum_turns: 100,
            pending_minutes: 15,
            report_days: 7,
        };
        let place = folder.join(FOLDER);
        EmbeddedConversations::open(&place, folder, config, system_clock()).unwrap()
    }

    /// The file may have so many pages; with the first one alone it cannot grow at all.
    fn allow_pages(store: &EmbeddedConversations, pages: u32) {
        let limit = format!("PRAGMA max_page_count = {pages}");
        let connection = store.inner.connection();
        connection.query_row(&limit, (), |_| Ok(())).unwrap();
    }

    fn long_answer() -> TurnEnd {
        let answer = serde_json::json!({"id": "0".repeat(32), "question": "?",
            "answer": "long ".repeat(50_000), "verdict": "answered", "workflow": "general",
            "language": "en", "sources": [], "support": [], "degraded": [], "took_ms": 1.5,
            "steps": []});
        let answer: Answer = serde_json::from_value(answer).unwrap();
        TurnEnd::Answered(Box::new(answer))
    }

    fn question(question: &str) -> NewTurn<'_> {
        NewTurn {
            question,
            ..NewTurn::default()
        }
    }

    async fn states(store: &dyn ConversationStore, id: &str) -> Vec<TurnState> {
        let turns = store.turns(None, id, ALL).await.unwrap().items;
        turns.iter().map(|turn| turn.state).collect()
    }

    /// A turn whose end met a full disk.
    async fn unwritten(store: &EmbeddedConversations) -> (Settling, String) {
        let known = Settling::new(Arc::new(store.clone()), system_clock());
        let id = known.create(None, "").await.unwrap().id;
        let begun = known.begin_turn(None, &id, question("why")).await.unwrap();
        allow_pages(store, 1);
        let ended = known.finish_turn(None, &id, &begun.turn.id, long_answer());
        let full = ended.await.unwrap_err();
        assert_eq!(full.kind(), ErrorKind::Exhausted, "{full}");
        assert!(!full.to_string().contains("/tmp"), "{full}");
        (known, id)
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn an_end_that_meets_a_full_disk_holds_and_is_written_later() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path());
        let (known, id) = unwritten(&store).await;
        assert_eq!(states(&store, &id).await, [TurnState::Pending]);
        assert_eq!(states(&known, &id).await, [TurnState::Answered]);
        let refused = known.begin_turn(None, &id, question("how")).await;
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::Exhausted);
        allow_pages(&store, 1_000_000);
        while states(&store, &id).await != [TurnState::Answered] {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        assert!(known.begin_turn(None, &id, question("how")).await.is_ok());
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn the_next_question_writes_the_end_before_it() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path());
        let (known, id) = unwritten(&store).await;
        allow_pages(&store, 1_000_000);
        let begun = known.begin_turn(None, &id, question("how")).await.unwrap();
        let late = TurnEnd::Failed(AskFailure {
            code: "stopped".to_owned(),
            detail: String::new(),
            hint: None,
        });
        let turns = known.turns(None, &id, ALL).await.unwrap().items;
        assert_eq!(turns[0].state, TurnState::Answered);
        let kept = known.finish_turn(None, &id, &turns[0].id, late).await;
        assert_eq!(kept.unwrap().state, TurnState::Answered, "the first stands");
        assert_eq!(begun.turn.number, 2);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_is_cleared_meanwhile_does_not_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path());
        let (known, id) = unwritten(&store).await;
        known.clear(None, &id).await.unwrap();
        assert!(states(&known, &id).await.is_empty());
        allow_pages(&store, 1_000_000);
        known.begin_turn(None, &id, question("how")).await.unwrap();
        assert_eq!(states(&known, &id).await, [TurnState::Pending]);
    }
}
