//! The picture in `docs/architecture.md`, kept true: which of our crates may use which, which
//! foreign crate belongs to whom, and what every file of the repository keeps to. Reads `cargo
//! metadata` and the tracked files.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use cargo_metadata::{DependencyKind, MetadataCommand};

const PREFIX: &str = "tributary-";

const LAYER_0: &[&str] = &["schemas"];
const LAYER_1: &[&str] = &["taxonomy", "store", "models"];
const LAYER_2: &[&str] = &["ingest", "enrich", "indexer", "retrieval"];

/// Each crate of ours with those that it may use. No edges inside a layer: services meet only in
/// messages.
const PICTURE: &[(&str, &[&[&str]])] = &[
    ("schemas", &[]),
    ("taxonomy", &[LAYER_0]),
    ("store", &[LAYER_0]),
    ("models", &[LAYER_0]),
    ("convert", &[LAYER_0, &["models"]]),
    ("ingest", &[LAYER_0, LAYER_1, &["convert"]]),
    ("enrich", &[LAYER_0, LAYER_1]),
    ("indexer", &[LAYER_0, LAYER_1]),
    ("retrieval", &[LAYER_0, LAYER_1]),
    ("query-api", &[LAYER_0, LAYER_1, &["retrieval"]]),
    ("eval", &[LAYER_0, LAYER_1, &["retrieval"]]),
    (
        "cli",
        &[LAYER_0, LAYER_1, LAYER_2, &["convert", "query-api", "eval"]],
    ),
];

/// Foreign crates that only these crates of ours may use, tests included.
const OWNERS: &[(&[&str], &[&str])] = &[
    (
        &[
            "elasticsearch",
            "memmap2",
            "object_store",
            "rdkafka",
            "tantivy",
        ],
        &["store"],
    ),
    (&["minijinja", "ndarray", "ort", "tokenizers"], &["models"]),
    (
        &[
            "chardetng",
            "ego-tree",
            "html5ever",
            "image",
            "landlock",
            "pdfium-render",
            "quick-xml",
            "scraper",
        ],
        &["convert"],
    ),
    (&["serde-saphyr", "tiff", "unpdf"], &["convert"]),
    // Of schemas: which charsets there are is checked where a document is accepted.
    (&["encoding_rs"], &["convert", "schemas"]),
    // Of the store: conversations; of convert: tables of documents; of query-api and retrieval: their
    // rows.
    (
        &["rusqlite"],
        &["convert", "query-api", "retrieval", "store"],
    ),
    (&["sqlparser"], &["retrieval"]),
    // Of the command line: a test makes a system that lacks what confinement needs.
    (&["seccompiler"], &["cli", "convert"]),
    // Of the command line: its tests change documents of these kinds.
    (&["cfb"], &["cli", "convert"]),
    (&["zip"], &["cli", "convert", "models"]),
    (
        &["pulldown-cmark"],
        &["convert", "enrich", "query-api", "retrieval"],
    ),
    // Of query-api: the bridge to its own `/mcp`; of retrieval: live search.
    (&["reqwest"], &["models", "query-api", "retrieval"]),
    (
        &["ammonia", "docx-rs", "ipnet", "pulldown-latex", "ring"],
        &["query-api"],
    ),
    (&["jieba-rs", "rust-stemmers"], &["taxonomy"]),
    (&["actix-multipart", "actix-web", "rmcp"], &["query-api"]),
    (
        &["clap", "clap_complete", "indicatif", "tracing-subscriber"],
        &["cli"],
    ),
];

/// The others give errors a kind, so that a worker knows what to do with the record.
const MAY_USE_ANYHOW: &[&str] = &["cli", "eval"];

/// One crate of ours uses another crate.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Edge {
    /// Without our prefix.
    from: String,
    /// Package name.
    to: String,
    in_tests_only: bool,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_owned()
}

fn edges() -> Vec<Edge> {
    let manifest = root().join("Cargo.toml");
    let metadata = MetadataCommand::new()
        .manifest_path(manifest)
        .no_deps()
        .exec()
        .unwrap();
    let of_package = |package: cargo_metadata::Package| {
        let from = package
            .name
            .strip_prefix(PREFIX)
            .unwrap_or(&package.name)
            .to_owned();
        let edge = move |dependency: cargo_metadata::Dependency| Edge {
            from: from.clone(),
            to: dependency.name,
            in_tests_only: dependency.kind == DependencyKind::Development,
        };
        package
            .dependencies
            .into_iter()
            .map(edge)
            .collect::<Vec<_>>()
    };
    metadata.packages.into_iter().flat_map(of_package).collect()
}

/// What is wrong with each edge that the picture does not allow.
fn violations(edges: &[Edge]) -> Vec<String> {
    edges.iter().filter_map(violation).collect()
}

fn violation(edge: &Edge) -> Option<String> {
    let Edge {
        from,
        to,
        in_tests_only,
    } = edge;
    let Some((_, allowed)) = PICTURE.iter().find(|(name, _)| name == from) else {
        return Some(format!("{from} is not in the picture: give it a layer"));
    };
    if let Some(ours) = to.strip_prefix(PREFIX) {
        let is_allowed = allowed.iter().any(|layer| layer.contains(&ours));
        return (!is_allowed).then(|| format!("{from} may not use {ours}"));
    }
    if to == "anyhow" && !in_tests_only && !MAY_USE_ANYHOW.contains(&from.as_str()) {
        return Some(format!("{from} may not use anyhow: its errors need a kind"));
    }
    let (_, owners) = OWNERS
        .iter()
        .find(|(crates, _)| crates.contains(&to.as_str()))?;
    (!owners.contains(&from.as_str()))
        .then(|| format!("{from} may not use {to}: only {owners:?} may"))
}

#[test]
fn our_crates_use_only_what_the_picture_allows() {
    let edges = edges();
    let crates: BTreeSet<&str> = edges.iter().map(|edge| edge.from.as_str()).collect();
    assert_eq!(
        crates,
        PICTURE.iter().map(|(name, _)| *name).collect(),
        "the crates of the picture are those of the workspace"
    );
    let violations = violations(&edges);
    assert!(
        violations.is_empty(),
        "edges that docs/architecture.md does not allow:\n{}",
        violations.join("\n")
    );
}

#[test]
fn wrong_edges_are_found_and_right_ones_are_not() {
    let edge = |from: &str, to: &str| Edge {
        from: from.into(),
        to: to.into(),
        in_tests_only: false,
    };
    let wrong = [
        (
            edge("schemas", "tributary-store"),
            "schemas may not use store",
        ),
        (
            edge("store", "tributary-models"),
            "store may not use models",
        ),
        (
            edge("ingest", "tributary-enrich"),
            "ingest may not use enrich",
        ),
        (
            edge("query-api", "tributary-indexer"),
            "query-api may not use indexer",
        ),
        (
            edge("store", "tributary-query-api"),
            "store may not use query-api",
        ),
        (edge("eval", "tributary-ingest"), "eval may not use ingest"),
        (
            edge("eval", "tributary-query-api"),
            "eval may not use query-api",
        ),
        (
            edge("retrieval", "actix-web"),
            "retrieval may not use actix-web: only [\"query-api\"] may",
        ),
        (
            edge("convert", "tributary-store"),
            "convert may not use store",
        ),
        (edge("eval", "tributary-cli"), "eval may not use cli"),
        (
            edge("common", "serde"),
            "common is not in the picture: give it a layer",
        ),
        (
            edge("query-api", "tantivy"),
            "query-api may not use tantivy: only [\"store\"] may",
        ),
        (
            edge("enrich", "jieba-rs"),
            "enrich may not use jieba-rs: only [\"taxonomy\"] may",
        ),
        (
            edge("cli", "actix-web"),
            "cli may not use actix-web: only [\"query-api\"] may",
        ),
        (
            edge("retrieval", "ammonia"),
            "retrieval may not use ammonia: only [\"query-api\"] may",
        ),
        (
            edge("indexer", "anyhow"),
            "indexer may not use anyhow: its errors need a kind",
        ),
    ];
    for (edge, expected) in wrong {
        assert_eq!(violation(&edge).as_deref(), Some(expected));
        let in_tests = violation(&Edge {
            in_tests_only: true,
            ..edge.clone()
        });
        assert_eq!(
            in_tests.is_none(),
            edge.to == "anyhow",
            "an edge of tests is an edge: {edge:?}"
        );
    }
    let right = [
        edge("cli", "tributary-eval"),
        edge("eval", "tributary-retrieval"),
        edge("query-api", "tributary-retrieval"),
        edge("convert", "pulldown-cmark"),
        edge("ingest", "tributary-convert"),
        edge("cli", "anyhow"),
    ];
    assert_eq!(violations(&right), Vec::<String>::new());
}

#[test]
fn every_dependency_of_the_workspace_is_used_by_a_crate() {
    let manifest: toml::Table = std::fs::read_to_string(root().join("Cargo.toml"))
        .unwrap()
        .parse()
        .unwrap();
    let edges = edges();
    let used: BTreeSet<&str> = edges.iter().map(|edge| edge.to.as_str()).collect();
    let declared = manifest["workspace"]["dependencies"].as_table().unwrap();
    let unused: Vec<&String> = declared
        .keys()
        .filter(|name| !used.contains(name.as_str()))
        .collect();
    assert!(
        unused.is_empty(),
        "no crate uses {unused:?}: remove them from Cargo.toml"
    );
}

/// Files of the repository that git does not ignore; none where this is no checkout.
fn files() -> Vec<PathBuf> {
    let listed = Command::new("git")
        .args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ])
        .current_dir(root())
        .output();
    match listed {
        Ok(output) if output.status.success() => {
            let names = String::from_utf8(output.stdout).unwrap();
            names
                .split_terminator('\0')
                .map(PathBuf::from)
                .filter(|path| root().join(path).is_file())
                .collect()
        }
        _ => {
            eprintln!(
                "SKIPPED: {} is no git checkout, or git is not there",
                root().display()
            );
            Vec::new()
        }
    }
}

#[test]
fn every_source_file_opens_with_what_it_is_for() {
    let is_source = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "rs");
    let says_nothing = |path: &PathBuf| {
        !std::fs::read_to_string(root().join(path))
            .unwrap()
            .starts_with("//! ")
    };
    let silent: Vec<PathBuf> = files()
        .into_iter()
        .filter(is_source)
        .filter(says_nothing)
        .collect();
    assert!(
        silent.is_empty(),
        "these files do not open with a `//!` line: {silent:?}"
    );
}

/// Paths that a text in Markdown names: those of links, from where it lies, and code that begins
/// with one of the `roots`, from the top.
fn named_paths(text: &str, folder: &Path, roots: &BTreeSet<String>) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for link in text.split("](").skip(1) {
        let target = link.split([')', '#', ' ']).next().unwrap_or_default();
        if !target.is_empty() && !target.contains(':') {
            paths.push(folder.join(target));
        }
    }
    // Even parts lie between code.
    for code in text.split('`').skip(1).step_by(2) {
        let is_path = code.contains('/')
            && !code
                .contains(|letter: char| letter.is_whitespace() || "<>{}$*…|()".contains(letter));
        if is_path
            && code
                .split('/')
                .next()
                .is_some_and(|root| roots.contains(root))
        {
            paths.push(PathBuf::from(code));
        }
    }
    paths
}

#[test]
fn paths_that_the_documentation_names_exist() {
    let files = files();
    let top = |path: &PathBuf| {
        path.components()
            .next()
            .map(|first| first.as_os_str().to_string_lossy().into_owned())
    };
    let roots: BTreeSet<String> = files
        .iter()
        .filter(|path| path.components().count() > 1)
        .filter_map(top)
        .collect();
    let mut missing = Vec::new();
    let is_documentation = |path: &&PathBuf| {
        path.extension().is_some_and(|extension| extension == "md")
            && !path.iter().any(|part| part == "tests")
    };
    for file in files.iter().filter(is_documentation) {
        let text = std::fs::read_to_string(root().join(file)).unwrap();
        let named = named_paths(&text, file.parent().unwrap(), &roots);
        missing.extend(
            named
                .into_iter()
                .filter(|path| !root().join(path).exists())
                .map(|path| format!("{}: {}", file.display(), path.display())),
        );
    }
    assert!(
        missing.is_empty(),
        "documentation names paths that are not there:\n{}",
        missing.join("\n")
    );
}

#[test]
fn named_paths_are_links_and_code_of_the_repository() {
    let text = "See [a](../b.md#c), [d](https://e/f), [g](#h), `store/src/lib.rs`, `store/src/*.rs`, `embedded/`, `cargo run store/x`, `docs/`.";
    let roots = BTreeSet::from(["store".to_owned(), "docs".to_owned()]);
    let found = named_paths(text, Path::new("docs"), &roots);
    assert_eq!(
        found,
        ["docs/../b.md", "store/src/lib.rs", "docs/"].map(PathBuf::from)
    );
}

/// Where a path of somebody's machine begins in `text`: a home folder, or this checkout itself.
fn machine_path<'a>(text: &'a str, checkout: &str) -> Option<&'a str> {
    let homes = ["/home/", "/Users/", "/root/", r":\Users\"];
    let starts_a_path = |start: usize| {
        let before = text
            .get(..start)
            .and_then(|before| before.chars().next_back());
        before
            .is_none_or(|character| !character.is_alphanumeric() && !"./-_~}>".contains(character))
    };
    let is_drive = |found: &str| found.starts_with(':');
    let mut places = homes
        .into_iter()
        .chain([checkout])
        .flat_map(|pattern| text.match_indices(pattern));
    let (start, _) = places.find(|(start, found)| is_drive(found) || starts_a_path(*start))?;
    text.get(start..).and_then(|rest| rest.lines().next())
}

#[test]
fn no_file_names_a_path_of_a_developer_machine() {
    let checkout = root();
    let mut found = Vec::new();
    for path in files() {
        // This file spells the patterns.
        if path.ends_with("cli/tests/layers.rs") {
            continue;
        }
        let text =
            String::from_utf8_lossy(&std::fs::read(checkout.join(&path)).unwrap()).into_owned();
        found.extend(
            machine_path(&text, checkout.to_str().unwrap())
                .map(|line| format!("{}: {line}", path.display())),
        );
    }
    assert!(
        found.is_empty(),
        "paths of a developer machine:\n{}",
        found.join("\n")
    );
}

#[test]
fn paths_of_a_machine_are_told_from_others() {
    let wrong = [
        "see /home/anna/x",
        "\"/Users/li/src\"",
        r"C:\Users\bo",
        "/root/app",
        "in /srv/checkout/main/store",
    ];
    for text in wrong {
        assert!(machine_path(text, "/srv/checkout/main").is_some(), "{text}");
    }
    let right = [
        "https://example.com/home/page",
        "./root/x",
        "~/Users/x",
        "/srv/checkout/other",
        "/var/lib/tributary",
    ];
    for text in right {
        assert_eq!(machine_path(text, "/srv/checkout/main"), None);
    }
}
