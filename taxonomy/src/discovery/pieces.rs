//! A sentence of Markdown as words with their parts of speech, and the marks between them that no
//! term crosses. Chinese is cut and tagged by jieba, Latin words and numbers by their characters.

use crate::analyzer::DICTIONARY;
use crate::lexicon::is_spaced;

/// What a word is for terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tag {
    /// Noun, verbal noun or fixed phrase.
    Noun,
    Verb,
    /// Adjective, also one that only stands before nouns.
    Adjective,
    /// Prefix, suffix, place or measure: part of a term, never one alone.
    Affix,
    /// A word in Latin letters.
    Latin,
    Number,
    /// Particles, pronouns, adverbs and what else is in no term.
    Stop,
}

/// What stands between words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// Punctuation.
    Break,
    /// Bold, italics, code or quotes begin.
    Opening,
    /// They end.
    Closing,
    /// `(`.
    Open,
    /// `)`.
    Close,
}

/// A word or a mark of a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    Word { text: &'a str, tag: Tag },
    Mark(Mark),
}

/// Chinese words of a technical text that jieba tags as verbs or nouns, and that are in no term.
const STOP_WORDS: &str = include_str!("stop_words.txt");

/// The pieces of one sentence, from left to right.
pub(super) fn pieces(sentence: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = sentence;
    let mut last: Option<char> = None;
    let mut emphasis = Emphasis::default();
    while let Some(character) = rest.chars().next() {
        let length = match character {
            _ if character.is_whitespace() => character.len_utf8(),
            _ if is_han(character) => {
                if last.is_some_and(|last| last.is_whitespace()) && ends_in_han(&pieces) {
                    pieces.push(Piece::Mark(Mark::Break));
                }
                push_han(rest, &mut pieces)
            }
            _ if character.is_alphanumeric() => push_latin(rest, &mut pieces),
            _ => {
                pieces.push(Piece::Mark(emphasis.mark(character, last)));
                character.len_utf8()
            }
        };
        last = Some(character);
        rest = rest.get(length..).unwrap_or_default();
    }
    pieces
}

/// Whether the character is a Chinese one.
pub(super) fn is_han(character: char) -> bool {
    !is_spaced(character, 'a')
}

fn ends_in_han(pieces: &[Piece<'_>]) -> bool {
    matches!(pieces.last(), Some(Piece::Word { text, .. }) if text.chars().next_back().is_some_and(is_han))
}

/// Which signs of emphasis are open: of those that look the same at both ends.
#[derive(Default)]
struct Emphasis {
    open: Vec<char>,
}

impl Emphasis {
    /// What a sign is; several of the same (`**`) are one.
    fn mark(&mut self, sign: char, before: Option<char>) -> Mark {
        match sign {
            '“' | '「' | '『' | '《' | '【' => Mark::Opening,
            '”' | '」' | '』' | '》' | '】' => Mark::Closing,
            '(' | '（' => Mark::Open,
            ')' | '）' => Mark::Close,
            '*' | '`' | '"' if before == Some(sign) => self.is_open(sign),
            '*' | '`' | '"' => self.turn(sign),
            _ => Mark::Break,
        }
    }

    fn is_open(&self, sign: char) -> Mark {
        match self.open.contains(&sign) {
            true => Mark::Opening,
            false => Mark::Closing,
        }
    }

    fn turn(&mut self, sign: char) -> Mark {
        match self.open.iter().position(|open| *open == sign) {
            Some(at) => {
                self.open.remove(at);
            }
            None => self.open.push(sign),
        }
        self.is_open(sign)
    }
}

/// Cuts the run of Chinese characters that a text begins with; its length in bytes.
fn push_han<'a>(text: &'a str, pieces: &mut Vec<Piece<'a>>) -> usize {
    let end = text
        .char_indices()
        .find(|(_, character)| !is_han(*character))
        .map_or(text.len(), |(index, _)| index);
    let run = text.get(..end).unwrap_or_default();
    for tagged in DICTIONARY.tag(run, true) {
        pieces.push(Piece::Word {
            text: tagged.word,
            tag: tag(tagged.word, tagged.tag),
        });
    }
    end
}

/// Takes the Latin word or number that a text begins with; its length in bytes. Joiners belong to
/// it where a letter or digit follows.
fn push_latin<'a>(text: &'a str, pieces: &mut Vec<Piece<'a>>) -> usize {
    let is_word = |character: char| character.is_alphanumeric() && !is_han(character);
    let mut end = 0;
    let mut characters = text.char_indices().peekable();
    while let Some((index, character)) = characters.next() {
        let follows = characters.peek().is_some_and(|(_, next)| is_word(*next));
        let joins = matches!(character, '_' | '-' | '.') && follows;
        if !is_word(character) && !joins {
            break;
        }
        end = index + character.len_utf8();
    }
    let word = text.get(..end).unwrap_or_default();
    let tag = match word {
        _ if !word.chars().any(char::is_alphabetic) => Tag::Number,
        _ if is_stop_word(&word.to_lowercase()) => Tag::Stop,
        _ => Tag::Latin,
    };
    pieces.push(Piece::Word { text: word, tag });
    end
}

fn is_stop_word(word: &str) -> bool {
    static WORDS: std::sync::LazyLock<rustc_hash::FxHashSet<&str>> =
        std::sync::LazyLock::new(|| {
            let lines = STOP_WORDS.lines().filter(|line| !line.starts_with('#'));
            lines.flat_map(str::split_whitespace).collect()
        });
    WORDS.contains(word)
}

/// The part of speech of a Chinese word, from jieba's (ICTCLAS) tag.
fn tag(word: &str, jieba: &str) -> Tag {
    if is_stop_word(word) {
        return Tag::Stop;
    }
    match jieba {
        "vn" | "an" | "x" => Tag::Noun,
        _ => match jieba.chars().next() {
            Some('n' | 'j' | 'l' | 'i') => Tag::Noun,
            Some('v') => Tag::Verb,
            Some('a' | 'b' | 'z') => Tag::Adjective,
            Some('k' | 'h' | 'f' | 's' | 'q' | 'g') => Tag::Affix,
            Some('m') if word.chars().count() == 1 => Tag::Affix,
            _ => Tag::Stop,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(sentence: &str) -> Vec<String> {
        let show = |piece: &Piece<'_>| match piece {
            Piece::Word { text, tag } => format!("{text}/{tag:?}"),
            Piece::Mark(mark) => format!("{mark:?}"),
        };
        pieces(sentence).iter().map(show).collect()
    }

    #[test]
    fn words_have_tags_and_marks_stand_between_them() {
        assert_eq!(
            shown("**物理内存** (Physical Memory) 的 ResNet-50，2.0 内存"),
            [
                "Opening",
                "Opening",
                "物理/Noun",
                "内存/Noun",
                "Closing",
                "Closing",
                "Open",
                "Physical/Latin",
                "Memory/Latin",
                "Close",
                "的/Stop",
                "ResNet-50/Latin",
                "Break",
                "2.0/Number",
                "内存/Noun",
            ]
        );
    }

    #[test]
    fn a_space_between_chinese_words_parts_them_and_one_beside_latin_does_not() {
        assert_eq!(
            shown("内存 磁盘"),
            ["内存/Noun", "Break", "磁盘/Noun"],
            "a space is a mark in Chinese"
        );
        assert_eq!(shown("QoS 内存"), ["QoS/Latin", "内存/Noun"]);
        assert!(shown("").is_empty());
    }
}
