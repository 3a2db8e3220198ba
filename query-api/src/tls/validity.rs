//! From when until when a certificate holds: two times in the DER of X.509 (RFC 5280, 4.1), which
//! rustls checks for callers and does not tell servers.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
/// Fields of a certificate between its version and its validity: serial number, algorithm, issuer.
const FIELDS_BEFORE: usize = 3;

/// Milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    pub from_ms: i64,
    pub until_ms: i64,
}

impl Validity {
    /// That of a certificate; `None` for what is none.
    pub fn of(der: &[u8]) -> Option<Self> {
        let (certificate, _) = element(der, SEQUENCE)?;
        let (mut fields, _) = element(certificate, SEQUENCE)?;
        if let Some((_, rest)) = element(fields, VERSION) {
            fields = rest;
        }
        for _ in 0..FIELDS_BEFORE {
            fields = any(fields)?.2;
        }
        let (times, _) = element(fields, SEQUENCE)?;
        let (from_ms, rest) = time(times)?;
        let (until_ms, _) = time(rest)?;
        Some(Self { from_ms, until_ms })
    }
}

/// A time, and what follows it.
fn time(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let (tag, content, rest) = any(bytes)?;
    let text = std::str::from_utf8(content).ok()?;
    let text = match tag {
        // Two digits of the year, which is between 1950 and 2049.
        UTC_TIME => {
            let is_of_1900 = text.get(..2)?.parse::<u8>().ok()? >= 50;
            format!("{}{text}", if is_of_1900 { "19" } else { "20" })
        }
        GENERALIZED_TIME => text.to_owned(),
        _ => return None,
    };
    let time = DateTime::strptime("%Y%m%d%H%M%SZ", &text).ok()?;
    let time: Timestamp = time.to_zoned(TimeZone::UTC).ok()?.timestamp();
    Some((time.as_millisecond(), rest))
}

/// The content of an element of this kind, and what follows it.
fn element(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (found, content, rest) = any(bytes)?;
    (found == tag).then_some((content, rest))
}

/// Tag and content of the first element, and what follows it.
fn any(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (tag, rest) = bytes.split_first()?;
    let (first, rest) = rest.split_first()?;
    // A length up to 127 stands there; a longer one says in how many bytes it follows.
    let (length, rest) = match first & 0x80 {
        0 => (usize::from(*first), rest),
        _ => {
            let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            let is_readable = (1..=4).contains(&digits.len());
            let value = digits
                .iter()
                .fold(0, |value, digit| value << 8 | usize::from(*digit));
            (is_readable.then_some(value)?, rest)
        }
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((*tag, content, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_both_kinds_are_read() {
        let (utc, generalized) = (b"\x17\x0d251124080000Z", b"\x18\x0f20601124080000Z.");
        assert_eq!(time(utc), Some((1_763_971_200_000, &b""[..])));
        assert_eq!(time(generalized).map(|(_, rest)| rest), Some(&b"."[..]));
        assert_eq!(
            time(b"\x17\x0d991124080000Z").map(|(at, _)| at / 31_536_000_000),
            Some(29)
        );
    }

    #[test]
    fn what_is_no_certificate_has_no_validity() {
        for bytes in [
            &b""[..],
            b"\x30",
            b"\x30\x84\xff\xff\xff\xff",
            b"\x30\x80",
            b"\x30\x02\x30\x00",
        ] {
            assert_eq!(Validity::of(bytes), None);
        }
    }
}
