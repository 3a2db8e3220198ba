//! Statements about profiles of users.

use rusqlite::{OptionalExtension, Row, Transaction, params};
use tributary_schemas::user_profile::{StoredUserProfile, UserProfile};

use super::conversations::{one_more, page as cut_page, signed, unsigned};
use super::errors::Result;
use super::turns::{read_json, to_json};
use crate::conversations::{Page, rules};

const COLUMNS: &str = "user, profile, updated_at_ms";

fn read(row: &Row<'_>) -> rusqlite::Result<StoredUserProfile> {
    let profile: Option<UserProfile> = read_json(row, 1)?;
    Ok(StoredUserProfile {
        user: row.get(0)?,
        // The column is never empty.
        profile: profile.unwrap_or_default(),
        updated_at_ms: unsigned(row.get(2)?),
    })
}

pub fn put(
    transaction: &Transaction<'_>,
    owner: Option<&str>,
    user: &str,
    profile: &UserProfile,
    now_ms: u64,
) -> Result<StoredUserProfile> {
    remove(transaction, owner, user)?;
    transaction.execute(
        "INSERT INTO user_profiles (owner, user, profile, updated_at_ms) VALUES (?1, ?2, ?3, ?4)",
        params![owner, user, to_json(Some(profile))?, signed(now_ms)],
    )?;
    get(transaction, owner, user)
}

pub fn get(
    transaction: &Transaction<'_>,
    owner: Option<&str>,
    user: &str,
) -> Result<StoredUserProfile> {
    let statement = format!("SELECT {COLUMNS} FROM user_profiles WHERE owner IS ?1 AND user = ?2");
    let found = transaction
        .prepare(&statement)?
        .query_row(params![owner, user], read)
        .optional()?;
    Ok(found.ok_or_else(|| rules::no_user_profile(user))?)
}

pub fn delete(transaction: &Transaction<'_>, owner: Option<&str>, user: &str) -> Result<()> {
    match remove(transaction, owner, user)? {
        0 => Err(rules::no_user_profile(user).into()),
        _ => Ok(()),
    }
}

fn remove(transaction: &Transaction<'_>, owner: Option<&str>, user: &str) -> Result<usize> {
    let statement = "DELETE FROM user_profiles WHERE owner IS ?1 AND user = ?2";
    Ok(transaction.execute(statement, params![owner, user])?)
}

pub fn list(
    transaction: &Transaction<'_>,
    owner: Option<&str>,
    after: Option<&str>,
    limit: usize,
) -> Result<Page<StoredUserProfile>> {
    let statement = format!(
        "SELECT {COLUMNS} FROM user_profiles
         WHERE owner IS ?1 AND (?2 IS NULL OR user > ?2)
         ORDER BY user LIMIT ?3"
    );
    let found: rusqlite::Result<Vec<StoredUserProfile>> = transaction
        .prepare(&statement)?
        .query_map(params![owner, after, one_more(limit)], read)?
        .collect();
    Ok(cut_page(found?, limit, |stored| stored.user.clone()))
}
