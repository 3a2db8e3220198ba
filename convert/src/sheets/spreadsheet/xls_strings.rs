//! Text in the BIFF stream of an xls workbook: Unicode texts ([MS-XLS] 2.5.293, 2.5.294), byte
//! texts of Excel 5 and 95, and the table of shared texts, which goes on in further records.

use encoding_rs::Encoding;
use tributary_schemas::Result;

use super::Bounds;
use super::xls_records::{Record, Records, kind, u16_at};
use super::xlsx_styles::SharedTexts;

/// Characters of two bytes.
const WIDE: u8 = 1;
/// Phonetic data follows the text.
const EXTENDED: u8 = 4;
/// Formats of single characters follow the text.
const RICH: u8 = 8;

/// How text is stored.
#[derive(Clone, Copy, Debug)]
pub(super) struct TextForm {
    /// Whether texts have a byte that says how wide their characters are (Excel 97 and later).
    pub is_unicode: bool,
    /// Encoding of byte texts.
    pub encoding: &'static Encoding,
}

impl TextForm {
    /// A text whose length is in the first two bytes (`length_bytes` 2) or the first byte (1).
    pub(super) fn text(self, data: &[u8], length_bytes: usize) -> Option<String> {
        let length = if length_bytes == 2 {
            usize::from(u16_at(data, 0)?)
        } else {
            usize::from(*data.first()?)
        };
        let rest = data.get(length_bytes..)?;
        if !self.is_unicode {
            let bytes = rest.get(..length.min(rest.len()))?;
            return Some(
                self.encoding
                    .decode_without_bom_handling(bytes)
                    .0
                    .into_owned(),
            );
        }
        let (flags, characters) = rest.split_first()?;
        Some(unicode(characters, length, flags & WIDE != 0).0)
    }
}

/// Up to `length` characters, and the bytes that they take.
fn unicode(data: &[u8], length: usize, is_wide: bool) -> (String, usize) {
    if !is_wide {
        let bytes = data.get(..length.min(data.len())).unwrap_or_default();
        return (
            bytes.iter().map(|byte| char::from(*byte)).collect(),
            bytes.len(),
        );
    }
    let bytes = data.get(..(length * 2).min(data.len())).unwrap_or_default();
    let (pairs, _) = bytes.as_chunks::<2>();
    let units = pairs.iter().map(|pair| u16::from_le_bytes(*pair));
    (
        char::decode_utf16(units)
            .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect(),
        pairs.len() * 2,
    )
}

/// The encoding of a code page; Western where it is not known.
pub(super) fn code_page(number: u16) -> &'static Encoding {
    let label = match number {
        874 => "windows-874",
        866 => "ibm866",
        932 => "shift_jis",
        936 => "gbk",
        949 => "euc-kr",
        950 => "big5",
        1200 => "utf-16le",
        1250..=1258 => {
            return Encoding::for_label(format!("windows-{number}").as_bytes())
                .unwrap_or(encoding_rs::WINDOWS_1252);
        }
        10000 | 32768 => "macintosh",
        10007 => "x-mac-cyrillic",
        54936 => "gb18030",
        65001 => "utf-8",
        _ => "windows-1252",
    };
    Encoding::for_label(label.as_bytes()).unwrap_or(encoding_rs::WINDOWS_1252)
}

/// The table of shared texts that begins with a record and goes on in those after it, as far as it
/// is whole; `Invalid` over the limit.
pub(super) fn shared_texts(
    first: Record<'_>,
    mut following: Records<'_>,
    bounds: Bounds<'_>,
) -> Result<SharedTexts> {
    let mut parts = vec![first.data.get(8..).unwrap_or_default()];
    while let Some(next) = following
        .next()
        .filter(|record| record.kind == kind::CONTINUE)
    {
        parts.push(next.data);
    }
    let mut reader = Parts {
        parts: &parts,
        part: 0,
        offset: 0,
    };
    let mut texts = SharedTexts::default();
    // The number of texts in the record is a claim; each takes three bytes or more.
    while let Some(text) = reader.text() {
        texts.push(&text, bounds)?;
    }
    Ok(texts)
}

struct Parts<'a> {
    parts: &'a [&'a [u8]],
    part: usize,
    offset: usize,
}

impl<'a> Parts<'a> {
    /// What remains of the current part; the next part once it is used up.
    fn rest(&mut self) -> Option<&'a [u8]> {
        loop {
            let rest = self
                .parts
                .get(self.part)?
                .get(self.offset..)
                .unwrap_or_default();
            if !rest.is_empty() {
                return Some(rest);
            }
            self.part += 1;
            self.offset = 0;
        }
    }

    fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let mut taken = [0; N];
        for place in &mut taken {
            *place = *self.rest()?.first()?;
            self.offset += 1;
        }
        Some(taken)
    }

    fn skip(&mut self, mut length: usize) -> Option<()> {
        while length > 0 {
            let step = self.rest()?.len().min(length);
            self.offset += step;
            length -= step;
        }
        Some(())
    }

    fn text(&mut self) -> Option<String> {
        let mut left = usize::from(u16::from_le_bytes(self.bytes()?));
        let [mut flags] = self.bytes()?;
        let runs = if flags & RICH == 0 {
            0
        } else {
            usize::from(u16::from_le_bytes(self.bytes()?))
        };
        let extension = if flags & EXTENDED == 0 {
            0
        } else {
            u32::from_le_bytes(self.bytes()?) as usize
        };
        let mut text = String::new();
        while left > 0 {
            let part = self.part;
            let Some(mut rest) = self.rest() else {
                return Some(text).filter(|text| !text.is_empty());
            };
            // Where characters go on in the next record, their width is said again.
            if self.part != part {
                flags = *rest.first()?;
                self.offset += 1;
                rest = rest.get(1..)?;
            }
            let (piece, bytes) = unicode(rest, left, flags & WIDE != 0);
            let taken = if flags & WIDE != 0 { bytes / 2 } else { bytes };
            // A single byte of a wide character at the end of a record.
            self.offset += bytes.max(usize::from(taken == 0));
            left -= taken;
            text.push_str(&piece);
        }
        // Damage in what follows the text loses the texts after it, not this one.
        if self
            .skip(runs * 4)
            .and_then(|()| self.skip(extension))
            .is_none()
        {
            self.part = self.parts.len();
        }
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn record(kind: u16, data: &[u8]) -> Vec<u8> {
        [kind.to_le_bytes(), (data.len() as u16).to_le_bytes()]
            .concat()
            .into_iter()
            .chain(data.iter().copied())
            .collect()
    }

    #[test]
    fn shared_texts_go_on_in_the_next_record() {
        // "abcd" of narrow characters, cut after two; then "中文" with one format run.
        let first = record(
            kind::SHARED_STRINGS,
            &[2, 0, 0, 0, 255, 255, 255, 255, 4, 0, 0, b'a', b'b'],
        );
        let second = record(
            kind::CONTINUE,
            &[
                1, b'c', 0, b'd', 0, 2, 0, 9, 1, 0, 0x2D, 0x4E, 0x87, 0x65, 1, 2, 3, 4, 1, 0, 0,
                b'x',
            ],
        );
        let stream = [first, second].concat();
        let mut records = Records::new(&stream, 0);
        let config = Config::default();
        let limits = crate::limits::Limits::starting_now(&config);
        let bounds = Bounds {
            settings: &config.spreadsheet,
            tables: &config.tables,
            limits: &limits,
        };
        let texts = records
            .next()
            .and_then(|first| shared_texts(first, records, bounds).ok())
            .unwrap_or_default();
        assert_eq!(
            [0, 1, 2, 3].map(|index| texts.get(index)),
            [Some("abcd"), Some("中文"), Some("x"), None]
        );
    }

    #[test]
    fn texts_with_wrong_lengths_end() {
        let form = TextForm {
            is_unicode: true,
            encoding: encoding_rs::WINDOWS_1252,
        };
        assert_eq!(
            form.text(&[255, 255, 1, b'a', 0, b'b'], 2).as_deref(),
            Some("a")
        );
        assert_eq!(form.text(&[255], 2), None);
        let form = TextForm {
            is_unicode: false,
            encoding: code_page(936),
        };
        assert_eq!(
            form.text(&[4, 0xD6, 0xD0, 0xCE, 0xC4], 1).as_deref(),
            Some("中文")
        );
    }
}
