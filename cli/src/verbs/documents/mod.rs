//! `tributary documents list|show|tables|original|repair|reconcile|delete`.

mod list;
mod original;
mod reconcile;
mod repair;
mod show;
mod tables;

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::{Value, json};
use tributary_query_api::http::documents::Accepted;
use tributary_schemas::{DocumentState, Error, ErrorKind};

use crate::args::{Documents, Global, Output, Service};
use crate::client::{Client, require, segment};
use crate::config::Config;
use crate::names;
use crate::print::{self, Outcome};

/// Looks at documents, or deletes them.
pub fn run(global: &Global, config: &Config, verb: Documents) -> Result<Outcome> {
    // A deletion, and a wait for documents on their way, need the pipeline; looking does not.
    let services: &[Service] = match &verb {
        Documents::Delete { .. } | Documents::Reconcile { .. } | Documents::Repair { .. } => {
            &Service::ALL
        }
        Documents::List(_)
        | Documents::Show { .. }
        | Documents::Tables { .. }
        | Documents::Original { .. } => &[Service::Query],
    };
    let client = Client::connect(global, config, services)?;
    let outcome = match verb {
        Documents::List(wanted) => list::run(&client, &wanted),
        Documents::Show { id, output } => show::run(&client, &id, output),
        Documents::Tables { id, file, output } => tables::run(&client, &id, &file, output),
        Documents::Original { id, file, output } => original::run(&client, &id, &file, output),
        Documents::Repair { output, .. } => repair::run(&client, output),
        Documents::Reconcile {
            wait_seconds,
            output,
        } => reconcile::run(&client, wait_seconds, output),
        Documents::Delete {
            ids,
            version,
            wait,
            output,
        } => delete(&client, &ids, version, wait || client.is_local(), output),
    }?;
    client.close()?;
    Ok(outcome)
}

/// Where the server answers a document, called by its id or by `source/path`.
fn path_of(name: &str) -> String {
    format!("/v1/documents/{}", segment(name))
}

fn delete(
    client: &Client,
    names: &[String],
    version: Option<u64>,
    wait: bool,
    output: Output,
) -> Result<Outcome> {
    if version.is_some() && names.len() > 1 {
        let what = "--version is for one document: versions are per document";
        return Err(Error::new(ErrorKind::Invalid, what)
            .with_hint("delete them one after the other, each with its version")
            .into());
    }
    let mut rows = Vec::new();
    for name in names {
        require(name, "a document id")?;
        let row = delete_one(client, name, version, wait)?;
        rows.push(row);
    }
    let refused = rows
        .iter()
        .filter(|row| row.get("state").is_some_and(|state| state == "refused"))
        .count();
    print::result(output, &json!({"documents": rows}), || deleted(&rows))?;
    Ok(Outcome::of(rows.len() - refused, refused))
}

/// What became of one of them, as it is printed.
fn delete_one(client: &Client, name: &str, version: Option<u64>, wait: bool) -> Result<Value> {
    let query = version.map(|version| format!("?version={version}"));
    let path = path_of(name) + query.as_deref().unwrap_or_default();
    Ok(match client.delete::<Accepted>(&path) {
        Ok(accepted) if wait => gone(client, name, &accepted)?,
        Ok(accepted) => json!({
            "name": name,
            "document_id": accepted.document_id,
            "version": accepted.version,
            "state": accepted.state,
        }),
        Err(error) => {
            json!({"name": name, "document_id": name, "state": "refused", "reason": error.to_string()})
        }
    })
}

fn deleted(rows: &[Value]) -> String {
    let text = |row: &Value, name: &str| {
        row.get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let lines = rows.iter().map(|row| {
        let (name, id) = (text(row, "name"), text(row, "document_id"));
        let id = match id == name {
            true => String::new(),
            false => format!("  id {id}"),
        };
        let reason = text(row, "reason");
        let reason = match reason.is_empty() {
            true => reason,
            false => format!("  {reason}"),
        };
        let name = names::quoted(&name);
        format!("{:9} {name}{id}{reason}", text(row, "state"))
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn gone(client: &Client, name: &str, accepted: &Accepted) -> Result<Value> {
    let deadline = Instant::now() + Duration::from_secs(60);
    while Instant::now() < deadline {
        let state: DocumentState = client.get(&path_of(&accepted.document_id))?;
        if state.version > accepted.version || state.state.is_final() {
            return Ok(json!({
                "name": name,
                "document_id": state.document_id,
                "version": state.version,
                "state": state.state,
                "reason": state.reason,
            }));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    bail!(
        "document {} is not deleted after 60 s",
        accepted.document_id
    )
}
