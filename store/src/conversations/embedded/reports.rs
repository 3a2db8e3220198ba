//! Statements about reports that can be gone on with.

use rusqlite::{OptionalExtension, Transaction, params};
use tributary_schemas::ask::AskRequest;
use tributary_schemas::report::{KeptReport, KeptSection, ReportPart, ReportPlan};

use super::conversations::{self, signed, unsigned};
use super::errors::Result;
use super::turns::{read_json, to_json};
use crate::conversations::{ReportBeginning, rules};

/// Where the plan stands among the parts; sections stand at their numbers.
const PLAN: i64 = 0;

/// A row of `reports`.
struct Row {
    number: i64,
    fingerprint: String,
    request: AskRequest,
    updated_at_ms: u64,
}

fn find(transaction: &Transaction<'_>, owner: Option<&str>, id: &str) -> Result<Option<Row>> {
    let found = transaction
        .prepare(
            "SELECT number, fingerprint, request, updated_at_ms FROM reports
             WHERE owner IS ?1 AND id = ?2",
        )?
        .query_row(params![owner, id], |row| {
            let request: Option<AskRequest> = read_json(row, 2)?;
            Ok(Row {
                number: row.get(0)?,
                fingerprint: row.get(1)?,
                // The column is never empty.
                request: request.unwrap_or_default(),
                updated_at_ms: unsigned(row.get(3)?),
            })
        })
        .optional()?;
    Ok(found)
}

pub fn begin(
    transaction: &Transaction<'_>,
    owner: Option<&str>,
    beginning: &ReportBeginning,
    now_ms: u64,
) -> Result<KeptReport> {
    let id = &beginning.id;
    if let Some(row) = find(transaction, owner, id)? {
        rules::check_same_report(id, &row.fingerprint, &beginning.fingerprint)?;
        return read(transaction, id, row);
    }
    let conversation = beginning.request.conversation_id.as_deref();
    if let Some(conversation) = conversation {
        conversations::get(transaction, owner, conversation)?;
    }
    transaction.execute(
        "INSERT INTO reports (owner, id, fingerprint, request, conversation_id, updated_at_ms)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![
            owner,
            id,
            beginning.fingerprint,
            to_json(Some(&beginning.request))?,
            conversation,
            signed(now_ms)
        ],
    )?;
    get(transaction, owner, id)
}

pub fn get(transaction: &Transaction<'_>, owner: Option<&str>, id: &str) -> Result<KeptReport> {
    let row = find(transaction, owner, id)?.ok_or_else(|| rules::no_report(id))?;
    read(transaction, id, row)
}

fn read(transaction: &Transaction<'_>, id: &str, row: Row) -> Result<KeptReport> {
    let plan: Option<Option<ReportPlan>> = transaction
        .prepare("SELECT content FROM report_parts WHERE report = ?1 AND part = ?2")?
        .query_row([row.number, PLAN], |row| read_json(row, 0))
        .optional()?;
    let sections: rusqlite::Result<Vec<Option<KeptSection>>> = transaction
        .prepare("SELECT content FROM report_parts WHERE report = ?1 AND part > ?2 ORDER BY part")?
        .query_map([row.number, PLAN], |row| read_json(row, 0))?
        .collect();
    Ok(KeptReport {
        id: id.to_owned(),
        request: row.request,
        updated_at_ms: row.updated_at_ms,
        plan: plan.flatten().map(Box::new),
        sections: sections?.into_iter().flatten().collect(),
    })
}

pub fn keep_part(
    transaction: &Transaction<'_>,
    owner: Option<&str>,
    id: &str,
    part: &ReportPart,
    now_ms: u64,
) -> Result<()> {
    let row = find(transaction, owner, id)?.ok_or_else(|| rules::no_report(id))?;
    let (place, content) = match part {
        ReportPart::Plan(plan) => (PLAN, to_json(Some(plan))?),
        ReportPart::Section(kept) => {
            let number = i64::try_from(kept.section.number).unwrap_or(i64::MAX);
            remove_failed(transaction, row.number, number)?;
            (number, to_json(Some(kept))?)
        }
    };
    let kept = transaction.execute(
        "INSERT OR IGNORE INTO report_parts (report, part, content) VALUES (?1, ?2, ?3)",
        params![row.number, place, content],
    )?;
    if kept == 0 && place == PLAN {
        return Err(rules::is_planned(id).into());
    }
    transaction.execute(
        "UPDATE reports SET updated_at_ms = ?2 WHERE number = ?1",
        [row.number, signed(now_ms)],
    )?;
    Ok(())
}

/// Makes room for another writing of a section that failed.
fn remove_failed(transaction: &Transaction<'_>, report: i64, place: i64) -> Result<()> {
    let known: Option<KeptSection> = transaction
        .query_row(
            "SELECT content FROM report_parts WHERE report = ?1 AND part = ?2",
            [report, place],
            |row| read_json(row, 0),
        )
        .optional()?
        .flatten();
    if known.is_some_and(|known| known.section.failure.is_some()) {
        transaction.execute(
            "DELETE FROM report_parts WHERE report = ?1 AND part = ?2",
            [report, place],
        )?;
    }
    Ok(())
}

pub fn delete(transaction: &Transaction<'_>, owner: Option<&str>, id: &str) -> Result<()> {
    let row = find(transaction, owner, id)?.ok_or_else(|| rules::no_report(id))?;
    transaction.execute("DELETE FROM reports WHERE number = ?1", [row.number])?;
    Ok(())
}

/// Those that belong to a conversation.
pub fn delete_of(transaction: &Transaction<'_>, conversation_id: &str) -> Result<()> {
    transaction.execute(
        "DELETE FROM reports WHERE conversation_id = ?1",
        [conversation_id],
    )?;
    Ok(())
}

/// Those without a change since then. Gives how many.
pub fn delete_older(transaction: &Transaction<'_>, since_ms: u64) -> Result<usize> {
    let statement = "DELETE FROM reports WHERE updated_at_ms < ?1";
    Ok(transaction.execute(statement, [signed(since_ms)])?)
}
