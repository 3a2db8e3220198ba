//! Dead letters in records: the failed record unchanged, but for its key, which goes into a header;
//! why it failed in headers beside its own. The key is the letter's id, so that compaction takes a
//! letter away together with the tombstone that resolves it.

use bytes::Bytes;
use tributary_schemas::event::dead_letter as header;
use tributary_schemas::{DeadLetter, Error, ErrorKind, Result, Topic};

use super::topics::claimed_bytes;
use super::{Position, Record, StoredRecord};

/// Why a record was given up.
pub struct Failure<'a> {
    /// Topic of the failed record.
    pub topic: Topic,
    /// Stage that gave up.
    pub stage: &'a str,
    /// Attempts made.
    pub attempts: u32,
    /// The last error.
    pub error: &'a Error,
    /// When, milliseconds since 1970.
    pub at_ms: i64,
}

/// Bytes of the failed record's own headers that its dead letter keeps: with ours and an inline
/// value they fit into a record of any log.
const OWN_HEADER_BYTES: usize = 64 << 10;
/// Headers that say what the record is, and where its value lies: they are kept before others.
const NEEDED: [&str; 3] = ["tributary_", "ce_", "content-type"];

/// The record for the dead-letter topic. Headers beyond [`OWN_HEADER_BYTES`] are left out, which a
/// header says.
pub fn record(failed: &StoredRecord, failure: &Failure<'_>) -> Record {
    let mut record = failed.record.clone();
    let left_out = keep_some(&mut record.headers, OWN_HEADER_BYTES);
    record
        .headers
        .extend(left_out.map(|note| (header::LEFT_OUT.to_owned(), Bytes::from(note))));
    record.headers.extend(
        our_headers(failed, failure).map(|(name, value)| (name.to_owned(), Bytes::from(value))),
    );
    under_id(record, &id(failure.topic, failed.position))
}

fn our_headers(failed: &StoredRecord, failure: &Failure<'_>) -> [(&'static str, String); 8] {
    let position = failed.position;
    [
        (header::TOPIC, failure.topic.name().to_owned()),
        (header::PARTITION, position.partition.to_string()),
        (header::OFFSET, position.offset.to_string()),
        (header::STAGE, failure.stage.to_owned()),
        (header::ATTEMPTS, failure.attempts.to_string()),
        (header::KIND, failure.error.kind().to_string()),
        (header::MESSAGE, failure.error.full_message()),
        (header::AT_MS, failure.at_ms.to_string()),
    ]
}

/// A letter of before they were compacted, which has the failed record's key, as it is now.
pub fn upgraded(record: Record) -> Result<Record> {
    let (topic, position) = origin(&record)?;
    Ok(under_id(record, &id(topic, position)))
}

fn under_id(mut record: Record, id: &str) -> Record {
    let key = std::mem::replace(&mut record.key, Bytes::copy_from_slice(id.as_bytes()));
    record.headers.push((header::KEY.to_owned(), key));
    record
}

/// Keeps headers of so many bytes, those that are needed first; says what it leaves out.
fn keep_some(headers: &mut Vec<(String, Bytes)>, limit: usize) -> Option<String> {
    let size = |(name, value): &(String, Bytes)| name.len() + value.len();
    if headers.iter().map(size).sum::<usize>() <= limit {
        return None;
    }
    let is_needed =
        |(name, _): &(String, Bytes)| NEEDED.iter().any(|needed| name.starts_with(needed));
    let (mut is_kept, mut room) = (vec![false; headers.len()], limit);
    for wanted in [true, false] {
        for (header, kept) in headers
            .iter()
            .zip(&mut is_kept)
            .filter(|(header, _)| is_needed(header) == wanted)
        {
            *kept = size(header) <= room;
            room -= if *kept { size(header) } else { 0 };
        }
    }
    let left: Vec<usize> = headers
        .iter()
        .zip(&is_kept)
        .filter(|(_, kept)| !**kept)
        .map(|(header, _)| size(header))
        .collect();
    let mut kept = is_kept.into_iter();
    headers.retain(|_| kept.next().unwrap_or_default());
    Some(format!(
        "{} headers of {} bytes",
        left.len(),
        left.iter().sum::<usize>()
    ))
}

/// What a dead-letter record says.
pub fn read(record: &Record) -> Result<DeadLetter> {
    let (topic, position) = origin(record)?;
    Ok(DeadLetter {
        id: id(topic, position),
        document_id: String::from_utf8_lossy(&key(record)).into_owned(),
        source: String::new(),
        source_path: String::new(),
        title: String::new(),
        topic: topic.name().to_owned(),
        partition: position.partition,
        offset: position.offset,
        stage: last_header(record, header::STAGE)?.to_owned(),
        attempts: number(record, header::ATTEMPTS)?,
        kind: last_header(record, header::KIND)?
            .parse()
            .map_err(|error: String| damaged(&error))?,
        message: last_header(record, header::MESSAGE)?.to_owned(),
        at_ms: number(record, header::AT_MS)?,
        bytes: body_bytes(record),
    })
}

/// The size of a record's document, wherever its body is stored.
fn body_bytes(record: &Record) -> u64 {
    claimed_bytes(record)
        .unwrap_or_else(|| record.value.as_ref().map_or(0, |value| value.len() as u64))
}

/// The failed record as it was, and the topic it belongs to.
pub fn original(record: &Record) -> Result<(Topic, Record)> {
    let (topic, _) = origin(record)?;
    let mut original = Record {
        key: key(record),
        ..record.clone()
    };
    original
        .headers
        .retain(|(name, _)| !name.starts_with("tributary_dead_"));
    Ok((topic, original))
}

/// The failed record's key.
fn key(record: &Record) -> Bytes {
    let kept = record
        .headers
        .iter()
        .rev()
        .find(|(name, _)| name == header::KEY);
    kept.map_or_else(|| record.key.clone(), |(_, key)| key.clone())
}

/// Topic and position of the failed record.
pub fn origin(record: &Record) -> Result<(Topic, Position)> {
    let name = last_header(record, header::TOPIC)?;
    let topic = Topic::ALL.into_iter().find(|topic| topic.name() == name);
    let topic = topic.ok_or_else(|| damaged(&format!("unknown topic `{name}`")))?;
    Ok((
        topic,
        Position {
            partition: number(record, header::PARTITION)?,
            offset: number(record, header::OFFSET)?,
        },
    ))
}

/// The id of the letter about a failed record.
pub fn id(topic: Topic, position: Position) -> String {
    format!(
        "{}-{}-{}",
        topic.name(),
        position.partition,
        position.offset
    )
}

/// The last one counts: a record that was given up twice carries the headers of both times.
fn last_header<'a>(record: &'a Record, name: &str) -> Result<&'a str> {
    let found = record.headers.iter().rev().find(|(other, _)| other == name);
    found
        .and_then(|(_, value)| std::str::from_utf8(value).ok())
        .ok_or_else(|| damaged(&format!("header `{name}` is missing")))
}

fn number<T: std::str::FromStr>(record: &Record, name: &str) -> Result<T> {
    let text = last_header(record, name)?;
    text.parse()
        .map_err(|_| damaged(&format!("header `{name}` is no number: `{text}`")))
}

fn damaged(what: &str) -> Error {
    Error::new(ErrorKind::Corrupt, format!("not a dead letter: {what}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_dead_letter_keeps_the_record_unchanged_and_says_why() {
        let record = Record {
            key: Bytes::from_static(b"d"),
            value: Some(Bytes::from_static(b"not json")),
            headers: vec![("ce_type".into(), Bytes::from_static(b"x"))],
            timestamp_ms: 7,
        };
        let failed = StoredRecord {
            position: Position {
                partition: 1,
                offset: 42,
            },
            record,
        };
        let error = Error::new(ErrorKind::Invalid, "value is not JSON").with_hint("send JSON");
        let failure = Failure {
            topic: Topic::DocumentsRaw,
            stage: "ingest",
            attempts: 1,
            error: &error,
            at_ms: 9,
        };
        let letter = super::record(&failed, &failure);
        let read = read(&letter).unwrap();
        assert_eq!(
            (read.id.as_str(), read.kind, read.attempts),
            ("documents.raw.v1-1-42", ErrorKind::Invalid, 1)
        );
        assert_eq!(read.message, "value is not JSON (hint: send JSON)");
        assert_eq!(letter.key, "documents.raw.v1-1-42");
        assert_eq!(read.document_id, "d");
        assert_eq!(
            original(&letter).unwrap(),
            (Topic::DocumentsRaw, failed.record.clone())
        );

        let mut old = letter.clone();
        old.headers.retain(|(name, _)| name != header::KEY);
        old.key = failed.record.key;
        assert_eq!(upgraded(old).unwrap(), letter);
    }

    #[test]
    fn a_key_that_is_no_text_comes_back_as_it_was() {
        let record = Record {
            key: Bytes::from_static(b"\xff\xfe"),
            ..Record::default()
        };
        let failed = StoredRecord {
            position: Position {
                partition: 0,
                offset: 1,
            },
            record,
        };
        let error = Error::new(ErrorKind::Invalid, "record key is not UTF-8");
        let failure = Failure {
            topic: Topic::DocumentsRaw,
            stage: "ingest",
            attempts: 1,
            error: &error,
            at_ms: 9,
        };
        assert_eq!(
            original(&super::record(&failed, &failure)).unwrap().1,
            failed.record
        );
    }

    #[test]
    fn headers_that_no_log_takes_are_left_out_and_what_is_needed_stays() {
        let long = Bytes::from(vec![b'x'; 16 << 20]);
        let headers = vec![
            ("traceparent".into(), long.clone()),
            ("a".into(), Bytes::from_static(b"short")),
            (
                "tributary_claim_check".into(),
                Bytes::from_static(b"blob:00"),
            ),
            ("ce_id".into(), long),
            ("b".into(), Bytes::from(vec![b'y'; 64 << 10])),
        ];
        let record = Record {
            key: Bytes::from_static(b"d"),
            value: Some(Bytes::from_static(b"v")),
            headers,
            timestamp_ms: 7,
        };
        let failed = StoredRecord {
            position: Position {
                partition: 1,
                offset: 42,
            },
            record,
        };
        let error = Error::new(ErrorKind::Invalid, "表".repeat(4000));
        let letter = super::record(
            &failed,
            &Failure {
                topic: Topic::DocumentsRaw,
                stage: "s",
                attempts: 1,
                error: &error,
                at_ms: 9,
            },
        );
        assert!(letter.size() < 128 << 10, "{}", letter.size());
        let note = letter
            .headers
            .iter()
            .find(|(name, _)| name == header::LEFT_OUT)
            .map(|(_, note)| note.clone())
            .unwrap();
        assert_eq!(note, "3 headers of 33619985 bytes".as_bytes());
        let (_, original) = original(&letter).unwrap();
        let kept: Vec<&str> = original
            .headers
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!(
            (kept, original.value, original.key),
            (
                vec!["a", "tributary_claim_check"],
                failed.record.value,
                failed.record.key
            )
        );
    }
}
