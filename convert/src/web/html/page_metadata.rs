//! Title and metadata of a page: `<title>`, `<meta>`, `<html lang>`, `<link rel=canonical>`.

use std::collections::BTreeMap;

use scraper::{ElementRef, Node};

use super::Tree;

/// Longest metadata value in characters.
const MAXIMUM_VALUE: usize = 2000;

/// `<meta>` names that are kept, and the names they are kept under.
const NAMES: [(&str, &str); 22] = [
    ("author", "author"),
    ("article:author", "author"),
    ("dc.creator", "author"),
    ("description", "description"),
    ("og:description", "description"),
    ("dc.description", "description"),
    ("keywords", "keywords"),
    ("news_keywords", "keywords"),
    ("date", "date"),
    ("dc.date", "date"),
    ("ms.date", "ms.date"),
    ("article:published_time", "published"),
    ("pubdate", "published"),
    ("article:modified_time", "modified"),
    ("last-modified", "modified"),
    ("og:updated_time", "modified"),
    ("og:title", "og:title"),
    ("og:url", "link"),
    ("og:site_name", "site_name"),
    ("product", "product"),
    ("language", "language"),
    ("content-language", "language"),
];

/// What a page says of itself.
#[derive(Default)]
pub(super) struct Head {
    pub title: Option<String>,
    pub metadata: BTreeMap<String, String>,
}

/// Reads title and metadata.
pub(super) fn read(root: Tree) -> Head {
    let mut head = Head::default();
    let (mut title, mut first_headings) = (None, Vec::new());
    for node in root.descendants() {
        let Some(element) = ElementRef::wrap(node) else {
            continue;
        };
        match element.value().name() {
            "html" => language(&element, &mut head.metadata),
            "meta" => meta(&element, &mut head.metadata),
            "link" if element.attr("rel") == Some("canonical") => keep(
                &mut head.metadata,
                "link",
                element.attr("href").unwrap_or_default(),
            ),
            "title" if title.is_none() && !in_foreign_content(node) => title = Some(text_of(node)),
            "h1" if first_headings.len() < 2 => first_headings.push(text_of(node)),
            _ => {}
        }
    }
    let title = title
        .filter(|title| !title.is_empty())
        .or_else(|| head.metadata.get("og:title").cloned());
    head.metadata.remove("og:title");
    head.title = choose_title(title, &first_headings);
    head
}

fn in_foreign_content(node: Tree) -> bool {
    node.parent()
        .and_then(ElementRef::wrap)
        .is_some_and(|parent| parent.value().name() != "head" && parent.value().name() != "body")
}

/// `<title>` often carries the site's name behind the heading: then the only `<h1>` is the better
/// title.
fn choose_title(title: Option<String>, first_headings: &[String]) -> Option<String> {
    let only = match first_headings {
        [only] if !only.is_empty() => Some(only.clone()),
        _ => None,
    };
    match (title, only) {
        (Some(title), Some(heading)) if title.starts_with(&heading) => Some(heading),
        (Some(title), _) => Some(title),
        (None, Some(heading)) => Some(heading),
        (None, None) => first_headings
            .first()
            .filter(|heading| !heading.is_empty())
            .cloned(),
    }
}

fn language(element: &ElementRef, metadata: &mut BTreeMap<String, String>) {
    let language = element
        .attr("lang")
        .or_else(|| element.attr("xml:lang"))
        .unwrap_or_default();
    keep(metadata, "language", language);
}

fn meta(element: &ElementRef, metadata: &mut BTreeMap<String, String>) {
    let name = element
        .attr("name")
        .or_else(|| element.attr("property"))
        .or_else(|| element.attr("http-equiv"))
        .unwrap_or_default();
    let name = name.trim().to_ascii_lowercase();
    if let Some((_, kept_as)) = NAMES.iter().find(|(known, _)| *known == name) {
        keep(
            metadata,
            kept_as,
            element.attr("content").unwrap_or_default(),
        );
    }
}

fn keep(metadata: &mut BTreeMap<String, String>, name: &str, value: &str) {
    let value = crate::titles::one_line(value, MAXIMUM_VALUE);
    if !value.is_empty() {
        metadata.entry(name.to_owned()).or_insert(value);
    }
}

/// All text below a node, white space collapsed.
fn text_of(node: Tree) -> String {
    let text: String = node
        .descendants()
        .filter_map(|node| {
            if let Node::Text(text) = node.value() {
                Some(&*text.text)
            } else {
                None
            }
        })
        .collect();
    let text: String = text
        .chars()
        .filter(|character| !matches!(character, '\u{200B}' | '\u{FEFF}' | '¶'))
        .collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
