//! Words of a question with their parts of speech, for rules that understand questions. Not for
//! what is indexed: that is [`super::Analyzer::analyze`].

use std::ops::Range;

use super::{Analyzer, DICTIONARY};

/// A word and what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpokenWord {
    /// Where it stands, in bytes.
    pub range: Range<usize>,
    /// Part of speech as jieba's dictionary names it: `n…` a noun (`nr` a person, `ns` a place),
    /// `v…` a verb, `r` a pronoun, `t` a time, `eng` a word in Latin letters, `x` any other.
    pub tag: String,
    /// Whether it is a term of the lexicon; its tag is `nz` then.
    pub is_term: bool,
}

/// The tag of a proper noun that is no person or place.
const TERM: &str = "nz";

impl Analyzer {
    /// All of a text as words, one after the other; a term of the lexicon is one word.
    pub fn parts_of_speech(&self, text: &str) -> Vec<SpokenWord> {
        let mut words = Vec::new();
        let mut done = 0;
        let mut position = 0;
        while let Some(character) = text.get(position..).and_then(|rest| rest.chars().next()) {
            match self.matcher.longest(text, position) {
                Some((end, _)) => {
                    tag_run(text, done..position, &mut words);
                    words.push(SpokenWord {
                        range: position..end,
                        tag: TERM.to_owned(),
                        is_term: true,
                    });
                    (done, position) = (end, end);
                }
                None => position += character.len_utf8(),
            }
        }
        tag_run(text, done..text.len(), &mut words);
        words
    }

    /// The terms of the lexicon in a text, as it writes them, from left to right.
    pub fn terms_in<'a>(&self, text: &'a str) -> Vec<&'a str> {
        let words = self.parts_of_speech(text).into_iter();
        words
            .filter(|word| word.is_term)
            .filter_map(|word| text.get(word.range))
            .collect()
    }
}

fn tag_run(text: &str, range: Range<usize>, words: &mut Vec<SpokenWord>) {
    let mut start = range.start;
    let run = text.get(range).unwrap_or_default();
    for tagged in DICTIONARY.tag(run, true) {
        let end = start + tagged.word.len();
        words.push(SpokenWord {
            range: start..end,
            tag: tagged.tag.to_owned(),
            is_term: false,
        });
        start = end;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::{Analyzer, AnalyzerConfig, Lexicon};

    fn analyzer() -> Analyzer {
        let config = AnalyzerConfig {
            guess_words: true,
            sub_words: true,
            term_words: true,
            english_stems: true,
        };
        Analyzer::new(&config, Lexicon::from_text("t", "载波聚合\n5G NR").unwrap()).unwrap()
    }

    #[test]
    fn words_cover_the_text_and_terms_are_whole() {
        let text = "北京的载波聚合，5G  NR 怎么配置?";
        let analyzer = analyzer();
        let words = analyzer.parts_of_speech(text);
        let written = |word: &super::SpokenWord| text.get(word.range.clone()).unwrap();
        let joined: String = words.iter().map(written).collect();
        assert_eq!(joined, text);
        let first = words.first().unwrap();
        assert_eq!((written(first), first.tag.as_str()), ("北京", "ns"));
        assert_eq!(analyzer.terms_in(text), ["载波聚合", "5G  NR"]);
        assert!(analyzer.parts_of_speech("").is_empty());
    }
}
