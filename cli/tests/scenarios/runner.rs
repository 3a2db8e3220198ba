//! Runs scenarios against a server and says what does not hold.

use serde_json::{Value, json};

use crate::harness::{Server, Workspace, list, number, text, wait_for};
use crate::scenario::{self, ExpectedDocument, ExpectedLetter, Scenario, Search, Step};
use crate::stores::Stores;

/// Small, so that large documents travel as references everywhere.
const INLINE_LIMIT_BYTES: &str = "20000";

/// All scenarios, one after the other, on one server. What fails does not keep the others from
/// being run.
pub fn run_all(stores: &Stores) {
    let workspace = stores
        .workspace()
        .with("store.inline_limit_bytes", INLINE_LIMIT_BYTES);
    let mut server = Some(workspace.start());
    let scenarios = scenario::all();
    let mut wrong = Vec::new();
    for (name, scenario) in &scenarios {
        wrong.extend(
            run(scenario, &workspace, &mut server)
                .into_iter()
                .map(|what| format!("{name}: {what}")),
        );
    }
    server.unwrap().stop();
    eprintln!(
        "{}: {} scenarios, {} things wrong",
        stores.name,
        scenarios.len(),
        wrong.len()
    );
    assert!(
        wrong.is_empty(),
        "on {}:\n{}",
        stores.name,
        wrong.join("\n")
    );
}

fn run(scenario: &Scenario, workspace: &Workspace, server: &mut Option<Server>) -> Vec<String> {
    let mut wrong = Vec::new();
    for (index, step) in scenario.steps.iter().enumerate() {
        if step.restart {
            server.take().unwrap().stop();
            *server = Some(workspace.start());
        }
        let server = server.as_ref().unwrap();
        let about = if step.about.is_empty() {
            &scenario.about
        } else {
            &step.about
        };
        act(step, workspace, server);
        wrong.extend(
            check(step, server)
                .into_iter()
                .map(|what| format!("step {} ({about}): {what}", index + 1)),
        );
    }
    wrong
}

fn act(step: &Step, workspace: &Workspace, server: &Server) {
    if let Some(sets) = &step.knowledge_sets {
        let file = workspace.write("sets.toml", sets);
        workspace.json([
            "knowledge-sets",
            "apply",
            file.to_str().unwrap(),
            "--format",
            "json",
        ]);
    }
    for event in step.publish.iter().flat_map(scenario::Publication::events) {
        let (status, answer) = server.post("/v1/documents", &event);
        // The door knows already that a version is not newer; a producer that writes to the log
        // finds that out later.
        let is_late = status == 409 && event.get("version").is_some();
        assert!(status == 202 || is_late, "{status}: {answer}");
    }
    for id in &step.delete {
        let (status, answer) = server.try_delete(&format!("/v1/documents/{id}")).unwrap();
        assert_eq!(status, 202, "{answer}");
    }
}

/// Waits until nothing is under way; returns the comparison of what was accepted with what can be
/// found.
pub fn quiet(server: &Server) -> Value {
    wait_for("quiet", || {
        let (status, proof) = server.post("/v1/documents/reconcile", &json!({}));
        (status == 200
            && number(&proof, "/in_flight") == 0
            && number(&proof, "/waiting_records") == 0)
            .then_some(proof)
    })
}

fn check(step: &Step, server: &Server) -> Vec<String> {
    let proof = quiet(server);
    let mut wrong = Vec::new();
    if proof.get("ok") != Some(&Value::Bool(true)) {
        wrong.push(format!("reconcile says {proof}"));
    }
    wrong.extend(
        step.documents
            .iter()
            .flat_map(|(id, expected)| check_document(id, expected, server)),
    );
    wrong.extend(
        step.search
            .iter()
            .filter_map(|search| check_search(search, server)),
    );
    wrong.extend(
        step.dead_letters
            .iter()
            .filter_map(|letter| check_letter(letter, server)),
    );
    wrong
}

/// An answer; on a busy machine Elasticsearch may be too slow for one at times, which is said with
/// 503.
fn answered(ask: impl Fn() -> (u16, Value)) -> (u16, Value) {
    wait_for("an answer", || {
        let (status, answer) = ask();
        (status != 503).then_some((status, answer))
    })
}

fn check_document(id: &str, expected: &ExpectedDocument, server: &Server) -> Vec<String> {
    let (status, found) = answered(|| server.get(&format!("/v1/documents/{id}?passages=true")));
    if status != 200 {
        return vec![format!("{id}: {found}")];
    }
    let mut wrong = Vec::new();
    let (state, reason, version) = (
        text(&found, "/state"),
        found
            .get("reason")
            .and_then(Value::as_str)
            .unwrap_or_default(),
        number(&found, "/version"),
    );
    if state != expected.state {
        wrong.push(format!(
            "{id} is {state} ({reason}), expected {}",
            expected.state
        ));
    }
    if expected.version.is_some_and(|expected| expected != version) {
        wrong.push(format!(
            "{id} has version {version}, expected {:?}",
            expected.version
        ));
    }
    if expected
        .says
        .as_ref()
        .is_some_and(|says| !reason.contains(says))
    {
        wrong.push(format!(
            "{id} is {state} with the reason `{reason}`, which does not say {:?}",
            expected.says
        ));
    }
    let chunks = list(&found, "/passages").len();
    if expected.chunks.is_some_and(|expected| expected != chunks)
        || expected.at_least_chunks.is_some_and(|least| chunks < least)
    {
        wrong.push(format!(
            "{id} has {chunks} chunks, expected {:?}, at least {:?}",
            expected.chunks, expected.at_least_chunks
        ));
    }
    wrong
}

fn check_search(search: &Search, server: &Server) -> Option<String> {
    let body = json!({"query": search.query, "strategy": search.strategy, "filter": search.filter, "top_k": 50});
    let (status, answer) = answered(|| server.post("/v1/search", &body));
    let said = |what: String| Some(format!("{body} {}: {what}", search.about));
    if status != search.status
        || search
            .says
            .as_ref()
            .is_some_and(|says| !answer.to_string().contains(says))
    {
        return said(format!("{status} {answer}"));
    }
    if status != 200 {
        return None;
    }
    let mut found: Vec<&str> = list(&answer, "/hits")
        .iter()
        .map(|hit| text(hit, "/document_id"))
        .collect();
    if search
        .first
        .as_deref()
        .is_some_and(|first| found.first() != Some(&first))
    {
        return said(format!(
            "finds {found:?}, expected {:?} first",
            search.first
        ));
    }
    found.sort_unstable();
    found.dedup();
    let expected = search.hits.as_ref()?;
    let mut sorted: Vec<&str> = expected.iter().map(String::as_str).collect();
    sorted.sort_unstable();
    if found == sorted {
        None
    } else {
        said(format!("finds {found:?}, expected {sorted:?}"))
    }
}

fn check_letter(expected: &ExpectedLetter, server: &Server) -> Option<String> {
    let (_, letters) = server.get("/v1/dead-letters");
    let of_document = list(&letters, "/dead_letters")
        .iter()
        .filter(|letter| text(letter, "/document_id") == expected.document_id);
    let found: Vec<&Value> = of_document.collect();
    let is_right = |letter: &&Value| {
        text(letter, "/kind") == expected.kind && text(letter, "/message").contains(&expected.says)
    };
    if found.iter().any(is_right) {
        None
    } else {
        Some(format!("no dead letter {expected:?} in {found:?}"))
    }
}
