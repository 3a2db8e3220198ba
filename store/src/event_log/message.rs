//! Messages in records: JSON values under CloudEvents headers (Kafka binding, binary mode).

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tributary_schemas::{Error, ErrorKind, event};

use super::Record;

/// A record that carries `value` as JSON.
///
/// `ce_id` is made of type, document id and version: the same event encoded twice has the same id.
pub fn encode<T: Serialize>(
    event_type: &str,
    document_id: &str,
    version: u64,
    value: &T,
    now_ms: i64,
) -> Result<Record, Error> {
    let json = serde_json::to_vec(value).map_err(|error| {
        Error::new(
            ErrorKind::Internal,
            format!("cannot encode {event_type} of `{document_id}`: {error}"),
        )
    })?;
    let mut record = tombstone(event_type, document_id, version, now_ms);
    record.value = Some(json.into());
    Ok(record)
}

/// A record that deletes the document.
pub fn tombstone(event_type: &str, document_id: &str, version: u64, now_ms: i64) -> Record {
    let header =
        |name: &str, value: &str| (name.to_owned(), Bytes::copy_from_slice(value.as_bytes()));
    let schema = event::data_schema(event_type).map(|schema| header(event::CE_DATASCHEMA, schema));
    let mut headers = vec![
        header(event::CE_SPECVERSION, "1.0"),
        header(
            event::CE_ID,
            &format!("{event_type}/{document_id}/{version}"),
        ),
        header(event::CE_TYPE, event_type),
        header(event::CE_SOURCE, "tributary"),
        header(event::CE_SUBJECT, document_id),
        header(event::CONTENT_TYPE, "application/json"),
        header(event::DOCUMENT_VERSION, &version.to_string()),
    ];
    headers.extend(schema);
    Record {
        key: Bytes::copy_from_slice(document_id.as_bytes()),
        value: None,
        headers,
        timestamp_ms: now_ms,
    }
}

/// Passes the trace context of the record that caused `record` on to it.
#[must_use]
pub fn traced(mut record: Record, cause: &Record) -> Record {
    if let Some(traceparent) = cause.header(event::TRACEPARENT) {
        record.headers.push((
            event::TRACEPARENT.to_owned(),
            Bytes::copy_from_slice(traceparent.as_bytes()),
        ));
    }
    record
}

/// Says for which generation of the index the record is.
#[must_use]
pub fn for_generation(mut record: Record, generation: &str) -> Record {
    record.headers.retain(|(name, _)| name != event::GENERATION);
    record.headers.push((
        event::GENERATION.to_owned(),
        Bytes::copy_from_slice(generation.as_bytes()),
    ));
    record
}

/// The value of a record, `None` for a tombstone. The error says what about the JSON is wrong and
/// where.
pub fn decode<T: DeserializeOwned>(record: &Record) -> Result<Option<T>, Error> {
    let Some(value) = &record.value else {
        return Ok(None);
    };
    serde_json::from_slice(value).map(Some).map_err(|error| {
        let what = if error.is_syntax() || error.is_eof() {
            "is not JSON"
        } else {
            "does not follow its schema"
        };
        Error::new(
            ErrorKind::Invalid,
            format!(
                "value of `{}` {what}: {error}",
                String::from_utf8_lossy(&record.key)
            ),
        )
    })
}

/// The document version that a record is about: its header, else its timestamp. `Invalid` for a
/// header that is no number: the timestamp would be newer than what the producer counts.
pub fn version(record: &Record) -> Result<u64, Error> {
    let name = event::DOCUMENT_VERSION;
    let Some((_, stated)) = record.headers.iter().find(|(other, _)| other == name) else {
        return Ok(time_as_version(record));
    };
    let number = std::str::from_utf8(stated).ok();
    number
        .and_then(|number| number.parse().ok())
        .ok_or_else(|| {
            let shown: String = String::from_utf8_lossy(stated).chars().take(40).collect();
            let what = format!("header {name} is `{shown}`, no version");
            Error::new(ErrorKind::Invalid, what).with_hint(
                "a version is a whole number in decimal digits; without the header it is the time of the record",
            )
        })
}

/// The time of a record as the version of what it says.
pub fn time_as_version(record: &Record) -> u64 {
    u64::try_from(record.timestamp_ms).unwrap_or(0)
}

/// The key as a document id.
pub fn document_id(record: &Record) -> Result<&str, Error> {
    match std::str::from_utf8(&record.key) {
        Ok("") => Err(Error::new(
            ErrorKind::Invalid,
            "record has no key: the key is the document id",
        )),
        Ok(key) => Ok(key),
        Err(_) => Err(Error::new(
            ErrorKind::Invalid,
            "record key is not UTF-8: the key is the document id",
        )),
    }
}
