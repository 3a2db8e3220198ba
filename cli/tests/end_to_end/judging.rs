//! Files of questions and reports from the command line: bad lines stop no others, what was judged is
//! kept and gone on with, and reports become files.

use serde_json::{Value, json};

use crate::harness::{Server, Workspace, text};

const PAGE: &str = "# Random access\n\n## Steps\n\nRandom access is a procedure by which a terminal gets \
    uplink timing. It has four steps.\n\n## Timers\n\nRandom access is guarded by timer T300.\n";

fn with_page() -> (Workspace, Server) {
    let workspace = Workspace::new();
    workspace.write("kb/access.md", PAGE);
    let server = workspace.start();
    let published = workspace.run(["publish", "kb", "--source", "kb", "--wait"]);
    assert_eq!(published.code, 0, "{published:?}");
    (workspace, server)
}

fn question(student: &str) -> Value {
    json!({"kind": "single", "question": "Which timer guards random access?",
        "options": ["T300", "T301"], "student_answer": student, "correct_answer": "A"})
}

fn kept(workspace: &Workspace) -> Vec<Value> {
    let file = std::fs::read_to_string(workspace.path("judged.jsonl")).unwrap();
    let lines = file.lines();
    let mut lines: Vec<Value> = lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    lines.sort_by_key(|line| line["line"].as_u64());
    lines
}

#[test]
fn a_file_of_questions_is_judged_line_by_line_and_gone_on_with() {
    let (workspace, _server) = with_page();
    let lines = |last: &str| format!("{}\n\n{{broken\n{}\n{last}\n", question("A"), question("B"));
    let file = workspace.write("questions.jsonl", lines(&question("Z").to_string()));
    let file = file.to_str().unwrap();
    let first = workspace.run(["judge", file, "-o", "judged.jsonl"]);
    assert_eq!(first.code, 3, "{first:?}");
    for part in [
        "questions.jsonl:3: it is no question to judge",
        "questions.jsonl:5: `student_answer`: `Z` names no option",
        "2 judged: 1 right, 1 wrong; 0 by a model, 2 without one; 2 lines not judged",
    ] {
        assert!(first.stderr.contains(part), "{part}: {first:?}");
    }
    let results = kept(&workspace);
    let numbers: Vec<u64> = results
        .iter()
        .filter_map(|line| line["line"].as_u64())
        .collect();
    assert_eq!(numbers, [1, 3, 4, 5]);
    assert_eq!(text(&results[0], "/judgement/judged_by"), "given_answer");
    assert_eq!(results[2]["judgement"]["is_correct"], false);

    // What a killed process leaves: half a line at the end.
    let path = workspace.path("judged.jsonl");
    let mut torn = std::fs::read_to_string(&path).unwrap();
    torn.push_str("{\"line\":4,\"has");
    std::fs::write(&path, torn).unwrap();
    workspace.write("questions.jsonl", lines(&question("A").to_string()));
    let held = std::fs::File::open(workspace.path("judged.jsonl")).unwrap();
    held.try_lock().unwrap();
    workspace
        .run(["judge", file, "-o", "judged.jsonl"])
        .refused(1, &["another process adds to judged.jsonl"]);
    drop(held);
    let second = workspace.run(["judge", file, "-o", "judged.jsonl"]);
    assert_eq!(second.code, 3, "{second:?}");
    assert!(
        second.stderr.contains("2 of 4 lines are judged already"),
        "{second:?}"
    );
    assert!(
        second.stderr.contains("3 judged: 2 right, 1 wrong"),
        "{second:?}"
    );
    let numbers: Vec<u64> = kept(&workspace)
        .iter()
        .filter_map(|line| line["line"].as_u64())
        .collect();
    assert_eq!(numbers, [1, 3, 4, 5]);

    let printed = workspace.run(["judge", file]);
    assert!(
        printed
            .stdout
            .contains("1  right (0.50)  right answer: A  ["),
        "{printed:?}"
    );
    let lines = workspace.run(["judge", file, "--format", "json"]);
    assert_eq!(lines.stdout.lines().count(), 4, "{lines:?}");
    workspace
        .run(["judge", file, "-o", "kb/access.md"])
        .refused(1, &["is no result of `judge`", "another file"]);
    let page = std::fs::read_to_string(workspace.path("kb/access.md")).unwrap();
    assert_eq!(page, PAGE, "another file is left alone");
    let empty = workspace.write("empty.jsonl", "\n");
    workspace
        .run(["judge", empty.to_str().unwrap()])
        .refused(1, &["no questions"]);
}

#[test]
fn a_report_becomes_a_file_of_its_ending() {
    let (workspace, _server) = with_page();
    let asked = ["report", "What is random access?", "--depth", "deep", "-o"];
    let run = |file: &str| workspace.run(asked.iter().copied().chain([file]));
    run("report.pdf").refused(1, &["report.pdf", ".md, .html, .docx"]);
    let written = run("report.md");
    assert_eq!(written.code, 0, "{written:?}");
    assert!(
        written.stderr.contains("extractive: report.md"),
        "{written:?}"
    );
    assert!(written.stderr.contains("degraded: "), "{written:?}");
    let report = std::fs::read_to_string(workspace.path("report.md")).unwrap();
    for part in [
        "# What is random access?",
        "uplink timing",
        "## Sources",
        "kb/access.md",
    ] {
        assert!(report.contains(part), "{part}: {report}");
    }
    assert_eq!(run("report.html").code, 0);
    let page = std::fs::read_to_string(workspace.path("report.html")).unwrap();
    assert!(
        page.starts_with("<!doctype html>") && page.contains("uplink timing"),
        "{page}"
    );
    assert_eq!(run("report.docx").code, 0);
    let read = workspace.run(["convert", "report.docx"]);
    assert!(
        read.stdout.contains("# What is random access?") && read.stdout.contains("uplink timing"),
        "{read:?}"
    );
}
