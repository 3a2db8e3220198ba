//! `tributary conversations list|show|rename|clear|delete|export`.

use std::fs::OpenOptions;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tributary_query_api::http::conversation_export::markdown;
use tributary_query_api::http::conversations::{ConversationPage, RenameConversation, TurnPage};
use tributary_schemas::conversation::{Conversation, Turn};

use crate::args::{ConversationIds, Conversations, Format, Global, Output, Service};
use crate::client::{Client, require, segment};
use crate::config::Config;
use crate::print::{self, Outcome};
use crate::times;

/// Columns of a title in a list.
const TITLE_WIDTH: usize = 60;

/// Looks at conversations, renames, clears, deletes or exports them.
pub fn run(global: &Global, config: &Config, verb: Conversations) -> Result<Outcome> {
    let client = Client::connect(global, config, &[Service::Query])?;
    let outcome = match verb {
        Conversations::List {
            title,
            limit,
            output,
        } => list(&client, title.as_deref(), limit, output),
        Conversations::Show { id, last, output } => show(&client, &id, last, output),
        Conversations::Rename { id, title, output } => rename(&client, &id, title, output),
        Conversations::Clear(ids) => each(&ids, "cleared", |id| {
            let path = format!("{}/clear", path_of(id)?);
            client.post::<Value>(&path, &json!({})).map(drop)
        }),
        Conversations::Delete(ids) => each(&ids, "deleted", |id| {
            client.delete::<Value>(&path_of(id)?).map(drop)
        }),
        Conversations::Export { id, file, output } => export(&client, &id, file.as_deref(), output),
    }?;
    client.close()?;
    Ok(outcome)
}

pub(super) fn path_of(id: &str) -> Result<String> {
    require(id, "the conversation id")?;
    Ok(format!("/v1/conversations/{}", segment(id)))
}

fn list(
    client: &Client,
    title: Option<&str>,
    limit: Option<usize>,
    output: Output,
) -> Result<Outcome> {
    let limit = limit.unwrap_or(usize::MAX);
    let title = title.map(|title| format!("&title={}", segment(title)));
    let title = title.unwrap_or_default();
    let mut found: Vec<Conversation> = Vec::new();
    let mut after = String::new();
    while found.len() < limit {
        let page: ConversationPage = client.get(&format!(
            "/v1/conversations?{}",
            format!("{after}{title}").trim_start_matches('&')
        ))?;
        found.extend(page.conversations);
        let Some(next) = page.next else { break };
        after = format!("&after={}", segment(&next));
    }
    found.truncate(limit);
    print::result(output, &json!({"conversations": found}), || listed(&found))?;
    Ok(Outcome::Done)
}

fn listed(found: &[Conversation]) -> String {
    let mut lines: Vec<String> = found.iter().map(describe).collect();
    lines.push(print::count(found.len(), "conversation"));
    lines.join("\n")
}

fn describe(conversation: &Conversation) -> String {
    let title = match conversation.title.is_empty() {
        true => "(without a title)",
        false => &conversation.title,
    };
    let turns = usize::try_from(conversation.turns).unwrap_or(usize::MAX);
    format!(
        "{}  {}  {:>9}  {}",
        conversation.id,
        times::to_the_minute(signed(conversation.updated_at_ms)),
        print::count(turns, "turn"),
        print::shorten(
            &title.split_whitespace().collect::<Vec<_>>().join(" "),
            TITLE_WIDTH
        )
    )
}

fn signed(at_ms: u64) -> i64 {
    i64::try_from(at_ms).unwrap_or(i64::MAX)
}

fn show(client: &Client, id: &str, last: Option<usize>, output: Output) -> Result<Outcome> {
    let path = path_of(id)?;
    let conversation: Conversation = client.get(&path)?;
    let turns = last_turns(client, &path, last.unwrap_or(usize::MAX))?;
    let found = json!({"conversation": conversation, "turns": turns});
    print::result(output, &found, || {
        let texts: Vec<String> = turns.iter().map(markdown).collect();
        format!("{}\n{}", describe(&conversation), texts.concat())
    })?;
    Ok(Outcome::Done)
}

/// The last so many, by number.
pub(super) fn last_turns(client: &Client, path: &str, count: usize) -> Result<Vec<Turn>> {
    let mut turns: Vec<Turn> = Vec::new();
    let mut after = String::new();
    while turns.len() < count {
        let page: TurnPage = client.get(&format!("{path}/turns?newest_first=true{after}"))?;
        turns.extend(page.turns);
        let Some(next) = page.next else { break };
        after = format!("&after={}", segment(&next));
    }
    turns.truncate(count);
    turns.reverse();
    Ok(turns)
}

fn rename(client: &Client, id: &str, title: String, output: Output) -> Result<Outcome> {
    let wish = RenameConversation { title };
    let renamed: Conversation = client.patch(&path_of(id)?, &wish)?;
    print::result(output, &renamed, || describe(&renamed))?;
    Ok(Outcome::Done)
}

fn each(wanted: &ConversationIds, done: &str, act: impl Fn(&str) -> Result<()>) -> Result<Outcome> {
    let rows: Vec<Value> = wanted
        .ids
        .iter()
        .map(|id| match act(id) {
            Ok(()) => json!({"id": id, "outcome": done}),
            Err(error) => json!({"id": id, "outcome": "failed", "reason": error.to_string()}),
        })
        .collect();
    let failed = rows
        .iter()
        .filter(|row| row.get("reason").is_some())
        .count();
    print::result(wanted.output, &json!({"conversations": rows}), || {
        rows.iter().map(outcome_line).collect::<Vec<_>>().join("\n")
    })?;
    Ok(Outcome::of(rows.len() - failed, failed))
}

fn outcome_line(row: &Value) -> String {
    let text = |name: &str| row.get(name).and_then(Value::as_str).unwrap_or_default();
    let line = format!("{:9} {}  {}", text("outcome"), text("id"), text("reason"));
    line.trim_end().to_owned()
}

fn export(client: &Client, id: &str, file: Option<&Path>, output: Output) -> Result<Outcome> {
    let format = match output.format {
        Format::Text => "markdown",
        Format::Json => "json",
    };
    let path = format!("{}/export?format={format}", path_of(id)?);
    let Some(file) = file else {
        print::line(&client.get_text(&path)?)?;
        return Ok(Outcome::Done);
    };
    // Asked for first, so that an id that does not exist leaves no empty file.
    client.get::<Conversation>(&path_of(id)?)?;
    let mut options = OpenOptions::new();
    let opened = options.write(true).create_new(true).open(file);
    let mut opened = opened.with_context(|| format!("cannot create {}", file.display()))?;
    let bytes = client.download(&path, &mut opened)?;
    let written = json!({"file": file, "bytes": bytes});
    print::result(output, &written, || {
        format!("{}: {bytes} bytes", file.display())
    })?;
    Ok(Outcome::Done)
}
