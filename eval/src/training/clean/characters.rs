//! Characters that do not belong into a question: those that stand for damage, those that cannot be
//! seen, and text that was read in the wrong encoding (mojibake).

/// Least share of letters and digits among what can be seen.
const LEAST_LETTERS: f64 = 0.3;
/// What UTF-8 with damage becomes when it is read as GBK, and uninitialised memory.
const GBK_DAMAGE: [&str; 4] = ["锟斤拷", "烫烫烫", "屯屯屯", "锘"];
/// Windows-1252 from 0x80 to 0x9f; NUL where it has none.
const WINDOWS_1252: [char; 32] = [
    '€', '\0', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\0', 'Ž', '\0', '\0', '‘',
    '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\0', 'ž', 'Ÿ',
];

/// What is wrong with the characters of a text, if anything.
pub fn bad_character(text: &str) -> Option<String> {
    if let Some(reason) = text.chars().find_map(of_character) {
        return Some(reason.to_owned());
    }
    if is_misread(text) || GBK_DAMAGE.iter().any(|damage| text.contains(damage)) {
        return Some("wrong encoding".to_owned());
    }
    let visible = text.chars().filter(|sign| !sign.is_whitespace()).count();
    let letters = text.chars().filter(|sign| sign.is_alphanumeric()).count();
    let is_noise = (letters as f64) < visible as f64 * LEAST_LETTERS;
    (is_noise || letters == 0).then(|| "hardly any letters".to_owned())
}

fn of_character(sign: char) -> Option<&'static str> {
    match sign {
        '\u{fffd}' => Some("replacement character"),
        '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10ffff}' => Some("private character"),
        '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}' => Some("invisible character"),
        sign if sign.is_control() && sign != '\t' => Some("control character"),
        _ => None,
    }
}

/// Whether a part of the text is UTF-8 that was read as Windows-1252: its characters are bytes that
/// are UTF-8 of several bytes.
fn is_misread(text: &str) -> bool {
    let mut run: Vec<u8> = Vec::new();
    for sign in text.chars().chain([' ']) {
        match byte(sign) {
            Some(byte) => run.push(byte),
            None if run.len() > 1 && std::str::from_utf8(&run).is_ok() => return true,
            None => run.clear(),
        }
    }
    false
}

/// The byte above 0x7f that a character is in Windows-1252.
fn byte(sign: char) -> Option<u8> {
    match u32::from(sign) {
        code @ 0x80..=0xff => u8::try_from(code).ok(),
        0..0x80 => None,
        _ => {
            let at = WINDOWS_1252.iter().position(|other| *other == sign)?;
            u8::try_from(0x80 + at).ok()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_is_found_and_unusual_text_is_not() {
        let cases = [
            ("How is it\u{fffd}", Some("replacement character")),
            ("tilt\u{7}", Some("control character")),
            ("ti\u{200b}lt", Some("invisible character")),
            ("\u{e012} 图标", Some("private character")),
            ("what is cafÃ©", Some("wrong encoding")),
            ("donâ€™t panic", Some("wrong encoding")),
            ("è½½æ³¢", Some("wrong encoding")),
            ("锟斤拷是什么", Some("wrong encoding")),
            ("=== ??? ---", Some("hardly any letters")),
            ("Où est le café à Malmö – “déjà vu”?", None),
            ("0x80070005 怎么解决？", None),
            ("载波聚合（CA）是什么", None),
            ("C++ & C#", None),
        ];
        for (text, expected) in cases {
            assert_eq!(bad_character(text).as_deref(), expected, "{text}");
        }
    }
}
