//! Conversations from the command line: begun over HTTP, listed, shown, renamed, exported, cleared,
//! deleted, and there again after a crash and in a backup.

use serde_json::{Value, json};

use crate::harness::{Server, Workspace, list, number, text};

fn begin(server: &Server, title: &str) -> String {
    let (status, made) = server.post("/v1/conversations", &json!({"title": title}));
    assert_eq!(status, 201, "{made}");
    text(&made, "/id").to_owned()
}

fn listed(workspace: &Workspace) -> Vec<String> {
    let found = workspace.json(["conversations", "list", "--format", "json"]);
    let titles = list(&found, "/conversations").iter();
    titles
        .map(|found| text(found, "/title").to_owned())
        .collect()
}

#[test]
fn conversations_are_listed_shown_renamed_exported_cleared_and_deleted() {
    let workspace = Workspace::new();
    let mut server = workspace.start();
    let (first, second) = (begin(&server, "调度器\u{1b}[31m"), begin(&server, "other"));
    assert_eq!(
        listed(&workspace),
        ["other", "调度器 [31m"],
        "titles are plain"
    );
    server.kill();

    // Without a server the verbs open the data folder themselves; nothing was lost with it.
    let renamed = workspace.json([
        "conversations",
        "rename",
        &first,
        "ticks",
        "--format",
        "json",
    ]);
    assert_eq!(text(&renamed, "/title"), "ticks");
    assert_eq!(listed(&workspace), ["ticks", "other"]);
    let shown = workspace.run(["conversations", "show", &first]);
    assert!(shown.stdout.contains("ticks"), "{shown:?}");
    let found = workspace.run(["conversations", "list", "--title", "TICK", "--limit", "1"]);
    assert!(found.stdout.contains(&first), "{found:?}");
    assert!(found.stdout.contains("1 conversation"), "{found:?}");

    let exported = workspace.json(["conversations", "export", &first, "--format", "json"]);
    assert_eq!(text(&exported, "/conversation/id"), first);
    let file = workspace.path("ticks.md");
    let name = file.to_str().unwrap();
    let written = workspace.run(["conversations", "export", &first, "--file", name]);
    assert_eq!(written.code, 0, "{written:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "# ticks\n");
    workspace
        .run(["conversations", "export", &first, "--file", name])
        .refused(1, &["ticks.md"]);

    let cleared = workspace.json(["conversations", "clear", &first, "--format", "json"]);
    assert_eq!(text(&cleared, "/conversations/0/outcome"), "cleared");
    let ids = [&*first, "nothing", &*second];
    let arguments = [&["conversations", "delete", "--format", "json"], &ids[..]].concat();
    let deleted = workspace.run(arguments);
    assert_eq!(deleted.code, 3, "{deleted:?}");
    let deleted = deleted.json();
    assert_eq!(text(&deleted, "/conversations/1/outcome"), "failed");
    assert_eq!(text(&deleted, "/conversations/2/outcome"), "deleted");
    assert!(listed(&workspace).is_empty());
}

#[test]
fn what_is_wrong_is_said_with_a_way_out() {
    let workspace = Workspace::new();
    let server = workspace.start();
    let id = begin(&server, "x");
    let missing = "tributary conversations list";
    for verb in ["show", "export"] {
        workspace
            .run(["conversations", verb, "nothing"])
            .refused(1, &["no conversation `nothing`", missing]);
    }
    workspace
        .run(["conversations", "rename", &id, &"长".repeat(30_000)])
        .refused(1, &["30000 characters"]);
    workspace
        .run(["conversations", "delete"])
        .refused(2, &["<IDS>"]);
    workspace
        .run(["conversations", "list", "--limit", "0"])
        .refused(2, &["at least 1"]);
    server.stop();
}

#[test]
fn old_conversations_go_at_a_start_and_a_backup_brings_them_back() {
    let workspace = Workspace::new();
    let server = workspace.start();
    let id = begin(&server, "kept");
    let backup = workspace.path("backup.tar");
    let backup = backup.to_str().unwrap();
    let taken = workspace.run(["backup", backup]);
    assert_eq!(taken.code, 0, "{taken:?}");
    workspace.json(["conversations", "delete", &id, "--format", "json"]);
    server.stop();
    assert!(listed(&workspace).is_empty());
    let restored = workspace.run(["restore", backup, "--force"]);
    assert_eq!(restored.code, 0, "{restored:?}");
    assert_eq!(listed(&workspace), ["kept"]);
    let found: Value = workspace.json(["conversations", "show", &id, "--format", "json"]);
    assert_eq!(number(&found, "/conversation/turns"), 0);
}
