//! Cuts a text into plain terms: lowercased words of letters and digits, and single characters plus
//! neighbouring pairs of writing without spaces. What the hashing embedder and the lexical reranker
//! compare; the keyword index has its own, better analyzer.

/// A term and whether it is a whole word (or a pair of ideographs), rather than a single ideograph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// The lowercased term.
    pub text: String,
    /// Whether it carries meaning by itself.
    pub is_word: bool,
}

/// Terms of the text, in order.
pub fn terms(text: &str) -> Vec<Term> {
    let mut found = Vec::new();
    let mut word = String::new();
    let mut previous = None;
    for character in text.chars() {
        if is_ideograph(character) {
            end_word(&mut word, &mut found);
            if let Some(previous) = previous {
                found.push(Term {
                    text: [previous, character].iter().collect(),
                    is_word: true,
                });
            }
            found.push(Term {
                text: character.to_string(),
                is_word: false,
            });
            previous = Some(character);
            continue;
        }
        previous = None;
        if character.is_alphanumeric() {
            word.extend(character.to_lowercase());
        } else {
            end_word(&mut word, &mut found);
        }
    }
    end_word(&mut word, &mut found);
    found
}

fn end_word(word: &mut String, found: &mut Vec<Term>) {
    if !word.is_empty() {
        found.push(Term {
            text: std::mem::take(word),
            is_word: true,
        });
    }
}

/// Whether the character belongs to a writing without spaces between words (Han, kana).
pub fn is_ideograph(character: char) -> bool {
    matches!(character, '\u{3041}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_characters_and_pairs() {
        let texts: Vec<String> = terms("基站gNodeB，5G 配置!")
            .into_iter()
            .map(|term| term.text)
            .collect();
        assert_eq!(
            texts,
            ["基", "基站", "站", "gnodeb", "5g", "配", "配置", "置"]
        );
        assert!(terms(" ,.。").is_empty());
    }
}
