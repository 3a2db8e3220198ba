//! Tables of contents within a page: lists and paragraphs of nothing but links to the page's own
//! headings. They say nothing that the headings do not, and their page numbers are those of a
//! print.

use std::collections::HashSet;

use ego_tree::NodeId;
use scraper::{ElementRef, Node};

use super::Tree;
use crate::contents::{MINIMUM_ENTRIES, is_title, key};

/// Share of a list's text that must stand in links to places of the page.
const LINKED_SHARE: f64 = 0.8;

/// Share of the links that must be headings of the page.
const HEADING_SHARE: f64 = 0.6;

/// The nodes of all tables of contents, and of their titles. `left_out` is no text of headings.
pub(super) fn find(root: Tree, left_out: &HashSet<NodeId>) -> Vec<NodeId> {
    let headings: HashSet<String> = root
        .descendants()
        .filter(|node| named(*node, &["h1", "h2", "h3", "h4", "h5", "h6"]))
        .map(|node| key(&shown_text(node, left_out)))
        .filter(|key| !key.is_empty())
        .collect();
    let mut found = Vec::new();
    if headings.len() >= MINIMUM_ENTRIES {
        collect(root, &headings, &mut found);
    }
    found
}

fn collect(root: Tree, headings: &HashSet<String>, found: &mut Vec<NodeId>) {
    let mut stack = vec![root];
    while let Some(node) = stack.pop() {
        if named(node, &["ul", "ol"]) {
            if is_contents(node, headings) {
                found.push(node.id());
                found.extend(title_before(node));
            }
            continue;
        }
        entries(node, headings, found);
        stack.extend(node.children());
    }
}

/// Adds the paragraphs of a node that are entries, where enough of them follow each other.
fn entries(node: Tree, headings: &HashSet<String>, found: &mut Vec<NodeId>) {
    let mut run: Vec<Tree> = Vec::new();
    let mut finish = |run: &mut Vec<Tree>| {
        if run.len() >= MINIMUM_ENTRIES {
            found.extend(run.iter().map(|entry| entry.id()));
            found.extend(run.first().and_then(|entry| title_before(*entry)));
        }
        run.clear();
    };
    for child in node.children().filter(|child| child.value().is_element()) {
        if named(child, &["p"]) && is_entry(child, headings) {
            run.push(child);
        } else {
            finish(&mut run);
        }
    }
    finish(&mut run);
}

fn is_entry(paragraph: Tree, headings: &HashSet<String>) -> bool {
    paragraph.descendants().any(is_place) && headings.contains(&key(&text_of(paragraph)))
}

fn is_contents(list: Tree, headings: &HashSet<String>) -> bool {
    let links: Vec<String> = list
        .descendants()
        .filter(|node| is_place(*node))
        .map(text_of)
        .collect();
    if links.len() < MINIMUM_ENTRIES {
        return false;
    }
    let letters = |text: &str| {
        text.chars()
            .filter(|character| character.is_alphabetic())
            .count()
    };
    let linked: usize = links.iter().map(|text| letters(text)).sum();
    let known = links
        .iter()
        .filter(|text| headings.contains(&key(text)))
        .count();
    linked as f64 >= letters(&text_of(list)) as f64 * LINKED_SHARE
        && known as f64 >= links.len() as f64 * HEADING_SHARE
}

/// The title of a table of contents before a node.
fn title_before(node: Tree) -> Option<NodeId> {
    let before = node
        .prev_siblings()
        .find(|before| before.value().is_element())?;
    is_title(&text_of(before)).then_some(before.id())
}

/// A link to a place of the page.
fn is_place(node: Tree) -> bool {
    ElementRef::wrap(node).is_some_and(|element| {
        element.value().name() == "a"
            && element
                .attr("href")
                .is_some_and(|link| link.starts_with('#') && link.len() > 1)
    })
}

fn named(node: Tree, names: &[&str]) -> bool {
    ElementRef::wrap(node).is_some_and(|element| names.contains(&element.value().name()))
}

fn text_of(node: Tree) -> String {
    node.descendants()
        .filter_map(|below| match below.value() {
            Node::Text(text) => Some(&*text.text),
            _ => None,
        })
        .collect()
}

/// The same without what is left out, such as a link to edit the section.
fn shown_text(node: Tree, left_out: &HashSet<NodeId>) -> String {
    let (mut text, mut stack) = (String::new(), vec![node]);
    while let Some(node) = stack.pop() {
        if let Node::Text(part) = node.value() {
            text.push_str(&part.text);
        } else if !left_out.contains(&node.id()) {
            stack.extend(node.children().rev());
        }
    }
    text
}
