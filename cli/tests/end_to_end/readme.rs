//! The tour of the README, in both languages: its commands are run as they stand there and print
//! what stands there, but for numbers.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::{RUN_DEADLINE, Workspace, finish};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_owned()
}

/// Commands of the section with what they print, line by line.
fn tour(readme: &str, heading: &str) -> Vec<(String, Vec<String>)> {
    let text = fs::read_to_string(root().join(readme)).unwrap();
    let section = text
        .split("\n## ")
        .find(|section| section.starts_with(heading))
        .unwrap();
    let block = section
        .split("```console\n")
        .nth(1)
        .unwrap()
        .split("```")
        .next()
        .unwrap();
    let mut steps: Vec<(String, Vec<String>)> = Vec::new();
    for line in block.lines().filter(|line| !line.trim().is_empty()) {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (Some(command), _) => steps.push((command.to_owned(), Vec::new())),
            (None, Some((_, printed))) => printed.push(line.to_owned()),
            (None, None) => panic!("{readme}: `{line}` comes before any command"),
        }
    }
    steps
}

/// Without numbers and widths.
fn shape(line: &str) -> String {
    let mut shape = String::new();
    for letter in line
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .chars()
    {
        let letter = if letter.is_ascii_digit() { '0' } else { letter };
        if !(letter == '0' && shape.ends_with('0')) {
            shape.push(letter);
        }
    }
    shape.replace("0.0", "0")
}

/// `…` stands for any end.
fn is_like(expected: &str, printed: &str) -> bool {
    let (expected, printed) = (shape(expected), shape(printed));
    let begins = |text: &str| {
        text.split('…')
            .next()
            .unwrap_or_default()
            .trim_end()
            .to_owned()
    };
    match expected.contains('…') {
        true => {
            begins(&printed).starts_with(&begins(&expected))
                || begins(&expected).starts_with(&begins(&printed)) && printed.contains('…')
        }
        false => expected == printed,
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn walk_through(readme: &str, heading: &str) {
    let workspace = Workspace::new();
    copy(&root().join("docs"), &workspace.path("docs"));
    workspace.write(
        "speech.wav",
        b"RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00",
    );
    let binary = Path::new(env!("CARGO_BIN_EXE_tributary"));
    let path = format!(
        "{}:{}",
        binary.parent().unwrap().display(),
        std::env::var("PATH").ok().unwrap_or_default()
    );
    let steps = tour(readme, heading);
    assert!(steps.len() > 5, "{readme}: {steps:?}");
    for (command, expected) in steps {
        let mut shell = workspace.prepare(Command::new("sh"));
        shell.env("PATH", &path).args(["-c", &command]);
        let run = finish(shell, RUN_DEADLINE);
        let printed: Vec<&str> = run
            .stdout
            .lines()
            .chain(run.stderr.lines())
            .filter(|line| !line.trim().is_empty())
            .collect();
        for line in &expected {
            assert!(
                printed.iter().any(|printed| is_like(line, printed)),
                "{readme}: `{command}` prints no `{line}`, but:\n{}",
                printed.join("\n")
            );
        }
    }
}

#[test]
fn the_tour_of_the_readme_prints_what_it_says() {
    walk_through("README.md", "A quick tour");
}

#[test]
fn the_tour_of_the_chinese_readme_prints_what_it_says() {
    walk_through("README.zh-CN.md", "快速上手");
}

#[test]
fn numbers_and_ends_may_differ_and_nothing_else() {
    assert!(is_like(
        "93 published, 93 indexed in 8.6 s",
        "107 published, 107 indexed in 11 s"
    ));
    assert!(is_like(
        "     a **b**: the record goes …",
        " a **b**: the record goes unchanged"
    ));
    assert!(!is_like(
        "93 published, 93 indexed in 8.6 s",
        "93 published, 93 skipped in .2 s"
    ));
    assert!(!is_like(
        "a: the record goes …",
        "b: the record goes unchanged"
    ));
}
