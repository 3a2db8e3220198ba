//! Documents of our own making and the Markdown that a careful reader would write for them, one or
//! two for each format.
//!
//! `goldens/NAME` is converted and compared with `goldens/NAME.md`: the title on its first line,
//! `<!-- page -->` where a page begins. `TRIBUTARY_UPDATE=1` writes what comes out instead.
//! `goldens/make_documents.py` wrote the documents, `eval/workloads/conversion/render/fixtures.py`
//! those that begin with `tagged-`.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

#[path = "../src/test_config.rs"]
mod test_config;

use std::path::{Path, PathBuf};

use tributary_convert::config::Engine;
use tributary_convert::limits::Limits;
use tributary_convert::{Config, Job, LIBRARY_VARIABLE, convert, find_library, pages};
use tributary_schemas::ErrorKind;

/// Ends the name of what is expected of a document.
const EXPECTATION: &str = ".md";

/// Files of the folder that are no documents.
const OTHERS: [&str; 2] = ["make_documents.py", "README.md"];

/// What [`pages::mark`] puts where a page begins, and what stands for it in an expectation.
const PAGE_MARKS: (&str, &str) = ("\u{FDD0}", "<!-- page -->");

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens")
}

/// The users' settings, with the PDFium that `make run` fetches unless another is named.
fn config() -> Config {
    let mut config: Config = test_config::config();
    if std::env::var_os(LIBRARY_VARIABLE).is_none() {
        let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.tributary/models");
        config.pdf.library = find_library(&[models]).unwrap_or_default();
    }
    config
}

/// Names of the documents: every file that is not what is expected of another.
fn documents() -> Vec<String> {
    let names: Vec<String> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let is_expectation = |name: &str| {
        name.strip_suffix(EXPECTATION)
            .is_some_and(|document| names.iter().any(|other| other == document))
    };
    let mut documents: Vec<String> = names
        .iter()
        .filter(|name| !is_expectation(name) && !OTHERS.contains(&name.as_str()))
        .cloned()
        .collect();
    documents.sort();
    documents
}

/// Whether PDFium can be loaded. The built-in reader finds neither columns nor tables, so nothing
/// is expected of it here.
fn has_pdfium(pdf: &[u8], config: &Config) -> bool {
    let mut config = config.clone();
    config.pdf.engine = Engine::Pdfium;
    !convert(
        Job::named(pdf, "a.pdf"),
        &config,
        &Limits::starting_now(&config),
    )
    .is_err_and(|error| error.kind() == ErrorKind::Unavailable)
}

/// Title and Markdown as an expectation has them; `None` if the document cannot be converted here.
fn shown(name: &str, config: &Config) -> Option<String> {
    let bytes = std::fs::read(folder().join(name)).unwrap();
    if name.ends_with(".pdf") && !has_pdfium(&bytes, config) {
        eprintln!(
            "SKIPPED: {name} is not converted: PDFium is missing; `deploy/models/fetch` gets it, or {LIBRARY_VARIABLE} names it"
        );
        return None;
    }
    let converted = convert(
        Job::named(&bytes, name),
        config,
        &Limits::starting_now(config),
    )
    .unwrap_or_else(|error| panic!("{name}: {}", error.full_message()));
    let (mark, shown_mark) = PAGE_MARKS;
    let markdown = pages::mark(&converted.markdown).replace(mark, shown_mark);
    Some(format!(
        "<!-- title: {} -->\n{}\n",
        converted.title.unwrap_or_default(),
        markdown.trim()
    ))
}

/// What differs, from the first to the last such line.
fn difference(name: &str, expected: &str, found: &str) -> String {
    let (expected, found): (Vec<&str>, Vec<&str>) =
        (expected.lines().collect(), found.lines().collect());
    let start = expected
        .iter()
        .zip(&found)
        .take_while(|(one, other)| one == other)
        .count();
    let rest = expected.len().min(found.len()) - start;
    let end = expected
        .iter()
        .rev()
        .zip(found.iter().rev())
        .take(rest)
        .take_while(|(one, other)| one == other)
        .count();
    let part = |sign: char, lines: &[&str]| -> String {
        lines
            .iter()
            .take(lines.len() - end)
            .skip(start)
            .map(|line| format!("{sign} {line}\n"))
            .collect()
    };
    format!(
        "{name}, line {}:\n{}{}\n",
        start + 1,
        part('-', &expected),
        part('+', &found)
    )
}

#[test]
fn documents_become_the_expected_markdown() {
    let config = config();
    let is_update = std::env::var_os("TRIBUTARY_UPDATE").is_some_and(|value| value == "1");
    let mut differences = String::new();
    let documents = documents();
    assert!(!documents.is_empty());
    for name in documents {
        let Some(found) = shown(&name, &config) else {
            continue;
        };
        let path = folder().join(format!("{name}{EXPECTATION}"));
        if is_update {
            std::fs::write(&path, &found).unwrap();
            continue;
        }
        let expected = std::fs::read_to_string(&path).ok().unwrap_or_default();
        if found != expected {
            differences.push_str(&difference(&name, &expected, &found));
        }
    }
    assert!(
        differences.is_empty(),
        "-: expected, +: found\n\n{differences}If what was found is right, TRIBUTARY_UPDATE=1 writes it."
    );
}
