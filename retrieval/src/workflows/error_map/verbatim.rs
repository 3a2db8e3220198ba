//! Whether a passage has the message of a log word for word. What somebody copied from a terminal may
//! be rare in every other way, so that its relevance is estimated low; the words themselves are
//! evidence enough.

use tributary_taxonomy::language::is_han;

/// What a run of words in common must weigh: a word 2, an ideograph 1. Four words in a row, or eight
/// characters.
const LEAST_WEIGHT: usize = 8;
/// Words of a message that are looked at.
const MOST_WORDS: usize = 200;

/// Whether the text has enough of one of the messages in a row. Case and what stands between words
/// make no difference, so that values in a message cut it where the text has a placeholder.
pub fn has_message(text: &str, messages: &[String]) -> bool {
    let text = words(text);
    let text = joined(&text);
    messages.iter().any(|message| {
        let mut words = words(message);
        words.truncate(MOST_WORDS);
        (0..words.len()).any(|from| {
            run(words.get(from..).unwrap_or_default())
                .is_some_and(|run| text.contains(&joined(run)))
        })
    })
}

/// The shortest beginning that weighs enough.
fn run(words: &[String]) -> Option<&[String]> {
    let mut weight = 0;
    for (at, word) in words.iter().enumerate() {
        weight += match word.chars().all(is_han) {
            true => 1,
            false => 2,
        };
        if weight >= LEAST_WEIGHT {
            return words.get(..=at);
        }
    }
    None
}

fn joined(words: &[String]) -> String {
    format!(" {} ", words.join(" "))
}

/// Runs of letters and digits in lower case; an ideograph is a word by itself.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    for character in text.chars().flat_map(char::to_lowercase) {
        let stands_alone = is_han(character);
        if character.is_alphanumeric() && !stands_alone {
            word.push(character);
            continue;
        }
        if !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if stands_alone {
            words.push(character.to_string());
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_words_in_a_row_or_eight_characters_are_the_message() {
        let book = "assert!(!pte.is_valid(), \"vpn {:?} is mapped before mapping\", vpn);";
        for (text, message, expected) in [
            (
                book,
                "panicked: PageFault vpn 0x10 is mapped before mapping",
                true,
            ),
            (book, "VPN 0x10 Is Mapped Before\tmapping!", true),
            (book, "vpn 0x10 is mapped", false),
            (book, "is mapped then before mapping", false),
            (
                "该算子暂不支持动态形状输入。",
                "RuntimeError: 算子暂不支持动态形状",
                true,
            ),
            ("该算子暂不支持动态形状输入。", "暂不支持动态", false),
            (
                "RuntimeError: shapes differ",
                "RuntimeError: shapes differ",
                false,
            ),
            ("", "one two three four five", false),
        ] {
            assert_eq!(
                has_message(text, &[message.to_owned()]),
                expected,
                "{message}"
            );
        }
    }
}
