//! Documents that nobody should write and somebody does: each ends as found, skipped, dead or
//! refused, with a reason, and the server lives on.

use std::fs::{self, File};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Instant;

use serde_json::{Value, json};

use crate::harness::{RUN_DEADLINE, Server, Workspace, finish_with, hit_texts, list, number, text};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0";
const ZIP: &[u8] = b"PK\x03\x04\x14\0\0\0\x08\0\0\0\0\0\0\0\0\0";
const GIB: u64 = 1 << 30;

/// One server for the tests that only publish to it; it goes with the last of them.
fn shared() -> Arc<(Workspace, Server)> {
    static SHARED: Mutex<Weak<(Workspace, Server)>> = Mutex::new(Weak::new());
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    shared.upgrade().unwrap_or_else(|| {
        let workspace = Workspace::new();
        let server = workspace.start();
        let started = Arc::new((workspace, server));
        *shared = Arc::downgrade(&started);
        started
    })
}

/// Publishes files with the real verb; the outcomes by path.
fn outcomes(
    workspace: &Workspace,
    folder: &str,
    files: &[(&str, Vec<u8>)],
) -> (i32, Vec<(String, String, String)>) {
    for (name, content) in files {
        workspace.write(&format!("{folder}/{name}"), content);
    }
    let run = workspace.run([
        "publish", folder, "--source", folder, "--wait", "--format", "json",
    ]);
    let report = run.json();
    let row = |row: &Value| {
        let reason = row
            .get("reason")
            .and_then(Value::as_str)
            .unwrap_or_default();
        (
            text(row, "/source_path").to_owned(),
            text(row, "/state").to_owned(),
            reason.to_owned(),
        )
    };
    (
        run.code,
        list(&report, "/documents").iter().map(row).collect(),
    )
}

fn is_found(server: &Server, word: &str) -> bool {
    let (status, answer) = server.post("/v1/search", &json!({"query": word}));
    assert_eq!(status, 200, "{answer}");
    !hit_texts(&answer, word).is_empty()
}

fn utf16(text: &str) -> Vec<u8> {
    [0xfeff]
        .into_iter()
        .chain(text.encode_utf16())
        .flat_map(u16::to_le_bytes)
        .collect()
}

#[test]
fn any_encoding_is_read() {
    // 载波聚合提高下行速率，基站天线需要调整。 in GBK
    let gbk: &[u8] = &[
        0xd4, 0xd8, 0xb2, 0xa8, 0xbe, 0xdb, 0xba, 0xcf, 0xcc, 0xe1, 0xb8, 0xdf, 0xcf, 0xc2, 0xd0,
        0xd0, 0xcb, 0xd9, 0xc2, 0xca, 0xa3, 0xac, 0xbb, 0xf9, 0xd5, 0xbe, 0xcc, 0xec, 0xcf, 0xdf,
        0xd0, 0xe8, 0xd2, 0xaa, 0xb5, 0xf7, 0xd5, 0xfb, 0xa1, 0xa3,
    ];
    let files = [
        ("gbk.txt", gbk.repeat(10)),
        ("utf16.txt", utf16("The capybara reads sixteen bits.")),
        (
            "bom.md",
            b"\xef\xbb\xbf# Mark\n\nThe pangolin follows a mark.".to_vec(),
        ),
        (
            "broken.txt",
            b"The quokka met \xff\xfe\xfa bytes that mean nothing.".to_vec(),
        ),
        (
            "crlf.md",
            b"# Lines\r\n\r\nThe numbat ends lines twice.\r\n".to_vec(),
        ),
    ];
    let shared = shared();
    let (workspace, server) = &*shared;
    let (code, found) = outcomes(workspace, "encodings", &files);
    assert_eq!(code, 0, "{found:?}");
    assert!(
        found.iter().all(|(_, state, _)| state == "indexed"),
        "{found:?}"
    );
    for word in ["载波聚合", "capybara", "pangolin", "quokka", "numbat"] {
        assert!(is_found(server, word), "{word}");
    }
    let (_, answer) = server.post(
        "/v1/search",
        &json!({"query": "pangolin", "filter": {"sources": ["encodings"]}}),
    );
    assert_eq!(
        text(&answer, "/hits/0/title"),
        "Mark",
        "the byte order mark is no part of the first title"
    );
}

#[test]
fn nothing_to_search_is_skipped_and_what_cannot_be_read_is_dead() {
    let files = [
        ("empty.md", Vec::new()),
        ("blank.txt", b" \n\t\n ".to_vec()),
        ("picture.png", PNG.to_vec()),
        ("archive.zip", ZIP.to_vec()),
        ("zeros.bin", vec![0; 100]),
        ("heading.md", b"# Only a wallaby heading\n".to_vec()),
    ];
    let shared = shared();
    let (workspace, server) = &*shared;
    let (code, found) = outcomes(workspace, "nothing", &files);
    assert_eq!(code, 3, "partly failed: {found:?}");
    let state = |name: &str| {
        found
            .iter()
            .find(|(path, ..)| path == name)
            .map(|(_, state, reason)| (state.as_str(), reason.as_str()))
            .unwrap()
    };
    for name in ["empty.md", "blank.txt"] {
        assert!(
            matches!(state(name), ("skipped", reason) if reason.contains("empty")),
            "{found:?}"
        );
    }
    for (name, kind, what) in [
        ("picture.png", "corrupt", "PNG"),
        ("archive.zip", "unsupported", "ZIP"),
        ("zeros.bin", "unsupported", "binary"),
    ] {
        let (state, reason) = state(name);
        assert!(
            state == "dead"
                && reason.starts_with(kind)
                && reason.contains(what)
                && reason.contains("hint"),
            "{name}: {reason}"
        );
    }
    assert_eq!(state("heading.md").0, "indexed");
    assert!(is_found(server, "wallaby"));
}

#[test]
fn absurd_structure_ends_soon() {
    let nested_html = format!(
        "<html><body>{}tamarin{}</body></html>",
        "<div>".repeat(100_000),
        "</div>".repeat(100_000)
    );
    let attributes = (0..50_000)
        .map(|number| format!("a{number}=1"))
        .collect::<Vec<_>>()
        .join(" ");
    let files = [
        (
            "nested.md",
            format!("{}wombat", "> ".repeat(10_000)).into_bytes(),
        ),
        (
            "brackets.md",
            format!("{}bilby{}", "[".repeat(20_000), "]".repeat(20_000)).into_bytes(),
        ),
        ("stars.md", "*_".repeat(20_000).into_bytes()),
        (
            "headings.md",
            (0..100_000)
                .map(|number| format!("# Dunnart {number}\n"))
                .collect::<String>()
                .into_bytes(),
        ),
        ("nested.html", nested_html.into_bytes()),
        (
            "attributes.html",
            format!("<html><body><p {attributes}>potoroo</p></body></html>").into_bytes(),
        ),
    ];
    let started = Instant::now();
    let shared = shared();
    let (workspace, server) = &*shared;
    let (_, found) = outcomes(workspace, "structure", &files);
    assert!(started.elapsed() < RUN_DEADLINE, "{:?}", started.elapsed());
    assert!(
        found.iter().all(
            |(_, state, reason)| ["indexed", "skipped"].contains(&state.as_str())
                || !reason.is_empty()
        ),
        "{found:?}"
    );
    assert!(
        found
            .iter()
            .filter(|(_, state, _)| state == "indexed")
            .count()
            >= 4,
        "{found:?}"
    );
    assert!(is_found(server, "potoroo"));
    assert!(!server.log().contains("panicked"), "{}", server.log());
    if let Some(bytes) = server.peak_memory_bytes() {
        assert!(bytes < 2 * GIB, "{bytes} bytes");
    }
}

#[test]
fn a_body_over_the_limit_is_refused_with_a_hint() {
    let shared = shared();
    let (workspace, server) = &*shared;
    let file = workspace.write("large/big.txt", vec![b'a'; 200_000_000]);
    let run = workspace.run(["publish", file.to_str().unwrap(), "--format", "json"]);
    let (code, report) = (run.code, run.json());
    fs::remove_file(file).unwrap();
    assert_eq!((code, number(&report, "/published")), (1, 0), "{report}");
    let reason = text(&report, "/documents/0/reason");
    assert!(
        reason.contains("larger than 67108864 bytes") && reason.contains("hint"),
        "{reason}"
    );
    assert_eq!(server.get("/health/livez").0, 200);
}

#[test]
fn one_line_of_fifty_megabytes_is_indexed_in_little_memory() {
    let workspace = Workspace::new();
    let words =
        "The thylacine walks the line again and the line has no end. ".repeat(50_000_000 / 60);
    workspace.write("docs/line.txt", words);
    let server = workspace.start();
    let report = workspace.json(["publish", "docs", "--wait", "--format", "json"]);
    assert_eq!(number(&report, "/indexed"), 1, "{report}");
    assert!(is_found(&server, "thylacine"));
    if let Some(bytes) = server.peak_memory_bytes() {
        assert!(bytes < 2 * GIB, "{bytes} bytes");
    }
}

#[test]
fn ids_of_any_letters_work_and_long_ones_are_refused() {
    let shared = shared();
    let (workspace, server) = &*shared;
    for id in [
        "a/b/../c?x=1&y#z %25",
        "😀 数据/文档",
        "-",
        "..",
        "\"quoted\" 'id'",
    ] {
        let event = json!({"document_id": id, "source": "ids", "content": format!("the dugong lives at {}", id.len())});
        let document = server.publish(&event);
        assert_eq!(document.0, id);
        assert_eq!(
            text(&server.settled(&document), "/state"),
            "indexed",
            "{id}"
        );
        let shown = workspace.json(["documents", "show", "--format", "json", "--", id]);
        assert_eq!(text(&shown, "/document_id"), id);
        let deleted = workspace.json([
            "documents",
            "delete",
            "--wait",
            "--format",
            "json",
            "--",
            id,
        ]);
        assert_eq!(text(&deleted, "/documents/0/state"), "deleted", "{id}");
    }
    let (status, problem) = server.post(
        "/v1/documents",
        &json!({"document_id": "x".repeat(10_240), "source": "ids", "content": "x"}),
    );
    assert_eq!(status, 400, "{problem}");
    assert!(
        text(&problem, "/detail").contains("10240 bytes") && problem.get("hint").is_some(),
        "{problem}"
    );
    for id in ["", "new\nline", "\u{0}"] {
        let (status, problem) = server.post(
            "/v1/documents",
            &json!({"document_id": id, "source": "ids", "content": "x"}),
        );
        assert_eq!(status, 400, "{problem}");
    }
    workspace
        .run(["documents", "show", ""])
        .refused(1, &["document id is empty"]);
    workspace
        .run(["documents", "show", &"x".repeat(10_240)])
        .refused(1, &["no document has the id"]);
}

#[test]
fn an_older_version_stays_away() {
    let shared = shared();
    let (_, server) = &*shared;
    let event = |version: u64, word: &str| json!({"document_id": "versions", "version": version, "source": "v", "content": format!("{word} text")});
    let newest = server.publish(&event(7, "kowari"));
    assert_eq!(text(&server.settled(&newest), "/state"), "indexed");
    let (status, problem) = server.post("/v1/documents", &event(5, "antechinus"));
    assert_eq!(
        (status, text(&problem, "/code")),
        (409, "conflict"),
        "{problem}"
    );
    let last = server
        .publish(&json!({"document_id": "after-versions", "source": "v", "content": "phascogale"}));
    server.settled(&last);
    let (_, proof) = server.post(
        "/v1/documents/states",
        &json!({"document_ids": ["versions"]}),
    );
    assert_eq!(number(&proof, "/documents/0/version"), 7, "{proof}");
    assert_eq!(text(&proof, "/documents/0/state"), "indexed", "{proof}");
    assert!(is_found(server, "kowari") && !is_found(server, "antechinus"));

    server.try_delete("/v1/documents/versions").unwrap();
    let (_, late) = server.post("/v1/documents", &event(8, "antechinus"));
    crate::harness::wait_for("the deletion", || {
        let (_, shown) = server.get("/v1/documents/versions");
        (text(&shown, "/state") == "deleted").then_some(())
    });
    assert!(
        !is_found(server, "kowari") && !is_found(server, "antechinus"),
        "a deletion is newer than what comes late: {late}"
    );
}

#[test]
fn a_deletion_of_what_never_was_is_refused() {
    let shared = shared();
    let (workspace, _) = &*shared;
    let run = workspace.run(["documents", "delete", "never-was", "--format", "json"]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(
        text(&run.json(), "/documents/0/reason").contains("no document has the id"),
        "{run:?}"
    );
    workspace
        .run(["documents", "show", "never-was"])
        .refused(1, &["`never-was`", "hint: `tributary documents list`"]);
    workspace
        .run(["publish", "not-there"])
        .refused(1, &["not-there does not exist"]);
}

#[test]
fn a_pipe_or_a_file_without_end_that_a_verb_is_given_is_not_waited_for() {
    let workspace = Workspace::new();
    let made = std::process::Command::new("mkfifo")
        .arg(workspace.path("pipe"))
        .status();
    assert!(made.unwrap().success());
    for name in ["pairs.jsonl", "queries.jsonl"] {
        fs::hard_link(workspace.path("pipe"), workspace.path(name)).unwrap();
    }
    let document = json!({"_id": "a", "text": "The bilby waits."});
    workspace.write("corpus.jsonl", document.to_string());
    let verbs: [&[&str]; 12] = [
        &["convert", "pipe"],
        &["chunk", "pipe"],
        &["judge", "pipe"],
        &["knowledge-sets", "apply", "pipe"],
        &["publish", "pipe"],
        &["restore", "pipe"],
        &["publish", "--urls", "pipe"],
        &["eval", "run", "--set", ".", "--qrels", "pipe"],
        &["eval", "rewrite", "--set", "pipe"],
        &["training", "clean", ".", "--without-index"],
        &["lexicon", "build", "pipe", "--output", "lexicon"],
        &["--config", "pipe", "config", "check"],
    ];
    for verb in verbs {
        let run = workspace.run(verb.iter().copied());
        run.refused(1, &["cannot read", "a named pipe is in its place"]);
    }
    let run = workspace.run(["convert", "/dev/zero"]);
    run.refused(1, &["cannot read /dev/zero", "convert.maximum_body_bytes"]);
    let endless: [&[&str]; 5] = [
        &["--config", "/dev/zero", "config", "check"],
        &["--key-file", "/dev/zero", "documents", "list"],
        &["knowledge-sets", "apply", "/dev/zero"],
        &["publish", "--urls", "/dev/zero"],
        &["eval", "rewrite", "--set", "/dev/zero"],
    ];
    for verb in endless {
        let run = workspace.run(verb.iter().copied());
        run.refused(1, &["/dev/zero", "it has more than 268435456 bytes"]);
    }
}

#[test]
fn stdin_without_end_is_given_up() {
    let workspace = Workspace::new();
    let stdin: [(&[&str], &[&str]); 2] = [
        (
            &["publish", "-", "--path", "a.md"],
            &["convert.maximum_body_bytes"],
        ),
        (
            &["publish", "--urls", "-"],
            &["cannot read -", "it has more than"],
        ),
    ];
    for (verb, said) in stdin {
        let mut command = workspace.command();
        command.args(verb);
        let run = finish_with(command, File::open("/dev/zero").unwrap(), RUN_DEADLINE);
        run.refused(1, said);
    }
}

#[test]
fn a_file_replaced_while_it_is_read_is_one_or_the_other() {
    let workspace = Workspace::new();
    let content = |letter: char| {
        format!(
            "# Swap\n\n{}",
            format!("{letter}{letter}{letter}{letter} ").repeat(200_000)
        )
    };
    workspace.write("docs/swap.md", content('m'));
    let done = AtomicBool::new(false);
    let server = workspace.start();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut letters = ['n', 'm'].into_iter().cycle();
            while !done.load(Ordering::Relaxed) {
                let next = workspace.write("next.md", content(letters.next().unwrap()));
                fs::rename(next, workspace.path("docs/swap.md")).unwrap();
            }
        });
        for _ in 0..5 {
            let run = workspace.run(["publish", "docs", "--wait", "--format", "json"]);
            assert_eq!(run.code, 0, "{run:?}");
            let report = run.json();
            let (_, shown) = server.get(&format!(
                "/v1/documents/{}?passages=true",
                text(&report, "/documents/0/document_id")
            ));
            let all: String = list(&shown, "/passages")
                .iter()
                .map(|passage| text(passage, "/text"))
                .collect();
            assert!(
                all.contains("mmmm") != all.contains("nnnn"),
                "a mixture of both"
            );
        }
        done.store(true, Ordering::Relaxed);
    });
}

#[test]
fn bodies_that_are_no_event_are_problems() {
    let shared = shared();
    let (_, server) = &*shared;
    let cases = [
        (json!([]), "schema"),
        (
            json!({"source": "x", "source_path": "y", "content": "z", "colour": 1}),
            "colour",
        ),
        (json!({"source": "x", "source_path": "y"}), "content"),
        (
            json!({"source": "x", "source_path": "y", "content": "a", "content_base64": "YQ=="}),
            "content",
        ),
        (
            json!({"source": "", "source_path": "y", "content": "a"}),
            "source",
        ),
        (json!({"source": "x", "content": "a"}), "document_id"),
        (
            json!({"source": "x", "source_path": "y", "content": 7}),
            "schema",
        ),
    ];
    for (event, said) in cases {
        let (status, problem) = server.post("/v1/documents", &event);
        assert_eq!(status, 400, "{event}: {problem}");
        assert!(
            text(&problem, "/detail").contains(said),
            "{event}: {problem}"
        );
    }
}
