//! Verbs that need no server, help, wrong usage, and the rule that stdout holds the result and
//! stderr the rest.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::harness::{RUN_DEADLINE, Workspace, finish_with, has_fields, list, number, skip, text};
use crate::originals::book;

/// The verbs below one, as its help lists them.
fn verbs_below(help: &str) -> Vec<String> {
    let after = help.split("\nCommands:\n").nth(1).unwrap_or_default();
    let listed = after.lines().take_while(|line| !line.is_empty());
    let named = listed.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let verbs = named.filter(|verb| !verb.is_empty() && *verb != "help");
    verbs.map(str::to_owned).collect()
}

#[test]
fn every_verb_helps() {
    let workspace = Workspace::new();
    let mut waiting = vec![Vec::<String>::new()];
    let mut seen = 0;
    while let Some(verb) = waiting.pop() {
        let help = ["--help".to_owned()];
        let run = workspace.run(verb.iter().chain(&help));
        assert_eq!(run.code, 0, "{run:?}");
        assert!(
            run.stdout.contains("Usage: tributary") && run.stderr.is_empty(),
            "{run:?}"
        );
        let first = run.stdout.lines().next().unwrap_or_default();
        assert!(
            first.len() > 10 && first.starts_with(char::is_uppercase),
            "{verb:?} says what it does first: {first:?}"
        );
        let below = verbs_below(&run.stdout).into_iter();
        waiting.extend(below.map(|below| [verb.clone(), vec![below]].concat()));
        seen += 1;
    }
    assert!(seen > 60, "{seen} verbs were found");
    let top = workspace.run(["--help"]).stdout;
    assert!(
        top.contains("tributary publish docs/ --wait") && top.contains("Exit codes"),
        "{top}"
    );
    assert!(
        workspace
            .run(["--version"])
            .stdout
            .starts_with("tributary ")
    );
    assert!(!workspace.data().exists());
}

#[test]
fn wrong_usage_is_exit_code_2_and_prints_nothing_on_stdout() {
    let workspace = Workspace::new();
    let wrong: [&[&str]; 9] = [
        &[],
        &["serach"],
        &["search"],
        &["search", "x", "--format", "xml"],
        &["publish"],
        &["run", "--services", "everything"],
        &["run", "--listen", "somewhere"],
        &["documents", "list", "--limit", "many"],
        &["eval", "run"],
    ];
    for arguments in wrong {
        let run = workspace.run(arguments);
        assert_eq!(
            (run.code, run.stdout.as_str()),
            (2, ""),
            "{arguments:?}: {run:?}"
        );
        assert!(
            run.stderr.contains("Usage") || run.stderr.contains("help"),
            "{run:?}"
        );
    }
    assert!(
        workspace.run(["serach"]).stderr.contains("search"),
        "the nearest verb is named"
    );
}

#[test]
fn a_pdf_that_the_lesser_reader_read_is_said_to_be() {
    let workspace = Workspace::new();
    workspace.write("book.pdf", book());
    // Elsewhere than in this repository, near which models may lie.
    let program = workspace.path("tributary");
    std::fs::copy(env!("CARGO_BIN_EXE_tributary"), &program).unwrap();
    let run = |arguments: &[&str], engine: &str| {
        let mut command = workspace.prepare(Command::new(&program));
        command
            .env("TRIBUTARY__CONVERT__PDF__ENGINE", engine)
            .args(arguments);
        finish_with(command, Stdio::null(), RUN_DEADLINE)
    };
    let converted = run(&["convert", "book.pdf", "--format", "json"], "auto");
    assert_eq!(converted.code, 0, "{converted:?}");
    if !text(&converted.json(), "/converter").starts_with("pdf-builtin/") {
        skip("what is said without PDFium: it is installed in this system");
        return;
    }
    for verb in ["convert", "chunk"] {
        let said = run(&[verb, "book.pdf"], "auto");
        assert!(
            said.code == 0 && said.stdout.contains("The antenna stands upright"),
            "{said:?}"
        );
        assert!(said.stderr.contains("PDFium is missing"), "{said:?}");
        let wanted = run(&[verb, "book.pdf"], "builtin");
        assert!(wanted.code == 0 && wanted.stderr.is_empty(), "{wanted:?}");
    }
}

#[test]
fn local_verbs_print_what_scripts_read() {
    let workspace = Workspace::new();
    let long = (0..400)
        .map(|number| format!("The echidna counts ants, now {number}. "))
        .collect::<String>();
    let page = format!(
        "<html><head><title>Ants</title></head><body><h1>Ants</h1><p>Count.</p><h2>More</h2><p>{long}</p></body></html>"
    );
    let file = workspace.write("page.html", page);
    let file = file.to_str().unwrap();

    let markdown = workspace.run(["convert", file]);
    assert!(
        markdown.code == 0 && markdown.stdout.starts_with("# Ants\n") && markdown.stderr.is_empty(),
        "{markdown:?}"
    );
    assert_eq!(
        text(
            &workspace.json(["convert", file, "--format", "json"]),
            "/title"
        ),
        "Ants"
    );

    let chunked = workspace.json(["chunk", file, "--format", "json"]);
    let fields = [
        "chunk_id",
        "kind",
        "section_path",
        "tokens",
        "text",
        "parent_id",
        "child_ids",
        "pages",
        "is_continuation",
    ];
    list(&chunked, "/chunks")
        .iter()
        .for_each(|chunk| has_fields(chunk, &fields));
    assert!(list(&chunked, "/chunks").len() > 2, "{chunked}");
    assert!(
        list(&chunked, "/chunks")
            .iter()
            .all(|chunk| number(chunk, "/tokens") <= 2000),
        "{chunked}"
    );

    let analyzed = workspace.json([
        "analyze",
        "载波聚合 improves gNodeB uplinks",
        "--format",
        "json",
    ]);
    let tokens: Vec<&str> = list(&analyzed, "/tokens")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert!(tokens.contains(&"gnodeb"), "{tokens:?}");
    assert!(
        tokens.iter().all(|token| token.chars().count() < 7),
        "Chinese is cut into words: {tokens:?}"
    );
    assert!(
        list(
            &workspace.json(["analyze", "", "--format", "json"]),
            "/tokens"
        )
        .is_empty()
    );

    for verb in ["convert", "chunk"] {
        workspace
            .run([verb, "nowhere.md"])
            .refused(1, &["cannot read nowhere.md"]);
        let png = workspace.write("picture.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
        workspace
            .run([verb, png.to_str().unwrap()])
            .refused(1, &["PNG", "hint:"]);
    }
    for shell in ["bash", "zsh", "fish"] {
        assert!(
            workspace
                .run(["completions", shell])
                .stdout
                .contains("knowledge-sets"),
            "{shell}"
        );
    }
    let doctor = workspace.json(["doctor", "--format", "json"]);
    list(&doctor, "/checks")
        .iter()
        .for_each(|check| has_fields(check, &["name", "ok", "detail", "hint"]));
    assert_eq!(doctor.get("ok"), Some(&Value::Bool(true)));
}

#[cfg(unix)]
#[test]
fn doctor_warns_of_a_folder_that_others_can_read() {
    use std::os::unix::fs::PermissionsExt;
    let workspace = Workspace::new();
    let hint = || {
        let doctor = workspace.json(["doctor", "--format", "json"]);
        list(&doctor, "/checks")
            .iter()
            .find(|check| check["name"] == "data folder")
            .unwrap()["hint"]
            .to_string()
    };
    assert_eq!(hint(), "null", "a folder of its own making is private");
    std::fs::set_permissions(workspace.data(), PermissionsExt::from_mode(0o755)).unwrap();
    assert!(hint().contains("chmod 700"), "{}", hint());
}

#[test]
fn a_missing_model_is_named_with_what_to_do() {
    let workspace = Workspace::new()
        .with("models.kind", "onnx")
        .with("models.folder", "no-such-model")
        .with("models.search_folders", "[]");
    workspace
        .run(["search", "x"])
        .refused(1, &["no-such-model", "hint:"]);
    let doctor = workspace.run(["doctor", "--format", "json"]);
    assert_eq!(doctor.code, 1, "{doctor:?}");
    assert!(
        list(&doctor.json(), "/checks")
            .iter()
            .any(|check| check.get("ok") == Some(&Value::Bool(false)) && !check["hint"].is_null())
    );
}

#[test]
fn an_unread_pipe_is_no_failure_and_logs_hold_no_colours() {
    let workspace = Workspace::new().with("telemetry.filter", "debug");
    workspace.write("docs/a.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
    let run = workspace.run(["-v", "publish", "docs", "--wait"]);
    assert!(
        run.stderr.contains("dead letters") && !run.stderr.contains('\u{1b}'),
        "{run:?}"
    );
    let mut command = workspace.command();
    command.args(["completions", "bash"]);
    command
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
}

#[test]
fn what_one_file_is_made_of_may_come_from_stdin() {
    let workspace = Workspace::new();
    let table = workspace.write("plain", "site,tilt\nHill,6\n");
    let sets = "[[knowledge_set]]\nid = \"all\"\nname = \"All\"\nview = \"common\"\nrules = [{ source = \"*\" }]\n";
    let sets = workspace.write("plain.toml", sets);
    let run = |file: &Path, verb: &[&str]| {
        let mut command = workspace.command();
        command.args(verb);
        let run = finish_with(command, File::open(file).unwrap(), RUN_DEADLINE);
        assert_eq!(run.code, 0, "{run:?}");
        run.stdout
    };
    let empty = workspace.write("empty.toml", "\n");
    let as_table = "| Hill | 6 |";
    assert!(!run(&table, &["convert", "-"]).contains(as_table));
    for format in [["--path", "a.csv"], ["--media-type", "text/csv"]] {
        for verb in ["convert", "chunk"] {
            let shown = run(&table, &[&[verb, "-"], &format[..]].concat());
            assert!(shown.contains(as_table), "{verb} {format:?}: {shown}");
        }
    }
    assert!(run(&sets, &["knowledge-sets", "apply", "-"]).contains("1 knowledge set"));
    workspace
        .run(["knowledge-sets", "apply", "empty.toml"])
        .refused(1, &["empty.toml holds nothing"]);
    let mut nothing = workspace.command();
    nothing.args(["knowledge-sets", "apply", "-"]);
    let refused = finish_with(nothing, File::open(empty).unwrap(), RUN_DEADLINE);
    assert!(refused.code == 1 && refused.stderr.contains("holds nothing"));
}
