//! Finds the terms of a domain in its own documents: new words, phrases, names and abbreviations
//! that a lexicon should hold (after AutoPhrase, Shang et al. 2018, with a person in the loop).
//!
//! [`Discovery`] reads passages of Markdown and counts; [`Found`] has the candidates with their
//! features; [`rank`] scores them by a small classifier that starts from general knowledge and
//! learns from [`Verdicts`]. Names in parentheses (`载波聚合 (CA)`) become [`OtherName`]s. [`review`]
//! says who is asked what, [`files`] is where candidates and verdicts are kept: `tributary lexicon`
//! and the server share both.

mod candidates;
mod classifier;
mod counts;
mod features;
pub mod files;
mod glosses;
mod pieces;
pub mod review;
mod scan;
mod sentences;
mod verdicts;

pub use candidates::{Candidate, Knowledge, Ranking, rank};
pub use features::{FEATURES, Features};
pub use glosses::OtherName;
pub use verdicts::{Decision, MODEL, Standing, Verdict, Verdicts};

use std::borrow::Cow;
use std::hash::BuildHasher;

use rustc_hash::{FxBuildHasher, FxHashSet};

use counts::Counts;
use glosses::Glosses;

use crate::fold::simplify;

/// Reads a corpus, document after document. The same documents in the same order give the same.
#[derive(Default)]
pub struct Discovery {
    counts: Counts,
    glosses: Glosses,
    documents: u32,
    passages: u64,
    /// Sentences of the document so far, hashed: passages overlap, and what repeats in a document
    /// is counted once.
    seen: FxHashSet<u64>,
}

/// What a corpus holds.
#[derive(Debug)]
pub struct Found {
    /// By the highest count first, then by term; scores are those of a classifier that knows
    /// nothing of the domain.
    pub candidates: Vec<Candidate>,
    /// Names that definitions in parentheses give, the most frequent first.
    pub other_names: Vec<OtherName>,
    /// Documents read.
    pub documents: u32,
    /// Passages read.
    pub passages: u64,
    /// Words read.
    pub words: u64,
}

impl Discovery {
    /// Begins another document.
    pub fn begin_document(&mut self) {
        self.documents += 1;
        self.seen.clear();
    }

    /// Counts a passage of the document.
    pub fn add_passage(&mut self, markdown: &str) {
        self.passages += 1;
        for sentence in sentences::sentences(markdown) {
            if !self.seen.insert(FxBuildHasher.hash_one(&sentence.text)) {
                continue;
            }
            let text: Cow<'_, str> = simplify(&sentence.text);
            let scanned = scan::Sentence::new(&text, sentence.is_heading, self.documents);
            scanned.count(&mut self.counts);
            self.glosses.read(&scanned);
        }
    }

    /// The candidates that occur at least so often, or that a definition names.
    pub fn finish(self, minimum_count: u32) -> Found {
        let mut candidates = candidates::collect(&self.counts, minimum_count);
        candidates::score_unlearned(&mut candidates);
        let other_names = self.glosses.finish(&candidates);
        Found {
            candidates,
            other_names,
            documents: self.documents,
            passages: self.passages,
            words: self.counts.total,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::Lexicon;

    /// Documents on memory, with a term that is in no dictionary and general words around it.
    fn discovered() -> Found {
        let mut discovery = Discovery::default();
        for (page, verb) in ["读取", "修改", "检查", "释放"].into_iter().enumerate() {
            discovery.begin_document();
            discovery.add_passage(&format!(
                "## 地址转换\n\n硬件完成地址转换以后，内核{verb}**物理页号** (PPN)。每次地址转换都要{verb}页表。\n\n\
                 ```rust\nlet 地址转换 = 不是文字;\n```\n第 {page} 个 `TaskContext` 保存在内核栈上，TaskContext 不变。"
            ));
            discovery.add_passage(&format!("每次地址转换都要{verb}页表。"));
        }
        discovery.finish(2)
    }

    fn candidate<'a>(found: &'a Found, term: &str) -> &'a Candidate {
        let mut candidates = found.candidates.iter();
        candidates
            .find(|candidate| candidate.term == term)
            .unwrap_or_else(|| panic!("no `{term}`"))
    }

    #[test]
    fn terms_are_counted_once_a_sentence_and_across_no_mark() {
        let found = discovered();
        assert_eq!((found.documents, found.passages), (4, 8));
        let term = candidate(&found, "地址转换");
        assert_eq!((term.count, term.documents), (12, 4));
        assert_eq!(candidate(&found, "物理页号").documents, 4);
        assert_eq!(candidate(&found, "TaskContext").count, 8);
        assert!(
            term.contexts
                .iter()
                .all(|context| context.contains("地址转换"))
        );
        let is_across = |candidate: &Candidate| candidate.term.contains("页号PPN");
        assert!(!found.candidates.iter().any(is_across));
    }

    #[test]
    fn what_texts_define_scores_over_general_words() {
        let found = discovered();
        let score = |term: &str| candidate(&found, term).score;
        assert!(score("物理页号") > 0.5, "{}", score("物理页号"));
        assert!(score("地址转换") > score("保存"));
        assert!(
            found
                .candidates
                .iter()
                .all(|one| (0.0..=1.0).contains(&one.score))
        );
    }

    #[test]
    fn a_verdict_puts_a_candidate_first_or_last_and_teaches() {
        let mut found = discovered();
        let before = candidate(&found, "TaskContext").score;
        let mut verdicts = Verdicts::default();
        for (term, decision) in [("TaskContext", Decision::No), ("保存", Decision::Yes)] {
            verdicts.add(&Verdict {
                term: term.to_owned(),
                decision,
                reviewer: "ann".to_owned(),
                at_ms: 0,
            });
        }
        let lexicon = Lexicon::from_text("t", "地址转换").unwrap();
        let ranking = rank(
            &mut found.candidates,
            &Knowledge {
                lexicon: &lexicon,
                verdicts: &verdicts,
            },
        );
        assert_eq!(
            (ranking.accepted, ranking.rejected, ranking.known),
            (1, 1, 1)
        );
        let terms: Vec<&str> = found
            .candidates
            .iter()
            .map(|one| one.term.as_str())
            .collect();
        assert_eq!(
            (terms.first(), terms.last()),
            (Some(&"保存"), Some(&"TaskContext"))
        );
        assert!(candidate(&found, "TaskContext").score < before);
        assert!(candidate(&found, "地址转换").is_known);
    }

    #[test]
    fn the_same_documents_give_the_same() {
        let shown = |found: Found| format!("{:?}", found.candidates);
        assert_eq!(shown(discovered()), shown(discovered()));
    }
}
