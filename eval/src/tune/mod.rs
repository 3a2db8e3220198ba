//! Fits the weight of the vector side and the numbers of BM25 to the questions of a deployment: asks
//! them once ([`collect`]), fits each way to weigh and then the numbers ([`rule`], [`fit`]), and says
//! what each is worth on questions that it was not fitted on, with a confidence interval
//! ([`tributary_store::evaluations::statistics`]).

pub mod collect;
pub mod fit;
pub mod rule;

use std::collections::BTreeMap;

use anyhow::{Result, bail, ensure};
use serde::Serialize;

pub use collect::{Case, Collected, Curve, Found};
pub use rule::Rule;

use crate::metrics::mean;
pub use tributary_store::evaluations::statistics::Gain;
use tributary_store::evaluations::statistics::gain;
use tributary_store::search_index::Bm25;

/// Parts of the questions of each set: each is scored by what was fitted to the others.
pub const FOLDS: usize = 5;
/// Name of the way that searches take now.
pub const CONFIGURED: &str = "configured";
/// How a rule is made of questions.
type Fit = Box<dyn Fn(&[&Case]) -> Rule>;
/// Fewer questions say nothing.
const FEWEST_QUESTIONS: usize = 2 * FOLDS;

/// What was fitted, and what it is worth.
#[derive(Debug, Serialize)]
pub struct Tuning {
    /// Names of the sets.
    pub sets: Vec<SetFigures>,
    /// What each way is worth, the configured one first.
    pub ways: Vec<Way>,
    /// Name of the way with the highest held-out score of those that certainly gain over the
    /// configured one; `configured` where none does.
    pub best: String,
    /// What other numbers of BM25 are worth, weighed in the best way.
    pub bm25: Keywords,
    /// What could not be used.
    pub left_out: Vec<String>,
}

/// What the best numbers of BM25 are worth.
#[derive(Debug, Serialize)]
pub struct Keywords {
    /// Those that are configured.
    pub configured: Bm25,
    /// The best for all questions; the configured ones where no others are better.
    pub fitted: Bm25,
    /// Whether they certainly gain on questions that were held out.
    pub gains: bool,
    /// Mean nDCG@10 of all sets on questions that were held out.
    pub ndcg_10: f64,
    /// The same by set.
    pub by_set: Vec<f64>,
    /// What they gain over the configured ones.
    pub gain: Gain,
    /// The same by set.
    pub gain_by_set: Vec<Gain>,
}

/// What holds for a set whichever way is taken.
#[derive(Debug, Serialize)]
pub struct SetFigures {
    /// Its name.
    pub name: String,
    /// Questions.
    pub questions: usize,
    /// The weight that is best for all its questions, known afterwards.
    pub own_best_weight: f64,
    /// What that is worth: no single weight does better here.
    pub own_best_ndcg_10: f64,
}

/// One way to weigh.
#[derive(Debug, Serialize)]
pub struct Way {
    /// `configured`, `fixed`, `length` or `adaptive`.
    pub name: String,
    /// Fitted to all questions, or configured.
    #[serde(skip)]
    pub rule: Rule,
    /// Its numbers by their keys in the configuration.
    pub parameters: BTreeMap<&'static str, f64>,
    /// Mean nDCG@10 of all sets on questions that were held out.
    pub ndcg_10: f64,
    /// The same by set.
    pub by_set: Vec<f64>,
    /// What it gains over the configured one.
    pub gain: Gain,
    /// The same by set.
    pub gain_by_set: Vec<Gain>,
}

/// Fits everything to what was collected; `configured` is what searches use now.
pub fn tune(collected: &Collected, configured: Rule) -> Result<Tuning> {
    let cases = &collected.cases;
    ensure!(
        cases.len() >= FEWEST_QUESTIONS,
        "{} questions were asked; at least {FEWEST_QUESTIONS} are needed to fit and to check",
        cases.len()
    );
    let fits: [(&str, Fit); 4] = [
        (CONFIGURED, Box::new(move |_| configured)),
        ("fixed", Box::new(fit::fixed)),
        ("length", Box::new(fit::length)),
        ("adaptive", Box::new(fit::adaptive)),
    ];
    let base: Vec<f64> = cases.iter().map(|case| configured.score(case)).collect();
    let all: Vec<&Case> = cases.iter().collect();
    let ways: Vec<Way> = fits
        .iter()
        .map(|(name, fit)| {
            let scores = held_out(cases, |others| {
                let rule = fit(others);
                move |case| rule.score(case)
            });
            way(collected, name, (fit(&all), scores), &base)
        })
        .collect();
    let gains = |way: &&Way| way.name == CONFIGURED || way.gain.low > 0.0;
    let best = ways.iter().zip(&fits).filter(|(way, _)| gains(way));
    let best = best.max_by(|(left, _), (right, _)| left.ndcg_10.total_cmp(&right.ndcg_10));
    let Some((way, (name, fit))) = best else {
        bail!("no way to weigh was scored");
    };
    Ok(Tuning {
        sets: set_figures(collected),
        bm25: keywords(collected, &way.rule, fit),
        best: (*name).to_owned(),
        left_out: collected.left_out.clone(),
        ways,
    })
}

/// Fits the numbers of BM25 while a rule weighs, which is fitted anew to each part of the questions.
fn keywords(collected: &Collected, rule: &Rule, fit: &Fit) -> Keywords {
    let cases = &collected.cases;
    let all: Vec<&Case> = cases.iter().collect();
    let fitted = fit::bm25(&all, rule).and_then(|place| collected.tried.get(place));
    let fitted_scores = held_out(cases, |others| {
        let rule = fit(others);
        let place = fit::bm25(others, &rule);
        move |case| rule.score_of(case, case.with(place))
    });
    let before = held_out(cases, |others| {
        let rule = fit(others);
        move |case| rule.score(case)
    });
    let worth = worth(collected, &fitted_scores, &before);
    Keywords {
        configured: collected.bm25,
        fitted: fitted.copied().unwrap_or(collected.bm25),
        gains: fitted.is_some() && worth.gain.low > 0.0,
        ndcg_10: worth.ndcg_10,
        by_set: worth.by_set,
        gain: worth.gain,
        gain_by_set: worth.gain_by_set,
    }
}

/// The score of each question by what was fitted to the other folds.
fn held_out<Score: Fn(&Case) -> f64>(cases: &[Case], fit: impl Fn(&[&Case]) -> Score) -> Vec<f64> {
    let folds = folds(cases);
    let fitted: Vec<Score> = (0..FOLDS)
        .map(|fold| {
            let others = cases.iter().zip(&folds).filter(|(_, of)| **of != fold);
            fit(&others.map(|(case, _)| case).collect::<Vec<_>>())
        })
        .collect();
    let score = |(case, fold): (&Case, &usize)| fitted.get(*fold).map(|score| score(case));
    let scores = cases.iter().zip(&folds).map(score);
    scores.map(Option::unwrap_or_default).collect()
}

/// The fold of each question: one after the other within its set.
fn folds(cases: &[Case]) -> Vec<usize> {
    let mut seen = BTreeMap::<usize, usize>::new();
    let fold = |case: &Case| {
        let number = seen.entry(case.set).or_default();
        *number += 1;
        *number % FOLDS
    };
    cases.iter().map(fold).collect()
}

fn way(collected: &Collected, name: &str, (rule, scores): (Rule, Vec<f64>), base: &[f64]) -> Way {
    let worth = worth(collected, &scores, base);
    Way {
        name: name.to_owned(),
        parameters: rule.parameters().into_iter().collect(),
        rule,
        ndcg_10: worth.ndcg_10,
        by_set: worth.by_set,
        gain: worth.gain,
        gain_by_set: worth.gain_by_set,
    }
}

/// What scores are worth, and against others.
struct Worth {
    ndcg_10: f64,
    by_set: Vec<f64>,
    gain: Gain,
    gain_by_set: Vec<Gain>,
}

fn worth(collected: &Collected, scores: &[f64], base: &[f64]) -> Worth {
    let by_set = split(collected, scores);
    let by_set: Vec<f64> = by_set.iter().map(|set| mean(set)).collect();
    let differences = scores.iter().zip(base).map(|(new, old)| new - old);
    let differences = split(collected, &differences.collect::<Vec<f64>>());
    let of_set = |set: &Vec<f64>| gain(std::slice::from_ref(set));
    Worth {
        ndcg_10: mean(&by_set),
        by_set,
        gain: gain(&differences),
        gain_by_set: differences.iter().map(of_set).collect(),
    }
}

/// One value per question, by set.
fn split(collected: &Collected, values: &[f64]) -> Vec<Vec<f64>> {
    let mut sets = vec![Vec::new(); collected.sets.len()];
    for (case, value) in collected.cases.iter().zip(values) {
        if let Some(set) = sets.get_mut(case.set) {
            set.push(*value);
        }
    }
    sets
}

fn set_figures(collected: &Collected) -> Vec<SetFigures> {
    let named = collected.sets.iter().enumerate();
    let figures = named.map(|(set, name)| {
        let cases: Vec<&Case> = collected
            .cases
            .iter()
            .filter(|case| case.set == set)
            .collect();
        let (own_best_weight, own_best_ndcg_10) = fit::best_afterwards(&cases);
        SetFigures {
            name: name.clone(),
            questions: cases.len(),
            own_best_weight,
            own_best_ndcg_10,
        }
    });
    figures.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(best: f64, more: f64) -> Found {
        let worth = |place| 0.8 + more - (collect::weight_at(place) - best).abs();
        Found {
            features: Some([best as f32, 0.0]),
            curve: std::array::from_fn(worth),
        }
    }

    /// Questions that want another weight by what was found for them, and other numbers of BM25.
    fn collected() -> Collected {
        let case = |at: usize| {
            let best = if at.is_multiple_of(2) { 0.2 } else { 0.8 };
            Case {
                id: at.to_string(),
                set: at % 2 * usize::from(at > 60),
                query_tokens: 5,
                found: found(best, 0.0),
                with_others: vec![found(best, -0.2), found(best, 0.1)],
            }
        };
        Collected {
            sets: vec!["a".into(), "b".into()],
            cases: (0..120).map(case).collect(),
            tried: vec![Bm25 { k1: 0.5, b: 0.5 }, Bm25 { k1: 2.0, b: 0.5 }],
            ..Collected::new(Bm25::DEFAULT)
        }
    }

    #[test]
    fn the_way_that_gains_on_held_out_questions_is_best() {
        let tuning = tune(&collected(), Rule::Fixed(0.5)).unwrap_or_else(|error| panic!("{error}"));
        let names: Vec<&str> = tuning.ways.iter().map(|way| way.name.as_str()).collect();
        assert_eq!(names, [CONFIGURED, "fixed", "length", "adaptive"]);
        assert_eq!(tuning.best, "adaptive");
        assert_eq!(tuning.ways[0].gain.mean, 0.0);
        assert!(tuning.ways[3].gain.low > 0.1 && tuning.ways[3].gain_by_set.len() == 2);
        assert!((tuning.sets[1].own_best_weight - 0.8).abs() < 1e-9);
    }

    #[test]
    fn without_a_certain_gain_the_configured_way_stays() {
        let mut collected = collected();
        let best = tune(&collected, Rule::Fixed(0.5)).map(|tuning| tuning.ways[3].rule);
        let best = best.unwrap_or_else(|error| panic!("{error}"));
        let tuning = tune(&collected, best).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(tuning.best, CONFIGURED);
        collected.cases.truncate(9);
        assert!(tune(&collected, best).is_err(), "too few to check anything");
    }

    #[test]
    fn numbers_of_bm25_that_gain_are_said_beside_the_best_way() {
        let mut collected = collected();
        let tuned = |collected: &Collected| {
            let tuning = tune(collected, Rule::Fixed(0.5));
            tuning.unwrap_or_else(|error| panic!("{error}"))
        };
        let tuning = tuned(&collected);
        assert_eq!(tuning.bm25.fitted, Bm25 { k1: 2.0, b: 0.5 });
        assert!(tuning.bm25.gains && (tuning.bm25.gain.mean - 0.1).abs() < 0.01);
        let better = tuning.bm25.ndcg_10 - tuning.ways[3].ndcg_10;
        assert!(
            (better - 0.1).abs() < 0.01,
            "weighed in the best way: {better}"
        );
        for case in &mut collected.cases {
            case.with_others.truncate(1);
        }
        let tuning = tuned(&collected);
        assert_eq!(tuning.bm25.fitted, Bm25::DEFAULT);
        assert!(!tuning.bm25.gains && tuning.bm25.gain.mean == 0.0);
    }

    #[test]
    fn folds_part_the_questions_of_each_set() {
        let collected = collected();
        let folds = folds(&collected.cases);
        for fold in 0..FOLDS {
            assert_eq!(folds.iter().filter(|of| **of == fold).count(), 24);
        }
    }
}
