//! Formats that are text: HTML by its tags, others by what name and media type suggest and by the
//! signs in the text.

use super::hint::Hint;
use super::{Detected, Format, SAMPLE_BYTES};
use crate::text::structured::Notation;

/// Tags that only the head of a page or its body begins with.
const PAGE_TAGS: [&str; 4] = ["<!doctype html", "<html", "<head", "<body"];

/// Tags that begin a page without a head, and also HTML within other text.
const BLOCK_TAGS: [&str; 12] = [
    "<title", "<meta", "<div", "<table", "<h1", "<h2", "<p", "<ul", "<ol", "<article", "<section",
    "<main",
];

/// HTML by its first tag; anywhere in the sample it needs several block tags, or the name says so.
/// Markdown and code that merely contain HTML are not HTML.
pub(super) fn is_html(text: &str, hint: Hint) -> bool {
    let start = after_prologue(text);
    if opens_with_any(start, &PAGE_TAGS) {
        return true;
    }
    match hint {
        Hint::Html => text.contains('<'),
        Hint::Markdown
        | Hint::Rst
        | Hint::Notebook
        | Hint::Mail
        | Hint::Structured(..)
        | Hint::Delimited(_)
        | Hint::Code(..) => false,
        Hint::None | Hint::Plain => opens_with_any(start, &BLOCK_TAGS) && start.contains("</"),
    }
}

/// Whether the text begins with one of the tags, in letters of any case.
fn opens_with_any(text: &str, tags: &[&str]) -> bool {
    let opening: String = text
        .chars()
        .take(16)
        .collect::<String>()
        .to_ascii_lowercase();
    tags.iter().any(|tag| {
        opening.strip_prefix(tag).is_some_and(|rest| {
            !rest.starts_with(|next: char| next.is_alphanumeric() || next == '-')
        })
    })
}

/// The text after white space, an XML declaration and comments, which may stand before the first
/// tag.
fn after_prologue(text: &str) -> &str {
    let mut rest = text.trim_start_matches(|character: char| {
        character.is_whitespace() || character == '\u{FEFF}' || character == '\0'
    });
    loop {
        let end = if rest.starts_with("<?xml") {
            "?>"
        } else if rest.starts_with("<!--") {
            "-->"
        } else {
            return rest;
        };
        match rest.split_once(end) {
            Some((_, after)) => rest = after.trim_start(),
            None => return rest,
        }
    }
}

pub(super) fn textual(text: &str, hint: Hint) -> Detected {
    let prose = Detected::new(Format::Text { language: "" }, "text/plain");
    match hint {
        Hint::Markdown => Detected::new(Format::Markdown, "text/markdown"),
        Hint::Rst => Detected::new(Format::Rst, "text/x-rst"),
        Hint::Code(language, media_type) => Detected::new(Format::Text { language }, media_type),
        Hint::Notebook => Detected::new(Format::Notebook, "application/x-ipynb+json"),
        Hint::Mail => Detected::new(Format::Mail, "message/rfc822"),
        Hint::Structured(notation, media_type) => {
            Detected::new(Format::Structured(notation), media_type)
        }
        Hint::Delimited(media_type) => Detected::new(Format::Delimited, media_type),
        Hint::None if text.trim_start().starts_with(['{', '[']) && looks_like_json(text) => {
            Detected::new(Format::Structured(json_notation(text)), "application/json")
        }
        Hint::None if text.trim_start_matches('\u{FEFF}').starts_with("<?xml") => {
            Detected::new(Format::Structured(Notation::Xml), "application/xml")
        }
        Hint::None | Hint::Plain if looks_like_mail(text) => {
            Detected::new(Format::Mail, "message/rfc822")
        }
        Hint::None | Hint::Html if markdown_signs(text) >= 2 => {
            Detected::new(Format::Markdown, "text/markdown")
        }
        // A text file must show more of Markdown before `#` and `*` in it are believed.
        Hint::Plain if markdown_signs(text) >= 4 => {
            Detected::new(Format::Markdown, "text/markdown")
        }
        _ => prose,
    }
}

/// Several lines that are objects by themselves are records, not one value.
fn json_notation(text: &str) -> Notation {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let is_record = |line: &str| line.starts_with('{') && line.trim_end().ends_with('}');
    if lines.next().is_some_and(is_record) && lines.next().is_some_and(is_record) {
        Notation::JsonLines
    } else {
        Notation::Json
    }
}

/// Headers by which a message is known.
const HEADERS: [&str; 11] = [
    "from",
    "to",
    "subject",
    "date",
    "received",
    "return-path",
    "mime-version",
    "message-id",
    "delivered-to",
    "content-type",
    "dkim-signature",
];

/// Several headers of a message before the first blank line.
fn looks_like_mail(text: &str) -> bool {
    let head: Vec<&str> = text
        .lines()
        .take(200)
        .take_while(|line| !line.trim().is_empty())
        .collect();
    let is_known = |line: &&&str| {
        line.split_once(':')
            .is_some_and(|(name, _)| HEADERS.contains(&name.to_ascii_lowercase().as_str()))
    };
    let known = head.iter().filter(is_known).count();
    let technical = ["message-id:", "mime-version:", "received:", "return-path:"];
    let is_sent = head.iter().any(|line| {
        technical
            .iter()
            .any(|name| line.to_ascii_lowercase().starts_with(name))
    });
    known >= 3 && is_sent && head.iter().all(|line| is_header(line))
}

/// A header of a message, known or not, or a line that goes on with one.
fn is_header(line: &str) -> bool {
    line.starts_with([' ', '\t'])
        || line
            .split_once(':')
            .is_some_and(|(name, _)| !name.contains(' '))
}

fn looks_like_json(text: &str) -> bool {
    let trimmed = text.trim();
    let closes = trimmed.ends_with(['}', ']']);
    (closes || text.len() >= SAMPLE_BYTES / 2)
        && trimmed.contains('"')
        && (trimmed.contains("\":") || trimmed.contains("\" :") || trimmed.starts_with("[\""))
}

/// Counts signs of Markdown, at most a few of each kind, so that one habit of a text file does not
/// make it Markdown.
fn markdown_signs(text: &str) -> usize {
    let (mut headings, mut fences, mut links, mut tables, mut lists) =
        (0_usize, 0_usize, 0_usize, 0_usize, 0_usize);
    let front_matter =
        text.starts_with("---\n") && text.lines().skip(1).take(40).any(|line| line == "---");
    for line in text.lines().take(400) {
        let trimmed = line.trim_start();
        let level = trimmed
            .chars()
            .take_while(|character| *character == '#')
            .count();
        headings +=
            usize::from((2..=6).contains(&level) && trimmed.chars().nth(level) == Some(' '));
        headings += usize::from(level == 1 && trimmed.starts_with("# "));
        fences += usize::from(trimmed.starts_with("```"));
        links += usize::from(trimmed.contains("](") && trimmed.contains('['));
        tables += usize::from(trimmed.starts_with('|') && trimmed.contains("---"));
        lists += usize::from(trimmed.starts_with("- **") || trimmed.starts_with("* **"));
    }
    usize::from(front_matter) * 2
        + headings.min(2)
        + fences.min(2)
        + links.min(2)
        + tables.min(1) * 2
        + lists.min(1)
}
