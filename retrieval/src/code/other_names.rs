//! What else a word of an English question is called in code: who asks where pages are counted means
//! `nr`. The names that a glossary has for one term are names of one thing, whatever language the
//! term is in, so they stand for each other where they often stand together.

use std::collections::{BTreeMap, BTreeSet};

use tributary_schemas::Result;
use tributary_taxonomy::{Analyzer, AnalyzerConfig, Lexicon, Synonyms};

/// Least Dice coefficient of two names: twice the terms that have both, divided by the terms of each
/// added up. Below it lies what is near and not the same, as `free` beside `put`.
const LEAST_IN_COMMON: f64 = 0.3;
/// Names of one word, the closest ones.
const MAXIMUM_NAMES: usize = 4;

/// Names for names.
pub(super) struct OtherNames {
    /// Words and names are the same where their stems are.
    analyzer: Analyzer,
    /// By the tokens of a word, the closest first.
    by_word: BTreeMap<Vec<String>, Vec<String>>,
}

/// A name by its tokens and, of those with the same ones, as the glossary has it first.
type Names<'a> = BTreeMap<Vec<String>, &'a str>;

impl OtherNames {
    /// Those that the terms of a glossary have; no names of several words.
    pub fn of(synonyms: &Synonyms) -> Result<Self> {
        let config = AnalyzerConfig {
            guess_words: false,
            sub_words: false,
            term_words: false,
            english_stems: true,
        };
        let analyzer = Analyzer::new(&config, Lexicon::default())?;
        let terms: Vec<Names<'_>> = synonyms
            .groups()
            .map(|group| single_words(group, &analyzer))
            .collect();
        let mut of_name: BTreeMap<&Vec<String>, Vec<&Names<'_>>> = BTreeMap::new();
        for names in &terms {
            for name in names.keys() {
                of_name.entry(name).or_default().push(names);
            }
        }
        let closest = of_name
            .iter()
            .map(|(name, terms)| ((*name).clone(), closest(name, terms, &of_name)));
        let by_word = closest.filter(|(_, others)| !others.is_empty()).collect();
        Ok(Self { analyzer, by_word })
    }

    /// The other names of a word; none where it has none, or is more than one word.
    pub fn of_word(&self, word: &str) -> &[String] {
        let tokens = self.analyzer.analyze(word);
        self.by_word.get(&tokens).map_or(&[], Vec::as_slice)
    }
}

fn single_words<'a>(group: &'a [String], analyzer: &Analyzer) -> Names<'a> {
    let mut names = Names::new();
    for name in group {
        if name.is_ascii() && !name.contains(' ') {
            names.entry(analyzer.analyze(name)).or_insert(name.as_str());
        }
    }
    names
}

/// The names that a name's terms have besides, if they have enough in common.
fn closest(
    name: &Vec<String>,
    terms: &[&Names<'_>],
    of_name: &BTreeMap<&Vec<String>, Vec<&Names<'_>>>,
) -> Vec<String> {
    let others: BTreeSet<(&Vec<String>, &str)> = terms
        .iter()
        .flat_map(|names| names.iter().map(|(other, written)| (other, *written)))
        .filter(|(other, _)| *other != name)
        .collect();
    let mut scored: BTreeMap<&Vec<String>, (f64, &str)> = BTreeMap::new();
    for (other, written) in others {
        let both = terms.iter().filter(|names| names.contains_key(other));
        let all = terms.len() + of_name.get(other).map_or(0, Vec::len);
        let in_common = 2.0 * both.count() as f64 / all as f64;
        if in_common >= LEAST_IN_COMMON {
            scored.entry(other).or_insert((in_common, written));
        }
    }
    let mut scored: Vec<(f64, &str)> = scored.into_values().collect();
    // Equal ones stay in the order of their tokens.
    scored.sort_by(|(left, _), (right, _)| right.total_cmp(left));
    let closest = scored.into_iter().take(MAXIMUM_NAMES);
    closest.map(|(_, written)| written.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn other_names(groups: &[&[&str]]) -> OtherNames {
        let mut synonyms = Synonyms::default();
        for group in groups {
            synonyms.add(group.iter().map(|name| (*name).to_owned()));
        }
        OtherNames::of(&synonyms).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn names_of_one_term_stand_for_each_other_whatever_their_ending() {
        let names = other_names(&[
            &["分配", "allocate", "alloc_page"],
            &["删除", "delete", "remove", "del"],
            &["移除", "remove", "delete"],
            &["唤醒", "wake up", "wakeup"],
        ]);
        assert_eq!(names.of_word("allocated"), ["alloc_page"]);
        assert_eq!(names.of_word("Deleting"), ["remove", "del"]);
        assert_eq!(names.of_word("del"), ["delete", "remove"]);
        // Of several words, or no name of anything.
        for word in ["wakeup", "wake up", "分配", "kernel", ""] {
            assert!(names.of_word(word).is_empty(), "{word}");
        }
    }

    #[test]
    fn what_is_seldom_the_same_is_left_out() {
        let mut groups: Vec<Vec<String>> = (0..9)
            .map(|number| {
                vec![
                    format!("词{number}"),
                    "add".into(),
                    format!("name{number}x"),
                ]
            })
            .collect();
        groups.push(vec!["插入".into(), "insert".into(), "add".into()]);
        let groups: Vec<Vec<&str>> = groups
            .iter()
            .map(|group| group.iter().map(String::as_str).collect())
            .collect();
        let groups: Vec<&[&str]> = groups.iter().map(Vec::as_slice).collect();
        assert!(other_names(&groups).of_word("insert").is_empty());
        assert!(other_names(&groups).of_word("add").is_empty());
    }

    #[test]
    fn no_word_has_more_names_than_are_looked_up() {
        let names: Vec<String> = (0..30).map(|number| format!("name{number}")).collect();
        let group: Vec<&str> = names.iter().map(String::as_str).collect();
        assert_eq!(other_names(&[&group]).of_word("name3").len(), MAXIMUM_NAMES);
    }
}
