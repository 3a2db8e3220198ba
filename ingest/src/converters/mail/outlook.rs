//! Messages as Outlook saves them (.msg), read by `msg_parser` and handed on as the same tree of parts as others. Called by the parent.
//!
//! The body is the text that Outlook keeps beside the formatted one, else the HTML; what lies in compressed RTF alone is read from there.
//! Messages attached to a message are listed: their storages are not opened.

use msg_parser::{Attachment, Outlook, Person};
use tributary_schemas::{Error, ErrorKind, Result};

use super::mime::{Content, Part};
use crate::converters::{Limits, rtf};

/// Media type of an Outlook message.
pub const MEDIA_TYPE: &str = "application/vnd.ms-outlook";

/// Reads a message. `Corrupt` if it cannot be read, `Invalid` with too many attachments.
pub fn parse(bytes: &[u8], limits: &Limits<'_>) -> Result<Part> {
    let message = Outlook::from_slice(bytes).map_err(|error| {
        Error::new(ErrorKind::Corrupt, format!("not a readable Outlook message: {error}")).with_hint("open it in Outlook and save it again")
    })?;
    let maximum = limits.config.mail.maximum_parts;
    if message.attachments.len() > maximum {
        return Err(Error::new(ErrorKind::Invalid, format!("the message has more than {maximum} attachments"))
            .with_hint("split the message, or raise `ingest.mail.maximum_parts`"));
    }
    let mut parts: Vec<Part> = body(&message, limits)?.into_iter().collect();
    let headers = headers(&message);
    parts.extend(message.attachments.into_iter().map(attachment));
    Ok(Part { headers, media_type: "multipart/mixed".to_owned(), content: Content::Parts(parts), ..Part::default() })
}

/// What the message says of itself, as fields of a mail; those without a value are left out.
fn headers(message: &Outlook) -> Vec<(String, String)> {
    let people = |people: &[Person]| people.iter().map(person).filter(|shown| !shown.is_empty()).collect::<Vec<_>>().join(", ");
    let dates = [&message.client_submit_time, &message.message_delivery_time, &message.headers.date];
    let date = dates.into_iter().find(|date| !date.is_empty()).cloned().unwrap_or_default();
    let fields = [
        ("subject", message.subject.clone()),
        ("from", person(&message.sender)),
        ("to", people(&message.to)),
        ("cc", people(&message.cc)),
        ("date", date),
        ("message-id", message.headers.message_id.clone()),
    ];
    let named = fields.into_iter().filter(|(_, value)| !value.trim().is_empty());
    named.map(|(name, value)| (name.to_owned(), value)).collect()
}

/// `Name <address>`; names within an Exchange server are no addresses.
fn person(person: &Person) -> String {
    let is_address = person.email.contains('@') && !person.email.starts_with('/');
    match (person.name.trim(), person.email.trim()) {
        (name, _) if !is_address => name.to_owned(),
        (name, email) if name.is_empty() || name == email => email.to_owned(),
        (name, email) => format!("{name} <{email}>"),
    }
}

fn body(message: &Outlook, limits: &Limits<'_>) -> Result<Option<Part>> {
    let has_text = |text: &str| text.chars().any(char::is_alphanumeric);
    let part = |media_type: &str, text: &str| {
        let content = Content::Bytes(text.as_bytes().to_vec());
        Part { media_type: media_type.to_owned(), charset: Some("utf-8".to_owned()), content, ..Part::default() }
    };
    if has_text(&message.body) {
        return Ok(Some(part("text/plain", &message.body)));
    }
    if has_text(&message.html) {
        return Ok(Some(part("text/html", &message.html)));
    }
    // A body that cannot be unpacked leaves the rest of the message.
    let formatted = message.rtf_decompressed().filter(|formatted| !formatted.is_empty());
    let read = formatted.map(|formatted| rtf::convert(&formatted, limits)).transpose();
    match read {
        Err(error) if error.kind() == ErrorKind::Invalid => Err(error),
        read => Ok(read.ok().flatten().filter(|read| has_text(&read.markdown)).map(|read| part("text/markdown", &read.markdown))),
    }
}

fn attachment(attachment: Attachment) -> Part {
    let names = [&attachment.long_file_name, &attachment.file_name, &attachment.display_name];
    let name = names.into_iter().find(|name| !name.trim().is_empty()).cloned().unwrap_or_default();
    let stated = attachment.mime_tag.to_ascii_lowercase();
    let media_type = match stated.as_str() {
        // What it holds is no message of the other kind.
        "" | "message/rfc822" if attachment.is_embedded_message() => MEDIA_TYPE.to_owned(),
        "" => "application/octet-stream".to_owned(),
        _ => stated,
    };
    let id = attachment.content_id.trim_matches(['<', '>']).to_owned();
    let headers = if id.is_empty() { Vec::new() } else { vec![("content-id".to_owned(), id)] };
    Part { headers, media_type, name, is_attachment: true, content: Content::Bytes(attachment.payload_bytes), ..Part::default() }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::{Cursor, Write};

    use crate::Config;
    use crate::converters::{Converted, Limits, convert};

    /// A message with these texts (property, value) and an attachment.
    fn message(texts: &[(&str, &str)], attached: &[u8]) -> Vec<u8> {
        let mut file = cfb::CompoundFile::create_with_version(cfb::Version::V3, Cursor::new(Vec::new())).unwrap();
        let mut put = |path: &str, bytes: &[u8]| file.create_stream(path).unwrap().write_all(bytes).unwrap();
        put("/__properties_version1.0", &[0; 32]);
        let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
        for (property, text) in texts {
            put(&format!("/__substg1.0_{property}001F"), &utf16(text));
        }
        file.create_storage("/__nameid_version1.0").unwrap();
        file.create_storage("/__attach_version1.0_#00000000").unwrap();
        let mut put = |path: &str, bytes: &[u8]| {
            file.create_stream(format!("/__attach_version1.0_#00000000/{path}")).unwrap().write_all(bytes).unwrap();
        };
        put("__properties_version1.0", &[0; 8]);
        put("__substg1.0_3707001F", &utf16("告警.txt"));
        put("__substg1.0_37010102", attached);
        file.flush().unwrap();
        file.into_inner().into_inner()
    }

    fn converted(bytes: &[u8]) -> tributary_schemas::Result<Converted> {
        let config = Config::default();
        convert(bytes, Some("a.msg"), None, &Limits::starting_now(&config))
    }

    #[test]
    fn a_message_is_read_like_any_mail() {
        let texts = [
            ("0037", "载波聚合 review"),
            ("1000", "Dear all,\r\n\r\nthe tilt is 6 degrees.\r\n"),
            ("0C1A", "Li Wei"),
            ("5D01", "li@example.org"),
        ];
        let mail = converted(&message(&texts, b"attached")).unwrap();
        assert_eq!((mail.title.as_deref(), mail.media_type.as_str()), (Some("载波聚合 review"), super::MEDIA_TYPE));
        assert!(mail.markdown.starts_with("# 载波聚合 review\n\n- **From**: Li Wei"), "{}", mail.markdown);
        assert!(mail.markdown.contains("the tilt is 6 degrees."), "{}", mail.markdown);
        assert!(mail.markdown.contains("- 告警.txt (application/octet-stream, 8 bytes)"), "{}", mail.markdown);
        assert_eq!(mail.blobs.first().map(|file| file.bytes.as_slice()), Some(b"attached".as_slice()));
    }

    #[test]
    fn a_message_that_holds_a_document_is_a_message() {
        let mut document = cfb::CompoundFile::create_with_version(cfb::Version::V3, Cursor::new(Vec::new())).unwrap();
        document.create_stream("/WordDocument").unwrap().write_all(&[0; 8192]).unwrap();
        document.flush().unwrap();
        let mail = converted(&message(&[("0037", "subject"), ("1000", "body")], &document.into_inner().into_inner())).unwrap();
        assert_eq!(mail.media_type, super::MEDIA_TYPE);
    }

    #[test]
    fn a_damaged_message_is_refused_or_read_in_part() {
        let whole = message(&[("0037", "subject"), ("1000", "body")], b"attached");
        for length in (600..whole.len()).step_by(97) {
            if let Err(error) = converted(whole.get(..length).unwrap_or_default()) {
                assert!(!error.to_string().is_empty());
            }
        }
        assert!(converted(whole.get(..700).unwrap_or_default()).is_err());
    }
}
