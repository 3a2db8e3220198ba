//! Whether what a model wrote may stand for a section or for code.

use tributary_models::TokenCounter;
use tributary_models::chat::speaks_of_itself;
use tributary_taxonomy::language::is_chinese;

/// Without signs that nobody sees or that turn the text around: what a model writes goes to
/// terminals too.
pub fn cleaned(summary: &str) -> String {
    let is_seen = |character: char| {
        let turns = matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        !turns && (!character.is_control() || matches!(character, '\n' | '\t'))
    };
    let seen: String = summary.chars().filter(|sign| is_seen(*sign)).collect();
    seen.trim().to_owned()
}

/// What a text must be.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    /// `summary` or `description`.
    pub what: &'static str,
    /// What it stands for: `section`, `code`.
    pub of: &'static str,
    /// Tokens at most.
    pub limit_tokens: usize,
    /// Chinese, or any other language.
    pub must_be_chinese: bool,
}

/// What is wrong with a text, in words for the model that wrote it.
pub fn accept(text: &str, expected: &Expected, tokens: &dyn TokenCounter) -> Result<(), String> {
    let Expected {
        what,
        of,
        limit_tokens,
        must_be_chinese,
    } = *expected;
    let text = text.trim();
    if !text.chars().any(char::is_alphanumeric) {
        return Err(format!("the {what} is empty"));
    }
    if text.matches("```").count() % 2 == 1 {
        return Err(format!("the {what} has a block of code without an end"));
    }
    let count = tokens.count(text);
    if count > limit_tokens {
        let share = limit_tokens * 90 / count;
        return Err(format!(
            "the {what} is too long: {count} tokens where {limit_tokens} are allowed; write at \
             most {share} % of it"
        ));
    }
    if speaks_of_itself(text) {
        return Err(format!("it is no {what} of the {of}"));
    }
    check_language(text, what, must_be_chinese)
}

fn check_language(text: &str, what: &str, must_be_chinese: bool) -> Result<(), String> {
    match (is_chinese(text), must_be_chinese) {
        (false, true) => Err(format!("the {what} is not in Chinese: 用中文写")),
        (true, false) => Err(format!("the {what} is in Chinese: write it in English")),
        _ => Ok(()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    struct Characters;
    impl TokenCounter for Characters {
        fn count(&self, text: &str) -> usize {
            text.chars().count()
        }
    }

    fn expected(must_be_chinese: bool) -> Expected {
        Expected {
            what: "summary",
            of: "section",
            limit_tokens: 60,
            must_be_chinese,
        }
    }

    #[test]
    fn a_summary_is_there_short_of_the_section_and_in_its_language() {
        let accept = |summary: &str, chinese| accept(summary, &expected(chinese), &Characters);
        assert_eq!(
            accept("下倾角可设为 0 到 10 度，对象 AntennaUnit", true),
            Ok(())
        );
        assert_eq!(
            accept("Tilt from 0 to 10 degrees in steps of .5", false),
            Ok(())
        );
        for (summary, chinese, word) in [
            (" …", false, "empty"),
            (
                "long and longer and longer and longer and longer and longer and longer",
                false,
                "too long",
            ),
            ("I'm sorry, but I cannot do that", false, "no summary"),
            ("抱歉，我无法总结", true, "no summary"),
            ("Tilt from 0 to 10 degrees", true, "用中文"),
            ("下倾角可设为 0 到 10 度", false, "English"),
        ] {
            let refused = accept(summary, chinese).unwrap_err();
            assert!(refused.contains(word), "{summary}: {refused}");
        }
    }

    #[test]
    fn signs_that_nobody_sees_go() {
        assert_eq!(
            cleaned(" \u{1b}]0;x\u{7}Tilt\u{0} \u{202e}up\n- a "),
            "]0;xTilt up\n- a"
        );
        let refused = accept("```\nTilt", &expected(false), &Characters).unwrap_err();
        assert!(refused.contains("without an end"), "{refused}");
    }
}
