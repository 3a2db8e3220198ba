//! A setting changes between two starts: what is there goes on under the settings that it was made
//! with, until a reindex makes the new ones hold for everything at once. Tokens, chunks and vectors
//! of two makes never meet.

use serde_json::json;

use crate::harness::{Workspace, list, number, text};

fn page() -> String {
    let section = |number: usize| {
        format!(
            "## Part {number}\n\n{}\n",
            format!("The quoll counts to {number}, and rests. ").repeat(60)
        )
    };
    format!("# Quolls\n\n{}", (0..8).map(section).collect::<String>())
}

fn passages(workspace: &Workspace) -> usize {
    let listed = workspace.json(["documents", "list", "--format", "json"]);
    let shown = workspace.json([
        "documents",
        "show",
        text(&listed, "/documents/0/document_id"),
        "--format",
        "json",
    ]);
    list(&shown, "/passages").len()
}

fn outdated(workspace: &Workspace) -> serde_json::Value {
    workspace.json(["knowledge-sets", "reindex", "--status", "--format", "json"])["outdated"]
        .clone()
}

#[test]
fn a_changed_chunker_holds_from_the_reindex_on() {
    let workspace = Workspace::new();
    workspace.write("docs/page.md", page());
    workspace.json(["publish", "docs", "--wait", "--format", "json"]);
    let before = passages(&workspace);
    let again = workspace.json(["publish", "docs", "--wait", "--format", "json"]);
    assert_eq!(number(&again, "/skipped"), 1);

    let changed = workspace
        .with("enrich.chunker.leaf_minimum_tokens", "64")
        .with("enrich.chunker.leaf_maximum_tokens", "128");
    assert_eq!(outdated(&changed), json!(["chunker"]));
    let report = changed.json(["publish", "docs", "--wait", "--format", "json"]);
    assert_eq!(
        number(&report, "/skipped"),
        1,
        "the serving generation is as it was: {report}"
    );
    assert_eq!(passages(&changed), before);
    changed.json(["knowledge-sets", "reindex", "--all", "--format", "json"]);
    assert!(
        passages(&changed) > before,
        "{} chunks, {before} before",
        passages(&changed)
    );
    assert_eq!(outdated(&changed), json!([]));
    let proof = changed.json(["documents", "reconcile", "--format", "json"]);
    assert!(
        list(&proof, "/orphan_chunks").is_empty() && list(&proof, "/duplicate_chunks").is_empty(),
        "{proof}"
    );
}

#[test]
fn tokens_and_vectors_of_two_makes_never_meet_in_one_index() {
    let workspace = Workspace::new();
    workspace.write("docs/page.md", "the pottos grip");
    workspace.json(["publish", "docs", "--wait", "--format", "json"]);
    assert_eq!(workspace.found("potto").len(), 1);
    let changed = workspace
        .with("taxonomy.analyzer.english_stems", "false")
        .with("models.hashing_dimensions", "256");
    assert_eq!(outdated(&changed), json!(["analyzer", "models"]));
    assert_eq!(
        changed.found("potto").len(),
        1,
        "questions are cut and embedded as the documents were"
    );
    changed.write("docs/new.md", "the galagos grip");
    changed.json(["publish", "docs", "--wait", "--format", "json"]);
    assert_eq!(changed.found("galago").len(), 1, "and so are new documents");
    changed.json(["knowledge-sets", "reindex", "--all", "--format", "json"]);
    let plan = changed.json(["search", "pottos", "--explain", "--format", "json"]);
    assert_eq!(
        plan["plan"]["tokens"],
        json!(["pottos"]),
        "no stems any more"
    );
    assert_eq!(changed.found("pottos").len(), 1);
}
