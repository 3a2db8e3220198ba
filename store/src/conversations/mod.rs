//! Conversations: what was asked and answered, kept where the index is kept.
//!
//! Implementations: [`embedded::EmbeddedConversations`] (SQLite in the data folder) and
//! [`elasticsearch::ElasticsearchConversations`] (two indices of the cluster). The suite in
//! `tests/conformance/conversations` states in tests what the docs here state in words; both run
//! it.

#[cfg(feature = "elasticsearch")]
pub mod elasticsearch;
pub mod embedded;
mod rules;
mod settling;

use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tributary_schemas::ask::{Answer, AskFailure, AskRequest, Round};
use tributary_schemas::conversation::{Conversation, ConversationSummary, Feedback, Turn};
use tributary_schemas::report::{KeptReport, ReportPart};
use tributary_schemas::user_profile::{StoredUserProfile, UserProfile};

use crate::Result;

pub use settling::Settling;

/// Most characters of a title.
pub const MAXIMUM_TITLE_CHARACTERS: usize = 200;
/// Most characters of the reason of a feedback.
pub const MAXIMUM_REASON_CHARACTERS: usize = 2000;
/// Most bytes of an idempotency key.
pub const MAXIMUM_KEY_BYTES: usize = 255;
/// Most characters of the summary of a conversation.
pub const MAXIMUM_SUMMARY_CHARACTERS: usize = 4000;

/// The section `[store.conversations]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Days after its last change at which a conversation is deleted; 0 keeps it.
    pub retention_days: u64,
    /// Most turns of a conversation.
    pub maximum_turns: u64,
    /// Minutes after which a question that another process has neither answered nor given up
    /// counts as failed; the embedded store knows it at its start.
    pub pending_minutes: u64,
    /// Days after its last change at which what is kept of a report is deleted.
    pub report_days: u64,
}

impl Config {
    /// Everything that is wrong with the values, one line each.
    pub fn problems(&self) -> Vec<String> {
        let positive = [
            ("maximum_turns", self.maximum_turns),
            ("pending_minutes", self.pending_minutes),
            ("report_days", self.report_days),
        ];
        positive
            .iter()
            .filter(|(_, value)| *value == 0)
            .map(|(name, _)| format!("store.conversations.{name} must be at least 1"))
            .collect()
    }

    /// Conversations without a change since then are deleted; `None` keeps all.
    pub fn kept_since_ms(&self, now_ms: u64) -> Option<u64> {
        (self.retention_days > 0).then(|| days_before(now_ms, self.retention_days))
    }

    /// Reports without a change since then are deleted.
    pub fn reports_kept_since_ms(&self, now_ms: u64) -> u64 {
        days_before(now_ms, self.report_days)
    }
}

fn days_before(now_ms: u64, days: u64) -> u64 {
    const DAY_MS: u64 = 24 * 3600 * 1000;
    now_ms.saturating_sub(days.saturating_mul(DAY_MS))
}

/// Which conversations are listed.
#[derive(Clone, Copy, Debug, Default)]
pub struct ListQuery<'a> {
    /// Part of the title, in any case; all when absent.
    pub title: Option<&'a str>,
    /// `next` of the page before.
    pub after: Option<&'a str>,
    /// Conversations at most, at least 1.
    pub limit: usize,
}

/// Some of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<T> {
    /// In the order of the list.
    pub items: Vec<T>,
    /// Gives the next page; `None` where this is the last one.
    pub next: Option<String>,
}

/// A question on its way into a conversation.
#[derive(Clone, Copy, Debug, Default)]
pub struct NewTurn<'a> {
    /// As received.
    pub question: &'a str,
    /// The same key gives back the turn that exists, unless that one failed; within a conversation.
    pub idempotency_key: Option<&'a str>,
    /// What tells requests apart beside the question, at most [`MAXIMUM_KEY_BYTES`]: a key stands
    /// for one request alone. Not compared with turns that have none.
    pub fingerprint: Option<&'a str>,
}

/// A question that is recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct BegunTurn {
    /// The turn. Its id is that of the answer.
    pub turn: Turn,
    /// False where its idempotency key was there already: it may be pending or answered, and
    /// nothing is to be done for it.
    pub is_new: bool,
}

/// An answered turn as the next question knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastRound {
    /// Number of the turn.
    pub number: u64,
    /// What was asked and answered.
    pub round: Round,
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq)]
pub enum TurnEnd {
    /// With an answer.
    Answered(Box<Answer>),
    /// Without one.
    Failed(AskFailure),
}

/// Which turns of a conversation are read.
#[derive(Clone, Copy, Debug, Default)]
pub struct TurnQuery<'a> {
    /// The last one first.
    pub newest_first: bool,
    /// `next` of the page before.
    pub after: Option<&'a str>,
    /// Turns at most, at least 1.
    pub limit: usize,
}

/// Conversations and their turns.
///
/// **Owners.** Every call says for whom it is made; `None` where the server does not tell its
/// callers apart. A conversation of another owner is `NotFound`, word for word like one that does
/// not exist, and so is an id that is no id.
///
/// **Durability.** What a call that returned `Ok` has changed survives a crash, and every later
/// call sees it.
///
/// **Turns.** A turn is recorded as pending before the work begins and ended after it, so that a
/// failure keeps the question. A conversation has at most one pending turn. A turn whose process
/// died becomes failed with the code `unavailable`: on the embedded store at the next start, in a
/// cluster when it is older than `pending_minutes`; if its end comes later all the same, it counts.
///
/// **Deletion.** What is deleted or cleared is gone: no call gives any of it again, and the store
/// overwrites or removes it. Turns are numbered from 1 again after a `clear`.
///
/// **Errors.** `Invalid` for a title, reason, key or cursor that breaks a rule, `NotFound`,
/// `Conflict`, `Exhausted` above the most turns and for a full disk, `Corrupt` for damage.
#[async_trait]
pub trait ConversationStore: UserProfileStore + ReportStore {
    /// A new one without turns. An empty title becomes the beginning of the first question.
    async fn create(&self, owner: Option<&str>, title: &str) -> Result<Conversation>;

    /// One of them.
    async fn get(&self, owner: Option<&str>, id: &str) -> Result<Conversation>;

    /// Those of an owner, the one with the newest change first.
    async fn list(&self, owner: Option<&str>, query: ListQuery<'_>) -> Result<Page<Conversation>>;

    /// Gives it another title, which must not be empty.
    async fn rename(&self, owner: Option<&str>, id: &str, title: &str) -> Result<Conversation>;

    /// Removes it with its turns for good.
    async fn delete(&self, owner: Option<&str>, id: &str) -> Result<()>;

    /// Removes its turns for good, also a pending one; it keeps its title.
    async fn clear(&self, owner: Option<&str>, id: &str) -> Result<Conversation>;

    /// Records a question as pending. `Conflict` while another turn of the conversation is pending,
    /// and for a key that was given with another question or fingerprint; `Exhausted` at the most
    /// turns. A key whose turn failed begins another turn.
    async fn begin_turn(
        &self,
        owner: Option<&str>,
        id: &str,
        turn: NewTurn<'_>,
    ) -> Result<BegunTurn>;

    /// Records what became of it, and gives the turn. The first end stands: a second one changes
    /// nothing. `NotFound` where conversation or turn were deleted or cleared meanwhile.
    async fn finish_turn(
        &self,
        owner: Option<&str>,
        id: &str,
        turn_id: &str,
        end: TurnEnd,
    ) -> Result<Turn>;

    /// Turns in the order of their numbers, or backwards.
    async fn turns(
        &self,
        owner: Option<&str>,
        id: &str,
        query: TurnQuery<'_>,
    ) -> Result<Page<Turn>>;

    /// The last `count` answered turns, oldest first.
    async fn last_rounds(
        &self,
        owner: Option<&str>,
        id: &str,
        count: usize,
    ) -> Result<Vec<PastRound>>;

    /// What was said before the last rounds, where somebody has summed it up.
    async fn summary(&self, owner: Option<&str>, id: &str) -> Result<Option<ConversationSummary>>;

    /// Keeps a summary in place of one that holds fewer turns; one that holds as many or more
    /// stays. It is gone after a `clear`. The conversation does not count as changed. `Invalid` for
    /// one that is too long, or holds turns that are not there.
    async fn set_summary(
        &self,
        owner: Option<&str>,
        id: &str,
        summary: ConversationSummary,
    ) -> Result<()>;

    /// Keeps what somebody thinks of an answer, in place of what was kept before; `None` removes
    /// it. `Conflict` for a turn that is pending.
    async fn set_feedback(
        &self,
        owner: Option<&str>,
        id: &str,
        turn_id: &str,
        feedback: Option<Feedback>,
    ) -> Result<Turn>;

    /// All turns with feedback, by turn id.
    async fn with_feedback(
        &self,
        owner: Option<&str>,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Page<Turn>>;

    /// Deletes the conversations of all owners without a change since then, and completes
    /// deletions that were interrupted. Gives how many it deleted.
    async fn sweep(&self, kept_since_ms: Option<u64>) -> Result<u64>;
}

/// Profiles of users (画像), kept beside their conversations.
///
/// **Owners** and **durability** are as of [`ConversationStore`]; of two owners each has profiles of
/// their own, also for users of the same name.
///
/// **Errors.** `Invalid` for a name that no user can have and for a profile that breaks a rule,
/// `NotFound`, `Exhausted` for a full disk.
#[async_trait]
pub trait UserProfileStore: Send + Sync {
    /// Keeps a profile in place of the one that is there, if any.
    async fn put_user_profile(
        &self,
        owner: Option<&str>,
        user: &str,
        profile: UserProfile,
    ) -> Result<StoredUserProfile>;

    /// That of a user.
    async fn user_profile(&self, owner: Option<&str>, user: &str) -> Result<StoredUserProfile>;

    /// Removes it for good.
    async fn delete_user_profile(&self, owner: Option<&str>, user: &str) -> Result<()>;

    /// Those of an owner, by name.
    async fn user_profiles(
        &self,
        owner: Option<&str>,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Page<StoredUserProfile>>;
}

/// A report that is asked for.
#[derive(Clone, Debug, Default)]
pub struct ReportBeginning {
    /// What it is kept under.
    pub id: String,
    /// What tells requests apart.
    pub fingerprint: String,
    /// What was asked for; a report of a conversation goes with it.
    pub request: AskRequest,
}

/// Reports while they are written, kept beside conversations, so that one that was broken off can be
/// gone on with.
///
/// **Owners** and **durability** are as of [`ConversationStore`]; ids of two owners are not the same.
///
/// **Parts.** The plan comes first, then sections in any order. A part that is there stands, but a
/// section that failed gives way to the next writing of it.
///
/// **Deletion.** A report is gone with the turns of its conversation, when it was not changed for
/// [`Config::report_days`], and when it is deleted.
///
/// **Errors.** `Invalid` for an id that is none, `NotFound`, `Conflict` for an id that stands for
/// another request and for a second plan, `Exhausted` for a full disk.
#[async_trait]
pub trait ReportStore: Send + Sync {
    /// What is kept under the id; where nothing is, an empty report begins.
    async fn begin_report(
        &self,
        owner: Option<&str>,
        beginning: ReportBeginning,
    ) -> Result<KeptReport>;

    /// One of them.
    async fn report(&self, owner: Option<&str>, id: &str) -> Result<KeptReport>;

    /// Keeps a part.
    async fn keep_report_part(&self, owner: Option<&str>, id: &str, part: ReportPart)
    -> Result<()>;

    /// Removes it for good.
    async fn delete_report(&self, owner: Option<&str>, id: &str) -> Result<()>;

    /// Deletes the reports of all owners without a change since then. Gives how many.
    async fn sweep_reports(&self, kept_since_ms: u64) -> Result<u64>;
}

/// Shared handle to whichever store runs.
pub type SharedConversations = Arc<dyn ConversationStore>;
