//! `tributary dead-letters replay`: sends records again and, asked to, waits for what becomes of
//! their documents.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::Result;
use serde::Deserialize;
use serde_json::{Value, json};
use tributary_schemas::{DocumentState, State};

use super::{Acted, act_on, letters_of, show_acted};
use crate::args::ReplayDeadLetters;
use crate::client::{Client, segment};
use crate::print::{self, Outcome};
use crate::verbs::quiescence::Quiescence;

const POLL: Duration = Duration::from_millis(200);
/// Documents that are asked for at a time.
const IDS: usize = 500;

#[derive(Deserialize)]
struct States {
    documents: Vec<Option<DocumentState>>,
}

/// Sends the records again. Waits where it is told to, and where no server goes on after it.
pub fn run(client: &Client, wanted: &ReplayDeadLetters) -> Result<Outcome> {
    let waits = wanted.wait || client.is_local();
    let documents = match waits {
        true => letters_of(client, &wanted.which)?,
        false => HashMap::new(),
    };
    let before = states(client, documents.values())?;
    let mut acted = act_on(client, &wanted.which, "replayed", |id| {
        client.post::<Value>(
            &format!("/v1/dead-letters/{}/replay", segment(id)),
            &json!({}),
        )
    })?;
    let ids = acted.iter().filter(|row| row.outcome == "replayed");
    let mut open: HashMap<String, i64> = ids
        .filter_map(|row| documents.get(&row.id))
        .filter_map(|id| Some((id.clone(), before.get(id)?)))
        // Others have come further since: this letter is of an older version, or of an index that
        // does not serve.
        .filter(|(_, state)| state.state == State::Dead)
        .map(|(id, state)| (id, state.at_ms))
        .collect();
    let ended = wait(client, &mut open, Duration::from_secs(wanted.timeout))?;
    for row in &mut acted {
        let document = documents.get(&row.id).and_then(|id| ended.get(id));
        match document {
            Some(document) if row.reason.is_none() => {
                row.state = Some(document.state);
                row.reason.clone_from(&document.reason);
            }
            Some(_) => {}
            None => tell_passed(row, documents.get(&row.id).and_then(|id| before.get(id))),
        }
    }
    if !waits {
        print::note(
            "what fails again is a new dead letter, with an id of its own: `tributary dead-letters list`; --wait waits for it",
        );
    }
    show_acted(&acted, "replayed", wanted.which.output)
}

/// Says of a letter that was behind its document what that was already: nothing more comes of it.
fn tell_passed(row: &mut Acted, document: Option<&DocumentState>) {
    let passed = document.filter(|document| document.state != State::Dead);
    if let (Some(document), "replayed") = (passed, row.outcome) {
        row.state = Some(document.state);
        row.reason = Some("as it was before: the letter is of an older version, or of an index that does not serve".to_owned());
    }
}

/// Until each document has come to another end than that at which its letter left it.
fn wait(
    client: &Client,
    open: &mut HashMap<String, i64>,
    patience: Duration,
) -> Result<HashMap<String, DocumentState>> {
    let mut ended = HashMap::new();
    let mut quiescence = Quiescence::new(patience);
    let spinner = (!open.is_empty()).then(|| print::spinner("waiting for the documents"));
    while !open.is_empty() {
        let now = states(client, open.keys())?;
        for (id, state) in &now {
            let is_old = open.get(id) == Some(&state.at_ms);
            if state.state.is_final() && !is_old {
                open.remove(id);
                ended.insert(id.clone(), state.clone());
            }
        }
        let left = now
            .values()
            .filter(|state| open.contains_key(&state.document_id));
        let left: Vec<&str> = left.map(|state| state.state.as_str()).collect();
        quiescence.look(client, &left, Vec::new())?;
        if !open.is_empty() {
            std::thread::sleep(POLL);
        }
    }
    if let Some(spinner) = spinner {
        spinner.finish_and_clear();
    }
    Ok(ended)
}

/// States of documents, by id; without those that nobody knows.
fn states<'a>(
    client: &Client,
    ids: impl Iterator<Item = &'a String>,
) -> Result<HashMap<String, DocumentState>> {
    let ids: Vec<&String> = ids.collect();
    let mut known = HashMap::new();
    for ids in ids.chunks(IDS) {
        let states: States = client.post("/v1/documents/states", &json!({"document_ids": ids}))?;
        let states = states.documents.into_iter().flatten();
        known.extend(states.map(|state| (state.document_id.clone(), state)));
    }
    Ok(known)
}
