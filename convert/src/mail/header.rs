//! Header fields: unfolding, encoded words (RFC 2047), parameters with their continuations (RFC
//! 2231).

use std::collections::BTreeMap;

use encoding_rs::{Encoding, ISO_2022_JP};

use super::transfer::{base64, quoted_printable};
use crate::text_encoding::decode;

/// Most header fields of one part.
const MAXIMUM_FIELDS: usize = 2000;

/// The fields at the start of a part by lowercase name, and the length of the header with its blank
/// line.
pub(crate) fn fields(bytes: &[u8]) -> (Vec<(String, String)>, usize) {
    let mut fields: Vec<(String, Vec<u8>)> = Vec::new();
    let mut used = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let text = line.trim_ascii_end();
        if text.is_empty() {
            used += line.len();
            break;
        }
        if line
            .first()
            .is_some_and(|first| matches!(first, b' ' | b'\t'))
        {
            if let Some((_, value)) = fields.last_mut() {
                value.push(b' ');
                value.extend_from_slice(text.trim_ascii_start());
            }
        } else if let Some(colon) = name_length(text) {
            if fields.len() < MAXIMUM_FIELDS {
                let name = String::from_utf8_lossy(text.get(..colon).unwrap_or_default())
                    .trim()
                    .to_ascii_lowercase();
                fields.push((
                    name,
                    text.get(colon + 1..)
                        .unwrap_or_default()
                        .trim_ascii_start()
                        .to_vec(),
                ));
            }
        } else if !(fields.is_empty() && text.starts_with(b"From ")) {
            // The body began without a blank line. The envelope line of a mailbox file is no field,
            // but no body either.
            break;
        }
        used += line.len();
    }
    // Some senders write bytes of their own encoding without saying so.
    (
        fields
            .into_iter()
            .map(|(name, value)| (name, decode(&value, None).text.into_owned()))
            .collect(),
        used,
    )
}

/// Length of the field name before the colon.
fn name_length(line: &[u8]) -> Option<usize> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let is_name = colon > 0
        && line
            .iter()
            .take(colon)
            .all(|byte| matches!(byte, 33..=126) || *byte == b' ')
        && line.first() != Some(&b' ');
    is_name.then_some(colon)
}

/// Text with its encoded words (`=?charset?B?…?=`) decoded. Words side by side are one text, so
/// that characters cut in two are whole; those of ISO-2022-JP are not, since each begins and ends
/// in ASCII.
pub(crate) fn decoded(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut waiting: Option<(&'static Encoding, Vec<u8>)> = None;
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("=?") {
        let Some((encoding, bytes, behind)) = encoded_word(after) else {
            flush(&mut waiting, &mut result);
            result.push_str(before);
            result.push_str("=?");
            rest = after;
            continue;
        };
        let adjoins = waiting
            .as_ref()
            .is_some_and(|(known, _)| *known == encoding && encoding != ISO_2022_JP)
            && before.trim().is_empty();
        if !adjoins {
            let parted = waiting.is_some() && before.trim().is_empty();
            flush(&mut waiting, &mut result);
            result.push_str(if parted { "" } else { before });
        }
        waiting
            .get_or_insert_with(|| (encoding, Vec::new()))
            .1
            .extend(bytes);
        rest = behind;
    }
    flush(&mut waiting, &mut result);
    result.push_str(rest);
    result
}

fn flush(waiting: &mut Option<(&'static Encoding, Vec<u8>)>, result: &mut String) {
    if let Some((encoding, bytes)) = waiting.take() {
        result.push_str(&encoding.decode_without_bom_handling(&bytes).0);
    }
}

/// Encoding and bytes of an encoded word behind its `=?`, and what follows it.
fn encoded_word(text: &str) -> Option<(&'static Encoding, Vec<u8>, &str)> {
    let (charset, after) = text.split_once('?')?;
    let (kind, after) = after.split_once('?')?;
    let (data, behind) = after.split_once("?=")?;
    let charset = charset.split('*').next().unwrap_or_default();
    let encoding = Encoding::for_label(charset.as_bytes())?;
    let bytes = match kind {
        "B" | "b" => base64(data.as_bytes()),
        "Q" | "q" => quoted_printable(data.replace('_', " ").as_bytes()),
        _ => return None,
    };
    Some((encoding, bytes, behind))
}

/// The value before the first `;`, lowercase, and the parameters behind it.
pub(crate) fn with_parameters(text: &str) -> (String, BTreeMap<String, String>) {
    let mut pieces = split_outside_quotes(text).into_iter();
    let value = pieces
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    let mut raw: BTreeMap<String, String> = BTreeMap::new();
    for piece in pieces {
        if let Some((name, value)) = piece.split_once('=') {
            raw.entry(name.trim().to_ascii_lowercase())
                .or_insert_with(|| unquoted(value.trim()));
        }
    }
    (value, joined(&raw))
}

/// `name*0`, `name*1*` … as one value; `name*` with charset and percent signs decoded.
fn joined(raw: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut parameters = BTreeMap::new();
    for (key, value) in raw {
        let Some((name, section)) = key.split_once('*') else {
            parameters.insert(key.clone(), decoded(value));
            continue;
        };
        if section.is_empty() {
            parameters.insert(name.to_owned(), extended(value));
        } else if matches!(section, "0" | "0*") {
            let pieces = (0..200).map_while(|number| {
                raw.get(&format!("{name}*{number}"))
                    .or_else(|| raw.get(&format!("{name}*{number}*")))
            });
            let whole: String = pieces.map(String::as_str).collect();
            parameters.insert(
                name.to_owned(),
                if section == "0*" {
                    extended(&whole)
                } else {
                    decoded(&whole)
                },
            );
        }
    }
    parameters
}

/// `charset'language'percent-encoded`.
fn extended(value: &str) -> String {
    let mut parts = value.splitn(3, '\'');
    let (Some(charset), Some(_), Some(text)) = (parts.next(), parts.next(), parts.next()) else {
        return value.to_owned();
    };
    let bytes = quoted_printable(text.replace('%', "=").as_bytes());
    Encoding::for_label(charset.as_bytes()).map_or_else(
        || decode(&bytes, None).text.into_owned(),
        |encoding| encoding.decode_without_bom_handling(&bytes).0.into_owned(),
    )
}

fn split_outside_quotes(text: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let (mut quoted, mut escaped) = (false, false);
    for character in text.chars() {
        quoted ^= character == '"' && !escaped;
        escaped = character == '\\' && !escaped;
        match (character, pieces.last_mut()) {
            (';', _) if !quoted => pieces.push(String::new()),
            (other, Some(last)) => last.push(other),
            (_, None) => {}
        }
    }
    pieces
}

fn unquoted(value: &str) -> String {
    match value
        .strip_prefix('"')
        .map(|inside| inside.strip_suffix('"').unwrap_or(inside))
    {
        Some(inside) => inside.replace("\\\"", "\"").replace("\\\\", "\\"),
        None => value.to_owned(),
    }
}
