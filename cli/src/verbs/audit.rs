//! `tributary audit list`: who called the server, and what they were given.

use std::io::IsTerminal;

use anyhow::{Context, Result};
use jiff::Timestamp;
use tributary_schemas::audit::{AuditEntry, AuditPage, AuditQuery};

use crate::args::{Audit, Format, Global, ListCalls, Service};
use crate::client::{Client, segment};
use crate::config::Config;
use crate::print::{self, Outcome};
use crate::times;

/// Documents that a line names.
const SHOWN_DOCUMENTS: usize = 3;

/// Runs the verb.
pub fn run(global: &Global, config: &Config, verb: Audit) -> Result<Outcome> {
    let Audit::List(wanted) = verb;
    let query = query(&wanted, Timestamp::now())?;
    if wanted.follow {
        let client = Client::of_running_server(global, config)
            .context("no server runs on the data folder, so there is nothing to follow\nhint: leave --follow out, or name a server with --server")?;
        return follow(&client, &query, &wanted);
    }
    let client = Client::connect(global, config, &[Service::Query])?;
    let page = page(&client, &query)?;
    print::result(wanted.output, &page, || text(&page))?;
    client.close()?;
    Ok(Outcome::Done)
}

fn query(wanted: &ListCalls, now: Timestamp) -> Result<AuditQuery> {
    let moment = |text: &Option<String>| -> Result<Option<i64>> {
        text.as_deref()
            .map(|text| times::moment(text, now))
            .transpose()
    };
    let key = wanted.by.as_deref();
    Ok(AuditQuery {
        key: key.map(|key| key.trim_start_matches("trb_").to_owned()),
        document: wanted.document.clone(),
        route: wanted.route.clone(),
        status: wanted.status,
        code: wanted.code.clone(),
        since_ms: moment(&wanted.since)?,
        until_ms: moment(&wanted.until)?,
        limit: wanted.limit,
        follow: false,
    })
}

fn page(client: &Client, query: &AuditQuery) -> Result<AuditPage> {
    let bar = print::spinner("reading the audit record");
    let page = client.get(&address(query)?)?;
    bar.finish_and_clear();
    Ok(page)
}

/// Those of before, and then those to come, each once.
fn follow(client: &Client, query: &AuditQuery, wanted: &ListCalls) -> Result<Outcome> {
    let to_come = AuditQuery {
        follow: true,
        ..query.clone()
    };
    // Opened first, so that none is missed in between.
    let lines = client.get_lines(&address(&to_come)?)?;
    let before = page(client, query)?;
    for entry in &before.entries {
        show(entry, wanted)?;
    }
    for line in lines {
        let line = line?;
        if line.is_empty() {
            continue;
        }
        let entry: AuditEntry =
            serde_json::from_str(&line).context("the server answered something unexpected")?;
        if !before.entries.contains(&entry) {
            show(&entry, wanted)?;
        }
    }
    print::note("the server stopped, or the key may not read this any more");
    Ok(Outcome::Done)
}

fn show(entry: &AuditEntry, wanted: &ListCalls) -> Result<()> {
    match wanted.output.format {
        Format::Json => print::line(&serde_json::to_string(entry)?),
        Format::Text => print::line(&print::rows(&[row(entry)], std::io::stdout().is_terminal())),
    }
}

/// The path with its parameters.
fn address(query: &AuditQuery) -> Result<String> {
    let parameters = serde_json::to_value(query)?;
    let parameters = parameters.as_object().into_iter().flatten();
    let written: Vec<String> = parameters
        .map(|(name, value)| {
            let text = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            format!("{name}={}", segment(&text))
        })
        .collect();
    Ok(format!("/v1/audit?{}", written.join("&")))
}

fn text(page: &AuditPage) -> String {
    if page.entries.is_empty() {
        return "no calls were recorded that meet these conditions (query_api.server.audit.enabled records them)".to_owned();
    }
    let mut rows = vec![HEAD.map(str::to_owned).to_vec()];
    rows.extend(page.entries.iter().map(row));
    let mut text = print::rows(&rows, std::io::stdout().is_terminal());
    if page.has_older {
        text.push_str("older ones are left out: --limit shows more, --until goes back\n");
    }
    text
}

const HEAD: [&str; 7] = [
    "time",
    "who",
    "from",
    "call",
    "outcome",
    "took",
    "documents",
];

fn row(entry: &AuditEntry) -> Vec<String> {
    let who = match (&entry.name, &entry.key) {
        (Some(name), Some(key)) => format!("{name} ({key})"),
        (None, Some(key)) => key.clone(),
        (_, None) => serde_json::to_value(entry.caller)
            .ok()
            .and_then(|caller| caller.as_str().map(|caller| caller.replace('_', " ")))
            .unwrap_or_default(),
    };
    let outcome = match &entry.code {
        Some(code) => format!("{} {code}", entry.status),
        None => entry.status.to_string(),
    };
    vec![
        times::to_the_second(entry.at_ms),
        who,
        entry.address.clone().unwrap_or_default(),
        format!("{} {}", entry.method, entry.route),
        outcome,
        format!("{} ms", entry.took_ms),
        documents(entry),
    ]
}

fn documents(entry: &AuditEntry) -> String {
    let mut shown: Vec<String> = entry
        .documents
        .iter()
        .take(SHOWN_DOCUMENTS)
        .cloned()
        .collect();
    let hidden = entry.documents.len().saturating_sub(SHOWN_DOCUMENTS) as u64;
    let more = hidden + entry.documents_left_out;
    if more > 0 {
        shown.push(format!("and {more} more"));
    }
    shown.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_become_parameters() {
        let query = AuditQuery {
            document: Some("维基/a&b".to_owned()),
            status: Some(4),
            follow: true,
            ..AuditQuery::default()
        };
        assert_eq!(
            address(&query).ok().as_deref(),
            Some("/v1/audit?document=%E7%BB%B4%E5%9F%BA%2Fa%26b&follow=true&status=4")
        );
    }

    #[test]
    fn a_call_is_one_row() {
        let entry = AuditEntry {
            at_ms: 1_764_000_000_000,
            key: Some("0a1b".to_owned()),
            name: Some("无线团队".to_owned()),
            method: "GET".to_owned(),
            route: "/v1/documents/{id}".to_owned(),
            status: 403,
            code: Some("denied".to_owned()),
            documents: ["a", "b", "c", "d"].map(str::to_owned).to_vec(),
            documents_left_out: 2,
            ..AuditEntry::default()
        };
        let row = row(&entry);
        assert_eq!(row[1], "无线团队 (0a1b)");
        assert_eq!(
            row[3..5],
            ["GET /v1/documents/{id}".to_owned(), "403 denied".to_owned()]
        );
        assert_eq!(row[6], "a, b, c, and 3 more");
    }
}
