//! The language of a question, as far as rules and prompts tell languages apart.

use tributary_taxonomy::language::is_kana;

pub use tributary_taxonomy::language::is_han;

/// Whether a question is Chinese. One with kana is Japanese, for which there are no rules.
pub fn is_chinese(text: &str) -> bool {
    text.chars().any(is_han) && !text.chars().any(is_kana)
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
