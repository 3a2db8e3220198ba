//! Which of the two languages that prompts are written in a text is in, and which script.

pub use whatlang::Script;

/// Least share of Han characters among the letters of a text that is Chinese: technical texts are
/// full of names and code, and a character is half a word.
pub const CHINESE_SHARE: f64 = 0.08;

/// Whether a text is Chinese, which decides the prompt and the language of what a model writes. Texts
/// with kana are Japanese.
pub fn is_chinese(text: &str) -> bool {
    let (mut han, mut letters) = (0_usize, 0_usize);
    for character in text.chars().filter(|character| character.is_alphabetic()) {
        if is_kana(character) {
            return false;
        }
        han += usize::from(is_han(character));
        letters += 1;
    }
    han > 0 && han as f64 >= letters as f64 * CHINESE_SHARE
}

/// The script of a text's prose: Mandarin for Chinese, Hiragana for Japanese, however many names and
/// however much code in Latin letters stand in it. `None` of a text without letters.
pub fn script(text: &str) -> Option<Script> {
    match is_chinese(text) {
        true => Some(Script::Mandarin),
        false if text.chars().any(is_kana) => Some(Script::Hiragana),
        false => whatlang::detect_script(text),
    }
}

/// A Chinese character.
pub fn is_han(character: char) -> bool {
    matches!(character, '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{323af}')
}

/// A character of one of the two syllabaries of Japanese.
pub fn is_kana(character: char) -> bool {
    matches!(character, '\u{3040}'..='\u{30ff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_full_of_code_are_chinese_if_their_prose_is() {
        assert!(is_chinese(
            "调用 mindspore.nn.Conv2d(in_channels, out_channels) 构造卷积层并设置参数"
        ));
        assert!(!is_chinese("Calls mindspore.nn.Conv2d, see 图 3"));
        assert!(!is_chinese("アンテナの傾斜角を設定する"));
        assert!(!is_chinese("404 — 17.5 %"));
    }

    #[test]
    fn the_script_is_that_of_the_prose() {
        let table = [
            ("怎样调用 mindspore.nn.Conv2d", Some(Script::Mandarin)),
            ("How is mindspore.nn.Conv2d called?", Some(Script::Latin)),
            ("アンテナの傾斜角を設定する", Some(Script::Hiragana)),
            ("Как удалить документ", Some(Script::Cyrillic)),
            ("404 — 17.5 %", None),
        ];
        for (text, expected) in table {
            assert_eq!(script(text), expected, "{text}");
        }
    }
}
