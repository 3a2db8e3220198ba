//! How a turn begins, ends and is read: the pending one lies in its conversation's document, the
//! others have documents of their own.

use serde_json::json;
use tributary_schemas::conversation::{Turn, TurnState};
use tributary_schemas::{ErrorKind, Result};

use super::cluster::{Guard, Search, Stored};
use super::records::{ConversationRecord, Pending, TurnRecord, turns_of};
use super::{ATTEMPTS, ElasticsearchConversations, is_expired, page, too_busy};
use crate::conversations::{BegunTurn, NewTurn, Page, TurnEnd, TurnQuery, rules};

/// What an idempotency key stands for.
enum Repeated {
    /// A turn that was there already.
    Known(Box<Turn>),
    /// The turn to come, which is to have this id.
    New(String),
}

impl ElasticsearchConversations {
    /// See `ConversationStore::begin_turn`.
    pub(super) async fn begin(
        &self,
        owner: Option<&str>,
        id: &str,
        turn: NewTurn<'_>,
    ) -> Result<BegunTurn> {
        let nonce = rules::new_id()?;
        for _ in 0..ATTEMPTS {
            let stored = self.read(owner, id).await?;
            let conversation = &stored.source;
            if let Some(pending) = &conversation.pending
                && pending.nonce == nonce
            {
                // The answer to our write was lost.
                let turn = pending.turn.clone();
                return Ok(BegunTurn { turn, is_new: true });
            }
            let turn_id = match self.repeated(conversation, &turn).await? {
                Repeated::Known(turn) => {
                    let turn = *turn;
                    return Ok(BegunTurn {
                        turn,
                        is_new: false,
                    });
                }
                Repeated::New(turn_id) => turn_id,
            };
            self.leave_pending(conversation).await?;
            if conversation.turns >= self.config.maximum_turns {
                return Err(rules::too_many_turns(self.config.maximum_turns));
            }
            let changed = self.with_pending(conversation.clone(), &turn, turn_id, &nonce);
            let begun = changed.pending.as_ref().map(|pending| pending.turn.clone());
            if self.write(&stored, &changed).await?
                && let Some(turn) = begun
            {
                return Ok(BegunTurn { turn, is_new: true });
            }
        }
        Err(too_busy())
    }

    fn with_pending(
        &self,
        mut conversation: ConversationRecord,
        new: &NewTurn<'_>,
        id: String,
        nonce: &str,
    ) -> ConversationRecord {
        let now_ms = self.now_ms();
        let turn = Turn {
            id,
            conversation_id: conversation.id.clone(),
            number: conversation.turns + 1,
            question: new.question.to_owned(),
            state: TurnState::Pending,
            asked_at_ms: now_ms,
            ended_at_ms: None,
            answer: None,
            failure: None,
            feedback: None,
        };
        if conversation.title.is_empty() {
            conversation.set_title(&rules::title_of_question(new.question));
        }
        conversation.turns += 1;
        conversation.updated_at_ms = now_ms;
        conversation.pending = Some(Pending {
            turn,
            nonce: nonce.to_owned(),
            fingerprint: new.fingerprint.map(str::to_owned),
        });
        conversation
    }

    /// The turn that the idempotency key stands for already; those of it that failed are passed by.
    async fn repeated(
        &self,
        conversation: &ConversationRecord,
        new: &NewTurn<'_>,
    ) -> Result<Repeated> {
        let Some(key) = new.idempotency_key else {
            return Ok(Repeated::New(rules::new_id()?));
        };
        let mut failed = 0;
        loop {
            let turn_id = conversation.turn_id_of(key, failed);
            let Some((turn, fingerprint)) = self.turn_now(conversation, &turn_id).await? else {
                return Ok(Repeated::New(turn_id));
            };
            rules::check_same(&turn, fingerprint.as_deref(), new)?;
            if turn.state != TurnState::Failed {
                return Ok(Repeated::Known(Box::new(turn)));
            }
            failed += 1;
        }
    }

    /// A turn as it is now (ended, pending, or failed because its process died) and its fingerprint.
    async fn turn_now(
        &self,
        conversation: &ConversationRecord,
        turn_id: &str,
    ) -> Result<Option<(Turn, Option<String>)>> {
        if let Some(stored) = self.stored_turn(conversation, turn_id).await? {
            return Ok(Some((stored.source.turn, stored.source.fingerprint)));
        }
        let fingerprint = conversation.pending_fingerprint(turn_id).map(str::to_owned);
        let pending = conversation.pending_turn(turn_id).cloned();
        Ok(pending.map(|turn| (self.as_seen(turn), fingerprint)))
    }

    async fn stored_turn(
        &self,
        conversation: &ConversationRecord,
        turn_id: &str,
    ) -> Result<Option<Stored<TurnRecord>>> {
        if !rules::is_id(turn_id) {
            return Ok(None);
        }
        let name = &self.cluster.names.turns;
        let found: Option<Stored<TurnRecord>> = self.cluster.get(name, turn_id).await?;
        Ok(found.filter(|stored| stored.source.is_of(conversation)))
    }

    /// A pending turn that nobody can be at any more has failed.
    fn as_seen(&self, turn: Turn) -> Turn {
        if !is_expired(&turn, &self.config, self.now_ms()) {
            return turn;
        }
        let ended_at_ms = turn.asked_at_ms + self.config.pending_minutes.saturating_mul(60_000);
        rules::ended(turn, TurnEnd::Failed(rules::process_died()), ended_at_ms)
    }

    /// Makes room for another turn: `Conflict` while the last one is pending.
    async fn leave_pending(&self, conversation: &ConversationRecord) -> Result<()> {
        let Some(pending) = &conversation.pending else {
            return Ok(());
        };
        match self.turn_now(conversation, &pending.turn.id).await? {
            Some((turn, _)) if turn.state == TurnState::Pending => {
                Err(rules::is_pending(turn.number))
            }
            Some((turn, _)) => self.keep_ended(conversation, turn).await.map(drop),
            None => Ok(()),
        }
    }

    /// Gives an ended turn a document, unless it has one. The one that is there then.
    async fn keep_ended(&self, conversation: &ConversationRecord, turn: Turn) -> Result<Turn> {
        let name = &self.cluster.names.turns;
        let record = TurnRecord::new(conversation, turn);
        let is_first = self
            .cluster
            .put(name, &record.id, Guard::Absent, &record)
            .await?;
        if is_first {
            return Ok(record.turn);
        }
        let stored = self.stored_turn(conversation, &record.id).await?;
        stored
            .map(|stored| stored.source.turn)
            .ok_or_else(|| rules::no_turn(&record.id))
    }

    /// See `ConversationStore::finish_turn`.
    pub(super) async fn finish(
        &self,
        owner: Option<&str>,
        id: &str,
        turn_id: &str,
        end: TurnEnd,
    ) -> Result<Turn> {
        let conversation = self.read(owner, id).await?.source;
        let ended = match self.stored_turn(&conversation, turn_id).await? {
            Some(stored) => stored.source.turn,
            None => {
                let pending = conversation.pending_turn(turn_id).cloned();
                let turn = pending.ok_or_else(|| rules::no_turn(turn_id))?;
                let ended = rules::ended(turn, end, self.now_ms());
                self.keep_ended(&conversation, ended).await?
            }
        };
        match self.forget_pending(owner, id, &conversation, turn_id).await {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                // Deleted or cleared meanwhile: nothing of it may stay.
                let name = &self.cluster.names.turns;
                self.cluster.remove(name, turn_id).await?;
                Err(error)
            }
            forgotten => forgotten.map(|()| ended),
        }
    }

    /// The turn is pending no more. `NotFound` where the conversation is gone, or its turns are.
    async fn forget_pending(
        &self,
        owner: Option<&str>,
        id: &str,
        seen: &ConversationRecord,
        turn_id: &str,
    ) -> Result<()> {
        for _ in 0..ATTEMPTS {
            let stored = self.read(owner, id).await?;
            if stored.source.epoch != seen.epoch {
                return Err(rules::no_turn(turn_id));
            }
            if stored.source.pending_turn(turn_id).is_none() {
                return Ok(());
            }
            let mut changed = stored.source.clone();
            changed.pending = None;
            changed.updated_at_ms = self.now_ms();
            if self.write(&stored, &changed).await? {
                return Ok(());
            }
        }
        Err(too_busy())
    }

    /// The document of a turn that has ended.
    pub(super) async fn ended_turn(
        &self,
        owner: Option<&str>,
        id: &str,
        turn_id: &str,
    ) -> Result<Stored<TurnRecord>> {
        let conversation = self.read(owner, id).await?.source;
        if let Some(stored) = self.stored_turn(&conversation, turn_id).await? {
            return Ok(stored);
        }
        match self.turn_now(&conversation, turn_id).await? {
            None => return Err(rules::no_turn(turn_id)),
            Some((turn, _)) if turn.state == TurnState::Pending => {
                return Err(rules::is_pending(turn.number));
            }
            Some((turn, _)) => self.keep_ended(&conversation, turn).await?,
        };
        let stored = self.stored_turn(&conversation, turn_id).await?;
        stored.ok_or_else(|| rules::no_turn(turn_id))
    }

    /// Ended turns and the pending one, in order.
    pub(super) async fn page_of_turns(
        &self,
        conversation: &ConversationRecord,
        query: TurnQuery<'_>,
        after: Option<u64>,
    ) -> Result<Page<Turn>> {
        let order = match query.newest_first {
            true => "desc",
            false => "asc",
        };
        let search = Search {
            filter: turns_of(conversation),
            sort: json!([{"number": order}]),
            after: after.map(|number| json!([number])),
            limit: query.limit.saturating_add(1),
        };
        let name = &self.cluster.names.turns;
        // Looked at first: one that ends in between is found twice rather than not at all.
        let last = self.last_turn(conversation).await?;
        let found: Vec<TurnRecord> = self.cluster.search(name, search).await?;
        let mut turns: Vec<Turn> = found.into_iter().map(|record| record.turn).collect();
        if let Some(last) = last
            && is_behind(last.number, after, query.newest_first)
            && turns.iter().all(|turn| turn.id != last.id)
        {
            // It has the highest number of all.
            match query.newest_first {
                true => turns.insert(0, last),
                false => turns.push(last),
            }
        }
        Ok(page(turns, query.limit, |turn| turn.number.to_string()))
    }

    /// The turn that lies in the conversation's document and nowhere else.
    async fn last_turn(&self, conversation: &ConversationRecord) -> Result<Option<Turn>> {
        let Some(pending) = &conversation.pending else {
            return Ok(None);
        };
        let turn = &pending.turn;
        match self.stored_turn(conversation, &turn.id).await? {
            Some(_) => Ok(None),
            None => Ok(Some(self.as_seen(turn.clone()))),
        }
    }
}

/// Whether a turn of that number belongs behind the cursor.
fn is_behind(number: u64, after: Option<u64>, newest_first: bool) -> bool {
    after.is_none_or(|after| match newest_first {
        true => number < after,
        false => number > after,
    })
}
