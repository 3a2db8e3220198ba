//! What a body is, judged by its content first; name and media type only decide between formats
//! that look alike (Markdown and plain text).

mod containers;
mod hint;
mod languages;

use self::containers::{ole_content, zip_content};
use self::hint::Hint;
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

/// Magic bytes: offset, bytes, media type, name for people.
const MAGIC: &[(usize, &[u8], &str, &str)] = &[
    (0, b"\x89PNG\r\n\x1A\n", "image/png", "a PNG image"),
    (0, b"\xFF\xD8\xFF", "image/jpeg", "a JPEG image"),
    (0, b"GIF87a", "image/gif", "a GIF image"),
    (0, b"GIF89a", "image/gif", "a GIF image"),
    (8, b"WEBP", "image/webp", "a WebP image"),
    (8, b"WAVE", "audio/wav", "WAV audio"),
    (8, b"AVI ", "video/x-msvideo", "AVI video"),
    (0, b"II*\0", "image/tiff", "a TIFF image"),
    (0, b"MM\0*", "image/tiff", "a TIFF image"),
    (0, b"\x1F\x8B", "application/gzip", "a gzip archive"),
    (0, b"BZh", "application/x-bzip2", "a bzip2 archive"),
    (0, b"\xFD7zXZ\0", "application/x-xz", "an xz archive"),
    (0, b"\x28\xB5\x2F\xFD", "application/zstd", "a zstd archive"),
    (
        0,
        b"7z\xBC\xAF\x27\x1C",
        "application/x-7z-compressed",
        "a 7-Zip archive",
    ),
    (0, b"Rar!\x1A\x07", "application/vnd.rar", "a RAR archive"),
    (257, b"ustar", "application/x-tar", "a tar archive"),
    (0, b"\x7FELF", "application/x-elf", "an ELF program"),
    (
        0,
        b"\xCA\xFE\xBA\xBE",
        "application/java-vm",
        "a Java class",
    ),
    (
        0,
        b"SQLite format 3\0",
        "application/vnd.sqlite3",
        "an SQLite database",
    ),
    (
        0,
        b"PAR1",
        "application/vnd.apache.parquet",
        "a Parquet file",
    ),
    (4, b"ftyp", "video/mp4", "MP4 media"),
    (0, b"OggS", "application/ogg", "Ogg media"),
    (0, b"ID3", "audio/mpeg", "MP3 audio"),
    (0, b"fLaC", "audio/flac", "FLAC audio"),
    (0, b"\x1A\x45\xDF\xA3", "video/webm", "Matroska media"),
    (0, b"wOFF", "font/woff", "a font"),
    (0, b"wOF2", "font/woff2", "a font"),
    (0, b"%!PS", "application/postscript", "PostScript"),
];

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

fn by_magic(bytes: &[u8], name: Option<&str>) -> Option<Detected> {
    if bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06") {
        return Some(zip_content(bytes, name));
    }
    if bytes.starts_with(b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1") {
        return Some(ole_content(bytes));
    }
    // The standard allows for some bytes before it: jobs for printers have orders there.
    let is_pdf =
        bytes.starts_with(b"%PDF-") || holds_early(bytes, b"%PDF-") && !reads_as_text(bytes);
    if is_pdf {
        return Some(Detected::new(Format::Pdf, "application/pdf"));
    }
    if bytes.trim_ascii_start().starts_with(b"{\\rtf") {
        return Some(Detected::new(Format::Rtf, "application/rtf"));
    }
    let matches = |offset: usize, magic: &[u8]| {
        bytes
            .get(offset..)
            .is_some_and(|rest| rest.starts_with(magic))
    };
    let found = MAGIC.iter().find(|(offset, magic, ..)| {
        matches(*offset, magic) && !(is_printable(magic) && reads_as_text(bytes))
    });
    if let Some((_, _, media_type, name)) = found {
        let format = if media_type.starts_with("image/") {
            Format::Image
        } else {
            Format::Unsupported(name)
        };
        return Some(Detected::new(format, media_type));
    }
    let bitmap = bytes.starts_with(b"BM") && bytes.get(6..10) == Some(&[0; 4]);
    if bitmap {
        return Some(Detected::new(Format::Image, "image/bmp"));
    }
    let windows_program = bytes.starts_with(b"MZ") && bytes.iter().take(256).any(|byte| *byte == 0);
    windows_program.then(|| {
        Detected::new(
            Format::Unsupported("a Windows program"),
            "application/vnd.microsoft.portable-executable",
        )
    })
}

/// Magic bytes that may begin a sentence ("ID3 is …"); those of formats that are text themselves
/// stay decisive.
fn is_printable(magic: &[u8]) -> bool {
    const TEXT_FORMATS: [&[u8]; 1] = [b"%!PS"];
    magic.iter().all(|byte| (0x20..0x7F).contains(byte)) && !TEXT_FORMATS.contains(&magic)
}

/// UTF-8 without a control character that text does not use: no audio, archive or image is.
fn reads_as_text(bytes: &[u8]) -> bool {
    let sample = bytes.get(..SAMPLE_BYTES).unwrap_or(bytes);
    let valid = match std::str::from_utf8(sample) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none(),
    };
    valid
        && !sample
            .iter()
            .any(|byte| *byte < 0x09 || (0x0E..0x1B).contains(byte))
}

fn holds_early(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes
        .get(..bytes.len().min(1024))
        .is_some_and(|head| head.windows(wanted.len()).any(|window| window == wanted))
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
