//! Transfer encodings of message parts. Damage costs the damaged characters, not the part.

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;

/// Decodes base64; whatever is no digit of it is skipped.
pub(super) fn base64(bytes: &[u8]) -> Vec<u8> {
    let mut digits: Vec<u8> = bytes
        .iter()
        .copied()
        .filter(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
        .collect();
    // One digit alone holds no byte.
    if digits.len() % 4 == 1 {
        digits.pop();
    }
    // The last digit of a cut text may carry bits that belong to no byte: only whole groups are
    // then sure.
    STANDARD_NO_PAD.decode(&digits).unwrap_or_else(|_| {
        digits.truncate(digits.len() / 4 * 4);
        STANDARD_NO_PAD.decode(&digits).ok().unwrap_or_default()
    })
}

/// Decodes quoted-printable; an `=` without two hexadecimal digits stays.
pub(super) fn quoted_printable(bytes: &[u8]) -> Vec<u8> {
    let mut result = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'=' {
            result.push(*first);
            continue;
        }
        let line_end = after
            .iter()
            .take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r'))
            .count();
        if after.get(line_end) == Some(&b'\n') {
            rest = after.get(line_end + 1..).unwrap_or_default();
        } else if let Some(byte) = after.get(..2).and_then(hexadecimal) {
            result.push(byte);
            rest = after.get(2..).unwrap_or_default();
        } else {
            result.push(b'=');
        }
    }
    result
}

fn hexadecimal(digits: &[u8]) -> Option<u8> {
    std::str::from_utf8(digits)
        .ok()
        .and_then(|digits| u8::from_str_radix(digits, 16).ok())
}
