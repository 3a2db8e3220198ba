//! E-mail messages (RFC 5322, MIME; Outlook's own format): subject as the title, sender, recipients
//! and date as a list and as metadata, the body from its HTML or its text, attachments listed and
//! handed over as files, their text below, attached messages below that.
//!
//! Of a body in several forms the HTML counts, if it has text. Pictures of the body (`cid:`) become
//! its images.

mod attachments;
mod calendar;
mod header;
mod mime;
mod outlook;
mod patch;
mod plain;
mod transfer;

use std::collections::{BTreeMap, HashMap, HashSet};

use tributary_schemas::{Error, ErrorKind, ImageLink, Result};

pub use self::attachments::READ as ATTACHMENTS_READ;
pub(crate) use self::attachments::{ReadFile, note_unread};
use self::mime::{Content, Part};
use crate::config::MailConfig;
use crate::document::Converted;
use crate::embedded::Embedded;
use crate::escape::escaped;
use crate::limits::Limits;
use crate::titles::one_line;
use crate::web::html;

/// Name and version; the version grows with every change of the output.
pub(crate) const NAME: &str = "mail/6";

/// Longest header value in characters.
const MAXIMUM_VALUE: usize = 2000;

/// Converts a message; `read` reads what is attached. `Corrupt` if it has no header, `Unsupported`
/// if it is encrypted, `Invalid` with too many parts.
pub(crate) fn convert(
    bytes: &[u8],
    settings: &MailConfig,
    limits: &Limits,
    read: &ReadFile<'_>,
) -> Result<Converted> {
    let message = mime::parse(bytes, settings.maximum_parts, limits)?;
    if message.headers.is_empty() {
        return Err(Error::new(ErrorKind::Corrupt, "the message has no header")
            .with_hint("give the file another extension than .eml if it is no message"));
    }
    write(&message, settings, limits, read)
}

/// Converts a message that Outlook saved. `Corrupt` if it cannot be read, `Invalid` with too many
/// attachments.
pub(crate) fn convert_outlook(
    bytes: &[u8],
    settings: &MailConfig,
    limits: &Limits,
    read: &ReadFile<'_>,
) -> Result<Converted> {
    let message = outlook::parse(bytes, settings.maximum_parts, limits)?;
    write(&message, settings, limits, read)
}

fn write(
    message: &Part,
    settings: &MailConfig,
    limits: &Limits,
    read: &ReadFile<'_>,
) -> Result<Converted> {
    let mut writer = Writer {
        maximum_depth: settings.maximum_depth,
        limits,
        read,
        markdown: String::new(),
        images: Vec::new(),
        embedded: Embedded::new(limits),
        listed: Vec::new(),
        not_read: Vec::new(),
        files: 0,
        read_texts: HashSet::new(),
        pictures: HashMap::new(),
    };
    writer.message(message, 0)?;
    writer.list_attachments();
    let mut metadata = metadata(message);
    note_unread(&mut metadata, &writer.not_read);
    let files = writer.read_texts.len();
    if files > 0 {
        metadata.insert(ATTACHMENTS_READ.to_owned(), files.to_string());
    }
    let title =
        Some(one_line(message.header("subject"), MAXIMUM_VALUE)).filter(|title| !title.is_empty());
    let blobs = writer.embedded.finish(&mut metadata);
    Ok(Converted {
        markdown: writer.markdown,
        title,
        converter: NAME.into(),
        metadata,
        images: writer.images,
        blobs,
        ..Converted::default()
    })
}

fn metadata(message: &Part) -> BTreeMap<String, String> {
    let mut metadata: BTreeMap<String, String> = headers(message)
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    for (name, header) in [("message_id", "message-id"), ("in_reply_to", "in-reply-to")] {
        let value = one_line(message.header(header), MAXIMUM_VALUE);
        if !value.is_empty() {
            metadata.insert(name.to_owned(), value.replace(['<', '>'], ""));
        }
    }
    metadata
}

/// Who wrote to whom and when.
fn headers(message: &Part) -> Vec<(&'static str, String)> {
    let mut found: Vec<(&str, String)> = ["from", "to", "cc"]
        .map(|name| (name, one_line(message.header(name), MAXIMUM_VALUE)))
        .into();
    let date = message.header("date");
    let moment = jiff::fmt::rfc2822::parse(date.trim())
        .map(|moment| moment.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string());
    found.push((
        "date",
        moment.unwrap_or_else(|_| one_line(date, MAXIMUM_VALUE)),
    ));
    found.retain(|(_, value)| !value.is_empty());
    found
}

struct Writer<'l> {
    /// Messages attached to messages that are read.
    maximum_depth: usize,
    limits: &'l Limits<'l>,
    read: &'l ReadFile<'l>,
    markdown: String,
    images: Vec<ImageLink>,
    embedded: Embedded,
    /// Lines of the list of attachments.
    listed: Vec<String>,
    /// Names of attachments that are not part of the text, with the reason.
    not_read: Vec<String>,
    /// Attached files that were begun.
    files: usize,
    /// Hashes of the texts of attachments: what is attached twice is written once.
    read_texts: HashSet<u64>,
    /// Links of pictures by content id.
    pictures: HashMap<String, String>,
}

impl Writer<'_> {
    /// A message with its headers, its body, and messages attached to it; other attachments are
    /// noted.
    fn message(&mut self, message: &Part, depth: usize) -> Result<()> {
        self.limits.check_time()?;
        if message.is_encrypted() {
            return Err(super::archive::encrypted());
        }
        let subject = one_line(message.header("subject"), MAXIMUM_VALUE);
        if !subject.is_empty() {
            self.push(&format!(
                "{} {}",
                "#".repeat((depth + 1).min(6)),
                escaped(&subject)
            ));
        }
        let lines: Vec<String> = headers(message)
            .iter()
            .map(|(name, value)| format!("- **{}**: {}", capital(name), escaped(value)))
            .collect();
        self.push(&lines.join("\n"));
        self.note_pictures(message);
        let before = self.images.len();
        let mut attachments = Vec::new();
        self.body(message, &mut attachments)?;
        for image in self.images.iter_mut().skip(before) {
            if let Some(link) = self
                .pictures
                .get(image.link.strip_prefix("cid:").unwrap_or(&image.link))
            {
                image.link.clone_from(link);
            }
        }
        let (messages, files): (Vec<&Part>, Vec<&Part>) = attachments
            .into_iter()
            .partition(|part| self.is_read(part, depth));
        let numbers: Vec<Option<usize>> = files.iter().map(|part| self.keep(part)).collect();
        // What is attached to a message is listed before what follows it.
        self.list_attachments();
        for (part, number) in files.iter().zip(numbers) {
            self.picture(part, number);
        }
        for part in files {
            self.file(part, depth)?;
        }
        for part in messages {
            if let Content::Message(message, _) = &part.content {
                self.message(message, depth + 1)?;
            }
        }
        Ok(())
    }

    /// Whether an attachment is a message that is written below.
    fn is_read(&self, part: &Part, depth: usize) -> bool {
        matches!(&part.content, Content::Message(message, _) if depth < self.maximum_depth && !message.is_encrypted())
    }

    fn push(&mut self, markdown: &str) {
        if !markdown.trim().is_empty() {
            self.markdown.push_str(markdown.trim_end());
            self.markdown.push_str("\n\n");
        }
    }

    /// Pictures with a content id, which the body may show, become files.
    fn note_pictures(&mut self, part: &Part) {
        match &part.content {
            Content::Parts(parts) => parts.iter().for_each(|part| self.note_pictures(part)),
            Content::Bytes(bytes) if part.media_type.starts_with("image/") => {
                let id = picture_id(part);
                if !id.is_empty()
                    && !self.pictures.contains_key(id)
                    && let Some(number) =
                        self.embedded
                            .add(&part.name, &part.media_type, bytes.clone())
                {
                    self.pictures
                        .insert(id.to_owned(), format!("embedded:{number}"));
                }
            }
            _ => {}
        }
    }

    /// Writes the text of a part; what is no text goes to the attachments.
    fn body<'p>(&mut self, part: &'p Part, attachments: &mut Vec<&'p Part>) -> Result<()> {
        match &part.content {
            Content::Parts(parts) if part.media_type == "multipart/alternative" => {
                self.alternative(parts, attachments)
            }
            Content::Parts(parts) => parts
                .iter()
                .try_for_each(|part| self.body(part, attachments)),
            Content::Bytes(bytes) if !part.is_attachment && part.media_type == "text/html" => {
                self.page(&part.text(bytes))
            }
            Content::Bytes(bytes)
                if !part.is_attachment
                    && matches!(
                        part.media_type.as_str(),
                        "text/plain"
                            | "text/markdown"
                            | "text/enriched"
                            | "message/delivery-status"
                    ) =>
            {
                self.push(&plain::markdown(&part.text(bytes)));
                Ok(())
            }
            _ => {
                attachments.push(part);
                Ok(())
            }
        }
    }

    fn page(&mut self, html: &str) -> Result<()> {
        let part = html::Part {
            bytes: html.as_bytes(),
            is_xml: false,
        };
        let page = html::convert_part(&part, self.limits, &mut self.images, &mut self.embedded)?;
        self.push(&page);
        Ok(())
    }

    /// The last form that has text, as the sender prefers it; other forms are not written.
    fn alternative<'p>(
        &mut self,
        parts: &'p [Part],
        attachments: &mut Vec<&'p Part>,
    ) -> Result<()> {
        let (markdown, images) = (self.markdown.len(), self.images.len());
        for part in parts.iter().rev() {
            let mut below = Vec::new();
            self.body(part, &mut below)?;
            if self
                .markdown
                .get(markdown..)
                .is_some_and(|written| written.chars().any(char::is_alphanumeric))
            {
                attachments.extend(below);
                return Ok(());
            }
            // Calendar entries and the like stand beside the text as an alternative to it.
            attachments.extend(below);
            self.markdown.truncate(markdown);
            self.images.truncate(images);
        }
        Ok(())
    }

    fn list_attachments(&mut self) {
        if !self.listed.is_empty() {
            let list = std::mem::take(&mut self.listed).join("\n");
            self.push(&format!("**Attachments**:\n\n{list}"));
        }
    }
}

/// What the body calls a picture: its content id, or in saved pages its address.
fn picture_id(part: &Part) -> &str {
    let id = part.header("content-id").trim().trim_matches(['<', '>']);
    if id.is_empty() {
        part.header("content-location").trim()
    } else {
        id
    }
}

fn capital(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

#[cfg(test)]
mod tests;
