//! What things are called in source code that a question names in another language: code whose names
//! and comments are English shares no words with a Chinese question.

use std::path::PathBuf;

use tributary_schemas::Result;
use tributary_schemas::code_search::GlossaryTerm;
use tributary_taxonomy::{Lexicon, Synonyms};

/// Terms of one question that are looked up; a long text would be all names.
const MAXIMUM_TERMS: usize = 16;

/// Terms with their names in the code, in the form of a lexicon's synonyms.
#[derive(Debug, Default)]
pub(crate) struct Glossary(Synonyms);

impl Glossary {
    /// Reads files of terms. `Invalid` with file and line if one cannot be read.
    pub fn read(files: &[PathBuf]) -> Result<Self> {
        Ok(Self(Lexicon::from_files(files)?.synonyms().clone()))
    }

    /// The terms of the question that have names in the code, in its order, each once.
    pub fn terms(&self, question: &str) -> Vec<GlossaryTerm> {
        let mut terms: Vec<GlossaryTerm> = Vec::new();
        for mention in self.0.mentions(question) {
            let term = question.get(mention.range).unwrap_or_default();
            if terms.len() < MAXIMUM_TERMS && !terms.iter().any(|known| known.term == term) {
                terms.push(GlossaryTerm {
                    term: term.to_owned(),
                    names: mention.others.into_iter().map(str::to_owned).collect(),
                });
            }
        }
        terms
    }
}

/// The question with the names behind it, each once.
pub(super) fn with_names(question: &str, terms: &[GlossaryTerm]) -> String {
    let mut text = question.to_owned();
    let mut added: Vec<&str> = Vec::new();
    for name in terms.iter().flat_map(|term| &term.names) {
        if !added.contains(&name.as_str()) {
            added.push(name);
            text.push(' ');
            text.push_str(name);
        }
    }
    text
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
        Glossary(synonyms)
    }

    #[test]
    fn a_question_gets_the_names_of_its_longest_terms_once() {
        let cases = [
            ("谁唤醒内存回收", "谁唤醒内存回收 wake up reclaim vmscan"),
            (
                "回收之后再唤醒，回收",
                "回收之后再唤醒，回收 reclaim shrink wake up",
            ),
            ("回收与内存回收", "回收与内存回收 reclaim shrink vmscan"),
            ("who wakes it", "who wakes it"),
        ];
        for (question, expected) in cases {
            let terms = glossary().terms(question);
            assert_eq!(with_names(question, &terms), expected);
        }
    }

    #[test]
    fn a_text_that_is_all_terms_is_bounded() {
        let mut synonyms = Synonyms::default();
        for number in 0..40 {
            synonyms.add([format!("词{number}号"), format!("name{number}")]);
        }
        let question: String = (0..40).map(|number| format!("词{number}号")).collect();
        assert_eq!(Glossary(synonyms).terms(&question).len(), MAXIMUM_TERMS);
    }
}
