//! `tributary dead-letters list|show|replay|drop`.

use anyhow::Result;
use indicatif::HumanBytes;
use serde_json::{Value, json};
use tributary_query_api::http::dead_letters::{
    DeadLetterDetail, DeadLetterPage, DroppedDeadLetters,
};
use tributary_schemas::DeadLetter;

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
        DeadLetters::Replay(ids) => {
            let outcome = each(&client, &ids, "replayed", |id| {
                client.post::<Value>(
                    &format!("/v1/dead-letters/{}/replay", segment(id)),
                    &json!({}),
                )
            })?;
            print::note(
                "what fails again is a new dead letter, with an id of its own: `tributary dead-letters list`",
            );
            Ok(outcome)
        }
        DeadLetters::Drop(wanted)
            if wanted.ids.is_empty() && parameters(&wanted.conditions).is_empty() =>
        {
            drop_all(&client, wanted.output)
        }
        DeadLetters::Drop(ids) => each(&client, &ids, "dropped", |id| {
            client.delete::<Value>(&format!("/v1/dead-letters/{}", segment(id)))
        }),
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

fn each(
    client: &Client,
    wanted: &DeadLetterIds,
    done: &str,
    act: impl Fn(&str) -> Result<Value>,
) -> Result<Outcome> {
    let ids = if wanted.ids.is_empty() {
        let (letters, _) = newest(client, usize::MAX, &wanted.conditions)?;
        letters.into_iter().map(|letter| letter.id).collect()
    } else {
        wanted.ids.clone()
    };
    let mut rows = Vec::new();
    let mut failed = 0;
    for id in &ids {
        match act(id) {
            Ok(_) => rows.push(json!({"id": id, "outcome": done})),
            Err(error) => {
                failed += 1;
                rows.push(json!({"id": id, "outcome": "failed", "reason": error.to_string()}));
            }
        }
    }
    print::result(wanted.output, &json!({"dead_letters": rows}), || {
        let text = |row: &Value, name: &str| {
            row.get(name)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let mut lines: Vec<String> = rows
            .iter()
            .map(|row| {
                format!(
                    "{:9} {} {}",
                    text(row, "outcome"),
                    text(row, "id"),
                    text(row, "reason")
                )
            })
            .collect();
        lines.push(format!("{} {done}", ids.len() - failed));
        lines.join("\n")
    })?;
    Ok(match failed {
        0 => Outcome::Done,
        failed if failed == ids.len() => Outcome::Failed,
        _ => Outcome::PartlyFailed,
    })
}
