//! `--profile research` on real pages and papers, and on messages of our own.

use super::tool::{attribute, chunks, field, preview, preview_texts, shared};

#[test]
fn pages_lose_their_lists_of_other_texts() {
    let Some(folder) = shared("docs/html") else {
        return;
    };
    let pages = preview("research", "web", &[folder]);
    let duck = pages.at("wiki_duck.html");
    let headings: Vec<&str> = field(duck, "markdown")
        .lines()
        .filter(|line| line.starts_with("## "))
        .collect();
    assert!(
        headings.iter().any(|heading| heading.contains("Etymology")),
        "{headings:?}"
    );
    assert!(
        !headings.iter().any(
            |heading| ["References", "External links", "See also", "Citations"]
                .iter()
                .any(|other| heading.contains(other))
        ),
        "{headings:?}"
    );
    assert!(
        pages
            .iter()
            .all(|(_, page)| attribute(page, "data_type") == "web_page")
    );
}

#[test]
fn papers_lose_their_references() {
    let Some(file) = shared("docs/pdf/tracemonkey.pdf") else {
        return;
    };
    let papers = preview("research", "papers", &[file]);
    let paper = papers.at("tracemonkey.pdf");
    let markdown = field(paper, "markdown");
    assert!(
        markdown.contains("trace") && markdown.len() > 20_000,
        "{}",
        markdown.len()
    );
    assert_eq!(
        paper["knowledge_sets"],
        serde_json::json!(["everything", "files"])
    );
}

#[test]
fn addresses_drafts_and_channels_are_read() {
    let messages = preview_texts(
        "research",
        "slack",
        &[(
            "radio/2024-05-06.md",
            "# Outage\n\nWhat happened?\n\n## Answer\n\nA fibre.\n",
        )],
    );
    let thread = messages.at("radio/2024-05-06.md");
    assert_eq!(
        (
            field(thread, "title"),
            chunks(thread),
            field(thread, "chunker")
        ),
        ("[radio] Outage", 1, "whole")
    );
    let drafts = preview_texts(
        "research",
        "papers",
        &[
            ("Survey v1.md", "# Survey\n\na\n\n## 5 References\n\n[1]\n"),
            ("Survey v2.md", "# Survey\n\nb\n"),
        ],
    );
    assert_eq!(
        field(drafts.at("Survey v1.md"), "markdown"),
        "# Survey\n\na\n\n"
    );
    assert_eq!(
        drafts.at("Survey v1.md")["edition"]["work"],
        drafts.at("Survey v2.md")["edition"]["work"]
    );
    let page = preview_texts(
        "research",
        "web",
        &[(
            "a.md",
            "# T\n\nAccept all cookies\n\ntext\n\nShare on Mastodon\n\n扫码关注：我们\n\n## See also\n\n- x\n",
        )],
    );
    assert_eq!(
        field(page.at("a.md"), "markdown")
            .split_whitespace()
            .collect::<Vec<_>>(),
        ["#", "T", "text"]
    );
}
