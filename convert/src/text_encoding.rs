//! Bytes to text: byte order marks, UTF-16 without one, declared charsets, and guessing among the
//! legacy encodings (GBK, Big5, Shift-JIS, windows-125x …).

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::slices::part;
use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, ISO_2022_JP, UTF_8, UTF_16BE, UTF_16LE};

/// Code units looked at when UTF-16 without a byte order mark is suspected.
const UTF_16_SAMPLE_UNITS: usize = 2048;

/// Text decoded from bytes.
#[derive(Debug)]
pub(crate) struct Decoded<'a> {
    /// The text, without byte order mark.
    pub text: Cow<'a, str>,
    /// Name of the encoding that it was read in.
    pub encoding: &'static str,
    /// Characters that could not be decoded and are U+FFFD now.
    pub replaced_characters: usize,
}

/// Text of any encoding, and the name of the encoding that it was read in.
pub fn text_of(bytes: &[u8]) -> (Cow<'_, str>, &'static str) {
    let decoded = decode(bytes, None);
    (decoded.text, decoded.encoding)
}

/// Decodes text of any encoding; bytes that fit none become U+FFFD and are counted.
///
/// In this order: byte order mark, ISO-2022-JP by its escapes, valid UTF-8, UTF-16 by its pattern
/// of zero bytes or CJK units, the `declared` charset, a guess from letter statistics. Text that is
/// UTF-8 but for a few broken bytes is read as UTF-8.
pub(crate) fn decode<'a>(bytes: &'a [u8], declared: Option<&str>) -> Decoded<'a> {
    if let Some((encoding, mark_length)) = Encoding::for_bom(bytes) {
        return decode_as(encoding, part(bytes, mark_length..));
    }
    if is_iso_2022_jp(bytes) {
        return decode_as(ISO_2022_JP, bytes);
    }
    if let Ok(text) = std::str::from_utf8(bytes)
        && !(text.contains('\0') && utf_16_without_mark(bytes).is_some())
    {
        return Decoded {
            text: Cow::Borrowed(text),
            encoding: UTF_8.name(),
            replaced_characters: 0,
        };
    }
    if let Some(encoding) = utf_16_without_mark(bytes) {
        return decode_as(encoding, bytes);
    }
    if is_mostly_utf_8(bytes) {
        return decode_as(UTF_8, bytes);
    }
    let encoding = declared
        .and_then(|label| declared_encoding(label, bytes))
        .unwrap_or_else(|| guess(bytes));
    decode_as(encoding, bytes)
}

/// The encoding of that label, if all bytes fit it. A page that survived transcoding may still
/// claim UTF-8 or UTF-16; both are ruled out before.
fn declared_encoding(label: &str, bytes: &[u8]) -> Option<&'static Encoding> {
    let encoding = Encoding::for_label(label.trim().as_bytes())?;
    let is_ruled_out = [UTF_8, UTF_16LE, UTF_16BE].contains(&encoding);
    (!is_ruled_out && !encoding.decode_without_bom_handling(bytes).1).then_some(encoding)
}

/// Text in a charset that the producer names, as UTF-8; `None` where it is UTF-8 or has a byte order
/// mark, or where the bytes do not fit the charset: then they are looked at as if nothing was said.
pub(crate) fn as_named(bytes: &[u8], encoding: &'static Encoding) -> Option<String> {
    if Encoding::for_bom(bytes).is_some() || std::str::from_utf8(bytes).is_ok() {
        return None;
    }
    let decoded = decode_as(encoding, bytes);
    (decoded.replaced_characters == 0).then(|| decoded.text.into_owned())
}

/// Whether the bytes are ASCII with escapes to Japanese characters, which is valid UTF-8 as well.
fn is_iso_2022_jp(bytes: &[u8]) -> bool {
    let has_escape = bytes.contains(&0x1B)
        && bytes
            .windows(3)
            .any(|window| matches!(window, b"\x1B$B" | b"\x1B$@"));
    has_escape && bytes.is_ascii() && !ISO_2022_JP.decode_without_bom_handling(bytes).1
}

/// Byte order of UTF-16 text without a byte order mark, if that is what the bytes look like.
pub(crate) fn utf_16_without_mark(bytes: &[u8]) -> Option<&'static Encoding> {
    if bytes.len() < 4 || !bytes.len().is_multiple_of(2) {
        return None;
    }
    let (pairs, _) = bytes.as_chunks::<2>();
    let sample = pairs
        .get(..pairs.len().min(UTF_16_SAMPLE_UNITS))
        .unwrap_or(pairs);
    // Line ends, blanks and ASCII have a zero byte; without any, Shift-JIS and others look just as
    // plausible.
    if !sample.iter().any(|pair| pair.contains(&0)) {
        return None;
    }
    let little = plausible_share(sample.iter().map(|pair| u16::from_le_bytes(*pair)));
    let big = plausible_share(sample.iter().map(|pair| u16::from_be_bytes(*pair)));
    let (encoding, share) = if little >= big {
        (UTF_16LE, little)
    } else {
        (UTF_16BE, big)
    };
    (share >= 0.97).then_some(encoding)
}

/// Share of code units that ordinary Western or CJK text is made of; a zero unit counts heavily
/// against it.
fn plausible_share(units: impl ExactSizeIterator<Item = u16>) -> f64 {
    let count = units.len();
    let plausible = units
        .filter(|unit| {
            matches!(unit, 0x09 | 0x0A | 0x0D | 0x20..=0x7E | 0xA0..=0x17F | 0x370..=0x45F | 0x2010..=0x2040 | 0x3000..=0x30FF | 0x4E00..=0x9FFF | 0xAC00..=0xD7A3 | 0xFF00..=0xFFEF)
        })
        .count();
    plausible as f64 / count as f64
}

/// Whether the text is UTF-8 with rare damage: many good multi-byte sequences for every broken one.
fn is_mostly_utf_8(bytes: &[u8]) -> bool {
    let (mut broken, mut good) = (0_usize, 0_usize);
    for chunk in bytes.utf8_chunks() {
        good += chunk
            .valid()
            .chars()
            .filter(|character| !character.is_ascii())
            .count();
        broken += usize::from(!chunk.invalid().is_empty());
    }
    good > 20 * broken
}

fn guess(bytes: &[u8]) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(bytes, true);
    detector.guess(None, Utf8Detection::Deny)
}

fn decode_as<'a>(encoding: &'static Encoding, bytes: &'a [u8]) -> Decoded<'a> {
    let (text, had_errors) = encoding.decode_without_bom_handling(bytes);
    let replaced_characters = if had_errors {
        text.matches(char::REPLACEMENT_CHARACTER).count()
    } else {
        0
    };
    Decoded {
        text,
        encoding: encoding.name(),
        replaced_characters,
    }
}

/// Windows and old Mac line ends to `\n`.
pub(crate) fn unix_line_ends(text: Cow<'_, str>) -> String {
    if !text.contains('\r') {
        return text.into_owned();
    }
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// Notes in the metadata in which encoding a body came and how much of it could not be read.
pub(crate) fn note_encoding(
    metadata: &mut BTreeMap<String, String>,
    encoding: &str,
    replaced_characters: usize,
) {
    if encoding != "UTF-8" {
        metadata.insert("encoding".to_owned(), encoding.to_owned());
    }
    if replaced_characters > 0 {
        metadata.insert(
            "replaced_characters".to_owned(),
            replaced_characters.to_string(),
        );
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tributary_schemas::charset::charset_of;

    use super::*;

    #[test]
    fn a_charset_that_the_producer_names_counts_where_the_bytes_fit() {
        let short = encoding_rs::GBK.encode("天线").0.into_owned();
        let gbk = charset_of("text/plain; Charset=\"gbk\"").unwrap().unwrap();
        assert_eq!(as_named(&short, gbk).as_deref(), Some("天线"));
        assert_eq!(as_named("天线".as_bytes(), gbk), None, "it is UTF-8");
        assert_eq!(as_named(b"\xFF\xFF\xFF", gbk), None);
        assert!(charset_of("text/plain").unwrap().is_none());
        let error = charset_of("text/plain; charset=gbkk").unwrap_err();
        assert!(error.to_string().contains("charset=gbkk"), "{error}");
    }

    const CHINESE: &str = "载波聚合技术可以把多个载波合并起来使用，从而提高小区的峰值速率。配置完成以后，需要检查邻区关系。\n";

    #[test]
    fn every_encoding_of_chinese_reads_the_same() {
        for label in ["gbk", "gb18030", "utf-8"] {
            let encoding = Encoding::for_label(label.as_bytes()).unwrap();
            let (bytes, ..) = encoding.encode(CHINESE);
            let decoded = decode(&bytes, None);
            assert_eq!(
                decoded.text, CHINESE,
                "{label} read as {}",
                decoded.encoding
            );
            assert_eq!(decoded.replaced_characters, 0);
        }
    }

    #[test]
    fn big5_and_shift_jis_are_guessed() {
        for (label, text) in [
            (
                "big5",
                "無線網路的載波聚合技術可以提高峰值速率。設定完成以後，需要檢查鄰區關係，並且確認參數是否正確。",
            ),
            (
                "shift_jis",
                "無線ネットワークのキャリアアグリゲーション技術は、ピークレートを向上させることができます。",
            ),
            (
                "euc-kr",
                "무선 네트워크의 반송파 집성 기술은 최대 전송 속도를 높일 수 있습니다. 설정을 확인하십시오.",
            ),
        ] {
            let encoding = Encoding::for_label(label.as_bytes()).unwrap();
            assert_eq!(decode(&encoding.encode(text).0, None).text, text, "{label}");
        }
    }

    #[test]
    fn iso_2022_jp_is_told_by_its_escapes() {
        let text = "設定が完了したら、隣接セルの関係を確認してください。\n";
        let (bytes, ..) = ISO_2022_JP.encode(text);
        assert_eq!(decode(&bytes, None).text, text);
        assert_eq!(decode(&bytes, Some("utf-8")).text, text);
        let coloured = b"\x1B[31mred\x1B[0m costs $B";
        assert_eq!(decode(coloured, None).encoding, "UTF-8");
    }

    #[test]
    fn utf_16_is_read_with_and_without_a_mark() {
        for text in [CHINESE, "plain ASCII text\nof two lines\n"] {
            for (to_bytes, mark) in [
                (u16::to_le_bytes as fn(u16) -> [u8; 2], [0xFF, 0xFE]),
                (u16::to_be_bytes as fn(u16) -> [u8; 2], [0xFE, 0xFF]),
            ] {
                let bytes: Vec<u8> = text.encode_utf16().flat_map(to_bytes).collect();
                assert_eq!(decode(&bytes, None).text, text);
                let marked: Vec<u8> = mark.into_iter().chain(bytes).collect();
                assert_eq!(decode(&marked, None).text, text);
            }
        }
    }

    #[test]
    fn damage_in_utf_8_is_replaced_and_counted() {
        let mut bytes = CHINESE.repeat(3).into_bytes();
        bytes.insert(9, 0xFF);
        let decoded = decode(&bytes, None);
        assert_eq!(decoded.encoding, "UTF-8");
        assert_eq!(decoded.replaced_characters, 1);
    }

    #[test]
    fn a_declared_charset_counts_unless_the_bytes_contradict_it() {
        let latin = b"Die sch\xF6ne Frau";
        assert_eq!(decode(latin, Some("iso-8859-1")).text, "Die schöne Frau");
        let (gbk, ..) = encoding_rs::GBK.encode(CHINESE);
        assert_eq!(decode(&gbk, Some("utf-8")).text, CHINESE);
        assert_eq!(decode(CHINESE.as_bytes(), Some("gbk")).text, CHINESE);
    }

    #[test]
    fn byte_order_marks_are_not_text() {
        assert_eq!(decode(b"\xEF\xBB\xBFabc", None).text, "abc");
        assert_eq!(decode(b"", None).text, "");
        assert_eq!(decode(b"\xEF\xBB\xBF", None).text, "");
    }
}
