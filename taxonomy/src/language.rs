//! Which of the two languages that prompts are written in a text is in.

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
}
