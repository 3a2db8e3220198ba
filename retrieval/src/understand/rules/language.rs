//! The language of a question, as far as rules and prompts tell languages apart.

/// Whether a question is Chinese. One with kana is Japanese, for which there are no rules.
pub fn is_chinese(text: &str) -> bool {
    let is_kana = |character: char| matches!(character, '\u{3040}'..='\u{30ff}');
    text.chars().any(is_han) && !text.chars().any(is_kana)
}

/// A Chinese character.
pub fn is_han(character: char) -> bool {
    matches!(character, '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{323af}')
}

/// BCP 47.
pub fn tag(text: &str) -> &'static str {
    if is_chinese(text) { "zh" } else { "en" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_chinese_character_makes_a_question_chinese() {
        assert_eq!(tag("nn.Conv2d 怎么用"), "zh");
        assert_eq!(tag("What is nn.Conv2d?"), "en");
        assert_eq!(tag("東京はどこ"), "en");
    }
}
