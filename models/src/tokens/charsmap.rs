//! SentencePiece's precompiled character map, the normaliser of XLM-R and relatives (NFKC with
//! changes).
//!
//! Layout: `u32` size of the trie in bytes, the trie (a darts double array of `u32` units), then
//! the replacements, each ended by a zero byte. The lookup copies the behaviour of the `tokenizers`
//! crate, odd corners included: a grapheme cluster of fewer than six bytes is looked up whole and
//! replaced by what its shortest known prefix maps to; otherwise each character is looked up alone.

use unicode_segmentation::UnicodeSegmentation;

/// A parsed character map.
pub struct CharacterMap {
    units: Vec<u32>,
    replacements: String,
    /// One bit per character of the basic plane: whether it alone maps to something.
    mapped: Vec<u64>,
}

impl CharacterMap {
    /// Parses the bytes of a map; `None` if they are not one.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let (size, rest) = bytes.split_first_chunk::<4>()?;
        let size = usize::try_from(u32::from_le_bytes(*size)).ok()?;
        let (trie, replacements) = (rest.get(..size)?, rest.get(size..)?);
        let units: Vec<u32> = trie
            .as_chunks::<4>()
            .0
            .iter()
            .map(|unit| u32::from_le_bytes(*unit))
            .collect();
        let replacements = std::str::from_utf8(replacements).ok()?.to_owned();
        let mut map = Self {
            units,
            replacements,
            mapped: vec![0; 1 << 10],
        };
        map.fill_mapped();
        Some(map)
    }

    fn fill_mapped(&mut self) {
        let mut buffer = [0; 4];
        for code in 0..=0xffff_u32 {
            let Some(character) = char::from_u32(code) else {
                continue;
            };
            if self
                .replacement(character.encode_utf8(&mut buffer))
                .is_some()
                && let Some(word) = self.mapped.get_mut(code as usize >> 6)
            {
                *word |= 1 << (code & 63);
            }
        }
    }

    /// What a grapheme or character is replaced by: the value of its shortest prefix in the map.
    fn replacement(&self, text: &str) -> Option<&str> {
        let mut position = 0;
        let mut unit = *self.units.first()?;
        position ^= offset(unit);
        for byte in text.bytes().take_while(|byte| *byte != 0) {
            position ^= usize::from(byte);
            unit = *self.units.get(position)?;
            if unit & (1 << 31 | 0xff) != u32::from(byte) {
                return None;
            }
            position ^= offset(unit);
            if unit >> 8 & 1 == 1 {
                let start = (self.units.get(position)? & !(1 << 31)) as usize;
                let tail = self.replacements.get(start..)?;
                return tail.split('\0').next();
            }
        }
        None
    }

    fn is_mapped(&self, character: char) -> bool {
        let code = character as usize;
        self.mapped
            .get(code >> 6)
            .is_none_or(|word| word >> (code & 63) & 1 == 1)
    }

    /// Appends the normalised text.
    pub fn normalize_into(&self, text: &str, output: &mut Normalized) {
        let mut rest = text;
        loop {
            let Some(cluster_start) = self.push_simple_characters(rest, output) else {
                return;
            };
            let (_, clusters) = rest.split_at(cluster_start);
            let length = clusters_length(clusters);
            let (run, tail) = clusters.split_at(length);
            for grapheme in run.graphemes(true) {
                self.push_grapheme(grapheme, output);
            }
            rest = tail;
        }
    }

    /// Appends characters that are a grapheme of their own, up to the first that may not be;
    /// returns where that one starts.
    fn push_simple_characters(&self, text: &str, output: &mut Normalized) -> Option<usize> {
        let mut characters = text.char_indices().peekable();
        while let Some((position, character)) = characters.next() {
            if !is_simple(character) || characters.peek().is_some_and(|(_, next)| !is_simple(*next))
            {
                return Some(position);
            }
            self.push_character(character, output);
        }
        None
    }

    fn push_grapheme(&self, grapheme: &str, output: &mut Normalized) {
        if grapheme.len() < 6
            && let Some(replacement) = self.replacement(grapheme)
        {
            replacement
                .chars()
                .for_each(|character| output.push(character));
            return;
        }
        grapheme
            .chars()
            .for_each(|character| self.push_character(character, output));
    }

    fn push_character(&self, character: char, output: &mut Normalized) {
        if self.is_mapped(character)
            && let Some(replacement) = self.replacement(character.encode_utf8(&mut [0; 4]))
        {
            replacement
                .chars()
                .for_each(|character| output.push(character));
            return;
        }
        output.push(character);
    }
}

/// Where the children of a darts unit lie.
fn offset(unit: u32) -> usize {
    ((unit >> 10) << ((unit & 1 << 9) >> 6)) as usize
}

/// Length in bytes of the run at the start that must be cut into graphemes: up to and with the last
/// character that is not simple, before two simple neighbours.
fn clusters_length(text: &str) -> usize {
    let mut previous_simple = false;
    for (index, (position, character)) in text.char_indices().enumerate() {
        let simple = is_simple(character);
        if index > 0 && simple && previous_simple {
            return position;
        }
        previous_simple = simple;
    }
    text.len()
}

/// Characters between two of which there is always a grapheme boundary (break property "Other" or
/// "Control", in blocks that have no marks). Everything else takes the slower, general way.
fn is_simple(character: char) -> bool {
    matches!(character,
        '\0'..='\x0c' | '\x0e'..='\u{2ff}' | '\u{370}'..='\u{482}' | '\u{48a}'..='\u{52f}' | '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205e}'
        | '\u{2070}'..='\u{20cf}' | '\u{2100}'..='\u{2bff}' | '\u{3000}'..='\u{3029}' | '\u{3041}'..='\u{3096}' | '\u{30a0}'..='\u{30ff}'
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ff01}'..='\u{ff9d}')
}

/// Normalised text in the making, with spaces collapsed and written as the metaspace `▁`, its
/// pieces starting at each `▁`.
pub struct Normalized {
    /// The text so far.
    pub text: String,
    after_space: bool,
}

/// Stands for a space in the vocabulary.
pub const METASPACE: char = '▁';

impl Normalized {
    /// An empty text with room for one of this length.
    pub fn with_capacity(bytes: usize) -> Self {
        Self {
            text: String::with_capacity(bytes + bytes / 2 + 8),
            after_space: false,
        }
    }

    /// Starts over.
    pub fn clear(&mut self) {
        self.text.clear();
        self.after_space = false;
    }

    /// Appends a character; of several spaces one stays.
    #[inline]
    pub fn push(&mut self, character: char) {
        let space = character == ' ';
        if space {
            if !self.after_space {
                self.text.push(METASPACE);
            }
        } else {
            self.text.push(character);
        }
        self.after_space = space;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every pair of neighbours that the fast way takes as two graphemes must be two.
    #[test]
    fn simple_characters_never_join() {
        let simple: Vec<char> = (0..0x1_0000)
            .filter_map(char::from_u32)
            .filter(|character| is_simple(*character))
            .collect();
        for &left in simple.iter().step_by(7) {
            for &right in simple
                .iter()
                .step_by(97)
                .chain(&['\n', '\u{ad}', '\u{a9}', '\u{ae}', '\u{2122}'])
            {
                assert_eq!(
                    format!("{left}{right}").graphemes(true).count(),
                    2,
                    "{left:?} {right:?}"
                );
            }
        }
        for &character in &simple {
            assert_eq!(
                format!("a{character}").graphemes(true).count(),
                2,
                "{character:?}"
            );
            assert_eq!(
                format!("{character}a").graphemes(true).count(),
                2,
                "{character:?}"
            );
        }
    }

    #[test]
    fn bytes_that_are_no_map_are_refused() {
        assert!(CharacterMap::parse(&[]).is_none());
        assert!(CharacterMap::parse(&[255, 0, 0, 0, 1]).is_none());
        let empty = CharacterMap::parse(&[4, 0, 0, 0, 0, 0, 0, 0]).expect("an empty map");
        let mut output = Normalized::with_capacity(8);
        empty.normalize_into("a  b\u{301}\r\n", &mut output);
        assert_eq!(output.text, "a▁b\u{301}\r\n");
    }
}
