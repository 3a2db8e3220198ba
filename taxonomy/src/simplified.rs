//! Traditional → simplified Chinese with OpenCC's own tables (`data/opencc`): at every character the longest phrase, else the
//! character. Same results as `opencc -c t2s`. Called by `fold`.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

static CHARACTERS: &str = include_str!("../data/opencc/characters.txt");
static PHRASES: &str = include_str!("../data/opencc/phrases.txt");

struct Tables {
    characters: FxHashMap<char, char>,
    /// By first character; longest phrase first.
    phrases: FxHashMap<char, Vec<(&'static str, &'static str)>>,
}

static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    let mut tables = Tables { characters: FxHashMap::default(), phrases: FxHashMap::default() };
    for line in data_lines(CHARACTERS) {
        let mut pair = line.chars();
        if let (Some(traditional), Some(simplified)) = (pair.next(), pair.next()) {
            tables.characters.insert(traditional, simplified);
        }
    }
    for (traditional, simplified) in data_lines(PHRASES).filter_map(|line| line.split_once('\t')) {
        if let Some(first) = traditional.chars().next() {
            tables.phrases.entry(first).or_default().push((traditional, simplified));
        }
    }
    for phrases in tables.phrases.values_mut() {
        phrases.sort_by_key(|(traditional, _)| std::cmp::Reverse(traditional.len()));
    }
    tables
});

fn data_lines(file: &'static str) -> impl Iterator<Item = &'static str> {
    file.lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// Whether a traditional character or phrase begins with this character.
pub(crate) fn begins_key(character: char) -> bool {
    TABLES.characters.contains_key(&character) || TABLES.phrases.contains_key(&character)
}

/// Appends the simplified form of the text's first phrase or character, and returns how many bytes of the text it stands for.
pub(crate) fn simplify_one(text: &str, first: char, out: &mut String) -> usize {
    let tables = &*TABLES;
    let phrases = tables.phrases.get(&first).into_iter().flatten();
    if let Some((traditional, simplified)) = phrases.into_iter().find(|(traditional, _)| text.starts_with(traditional)) {
        out.push_str(simplified);
        return traditional.len();
    }
    out.push(tables.characters.get(&first).copied().unwrap_or(first));
    first.len_utf8()
}
