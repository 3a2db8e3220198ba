//! Cuts text into the tokens that the keyword side indexes and searches: the same at index and at
//! query time, so that every engine needs only white-space analysis.
//!
//! Steps: normalise (width, compatibility forms, traditional → simplified), then at every place the
//! longest lexicon term, else an identifier or word with its parts, else Chinese words by
//! dictionary, else what suits the script. Nothing is removed for being frequent: BM25 weighs that
//! better (measured, see `examples/bm25.rs`).

mod matcher;
mod output;
mod scripts;
mod speech;
mod words;

use jieba_rs::Jieba;
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;
use tributary_schemas::Result;

use crate::characters::{Characters, Class};
use crate::fold::normalise;
use crate::lexicon::Lexicon;
use matcher::Matcher;
use output::{Output, with_stems};
pub use speech::SpokenWord;

/// Grows when the same text and settings give other tokens: a new version is a new index
/// generation.
pub const ANALYZER_VERSION: u32 = 1;

/// Longest token in bytes. A longer word is cut into pieces of at most this size.
pub const MAXIMUM_TOKEN_BYTES: usize = 256;

/// Text that is normalised at once.
const WINDOW_BYTES: usize = 64 << 10;
/// How far before the end of a window cutting stops, unless the text ends there: more than the
/// longest step looks ahead.
const LOOK_AHEAD_BYTES: usize = 8 << 10;
/// Chinese text handed to the dictionary at once: to the next punctuation after the first, at most
/// the second.
const HAN_RUN_BYTES: usize = 256;
const MAXIMUM_HAN_RUN_BYTES: usize = 3 << 10;

/// The dictionary is big and never changes: one for all analyzers of the process.
pub(crate) static DICTIONARY: LazyLock<Jieba> = LazyLock::new(Jieba::new);

/// What can be set about the cutting of text.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AnalyzerConfig {
    /// Guess Chinese words that are not in the dictionary (hidden Markov model).
    pub guess_words: bool,
    /// Also emit dictionary words inside long Chinese words.
    pub sub_words: bool,
    /// Also emit the dictionary words of Chinese terms of the lexicon, as those of terms with spaces
    /// always are. Indexes of before this setting were made without.
    #[serde(default)]
    pub term_words: bool,
    /// Also emit the Snowball stem of English words.
    pub english_stems: bool,
}

/// Cuts text into tokens. Cheap to share (`Arc`), safe to use from many threads.
pub struct Analyzer {
    config: AnalyzerConfig,
    matcher: Matcher,
    characters: Characters,
    fingerprint: String,
}

impl Analyzer {
    /// Prepares the dictionary and the lexicon; takes about 0.2 s the first time in a process.
    pub fn new(config: &AnalyzerConfig, lexicon: Lexicon) -> Result<Self> {
        LazyLock::force(&DICTIONARY);
        let settings = format!(
            "{ANALYZER_VERSION} {} {} {}{}",
            config.guess_words,
            config.sub_words,
            config.english_stems,
            // Says nothing where there are no terms.
            if config.term_words && !lexicon.is_empty() {
                " term_words"
            } else {
                ""
            }
        );
        let mut hasher = blake3::Hasher::new();
        hasher
            .update(settings.as_bytes())
            .update(b"\n")
            .update(lexicon.fingerprint().as_bytes());
        Ok(Self {
            config: config.clone(),
            matcher: Matcher::new(&lexicon),
            characters: Characters::get(),
            fingerprint: hasher.finalize().to_hex().chars().take(16).collect(),
        })
    }

    /// The tokens of a text. No token is empty or holds white space: a term with spaces is one
    /// token with `_` for each.
    pub fn analyze(&self, text: &str) -> Vec<String> {
        let mut tokens = String::new();
        self.analyze_into(text, &mut tokens);
        tokens
            .split(' ')
            .filter(|token| !token.is_empty())
            .map(str::to_owned)
            .collect()
    }

    /// Appends the tokens of a text, one space before each but the first of the string. Linear in
    /// time; beside the output it needs a fixed amount of memory, however long the text or its
    /// lines are.
    pub fn analyze_into(&self, text: &str, out: &mut String) {
        with_stems(|stems| {
            let mut output = Output::new(out, self.config.english_stems.then_some(stems));
            if text.len() <= 2 * WINDOW_BYTES {
                self.cut(&normalise(text), 0, true, &mut output);
                return;
            }
            self.analyze_windows(text, &mut output);
        });
    }

    /// Hash of analyzer version, settings and lexicon: what an index was made with.
    pub fn fingerprint(&self) -> String {
        self.fingerprint.clone()
    }

    fn analyze_windows(&self, text: &str, output: &mut Output<'_>) {
        let mut window = String::with_capacity(2 * WINDOW_BYTES);
        let mut rest = text;
        let mut start = 0;
        loop {
            let (piece, after) = split_window(rest);
            window.push_str(&normalise(piece));
            rest = after;
            let is_last = rest.is_empty();
            let done = self.cut(&window, start, is_last, output);
            if is_last {
                return;
            }
            // One character stays before the rest: whether a term may begin depends on it.
            let keep_from = window
                .get(..done)
                .and_then(|text| text.char_indices().next_back())
                .map_or(0, |(index, _)| index);
            window.drain(..keep_from);
            start = done - keep_from;
        }
    }

    /// Cuts normalised text from a place on and returns where it stopped: at the end if nothing
    /// follows.
    fn cut(&self, text: &str, start: usize, is_last: bool, output: &mut Output<'_>) -> usize {
        let stop = if is_last {
            text.len()
        } else {
            text.len().saturating_sub(LOOK_AHEAD_BYTES)
        };
        let mut position = start;
        while position < stop {
            position = self.step(text, position, output);
        }
        position
    }

    /// Emits what begins at a place and returns where it ends; always further on.
    fn step(&self, text: &str, position: usize, output: &mut Output<'_>) -> usize {
        let Some(character) = text.get(position..).and_then(|rest| rest.chars().next()) else {
            return text.len();
        };
        match self.characters.class(character) {
            Class::Word => self.cut_word(text, position, output),
            Class::Han => self.cut_han(text, position, output),
            _ if self.matcher.may_begin(character) => match self.matcher.longest(text, position) {
                Some((end, term)) => {
                    self.emit_term(term, output);
                    end
                }
                None => self.cut_other(text, position, character, output),
            },
            _ => self.cut_other(text, position, character, output),
        }
    }

    /// A run of Chinese characters and the punctuation between them; lexicon terms first, the rest
    /// by dictionary.
    fn cut_han(&self, text: &str, start: usize, output: &mut Output<'_>) -> usize {
        let rest = text.get(start..).unwrap_or_default();
        for (offset, character) in rest.char_indices() {
            if !character.is_ascii()
                && self.matcher.may_begin(character)
                && let Some((end, term)) = self.matcher.longest(text, start + offset)
            {
                self.cut_with_dictionary(rest.get(..offset).unwrap_or_default(), output);
                self.emit_term(term, output);
                return end;
            }
            let ends_here = match self.characters.class(character) {
                Class::Han => offset >= MAXIMUM_HAN_RUN_BYTES,
                Class::Separator => {
                    offset >= HAN_RUN_BYTES
                        || (character.is_ascii() && !character.is_ascii_whitespace())
                }
                _ => true,
            };
            if ends_here {
                self.cut_with_dictionary(rest.get(..offset).unwrap_or_default(), output);
                return start + offset;
            }
        }
        self.cut_with_dictionary(rest, output);
        text.len()
    }

    fn cut_with_dictionary(&self, run: &str, output: &mut Output<'_>) {
        let mut characters = run.chars();
        match (characters.next(), characters.next()) {
            (None, _) => return,
            (Some(only), None) => {
                if self.characters.class(only) == Class::Han {
                    output.token(run);
                }
                return;
            }
            _ => {}
        }
        let words = match self.config.sub_words {
            true => DICTIONARY.cut_for_search(run, self.config.guess_words),
            false => DICTIONARY.cut(run, self.config.guess_words),
        };
        for word in words.iter().map(|token| token.word) {
            if word
                .chars()
                .next()
                .is_some_and(|first| self.characters.class(first) == Class::Han)
            {
                output.token(word);
            }
        }
    }

    fn emit_term(&self, term: &matcher::MatchedTerm, output: &mut Output<'_>) {
        output.token(&term.token);
        if self.config.term_words && term.words.is_empty() {
            self.emit_words(&term.token, output);
        }
        for word in &term.words {
            if word.is_ascii() {
                output.word(word);
            } else {
                self.cut_with_dictionary(word, output);
            }
        }
    }

    /// The dictionary words of a Chinese term, unless it is one itself.
    fn emit_words(&self, term: &str, output: &mut Output<'_>) {
        let is_han = |character: char| self.characters.class(character) == Class::Han;
        let is_word = || DICTIONARY.cut(term, self.config.guess_words).len() < 2;
        if term.chars().all(is_han) && !is_word() {
            self.cut_with_dictionary(term, output);
        }
    }
}

/// Splits off one window of text, if possible behind white space or punctuation, where
/// normalisation cannot depend on what follows.
fn split_window(text: &str) -> (&str, &str) {
    if text.len() <= WINDOW_BYTES {
        return (text, "");
    }
    let head = text
        .get(..text.floor_char_boundary(WINDOW_BYTES))
        .unwrap_or(text);
    let is_border = |character: char| {
        character.is_ascii_whitespace()
            || character.is_ascii_punctuation()
            || matches!(character, '。' | '，')
    };
    let tail_start = text.floor_char_boundary(WINDOW_BYTES - 1024);
    let border = head
        .get(tail_start..)
        .and_then(|tail| tail.rfind(is_border))
        .map_or(head.len(), |offset| {
            let at = tail_start + offset;
            at + head
                .get(at..)
                .and_then(|rest| rest.chars().next())
                .map_or(0, char::len_utf8)
        });
    text.split_at_checked(border).unwrap_or((text, ""))
}
