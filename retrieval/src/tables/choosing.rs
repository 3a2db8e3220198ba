//! Which tables a question is asked of. Three signals are added: the question's words in all that a
//! table says, its words in the table's headings, and how near the search found the document by
//! meaning. A word counts as much as it tells tables apart: ln((n + 1) / (d + ½)), d tables of n that
//! have it; each sum is a share of all the question's words, so that where few of them stand in any
//! table, meaning decides. A table of many words has some of them by chance and counts less.
//! `eval/workloads/tables/run.py … choice` measures it.

use std::collections::{BTreeSet, HashSet};

use super::words;

/// How much of what a table says counts the words of its headings again.
const HEADINGS_COUNT: f64 = 0.5;
/// How much nearness by meaning counts beside the words.
const MEANING_COUNTS: f64 = 0.5;
/// How strongly words count less in a table of many: its size against the mean, to this power.
const SIZE_COUNTS: f64 = 0.3;

/// A table as it is compared.
pub struct Candidate<'a> {
    /// Words of its name.
    pub name: HashSet<String>,
    /// Words of its headings.
    pub headings: &'a HashSet<String>,
    /// Words of its title, headings and cells.
    pub words: &'a HashSet<String>,
    /// How near the search found its document, 0 to 1; 0 where it did not.
    pub nearness: f64,
}

impl Candidate<'_> {
    fn says(&self, word: &str) -> bool {
        self.words.contains(word) || self.name.contains(word)
    }
}

/// Positions of the candidates, best first; those that are equal in the order given.
pub fn order(question: &str, candidates: &[Candidate<'_>]) -> Vec<usize> {
    // Sorted, so that sums do not differ in their last digit.
    let asked: BTreeSet<String> = words::words(question).into_iter().collect();
    let asked = || asked.iter().filter(|word| !words::is_common(word));
    let said = weights(asked(), candidates, |one, word| one.says(word));
    let in_headings = weights(asked(), candidates, |one, word| one.headings.contains(word));
    let all = said.iter().map(|(_, weight)| weight).sum::<f64>();
    let all = if all > 0.0 { all } else { 1.0 };
    let sizes: usize = candidates.iter().map(|one| one.words.len()).sum();
    let mean = sizes as f64 / candidates.len().max(1) as f64;
    let total = |one: &Candidate<'_>| {
        let size = f64::midpoint(1.0, one.words.len() as f64 / mean.max(1.0));
        let says = sum(&said, |word| one.says(word)) / size.powf(SIZE_COUNTS);
        let heads = sum(&in_headings, |word| one.headings.contains(word));
        (says + HEADINGS_COUNT * heads) / all + MEANING_COUNTS * one.nearness
    };
    let mut order: Vec<(usize, f64)> = candidates.iter().map(total).enumerate().collect();
    order.sort_by(|left, right| right.1.total_cmp(&left.1));
    order.into_iter().map(|(at, _)| at).collect()
}

/// How much each word tells the candidates apart.
fn weights<'w>(
    asked: impl Iterator<Item = &'w String>,
    candidates: &[Candidate<'_>],
    has: impl Fn(&Candidate<'_>, &str) -> bool,
) -> Vec<(&'w str, f64)> {
    let count = candidates.len() as f64;
    let weight = |word: &'w String| {
        let holders = candidates.iter().filter(|one| has(one, word)).count() as f64;
        (word.as_str(), ((count + 1.0) / (holders + 0.5)).ln())
    };
    asked.map(weight).collect()
}

fn sum(weights: &[(&str, f64)], has: impl Fn(&str) -> bool) -> f64 {
    let counted = weights.iter().filter(|(word, _)| has(word));
    counted.map(|(_, weight)| weight).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Order of tables by a question: headings, cells, nearness of each.
    fn order_of(question: &str, tables: &[(&str, &str, f64)]) -> Vec<usize> {
        let headings = |(headings, _, _): &(&str, &str, f64)| words::words(headings);
        let said = |(headings, cells, _): &(&str, &str, f64)| {
            let mut words = words::words(headings);
            words::add(cells, &mut words);
            words
        };
        let headings: Vec<HashSet<String>> = tables.iter().map(headings).collect();
        let said: Vec<HashSet<String>> = tables.iter().map(said).collect();
        let texts = headings.iter().zip(&said).zip(tables);
        let candidates: Vec<Candidate<'_>> = texts
            .map(|((headings, words), (_, _, nearness))| Candidate {
                name: HashSet::new(),
                headings,
                words,
                nearness: *nearness,
            })
            .collect();
        order(question, &candidates)
    }

    #[test]
    fn the_table_that_has_the_telling_words_comes_first() {
        let tables = [
            ("year team points rank", "", 1.0),
            ("year mountain height meters", "Everest", 0.2),
            ("year city population rank", "", 0.5),
        ];
        let question = "what is the height of the Everest in that year";
        assert_eq!(order_of(question, &tables)[0], 1);
        assert_eq!(order_of("which city has the highest rank?", &tables)[0], 2);
    }

    #[test]
    fn without_a_word_of_theirs_the_nearest_comes_first() {
        let tables = [
            ("year team", "", 0.2),
            ("year height", "", 1.0),
            ("year city", "", 0.0),
        ];
        assert_eq!(order_of("who won", &tables), [1, 0, 2]);
        assert_eq!(order_of("", &tables), [1, 0, 2]);
    }

    #[test]
    fn a_word_counts_more_in_headings_and_less_in_a_table_of_many_words() {
        let many: String = (0..400).map(|word| format!("word{word} ")).collect();
        let large = format!("coach {many}");
        let tables = [
            ("notes", "coach", 0.0),
            ("coach", "Smith", 0.0),
            ("notes", large.as_str(), 0.0),
        ];
        assert_eq!(order_of("who was the coach?", &tables), [1, 0, 2]);
    }

    #[test]
    fn nothing_to_choose_from_is_no_fault() {
        assert!(order_of("who won", &[]).is_empty());
    }
}
