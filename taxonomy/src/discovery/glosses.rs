//! Other names that texts give in parentheses: `载波聚合 (CA)`, `Carrier Aggregation (CA)`,
//! `CA（载波聚合）`, `时分复用 (TDM, Time-Division Multiplexing)`.
//!
//! Of two Latin names one must be the initials of the other. Where no mark says where a name begins
//! before the parenthesis, it is the suffix that is the best candidate.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::candidates::Candidate;
use super::pieces::{Mark, Piece, Tag, is_han};
use super::scan::{Sentence, fits};
use crate::lexicon::term_key;

/// Pairs kept.
const MAXIMUM_PAIRS: usize = 100_000;
/// Words and Chinese characters of a name.
const MAXIMUM_WORDS: usize = 6;
const MAXIMUM_HAN: usize = 12;
/// Least score of a suffix that is taken for the name.
const LEAST_SCORE: f64 = 0.2;
/// Words of the corpus that say that another name follows, and are none of it.
const INTRODUCTIONS: [&str; 9] = [
    "简称",
    "即",
    "又称",
    "也称",
    "缩写为",
    "英文",
    "缩写",
    "全称",
    "英文名",
];

/// Two names of one thing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OtherName {
    /// The Chinese name, or the longer one.
    pub term: String,
    /// The other one.
    pub other: String,
    /// Definitions that say so, in either direction.
    pub count: u32,
    /// The first of them.
    pub sentence: String,
}

/// Pairs of names as they are read.
#[derive(Debug, Default)]
pub(super) struct Glosses {
    pairs: FxHashMap<(Vec<String>, String), (u32, String)>,
}

impl Glosses {
    /// Reads the definitions of a sentence.
    pub(super) fn read(&mut self, sentence: &Sentence<'_>) {
        for end in 1..=sentence.pieces.len() {
            let Some(start) = sentence.gloss_behind(end) else {
                continue;
            };
            let names = names_before(sentence, end);
            for other in names_within(sentence, start) {
                let names: Vec<String> = names
                    .iter()
                    .filter(|name| may_be_the_same(name, &other))
                    .cloned()
                    .collect();
                self.add(names, other, &sentence.context);
            }
        }
    }

    fn add(&mut self, names: Vec<String>, other: String, context: &str) {
        let key = (names, other);
        if key.0.is_empty() {
            return;
        }
        if let Some((count, _)) = self.pairs.get_mut(&key) {
            *count += 1;
        } else if self.pairs.len() < MAXIMUM_PAIRS {
            self.pairs.insert(key, (1, context.to_owned()));
        }
    }

    /// The pairs, each once whichever name came first, by count and then by name.
    pub(super) fn finish(self, candidates: &[Candidate]) -> Vec<OtherName> {
        let scores: FxHashMap<String, f64> = candidates
            .iter()
            .map(|candidate| (term_key(&candidate.term), candidate.score))
            .collect();
        let mut pairs: Vec<_> = self.pairs.into_iter().collect();
        pairs.sort_by(|one, other| {
            let by_count = other.1.0.cmp(&one.1.0);
            by_count.then_with(|| one.cmp(other))
        });
        let mut joined: BTreeMap<(String, String), OtherName> = BTreeMap::new();
        for ((names, other), (count, sentence)) in pairs {
            let Some(term) = chosen(names, &scores) else {
                continue;
            };
            let (term, other) = oriented(term, other);
            let mut key = (term_key(&term), term_key(&other));
            if key.0 > key.1 {
                key = (key.1, key.0);
            }
            let one = joined.entry(key).or_insert(OtherName {
                term,
                other,
                count: 0,
                sentence,
            });
            one.count += count;
        }
        let mut names: Vec<OtherName> = joined.into_values().collect();
        names.sort_by(|one, other| {
            let by_count = other.count.cmp(&one.count);
            by_count.then_with(|| one.term.cmp(&other.term))
        });
        names
    }
}

/// What may be the name that ends before `end`: exactly one where a mark begins it.
fn names_before(sentence: &Sentence<'_>, end: usize) -> Vec<String> {
    let mut names = Vec::new();
    for start in (end.saturating_sub(MAXIMUM_WORDS)..end).rev() {
        let words = sentence.pieces.get(start..end).unwrap_or_default();
        let Some(Piece::Word { .. }) = words.first() else {
            break;
        };
        let name = sentence.written(start, end);
        let mark = sentence.mark_before(start);
        let fits = fits(words);
        let is_emphasised =
            mark == Some(Mark::Opening) && sentence.mark_behind(end) == Some(Mark::Closing);
        let is_exact = is_emphasised || (mark.is_some() && fits);
        if is_exact && is_name(name) {
            return vec![name.to_owned()];
        }
        if fits && is_name(name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// The names within parentheses, which begin at `start`: what stands between marks up to `)`.
fn names_within(sentence: &Sentence<'_>, start: usize) -> Vec<String> {
    let mut names = Vec::new();
    let mut begin = start;
    for at in start..=sentence.pieces.len() {
        match sentence.pieces.get(at) {
            Some(Piece::Word { text, .. }) if at == begin && INTRODUCTIONS.contains(text) => {
                begin = at + 1;
            }
            Some(Piece::Word { .. }) => {}
            mark => {
                let name = sentence.written(begin, at);
                if at > begin && is_whole_name(sentence, begin, at) && is_name(name) {
                    names.push(name.to_owned());
                }
                begin = at + 1;
                let closes = matches!(mark, None | Some(Piece::Mark(Mark::Close)));
                if closes || names.len() == 3 {
                    break;
                }
            }
        }
    }
    names
}

/// Whether a part within parentheses is a name and no remark.
fn is_whole_name(sentence: &Sentence<'_>, start: usize, end: usize) -> bool {
    let words = sentence.pieces.get(start..end).unwrap_or_default();
    let is_latin = |piece: &Piece<'_>| match piece {
        Piece::Word { text, tag } => *tag != Tag::Number && !text.chars().any(is_han),
        Piece::Mark(_) => false,
    };
    words.len() <= MAXIMUM_WORDS && (words.iter().all(is_latin) || fits(words))
}

fn is_name(text: &str) -> bool {
    let han = text.chars().filter(|character| is_han(*character)).count();
    han <= MAXIMUM_HAN
        && text.chars().filter(|one| one.is_alphanumeric()).count() > 1
        && !text.contains(['.', '_'])
}

/// Two names that may mean the same: one of each script, or a long form with its initials.
fn may_be_the_same(name: &str, other: &str) -> bool {
    let is_chinese = |text: &str| text.chars().any(is_han);
    match (is_chinese(name), is_chinese(other)) {
        (true, true) => false,
        (false, false) => are_initials(name, other) || are_initials(other, name),
        _ => true,
    }
}

/// Whether `short` is made of the initials of `long`, in order; small words may be left out, and a
/// word may give more than its first letter where it has capitals (`ProtoBuffer`).
pub(super) fn are_initials(short: &str, long: &str) -> bool {
    let is_short = short.chars().all(char::is_alphanumeric) && short.chars().count() <= 10;
    let capitals = short.chars().filter(|one| one.is_uppercase()).count();
    if !is_short || capitals < 2 || term_key(short) == term_key(long) {
        return false;
    }
    let wanted: Vec<char> = short.trim_end_matches('s').to_lowercase().chars().collect();
    let words = long.split([' ', '-']).filter(|word| !word.is_empty());
    let mut initials: Vec<(char, bool)> = Vec::new();
    for word in words {
        let is_small = word.chars().all(char::is_lowercase) && word.chars().count() <= 3;
        let mut inner = word.chars().enumerate();
        let taken = inner
            .by_ref()
            .filter(|(at, letter)| *at == 0 || letter.is_uppercase());
        let letters: Vec<char> = taken.map(|(_, letter)| letter).collect();
        initials.extend(
            letters
                .into_iter()
                .flat_map(char::to_lowercase)
                .map(|one| (one, is_small)),
        );
    }
    let mut rest = wanted.iter().peekable();
    for (letter, may_be_left_out) in initials {
        match rest.peek() {
            Some(wanted) if **wanted == letter => {
                rest.next();
            }
            _ if may_be_left_out => {}
            _ => return false,
        }
    }
    rest.peek().is_none()
}

/// The Chinese name first, or the longer of two Latin ones.
fn oriented(term: String, other: String) -> (String, String) {
    let is_chinese = |text: &str| text.chars().any(is_han);
    let turn = match (is_chinese(&term), is_chinese(&other)) {
        (false, true) => true,
        (true, _) => false,
        (false, false) => other.len() > term.len(),
    };
    if turn { (other, term) } else { (term, other) }
}

fn chosen(names: Vec<String>, scores: &FxHashMap<String, f64>) -> Option<String> {
    if names.len() == 1 {
        return names.into_iter().next();
    }
    let score = |name: &String| scores.get(&term_key(name)).copied().unwrap_or(0.0);
    let best = names
        .into_iter()
        .max_by(|one, other| score(one).total_cmp(&score(other)))?;
    (score(&best) >= LEAST_SCORE).then_some(best)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discovery::Discovery;

    fn read(text: &str) -> Vec<(String, String, u32)> {
        let mut discovery = Discovery::default();
        for line in text.lines() {
            discovery.begin_document();
            discovery.add_passage(line);
        }
        let found = discovery.finish(1);
        found
            .other_names
            .into_iter()
            .map(|one| (one.term, one.other, one.count))
            .collect()
    }

    #[test]
    fn definitions_in_parentheses_give_other_names_in_both_directions() {
        let text = "**载波聚合** (CA) 提高速率。\nCA（载波聚合）的配置。\nCarrier Aggregation (CA) is used.\n";
        let found = read(text);
        let own = |name: &str, other: &str, count| (name.to_owned(), other.to_owned(), count);
        assert_eq!(
            found,
            [
                own("载波聚合", "CA", 2),
                own("Carrier Aggregation", "CA", 1)
            ]
        );
    }

    #[test]
    fn remarks_are_no_names() {
        assert!(
            read("它很快（见图 3）。\n它 (2024) 发布。\nThe kernel (see below) runs.\n").is_empty()
        );
    }

    #[test]
    fn initials_are_checked() {
        let table = [
            ("CA", "Carrier Aggregation", true),
            ("RAII", "Resource Acquisition Is Initialization", true),
            ("TDM", "Time-Division Multiplexing", true),
            ("QoS", "Quality of Service", true),
            ("CPU", "Carrier Aggregation", false),
            ("ME", "MindExpression", true),
            ("Ca", "Carrier Aggregation", false),
        ];
        for (short, long, expected) in table {
            assert_eq!(are_initials(short, long), expected, "{short} {long}");
        }
    }
}
