//! Documents as people look at them: listed, shown with all that is known, called by their path.

use serde_json::Value;

use crate::harness::{Run, Workspace, list, number, text};

const TILT: &str = "---\nauthor: Ada\nproject: zebra crossing\n---\n# Antenna tilt\n\nThe tilt of sector 3 is 6 degrees.\n";

/// A workspace with a page, a table and a file that is given up.
fn published() -> Workspace {
    let workspace = Workspace::new();
    workspace.write("docs/radio/tilt.md", TILT);
    workspace.write("docs/cells.csv", "cell,power\na,20\nb,30\n");
    workspace.write("docs/figure.eps", b"%!PS-Adobe-3.0 EPSF-3.0");
    let run = publish(&workspace);
    assert_eq!((run.code, number(&run.json(), "/dead")), (3, 1), "{run:?}");
    workspace
}

fn publish(workspace: &Workspace) -> Run {
    workspace.run([
        "publish", "docs", "--source", "hb", "--wait", "--format", "json",
    ])
}

fn paths(listed: &Value) -> Vec<&str> {
    list(listed, "/documents")
        .iter()
        .map(|row| text(row, "/source_path"))
        .collect()
}

fn listed(workspace: &Workspace, conditions: &[&str]) -> Value {
    let start = ["documents", "list", "--format", "json"];
    workspace.json(start.iter().chain(conditions))
}

/// What a verb prints for people.
fn told(workspace: &Workspace, arguments: &[&str]) -> String {
    let run = workspace.run(arguments);
    assert!(run.code == 0, "{run:?}");
    run.stdout
}

#[test]
fn documents_are_listed_by_conditions_with_ids_paths_and_totals() {
    let workspace = published();
    let all = listed(&workspace, &[]);
    assert_eq!(paths(&all), ["cells.csv", "figure.eps", "radio/tilt.md"]);
    assert_eq!(
        (number(&all, "/total"), number(&all, "/searchable")),
        (3, 2)
    );
    let cases: [(&[&str], &[&str]); 6] = [
        (&["--searchable"], &["cells.csv", "radio/tilt.md"]),
        (&["--searchable", "false"], &["figure.eps"]),
        (&["--state", "dead"], &["figure.eps"]),
        (&["--title", "ANTENNA"], &["radio/tilt.md"]),
        (
            &["--path-prefix", "radio/", "--source", "hb"],
            &["radio/tilt.md"],
        ),
        (&["--changed-before", "2020-01-01"], &[]),
    ];
    for (conditions, expected) in cases {
        assert_eq!(
            paths(&listed(&workspace, conditions)),
            expected,
            "{conditions:?}"
        );
    }
    let table = told(
        &workspace,
        &["documents", "list", "--sort", "path", "--limit", "1"],
    );
    let id = text(&all, "/documents/0/document_id");
    for part in [
        "hb/cells.csv",
        id,
        "3 documents, 2 searchable",
        "1 dead",
        "--after ",
    ] {
        assert!(table.contains(part), "{part}: {table}");
    }
    workspace
        .run(["documents", "list", "--changed-since", "yesterday"])
        .refused(1, &["`yesterday` is no time", "hint:"]);
    for (wrong, said) in [
        (["--state", "lost"], "[possible values: accepted, chunking"),
        (["--sort", "colour"], "source, path, title, time, state"),
        (["--limit", "0"], "it must be at least 1"),
    ] {
        let arguments = [&["documents", "list"], &wrong[..]].concat();
        workspace.run(arguments).refused(2, &[said]);
    }
    let unknown = told(&workspace, &["documents", "list", "--source", "hbb"]);
    assert_eq!(
        unknown,
        "0 documents: there is no document of the source `hbb` (did you mean `hb`?)\n"
    );
}

#[test]
fn the_name_of_a_hit_can_be_copied_back() {
    let workspace = published();
    let server = workspace.start();
    workspace.write("docs/my notes.md", "# Wombats\n\nA wombat digs.");
    publish(&workspace);
    let found = told(&workspace, &["search", "wombat digs", "-k", "1"]);
    assert!(found.contains("\n     'hb/my notes.md'\n"), "{found}");
    assert!(found.contains("\n1 hit in "), "{found}");
    let name = "hb/my notes.md";
    let in_it = told(&workspace, &["search", "tilt", "--document", name]);
    assert!(
        in_it.contains(name) && !in_it.contains("hb/radio/tilt.md"),
        "{in_it}"
    );
    let misspelt = told(&workspace, &["search", "tilt", "--source", "hbb"]);
    assert!(
        misspelt.contains("no document of the source `hbb` (did you mean `hb`?)")
            && !misspelt.contains("found nowhere"),
        "{misspelt}"
    );
    let row = told(&workspace, &["documents", "list", "--text", "notes"]);
    assert!(row.contains("  'hb/my notes.md'  Wombats"), "{row}");
    assert!(row.contains("\n1 document, 1 searchable"), "{row}");
    let gone = told(&workspace, &["documents", "delete", name, "--wait"]);
    assert!(
        gone.starts_with("deleted   'hb/my notes.md'  id "),
        "{gone}"
    );
    server.stop();
}

#[test]
fn an_unchanged_document_is_shown_as_searchable() {
    let workspace = published();
    publish(&workspace);
    let skipped = listed(&workspace, &["--state", "skipped"]);
    assert_eq!(
        (number(&skipped, "/total"), number(&skipped, "/searchable")),
        (2, 2)
    );
    let row = &list(&skipped, "/documents")[1];
    assert!(
        number(row, "/searchable/version") < number(row, "/version"),
        "{row}"
    );
    let shown = told(&workspace, &["documents", "show", "hb/radio/tilt.md"]);
    for part in [
        "searchable      version",
        " since 2",
        "skipped at ",
        "unchanged since version",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let proof = told(&workspace, &["documents", "reconcile"]);
    assert!(proof.contains("searchable         2"), "{proof}");
}

#[test]
fn a_document_is_shown_and_deleted_by_its_path() {
    let workspace = published();
    let shown = told(&workspace, &["documents", "show", "hb/radio/tilt.md"]);
    for part in [
        "Antenna tilt",
        "hb/radio/tilt.md",
        "author          Ada",
        "zebra crossing",
        "passages (",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let detail = workspace.json(["documents", "show", "hb/radio/tilt.md", "--format", "json"]);
    assert_eq!(text(&detail, "/attributes/author"), "Ada");
    assert_eq!(text(&detail, "/metadata/project"), "zebra crossing");

    let file = workspace.path("cells.sqlite");
    let save = [
        "documents",
        "tables",
        "hb/cells.csv",
        "--file",
        file.to_str().unwrap(),
    ];
    let saved = told(&workspace, &save);
    assert!(saved.contains("SQLite"), "{saved}");
    assert!(
        std::fs::read(&file)
            .unwrap()
            .starts_with(b"SQLite format 3\0")
    );
    workspace.run(save).refused(1, &["cannot create"]);
    workspace
        .run([
            "documents",
            "tables",
            "hb/radio/tilt.md",
            "--file",
            "none.sqlite",
        ])
        .refused(1, &["has no tables"]);

    workspace
        .run(["documents", "delete", "hb/tilt.md"])
        .refused(1, &[]);
    let gone = workspace.json([
        "documents",
        "delete",
        "hb/radio/tilt.md",
        "--wait",
        "--format",
        "json",
    ]);
    assert_eq!(text(&gone, "/documents/0/state"), "deleted", "{gone}");
    assert!(
        workspace
            .found("tilt of sector 3")
            .iter()
            .all(|text| !text.contains("6 degrees"))
    );
}

#[test]
fn hints_at_the_command_line_name_verbs_and_files() {
    let workspace = published();
    workspace
        .run(["documents", "show", "hb/tilt.md"])
        .refused(1, &["`hb/tilt.md`", "did you mean `hb/radio/tilt.md`"]);
    workspace
        .run(["documents", "show", "never-was"])
        .refused(1, &["tributary documents list"]);
    let letters = told(&workspace, &["dead-letters", "list"]);
    for part in [
        "hb/figure.eps",
        "unsupported in ingest at 2",
        "letter documents.raw",
    ] {
        assert!(letters.contains(part), "{part}: {letters}");
    }
}
