//! What `publish` makes of paths, folders, stdin and addresses: one document stays one document,
//! what left a folder ends when that is asked for, and Ctrl-C says what goes on.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::harness::{RUN_DEADLINE, Run, Server, Workspace, finish, list, number, text, wait_for};

/// Paths of the documents of a source that a search can find.
fn indexed(workspace: &Workspace, source: &str) -> Vec<String> {
    let answer = workspace.json(["documents", "list", "--source", source, "--format", "json"]);
    let live = list(&answer, "/documents")
        .iter()
        .filter(|document| text(document, "/state") != "deleted");
    let mut paths: Vec<String> = live
        .map(|document| text(document, "/source_path").to_owned())
        .collect();
    paths.sort();
    paths
}

fn publish(workspace: &Workspace, arguments: &[&str]) -> Run {
    let all = [
        &["publish", "--source", "hb", "--wait", "--format", "json"],
        arguments,
    ]
    .concat();
    workspace.run(all)
}

#[track_caller]
fn published(workspace: &Workspace, arguments: &[&str]) -> Value {
    let run = publish(workspace, arguments);
    assert_eq!(run.code, 0, "{run:?}");
    run.json()
}

fn handbook() -> Workspace {
    let workspace = Workspace::new();
    workspace.write("hb/radio/tilt.md", "# Tilt\n\nThe tilt is 6 degrees.");
    workspace.write("hb/core/amf.md", "# AMF\n\nThe quokka registers.");
    workspace
}

#[test]
fn folders_with_files_of_one_name_are_published_from_what_holds_them() {
    let workspace = handbook();
    workspace.write("hb/core/tilt.md", "# Tilt\n\nOf the core.");
    let run = publish(&workspace, &["hb/radio", "hb/core"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stderr.contains("files of one name"), "{run:?}");
    let all = ["core/amf.md", "core/tilt.md", "radio/tilt.md"];
    assert_eq!(indexed(&workspace, "hb"), all);
    published(&workspace, &["hb/radio"]);
    assert_eq!(indexed(&workspace, "hb"), all, "the same documents");
}

#[test]
fn one_file_of_a_published_folder_updates_its_document() {
    let workspace = handbook();
    published(&workspace, &["hb"]);
    workspace.write("hb/radio/tilt.md", "# Tilt\n\nThe tilt is 8 degrees.");
    let run = publish(&workspace, &["hb/radio/tilt.md"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(
        run.stderr.contains("paths are relative to"),
        "it is said what the path is relative to: {run:?}"
    );
    assert_eq!(
        text(&run.json(), "/documents/0/source_path"),
        "radio/tilt.md"
    );
    assert_eq!(indexed(&workspace, "hb"), ["core/amf.md", "radio/tilt.md"]);
    assert!(
        workspace
            .found("degrees")
            .iter()
            .all(|hit| hit.contains('8'))
    );

    let server = workspace.start();
    workspace.write("hb/radio/tilt.md", "# Tilt\n\nThe tilt is 9 degrees.");
    published(&workspace, &["hb/radio/tilt.md"]);
    published(&workspace, &["hb/radio"]);
    assert_eq!(indexed(&workspace, "hb"), ["core/amf.md", "radio/tilt.md"]);
    server.stop();

    let preview = [
        "profiles",
        "preview",
        "hb/radio/tilt.md",
        "--source",
        "hb",
        "--format",
        "json",
    ];
    assert_eq!(
        text(&workspace.json(preview), "/documents/0/source_path"),
        "radio/tilt.md",
        "a preview sees the path that publishing uses"
    );
}

#[test]
fn a_file_published_before_its_folder_is_told_and_keeps_its_title() {
    let workspace = handbook();
    let server = workspace.start();
    let title = |name: &str| {
        let shown = workspace.json(["documents", "show", name, "--format", "json"]);
        text(&shown, "/title").to_owned()
    };
    published(&workspace, &["hb/radio/tilt.md", "--title", "Antenna tilt"]);
    let folder = publish(&workspace, &["hb"]);
    assert_eq!(folder.code, 0, "{folder:?}");
    for said in [
        "hb/radio/tilt.md was published before as hb/tilt.md",
        "`tributary documents delete hb/tilt.md`",
        "radio/tilt.md keeps the title “Antenna tilt”",
    ] {
        assert!(folder.stderr.contains(said), "{said}: {folder:?}");
    }
    assert_eq!(title("hb/radio/tilt.md"), "Antenna tilt");
    let again = publish(&workspace, &["hb", "--prune", "--yes"]);
    assert!(!again.stderr.contains("published before as"), "{again:?}");
    assert_eq!(indexed(&workspace, "hb"), ["core/amf.md", "radio/tilt.md"]);
    assert_eq!(title("hb/radio/tilt.md"), "Antenna tilt");

    let dropped = publish(&workspace, &["hb/radio/tilt.md", "--title", ""]);
    assert!(!dropped.stderr.contains("keeps the title"), "{dropped:?}");
    published(&workspace, &["hb"]);
    assert_eq!(title("hb/radio/tilt.md"), "Tilt", "the document's own");
    server.stop();
}

#[test]
fn an_id_given_by_hand_stays_when_the_folder_is_published() {
    let workspace = handbook();
    published(&workspace, &["hb/radio/tilt.md", "--id", "handbook:tilt"]);
    let report = published(&workspace, &["hb"]);
    let documents = list(&report, "/documents").iter();
    let ids: Vec<&str> = documents
        .filter(|document| text(document, "/source_path") == "radio/tilt.md")
        .map(|document| text(document, "/document_id"))
        .collect();
    assert_eq!(ids, ["handbook:tilt"]);
    assert_eq!(indexed(&workspace, "hb"), ["core/amf.md", "radio/tilt.md"]);
}

#[test]
fn an_id_is_of_one_document_and_a_document_of_one_id() {
    let workspace = handbook();
    published(
        &workspace,
        &["hb/radio/tilt.md", "--root", "hb", "--id", "handbook:tilt"],
    );
    let again = publish(&workspace, &["hb/radio/tilt.md", "--id", "handbook:tilt"]);
    assert!(
        again.code == 0 && !again.stderr.contains("second one"),
        "{again:?}"
    );
    let other = publish(&workspace, &["hb/radio/tilt.md", "--id", "handbook:other"]);
    let said = "hb/radio/tilt.md is the document handbook:tilt already";
    assert!(other.code == 0 && other.stderr.contains(said), "{other:?}");
    publish(
        &workspace,
        &["hb/core/amf.md", "--root", "hb", "--id", "handbook:other"],
    )
    .refused(
        1,
        &[
            "radio/tilt.md and core/amf.md would both be the document handbook:other",
            "another --id",
        ],
    );
}

#[test]
fn a_folder_says_what_in_it_is_no_file() {
    let workspace = handbook();
    std::os::unix::fs::symlink("nowhere", workspace.path("hb/dangling.md")).unwrap();
    let run = publish(&workspace, &["hb", "--dry-run"]);
    let said = "passed over: dangling.md is a link that leads nowhere";
    assert!(run.code == 0 && run.stderr.contains(said), "{run:?}");
}

#[test]
fn a_file_without_a_source_goes_to_the_one_that_it_was_published_to() {
    let workspace = handbook();
    let server = workspace.start();
    published(&workspace, &["hb"]);
    let plain = |arguments: &[&str]| {
        let all = [&["publish", "--wait", "--format", "json"], arguments].concat();
        workspace.run(all)
    };
    let run = plain(&["hb/radio/tilt.md"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(text(&run.json(), "/source"), "hb");
    assert!(run.stderr.contains("source hb, to which"), "{run:?}");

    let second = plain(&["hb/radio/tilt.md", "--source", "other"]);
    assert!(
        second.stderr.contains(
            "other/tilt.md is a second document of a file that is hb/radio/tilt.md already"
        ),
        "{second:?}"
    );
    plain(&["hb/radio/tilt.md"]).refused(1, &["the sources hb and other", "--source"]);

    workspace.write("new.md", "A bilby.");
    assert_eq!(text(&plain(&["new.md"]).json(), "/source"), "files");
    workspace.write("elsewhere/new.md", "A numbat.");
    let other_file = plain(&["elsewhere/new.md"]);
    assert!(
        other_file.stderr.contains("which is still there"),
        "{other_file:?}"
    );
    server.stop();
}

#[test]
fn a_root_can_be_given_and_is_not_changed_by_accident() {
    let workspace = handbook();
    let lone = published(&workspace, &["hb/radio/tilt.md"]);
    assert_eq!(text(&lone, "/documents/0/source_path"), "tilt.md");
    let rooted = published(&workspace, &["hb/core/amf.md", "--root", "hb"]);
    assert_eq!(text(&rooted, "/documents/0/source_path"), "core/amf.md");
    publish(&workspace, &["hb/core", "--root", "hb/core"])
        .refused(1, &["is a root of this source"]);
    publish(&workspace, &["hb", "--root", "hb/core"]).refused(1, &["lies in"]);
    workspace.write("other/x.md", "elsewhere");
    publish(&workspace, &["other", "--root", "hb"]).refused(1, &["does not lie in --root"]);

    // The folder around a root would publish everything a second time.
    workspace.write("top/sub/a.md", "a wombat");
    workspace.run(["publish", "top/sub", "--source", "s", "--wait"]);
    let around = workspace.run(["publish", "top", "--source", "s"]);
    around.refused(1, &["a second time", "hint: --root"]);
    let moved = workspace.run([
        "publish", "top", "--source", "s", "--root", "top", "--prune", "--yes", "--wait",
    ]);
    assert_eq!(moved.code, 0, "{moved:?}");
    assert_eq!(indexed(&workspace, "s"), ["sub/a.md"]);
}

#[test]
fn a_folder_of_which_all_was_refused_is_no_root() {
    let workspace = handbook();
    let server = workspace.start();
    let refused = publish(&workspace, &["hb/core", "--set", "nosuch"]);
    assert!(
        refused.code == 1 && refused.stdout.contains("nosuch"),
        "{refused:?}"
    );
    published(&workspace, &["hb"]);
    assert!(indexed(&workspace, "hb").contains(&"core/amf.md".to_owned()));
    server.stop();
}

#[test]
fn pruning_ends_what_left_the_folder_and_nothing_else() {
    let workspace = handbook();
    let server = workspace.start();
    published(&workspace, &["hb"]);
    workspace.write("more/keep.md", "another folder of the same source");
    published(&workspace, &["more"]);
    workspace.run(["publish", "hb", "--source", "other", "--wait"]);
    let foreign =
        json!({"source": "hb", "source_path": "http.md", "content": "by another producer"});
    server.settled(&server.publish(&foreign));
    fs::remove_file(workspace.path("hb/core/amf.md")).unwrap();

    published(&workspace, &["hb"]);
    assert_eq!(
        indexed(&workspace, "hb").len(),
        4,
        "nothing is deleted unasked"
    );
    let dry = published(&workspace, &["hb", "--prune", "--dry-run"]);
    assert_eq!(
        (list(&dry, "/publish").len(), text(&dry, "/delete/0")),
        (1, "core/amf.md")
    );
    publish(&workspace, &["hb", "--prune"]).refused(1, &["delete 1 document of", "--yes"]);
    assert_eq!(indexed(&workspace, "hb").len(), 4);

    let pruned = published(&workspace, &["hb", "--prune", "--yes"]);
    assert_eq!(number(&pruned, "/deleted"), 1);
    assert_eq!(
        indexed(&workspace, "hb"),
        ["http.md", "keep.md", "radio/tilt.md"]
    );
    assert_eq!(indexed(&workspace, "other").len(), 2);
    assert!(workspace.found("quokka").len() == 1, "the other source's");
    let again = published(&workspace, &["hb", "--prune", "--yes"]);
    assert_eq!(number(&again, "/deleted"), 0);
    server.stop();
}

/// Where files lie is remembered beside the data, and not put back with it.
#[test]
fn what_was_pruned_goes_again_after_the_data_was_put_back() {
    let workspace = handbook();
    published(&workspace, &["hb"]);
    workspace.json(["backup", "before.tar", "--format", "json"]);
    fs::remove_file(workspace.path("hb/core/amf.md")).unwrap();
    workspace.write("hb/radio/more.md", "# More\n\nThe wombat digs.");
    let pruned = published(&workspace, &["hb", "--prune", "--yes"]);
    assert_eq!(number(&pruned, "/deleted"), 1);
    let restored = workspace.run(["restore", "before.tar", "--force"]);
    assert_eq!(restored.code, 0, "{restored:?}");
    publish(&workspace, &["hb", "--prune"]).refused(1, &["delete 1 document of", "core/amf.md"]);
    let again = published(&workspace, &["hb", "--prune", "--yes"]);
    assert_eq!(number(&again, "/deleted"), 1, "{again}");
    assert_eq!(
        indexed(&workspace, "hb"),
        ["radio/more.md", "radio/tilt.md"]
    );
    let server = workspace.start();
    let foreign = json!({"source": "hb", "source_path": "core/amf.md", "content": "of another"});
    server.settled(&server.publish(&foreign));
    let nothing = published(&workspace, &["hb", "--prune", "--yes"]);
    assert_eq!(number(&nothing, "/deleted"), 0);
    assert_eq!(
        indexed(&workspace, "hb").len(),
        3,
        "another producer's stays"
    );
    server.stop();
}

#[test]
fn a_document_that_became_empty_is_found_no_more_once_it_was_waited_for() {
    let workspace = handbook();
    let server = workspace.start();
    published(&workspace, &["hb"]);
    workspace.write("hb/core/amf.md", "");
    let emptied = published(&workspace, &["hb/core/amf.md"]);
    assert_eq!(number(&emptied, "/skipped"), 1, "{emptied}");
    assert!(workspace.found("quokka").is_empty());
    server.stop();
}

#[test]
fn an_empty_folder_is_not_pruned_unless_that_is_meant() {
    let workspace = handbook();
    published(&workspace, &["hb"]);
    for folder in ["hb/radio", "hb/core"] {
        fs::remove_dir_all(workspace.path(folder)).unwrap();
    }
    publish(&workspace, &["hb", "--prune", "--yes"])
        .refused(1, &["hb has no files", "all 2 documents", "--allow-empty"]);
    fs::remove_dir(workspace.path("hb")).unwrap();
    publish(&workspace, &["hb", "--prune", "--yes"]).refused(1, &["hb is not there"]);
    publish(&workspace, &["hb"]).refused(1, &["hb does not exist"]);
    publish(&workspace, &["hb/radio/tilt.md"]).refused(1, &["does not exist"]);
    let ended = published(&workspace, &["hb", "--prune", "--yes", "--allow-empty"]);
    assert_eq!(number(&ended, "/deleted"), 2);
    assert!(indexed(&workspace, "hb").is_empty());
}

#[test]
fn what_was_not_listed_is_not_pruned() {
    let workspace = handbook();
    workspace.write("hb/manual.md", "A third one about wombats.");
    published(&workspace, &["hb"]);
    for (from, to) in [("hb/radio", "radio"), ("hb/core/amf.md", "amf.md")] {
        fs::rename(workspace.path(from), workspace.path(to)).unwrap();
    }
    symlink(workspace.path("radio"), workspace.path("hb/radio")).unwrap();
    symlink("nowhere", workspace.path("hb/core/amf.md")).unwrap();

    let dry = published(&workspace, &["hb", "--prune", "--dry-run"]);
    assert!(list(&dry, "/delete").is_empty(), "{dry}");
    assert_eq!(list(&dry, "/keep").len(), 2, "{dry}");
    let run = publish(&workspace, &["hb", "--prune", "--yes"]);
    assert_eq!(run.code, 0, "{run:?}");
    for note in [
        "kept 1 document: core/amf.md is a link that leads nowhere",
        "kept 1 document: radio is a link to a folder",
    ] {
        assert!(run.stderr.contains(note), "{run:?}");
    }
    let report = run.json();
    assert_eq!(
        (number(&report, "/deleted"), list(&report, "/kept").len()),
        (0, 2)
    );
    assert_eq!(indexed(&workspace, "hb").len(), 3);

    fs::remove_file(workspace.path("hb/radio")).unwrap();
    let pruned = published(&workspace, &["hb", "--prune", "--yes"]);
    assert_eq!(number(&pruned, "/deleted"), 1, "{pruned}");
    assert_eq!(indexed(&workspace, "hb"), ["core/amf.md", "manual.md"]);
}

#[test]
fn most_of_a_source_is_not_pruned_unless_that_is_meant() {
    let workspace = handbook();
    workspace.write("hb/manual.md", "A third one about wombats.");
    published(&workspace, &["hb"]);
    for folder in ["hb/radio", "hb/core"] {
        fs::remove_dir_all(workspace.path(folder)).unwrap();
    }
    let lost = [
        "delete 2 documents of",
        "more than half of the 3",
        "--allow-most",
    ];
    publish(&workspace, &["hb", "--prune", "--yes"]).refused(1, &lost);
    assert_eq!(indexed(&workspace, "hb").len(), 3);
    let meant = ["hb", "--prune", "--yes", "--allow-most"];
    assert_eq!(number(&published(&workspace, &meant), "/deleted"), 2);
}

#[test]
fn a_folder_that_never_was_is_not_compared_without_a_word() {
    let workspace = handbook();
    published(&workspace, &["hb"]);
    publish(&workspace, &["hb", "hbb", "--prune", "--yes"])
        .refused(1, &["hbb does not exist", "nothing of this source"]);
    publish(&workspace, &["hbb", "--prune", "--yes"]).refused(1, &["hbb does not exist"]);
}

#[test]
fn one_document_has_title_id_attributes_and_may_come_from_stdin() {
    let workspace = Workspace::new();
    let server = workspace.start();
    workspace.write("note.md", "The numbat digs.");
    let mut shell = workspace.prepare(Command::new("sh"));
    shell.args([
        "-c",
        "\"$0\" publish - --source hb --path notes/numbat.md --title Numbats --attribute product=RRU \
         --attribute custom.room=3 --version 7 --wait --format json < note.md",
        env!("CARGO_BIN_EXE_tributary"),
    ]);
    // `finish` gives the shell no stdin; the verb has the file's.
    let run = finish(shell, RUN_DEADLINE);
    assert_eq!(run.code, 0, "{run:?}");
    let report = run.json();
    assert_eq!(number(&report, "/indexed"), 1, "{report}");
    let id = text(&report, "/documents/0/document_id").to_owned();
    let (_, shown) = server.get(&format!("/v1/documents/{id}"));
    assert_eq!(
        (
            text(&shown, "/title"),
            text(&shown, "/source_path"),
            number(&shown, "/version")
        ),
        ("Numbats", "notes/numbat.md", 7)
    );
    let named = published(&workspace, &["note.md", "--id", "handbook:note"]);
    assert_eq!(text(&named, "/documents/0/document_id"), "handbook:note");

    workspace.write("two/a.md", "a");
    workspace.write("two/b.md", "b");
    publish(&workspace, &["two", "--title", "T"]).refused(1, &["--title is said of one document"]);
    publish(&workspace, &["note.md", "--attribute", "prodct=x"])
        .refused(1, &["there is no such attribute", "product"]);
    publish(&workspace, &["-"]).refused(1, &["needs --path or --id"]);
    server.stop();
}

#[test]
fn addresses_are_fetched_and_are_the_paths() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = [0; 2048];
            let read = stream.read(&mut head).unwrap();
            let is_there = String::from_utf8_lossy(&head[..read]).starts_with("GET /quoll ");
            let (status, body) = if is_there {
                ("200 OK", "<title>Quolls</title><p>A quoll hunts.")
            } else {
                ("404 Not Found", "nothing")
            };
            let answer = format!(
                "HTTP/1.1 {status}\r\ncontent-type: text/html\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    let workspace = Workspace::new();
    workspace.write(
        "list.txt",
        format!("# pages\n{host}/quoll#top\nquoll.html\n{host}/gone\n"),
    );
    let shown = publish(&workspace, &["--urls", "list.txt", "--dry-run"]);
    assert_eq!(shown.code, 3, "{shown:?}");
    assert_eq!(
        text(&shown.json(), "/refused/0/source_path"),
        "list.txt line 3"
    );
    let run = publish(&workspace, &["--urls", "list.txt"]);
    assert_eq!(run.code, 3, "{run:?}");
    let report = run.json();
    assert_eq!(
        (number(&report, "/indexed"), number(&report, "/refused")),
        (1, 2)
    );
    let quoll = format!("{host}/quoll");
    assert!(
        list(&report, "/documents")
            .iter()
            .any(|document| text(document, "/source_path") == quoll)
    );
    assert!(run.stdout.contains("answered 404"), "{run:?}");
    assert!(run.stdout.contains("list.txt line 3"), "{run:?}");
    workspace.write("wrong.txt", "file:///etc/passwd\n");
    publish(&workspace, &["--urls", "wrong.txt"]).refused(
        1,
        &["no address to publish", "wrong.txt line 1", "is no address"],
    );
    assert_eq!(workspace.found("quoll").len(), 1);
}

/// A server without the service that embeds, a verb that waits for it, and the file of what it says.
fn waiting(workspace: &Workspace) -> (Server, Child, PathBuf) {
    let server = workspace.start_with(&["--services", "ingest,chunk,query"]);
    workspace.write("docs/a.md", "# A\n\nThe bilby waits.");
    let mut command = workspace.command();
    let said = workspace.path("said.txt");
    command
        .args(["publish", "docs", "--source", "hb", "--wait"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(File::create(&said).unwrap());
    let child = command.spawn().unwrap();
    wait_for("the verb to wait, after everything is sent", || {
        let metrics = String::from_utf8(server.bytes("/metrics")).unwrap();
        metrics.contains("route=\"/v1/work\"").then_some(())
    });
    (server, child, said)
}

#[test]
fn a_server_that_stops_while_it_is_waited_for_leaves_word_of_what_was_sent() {
    let workspace = Workspace::new();
    let (server, mut child, said) = waiting(&workspace);
    server.stop();
    let status = wait_for("the end of the waiting", || child.try_wait().unwrap());
    assert_eq!(status.code(), Some(1));
    let said = fs::read_to_string(said).unwrap();
    for part in [
        "1 of 1 documents sent",
        "tributary documents list --source hb",
        "cannot reach the server",
    ] {
        assert!(said.contains(part), "`{part}` is not in: {said}");
    }
}

#[test]
fn ctrl_c_says_what_is_on_its_way_and_how_to_follow_it() {
    let workspace = Workspace::new();
    let (server, mut child, said) = waiting(&workspace);
    let sent = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
    let status = wait_for("the end after Ctrl-C", || child.try_wait().unwrap());
    assert_eq!(status.code(), Some(130));
    let said = fs::read_to_string(said).unwrap();
    for part in [
        "interrupted: 1 of 1 documents sent",
        "1 on their way",
        "what was accepted is not lost: they go on whenever the server runs",
        "tributary documents list --source hb",
    ] {
        assert!(said.contains(part), "`{part}` is not in: {said}");
    }
    server.stop();
}
