//! Collects tokens into one string, and adds the stems of English words. Stemming is remembered:
//! words repeat.

use std::cell::RefCell;

use rust_stemmers::{Algorithm, Stemmer};

/// Words longer than this are names or noise and have no stem.
const MAXIMUM_STEMMED_BYTES: usize = 24;
const REMEMBERED_WORDS: usize = 4096;

/// Tokens, one space between them, appended to a caller's string.
pub(super) struct Output<'a> {
    out: &'a mut String,
    stems: Option<&'a mut Stems>,
}

impl<'a> Output<'a> {
    pub(super) fn new(out: &'a mut String, stems: Option<&'a mut Stems>) -> Self {
        Self { out, stems }
    }

    fn separate(&mut self) {
        if !self.out.is_empty() {
            self.out.push(' ');
        }
    }

    /// A token that is folded already.
    #[inline]
    pub(super) fn token(&mut self, token: &str) {
        self.separate();
        self.out.push_str(token);
    }

    /// A token whose ASCII letters may still be upper case.
    #[inline]
    pub(super) fn any_case(&mut self, token: &str) {
        self.separate();
        let start = self.out.len();
        self.out.push_str(token);
        if let Some(added) = self.out.get_mut(start..) {
            added.make_ascii_lowercase();
        }
    }

    /// A word of running text: its stem alone. Word and stem together would weigh inflected words
    /// twice, which costs BM25 a tenth of its nDCG on English abstracts (measured, see
    /// `examples/bm25.rs`).
    #[inline]
    pub(super) fn word(&mut self, word: &str) {
        self.stemmed(word, false);
    }

    /// A part of an identifier, an acronym or an error code: as it is, and its stem beside it, so
    /// that both spellings find it.
    #[inline]
    pub(super) fn name(&mut self, name: &str) {
        self.stemmed(name, true);
    }

    #[inline]
    fn stemmed(&mut self, word: &str, keeps_word: bool) {
        self.any_case(word);
        let Some(stems) = self.stems.as_deref_mut() else {
            return;
        };
        if word.len() < 3
            || word.len() > MAXIMUM_STEMMED_BYTES
            || !word.bytes().all(|byte| byte.is_ascii_alphabetic())
        {
            return;
        }
        let start = self.out.len() - word.len();
        let Some(stem) = self.out.get(start..).and_then(|lower| stems.stem(lower)) else {
            return;
        };
        if keeps_word {
            self.out.push(' ');
        } else {
            self.out.truncate(start);
        }
        self.out.push_str(stem);
    }
}

/// English (Snowball) stems of words seen lately, by the hash of the word.
pub(super) struct Stems {
    stemmer: Stemmer,
    words: Vec<(String, Option<String>)>,
}

impl Stems {
    fn new() -> Self {
        Self {
            stemmer: Stemmer::create(Algorithm::English),
            words: vec![(String::new(), None); REMEMBERED_WORDS],
        }
    }

    /// The stem, if it differs from the word.
    fn stem(&mut self, word: &str) -> Option<&str> {
        let hash = word.bytes().fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3)
        });
        let place = (hash ^ (hash >> 29)) as usize % REMEMBERED_WORDS;
        let slot = self.words.get_mut(place)?;
        if slot.0 != word {
            let stem = self.stemmer.stem(word);
            slot.1 = (stem != word).then(|| stem.into_owned());
            slot.0.clear();
            slot.0.push_str(word);
        }
        slot.1.as_deref()
    }
}

thread_local! {
    static STEMS: RefCell<Stems> = RefCell::new(Stems::new());
}

/// Runs with this thread's remembered stems.
pub(super) fn with_stems<T>(run: impl FnOnce(&mut Stems) -> T) -> T {
    STEMS.with_borrow_mut(run)
}
