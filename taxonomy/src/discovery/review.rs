//! Which candidates a reviewer is shown, in which order, and how far a review is. The terminal and
//! the page ask here, so that both show the same.

use super::{Candidate, Verdicts};

/// Who reviews.
#[derive(Clone, Copy, Debug)]
pub struct Reviewer<'a> {
    /// The name that verdicts are kept with.
    pub name: &'a str,
    /// Whether what models decided is settled for this one: it is for a model, and not for people.
    pub heeds_models: bool,
    /// Whether to show what others decided, too.
    pub sees_decided: bool,
}

impl Reviewer<'_> {
    /// Whether a candidate waits for this reviewer's verdict.
    pub fn is_asked(&self, candidate: &Candidate, verdicts: &Verdicts) -> bool {
        let standing = verdicts.standing(&candidate.term);
        let counts = self.heeds_models || standing.is_of_people();
        let by_others = counts && standing.is_term().is_some();
        let by_me = verdicts.of(self.name, &candidate.term).is_some();
        !candidate.is_known && !by_me && (self.sees_decided || !by_others)
    }
}

/// Puts candidates whose score is nearest to even odds first: a verdict on them teaches most.
pub fn borderline_first(candidates: &mut [&Candidate]) {
    let doubt = |candidate: &Candidate| (candidate.score - 0.5).abs();
    candidates.sort_by(|one, other| doubt(one).total_cmp(&doubt(other)));
}

/// How far a review is. Candidates that the lexicon has already are not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Candidates.
    pub candidates: usize,
    /// Those that nobody decided, or on which reviewers are even.
    pub open: usize,
    /// Those that count as terms.
    pub accepted: usize,
    /// Those that count as none.
    pub rejected: usize,
    /// Those on which reviewers disagree, decided or not.
    pub disputed: usize,
}

impl Progress {
    /// Of these candidates and verdicts.
    pub fn of(candidates: &[Candidate], verdicts: &Verdicts) -> Self {
        let mut progress = Self::default();
        for candidate in candidates.iter().filter(|candidate| !candidate.is_known) {
            let standing = verdicts.standing(&candidate.term);
            progress.candidates += 1;
            progress.disputed += usize::from(standing.is_disputed());
            match standing.is_term() {
                None => progress.open += 1,
                Some(true) => progress.accepted += 1,
                Some(false) => progress.rejected += 1,
            }
        }
        progress
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discovery::{Decision, Features, Standing, Verdict};

    fn candidate(term: &str, score: f64) -> Candidate {
        Candidate {
            term: term.to_owned(),
            score,
            count: 2,
            documents: 1,
            is_known: false,
            standing: Standing::default(),
            contexts: Vec::new(),
            features: Features::default(),
        }
    }

    fn said(verdicts: &mut Verdicts, reviewer: &str, term: &str, decision: Decision) {
        verdicts.add(&Verdict {
            term: term.to_owned(),
            decision,
            reviewer: reviewer.to_owned(),
            at_ms: 0,
        });
    }

    #[test]
    fn each_reviewer_is_asked_what_is_open_and_models_do_not_close_it_for_people() {
        let candidates =
            ["undecided", "mine", "ours", "disputed", "models"].map(|term| candidate(term, 0.5));
        let mut verdicts = Verdicts::default();
        said(&mut verdicts, "ann", "mine", Decision::Yes);
        said(&mut verdicts, "bob", "ours", Decision::No);
        said(&mut verdicts, "bob", "disputed", Decision::No);
        said(&mut verdicts, "eve", "disputed", Decision::Yes);
        said(&mut verdicts, "model:m", "models", Decision::No);
        let asked = |name: &str, sees_decided: bool| -> Vec<&str> {
            let reviewer = Reviewer {
                name,
                heeds_models: name.starts_with("model:"),
                sees_decided,
            };
            let waiting = candidates
                .iter()
                .filter(|one| reviewer.is_asked(one, &verdicts));
            waiting.map(|one| one.term.as_str()).collect()
        };
        assert_eq!(asked("ann", false), ["undecided", "disputed", "models"]);
        assert_eq!(asked("bob", false), ["undecided", "models"]);
        assert_eq!(
            asked("ann", true),
            ["undecided", "ours", "disputed", "models"]
        );
        assert_eq!(asked("model:n", false), ["undecided", "disputed"]);
        let expected = Progress {
            candidates: 5,
            open: 2,
            accepted: 1,
            rejected: 2,
            disputed: 1,
        };
        assert_eq!(Progress::of(&candidates, &verdicts), expected);
    }

    #[test]
    fn even_odds_come_first() {
        let all = [0.9, 0.52, 0.1, 0.4].map(|score| candidate("x", score));
        let mut shown: Vec<&Candidate> = all.iter().collect();
        borderline_first(&mut shown);
        let scores: Vec<f64> = shown.iter().map(|one| one.score).collect();
        assert_eq!(scores, [0.52, 0.4, 0.9, 0.1]);
    }
}
