//! Conversations in an Elasticsearch cluster that several processes share. What lies where:
//! [`records`].

mod cluster;
mod records;
mod reports;
mod turning;
mod user_profiles;

use async_trait::async_trait;
use serde_json::{Value, json};
use tributary_schemas::conversation::{
    Conversation, ConversationSummary, Feedback, Turn, TurnState,
};
use tributary_schemas::{Error, ErrorKind, Result};

use super::{
    BegunTurn, Config, ConversationStore, ListQuery, NewTurn, Page, PastRound, TurnEnd, TurnQuery,
    rules,
};
use crate::Clock;
use crate::search_index::elasticsearch_config as cluster_config;

use self::cluster::{Cluster, Guard, Search, Stored};
use self::records::{ConversationRecord, TurnRecord, Upkeep, owned_by, title_holds, turns_of};

/// Where a mapping says that an index is one of ours.
pub(crate) const META: &str = "/_meta/tributary_conversations";
/// How often a change is made again that another process came before.
const ATTEMPTS: usize = 20;
/// Conversations that a sweep takes at once.
const SWEPT_AT_ONCE: usize = 500;

/// Conversations in a cluster.
pub struct ElasticsearchConversations {
    cluster: Cluster,
    config: Config,
    clock: Clock,
}

type StoredConversation = Stored<ConversationRecord>;

impl ElasticsearchConversations {
    /// Makes the indices that are not there. `Unavailable` where no node answers.
    pub async fn open(
        cluster: &cluster_config::Config,
        config: Config,
        clock: Clock,
    ) -> Result<Self> {
        cluster.check()?;
        Ok(Self {
            cluster: Cluster::open(cluster).await?,
            config,
            clock: rules::rising(clock),
        })
    }

    fn now_ms(&self) -> u64 {
        rules::now_ms(&self.clock)
    }

    /// One of the owner's, or `NotFound`.
    async fn read(&self, owner: Option<&str>, id: &str) -> Result<StoredConversation> {
        if !rules::is_id(id) {
            return Err(rules::no_conversation(id));
        }
        let names = &self.cluster.names.conversations;
        let found: Option<StoredConversation> = self.cluster.get(names, id).await?;
        let is_shown = |stored: &StoredConversation| {
            stored.source.owner.as_deref() == owner && stored.source.state != Upkeep::Deleted
        };
        found
            .filter(is_shown)
            .ok_or_else(|| rules::no_conversation(id))
    }

    /// Writes what was made of a conversation. `false` where another process came before.
    async fn write(
        &self,
        before: &StoredConversation,
        changed: &ConversationRecord,
    ) -> Result<bool> {
        let name = &self.cluster.names.conversations;
        self.cluster
            .put(name, &changed.id, before.unchanged(), changed)
            .await
    }

    /// Reads, changes and writes, again where another process came before.
    async fn change(
        &self,
        owner: Option<&str>,
        id: &str,
        change: impl Fn(&mut ConversationRecord) + Send + Sync,
    ) -> Result<ConversationRecord> {
        for _ in 0..ATTEMPTS {
            let stored = self.read(owner, id).await?;
            let mut changed = stored.source.clone();
            change(&mut changed);
            if self.write(&stored, &changed).await? {
                return Ok(changed);
            }
        }
        Err(too_busy())
    }

    /// Removes what a mark says is to be removed.
    async fn complete(&self, conversation: &ConversationRecord) -> Result<()> {
        let id = &conversation.id;
        match conversation.state {
            Upkeep::Open => Ok(()),
            Upkeep::Deleted => {
                self.cluster.purge(id, None).await?;
                self.remove_reports_of(id).await?;
                let name = &self.cluster.names.conversations;
                self.cluster.remove(name, id).await
            }
            Upkeep::Cleared => {
                self.cluster.purge(id, Some(conversation.epoch)).await?;
                self.remove_reports_of(id).await?;
                let owner = conversation.owner.as_deref();
                let epoch = conversation.epoch;
                let open = |record: &mut ConversationRecord| {
                    if record.epoch == epoch {
                        record.state = Upkeep::Open;
                    }
                };
                match self.change(owner, id, open).await {
                    Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
                    _ => Ok(()),
                }
            }
        }
    }

    /// Conversations that a sweep has something to do with.
    async fn to_sweep(&self, kept_since_ms: Option<u64>) -> Result<Vec<ConversationRecord>> {
        let marked = json!({"terms": {"state": ["cleared", "deleted"]}});
        let mut any = vec![marked];
        any.extend(kept_since_ms.map(|since| json!({"range": {"updated_at_ms": {"lt": since}}})));
        let search = Search {
            filter: json!([{"bool": {"should": any, "minimum_should_match": 1}}]),
            sort: json!([{"updated_at_ms": "asc"}, {"id": "asc"}]),
            after: None,
            limit: SWEPT_AT_ONCE,
        };
        let name = &self.cluster.names.conversations;
        self.cluster.search(name, search).await
    }

    /// Deletes one that is too old still. Gives whether it was.
    async fn delete_old(&self, found: &ConversationRecord, since_ms: u64) -> Result<bool> {
        let owner = found.owner.as_deref();
        let stored = match self.read(owner, &found.id).await {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            stored => stored?,
        };
        if stored.source.updated_at_ms >= since_ms {
            return Ok(false);
        }
        let mut deleted = stored.source.clone();
        deleted.state = Upkeep::Deleted;
        let is_mine = self.write(&stored, &deleted).await?;
        if is_mine {
            self.complete(&deleted).await?;
        }
        Ok(is_mine)
    }
}

fn too_busy() -> Error {
    let message = "the conversation is being changed by others all the time";
    Error::new(ErrorKind::Conflict, message).with_hint("try again in a moment")
}

/// Conversations of an owner that are not deleted and whose title holds that text.
fn list_filter(owner: Option<&str>, title: Option<&str>) -> Value {
    let alive = json!({"bool": {"must_not": {"term": {"state": "deleted"}}}});
    let mut filter = vec![owned_by(owner), alive];
    filter.extend(title.map(|title| title_holds(&rules::folded(title))));
    json!(filter)
}

/// Cuts the one more that was asked for, and names the page behind.
fn page<T>(mut items: Vec<T>, limit: usize, cursor: impl Fn(&T) -> String) -> Page<T> {
    let is_last = items.len() <= limit;
    items.truncate(limit);
    let next = match is_last {
        true => None,
        false => items.last().map(cursor),
    };
    Page { items, next }
}

#[async_trait]
impl ConversationStore for ElasticsearchConversations {
    async fn create(&self, owner: Option<&str>, title: &str) -> Result<Conversation> {
        let title = rules::plain_title(title);
        rules::check_title(&title)?;
        let id = rules::new_id()?;
        let record = ConversationRecord::new(id, owner, &title, self.now_ms());
        let name = &self.cluster.names.conversations;
        // Refused only where the answer to a first attempt was lost: nobody else has the id.
        self.cluster
            .put(name, &record.id, Guard::Absent, &record)
            .await?;
        Ok(record.conversation())
    }

    async fn get(&self, owner: Option<&str>, id: &str) -> Result<Conversation> {
        Ok(self.read(owner, id).await?.source.conversation())
    }

    async fn list(&self, owner: Option<&str>, query: ListQuery<'_>) -> Result<Page<Conversation>> {
        let after = query.after.map(rules::read_list_cursor).transpose()?;
        let search = Search {
            filter: list_filter(owner, query.title),
            sort: json!([{"updated_at_ms": "desc"}, {"id": "desc"}]),
            after: after.map(|(time, id)| json!([time, id])),
            limit: query.limit.saturating_add(1),
        };
        let name = &self.cluster.names.conversations;
        let found: Vec<ConversationRecord> = self.cluster.search(name, search).await?;
        let found = found.into_iter().map(ConversationRecord::conversation);
        Ok(page(found.collect(), query.limit, rules::list_cursor))
    }

    async fn rename(&self, owner: Option<&str>, id: &str, title: &str) -> Result<Conversation> {
        let title = rules::plain_title(title);
        rules::check_new_title(&title)?;
        let now_ms = self.now_ms();
        let rename = |record: &mut ConversationRecord| {
            record.set_title(&title);
            record.updated_at_ms = now_ms;
        };
        let renamed = self.change(owner, id, rename).await?;
        Ok(renamed.conversation())
    }

    async fn delete(&self, owner: Option<&str>, id: &str) -> Result<()> {
        let delete = |record: &mut ConversationRecord| {
            record.state = Upkeep::Deleted;
            record.pending = None;
        };
        let deleted = self.change(owner, id, delete).await?;
        self.complete(&deleted).await
    }

    async fn clear(&self, owner: Option<&str>, id: &str) -> Result<Conversation> {
        let now_ms = self.now_ms();
        let clear = |record: &mut ConversationRecord| {
            record.state = Upkeep::Cleared;
            record.epoch += 1;
            record.turns = 0;
            record.summary = None;
            record.pending = None;
            record.updated_at_ms = now_ms;
        };
        let cleared = self.change(owner, id, clear).await?;
        self.complete(&cleared).await?;
        Ok(cleared.conversation())
    }

    async fn begin_turn(
        &self,
        owner: Option<&str>,
        id: &str,
        turn: NewTurn<'_>,
    ) -> Result<BegunTurn> {
        rules::check_new_turn(&turn)?;
        self.begin(owner, id, turn).await
    }

    async fn finish_turn(
        &self,
        owner: Option<&str>,
        id: &str,
        turn_id: &str,
        end: TurnEnd,
    ) -> Result<Turn> {
        self.finish(owner, id, turn_id, end).await
    }

    async fn turns(
        &self,
        owner: Option<&str>,
        id: &str,
        query: TurnQuery<'_>,
    ) -> Result<Page<Turn>> {
        let after = query.after.map(rules::read_number_cursor).transpose()?;
        let conversation = self.read(owner, id).await?.source;
        self.page_of_turns(&conversation, query, after).await
    }

    async fn last_rounds(
        &self,
        owner: Option<&str>,
        id: &str,
        count: usize,
    ) -> Result<Vec<PastRound>> {
        let conversation = self.read(owner, id).await?.source;
        let mut filter = turns_of(&conversation);
        if let Some(conditions) = filter.as_array_mut() {
            conditions.push(json!({"term": {"state": "answered"}}));
        }
        let search = Search {
            filter,
            sort: json!([{"number": "desc"}]),
            after: None,
            limit: count,
        };
        let name = &self.cluster.names.turns;
        let found: Vec<TurnRecord> = self.cluster.search(name, search).await?;
        let turns = found.into_iter().rev().map(|record| record.turn);
        Ok(turns.map(rules::round).collect())
    }

    async fn summary(&self, owner: Option<&str>, id: &str) -> Result<Option<ConversationSummary>> {
        Ok(self.read(owner, id).await?.source.summary)
    }

    async fn set_summary(
        &self,
        owner: Option<&str>,
        id: &str,
        summary: ConversationSummary,
    ) -> Result<()> {
        for _ in 0..ATTEMPTS {
            let stored = self.read(owner, id).await?;
            rules::check_summary(&summary, stored.source.turns)?;
            let before = stored.source.summary.as_ref();
            if before.is_some_and(|before| before.through >= summary.through) {
                return Ok(());
            }
            let mut changed = stored.source.clone();
            changed.summary = Some(summary.clone());
            if self.write(&stored, &changed).await? {
                return Ok(());
            }
        }
        Err(too_busy())
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
        let name = &self.cluster.names.turns;
        for _ in 0..ATTEMPTS {
            let stored = self.ended_turn(owner, id, turn_id).await?;
            let mut record = stored.source.clone();
            record.turn.feedback = feedback.clone();
            record.has_feedback = feedback.is_some();
            let guard = stored.unchanged();
            if self.cluster.put(name, turn_id, guard, &record).await? {
                return Ok(record.turn);
            }
        }
        Err(too_busy())
    }

    async fn with_feedback(
        &self,
        owner: Option<&str>,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Page<Turn>> {
        let after = after.map(rules::read_id_cursor).transpose()?;
        let search = Search {
            filter: json!([{"term": {"has_feedback": true}}, owned_by(owner)]),
            sort: json!([{"id": "asc"}]),
            after: after.map(|id| json!([id])),
            limit: limit.saturating_add(1),
        };
        let name = &self.cluster.names.turns;
        let found: Vec<TurnRecord> = self.cluster.search(name, search).await?;
        let Page { items, next } = page(found, limit, |record| record.id.clone());
        let ids: Vec<&str> = items
            .iter()
            .map(|item| item.conversation.as_str())
            .collect();
        let conversations = self.cluster.conversations(&ids).await?;
        let is_there = |(record, conversation): &(TurnRecord, Option<ConversationRecord>)| {
            conversation.as_ref().is_some_and(|conversation| {
                conversation.state != Upkeep::Deleted && record.is_of(conversation)
            })
        };
        let kept = items.into_iter().zip(conversations).filter(is_there);
        Ok(Page {
            items: kept.map(|(record, _)| record.turn).collect(),
            next,
        })
    }

    async fn sweep(&self, kept_since_ms: Option<u64>) -> Result<u64> {
        let mut gone = 0;
        loop {
            let found = self.to_sweep(kept_since_ms).await?;
            let is_last = found.len() < SWEPT_AT_ONCE;
            let mut done = 0;
            for conversation in &found {
                self.complete(conversation).await?;
                done += u64::from(conversation.state != Upkeep::Open);
                if let Some(since) = kept_since_ms
                    && conversation.state != Upkeep::Deleted
                    && self.delete_old(conversation, since).await?
                {
                    (gone, done) = (gone + 1, done + 1);
                }
            }
            if is_last || done == 0 {
                return Ok(gone);
            }
        }
    }
}

/// Whether nobody can be at it any more.
fn is_expired(turn: &Turn, config: &Config, now_ms: u64) -> bool {
    let patience_ms = config.pending_minutes.saturating_mul(60_000);
    turn.state == TurnState::Pending && turn.asked_at_ms.saturating_add(patience_ms) < now_ms
}
