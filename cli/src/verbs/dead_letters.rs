//! `tributary dead-letters list|show|replay|drop`.

mod replay;

use std::collections::HashMap;

use anyhow::Result;
use indicatif::HumanBytes;
use serde::Serialize;
use serde_json::{Value, json};
use tributary_query_api::http::dead_letters::{
    DeadLetterDetail, DeadLetterPage, DroppedDeadLetters,
};
use tributary_schemas::{DeadLetter, State};

use crate::args::{
    DeadLetterIds, DeadLetters, Global, LetterConditions, ListDeadLetters, Output, Service,
};
use crate::client::{Client, segment};
use crate::config::Config;
use crate::print::{self, Outcome};
use crate::times;

/// Looks at dead letters, sends them again or drops them.
pub fn run(global: &Global, config: &Config, verb: DeadLetters) -> Result<Outcome> {
    let services: &[Service] = if matches!(verb, DeadLetters::Replay(_)) {
        &Service::ALL
    } else {
        &[Service::Query]
    };
    let client = Client::connect(global, config, services)?;
    let outcome = match verb {
        DeadLetters::List(wanted) => list(&client, &wanted),
        DeadLetters::Show { id, output } => show(&client, &id, output),
        DeadLetters::Replay(wanted) => replay::run(&client, &wanted),
        DeadLetters::Drop(wanted)
            if wanted.ids.is_empty() && parameters(&wanted.conditions).is_empty() =>
        {
            drop_all(&client, wanted.output)
        }
        DeadLetters::Drop(ids) => {
            let acted = act_on(&client, &ids, "dropped", |id| {
                client.delete::<Value>(&format!("/v1/dead-letters/{}", segment(id)))
            });
            acted.and_then(|acted| show_acted(&acted, "dropped", ids.output))
        }
    }?;
    client.close()?;
    Ok(outcome)
}

/// The newest so many of those that meet the conditions, and whether there are more.
fn newest(
    client: &Client,
    limit: usize,
    conditions: &LetterConditions,
) -> Result<(Vec<DeadLetter>, bool)> {
    let conditions = parameters(conditions);
    let mut letters: Vec<DeadLetter> = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let place = after.map(|after| format!("after={}", segment(&after)));
        let parameters: Vec<String> = conditions.iter().cloned().chain(place).collect();
        let path = match parameters.is_empty() {
            true => "/v1/dead-letters".to_owned(),
            false => format!("/v1/dead-letters?{}", parameters.join("&")),
        };
        let page: DeadLetterPage = client.get(&path)?;
        letters.extend(page.dead_letters);
        after = page.next;
        if after.is_none() || letters.len() >= limit {
            let has_more = after.is_some() || letters.len() > limit;
            letters.truncate(limit);
            return Ok((letters, has_more));
        }
    }
}

fn drop_all(client: &Client, output: Output) -> Result<Outcome> {
    let answer: DroppedDeadLetters = client.delete("/v1/dead-letters")?;
    print::result(
        output,
        &json!({"dead_letters": [], "dropped": answer.dropped}),
        || format!("{} dropped", answer.dropped),
    )?;
    Ok(Outcome::Done)
}

/// Conditions as parameters of an address.
fn parameters(wanted: &LetterConditions) -> Vec<String> {
    let conditions = [
        ("source", &wanted.source),
        ("stage", &wanted.stage),
        ("kind", &wanted.kind),
        ("reason", &wanted.reason),
    ];
    let given = conditions.into_iter();
    given
        .filter_map(|(name, value)| Some(format!("{name}={}", segment(value.as_deref()?))))
        .collect()
}

fn list(client: &Client, wanted: &ListDeadLetters) -> Result<Outcome> {
    let limit = wanted.limit.unwrap_or(usize::MAX);
    let (letters, has_more) = newest(client, limit, &wanted.conditions)?;
    print::result(wanted.output, &json!({"dead_letters": letters}), || {
        let mut lines: Vec<String> = letters.iter().map(describe).collect();
        let more = if has_more { ", and more" } else { "" };
        lines.push(format!(
            "{}{more}",
            print::count(letters.len(), "dead letter")
        ));
        lines.join("\n")
    })?;
    Ok(Outcome::Done)
}

/// Which document, what happened and when; then the id of the letter.
fn describe(letter: &DeadLetter) -> String {
    let place = if letter.source_path.is_empty() {
        format!("document {}", letter.document_id)
    } else {
        format!("{}/{}", letter.source, letter.source_path)
    };
    let title = print::shorten(&letter.title, 60);
    format!(
        "{place}  {title}\n    {} in {} at {}: {}\n    letter {}, document {}",
        letter.kind,
        letter.stage,
        times::to_the_second(letter.at_ms),
        letter.message,
        letter.id,
        letter.document_id
    )
}

fn show(client: &Client, id: &str, output: Output) -> Result<Outcome> {
    let detail: DeadLetterDetail = client.get(&format!("/v1/dead-letters/{}", segment(id)))?;
    print::result(output, &detail, || in_full(&detail))?;
    Ok(Outcome::Done)
}

/// The same with the record that failed: where it is, and how it begins.
fn in_full(detail: &DeadLetterDetail) -> String {
    let letter = &detail.dead_letter;
    let record = format!(
        "    record {} of partition {} of {}, {}, {}",
        letter.offset,
        letter.partition,
        letter.topic,
        HumanBytes(letter.bytes),
        print::count(letter.attempts as usize, "attempt")
    );
    let begins = detail.preview.as_ref();
    let begins = begins.map(|preview| format!("    it begins:\n{preview}"));
    let parts = [describe(letter), record].into_iter().chain(begins);
    parts.collect::<Vec<_>>().join("\n")
}

/// What became of one letter.
#[derive(Serialize)]
struct Acted {
    id: String,
    outcome: &'static str,
    /// What became of its document, where that was waited for.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<State>,
    /// Why the letter, or its document, failed, or the document was skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// The documents of the letters that are meant, by the id of the letter; of those that there are.
fn letters_of(client: &Client, wanted: &DeadLetterIds) -> Result<HashMap<String, String>> {
    let letters = match wanted.ids.is_empty() {
        true => newest(client, usize::MAX, &wanted.conditions)?.0,
        false => {
            let paths = wanted.ids.iter().map(|id| segment(id));
            let details = paths.map(|id| client.get(&format!("/v1/dead-letters/{id}")));
            let details = details.filter_map(|detail: Result<DeadLetterDetail>| detail.ok());
            details.map(|detail| detail.dead_letter).collect()
        }
    };
    let letters = letters.into_iter();
    Ok(letters
        .map(|letter| (letter.id, letter.document_id))
        .collect())
}

/// Does the same with each letter that is meant; one that fails stops no other.
fn act_on(
    client: &Client,
    wanted: &DeadLetterIds,
    done: &'static str,
    act: impl Fn(&str) -> Result<Value>,
) -> Result<Vec<Acted>> {
    let ids = if wanted.ids.is_empty() {
        let (letters, _) = newest(client, usize::MAX, &wanted.conditions)?;
        letters.into_iter().map(|letter| letter.id).collect()
    } else {
        wanted.ids.clone()
    };
    let acted = ids.into_iter().map(|id| {
        let failed = act(&id).err();
        Acted {
            id,
            outcome: if failed.is_some() { "failed" } else { done },
            state: None,
            reason: failed.map(|error| error.to_string()),
        }
    });
    Ok(acted.collect())
}

fn show_acted(acted: &[Acted], done: &str, output: Output) -> Result<Outcome> {
    let is_done = |row: &&Acted| row.outcome == done;
    let is_dead = |row: &&Acted| row.state == Some(State::Dead);
    let failed = acted.iter().filter(|row| !is_done(row) || is_dead(row));
    let failed = failed.count();
    print::result(output, &json!({"dead_letters": acted}), || {
        let line = |row: &Acted| {
            let state = row.state.map_or("", State::as_str);
            let reason = row.reason.as_deref().unwrap_or_default();
            let parts = [row.id.as_str(), state, reason];
            let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
            format!("{:9} {}", row.outcome, parts.join("  "))
        };
        let mut lines: Vec<String> = acted.iter().map(line).collect();
        let again = match acted.iter().filter(is_dead).count() {
            0 => String::new(),
            count => format!(", {count} dead again"),
        };
        lines.push(format!(
            "{} {done}{again}",
            acted.iter().filter(is_done).count()
        ));
        lines.join("\n")
    })?;
    Ok(match failed {
        0 => Outcome::Done,
        failed if failed == acted.len() => Outcome::Failed,
        _ => Outcome::PartlyFailed,
    })
}
