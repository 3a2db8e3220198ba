//! Title, author and dates of the stream `SummaryInformation` ([MS-OLEPS] 2.21).

use std::collections::BTreeMap;

use encoding_rs::{Encoding, WINDOWS_1252};

use super::bytes::{size_at, slice_at, u16_at, u32_at, utf_16};
use crate::blanks::collapsed;
use crate::code_pages::of_code_page;

/// Name of the stream.
pub(crate) const STREAM: &str = "\u{5}SummaryInformation";

/// Numbers of properties, and what they are called in the metadata.
const NAMES: [(u32, &str); 8] = [
    (2, "title"),
    (3, "subject"),
    (4, "author"),
    (5, "keywords"),
    (6, "description"),
    (8, "last_modified_by"),
    (12, "created"),
    (13, "modified"),
];
/// Most properties that are looked at.
const MAXIMUM_PROPERTIES: usize = 256;
/// 100-nanosecond steps from 1601 to 1970, and in a second.
const EPOCH: u64 = 116_444_736_000_000_000;
const STEPS_PER_SECOND: u64 = 10_000_000;

/// The metadata that the stream holds; what cannot be read is left out.
pub(crate) fn read(stream: &[u8]) -> BTreeMap<String, String> {
    let mut metadata = BTreeMap::new();
    let Some(section) = size_at(stream, 44).and_then(|offset| stream.get(offset..)) else {
        return metadata;
    };
    let count = size_at(section, 4).unwrap_or(0).min(MAXIMUM_PROPERTIES);
    let place = |index: usize| {
        Some((
            u32_at(section, 8 + 8 * index)?,
            size_at(section, 12 + 8 * index)?,
        ))
    };
    let places: Vec<(u32, usize)> = (0..count).map_while(place).collect();
    let page = places
        .iter()
        .find(|(number, _)| *number == 1)
        .and_then(|(_, at)| u16_at(section, at.checked_add(4)?));
    let encoding = page
        .and_then(|page| of_code_page(i32::from(page)))
        .unwrap_or(WINDOWS_1252);
    for (number, at) in places {
        let Some((_, name)) = NAMES.iter().find(|(known, _)| *known == number) else {
            continue;
        };
        if let Some(value) = value(section, at, encoding).filter(|value| !value.is_empty()) {
            metadata.insert((*name).to_owned(), value);
        }
    }
    metadata
}

fn value(section: &[u8], at: usize, encoding: &'static Encoding) -> Option<String> {
    let content = section.get(at..)?;
    let text = match u32_at(content, 0)? {
        0x1E => {
            let bytes = slice_at(content, 8, size_at(content, 4)?)?;
            encoding.decode_without_bom_handling(bytes).0.into_owned()
        }
        0x1F => utf_16(slice_at(content, 8, size_at(content, 4)?.checked_mul(2)?)?),
        0x40 => {
            let steps = u64::from(u32_at(content, 4)?) | u64::from(u32_at(content, 8)?) << 32;
            return timestamp(steps);
        }
        _ => return None,
    };
    let text = text.split('\0').next().unwrap_or_default();
    Some(collapsed(text))
}

/// A time in steps of 100 nanoseconds since 1601 as `2024-05-06T07:08:09Z`; `None` for times before
/// 1970, which stand for no time.
pub(crate) fn timestamp(steps: u64) -> Option<String> {
    let seconds = steps.checked_sub(EPOCH)? / STEPS_PER_SECOND;
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Days to a date, after Howard Hinnant's `civil_from_days`; years begin in March.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = year_of_era + 400 * era + u64::from(month <= 2);
    let (hour, minute) = (second / 3600, second / 60 % 60);
    Some(format!(
        "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{:02}Z",
        second % 60
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_in_code_pages_and_times() {
        let mut stream = vec![0; 44];
        stream.extend(48_u32.to_le_bytes());
        let mut section: Vec<u8> = Vec::new();
        // Size, count, then number and offset of each property, then type and value.
        for number in [0_u32, 3, 1, 32, 2, 40, 12, 56, 2, 936, 30, 5] {
            section.extend(number.to_le_bytes());
        }
        section.extend([0xD6, 0xD0, 0xCE, 0xC4, 0, 0, 0, 0]);
        section.extend(0x40_u32.to_le_bytes());
        section.extend((EPOCH + 951_782_400 * STEPS_PER_SECOND).to_le_bytes());
        stream.extend(section);
        let metadata = read(&stream);
        assert_eq!(metadata.get("title").map(String::as_str), Some("中文"));
        assert_eq!(
            metadata.get("created").map(String::as_str),
            Some("2000-02-29T00:00:00Z")
        );
        assert!(read(&stream[..50]).is_empty());
    }
}
