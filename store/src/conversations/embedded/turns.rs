//! Statements about turns.

use rusqlite::types::Type;
use rusqlite::{OptionalExtension, Row, Transaction, params};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tributary_schemas::conversation::{Conversation, Feedback, Turn, TurnState};
use tributary_schemas::{Error, ErrorKind};

use super::conversations::{one_more, page as cut_page, set_title, signed, touch, unsigned};
use super::errors::Result;
use crate::conversations::{BegunTurn, NewTurn, Page, PastRound, TurnEnd, rules};

const COLUMNS: &str = "id, conversation_id, number, question, state, asked_at_ms, ended_at_ms, \
                       answer, failure, feedback";

/// What a turn begins with.
pub struct Beginning {
    /// Where.
    pub conversation: Conversation,
    /// As received.
    pub question: String,
    /// Idempotency key.
    pub key: Option<String>,
    /// What tells requests of one key apart.
    pub fingerprint: Option<String>,
    /// Most turns of the conversation.
    pub maximum_turns: u64,
    /// Now.
    pub now_ms: u64,
}

fn state_name(state: TurnState) -> &'static str {
    match state {
        TurnState::Pending => "pending",
        TurnState::Answered => "answered",
        TurnState::Failed => "failed",
    }
}

fn read_state(row: &Row<'_>, column: usize) -> rusqlite::Result<TurnState> {
    let name: String = row.get(column)?;
    match name.as_str() {
        "pending" => Ok(TurnState::Pending),
        "answered" => Ok(TurnState::Answered),
        "failed" => Ok(TurnState::Failed),
        _ => Err(unreadable(column, format!("no state is named `{name}`"))),
    }
}

fn unreadable(
    column: usize,
    what: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, what.into())
}

/// A column with JSON, which may be empty.
pub fn read_json<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<T>> {
    let text: Option<String> = row.get(column)?;
    text.map(|text| serde_json::from_str(&text).map_err(|error| unreadable(column, error)))
        .transpose()
}

/// What goes into such a column.
pub fn to_json<T: Serialize>(value: Option<&T>) -> Result<Option<String>> {
    let encoded = value.map(serde_json::to_string).transpose();
    Ok(encoded.map_err(|error| {
        Error::new(
            ErrorKind::Internal,
            format!("cannot encode a value: {error}"),
        )
    })?)
}

fn read(row: &Row<'_>) -> rusqlite::Result<Turn> {
    let ended_at_ms: Option<i64> = row.get(6)?;
    Ok(Turn {
        id: row.get(0)?,
        conversation_id: row.get(1)?,
        number: unsigned(row.get(2)?),
        question: row.get(3)?,
        state: read_state(row, 4)?,
        asked_at_ms: unsigned(row.get(5)?),
        ended_at_ms: ended_at_ms.map(unsigned),
        answer: read_json(row, 7)?,
        failure: read_json(row, 8)?,
        feedback: read_json(row, 9)?,
    })
}

/// A turn of the conversation that fits.
fn find(
    transaction: &Transaction<'_>,
    conversation_id: &str,
    condition: &str,
    value: &str,
) -> Result<Option<Turn>> {
    let statement =
        format!("SELECT {COLUMNS} FROM turns WHERE conversation_id = ?1 AND {condition} = ?2");
    let found = transaction
        .prepare(&statement)?
        .query_row([conversation_id, value], read)
        .optional()?;
    Ok(found)
}

fn get(transaction: &Transaction<'_>, conversation_id: &str, turn_id: &str) -> Result<Turn> {
    let found = find(transaction, conversation_id, "id", turn_id)?;
    Ok(found.ok_or_else(|| rules::no_turn(turn_id))?)
}

pub fn begin(transaction: &Transaction<'_>, beginning: Beginning) -> Result<BegunTurn> {
    let conversation = &beginning.conversation;
    if let Some(turn) = repeated(transaction, &beginning)? {
        return Ok(BegunTurn {
            turn,
            is_new: false,
        });
    }
    if let Some(pending) = find(transaction, &conversation.id, "state", "pending")? {
        return Err(rules::is_pending(pending.number).into());
    }
    if conversation.turns >= beginning.maximum_turns {
        return Err(rules::too_many_turns(beginning.maximum_turns).into());
    }
    let turn = Turn {
        id: rules::new_id()?,
        conversation_id: conversation.id.clone(),
        number: conversation.turns + 1,
        question: beginning.question,
        state: TurnState::Pending,
        asked_at_ms: beginning.now_ms,
        ended_at_ms: None,
        answer: None,
        failure: None,
        feedback: None,
    };
    let (key, fingerprint) = (beginning.key.as_deref(), beginning.fingerprint.as_deref());
    insert(transaction, &turn, key, fingerprint)?;
    if conversation.title.is_empty() {
        let title = rules::title_of_question(&turn.question);
        set_title(transaction, &conversation.id, &title)?;
    }
    touch(transaction, &conversation.id, beginning.now_ms)?;
    Ok(BegunTurn { turn, is_new: true })
}

/// The turn that the idempotency key stands for already. One that failed leaves its key to the
/// question that comes now.
fn repeated(transaction: &Transaction<'_>, beginning: &Beginning) -> Result<Option<Turn>> {
    let Some(key) = &beginning.key else {
        return Ok(None);
    };
    let conversation = &beginning.conversation;
    let Some(turn) = find(transaction, &conversation.id, "idempotency_key", key)? else {
        return Ok(None);
    };
    let fingerprint: Option<String> = transaction.query_row(
        "SELECT fingerprint FROM turns WHERE id = ?1",
        [&turn.id],
        |row| row.get(0),
    )?;
    let new = NewTurn {
        question: &beginning.question,
        idempotency_key: Some(key),
        fingerprint: beginning.fingerprint.as_deref(),
    };
    rules::check_same(&turn, fingerprint.as_deref(), &new)?;
    if turn.state != TurnState::Failed {
        return Ok(Some(turn));
    }
    transaction.execute(
        "UPDATE turns SET idempotency_key = NULL WHERE id = ?1",
        [&turn.id],
    )?;
    Ok(None)
}

fn insert(
    transaction: &Transaction<'_>,
    turn: &Turn,
    key: Option<&str>,
    fingerprint: Option<&str>,
) -> Result<()> {
    transaction.execute(
        "INSERT INTO turns
         (id, conversation_id, number, question, state, asked_at_ms, idempotency_key, fingerprint)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            turn.id,
            turn.conversation_id,
            signed(turn.number),
            turn.question,
            state_name(turn.state),
            signed(turn.asked_at_ms),
            key,
            fingerprint
        ],
    )?;
    transaction.execute(
        "UPDATE conversations SET turns = turns + 1 WHERE id = ?1",
        [&turn.conversation_id],
    )?;
    Ok(())
}

pub fn finish(
    transaction: &Transaction<'_>,
    conversation_id: &str,
    turn_id: &str,
    end: TurnEnd,
    now_ms: u64,
) -> Result<Turn> {
    let turn = get(transaction, conversation_id, turn_id)?;
    if turn.state != TurnState::Pending {
        return Ok(turn);
    }
    let turn = rules::ended(turn, end, now_ms);
    keep_end(transaction, &turn)?;
    touch(transaction, conversation_id, now_ms)?;
    Ok(turn)
}

fn keep_end(transaction: &Transaction<'_>, turn: &Turn) -> Result<()> {
    transaction.execute(
        "UPDATE turns SET state = ?2, ended_at_ms = ?3, answer = ?4, failure = ?5 WHERE id = ?1",
        params![
            turn.id,
            state_name(turn.state),
            turn.ended_at_ms.map(signed),
            to_json(turn.answer.as_ref())?,
            to_json(turn.failure.as_ref())?
        ],
    )?;
    Ok(())
}

/// All pending turns have failed. Gives how many.
pub fn fail_pending(transaction: &Transaction<'_>, now_ms: u64) -> Result<usize> {
    let failure = to_json(Some(&rules::process_died()))?;
    let failed = transaction.execute(
        "UPDATE turns SET state = 'failed', ended_at_ms = ?1, failure = ?2
         WHERE state = 'pending'",
        params![signed(now_ms), failure],
    )?;
    Ok(failed)
}

pub fn page(
    transaction: &Transaction<'_>,
    conversation_id: &str,
    newest_first: bool,
    after: Option<u64>,
    limit: usize,
) -> Result<Page<Turn>> {
    let (behind, order) = match newest_first {
        true => ("<", "DESC"),
        false => (">", "ASC"),
    };
    let statement = format!(
        "SELECT {COLUMNS} FROM turns
         WHERE conversation_id = ?1 AND (?2 IS NULL OR number {behind} ?2)
         ORDER BY number {order} LIMIT ?3"
    );
    let after = after.map(signed);
    let found: rusqlite::Result<Vec<Turn>> = transaction
        .prepare(&statement)?
        .query_map(params![conversation_id, after, one_more(limit)], read)?
        .collect();
    Ok(cut_page(found?, limit, |turn| turn.number.to_string()))
}

pub fn last_rounds(
    transaction: &Transaction<'_>,
    conversation_id: &str,
    count: usize,
) -> Result<Vec<PastRound>> {
    let statement = format!(
        "SELECT {COLUMNS} FROM turns WHERE conversation_id = ?1 AND state = 'answered'
         ORDER BY number DESC LIMIT ?2"
    );
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let found: rusqlite::Result<Vec<Turn>> = transaction
        .prepare(&statement)?
        .query_map(params![conversation_id, count], read)?
        .collect();
    Ok(found?.into_iter().rev().map(rules::round).collect())
}

pub fn set_feedback(
    transaction: &Transaction<'_>,
    conversation_id: &str,
    turn_id: &str,
    feedback: Option<Feedback>,
) -> Result<Turn> {
    let mut turn = get(transaction, conversation_id, turn_id)?;
    if turn.state == TurnState::Pending {
        return Err(rules::is_pending(turn.number).into());
    }
    transaction.execute(
        "UPDATE turns SET feedback = ?2 WHERE id = ?1",
        params![turn_id, to_json(feedback.as_ref())?],
    )?;
    turn.feedback = feedback;
    Ok(turn)
}

/// Turns of an owner's conversations that have feedback.
pub fn with_feedback(
    transaction: &Transaction<'_>,
    owner: Option<&str>,
    after: Option<&str>,
    limit: usize,
) -> Result<Page<Turn>> {
    let statement = format!(
        "SELECT {COLUMNS} FROM turns
         WHERE feedback IS NOT NULL AND (?2 IS NULL OR id > ?2)
           AND EXISTS (SELECT 1 FROM conversations
                       WHERE conversations.id = turns.conversation_id AND owner IS ?1)
         ORDER BY id LIMIT ?3"
    );
    let found: rusqlite::Result<Vec<Turn>> = transaction
        .prepare(&statement)?
        .query_map(params![owner, after, one_more(limit)], read)?
        .collect();
    Ok(cut_page(found?, limit, |turn| turn.id.clone()))
}
