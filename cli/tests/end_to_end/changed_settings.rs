//! A setting changes between two starts: nothing that was made under the old one passes for new, and what cannot be mixed is refused.

use crate::harness::{Workspace, list, number, text};

fn page() -> String {
    let section = |number: usize| format!("## Part {number}\n\n{}\n", format!("The quoll counts to {number}, and rests. ").repeat(60));
    format!("# Quolls\n\n{}", (0..8).map(section).collect::<String>())
}

fn passages(workspace: &Workspace) -> usize {
    let listed = workspace.json(["documents", "list", "--format", "json"]);
    let shown = workspace.json(["documents", "show", text(&listed, "/documents/0/document_id"), "--format", "json"]);
    list(&shown, "/passages").len()
}

#[test]
fn old_chunks_are_not_kept_when_the_chunker_changes() {
    let workspace = Workspace::new();
    workspace.write("docs/page.md", page());
    workspace.json(["publish", "docs", "--wait", "--format", "json"]);
    let before = passages(&workspace);
    let again = workspace.json(["publish", "docs", "--wait", "--format", "json"]);
    assert_eq!(number(&again, "/skipped"), 1);

    let changed = workspace.with("enrich.chunker.leaf_minimum_tokens", "64").with("enrich.chunker.leaf_maximum_tokens", "128");
    let report = changed.json(["publish", "docs", "--wait", "--format", "json"]);
    assert_eq!((number(&report, "/indexed"), number(&report, "/skipped")), (1, 0), "{report}");
    assert!(passages(&changed) > before, "{} chunks, {before} before", passages(&changed));
    let proof = changed.json(["documents", "reconcile", "--format", "json"]);
    assert!(list(&proof, "/orphan_chunks").is_empty() && list(&proof, "/duplicate_chunks").is_empty(), "{proof}");
}

#[test]
fn tokens_and_vectors_of_two_makes_never_meet_in_one_index() {
    let workspace = Workspace::new();
    workspace.write("docs/page.md", "the potto grips");
    workspace.json(["publish", "docs", "--wait", "--format", "json"]);
    let stems = workspace.with("taxonomy.analyzer.english_stems", "false");
    stems.run(["search", "potto"]).refused(1, &["built with other settings", "analyzer", "hint:"]);
    stems.run(["run", "--listen", "127.0.0.1:0"]).refused(1, &["built with other settings"]);
    let model = stems.with("taxonomy.analyzer.english_stems", "true").with("models.hashing_dimensions", "256");
    model.run(["search", "potto"]).refused(1, &["hashing-384", "hashing-256", "hint:"]);
    let back = model.with("models.hashing_dimensions", "384");
    assert_eq!(back.found("potto").len(), 1, "setting it back is enough");
}
