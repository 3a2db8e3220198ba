//! What things are called in source code that a question names otherwise: code whose names and comments
//! are English shares no words with a Chinese question, and an English one has `count` where the
//! code has `nr`.

use std::collections::HashSet;
use std::path::PathBuf;

use tributary_schemas::code_search::GlossaryTerm;
use tributary_schemas::{Error, Result};
use tributary_taxonomy::{Lexicon, Synonyms, fold};

use crate::config::CodeConfig;
use crate::exact_name;
use crate::function_words::is_function_word;

use super::other_names::OtherNames;

/// Terms of one question that are looked up; a long text would be all names.
const MAXIMUM_TERMS: usize = 16;
/// From so many terms on, their names say more than the question does: words that the code cannot
/// have only pull its vector away (docs/code-search.md has the figures).
const ENOUGH_TERMS: usize = 2;

/// Terms with their names in the code, in the form of a lexicon's synonyms.
pub(crate) struct Glossary {
    synonyms: Synonyms,
    /// For questions in the language of the names.
    other_names: OtherNames,
    /// What is translated, folded: the first of each line. A name is never turned into its term.
    terms: HashSet<String>,
}

/// A question as it is asked in the code's words.
pub(super) struct Asked {
    /// Terms that were looked up.
    pub terms: Vec<GlossaryTerm>,
    /// Without such terms, the words that have other names in the code.
    pub words: Vec<GlossaryTerm>,
    /// The question with their names behind it: what of it the code has or lacks is told from this.
    pub whole: String,
    /// What is searched for: the names and what of the question is in their script, where most of
    /// it was found; else the whole.
    pub searched: String,
}

impl Asked {
    /// What the glossary has names for.
    pub fn looked_up(self) -> Vec<GlossaryTerm> {
        match self.terms.is_empty() {
            true => self.words,
            false => self.terms,
        }
    }
}

impl CodeConfig {
    /// Reads the files that it names, as a start does.
    pub fn check_files(&self) -> Result<()> {
        Glossary::read(&self.glossary_files).map(drop)
    }
}

impl Glossary {
    /// Reads files of terms. `Invalid` with file and line if one cannot be read.
    pub fn read(files: &[PathBuf]) -> Result<Self> {
        let named = |error: Error| {
            let message = format!("query_api.retrieval.code.glossary_files: {error}");
            Error::new(error.kind(), message).with_hint("it names files in the place of the profile's; relative ones lie beside the file that says so")
        };
        let lexicon = Lexicon::from_files(files).map_err(named)?;
        Self::of(lexicon.synonyms().clone())
    }

    fn of(synonyms: Synonyms) -> Result<Self> {
        let terms = synonyms.groups().filter_map(|group| group.first());
        Ok(Self {
            terms: terms.map(|term| fold(term).into_owned()).collect(),
            other_names: OtherNames::of(&synonyms)?,
            synonyms,
        })
    }

    /// The question in the code's words.
    pub(super) fn asked(&self, question: &str) -> Asked {
        let terms = self.found(question);
        let mut names: Vec<&str> = Vec::new();
        for name in terms.iter().flat_map(|term| &term.names) {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        let names = names.join(" ");
        let whole = format!("{question} {names}").trim_end().to_owned();
        let searched = match terms.len() >= ENOUGH_TERMS {
            true => format!("{} {names}", in_ascii(question)).trim().to_owned(),
            false => whole.clone(),
        };
        let words = match terms.is_empty() {
            true => self.renamed(question),
            false => Vec::new(),
        };
        Asked {
            terms,
            words,
            whole,
            searched,
        }
    }

    /// The words that have other names in the code, in the question's order, each once.
    fn renamed(&self, question: &str) -> Vec<GlossaryTerm> {
        let mut renamed: Vec<GlossaryTerm> = Vec::new();
        for word in exact_name::words(question).filter(|word| !is_function_word(word)) {
            let names = self.other_names.of_word(word);
            let is_new = !renamed.iter().any(|known| known.term == word);
            if renamed.len() < MAXIMUM_TERMS && is_new && !names.is_empty() {
                renamed.push(GlossaryTerm {
                    term: word.to_owned(),
                    names: names.to_vec(),
                });
            }
        }
        renamed
    }

    /// The terms that have names in the code, in the question's order, each once.
    fn found(&self, question: &str) -> Vec<GlossaryTerm> {
        let mut found: Vec<GlossaryTerm> = Vec::new();
        for mention in self.synonyms.mentions(question) {
            let term = question.get(mention.range).unwrap_or_default();
            let is_new = !found.iter().any(|known| known.term == term);
            if found.len() < MAXIMUM_TERMS && is_new && self.terms.contains(fold(term).as_ref()) {
                let names = mention.others.into_iter();
                let names = names.filter(|name| !self.terms.contains(fold(name).as_ref()));
                found.push(GlossaryTerm {
                    term: term.to_owned(),
                    names: names.map(str::to_owned).collect(),
                });
            }
        }
        found
    }
}

/// The words of a question that are written in ASCII, as identifiers are.
pub(super) fn in_ascii(question: &str) -> String {
    let words = question.split(|character: char| !character.is_ascii());
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn glossary() -> Glossary {
        let mut synonyms = Synonyms::default();
        for group in [
            vec!["回收", "reclaim", "shrink"],
            vec!["内存回收", "reclaim", "vmscan"],
            vec!["唤醒", "wake up"],
        ] {
            synonyms.add(group.into_iter().map(str::to_owned));
        }
        of(synonyms)
    }

    fn of(synonyms: Synonyms) -> Glossary {
        Glossary::of(synonyms).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn a_question_is_asked_by_the_names_of_its_longest_terms() {
        let cases = [
            (
                "谁唤醒内存回收",
                "谁唤醒内存回收 wake up reclaim vmscan",
                "wake up reclaim vmscan",
            ),
            (
                "kswapd 回收之后再唤醒，回收",
                "kswapd 回收之后再唤醒，回收 reclaim shrink wake up",
                "kswapd reclaim shrink wake up",
            ),
            (
                "内存回收怎么做",
                "内存回收怎么做 reclaim vmscan",
                "内存回收怎么做 reclaim vmscan",
            ),
            ("who wakes it up", "who wakes it up", "who wakes it up"),
            (
                "reclaim and wake up",
                "reclaim and wake up",
                "reclaim and wake up",
            ),
        ];
        for (question, whole, searched) in cases {
            let asked = glossary().asked(question);
            let words: Vec<&str> = asked.searched.split_whitespace().collect();
            assert_eq!(asked.whole, whole);
            assert_eq!(words.join(" "), searched);
        }
    }

    #[test]
    fn a_question_in_the_codes_language_has_words_with_other_names() {
        let asked = glossary().asked("Where does shrinking memory reclaim it?");
        let words: Vec<(&str, &[String])> = asked
            .words
            .iter()
            .map(|word| (word.term.as_str(), word.names.as_slice()))
            .collect();
        let expected: [(&str, &[String]); 2] = [
            ("shrinking", &["reclaim".to_owned()]),
            ("reclaim", &["shrink".to_owned(), "vmscan".to_owned()]),
        ];
        assert_eq!(words, expected);
        assert!(asked.terms.is_empty() && asked.searched == asked.whole);
        assert!(glossary().asked("谁唤醒 reclaim").words.is_empty());
    }

    #[test]
    fn a_text_that_is_all_terms_is_bounded() {
        let mut synonyms = Synonyms::default();
        for number in 0..40 {
            synonyms.add([format!("词{number}号"), format!("name{number}")]);
        }
        let question: String = (0..40).map(|number| format!("词{number}号")).collect();
        assert_eq!(of(synonyms).asked(&question).terms.len(), MAXIMUM_TERMS);
    }
}
