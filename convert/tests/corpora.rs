//! Real documents: every file of the corpora converts, and the HTML set keeps its text, headings
//! and tables.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

#[path = "../src/test_config.rs"]
mod test_config;

use std::path::{Path, PathBuf};

use tributary_convert::limits::Limits;
use tributary_convert::{Config, Job, convert};

fn shared(part: &str) -> Option<PathBuf> {
    let root = std::env::var_os("TRIBUTARY_SHARED")
        .map(PathBuf::from)
        .unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared"));
    let folder = root.join("data").join(part);
    if !folder.is_dir() {
        eprintln!("SKIPPED: {} is not there", folder.display());
        return None;
    }
    Some(folder)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path)
            } else {
                files.push(path)
            }
        }
    }
    files.sort();
    files
}

#[test]
fn every_file_of_the_text_corpora_converts() {
    let config: Config = test_config::config();
    for part in ["wireless-docs", "mindspore", "os-textbook"] {
        let Some(folder) = shared(part) else { return };
        let (mut count, mut titled) = (0, 0);
        for path in files(&folder) {
            let bytes = std::fs::read(&path).unwrap();
            let name = path.to_string_lossy();
            let converted = convert(
                Job::named(&bytes, &name),
                &config,
                &Limits::starting_now(&config),
            )
            .unwrap_or_else(|error| panic!("{name}: {}", error.full_message()));
            // Files of definitions for others say nothing themselves.
            let says_nothing = String::from_utf8_lossy(&bytes)
                .lines()
                .all(|line| line.trim().is_empty() || line.starts_with(".. |"));
            assert_eq!(converted.markdown.trim().is_empty(), says_nothing, "{name}");
            assert!(
                !converted.metadata.contains_key("replaced_characters"),
                "{name} has undecodable characters"
            );
            count += 1;
            titled += usize::from(converted.title.is_some());
        }
        assert!(
            count > 100 || part == "os-textbook",
            "{part} has {count} files"
        );
        assert_eq!(titled, count, "{part}: every document has a title");
    }
}

#[test]
fn html_keeps_its_text_and_its_tables() {
    let Some(folder) = shared("docs/html") else {
        return;
    };
    let config: Config = test_config::config();
    let markdown = |file: &str| {
        let bytes = std::fs::read(folder.join(file)).unwrap();
        convert(
            Job::named(&bytes, file),
            &config,
            &Limits::starting_now(&config),
        )
        .unwrap()
        .markdown
    };
    assert!(markdown("_mozilla_bug171813_text.html").contains("搜狐在线国庆免费大酬宾"));
    assert!(markdown("html_rich_table_cells.html").contains("| Short | “quak” |"));
    let sales = markdown("complex_table.html");
    assert!(
        sales.contains("| Region | Q1 | Q2 | Q3 | Q4 | Total |"),
        "{sales}"
    );
    assert!(markdown("wiki_duck.html").contains("## Etymology"));
    assert!(!markdown("test_serp.html").contains("function("));
}
