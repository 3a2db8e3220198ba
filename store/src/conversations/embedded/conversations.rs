//! Statements about conversations.

use rusqlite::{OptionalExtension, Row, Transaction, params};
use tributary_schemas::conversation::{Conversation, ConversationSummary};

use super::errors::Result;
use super::reports;
use super::turns::{read_json, to_json};
use crate::conversations::{Page, rules};

const COLUMNS: &str = "id, owner, title, created_at_ms, updated_at_ms, turns";

/// A number as SQLite has it; times and counts stay far below the largest.
pub fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The same back.
pub fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// A limit as SQLite has it, and one more: whether there is a next page.
pub fn one_more(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1)
}

/// Cuts the one more, and names the page behind.
pub fn page<T>(mut items: Vec<T>, limit: usize, cursor: impl Fn(&T) -> String) -> Page<T> {
    let is_last = items.len() <= limit;
    items.truncate(limit);
    let next = match is_last {
        true => None,
        false => items.last().map(cursor),
    };
    Page { items, next }
}

fn read(row: &Row<'_>) -> rusqlite::Result<Conversation> {
    Ok(Conversation {
        id: row.get(0)?,
        owner: row.get(1)?,
        title: row.get(2)?,
        created_at_ms: unsigned(row.get(3)?),
        updated_at_ms: unsigned(row.get(4)?),
        turns: unsigned(row.get(5)?),
    })
}

pub fn create(
    transaction: &Transaction<'_>,
    owner: Option<String>,
    title: String,
    now_ms: u64,
) -> Result<Conversation> {
    let id = rules::new_id()?;
    transaction.execute(
        "INSERT INTO conversations
         (id, owner, title, title_folded, created_at_ms, updated_at_ms, turns)
         VALUES (?1, ?2, ?3, ?4, ?5, ?5, 0)",
        params![id, owner, title, rules::folded(&title), signed(now_ms)],
    )?;
    Ok(Conversation {
        id,
        title,
        owner,
        created_at_ms: now_ms,
        updated_at_ms: now_ms,
        turns: 0,
    })
}

/// One of the owner's, or `NotFound`.
pub fn get(transaction: &Transaction<'_>, owner: Option<&str>, id: &str) -> Result<Conversation> {
    let statement = format!("SELECT {COLUMNS} FROM conversations WHERE id = ?1 AND owner IS ?2");
    let found = transaction
        .prepare(&statement)?
        .query_row(params![id, owner], read)
        .optional()?;
    Ok(found.ok_or_else(|| rules::no_conversation(id))?)
}

pub fn list(
    transaction: &Transaction<'_>,
    owner: Option<&str>,
    title_folded: Option<&str>,
    after: Option<(u64, String)>,
    limit: usize,
) -> Result<Page<Conversation>> {
    let statement = format!(
        "SELECT {COLUMNS} FROM conversations
         WHERE owner IS ?1
           AND (?2 IS NULL OR instr(title_folded, ?2) > 0)
           AND (?3 IS NULL OR (updated_at_ms, id) < (?3, ?4))
         ORDER BY updated_at_ms DESC, id DESC LIMIT ?5"
    );
    let (time, id) = match after {
        Some((time, id)) => (Some(signed(time)), id),
        None => (None, String::new()),
    };
    let found: rusqlite::Result<Vec<Conversation>> = transaction
        .prepare(&statement)?
        .query_map(
            params![owner, title_folded, time, id, one_more(limit)],
            read,
        )?
        .collect();
    Ok(page(found?, limit, rules::list_cursor))
}

pub fn rename(
    transaction: &Transaction<'_>,
    owner: Option<&str>,
    id: &str,
    title: &str,
    now_ms: u64,
) -> Result<Conversation> {
    get(transaction, owner, id)?;
    set_title(transaction, id, title)?;
    touch(transaction, id, now_ms)?;
    get(transaction, owner, id)
}

pub fn delete(transaction: &Transaction<'_>, owner: Option<&str>, id: &str) -> Result<()> {
    get(transaction, owner, id)?;
    transaction.execute("DELETE FROM conversations WHERE id = ?1", [id])?;
    Ok(())
}

pub fn clear(
    transaction: &Transaction<'_>,
    owner: Option<&str>,
    id: &str,
    now_ms: u64,
) -> Result<Conversation> {
    get(transaction, owner, id)?;
    transaction.execute("DELETE FROM turns WHERE conversation_id = ?1", [id])?;
    reports::delete_of(transaction, id)?;
    transaction.execute(
        "UPDATE conversations SET turns = 0, summary = NULL WHERE id = ?1",
        [id],
    )?;
    touch(transaction, id, now_ms)?;
    get(transaction, owner, id)
}

/// Those of all owners without a change since then. Gives how many.
pub fn delete_older(transaction: &Transaction<'_>, since_ms: u64) -> Result<u64> {
    let gone = transaction.execute(
        "DELETE FROM conversations WHERE updated_at_ms < ?1",
        [signed(since_ms)],
    )?;
    Ok(gone as u64)
}

pub fn set_title(transaction: &Transaction<'_>, id: &str, title: &str) -> Result<()> {
    transaction.execute(
        "UPDATE conversations SET title = ?2, title_folded = ?3 WHERE id = ?1",
        params![id, title, rules::folded(title)],
    )?;
    Ok(())
}

/// It was changed now.
pub fn touch(transaction: &Transaction<'_>, id: &str, now_ms: u64) -> Result<()> {
    transaction.execute(
        "UPDATE conversations SET updated_at_ms = ?2 WHERE id = ?1",
        params![id, signed(now_ms)],
    )?;
    Ok(())
}

/// What was said before the last rounds.
pub fn summary(
    transaction: &Transaction<'_>,
    owner: Option<&str>,
    id: &str,
) -> Result<Option<ConversationSummary>> {
    get(transaction, owner, id)?;
    let statement = "SELECT summary FROM conversations WHERE id = ?1";
    let read = |row: &Row<'_>| read_json(row, 0);
    Ok(transaction.query_row(statement, [id], read)?)
}

/// Keeps one that holds more turns than what is there.
pub fn set_summary(
    transaction: &Transaction<'_>,
    owner: Option<&str>,
    id: &str,
    new: &ConversationSummary,
) -> Result<()> {
    let conversation = get(transaction, owner, id)?;
    rules::check_summary(new, conversation.turns)?;
    let before = summary(transaction, owner, id)?;
    if before.is_some_and(|before| before.through >= new.through) {
        return Ok(());
    }
    transaction.execute(
        "UPDATE conversations SET summary = ?2 WHERE id = ?1",
        params![id, to_json(Some(new))?],
    )?;
    Ok(())
}
