//! `tributary documents list|show|reconcile|delete`.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tributary_query_api::http::documents::{Accepted, DocumentPage};
use tributary_schemas::{DocumentState, Reconciliation};

use crate::args::{Documents, Global, Output, Service};
use crate::client::{Client, require, segment};
use crate::config::Config;
use crate::print::{self, Outcome};

const PAGE: usize = 500;

/// Looks at documents, or deletes them.
pub fn run(global: &Global, config: &Config, verb: Documents) -> Result<Outcome> {
    // A deletion, and a wait for documents on their way, need the pipeline; looking does not.
    let services: &[Service] = match &verb {
        Documents::Delete { .. } | Documents::Reconcile { .. } => &Service::ALL,
        Documents::List { .. } | Documents::Show { .. } => &[Service::Query],
    };
    let client = Client::connect(global, config, services)?;
    let outcome = match verb {
        Documents::List {
            state,
            source,
            after,
            limit,
            output,
        } => list(&client, state, source, after, limit, output),
        Documents::Show { id, output } => show(&client, &id, output),
        Documents::Reconcile {
            wait_seconds,
            output,
        } => reconcile(&client, wait_seconds, output),
        Documents::Delete { ids, wait, output } => {
            delete(&client, &ids, wait || client.is_local(), output)
        }
    }?;
    client.close()?;
    Ok(outcome)
}

#[derive(Serialize, Deserialize)]
struct Row {
    document_id: String,
    version: u64,
    state: String,
    reason: Option<String>,
    source: String,
    source_path: String,
    title: String,
    chunks: u32,
}

impl From<DocumentState> for Row {
    fn from(state: DocumentState) -> Self {
        Self {
            document_id: state.document_id,
            version: state.version,
            state: state.state.as_str().to_owned(),
            reason: state.reason,
            source: state.source,
            source_path: state.source_path,
            title: state.title,
            chunks: state.chunks,
        }
    }
}

fn list(
    client: &Client,
    state: Option<String>,
    source: Option<String>,
    mut after: Option<String>,
    limit: Option<usize>,
    output: Output,
) -> Result<Outcome> {
    let mut rows: Vec<Row> = Vec::new();
    loop {
        let wanted = limit.map_or(PAGE, |limit| limit.saturating_sub(rows.len()).min(PAGE));
        if wanted == 0 {
            break;
        }
        let mut path = format!("/v1/documents?limit={wanted}");
        for (name, value) in [("state", &state), ("source", &source), ("after", &after)] {
            if let Some(value) = value {
                path.push_str(&format!("&{name}={}", segment(value)));
            }
        }
        let page: DocumentPage = client.get(&path)?;
        rows.extend(page.documents.into_iter().map(Row::from));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    print::result(output, &json!({"documents": rows, "next": after}), || {
        table(&rows)
    })?;
    Ok(Outcome::Done)
}

fn table(rows: &[Row]) -> String {
    let mut lines: Vec<String> = rows
        .iter()
        .map(|row| {
            let place = if row.source_path.is_empty() {
                row.document_id.clone()
            } else {
                format!("{}/{}", row.source, row.source_path)
            };
            let reason = row
                .reason
                .as_deref()
                .map(|reason| format!("  ({})", print::shorten(reason, 80)))
                .unwrap_or_default();
            format!(
                "{:9} {:>5} chunks  {}  {}{reason}",
                row.state,
                row.chunks,
                print::shorten(&place, 60),
                print::shorten(&row.title, 40)
            )
        })
        .collect();
    lines.push(format!("{} documents", rows.len()));
    lines.join("\n")
}

fn show(client: &Client, id: &str, output: Output) -> Result<Outcome> {
    require(id, "the document id")?;
    let detail: Value = client.get(&format!("/v1/documents/{}?passages=true", segment(id)))?;
    print::result(output, &detail, || {
        serde_json::to_string_pretty(&detail).unwrap_or_default()
    })?;
    Ok(Outcome::Done)
}

/// Waits for documents on their way first: they are no loss.
fn reconcile(client: &Client, wait_seconds: u64, output: Output) -> Result<Outcome> {
    let deadline = Instant::now() + Duration::from_secs(wait_seconds);
    let found = loop {
        let found: Reconciliation = client.post("/v1/documents/reconcile", &json!({}))?;
        let moving = found.in_flight > 0 || found.waiting_records > 0;
        if !moving || Instant::now() >= deadline {
            break found;
        }
        std::thread::sleep(Duration::from_millis(300));
    };
    print::result(output, &found, || describe(&found))?;
    Ok(if found.ok {
        Outcome::Done
    } else {
        Outcome::Failed
    })
}

fn describe(found: &Reconciliation) -> String {
    let counts = [
        ("accepted", found.accepted),
        ("indexed", found.indexed),
        ("skipped", found.skipped),
        ("deleted", found.deleted),
        ("dead", found.dead),
        ("in flight", found.in_flight),
    ];
    let mut lines: Vec<String> = counts
        .iter()
        .map(|(name, count)| format!("{name:10} {count:>8}"))
        .collect();
    lines.extend(
        found
            .missing
            .iter()
            .map(|id| format!("missing document {id}")),
    );
    lines.extend(
        found
            .orphan_chunks
            .iter()
            .map(|id| format!("orphan chunk {id}")),
    );
    lines.extend(
        found
            .duplicate_chunks
            .iter()
            .map(|id| format!("duplicate chunk {id}")),
    );
    lines.push(if found.ok {
        "ok: nothing is lost, left over or duplicated".to_owned()
    } else {
        "NOT ok".to_owned()
    });
    lines.join("\n")
}

fn delete(client: &Client, ids: &[String], wait: bool, output: Output) -> Result<Outcome> {
    let mut rows = Vec::new();
    for id in ids {
        require(id, "a document id")?;
        let row = match client.delete::<Accepted>(&format!("/v1/documents/{}", segment(id))) {
            Ok(accepted) if wait => gone(client, &accepted)?,
            Ok(accepted) => {
                json!({"document_id": id, "version": accepted.version, "state": accepted.state})
            }
            Err(error) => {
                json!({"document_id": id, "state": "refused", "reason": error.to_string()})
            }
        };
        rows.push(row);
    }
    let refused = rows
        .iter()
        .filter(|row| row.get("state").is_some_and(|state| state == "refused"))
        .count();
    print::result(output, &json!({"documents": rows}), || {
        let text = |row: &Value, name: &str| {
            row.get(name)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let lines = rows.iter().map(|row| {
            format!(
                "{:9} {} {}",
                text(row, "state"),
                text(row, "document_id"),
                text(row, "reason")
            )
        });
        lines.collect::<Vec<_>>().join("\n")
    })?;
    Ok(match refused {
        0 => Outcome::Done,
        refused if refused == rows.len() => Outcome::Failed,
        _ => Outcome::PartlyFailed,
    })
}

fn gone(client: &Client, accepted: &Accepted) -> Result<Value> {
    let deadline = Instant::now() + Duration::from_secs(60);
    while Instant::now() < deadline {
        let state: DocumentState =
            client.get(&format!("/v1/documents/{}", segment(&accepted.document_id)))?;
        if state.version > accepted.version || state.state.is_final() {
            return Ok(
                json!({"document_id": state.document_id, "version": state.version, "state": state.state, "reason": state.reason}),
            );
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    bail!(
        "document {} is not deleted after 60 s",
        accepted.document_id
    )
}
