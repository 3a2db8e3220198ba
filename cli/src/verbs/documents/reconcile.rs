//! `tributary documents reconcile`.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::json;
use tributary_schemas::Reconciliation;

use crate::args::Output;
use crate::client::Client;
use crate::print::{self, Outcome};

/// Waits for documents on their way first: they are no loss.
pub fn run(client: &Client, wait_seconds: u64, output: Output) -> Result<Outcome> {
    let deadline = Instant::now() + Duration::from_secs(wait_seconds);
    let spinner = print::spinner("comparing reports and index");
    let mut is_told = std::io::stderr().is_terminal();
    let found = loop {
        let found: Reconciliation = client.post("/v1/documents/reconcile", &json!({}))?;
        if !is_moving(&found) || Instant::now() >= deadline {
            break found;
        }
        let waiting = waiting_for(&found);
        if !std::mem::replace(&mut is_told, true) {
            print::note(&format!("{waiting}, for {wait_seconds} s at most"));
        }
        spinner.set_message(waiting);
        std::thread::sleep(Duration::from_millis(300));
    };
    spinner.finish_and_clear();
    print::result(output, &found, || text(&found))?;
    Ok(if found.ok {
        Outcome::Done
    } else {
        Outcome::Failed
    })
}

fn is_moving(found: &Reconciliation) -> bool {
    found.in_flight > 0 || found.waiting_records > 0
}

fn waiting_for(found: &Reconciliation) -> String {
    let documents = print::count(found.in_flight as usize, "document");
    let records = print::count(found.waiting_records as usize, "record");
    format!("waiting for {documents} on the way, {records} in the log")
}

fn text(found: &Reconciliation) -> String {
    let mut lines = counts(found);
    let documents = found.missing.iter();
    lines.extend(documents.map(|id| format!("missing document {id}")));
    let orphans = found.orphan_chunks.iter();
    lines.extend(orphans.map(|id| format!("orphan chunk {id}")));
    let duplicates = found.duplicate_chunks.iter();
    lines.extend(duplicates.map(|id| format!("duplicate chunk {id}")));
    lines.push(verdict(found));
    lines.join("\n")
}

fn counts(found: &Reconciliation) -> Vec<String> {
    let counts = [
        ("accepted", found.accepted),
        ("searchable", found.searchable),
        ("last attempt:", 0),
        ("  indexed", found.indexed),
        ("  skipped", found.skipped),
        ("  deleted", found.deleted),
        ("  dead", found.dead),
        ("  in flight", found.in_flight),
    ];
    counts
        .iter()
        .map(|(name, count)| match name.ends_with(':') {
            true => (*name).to_owned(),
            false => format!("{name:11} {count:>8}"),
        })
        .collect()
}

/// What all that means, and what to do.
fn verdict(found: &Reconciliation) -> String {
    if found.ok {
        return "ok: nothing is lost, left over or duplicated".to_owned();
    }
    let wrong: Vec<String> = [
        (found.missing.len(), "documents missing"),
        (found.orphan_chunks.len(), "chunks left over"),
        (found.duplicate_chunks.len(), "chunks duplicated"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, what)| format!("{count} {what}"))
    .collect();
    let waiting = format!(
        "{} in flight, {} records waiting: wait, and ask again (`tributary documents list` says what each is at, and `--wait-seconds N` here waits longer){}",
        found.in_flight,
        found.waiting_records,
        if_it_stays(found)
    );
    match (wrong.is_empty(), is_moving(found)) {
        (true, _) => format!("not yet: {waiting}"),
        (false, true) => format!("NOT ok: {}; {waiting}", wrong.join(", ")),
        (false, false) => format!(
            "NOT ok: {} (`tributary doctor --verify` looks for damage; publishing a document again brings it back)",
            wrong.join(", ")
        ),
    }
}

/// Nothing comes of documents on their way of which no record waits any more.
fn if_it_stays(found: &Reconciliation) -> &'static str {
    match found.in_flight > 0 && found.waiting_records == 0 {
        true => {
            "; if it stays so, their records were passed over or removed from the log: `tributary knowledge-sets reindex --all` sends again what the log has, publishing brings back the rest"
        }
        false => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_on_their_way_are_no_failure_and_losses_are() {
        let moving = Reconciliation {
            accepted: 100,
            in_flight: 86,
            ..Reconciliation::default()
        };
        assert!(verdict(&moving).starts_with("not yet: 86 in flight, 0 records waiting: wait"));
        assert!(verdict(&moving).contains("if it stays so"));
        let waiting = Reconciliation {
            waiting_records: 3,
            ..moving.clone()
        };
        assert!(!verdict(&waiting).contains("if it stays so"));
        let lost = Reconciliation {
            missing: vec!["d".into()],
            ..moving.clone()
        };
        assert!(verdict(&lost).starts_with("NOT ok: 1 documents missing; 86 in flight"));
        let good = Reconciliation {
            ok: true,
            ..Reconciliation::default()
        };
        assert!(verdict(&good).starts_with("ok: "));
    }
}
