//! Families of nearly equal documents through the whole binary: exact duplicates are stored once,
//! near ones are one hit.

use serde_json::{Value, json};

use super::harness::{Server, Workspace, list, number, text, wait_for};

/// A page of so many sentences; `changed` of them say something else.
fn page(word: &str, changed: usize) -> String {
    let sentence = |place: usize| {
        let value = if place < changed { place + 1000 } else { place };
        format!(
            "The {word} of carrier {place} is set to {value} in the cell of sector {place} by the operator."
        )
    };
    format!(
        "# Settings\n\n{}\n",
        (0..40).map(sentence).collect::<Vec<_>>().join(" ")
    )
}

fn publish(server: &Server, source: &str, path: &str, content: &str, attributes: Value) -> String {
    let event = json!({"source": source, "source_path": path, "title": "Settings", "content": content,
        "media_type": "text/markdown", "attributes": attributes});
    let accepted = server.publish(&event);
    assert_eq!(text(&server.settled(&accepted), "/state"), "indexed");
    accepted.0
}

fn search(server: &Server, request: Value) -> Value {
    let (status, answer) = server.post("/v1/search", &request);
    assert_eq!(status, 200, "{answer}");
    answer
}

fn documents(answer: &Value) -> Vec<String> {
    let mut ids: Vec<String> = list(answer, "/hits")
        .iter()
        .map(|hit| text(hit, "/document_id").to_owned())
        .collect();
    ids.dedup();
    ids
}

fn family(answer: &Value) -> Vec<String> {
    let members = answer
        .pointer("/hits/0/family")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    members
        .iter()
        .map(|member| text(member, "/document_id").to_owned())
        .collect()
}

#[track_caller]
fn reconciled(server: &Server) {
    let found = wait_for("everything to be committed", || {
        let (_, found) = server.post("/v1/documents/reconcile", &json!({}));
        (number(&found, "/in_flight") == 0 && number(&found, "/waiting_records") == 0)
            .then_some(found)
    });
    assert_eq!(found.get("ok"), Some(&json!(true)), "{found}");
}

fn show(server: &Server, id: &str) -> Value {
    server.get(&format!("/v1/documents/{id}?passages=true")).1
}

#[test]
fn exact_duplicates_are_stored_once_and_found_by_either() {
    let workspace = Workspace::new();
    let server = workspace.start();
    let same = page("zebrawood", 0);
    let wiki = publish(
        &server,
        "wiki",
        "settings.md",
        &same,
        json!({"link": "https://wiki/settings"}),
    );
    let portal = publish(&server, "portal", "a/settings.md", &same, json!({}));

    // The other's report comes first.
    let shown = wait_for("the report of what is stored once", || {
        let shown = show(&server, &wiki);
        shown.get("reason").is_some().then_some(shown)
    });
    assert_eq!(
        (number(&shown, "/chunks"), text(&shown, "/duplicate_of")),
        (0, portal.as_str()),
        "{shown}"
    );
    assert_eq!(
        text(&shown, "/reason"),
        format!("stored once: same content as {portal}")
    );
    assert!(
        text(&shown, "/passages/0/text").contains("zebrawood"),
        "its content is the other's"
    );
    assert_eq!(
        (
            text(&shown, "/family/0/document_id"),
            shown.pointer("/family/0/similarity")
        ),
        (portal.as_str(), Some(&json!(1.0)))
    );
    reconciled(&server);

    let query = "zebrawood of carrier";
    let answer = search(&server, json!({"query": query}));
    assert_eq!(
        (documents(&answer), family(&answer)),
        (vec![portal.clone()], vec![wiki.clone()]),
        "{answer}"
    );
    let by_source = search(
        &server,
        json!({"query": query, "filter": {"sources": ["wiki"]}}),
    );
    assert_eq!(
        (documents(&by_source), family(&by_source)),
        (vec![wiki.clone()], vec![]),
        "{by_source}"
    );
    assert_eq!(text(&by_source, "/hits/0/url"), "https://wiki/settings");
    let unfolded = search(&server, json!({"query": query, "unfold": true}));
    assert!(
        documents(&unfolded).contains(&wiki) && documents(&unfolded).contains(&portal),
        "{unfolded}"
    );
    for (name, named) in [
        ("wiki/settings.md", &wiki),
        ("portal/a/settings.md", &portal),
    ] {
        let answer = search(&server, json!({"query": name}));
        let mut shown = documents(&answer);
        shown.extend(family(&answer));
        let is_first = answer.pointer("/hits/0/scores/exact_name").is_some();
        assert!(is_first && shown.contains(named), "{name}: {answer}");
    }

    // A document with another security level is never a duplicate, however equal it reads.
    let secret = publish(
        &server,
        "wiki",
        "secret.md",
        &same,
        json!({"security_level": 3}),
    );
    assert_eq!(show(&server, &secret).get("duplicate_of"), None);

    let (_, accepted) = server
        .try_delete(&format!("/v1/documents/{portal}"))
        .unwrap();
    server.settled(&(portal.clone(), number(&accepted, "/version")));
    let answer = search(
        &server,
        json!({"query": query, "filter": {"sources": ["wiki", "portal"]}, "unfold": true}),
    );
    let mut left = documents(&answer);
    left.sort_unstable();
    left.dedup();
    let mut expected = vec![wiki.clone(), secret];
    expected.sort_unstable();
    assert_eq!(left, expected, "the other was promoted: {answer}");
    let shown = show(&server, &wiki);
    assert!(
        number(&shown, "/chunks") > 0
            && shown.get("duplicate_of").is_none()
            && shown.get("reason").is_none(),
        "{shown}"
    );
    reconciled(&server);
    server.stop();
}

#[test]
fn a_changed_duplicate_goes_its_own_way_also_after_a_restart() {
    let workspace = Workspace::new();
    let mut server = workspace.start();
    let same = page("ironbark", 0);
    let first = publish(&server, "wiki", "one.md", &same, json!({}));
    let second = publish(&server, "portal", "two.md", &same, json!({}));
    server.kill();
    let server = workspace.start();
    publish(&server, "portal", "two.md", &page("nightjar", 0), json!({}));
    let (one, two) = (show(&server, &first), show(&server, &second));
    assert!(
        number(&one, "/chunks") > 0 && number(&two, "/chunks") > 0,
        "{one} {two}"
    );
    assert!(
        one.get("duplicate_of").is_none() && two.get("duplicate_of").is_none(),
        "{one} {two}"
    );
    assert_eq!(
        documents(&search(
            &server,
            json!({"query": "ironbark", "strategy": "full_text"})
        )),
        [first]
    );
    assert_eq!(
        documents(&search(
            &server,
            json!({"query": "nightjar", "strategy": "full_text"})
        )),
        [second]
    );
    reconciled(&server);
    server.stop();
}

#[test]
fn near_duplicates_are_one_hit_that_can_be_unfolded() {
    let workspace = Workspace::new();
    let server = workspace.start();
    let old = publish(&server, "wiki", "v1.md", &page("ironbark", 0), json!({}));
    let new = publish(&server, "wiki", "v2.md", &page("ironbark", 3), json!({}));
    let other = publish(
        &server,
        "wiki",
        "other.md",
        "# Other\n\nThe ironbark mast carries the antenna.",
        json!({}),
    );

    let request = json!({"query": "ironbark of carrier 20", "strategy": "full_text"});
    let answer = search(&server, request.clone());
    assert!(
        documents(&answer).contains(&new) && documents(&answer).contains(&other),
        "{answer}"
    );
    assert!(!documents(&answer).contains(&old), "{answer}");
    assert_eq!(family(&answer), [old.as_str()], "{answer}");
    let similarity = answer
        .pointer("/hits/0/family/0/similarity")
        .and_then(Value::as_f64)
        .unwrap();
    assert!((0.5..1.0).contains(&similarity), "{similarity}");
    assert!(
        list(&answer, "/hits")
            .iter()
            .skip(1)
            .all(|hit| hit.get("family").is_none()),
        "the first hit of a document names them"
    );

    let shown = show(&server, &new);
    assert_eq!(
        list(&shown, "/family")
            .iter()
            .map(|member| text(member, "/document_id"))
            .collect::<Vec<_>>(),
        [old.as_str()]
    );
    let unfolded = workspace
        .run([
            "--server",
            &server.url,
            "search",
            "ironbark of carrier 20",
            "--unfold",
            "--format",
            "json",
        ])
        .json();
    assert!(
        documents(&unfolded).contains(&old) && documents(&unfolded).contains(&new),
        "{unfolded}"
    );
    let folded = workspace.run(["--server", &server.url, "search", "ironbark of carrier 20"]);
    assert!(folded.stdout.contains("(+1 near-duplicate)"), "{folded:?}");
    server.stop();
}
