//! What a sentence says, as far as words tell: its content words, its numbers, and whether it denies.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use tributary_schemas::width::to_half_width;
use tributary_taxonomy::Analyzer;

use crate::function_words::is_function_word;

/// Words that deny, English ones as whole words.
const ENGLISH_NEGATIONS: [&str; 14] = [
    "cannot", "can't", "doesn't", "don't", "isn't", "aren't", "wasn't", "won't", "never", "no",
    "none", "nor", "not", "without",
];
const CHINESE_NEGATIONS: [&str; 12] = [
    "不", "没有", "没", "未", "无法", "无需", "无须", "禁止", "并非", "切勿", "请勿", "别",
];
/// Words that hold a negation and deny nothing.
const NO_NEGATIONS: [&str; 27] = [
    "不仅",
    "不但",
    "不同",
    "不断",
    "不过",
    "不久",
    "不少",
    "不得不",
    "不论",
    "不管",
    "不止",
    "不只",
    "差不多",
    "未来",
    "未必",
    "无论",
    "别名",
    "别的",
    "类别",
    "级别",
    "识别",
    "区别",
    "分别",
    "特别",
    "个别",
    "鉴别",
    "判别",
];
/// Small numbers as words: a source that has one states the number.
const NUMBER_WORDS: [(&str, &[&str]); 11] = [
    ("0", &["零", "zero"]),
    ("1", &["一", "one", "a", "an"]),
    ("2", &["二", "两", "two", "both"]),
    ("3", &["三", "three"]),
    ("4", &["四", "four"]),
    ("5", &["五", "five"]),
    ("6", &["六", "six"]),
    ("7", &["七", "seven"]),
    ("8", &["八", "eight"]),
    ("9", &["九", "nine"]),
    ("10", &["十", "ten"]),
];

/// What a text says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words {
    /// Tokens that are more than function words.
    pub content: BTreeSet<String>,
    /// Numbers, without what groups their digits.
    pub numbers: BTreeSet<String>,
    /// Whether it denies.
    pub denies: bool,
}

impl Words {
    /// Of a text.
    pub fn of(text: &str, analyzer: &Analyzer) -> Self {
        let tokens = analyzer.analyze(text);
        Self {
            content: tokens
                .into_iter()
                .filter(|token| is_content(token))
                .collect(),
            numbers: numbers(text),
            denies: denies(text),
        }
    }

    /// The words of both.
    pub fn with(&self, other: &Self) -> Self {
        Self {
            content: self.content.union(&other.content).cloned().collect(),
            numbers: self.numbers.union(&other.numbers).cloned().collect(),
            denies: self.denies || other.denies,
        }
    }

    /// Share of the content words that stand in one of `others`, 0 to 1; 1 without any.
    pub fn coverage_by<'a>(&self, others: impl IntoIterator<Item = &'a Self> + Clone) -> f32 {
        if self.content.is_empty() {
            return 1.0;
        }
        let stands = |word: &&String| {
            let mut others = others.clone().into_iter();
            others.any(|other| other.content.contains(*word))
        };
        let found = self.content.iter().filter(stands).count();
        found as f32 / self.content.len() as f32
    }

    /// A number that stands in none of `others`, not even as a word.
    pub fn number_missing_in<'a>(
        &self,
        others: impl IntoIterator<Item = &'a Self> + Clone,
    ) -> Option<&str> {
        let states = |number: &str| {
            let mut others = others.clone().into_iter();
            others.any(|other| other.states(number))
        };
        let mut numbers = self.numbers.iter().map(String::as_str);
        numbers.find(|number| !states(number))
    }

    fn states(&self, number: &str) -> bool {
        let as_word = || {
            let words = NUMBER_WORDS.iter().find(|(known, _)| *known == number);
            let mut words = words.into_iter().flat_map(|(_, words)| words.iter());
            words.any(|word| self.content.iter().any(|token| stands_for(token, word)))
        };
        self.numbers.contains(number) || as_word()
    }
}

/// A Chinese numeral is a part of its token (三种), an English one the whole.
fn stands_for(token: &str, word: &str) -> bool {
    if word.is_ascii() {
        token == word
    } else {
        token.contains(word)
    }
}

fn is_content(token: &str) -> bool {
    token.chars().any(char::is_alphanumeric) && !is_function_word(token)
}

/// How rare each content word is among some texts: ln(1 + N / n), N texts of which n have it.
pub fn rarities(texts: &[Words]) -> BTreeMap<&str, f32> {
    let mut counts: BTreeMap<&str, f32> = BTreeMap::new();
    for word in texts.iter().flat_map(|words| &words.content) {
        *counts.entry(word).or_default() += 1.0;
    }
    let all = texts.len() as f32;
    let rarity = |(word, count): (_, f32)| (word, (1.0 + all / count).ln());
    counts.into_iter().map(rarity).collect()
}

/// Numbers of a text: `1,024` is 1024, `38.331` and `2.0.1` are one each.
pub fn numbers(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut current = String::new();
    let narrow = text.chars().map(|character| match character {
        '０'..='９' | '．' => to_half_width(character),
        other => other,
    });
    for character in narrow.chain([' ']) {
        match character {
            '0'..='9' => current.push(character),
            '.' | ',' if current.ends_with(|last: char| last.is_ascii_digit()) => {
                current.push(character);
            }
            _ if current.is_empty() => {}
            _ => {
                let number = current.trim_end_matches(['.', ',']).replace(',', "");
                found.insert(number);
                current.clear();
            }
        }
    }
    found
}

pub fn denies(text: &str) -> bool {
    let small = text.to_lowercase();
    let words: HashSet<&str> = small
        .split(|character: char| !character.is_alphanumeric() && character != '\'')
        .collect();
    if ENGLISH_NEGATIONS.iter().any(|word| words.contains(word)) {
        return true;
    }
    let mut rest = small;
    for word in NO_NEGATIONS {
        rest = rest.replace(word, " ");
    }
    CHINESE_NEGATIONS.iter().any(|word| rest.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_they_are_written() {
        let table = [
            ("TS 38.331 有 1,024 个", vec!["1024", "38.331"]),
            ("2.0.1。3", vec!["2.0.1", "3"]),
            ("３．５ GHz, 6.", vec!["3.5", "6"]),
            ("none", vec![]),
        ];
        for (text, expected) in table {
            let found: Vec<String> = numbers(text).into_iter().collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn negations_are_told_from_words_that_hold_them() {
        for text in [
            "它不支持",
            "It does not.",
            "无法登录",
            "no such file",
            "Don't",
        ] {
            assert!(denies(text), "{text}");
        }
        for text in [
            "不仅如此",
            "不同的类别",
            "Note this",
            "known nodes",
            "特别快",
        ] {
            assert!(!denies(text), "{text}");
        }
    }

    #[test]
    fn small_numbers_may_be_words() {
        let words = |content: &[&str], numbers: &[&str]| Words {
            content: content.iter().map(|word| (*word).to_owned()).collect(),
            numbers: numbers.iter().map(|word| (*word).to_owned()).collect(),
            denies: false,
        };
        let source = words(&["三种", "two"], &["17"]);
        let missing = |number: &str| {
            let said = words(&[], &[number]);
            said.number_missing_in([&source]).is_some()
        };
        assert!(!missing("3") && !missing("2") && !missing("17"));
        assert!(missing("4") && missing("7"));
    }
}
