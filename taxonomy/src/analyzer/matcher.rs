//! Finds the longest lexicon term that begins at a given place of a text. Used by the analyzer at
//! every place where one may begin.

use rustc_hash::FxHashMap;
use tributary_schemas::width::to_half_width;

use crate::characters::{Characters, Class};
use crate::lexicon::{Lexicon, is_spaced};

/// White space that may stand between two words of a term: more than this and it is no longer one
/// term.
const MAXIMUM_SPACES: usize = 4;

/// A term as the analyzer writes it.
pub(super) struct MatchedTerm {
    /// The one token: folded, spaces as `_`.
    pub(super) token: String,
    /// The words of a term that has several (`5G NR`, `Ping-Pong`); empty otherwise.
    pub(super) words: Vec<String>,
}

/// A trie over the folded terms.
pub(super) struct Matcher {
    terms: Vec<MatchedTerm>,
    /// Node below the root by first character of the basic plane; 0 is none.
    roots: Vec<u32>,
    children: FxHashMap<(u32, char), u32>,
    /// Term that ends at a node, plus 1; 0 is none.
    ends: Vec<u32>,
    /// A bit for the hash of the first two characters of every term: turns most places down
    /// without a look at `children`.
    pairs: Vec<u64>,
    characters: Characters,
}

impl Matcher {
    pub(super) fn new(lexicon: &Lexicon) -> Self {
        let characters = Characters::get();
        let mut matcher = Self {
            terms: Vec::new(),
            roots: Vec::new(),
            children: FxHashMap::default(),
            ends: vec![0],
            pairs: Vec::new(),
            characters,
        };
        if !lexicon.is_empty() {
            matcher.roots = vec![0; 0x1_0000];
            matcher.pairs = vec![0; PAIR_BITS / 64];
        }
        for (key, term) in lexicon.terms() {
            matcher.insert(key, &term.text);
        }
        matcher
    }

    fn insert(&mut self, key: &str, written: &str) {
        let mut node = 0;
        let mut characters = key.chars();
        if let (Some(first), Some(second)) = (characters.next(), characters.next()) {
            let bit = pair_bit(first, second);
            if let Some(word) = self.pairs.get_mut(bit / 64) {
                *word |= 1 << (bit % 64);
            }
        }
        for character in key.chars() {
            let next = match self.child(node, character) {
                Some(next) => next,
                None => self.add_node(node, character),
            };
            node = next;
        }
        let folded = crate::fold::fold(written);
        // `Ping-Pong` is also found by its words; `等保2.0三级` has none of its own.
        let is_joined =
            |character: char| matches!(character, '_' | '.' | '-' | '/') && folded.is_ascii();
        let words =
            folded.split(|character: char| character.is_whitespace() || is_joined(character));
        let words: Vec<String> = words
            .filter(|word| word.chars().any(char::is_alphanumeric))
            .map(str::to_owned)
            .collect();
        self.terms.push(MatchedTerm {
            token: key.replace(' ', "_"),
            words: if words.len() > 1 { words } else { Vec::new() },
        });
        if let Some(end) = self.ends.get_mut(node as usize) {
            *end = u32::try_from(self.terms.len()).unwrap_or(0);
        }
    }

    fn add_node(&mut self, parent: u32, character: char) -> u32 {
        let node = u32::try_from(self.ends.len()).unwrap_or(u32::MAX);
        self.ends.push(0);
        match self.roots.get_mut(character as usize) {
            Some(root) if parent == 0 => *root = node,
            _ => {
                self.children.insert((parent, character), node);
            }
        }
        node
    }

    #[inline]
    fn child(&self, node: u32, character: char) -> Option<u32> {
        if node == 0
            && let Some(root) = self.roots.get(character as usize)
        {
            return (*root != 0).then_some(*root);
        }
        self.children.get(&(node, character)).copied()
    }

    /// Whether a term may begin with this character; false for nearly all characters, and cheap.
    #[inline]
    pub(super) fn may_begin(&self, character: char) -> bool {
        !self.terms.is_empty() && self.child(0, narrow(character)).is_some()
    }

    /// Whether a term may begin with the first characters of a text, by its first two; never wrong
    /// when it says no.
    #[inline]
    fn may_begin_with(&self, first: char, second: Option<char>) -> bool {
        let Some(root) = self.child(0, first) else {
            return false;
        };
        if self.ends.get(root as usize).is_some_and(|end| *end != 0) {
            return true;
        }
        let Some(second) = second else { return false };
        let bit = pair_bit(first, narrow(second));
        second.is_whitespace()
            || self
                .pairs
                .get(bit / 64)
                .is_some_and(|word| word & (1 << (bit % 64)) != 0)
    }

    /// The longest term at `start` of `text` and the byte where it ends.
    ///
    /// A term that begins or ends with a letter or digit must not go on in a longer word there;
    /// Chinese characters have no such borders. White space in the text matches one space of
    /// the term, and is passed over beside a Chinese character.
    pub(super) fn longest(&self, text: &str, start: usize) -> Option<(usize, &MatchedTerm)> {
        if self.terms.is_empty() {
            return None;
        }
        let mut characters = text.get(start..)?.chars();
        let first = characters.next()?;
        if !self.may_begin_with(narrow(first), characters.next()) {
            return None;
        }
        let before = text.get(..start)?.chars().next_back();
        if self.is_word(first) && before.is_some_and(|before| self.is_word(before)) {
            return None;
        }
        let mut node = 0;
        let mut found = None;
        let mut previous = first;
        let mut position = start;
        while let Some((character, at)) = next_of_term(text, position, previous, position == start)
        {
            let Some(next) = self.child(node, narrow(character)) else {
                break;
            };
            node = next;
            position = at + character_length(text, at);
            previous = character;
            let end = self.ends.get(node as usize).copied().unwrap_or(0);
            if end != 0 && self.is_end(text, position, character) {
                found = Some((position, end));
            }
        }
        found.and_then(|(position, end)| Some((position, self.terms.get(end as usize - 1)?)))
    }

    fn is_end(&self, text: &str, position: usize, last: char) -> bool {
        let after = text.get(position..).and_then(|rest| rest.chars().next());
        !(self.is_word(last) && after.is_some_and(|after| self.is_word(after)))
    }

    fn is_word(&self, character: char) -> bool {
        self.characters.class(character) == Class::Word
    }
}

const PAIR_BITS: usize = 1 << 18;

#[inline]
fn pair_bit(first: char, second: char) -> usize {
    let hash = (first as u32).wrapping_mul(0x9E37_79B1) ^ (second as u32).wrapping_mul(0x85EB_CA6B);
    (hash ^ (hash >> 15)) as usize % PAIR_BITS
}

/// As in a folded term: lower case, and ASCII for its full-width forms (normalised text still has
/// those of punctuation).
#[inline]
fn narrow(character: char) -> char {
    to_half_width(character).to_ascii_lowercase()
}

/// The next character of a term in the text and where it stands: white space counts as one space,
/// or as none beside Chinese.
fn next_of_term(
    text: &str,
    position: usize,
    previous: char,
    is_first: bool,
) -> Option<(char, usize)> {
    let rest = text.get(position..)?;
    let character = rest.chars().next()?;
    if !character.is_whitespace() || is_first {
        return Some((character, position));
    }
    let length = spaces_length(rest)?;
    let after = rest.get(length..)?.chars().next()?;
    if is_spaced(previous, after) {
        // The last white space character stands for the space, so that the walk goes on behind all
        // of it.
        let last = rest.get(..length)?.chars().next_back()?;
        return Some((' ', position + length - last.len_utf8()));
    }
    Some((after, position + length))
}

/// The bytes of the white space at the beginning; `None` if a term does not go on behind so much.
fn spaces_length(text: &str) -> Option<usize> {
    let mut length = 0;
    let mut lines = 0;
    for (count, space) in text
        .chars()
        .take_while(|space| space.is_whitespace())
        .enumerate()
    {
        length += space.len_utf8();
        lines += usize::from(space == '\n');
        if count >= MAXIMUM_SPACES || lines > 1 {
            return None;
        }
    }
    Some(length)
}

fn character_length(text: &str, at: usize) -> usize {
    text.get(at..)
        .and_then(|rest| rest.chars().next())
        .map_or(1, char::len_utf8)
}
