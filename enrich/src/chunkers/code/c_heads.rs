//! Heads of functions of C: what stands before a `{`, and which of its words names the function.

use std::ops::Range;

use super::definitions::{Candidate, What};

/// Takes arguments and stands beside a head, but names no function.
const ATTRIBUTES: [&str; 20] = [
    "__attribute__",
    "__attribute",
    "__printf",
    "__scanf",
    "__section",
    "__aligned",
    "__acquires",
    "__releases",
    "__cond_acquires",
    "__must_hold",
    "__no_sanitize",
    "__alloc_size",
    "__realloc_size",
    "__assume_aligned",
    "__nonnull",
    "__error",
    "__warning",
    "__asm__",
    "asm",
    "__declspec",
];
/// Begins no function where it stands right before or among the words after its arguments.
const KEYWORDS: [&str; 13] = [
    "if", "for", "while", "switch", "do", "else", "struct", "union", "enum", "return", "sizeof",
    "typedef", "case",
];
/// What a head is made of.
#[derive(Clone, Debug)]
pub(super) enum Part {
    Word(Range<usize>),
    /// Round brackets with what is in them.
    Group(Range<usize>),
    Sign(u8, usize),
}

/// The parts before a `{`.
pub(super) struct Head<'a> {
    pub text: &'a [u8],
    pub parts: &'a [Part],
}

impl Head<'_> {
    /// The function that the parts before a `{` begin.
    pub fn function(&self, body: usize) -> Option<Candidate> {
        if self
            .parts
            .iter()
            .any(|part| matches!(part, Part::Sign(b'=', _)))
        {
            return None;
        }
        let (at, name) = self.named()?;
        let after = self.parts.get(at + 2..).unwrap_or_default();
        if after.iter().any(|part| !self.may_follow(part)) {
            return None;
        }
        let first = self.first_of(at);
        let start = self.parts.get(first)?.start();
        let name = match self.is_macro_call(first, at) {
            true => self.first_argument(at + 1).unwrap_or(name),
            false => name,
        };
        let name = String::from_utf8_lossy(self.text.get(name)?).into_owned();
        let range = start..body + 1;
        Some(Candidate::new(What::Function, name, range, body))
    }

    /// The part that names the function, and the name. Arguments are in the part after it.
    fn named(&self) -> Option<(usize, Range<usize>)> {
        for at in (1..self.parts.len()).rev() {
            let (Some(before), Some(Part::Group(_))) = (self.parts.get(at - 1), self.parts.get(at))
            else {
                continue;
            };
            match before {
                Part::Word(word) if self.is_one_of(word, &ATTRIBUTES) => {}
                Part::Word(word) if self.is_one_of(word, &KEYWORDS) => return None,
                Part::Word(word) => return Some((at - 1, word.clone())),
                // `void (*signal(int number))(int)`
                Part::Group(group) => return Some((at - 1, self.name_in(group)?)),
                Part::Sign(..) => return None,
            }
        }
        None
    }

    fn may_follow(&self, part: &Part) -> bool {
        match part {
            Part::Word(word) => !self.is_one_of(word, &KEYWORDS),
            Part::Group(_) => true,
            Part::Sign(..) => false,
        }
    }

    /// Where the declaration begins whose name is the part at `name`: after a macro that ends
    /// without a semicolon, and after all that is no type.
    fn first_of(&self, name: usize) -> usize {
        let mut first = name;
        while let Some(before) = first.checked_sub(1) {
            let taken = match self.parts.get(before) {
                Some(Part::Word(_) | Part::Sign(b'*', _)) => 1,
                Some(Part::Group(_)) => {
                    match before.checked_sub(1).and_then(|at| self.parts.get(at)) {
                        Some(Part::Word(word)) if self.is_one_of(word, &ATTRIBUTES) => 2,
                        _ => break,
                    }
                }
                _ => break,
            };
            first -= taken;
        }
        first
    }

    /// Whether the head is the call of a macro that defines a function: capitals without a type.
    fn is_macro_call(&self, first: usize, name: usize) -> bool {
        let is_capital = |word: &Range<usize>| {
            let word = self.text.get(word.clone()).unwrap_or_default();
            !word.iter().any(u8::is_ascii_lowercase) && word.iter().any(u8::is_ascii_uppercase)
        };
        let is_storage = |part: &Part| match part {
            Part::Word(word) => {
                let is_own = self
                    .text
                    .get(word.clone())
                    .is_some_and(|word| word.starts_with(b"__"));
                is_own || self.is_one_of(word, &["static", "inline", "extern", "asmlinkage"])
            }
            _ => true,
        };
        let named = matches!(self.parts.get(name), Some(Part::Word(word)) if is_capital(word));
        named
            && self
                .parts
                .get(first..name)
                .unwrap_or_default()
                .iter()
                .all(is_storage)
    }

    fn first_argument(&self, group: usize) -> Option<Range<usize>> {
        let Some(Part::Group(group)) = self.parts.get(group) else {
            return None;
        };
        let word = self.word_from(group.start + 1)?;
        let starts_with_digit = self.text.get(word.start).is_some_and(u8::is_ascii_digit);
        (word.end < group.end && !starts_with_digit).then_some(word)
    }

    /// The name in `(*name(arguments))`.
    fn name_in(&self, group: &Range<usize>) -> Option<Range<usize>> {
        let text = self.text.get(group.clone())?;
        let stars = text.iter().skip(1);
        let blanks = stars.take_while(|byte| **byte == b'*' || byte.is_ascii_whitespace());
        self.word_from(group.start + 1 + blanks.count())
    }

    /// The word at a place, blanks before it passed.
    fn word_from(&self, at: usize) -> Option<Range<usize>> {
        let rest = self.text.get(at..)?;
        let start = rest.iter().position(|byte| !byte.is_ascii_whitespace())?;
        let word = rest.get(start..)?;
        let length = word.iter().position(|byte| !is_word(*byte))?;
        (length > 0).then_some(at + start..at + start + length)
    }

    fn is_one_of(&self, word: &Range<usize>, words: &[&str]) -> bool {
        let word = self.text.get(word.clone()).unwrap_or_default();
        words.iter().any(|one| one.as_bytes() == word)
    }
}

impl Part {
    fn start(&self) -> usize {
        match self {
            Self::Word(range) | Self::Group(range) => range.start,
            Self::Sign(_, at) => *at,
        }
    }
}

pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}
