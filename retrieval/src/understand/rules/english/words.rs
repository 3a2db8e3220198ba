//! An English sentence as words, and the names in it.

/// Words that begin a sentence with a capital and are no names.
const BEGINNINGS: [&str; 62] = [
    "a", "about", "after", "also", "an", "and", "any", "anything", "are", "as", "at", "be",
    "because", "before", "besides", "but", "by", "can", "compare", "could", "describe", "did",
    "do", "does", "during", "explain", "for", "from", "give", "had", "has", "have", "how",
    "however", "if", "in", "is", "list", "may", "name", "no", "not", "of", "on", "or", "other",
    "please", "relate", "should", "show", "since", "so", "some", "tell", "then", "there", "to",
    "under", "upon", "were", "will", "with",
];
/// Words that are no names, with a capital or without.
const NO_NAMES: [&str; 45] = [
    "he", "her", "hers", "him", "his", "i", "i'm", "it", "its", "me", "my", "our", "she", "that",
    "the", "their", "theirs", "them", "these", "they", "this", "those", "us", "was", "we", "what",
    "when", "where", "whether", "which", "who", "whom", "whose", "why", "would", "yes", "you",
    "your", "i've", "i'd", "ok", "okay", "don't", "didn't", "edit",
];
/// What a request over HTTP begins with, which nothing is about.
const METHODS: [&str; 7] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];
/// Small words inside of names.
const JOINTS: [&str; 12] = [
    "of", "the", "and", "&", "de", "von", "van", "la", "da", "del", "al", "for",
];

/// A word.
#[derive(Clone, Copy, Debug)]
pub struct Word<'a> {
    /// As written, without signs around it.
    pub text: &'a str,
    /// Byte where it begins.
    pub start: usize,
    /// Byte where it ends.
    pub end: usize,
    /// Whether it begins a sentence.
    pub begins: bool,
}

/// A name in a text.
#[derive(Clone, Debug)]
pub struct Name {
    /// As written, without quotes.
    pub text: String,
    /// First word.
    pub from: usize,
    /// Behind the last one.
    pub to: usize,
    /// Whether it stood in quotes.
    pub is_quoted: bool,
}

impl Word<'_> {
    /// Whether it is this word, however it is written.
    pub fn is(&self, word: &str) -> bool {
        self.text.eq_ignore_ascii_case(word)
    }

    /// Whether it is one of these.
    pub fn is_any(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(word))
    }

    /// Whether it may be a part of a name.
    pub fn is_name(&self) -> bool {
        let is_capital = self.text.starts_with(|first: char| first.is_uppercase());
        let is_identifier = self.text.contains('_') || crate::exact_name::is_identifier(self.text);
        let is_number = self.text.starts_with(|first: char| first.is_ascii_digit());
        ((is_capital && !(self.begins && self.is_any(&BEGINNINGS)))
            || (is_identifier && !is_number))
            && !self.is_any(&NO_NAMES)
            && !METHODS.contains(&self.text)
    }
}

/// The words of a text.
pub fn words(text: &str) -> Vec<Word<'_>> {
    let mut words: Vec<Word<'_>> = Vec::new();
    let mut start = None;
    let is_part = |character: char| {
        character.is_alphanumeric()
            || matches!(character, '\'' | '’' | '-' | '_' | '.' | '&' | '+' | '#')
    };
    let ends = text.char_indices().chain([(text.len(), ' ')]);
    for (at, character) in ends {
        match (start, is_part(character)) {
            (None, true) => start = Some(at),
            (Some(from), false) => {
                push(text, from, at, &mut words);
                start = None;
            }
            _ => {}
        }
    }
    words
}

fn push<'a>(text: &'a str, from: usize, to: usize, words: &mut Vec<Word<'a>>) {
    let raw = text.get(from..to).unwrap_or_default();
    let trimmed = raw.trim_start_matches(|sign: char| !sign.is_alphanumeric() && sign != '&');
    let start = to - trimmed.len();
    let trimmed =
        trimmed.trim_end_matches(|sign: char| !(sign.is_alphanumeric() || "+#&".contains(sign)));
    if trimmed.is_empty() {
        return;
    }
    let before = words.last().map(|word| word.end);
    let gap = before.and_then(|before| text.get(before..start));
    let is_behind_initial = words.last().is_some_and(|before| before.text.len() == 1);
    let begins = gap.is_none_or(|gap| {
        gap.contains(['!', '?', ':', ';', '\n']) || (gap.contains('.') && !is_behind_initial)
    });
    words.push(Word {
        text: trimmed,
        start,
        end: start + trimmed.len(),
        begins,
    });
}

/// The names in a text, in order: what stands in quotes, and runs of words with capitals.
pub fn names(text: &str, words: &[Word<'_>]) -> Vec<Name> {
    let mut names: Vec<Name> = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let found = quoted(text, words, at).or_else(|| run(text, words, at));
        at = match found {
            Some(name) => {
                let to = name.to;
                names.push(name);
                to
            }
            None => at + 1,
        };
    }
    names
}

fn quoted(text: &str, words: &[Word<'_>], at: usize) -> Option<Name> {
    let first = words.get(at)?;
    let before = text.get(..first.start)?;
    let close = match before.chars().next_back()? {
        '"' => '"',
        '“' => '”',
        _ => return None,
    };
    // An opening quote stands behind a space.
    let outer = before.trim_end_matches(['"', '“']).chars().next_back();
    if outer.is_some_and(|outer| !outer.is_whitespace() && outer != '(') {
        return None;
    }
    let rest = text.get(first.start..)?;
    let end = first.start + rest.find(close)?;
    let to = words.iter().take_while(|word| word.start < end).count();
    let name = text
        .get(first.start..end)?
        .trim_end_matches([',', '.', ' ']);
    Some(Name {
        text: name.to_owned(),
        from: at,
        to: to.max(at + 1),
        is_quoted: true,
    })
}

fn run(text: &str, words: &[Word<'_>], at: usize) -> Option<Name> {
    if !words.get(at)?.is_name() {
        return None;
    }
    let mut to = at + 1;
    let mut next = to;
    while let Some(word) = words.get(next) {
        let before = words.get(next - 1)?;
        let gap = text.get(before.end..word.start)?;
        let is_initial = gap == ". " && before.text.len() == 1;
        if gap != " " && !is_initial {
            break;
        }
        let is_number = word
            .text
            .chars()
            .all(|character| character.is_ascii_digit());
        if word.is_name() || (is_number && next == to) {
            next += 1;
            to = next;
        } else if word.is_any(&JOINTS) && next - to < 2 {
            next += 1;
        } else {
            break;
        }
    }
    let (first, last) = (words.get(at)?, words.get(to - 1)?);
    let name = text.get(first.start..last.end)?;
    let name = name
        .strip_suffix("'s")
        .or(name.strip_suffix("’s"))
        .unwrap_or(name);
    Some(Name {
        text: name.trim_end_matches('\'').to_owned(),
        from: at,
        to,
        is_quoted: false,
    })
}
