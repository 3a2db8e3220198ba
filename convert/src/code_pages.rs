//! Code pages, character sets and languages of Windows as encodings.

use encoding_rs::{
    BIG5, EUC_JP, EUC_KR, Encoding, GBK, IBM866, ISO_2022_JP, ISO_8859_2, ISO_8859_5, ISO_8859_7,
    ISO_8859_15, KOI8_R, MACINTOSH, SHIFT_JIS, UTF_8, WINDOWS_874, WINDOWS_1250, WINDOWS_1251,
    WINDOWS_1252, WINDOWS_1253, WINDOWS_1254, WINDOWS_1255, WINDOWS_1256, WINDOWS_1257,
    WINDOWS_1258,
};

/// The encoding of a Windows code page.
pub(crate) fn of_code_page(number: i32) -> Option<&'static Encoding> {
    Some(match number {
        874 => WINDOWS_874,
        20866 => KOI8_R,
        20932 | 51932 => EUC_JP,
        50220..=50222 => ISO_2022_JP,
        28591 => WINDOWS_1252,
        28592 => ISO_8859_2,
        28595 => ISO_8859_5,
        28597 => ISO_8859_7,
        28605 => ISO_8859_15,
        866 => IBM866,
        932 => SHIFT_JIS,
        936 | 20936 | 51936 | 54936 => GBK,
        949 | 1361 | 51949 => EUC_KR,
        950 => BIG5,
        1250 => WINDOWS_1250,
        1251 => WINDOWS_1251,
        437 | 850 | 1252 => WINDOWS_1252,
        1253 => WINDOWS_1253,
        1254 => WINDOWS_1254,
        1255 => WINDOWS_1255,
        1256 => WINDOWS_1256,
        1257 => WINDOWS_1257,
        1258 => WINDOWS_1258,
        10000 => MACINTOSH,
        65001 => UTF_8,
        _ => return None,
    })
}

/// The encoding of a font's character set (`\fcharset`); `None` for the document's own.
pub(crate) fn of_character_set(number: i32) -> Option<&'static Encoding> {
    Some(match number {
        0 => WINDOWS_1252,
        77 => MACINTOSH,
        128 => SHIFT_JIS,
        129 | 130 => EUC_KR,
        134 => GBK,
        136 => BIG5,
        161 => WINDOWS_1253,
        162 => WINDOWS_1254,
        163 => WINDOWS_1258,
        177 => WINDOWS_1255,
        178 => WINDOWS_1256,
        186 => WINDOWS_1257,
        204 => WINDOWS_1251,
        222 => WINDOWS_874,
        238 => WINDOWS_1250,
        _ => return None,
    })
}

/// The encoding that Windows uses for a language, by its identifier; `None` for those of Western
/// Europe and unknown ones.
pub(crate) fn of_language(identifier: u32) -> Option<&'static Encoding> {
    if matches!(identifier, 0x0404 | 0x0C04 | 0x1404) {
        return Some(BIG5);
    }
    // The low ten bits are the language, the others the country.
    Some(match identifier & 0x3FF {
        0x04 => GBK,
        0x11 => SHIFT_JIS,
        0x12 => EUC_KR,
        0x05 | 0x0E | 0x15 | 0x18 | 0x1A | 0x1B | 0x1C | 0x24 => WINDOWS_1250,
        0x02 | 0x19 | 0x22 | 0x23 | 0x2F => WINDOWS_1251,
        0x08 => WINDOWS_1253,
        0x1F => WINDOWS_1254,
        0x0D => WINDOWS_1255,
        0x01 | 0x20 | 0x29 => WINDOWS_1256,
        0x25..=0x27 => WINDOWS_1257,
        0x2A => WINDOWS_1258,
        0x1E => WINDOWS_874,
        _ => return None,
    })
}
