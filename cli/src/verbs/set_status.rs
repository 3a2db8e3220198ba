//! `tributary knowledge-sets status`: how each knowledge set is, and what is in none.

use anyhow::Result;
use tributary_schemas::set_status::{SetCost, SetDocuments, SetStatus, SetStatusList};

use crate::args::{Global, Output, Service};
use crate::client::{Client, segment};
use crate::config::Config;
use crate::names;
use crate::print::{self, Outcome};

/// One set, or all.
pub fn run(global: &Global, config: &Config, id: Option<&str>, output: Output) -> Result<Outcome> {
    let client = Client::connect(global, config, &[Service::Query])?;
    match id {
        Some(id) => {
            let status: SetStatus =
                client.get(&format!("/v1/knowledge-sets/{}/status", segment(id)))?;
            client.close()?;
            print::result(output, &status, || of_set(&status))?;
        }
        None => {
            let list: SetStatusList = client.get("/v1/knowledge-sets/status")?;
            client.close()?;
            print::result(output, &list, || of_all(&list))?;
        }
    }
    Ok(Outcome::Done)
}

fn of_all(list: &SetStatusList) -> String {
    let sets = list.sets.iter().map(of_set);
    let unplaced = list.unplaced.iter().map(|source| {
        let head = format!(
            "in no set, or not known in which, of source {}",
            source.source
        );
        described(&head, &source.documents)
    });
    let lines: Vec<String> = sets.chain(unplaced).collect();
    match lines.as_slice() {
        [] => "there are no knowledge sets and no documents".to_owned(),
        lines => lines.join("\n"),
    }
}

fn of_set(set: &SetStatus) -> String {
    let owner = match set.owner.as_str() {
        "" => String::new(),
        owner => format!(", owner {owner}"),
    };
    let reasons: Vec<&str> = set.alarms.iter().map(|alarm| alarm.as_str()).collect();
    let alarms = match reasons.is_empty() {
        true => String::new(),
        false => format!(" ({})", reasons.join(", ")),
    };
    let head = format!("{}: {}{alarms}{owner}", set.id, set.state.as_str());
    let documents = described(&head, &set.documents);
    match of_cost(&set.cost) {
        Some(cost) => format!("{documents}\n  {cost}"),
        None => documents,
    }
}

/// What models wrote for it; nothing where none was called.
fn of_cost(cost: &SetCost) -> Option<String> {
    let SetCost {
        calls,
        tokens_in,
        tokens_out,
        ..
    } = cost;
    (*calls > 0).then(|| {
        format!(
            "language models: {calls} calls, {tokens_in} tokens in, {tokens_out} out, since the server started"
        )
    })
}

fn described(head: &str, documents: &SetDocuments) -> String {
    let SetDocuments {
        all,
        searchable,
        degraded,
        failed,
        waiting,
        ..
    } = documents;
    let oldest = documents.oldest_waiting_seconds;
    let oldest = oldest.map_or_else(String::new, |seconds| {
        format!(", the oldest for {seconds:.0} s")
    });
    let mut lines = vec![
        head.to_owned(),
        format!(
            "  {all} documents: {searchable} searchable ({degraded} degraded), {waiting} on their way{oldest}, {failed} failed"
        ),
    ];
    lines.extend(documents.failures.iter().map(|failure| {
        let (source, path) = (&failure.source, &failure.source_path);
        let name = names::of(source, path, &failure.document_id);
        format!("  failed: {name}: {}", failure.reason)
    }));
    let more = failed.saturating_sub(documents.failures.len() as u64);
    if more > 0 {
        lines.push(format!(
            "  and {more} more that failed: `tributary documents list --state dead`"
        ));
    }
    lines.join("\n")
}
