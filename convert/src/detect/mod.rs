//! What a body is, judged by its content first; name and media type only decide between formats
//! that look alike (Markdown and plain text).

mod containers;
mod hint;
mod languages;
mod magic;

use self::hint::Hint;
use self::magic::by_magic;
use crate::office::open_document;
use crate::text::structured::Notation;
use crate::text_encoding;

/// A format as far as converters tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// HTML or XHTML.
    Html,
    /// Markdown.
    Markdown,
    /// reStructuredText.
    Rst,
    /// A Jupyter notebook.
    Notebook,
    /// A Word document (OOXML).
    Docx,
    /// A PowerPoint presentation (OOXML).
    Pptx,
    /// A Word 97-2003 document.
    Doc,
    /// A PowerPoint 97-2003 presentation.
    Ppt,
    /// An OpenDocument text or presentation.
    OpenDocument(open_document::Kind),
    /// A workbook of any kind.
    Spreadsheet,
    /// Values divided by commas, tabs or the like.
    Delimited,
    /// PDF.
    Pdf,
    /// A picture.
    Image,
    /// An EPUB book.
    Epub,
    /// An e-mail message.
    Mail,
    /// An e-mail message as Outlook saves it.
    Outlook,
    /// Rich Text Format.
    Rtf,
    /// Nested data.
    Structured(Notation),
    /// Text that is shown as it is; the language names a code block it goes into, empty for prose.
    Text {
        /// Name for the code fence, empty for prose.
        language: &'static str,
    },
    /// Something that no converter here reads, by its name for people.
    Unsupported(&'static str),
}

/// A format with its media type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Detected {
    /// The format.
    pub format: Format,
    /// Its media type.
    pub media_type: &'static str,
}

impl Detected {
    const fn new(format: Format, media_type: &'static str) -> Self {
        Self { format, media_type }
    }
}

/// Bytes at the start of a body that decide about textual formats.
const SAMPLE_BYTES: usize = 64 * 1024;

/// Says what the bytes are. `name` is a file name, path or URL; `media_type` is what the producer
/// believes.
pub(crate) fn detect(bytes: &[u8], name: Option<&str>, media_type: Option<&str>) -> Detected {
    if let Some(binary) = by_magic(bytes, name) {
        return binary;
    }
    let sample = bytes.get(..SAMPLE_BYTES).unwrap_or(bytes);
    let text = text_encoding::decode(sample, None).text;
    if is_binary(&text) {
        return Detected::new(
            Format::Unsupported("binary data"),
            "application/octet-stream",
        );
    }
    let hint = Hint::of(name, media_type);
    if is_html(&text, hint) {
        let xhtml = text.trim_start().starts_with("<?xml");
        return Detected::new(
            Format::Html,
            if xhtml {
                "application/xhtml+xml"
            } else {
                "text/html"
            },
        );
    }
    textual(&text, hint)
}

/// More than one control character in a hundred, or many undecodable ones, is no text.
fn is_binary(text: &str) -> bool {
    let (mut characters, mut controls, mut replaced) = (0_usize, 0_usize, 0_usize);
    for character in text.chars() {
        characters += 1;
        controls +=
            usize::from(matches!(character, '\0'..='\x08' | '\x0E'..='\x1A' | '\x1C'..='\x1F'));
        replaced += usize::from(character == char::REPLACEMENT_CHARACTER);
    }
    controls * 100 > characters || replaced * 10 > characters
}

/// HTML by its first tag; anywhere in the sample it needs several block tags, or the name says so.
/// Markdown and code that merely contain HTML are not HTML.
fn is_html(text: &str, hint: Hint) -> bool {
    let start = after_prologue(text);
    let opening: String = start
        .chars()
        .take(16)
        .collect::<String>()
        .to_ascii_lowercase();
    let opens = |tag: &str| {
        opening.strip_prefix(tag).is_some_and(|rest| {
            !rest.starts_with(|next: char| next.is_alphanumeric() || next == '-')
        })
    };
    if ["<!doctype html", "<html", "<head", "<body"]
        .iter()
        .any(|tag| opens(tag))
    {
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
        Hint::None | Hint::Plain => {
            let blocks = [
                "<title", "<meta", "<div", "<table", "<h1", "<h2", "<p", "<ul", "<ol", "<article",
                "<section", "<main",
            ];
            blocks.iter().any(|tag| opens(tag)) && start.contains("</")
        }
    }
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

fn textual(text: &str, hint: Hint) -> Detected {
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

/// Several headers of a message before the first blank line.
fn looks_like_mail(text: &str) -> bool {
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
    let head: Vec<&str> = text
        .lines()
        .take(200)
        .take_while(|line| !line.trim().is_empty())
        .collect();
    let is_known = |line: &&&str| {
        line.split_once(':')
            .is_some_and(|(name, _)| HEADERS.contains(&name.to_ascii_lowercase().as_str()))
    };
    let is_header = |line: &&str| {
        line.starts_with([' ', '\t'])
            || line
                .split_once(':')
                .is_some_and(|(name, _)| !name.contains(' '))
    };
    let known = head.iter().filter(is_known).count();
    let technical = ["message-id:", "mime-version:", "received:", "return-path:"];
    let is_sent = head.iter().any(|line| {
        technical
            .iter()
            .any(|name| line.to_ascii_lowercase().starts_with(name))
    });
    known >= 3 && is_sent && head.iter().all(is_header)
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
