//! What a producer published: the event of a record and its body, checked.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use tributary_schemas::{DocumentEvent, Error, ErrorKind, Result, event};
use tributary_store::event_log::{Record, message};

/// A published document whose identity is known.
pub(super) struct Published {
    pub(super) event: DocumentEvent,
    pub(super) document_id: String,
    pub(super) version: u64,
}

/// A body that is in the event, or that was fetched.
pub(super) enum Body {
    Inline,
    Fetched(Bytes),
}

/// A producer may leave the type out; one that it names must be the one that is read here.
pub(super) fn check_type(record: &Record) -> Result<()> {
    let Some((_, named)) = record
        .headers
        .iter()
        .find(|(name, _)| name == event::CE_TYPE)
    else {
        return Ok(());
    };
    if named.as_ref() == event::TYPE_DOCUMENT_PUBLISHED.as_bytes() {
        return Ok(());
    }
    let what = format!(
        "header `{}` names an unknown type `{}`",
        event::CE_TYPE,
        shown(&String::from_utf8_lossy(named))
    );
    Err(Error::new(ErrorKind::Invalid, what).with_hint(format!(
        "send `{}`, or leave the header out",
        event::TYPE_DOCUMENT_PUBLISHED
    )))
}

/// The event, with an id that is its record's key.
pub(super) fn published(record: &Record, key: &str) -> Result<Published> {
    let decoded: Option<DocumentEvent> = message::decode(record)?;
    let Some(event) = decoded else {
        return Err(Error::new(ErrorKind::Internal, "a null value is no event"));
    };
    event.check()?;
    let document_id = event.stated_id().unwrap_or_else(|| key.to_owned());
    if document_id != key {
        let what = if event.document_id.is_some() {
            "its document_id"
        } else {
            "the id derived from its source and source_path"
        };
        return Err(Error::new(ErrorKind::Invalid, format!("record key `{}` is not {what} `{}`", shown(key), shown(&document_id)))
            .with_hint("use the document id as the record's key: it keeps the changes of one document in order"));
    }
    let version = match event.version {
        Some(version) => version,
        None => message::version(record)?,
    };
    Ok(Published {
        event,
        document_id,
        version,
    })
}

/// The start of an id, for messages.
pub(super) fn shown(document_id: &str) -> String {
    document_id.chars().take(80).collect()
}

/// Bytes of the body. `Corrupt` if its base64 does not decode, `Invalid` if it would be too large.
pub(super) fn body_bytes(event: &DocumentEvent, body: Body, maximum: u64) -> Result<Bytes> {
    if let Body::Fetched(bytes) = body {
        return Ok(bytes);
    }
    match (&event.content, &event.content_base64) {
        (Some(text), _) => Ok(Bytes::copy_from_slice(text.as_bytes())),
        (None, Some(text)) if text.len() as u64 / 4 * 3 > maximum.saturating_add(3) => {
            let message = format!(
                "body of about {} bytes is over the limit of {maximum} bytes",
                text.len() / 4 * 3
            );
            Err(Error::new(ErrorKind::Invalid, message)
                .with_hint("split the document, or raise `convert.maximum_body_bytes`"))
        }
        (None, Some(text)) => STANDARD.decode(text).map(Bytes::from).map_err(|error| {
            Error::new(
                ErrorKind::Corrupt,
                format!("content_base64 does not decode: {error}"),
            )
            .with_hint("use the standard alphabet with padding, without line breaks")
        }),
        (None, None) => Err(Error::new(
            ErrorKind::Internal,
            "body was neither in the event nor fetched",
        )),
    }
}

/// The body for the reason of a skip.
pub(super) fn describe_body(event: &DocumentEvent) -> String {
    match (&event.content, &event.content_base64) {
        (Some(text), _) => format!("{} bytes", text.len()),
        (None, Some(text)) => format!("about {} bytes", text.len() / 4 * 3),
        (None, None) => "its blob".to_owned(),
    }
}
