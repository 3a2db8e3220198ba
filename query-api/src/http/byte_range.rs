//! The header `Range`, as far as it is obeyed: one range of bytes (RFC 9110, 14.1.2).

use std::ops::Range;

/// What a header asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// Everything: the header is something else, which may be passed over.
    All,
    /// These bytes, at least one.
    Part(Range<u64>),
    /// Bytes that are not there.
    Nothing,
}

/// Of `size` bytes.
pub(super) fn asked(header: &str, size: u64) -> Asked {
    let Some((first, last)) = header
        .strip_prefix("bytes=")
        .and_then(|range| range.split_once('-'))
    else {
        return Asked::All;
    };
    let (first, last) = (first.trim(), last.trim());
    let range = match (first.parse::<u64>(), last.parse::<u64>()) {
        (Ok(first), Ok(last)) if first <= last => first..last.saturating_add(1).min(size),
        (Ok(first), Err(_)) if last.is_empty() => first..size,
        // The last so many.
        (Err(_), Ok(count)) if first.is_empty() => size.saturating_sub(count)..size,
        _ => return Asked::All,
    };
    if range.is_empty() {
        Asked::Nothing
    } else {
        Asked::Part(range)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_range_of_bytes_is_obeyed() {
        let table = [
            ("bytes=0-9", Asked::Part(0..10)),
            ("bytes=90-", Asked::Part(90..100)),
            ("bytes=-5", Asked::Part(95..100)),
            ("bytes=-500", Asked::Part(0..100)),
            ("bytes=50-5000", Asked::Part(50..100)),
            ("bytes=0-18446744073709551615", Asked::Part(0..100)),
            ("bytes=100-", Asked::Nothing),
            ("bytes=-0", Asked::Nothing),
            ("bytes=9-0", Asked::All),
            ("bytes=0-1,5-6", Asked::All),
            ("bytes=-", Asked::All),
            ("lines=0-1", Asked::All),
            ("", Asked::All),
        ];
        for (header, expected) in table {
            assert_eq!(asked(header, 100), expected, "{header}");
        }
        assert_eq!(asked("bytes=0-", 0), Asked::Nothing);
    }
}
