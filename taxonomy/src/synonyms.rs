//! Names of one thing: an abbreviation, its long form, the same in the other language. A question
//! is asked once more with the other name ([`Synonyms::mentions`]); text is never cut by them.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use crate::fold::fold;
use crate::lexicon::{is_spaced, term_key};

/// Longest text that is searched for names, in characters: a question, not a document.
const MAXIMUM_CHARACTERS: usize = 2000;
/// An abbreviation of at most so many capitals may be a word in small letters (`IS`, `AM`).
const SHORT_ABBREVIATION: usize = 4;

/// Groups of names. A name may stand in several groups (`DC`).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Synonyms {
    groups: Vec<Vec<String>>,
    by_key: BTreeMap<String, Vec<usize>>,
    beginnings: HashSet<char>,
    longest: usize,
}

/// A name in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention<'a> {
    /// Where it stands, in bytes.
    pub range: Range<usize>,
    /// The other names of the same thing, in the order of the lexicon.
    pub others: Vec<&'a str>,
}

/// A character as names are compared, and where it stands in the text.
struct Place {
    folded: char,
    range: Range<usize>,
}

impl Synonyms {
    /// Adds a group; a name that differs from another one only in width or case is left out.
    pub fn add(&mut self, names: impl IntoIterator<Item = String>) {
        let mut group: Vec<String> = Vec::new();
        let mut keys: Vec<String> = Vec::new();
        for name in names {
            let key = term_key(&name);
            if !key.is_empty() && !keys.contains(&key) {
                group.push(name);
                keys.push(key);
            }
        }
        // Only groups with the same first name can be the same.
        let of_first = keys.first().and_then(|key| self.by_key.get(key));
        let mut same = of_first
            .into_iter()
            .flatten()
            .filter_map(|at| self.groups.get(*at));
        if group.len() < 2 || same.any(|known| *known == group) {
            return;
        }
        for key in keys {
            self.longest = self.longest.max(key.chars().count());
            self.beginnings.extend(key.chars().next());
            self.by_key.entry(key).or_default().push(self.groups.len());
        }
        self.groups.push(group);
    }

    /// Adds all groups of another one.
    pub fn extend(&mut self, other: Self) {
        for group in other.groups {
            self.add(group);
        }
    }

    /// The groups, in the order in which they were added.
    pub fn groups(&self) -> impl Iterator<Item = &[String]> {
        self.groups.iter().map(Vec::as_slice)
    }

    /// Whether there is no group.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// All names in a text, from left to right, the longest at each place. A short abbreviation in
    /// small letters counts only in a text with Chinese characters.
    pub fn mentions(&self, text: &str) -> Vec<Mention<'_>> {
        let places = places(text);
        let in_chinese = text.chars().any(|character| !is_spaced(character, 'a'));
        let mut mentions = Vec::new();
        let mut at = 0;
        while at < places.len() {
            match self.longest_at(text, &places, at, in_chinese) {
                Some((length, mention)) => {
                    mentions.push(mention);
                    at += length;
                }
                None => at += 1,
            }
        }
        mentions
    }

    fn longest_at(
        &self,
        text: &str,
        places: &[Place],
        at: usize,
        in_chinese: bool,
    ) -> Option<(usize, Mention<'_>)> {
        let rest = places.get(at..)?;
        if !self.beginnings.contains(&rest.first()?.folded) || continues(places, at) {
            return None;
        }
        let longest = self.longest.min(rest.len());
        (1..=longest).rev().find_map(|length| {
            if continues(places, at + length) {
                return None;
            }
            let mention = self.mention(text, rest.get(..length)?, in_chinese)?;
            Some((length, mention))
        })
    }

    /// What is named at these places, if it has other names.
    fn mention(&self, text: &str, name: &[Place], in_chinese: bool) -> Option<Mention<'_>> {
        let key: String = name.iter().map(|place| place.folded).collect();
        let groups = self.by_key.get(&key)?;
        let range = name.first()?.range.start..name.last()?.range.end;
        let written = text.get(range.clone())?;
        let others = self.others(groups, &key, written, in_chinese);
        (!others.is_empty()).then_some(Mention { range, others })
    }

    fn others(&self, groups: &[usize], key: &str, written: &str, in_chinese: bool) -> Vec<&str> {
        let groups = groups.iter().filter_map(|group| self.groups.get(*group));
        let means = |group: &&Vec<String>| {
            let mut names = group.iter();
            let name = names.find(|name| term_key(name) == key);
            name.is_some_and(|name| in_chinese || !is_short(name) || is_upper(written))
        };
        let mut others: Vec<&str> = Vec::new();
        for name in groups.filter(means).flatten() {
            if term_key(name) != key && !others.contains(&name.as_str()) {
                others.push(name);
            }
        }
        others
    }
}

fn is_short(name: &str) -> bool {
    is_upper(name) && name.len() <= SHORT_ABBREVIATION
}

fn is_upper(name: &str) -> bool {
    name.chars()
        .all(|character| character.is_ascii() && !character.is_ascii_lowercase())
}

/// Whether a word goes on from before `at` to behind it: no name ends or begins there.
fn continues(places: &[Place], at: usize) -> bool {
    let folded = |at: usize| places.get(at).map(|place| place.folded);
    let (Some(before), Some(after)) = (at.checked_sub(1).and_then(folded), folded(at)) else {
        return false;
    };
    let is_word = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let is_inner_dot = |dot: char, beside: Option<char>| dot == '.' && beside.is_some_and(is_word);
    (is_word(before) && is_word(after))
        || (is_word(after) && is_inner_dot(before, at.checked_sub(2).and_then(folded)))
        || (is_word(before) && is_inner_dot(after, folded(at + 1)))
}

/// The text in the form of [`term_key`], with where each character comes from.
fn places(text: &str) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    let mut space: Option<Range<usize>> = None;
    for (start, character) in text.char_indices().take(MAXIMUM_CHARACTERS) {
        let range = start..start + character.len_utf8();
        if character.is_whitespace() {
            space = Some(range);
            continue;
        }
        for folded in fold(character.encode_utf8(&mut [0; 4])).chars() {
            let before = places.last().map(|place| place.folded);
            if let Some(range) = space.take()
                && before.is_some_and(|before| is_spaced(before, folded))
            {
                places.push(Place { folded: ' ', range });
            }
            let range = range.clone();
            places.push(Place { folded, range });
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name as written, and its other names.
    type Found = (&'static str, &'static [&'static str]);

    fn synonyms() -> Synonyms {
        let mut synonyms = Synonyms::default();
        for group in [
            vec!["载波聚合", "CA", "Carrier Aggregation"],
            vec!["双连接", "DC"],
            vec!["数据中心", "DC"],
            vec!["QoS 流", "QoS Flow"],
            vec!["信息系统", "IS"],
        ] {
            synonyms.add(group.into_iter().map(str::to_owned));
        }
        synonyms
    }

    #[test]
    fn names_are_found_however_they_are_written_and_never_inside_words() {
        let synonyms = synonyms();
        let table: [(&str, &[Found]); 9] = [
            (
                "CA怎么配置",
                &[("CA", &["载波聚合", "Carrier Aggregation"])],
            ),
            (
                "ca 怎么配置",
                &[("ca", &["载波聚合", "Carrier Aggregation"])],
            ),
            ("載波聚合?", &[("載波聚合", &["CA", "Carrier Aggregation"])]),
            (
                "what is carrier  aggregation",
                &[("carrier  aggregation", &["载波聚合", "CA"])],
            ),
            (
                "DC和qos流",
                &[("DC", &["双连接", "数据中心"]), ("qos流", &["QoS Flow"])],
            ),
            ("CAT, nn.CA and CA_x", &[]),
            ("what is it", &[]),
            ("is是什么", &[("is", &["信息系统"])]),
            ("the CA.", &[("CA", &["载波聚合", "Carrier Aggregation"])]),
        ];
        for (text, expected) in table {
            let found: Vec<(&str, Vec<&str>)> = synonyms
                .mentions(text)
                .into_iter()
                .map(|mention| (text.get(mention.range).unwrap_or_default(), mention.others))
                .collect();
            let expected: Vec<(&str, Vec<&str>)> = expected
                .iter()
                .map(|(name, others)| (*name, others.to_vec()))
                .collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn a_group_needs_two_names_and_is_there_once() {
        let mut synonyms = synonyms();
        let groups = synonyms.groups().count();
        synonyms.add(["CA".to_owned(), "ca".to_owned()]);
        synonyms.extend(self::synonyms());
        assert_eq!(synonyms.groups().count(), groups);
        assert!(Synonyms::default().is_empty() && Synonyms::default().mentions("CA").is_empty());
    }
}
