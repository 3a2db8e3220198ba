//! Messages as Outlook saves them (.msg, [MS-OXMSG]): a compound file of properties, handed on as
//! the same tree of parts as other messages.
//!
//! The body is the HTML, else the text that Outlook keeps beside the formatted one, else what lies
//! in compressed RTF. Text of eight bits is in the code page that the message names, or in that of
//! its language. Attached messages are read as messages.

mod compressed_rtf;
mod properties;

use tributary_schemas::{Error, ErrorKind, Result};

use self::properties::{PROPERTIES, Properties, id};
use super::header::fields;
use super::mime::{Content, MAXIMUM_DEPTH, Part};
use crate::limits::Limits;
use crate::office::ole::{Compound, Storage};
use crate::word::rtf;

/// Media type of an Outlook message.
pub(super) const MEDIA_TYPE: &str = "application/vnd.ms-outlook";

/// Most recipients that are named.
const MAXIMUM_RECIPIENTS: usize = 1000;
/// Values of the property "method of the attachment": it is a message.
const IS_MESSAGE: u32 = 5;
/// Bytes before the properties of the message in the file, and of a message attached to one.
const HEADER: usize = 32;
const ATTACHED_HEADER: usize = 24;
/// The same for an attachment and a recipient.
const SMALL_HEADER: usize = 8;

/// Reads a message. `Corrupt` if it cannot be read to its end, `Invalid` with too many attachments.
pub(super) fn parse(bytes: &[u8], maximum_parts: usize, limits: &Limits<'_>) -> Result<Part> {
    let file = Compound::open(bytes)?;
    if file.stream_in(Storage::ROOT, PROPERTIES).is_none() {
        return Err(Error::new(
            ErrorKind::Corrupt,
            "not a readable Outlook message: it has no properties",
        )
        .with_hint("open it in Outlook and save it again"));
    }
    Reader {
        file: &file,
        maximum_parts,
        limits,
        parts: 0,
        bytes_left: bytes.len(),
    }
    .message(Storage::ROOT, HEADER, 0)
}

struct Reader<'f, 'l> {
    file: &'f Compound<'f>,
    maximum_parts: usize,
    limits: &'l Limits<'l>,
    parts: usize,
    /// What attachments may still take: those of an honest file have no byte in common.
    bytes_left: usize,
}

impl Reader<'_, '_> {
    fn message(&mut self, storage: Storage, header: usize, depth: usize) -> Result<Part> {
        self.limits.check_time()?;
        let message = Properties::of_message(self.file, storage, header)?;
        let mut parts: Vec<Part> = self.body(&message)?.into_iter().collect();
        let headers = self.headers(&message)?;
        let file = self.file;
        for (_, attachment) in file
            .storages(storage)
            .filter(|(name, _)| name.starts_with("__attach_version1.0_"))
        {
            self.count_part()?;
            parts.push(self.attachment(&message.within(attachment, SMALL_HEADER)?, depth)?);
        }
        Ok(Part {
            headers,
            media_type: "multipart/mixed".to_owned(),
            content: Content::Parts(parts),
            ..Part::default()
        })
    }

    fn count_part(&mut self) -> Result<()> {
        self.parts += 1;
        let maximum = self.maximum_parts;
        if self.parts <= maximum {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Invalid,
            format!("the message has more than {maximum} attachments"),
        )
        .with_hint("split the message, or raise `convert.mail.maximum_parts`"))
    }

    /// What the message says of itself, as fields of a mail; those without a value are left out.
    fn headers(&self, message: &Properties<'_>) -> Result<Vec<(String, String)>> {
        // A message that came over the internet has the fields that it came with.
        let (received, _) = fields(
            message
                .text(id::TRANSPORT_MESSAGE_HEADERS)?
                .unwrap_or_default()
                .as_bytes(),
        );
        let received = |name: &str| {
            received
                .iter()
                .find(|(known, _)| known == name)
                .map(|(_, value)| value.clone())
                .unwrap_or_default()
        };
        let [mut to, mut cc] = self.recipients(message)?;
        if to.is_empty() && cc.is_empty() {
            (to, cc) = (
                message.text(id::DISPLAY_TO)?.unwrap_or_default(),
                message.text(id::DISPLAY_CC)?.unwrap_or_default(),
            );
        }
        let sender = sender(message)?;
        let date = message
            .time(id::CLIENT_SUBMIT_TIME)
            .or_else(|| message.time(id::MESSAGE_DELIVERY_TIME))
            .unwrap_or_else(|| received("date"));
        let own_id = message.text(id::INTERNET_MESSAGE_ID)?;
        let replied_id = message.text(id::IN_REPLY_TO_ID)?;
        let fields = [
            ("subject", message.text(id::SUBJECT)?.unwrap_or_default()),
            ("from", sender),
            ("to", to),
            ("cc", cc),
            ("date", date),
            (
                "message-id",
                own_id.unwrap_or_else(|| received("message-id")),
            ),
            (
                "in-reply-to",
                replied_id.unwrap_or_else(|| received("in-reply-to")),
            ),
        ];
        let named = fields
            .into_iter()
            .filter(|(_, value)| !value.trim().is_empty());
        Ok(named
            .map(|(name, value)| (name.to_owned(), value))
            .collect())
    }

    /// Those whom it was sent to, and those who got a copy.
    fn recipients(&self, message: &Properties<'_>) -> Result<[String; 2]> {
        let mut named = [Vec::new(), Vec::new()];
        let storages = self
            .file
            .storages(message.storage())
            .filter(|(name, _)| name.starts_with("__recip_version1.0_"));
        for (_, storage) in storages.take(MAXIMUM_RECIPIENTS) {
            self.limits.check_time()?;
            let recipient = message.within(storage, SMALL_HEADER)?;
            let shown = person(
                &recipient,
                id::DISPLAY_NAME,
                &[id::SMTP_ADDRESS, id::EMAIL_ADDRESS],
            )?;
            let [to, cc] = &mut named;
            match recipient.number(id::RECIPIENT_TYPE).unwrap_or(1) {
                _ if shown.is_empty() => {}
                1 => to.push(shown),
                2 => cc.push(shown),
                _ => {}
            }
        }
        Ok(named.map(|people| people.join(", ")))
    }

    fn body(&self, message: &Properties<'_>) -> Result<Option<Part>> {
        for (property, media_type) in [(id::HTML, "text/html"), (id::BODY, "text/plain")] {
            if let Some(text) = message.text(property)?.filter(|text| has_text(text)) {
                return Ok(Some(text_part(media_type, text)));
            }
        }
        let markdown = self.formatted(message)?.filter(|text| has_text(text));
        Ok(markdown.map(|markdown| text_part("text/markdown", markdown)))
    }

    /// The formatted body as Markdown. One that cannot be unpacked or read leaves the rest of the
    /// message, but for one that is over a limit.
    fn formatted(&self, message: &Properties<'_>) -> Result<Option<String>> {
        let formatted = message
            .bytes(id::RTF_COMPRESSED)?
            .and_then(|packed| compressed_rtf::unpack(&packed));
        let read = formatted
            .map(|formatted| rtf::convert(&formatted, self.limits))
            .transpose();
        match read {
            Err(error) if error.kind() == ErrorKind::Invalid => Err(error),
            read => Ok(read.ok().flatten().map(|read| read.markdown)),
        }
    }

    fn attachment(&mut self, attachment: &Properties<'_>, depth: usize) -> Result<Part> {
        self.limits.check_time()?;
        let name = attachment_name(attachment)?;
        let content_id = attachment
            .text(id::ATTACH_CONTENT_ID)?
            .unwrap_or_default()
            .trim_matches(['<', '>'])
            .to_owned();
        let headers = if content_id.is_empty() {
            Vec::new()
        } else {
            vec![("content-id".to_owned(), content_id)]
        };
        let (media_type, content) = self.attached(attachment, depth)?;
        Ok(Part {
            headers,
            media_type,
            name,
            is_attachment: true,
            content,
            ..Part::default()
        })
    }

    /// Media type and content of an attachment, which may be a message.
    fn attached(&mut self, attachment: &Properties<'_>, depth: usize) -> Result<(String, Content)> {
        let stated = attachment
            .text(id::ATTACH_MIME_TAG)?
            .unwrap_or_default()
            .to_ascii_lowercase();
        let message = attachment
            .object(id::ATTACH_DATA)
            .filter(|_| attachment.number(id::ATTACH_METHOD) == Some(IS_MESSAGE));
        if let Some(message) = message.filter(|_| depth < MAXIMUM_DEPTH) {
            let message = Box::new(self.message(message, ATTACHED_HEADER, depth + 1)?);
            return Ok((MEDIA_TYPE.to_owned(), Content::Message(message, Vec::new())));
        }
        let bytes = attachment.bytes(id::ATTACH_DATA)?.unwrap_or_default();
        self.count_bytes(bytes.len())?;
        let media_type = if stated.is_empty() {
            "application/octet-stream".to_owned()
        } else {
            stated
        };
        Ok((media_type, Content::Bytes(bytes)))
    }

    /// Attachments have no more bytes than the file, unless some of them are the same bytes.
    fn count_bytes(&mut self, bytes: usize) -> Result<()> {
        self.bytes_left = self
            .bytes_left
            .checked_sub(bytes)
            .ok_or_else(|| properties::damaged("attachments share bytes"))?;
        Ok(())
    }
}

fn has_text(text: &str) -> bool {
    text.chars().any(char::is_alphanumeric)
}

fn text_part(media_type: &str, text: String) -> Part {
    Part {
        media_type: media_type.to_owned(),
        charset: Some("utf-8".to_owned()),
        content: Content::Bytes(text.into_bytes()),
        ..Part::default()
    }
}

/// The first name that is not blank, or else the last one.
fn attachment_name(attachment: &Properties<'_>) -> Result<String> {
    let mut name = String::new();
    for property in [
        id::ATTACH_LONG_FILENAME,
        id::ATTACH_FILENAME,
        id::DISPLAY_NAME,
    ] {
        if name.trim().is_empty() {
            name = attachment.text(property)?.unwrap_or_default();
        }
    }
    Ok(name)
}

/// Who sent the message, or else for whom it was sent.
fn sender(message: &Properties<'_>) -> Result<String> {
    let sender = person(
        message,
        id::SENDER_NAME,
        &[id::SENDER_SMTP_ADDRESS, id::SENDER_EMAIL_ADDRESS],
    )?;
    if !sender.is_empty() {
        return Ok(sender);
    }
    person(
        message,
        id::SENT_REPRESENTING_NAME,
        &[
            id::SENT_REPRESENTING_SMTP_ADDRESS,
            id::SENT_REPRESENTING_EMAIL_ADDRESS,
        ],
    )
}

/// `Name <address>`, from the first property that is an address; names within an Exchange server
/// are none.
fn person(properties: &Properties<'_>, name: u16, addresses: &[u16]) -> Result<String> {
    let name = properties.text(name)?.unwrap_or_default();
    for address in addresses {
        let Some(address) = properties.text(*address)? else {
            continue;
        };
        if address.contains('@') && !address.starts_with('/') {
            return Ok(match (name.trim(), address.trim()) {
                (name, address) if name.is_empty() || name == address => address.to_owned(),
                (name, address) => format!("{name} <{address}>"),
            });
        }
    }
    Ok(name.trim().to_owned())
}

#[cfg(test)]
mod tests;
