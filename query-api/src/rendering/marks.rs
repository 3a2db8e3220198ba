//! Which words of a text a question asked for. Both are cut by the analyzer that made the index,
//! so that what is marked is what was found: whole words, stems, terms, Chinese words.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use tributary_taxonomy::{Analyzer, fold};

/// Words that stand in every question and say nothing about what is asked.
const EVERYDAY_WORDS: &[&str] = &[
    "a",
    "about",
    "all",
    "an",
    "and",
    "any",
    "are",
    "as",
    "at",
    "be",
    "but",
    "by",
    "can",
    "do",
    "does",
    "for",
    "from",
    "had",
    "has",
    "have",
    "how",
    "i",
    "if",
    "in",
    "into",
    "is",
    "it",
    "its",
    "me",
    "my",
    "no",
    "not",
    "of",
    "on",
    "or",
    "our",
    "should",
    "so",
    "that",
    "the",
    "their",
    "then",
    "there",
    "these",
    "this",
    "to",
    "was",
    "we",
    "what",
    "when",
    "where",
    "which",
    "who",
    "why",
    "will",
    "with",
    "you",
    "your",
    "一个",
    "不能",
    "什么",
    "什麼",
    "他们",
    "以及",
    "任何",
    "但是",
    "你们",
    "使用",
    "关于",
    "其他",
    "却是",
    "可以",
    "哪个",
    "哪些",
    "哪里",
    "因为",
    "在",
    "如何",
    "如果",
    "将",
    "就是",
    "应该",
    "怎么",
    "怎样",
    "怎么样",
    "怎么办",
    "我们",
    "所以",
    "所有",
    "时候",
    "是否",
    "有关",
    "有没有",
    "没有",
    "然后",
    "现在",
    "由于",
    "能够",
    "自己",
    "虽然",
    "要求",
    "请问",
    "这个",
    "这些",
    "这样",
    "进行",
    "那个",
    "那些",
    "需要",
    "为什么",
];

/// First characters of the blocks of Chinese characters.
const HAN_FROM: char = '\u{2E80}';

/// The words of a question.
#[derive(Clone, Default)]
pub struct Marks {
    analyzer: Option<Arc<Analyzer>>,
    words: HashSet<String>,
    /// Chinese words by their first character, the longest first.
    chinese: HashMap<char, Vec<Vec<char>>>,
}

impl Marks {
    /// Those of a question. Takes as long as analysing it.
    pub fn of(question: &str, analyzer: Arc<Analyzer>) -> Self {
        let tokens: HashSet<String> = analyzer.analyze(question).into_iter().collect();
        let asked = tokens
            .into_iter()
            .filter(|token| !EVERYDAY_WORDS.contains(&token.as_str()));
        let (chinese, words): (Vec<String>, Vec<String>) =
            asked.partition(|token| token.chars().any(is_han));
        Self {
            analyzer: Some(analyzer),
            words: words.iter().flat_map(|word| parts(word)).collect(),
            chinese: chinese_words(&chinese),
        }
    }

    /// Places of the text in bytes, in order, none within another.
    pub fn ranges(&self, text: &str) -> Vec<Range<usize>> {
        if self.words.is_empty() && self.chinese.is_empty() {
            return Vec::new();
        }
        let characters = folded(text);
        let mut known = HashMap::new();
        let mut ranges: Vec<Range<usize>> = Vec::new();
        let mut at = 0;
        while at < characters.len() {
            let (length, is_asked) = self.step(text, &characters, at, &mut known);
            if is_asked {
                let end = characters
                    .get(at + length)
                    .map_or(text.len(), |(offset, _)| *offset);
                add(&mut ranges, characters[at].0..end);
            }
            at += length;
        }
        ranges
    }

    /// How many characters belong together at a place, and whether they were asked for.
    fn step(
        &self,
        text: &str,
        characters: &[(usize, char)],
        at: usize,
        known: &mut HashMap<String, bool>,
    ) -> (usize, bool) {
        let rest = characters.get(at..).unwrap_or_default();
        if let Some(length) = self.chinese_word(rest) {
            return (length, true);
        }
        let length = rest
            .iter()
            .take_while(|(_, character)| character.is_alphanumeric() && !is_han(*character))
            .count();
        if length == 0 {
            return (1, false);
        }
        let end = rest.get(length).map_or(text.len(), |(offset, _)| *offset);
        let word = rest
            .first()
            .and_then(|(start, _)| text.get(*start..end))
            .unwrap_or_default();
        let is_asked = match known.get(word) {
            Some(is_asked) => *is_asked,
            None => {
                let is_asked = self.asked(word);
                known.insert(word.to_owned(), is_asked);
                is_asked
            }
        };
        (length, is_asked)
    }

    fn chinese_word(&self, rest: &[(usize, char)]) -> Option<usize> {
        let begins = |word: &&Vec<char>| {
            word.len() <= rest.len() && word.iter().zip(rest).all(|(one, (_, other))| one == other)
        };
        let (_, first) = rest.first()?;
        let words = self.chinese.get(first)?;
        words.iter().find(begins).map(Vec::len)
    }

    fn asked(&self, word: &str) -> bool {
        let Some(analyzer) = &self.analyzer else {
            return false;
        };
        !self.words.is_empty()
            && analyzer
                .analyze(word)
                .iter()
                .any(|token| self.words.contains(token))
    }
}

/// A term of several words is one token; each of its words is marked.
fn parts(word: &str) -> Vec<String> {
    let mut parts = vec![word.to_owned()];
    parts.extend(
        word.split('_')
            .filter(|part| !part.is_empty() && !EVERYDAY_WORDS.contains(part))
            .map(str::to_owned),
    );
    parts
}

/// Longest first. A single character is in too many words to say anything, unless nothing else was
/// asked.
fn chinese_words(tokens: &[String]) -> HashMap<char, Vec<Vec<char>>> {
    let mut words: Vec<Vec<char>> = tokens
        .iter()
        .map(|token| {
            token
                .chars()
                .map(|it| if it == '_' { ' ' } else { it })
                .collect()
        })
        .collect();
    if words.iter().any(|word| word.len() > 1) {
        words.retain(|word| word.len() > 1);
    }
    words.sort_by_key(|word| std::cmp::Reverse(word.len()));
    let mut by_first: HashMap<char, Vec<Vec<char>>> = HashMap::new();
    for word in words {
        if let Some(first) = word.first() {
            by_first.entry(*first).or_default().push(word);
        }
    }
    by_first
}

/// The characters as the analyzer sees them, with their places in the text.
fn folded(text: &str) -> Vec<(usize, char)> {
    let mut buffer = [0; 4];
    text.char_indices()
        .map(|(offset, character)| {
            if character.is_ascii() {
                return (offset, character.to_ascii_lowercase());
            }
            let folded = fold(character.encode_utf8(&mut buffer)).chars().next();
            (offset, folded.unwrap_or(character))
        })
        .collect()
}

fn is_han(character: char) -> bool {
    character >= HAN_FROM && character.is_alphabetic()
}

/// Marks that touch become one.
fn add(ranges: &mut Vec<Range<usize>>, range: Range<usize>) {
    match ranges.last_mut() {
        Some(last) if last.end == range.start => last.end = range.end,
        _ => ranges.push(range),
    }
}

#[cfg(test)]
mod tests {
    use tributary_taxonomy::{AnalyzerConfig, Lexicon};

    use super::*;

    fn marked(question: &str, text: &str) -> Vec<String> {
        let config = AnalyzerConfig {
            guess_words: true,
            sub_words: true,
            term_words: true,
            english_stems: true,
        };
        let analyzer = Analyzer::new(&config, Lexicon::default());
        let analyzer = analyzer.unwrap_or_else(|error| panic!("{error}"));
        let ranges = Marks::of(question, Arc::new(analyzer)).ranges(text);
        let piece = |range: Range<usize>| text.get(range).unwrap_or_default().to_owned();
        ranges.into_iter().map(piece).collect()
    }

    #[test]
    fn whole_words_and_their_forms_are_marked_and_no_parts() {
        assert_eq!(
            marked(
                "how to be configured together",
                "It becomes a tour: configure, Together."
            ),
            ["configure", "Together"]
        );
        assert_eq!(
            marked("load_checkpoint", "`mindspore.load_checkpoint(x)` loads"),
            ["load", "checkpoint", "loads"]
        );
    }

    #[test]
    fn chinese_words_are_marked_in_both_scripts() {
        assert_eq!(
            marked("载波聚合的天线倾角怎么配置", "配置天線時，倾角的默认值"),
            ["配置天線", "倾角"]
        );
        assert_eq!(marked("怎么", "怎么办"), [] as [&str; 0]);
    }

    #[test]
    fn without_a_question_nothing_is_marked() {
        assert!(Marks::default().ranges("anything").is_empty());
    }
}
