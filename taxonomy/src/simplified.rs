//! Traditional → simplified Chinese with OpenCC's own tables (`data/opencc`): at every character
//! the longest phrase, else the character. Same results as `opencc -c t2s`.

use std::sync::LazyLock;

use rustc_hash::{FxHashMap, FxHashSet};

static CHARACTERS: &str = include_str!("../data/opencc/characters.txt");
static PHRASES: &str = include_str!("../data/opencc/phrases.txt");

struct Tables {
    characters: FxHashMap<char, char>,
    /// The characters of the basic plane again, by their number; 0 is itself.
    basic_plane: Vec<u16>,
    /// By first character; longest phrase first.
    phrases: FxHashMap<char, Vec<(&'static str, &'static str)>>,
    /// A text without any of these characters is simplified already.
    triggers: FxHashSet<char>,
}

static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    let characters: FxHashMap<char, char> = data_lines(CHARACTERS)
        .filter_map(|line| {
            let mut pair = line.chars();
            Some((pair.next()?, pair.next()?))
        })
        .collect();
    let mut basic_plane = vec![0; 0x1_0000];
    for (traditional, simplified) in &characters {
        if let (Some(entry), Ok(code)) = (
            basic_plane.get_mut(*traditional as usize),
            u16::try_from(*simplified as u32),
        ) {
            *entry = code;
        }
    }
    let mut triggers: FxHashSet<char> = characters.keys().copied().collect();
    let mut phrases: FxHashMap<char, Vec<(&str, &str)>> = FxHashMap::default();
    for (traditional, simplified) in data_lines(PHRASES).filter_map(|line| line.split_once('\t')) {
        let Some(first) = traditional.chars().next() else {
            continue;
        };
        phrases
            .entry(first)
            .or_default()
            .push((traditional, simplified));
        if !traditional
            .chars()
            .any(|character| characters.contains_key(&character))
        {
            // No character of it changes by itself, so the one that changes in the phrase gives it
            // away (沈重 → 沉重).
            triggers.extend(
                traditional
                    .chars()
                    .zip(simplified.chars())
                    .find(|(before, after)| before != after)
                    .map(|(before, _)| before),
            );
        }
    }
    for phrases in phrases.values_mut() {
        phrases.sort_by_key(|(traditional, _)| std::cmp::Reverse(traditional.len()));
    }
    Tables {
        characters,
        basic_plane,
        phrases,
        triggers,
    }
});

fn data_lines(file: &'static str) -> impl Iterator<Item = &'static str> {
    file.lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// Whether a text must be looked at because it holds this character.
pub(crate) fn is_trigger(character: char) -> bool {
    TABLES.triggers.contains(&character)
}

/// Whether a phrase begins with this character.
pub(crate) fn begins_phrase(character: char) -> bool {
    TABLES.phrases.contains_key(&character)
}

/// Appends the simplified form of the text's first character.
#[inline]
pub(crate) fn simplify_character(first: char, out: &mut String) -> usize {
    let simplified = match TABLES.basic_plane.get(first as usize) {
        Some(code) if *code != 0 => char::from_u32(u32::from(*code)).unwrap_or(first),
        _ => TABLES.characters.get(&first).copied().unwrap_or(first),
    };
    out.push(simplified);
    first.len_utf8()
}

/// Appends the simplified form of the phrase that the text begins with, else of its first
/// character; returns how many bytes of the text that stands for.
pub(crate) fn simplify_phrase(text: &str, first: char, out: &mut String) -> usize {
    let mut phrases = TABLES.phrases.get(&first).into_iter().flatten();
    let Some((traditional, simplified)) =
        phrases.find(|(traditional, _)| text.starts_with(traditional))
    else {
        return simplify_character(first, out);
    };
    out.push_str(simplified);
    traditional.len()
}
