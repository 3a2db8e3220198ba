//! XML as a tree: elements and attributes are names, without their namespaces; text with elements
//! in it is one text. Entities that the document defines itself are not expanded, so nothing grows.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use tributary_schemas::Result;

use crate::limits::Limits;
use crate::text::tree::Tree;
use crate::xml_references::text_of;

/// Elements that may be nested in each other; XML that is deeper does not parse.
const MAXIMUM_DEPTH: usize = 120;

/// Bytes at the start in which an encoding may be declared.
const DECLARATION_BYTES: usize = 256;

/// An element that is open.
#[derive(Default)]
struct Open {
    name: String,
    entries: Vec<(String, Tree)>,
    text: String,
    /// Whether elements stand within text.
    is_mixed: bool,
    /// Whether the last thing in the text is an element.
    ends_with_element: bool,
}

/// The tree; `None` if it is no well-formed XML.
pub(super) fn parse(text: &str, limits: &Limits) -> Result<Option<Tree>> {
    let mut reader = Reader::from_str(text);
    let mut open = vec![Open::default()];
    for count in 0_usize.. {
        if count.is_multiple_of(1024) {
            limits.check_time()?;
        }
        match reader.read_event() {
            Ok(Event::Eof) => break,
            Ok(event) => {
                if !take(event, &mut open) || open.len() > MAXIMUM_DEPTH {
                    return Ok(None);
                }
            }
            Err(_) => return Ok(None),
        }
    }
    let root = open.pop().filter(|_| open.is_empty()).map(finish);
    Ok(root.filter(|tree| matches!(tree, Tree::Record(entries) if !entries.is_empty())))
}

/// Whether the event fits.
fn take(event: Event, open: &mut Vec<Open>) -> bool {
    match event {
        Event::Start(start) => open.push(element(&start)),
        Event::Empty(start) => {
            let empty = element(&start);
            close(empty, open);
        }
        Event::End(_) => {
            let Some(ended) = open.pop().filter(|_| !open.is_empty()) else {
                return false;
            };
            close(ended, open);
        }
        Event::Text(text) => push_text(&text.xml10_content(), open),
        Event::CData(data) => push_text(&data.xml10_content(), open),
        Event::GeneralRef(reference) => push_text(&text_of(&reference), open),
        Event::Decl(_) | Event::PI(_) | Event::DocType(_) | Event::Comment(_) | Event::Eof => {}
    }
    true
}

fn element(start: &BytesStart) -> Open {
    let name = start.local_name().as_ref().to_owned();
    let mut attributes = start.attributes();
    let entries = attributes
        .with_checks(false)
        .filter_map(std::result::Result::ok)
        .filter(|attribute| {
            !attribute.key.as_ref().starts_with("xmlns")
                && !attribute.key.as_ref().starts_with("xsi:")
        })
        .map(|attribute| {
            let raw = attribute.value.clone().into_owned();
            let value = quick_xml::escape::unescape(&raw)
                .map_or_else(|_| raw.clone(), std::borrow::Cow::into_owned);
            (
                attribute.key.local_name().as_ref().to_owned(),
                Tree::Text(value),
            )
        });
    Open {
        entries: entries.collect(),
        name,
        ..Open::default()
    }
}

fn push_text(text: &str, open: &mut [Open]) {
    if let Some(top) = open.last_mut() {
        top.text.push_str(text);
        top.ends_with_element &= text.is_empty();
        top.is_mixed |= !text.trim().is_empty() && !top.entries.is_empty();
    }
}

/// Gives an ended element to the one around it.
fn close(ended: Open, open: &mut [Open]) {
    let Some(around) = open.last_mut() else {
        return;
    };
    around.is_mixed |= !around.text.trim().is_empty();
    let name = ended.name.clone();
    let is_blank = |edge: Option<char>| edge.is_some_and(char::is_whitespace);
    let (has_blank_before, has_blank_after) = (
        is_blank(ended.text.chars().next()),
        is_blank(ended.text.chars().next_back()),
    );
    let tree = finish(ended);
    if around.is_mixed {
        // White space counts within text; elements without any between them are words of their own.
        if around.ends_with_element || has_blank_before {
            around.text.push(' ');
        }
        words(&tree, &mut around.text);
        around.text.extend(has_blank_after.then_some(' '));
        around.ends_with_element = true;
    } else {
        around.entries.push((name, tree));
    }
}

/// The value of an element: its text, its parts, or both.
fn finish(element: Open) -> Tree {
    let text = lines(&element.text);
    if element.entries.is_empty() {
        return if text.is_empty() {
            Tree::Nothing
        } else {
            Tree::Text(text)
        };
    }
    let mut entries = grouped(element.entries);
    if !text.is_empty() {
        entries.push(("text".to_owned(), Tree::Text(text)));
    }
    Tree::Record(entries)
}

/// Elements of one name that repeat become a list.
fn grouped(entries: Vec<(String, Tree)>) -> Vec<(String, Tree)> {
    let mut places: std::collections::HashMap<String, usize> = std::collections::HashMap::new();
    let mut groups: Vec<(String, Vec<Tree>)> = Vec::new();
    for (name, value) in entries {
        let place = *places.entry(name.clone()).or_insert_with(|| {
            groups.push((name, Vec::new()));
            groups.len() - 1
        });
        if let Some((_, values)) = groups.get_mut(place) {
            values.push(value);
        }
    }
    groups
        .into_iter()
        .map(|(name, values)| (name, one_or_many(values)))
        .collect()
}

/// The tree itself if it is alone.
fn one_or_many(mut values: Vec<Tree>) -> Tree {
    if values.len() == 1 {
        values.pop().unwrap_or(Tree::Nothing)
    } else {
        Tree::List(values)
    }
}

/// All words of a value.
fn words(tree: &Tree, out: &mut String) {
    match tree {
        Tree::List(items) => items.iter().for_each(|item| {
            words(item, out);
            out.push(' ');
        }),
        Tree::Record(entries) => entries.iter().for_each(|(_, value)| {
            words(value, out);
            out.push(' ');
        }),
        scalar => out.push_str(scalar.scalar().unwrap_or_default()),
    }
}

/// White space of the notation removed: blanks to one, blank lines part paragraphs.
fn lines(text: &str) -> String {
    let paragraphs = text
        .split("\n\n")
        .map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" "));
    paragraphs
        .filter(|paragraph| !paragraph.is_empty())
        .collect::<Vec<_>>()
        .join("\n\n")
}

/// The encoding that the declaration names.
pub(super) fn declared_encoding(bytes: &[u8]) -> Option<String> {
    let head =
        String::from_utf8_lossy(bytes.get(..DECLARATION_BYTES.min(bytes.len()))?).into_owned();
    let declaration = head
        .trim_start_matches('\u{FEFF}')
        .strip_prefix("<?xml")?
        .split("?>")
        .next()?
        .to_owned();
    let (_, after) = declaration.split_once("encoding")?;
    let value = after.trim_start().strip_prefix('=')?.trim_start();
    let quote = value
        .chars()
        .next()
        .filter(|quote| matches!(quote, '"' | '\''))?;
    value.get(1..)?.split(quote).next().map(str::to_owned)
}
