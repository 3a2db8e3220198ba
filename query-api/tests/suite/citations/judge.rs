//! Reads Markdown as the page does and finds what a reader takes for a citation, and what is code.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// Stands where code or a formula stands.
const OTHER: char = '\u{fffc}';
/// Numbers above it in a pair are those of an interval.
const MAXIMUM_IN_PAIR: u32 = 99;

fn events(markdown: &str) -> impl Iterator<Item = Event<'_>> {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_MATH;
    Parser::new_ext(markdown, options)
}

/// The code, in order: inline, and each block.
pub fn code(markdown: &str) -> Vec<String> {
    let (mut found, mut block) = (Vec::new(), None::<String>);
    for event in events(markdown) {
        match event {
            Event::Code(code) => found.push(code.into_string()),
            Event::Start(Tag::CodeBlock(_)) => block = Some(String::new()),
            Event::End(TagEnd::CodeBlock) => found.extend(block.take()),
            Event::Text(text) => {
                if let Some(block) = &mut block {
                    block.push_str(&text);
                }
            }
            _ => {}
        }
    }
    found
}

/// What a reader reads outside code.
fn prose(markdown: &str) -> String {
    let (mut read, mut in_code) = (String::new(), false);
    for event in events(markdown) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => in_code = true,
            Event::End(TagEnd::CodeBlock) => in_code = false,
            Event::Text(text) if !in_code => read.push_str(&text),
            Event::Code(_) | Event::InlineMath(_) | Event::DisplayMath(_) => read.push(OTHER),
            Event::SoftBreak | Event::HardBreak => read.push(' '),
            // The text in it counts, its elements do not.
            Event::Html(html) => read.push_str(&without_elements(&html)),
            Event::End(
                TagEnd::Paragraph
                | TagEnd::Heading(_)
                | TagEnd::Item
                | TagEnd::TableCell
                | TagEnd::HtmlBlock
                | TagEnd::BlockQuote(_),
            ) => read.push('\n'),
            _ => {}
        }
    }
    let is_seen = |one: &char| !matches!(one, '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{ad}');
    read.chars().filter(is_seen).collect()
}

fn without_elements(html: &str) -> String {
    let mut is_element = false;
    let mut outside = |one: &char| {
        let was_element = is_element;
        is_element = *one == '<' || (was_element && *one != '>');
        !was_element && !is_element
    };
    html.chars().filter(|one| outside(one)).collect()
}

/// Citations of numbers that were not given, as they are seen.
pub fn foreign_markers(markdown: &str, sources: u32) -> Vec<String> {
    let mut found = Vec::new();
    let mut open: Option<String> = None;
    // Right behind a name stands an index: `arr[9.]`.
    let (mut before, mut is_index) = (' ', false);
    for character in prose(markdown).chars() {
        let is_name = before.is_ascii_alphanumeric() || matches!(before, '_' | ')' | ']');
        before = character;
        match character {
            '[' | '【' | '［' | '〔' => {
                is_index = is_name;
                open = Some(character.to_string());
            }
            // The end of a block.
            '\n' => open = None,
            ']' | '】' | '］' | '〕' => {
                let marker = open.take().map(|inner| (inner.clone(), inner));
                let foreign = marker.filter(|(inner, _)| {
                    let inner: String = inner.chars().skip(1).collect();
                    let is_doubtful = inner.contains(['.', '和']) || inner.contains(" and ");
                    if is_index && is_doubtful {
                        return false;
                    }
                    numbers(&inner).is_some_and(|numbers| are_foreign(&numbers, &inner, sources))
                });
                found.extend(foreign.map(|(_, whole)| format!("{whole}{character}")));
            }
            other => {
                if let Some(inner) = &mut open {
                    inner.push(other);
                }
            }
        }
    }
    found
}

/// Numbers and what separates them, nothing else, and a number at both ends.
fn numbers(inner: &str) -> Option<Vec<u32>> {
    let narrow = |one: char| match one {
        '０'..='９' => char::from_u32(u32::from(one) - 0xfee0).unwrap_or(one),
        '٠'..='٩' => char::from_u32(u32::from(one) - 0x630).unwrap_or(one),
        other => other,
    };
    let inner: String = inner
        .trim()
        .trim_start_matches('^')
        .chars()
        .map(narrow)
        .collect();
    let inner = inner.replace(" and ", ",").replace('和', ",");
    let inner = inner.strip_prefix("no. ").unwrap_or(&inner);
    let inner = inner.strip_suffix('.').unwrap_or(inner);
    let separates = |one: char| ",，、;；-–—~～ ".contains(one);
    let mut parts = inner.split(separates).map(str::trim).collect::<Vec<_>>();
    if parts.first().is_none_or(|part| part.is_empty()) || parts.last() == Some(&"") {
        return None;
    }
    parts.retain(|part| !part.is_empty());
    let is_number = |part: &&str| part.chars().all(|one| one.is_ascii_digit());
    if !parts.iter().all(is_number) {
        return None;
    }
    Some(
        parts
            .iter()
            .map(|part| part.parse().unwrap_or(u32::MAX))
            .collect(),
    )
}

fn are_foreign(numbers: &[u32], inner: &str, sources: u32) -> bool {
    let is_interval = numbers.len() == 2
        && inner.matches([',', '，']).count() == 1
        && numbers
            .iter()
            .any(|one| *one == 0 || *one > MAXIMUM_IN_PAIR.max(sources));
    !is_interval && numbers.iter().any(|one| !(1..=sources).contains(one))
}
