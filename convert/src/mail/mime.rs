//! A message as a tree of parts. Recursion is bounded by [`MAXIMUM_DEPTH`], the number of parts by
//! the configuration.

use std::borrow::Cow;

use tributary_schemas::{Error, ErrorKind, Result};

use super::header::{decoded, fields, with_parameters};
use super::transfer::{base64, quoted_printable};
use crate::limits::Limits;
use crate::text_encoding::{decode, utf_16_without_mark};

/// Multiparts and messages in each other; what is deeper stays bytes.
pub(crate) const MAXIMUM_DEPTH: usize = 24;

/// A part of a message, or the message itself.
#[derive(Debug, Default)]
pub(crate) struct Part {
    /// Fields by lowercase name, encoded words decoded.
    pub headers: Vec<(String, String)>,
    /// Media type, lowercase.
    pub media_type: String,
    /// File name, or empty.
    pub name: String,
    /// Whether the sender calls it an attachment.
    pub is_attachment: bool,
    /// Encoding of a text.
    pub charset: Option<String>,
    /// Kind of signed or encrypted content.
    pub smime_type: String,
    /// What it holds.
    pub content: Content,
}

/// What a part holds.
#[derive(Debug)]
pub(crate) enum Content {
    /// Decoded bytes.
    Bytes(Vec<u8>),
    /// Parts in order.
    Parts(Vec<Part>),
    /// A message, and its bytes; none where it has no form of its own (in a message of Outlook).
    Message(Box<Part>, Vec<u8>),
}

impl Default for Content {
    fn default() -> Self {
        Self::Bytes(Vec::new())
    }
}

impl Part {
    /// The first field of that name; empty if there is none.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map_or("", |(_, value)| value)
    }

    /// Bytes of a text part as text. Programs that know no encoding write `us-ascii`, so it says
    /// nothing of bytes that are not.
    pub(crate) fn text<'b>(&self, bytes: &'b [u8]) -> Cow<'b, str> {
        let charset = self.charset.as_deref();
        let declared = charset.filter(|label| !label.eq_ignore_ascii_case("us-ascii"));
        decode(bytes, declared).text
    }

    /// Whether only the recipient's key opens it.
    pub(crate) fn is_encrypted(&self) -> bool {
        let smime = self.media_type.ends_with("pkcs7-mime") && self.smime_type != "signed-data";
        self.media_type == "multipart/encrypted" || smime
    }
}

/// Reads a whole message. `Invalid` if it has too many parts or takes too long.
pub(crate) fn parse(bytes: &[u8], maximum_parts: usize, limits: &Limits) -> Result<Part> {
    let mut parser = Parser {
        maximum_parts,
        limits,
        parts: 0,
    };
    // Editors save messages as UTF-16, which says nothing about their parts.
    let recoded = is_utf_16(bytes).then(|| decode(bytes, None).text.into_owned());
    let bytes = recoded.as_ref().map_or(bytes, |text| text.as_bytes());
    let start = bytes
        .iter()
        .position(|byte| !byte.is_ascii_whitespace())
        .unwrap_or(0);
    let bytes = bytes.get(start..).unwrap_or_default();
    parser.part(bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes), 0)
}

fn is_utf_16(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\xFF\xFE")
        || bytes.starts_with(b"\xFE\xFF")
        || utf_16_without_mark(bytes).is_some()
}

struct Parser<'l> {
    maximum_parts: usize,
    limits: &'l Limits<'l>,
    parts: usize,
}

impl Parser<'_> {
    fn count_part(&mut self) -> Result<()> {
        self.parts += 1;
        self.limits.check_time()?;
        let maximum = self.maximum_parts;
        if self.parts <= maximum {
            return Ok(());
        }
        let message = format!("the message has more than {maximum} parts");
        Err(Error::new(ErrorKind::Invalid, message)
            .with_hint("split the message, or raise `convert.mail.maximum_parts`"))
    }

    fn part(&mut self, bytes: &[u8], depth: usize) -> Result<Part> {
        self.count_part()?;
        let (raw, used) = fields(bytes);
        let body = bytes.get(used..).unwrap_or_default();
        let raw_field = |name: &str| {
            raw.iter()
                .find(|(known, _)| known == name)
                .map_or("", |(_, value)| value.as_str())
        };
        let (media_type, parameters) = with_parameters(raw_field("content-type"));
        let (disposition, about_file) = with_parameters(raw_field("content-disposition"));
        let parameter = |name: &str| parameters.get(name).cloned().unwrap_or_default();
        let media_type = if media_type.contains('/') {
            media_type
        } else {
            "text/plain".to_owned()
        };
        let content = match media_type.split('/').next() {
            Some("multipart") if depth < MAXIMUM_DEPTH && parameters.contains_key("boundary") => {
                self.multipart(body, &parameter("boundary"), depth)?
            }
            _ => {
                let bytes = transferred(body, raw_field("content-transfer-encoding"));
                self.single(bytes, &media_type, depth)?
            }
        };
        Ok(Part {
            name: about_file
                .get("filename")
                .cloned()
                .unwrap_or_else(|| parameter("name")),
            is_attachment: disposition == "attachment",
            charset: parameters.get("charset").cloned(),
            smime_type: parameter("smime-type"),
            headers: raw
                .into_iter()
                .map(|(name, value)| (name, decoded(&value)))
                .collect(),
            media_type,
            content,
        })
    }

    /// What a part without parts holds: a message or bytes.
    fn single(&mut self, bytes: Vec<u8>, media_type: &str, depth: usize) -> Result<Content> {
        if media_type != "message/rfc822" || depth >= MAXIMUM_DEPTH {
            return Ok(Content::Bytes(bytes));
        }
        let message = self.part(&bytes, depth + 1)?;
        Ok(Content::Message(Box::new(message), bytes))
    }

    /// Parts between lines with the boundary. Without a last one, the part goes on to the end.
    fn multipart(&mut self, body: &[u8], boundary: &str, depth: usize) -> Result<Content> {
        let mark = format!("--{boundary}").into_bytes();
        let mut parts = Vec::new();
        let mut start = None;
        let mut at = 0;
        for line in body.split_inclusive(|byte| *byte == b'\n') {
            let after_mark = line
                .strip_prefix(mark.as_slice())
                .map(<[u8]>::trim_ascii_end);
            if after_mark.is_some_and(|after| after.is_empty() || after == b"--") {
                if let Some(start) = start.take() {
                    parts.push(self.part(
                        without_line_end(body.get(start..at).unwrap_or_default()),
                        depth + 1,
                    )?);
                }
                start = (after_mark == Some(b"")).then_some(at + line.len());
            }
            at += line.len();
        }
        if let Some(start) = start.filter(|start| *start < body.len()) {
            parts.push(self.part(body.get(start..).unwrap_or_default(), depth + 1)?);
        }
        // A multipart whose boundary never comes is its text.
        if parts.is_empty() && !body.trim_ascii().is_empty() {
            parts.push(Part {
                media_type: "text/plain".to_owned(),
                content: Content::Bytes(body.to_vec()),
                ..Part::default()
            });
        }
        Ok(Content::Parts(parts))
    }
}

/// The line end before a boundary belongs to the boundary.
fn without_line_end(bytes: &[u8]) -> &[u8] {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    bytes.strip_suffix(b"\r").unwrap_or(bytes)
}

fn transferred(body: &[u8], encoding: &str) -> Vec<u8> {
    match encoding.trim().to_ascii_lowercase().as_str() {
        "base64" => base64(body),
        "quoted-printable" => quoted_printable(body),
        _ => body.to_vec(),
    }
}
