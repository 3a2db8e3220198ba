//! Two runs beside each other: case by case, and each measure with a confidence interval of the
//! difference by the paired bootstrap.

use std::collections::HashMap;

use anyhow::{Result, bail};
use serde::Serialize;
use tributary_schemas::evaluation::StoredRun;

use crate::bootstrap::{self, Gain};
use crate::diagnosis::{CaseRecord, CaseVerdict, Step};
use crate::metrics::mean;

/// Differences of nDCG below this are none.
const EQUAL: f64 = 1e-9;

/// What changed from run `a` to run `b`; `eval compare --format json` prints it.
#[derive(Debug, Serialize)]
pub struct Comparison {
    /// The run before.
    pub a: String,
    /// The run after.
    pub b: String,
    /// Cases of both.
    pub cases: usize,
    /// Cases that only the first has.
    pub only_in_a: Vec<String>,
    /// Cases that only the second has.
    pub only_in_b: Vec<String>,
    /// Each measure over the cases of both.
    pub measures: Vec<MeasureDifference>,
    /// Cases whose nDCG@10 rose.
    pub won: usize,
    /// Cases whose nDCG@10 fell.
    pub lost: usize,
    /// Cases whose verdict, losing step or nDCG@10 changed, the greatest loss first.
    pub changes: Vec<CaseChange>,
}

/// A measure in both runs.
#[derive(Debug, Serialize)]
pub struct MeasureDifference {
    /// Name.
    pub measure: String,
    /// Mean before.
    pub a: f64,
    /// Mean after.
    pub b: f64,
    /// After minus before.
    pub difference: f64,
    /// 95 % of the samples lie between these two.
    pub low: f64,
    /// See `low`.
    pub high: f64,
}

impl MeasureDifference {
    /// Whether the interval holds no 0.
    pub fn is_certain(&self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }
}

/// A case in both runs.
#[derive(Debug, Serialize)]
pub struct CaseChange {
    /// Identifier in the set.
    pub id: String,
    /// As asked.
    pub question: String,
    /// nDCG@10 before and after.
    pub ndcg_10: [f64; 2],
    /// Verdicts before and after.
    pub verdict: [CaseVerdict; 2],
    /// Steps that lost it before and after.
    pub step: [Option<Step>; 2],
}

type Pair<'a> = (&'a CaseRecord, &'a CaseRecord);

/// Compares the cases that both runs have; an error where there are none.
pub fn compare(a: &StoredRun, b: &StoredRun) -> Result<Comparison> {
    let by_id = |run: &StoredRun| -> HashMap<String, usize> {
        let numbered = run.cases.iter().enumerate();
        numbered.map(|(at, case)| (case.id.clone(), at)).collect()
    };
    let (in_a, in_b) = (by_id(a), by_id(b));
    let pairs: Vec<Pair> = a
        .cases
        .iter()
        .filter_map(|before| Some((before, b.cases.get(*in_b.get(&before.id)?)?)))
        .collect();
    if pairs.is_empty() {
        bail!("`{}` and `{}` have no case in common", a.id, b.id);
    }
    let only = |run: &StoredRun, other: &HashMap<String, usize>| {
        let ids = run.cases.iter().map(|case| case.id.clone());
        ids.filter(|id| !other.contains_key(id)).collect()
    };
    let gain = |(before, after): &Pair| after.scores.ndcg_10 - before.scores.ndcg_10;
    Ok(Comparison {
        a: a.id.clone(),
        b: b.id.clone(),
        cases: pairs.len(),
        only_in_a: only(a, &in_b),
        only_in_b: only(b, &in_a),
        measures: measures(&pairs),
        won: pairs.iter().filter(|pair| gain(pair) > EQUAL).count(),
        lost: pairs.iter().filter(|pair| gain(pair) < -EQUAL).count(),
        changes: changes(&pairs),
    })
}

fn changes(pairs: &[Pair<'_>]) -> Vec<CaseChange> {
    let change = |(before, after): &Pair| CaseChange {
        id: before.id.clone(),
        question: before.question.clone(),
        ndcg_10: [before.scores.ndcg_10, after.scores.ndcg_10],
        verdict: [before.verdict, after.verdict],
        step: [before.step, after.step],
    };
    let gain = |change: &CaseChange| {
        let [before, after] = change.ndcg_10;
        after - before
    };
    let is_one = |change: &CaseChange| {
        let [before, after] = change.verdict;
        let [lost_before, lost_after] = change.step;
        before != after || lost_before != lost_after || gain(change).abs() > EQUAL
    };
    let mut changes: Vec<CaseChange> = pairs.iter().map(change).filter(is_one).collect();
    changes.sort_by(|left, right| {
        gain(left)
            .total_cmp(&gain(right))
            .then(left.id.cmp(&right.id))
    });
    changes
}

fn measures(pairs: &[Pair<'_>]) -> Vec<MeasureDifference> {
    let values = |case: &CaseRecord| {
        let full = (
            "full",
            f64::from(u8::from(case.verdict == CaseVerdict::Full)),
        );
        case.scores
            .named()
            .into_iter()
            .chain([full])
            .collect::<Vec<_>>()
    };
    let before: Vec<Vec<(&str, f64)>> = pairs.iter().map(|(case, _)| values(case)).collect();
    let after: Vec<Vec<(&str, f64)>> = pairs.iter().map(|(_, case)| values(case)).collect();
    let names = before.first().into_iter().flatten().map(|(name, _)| *name);
    let of = |rows: &[Vec<(&str, f64)>], at: usize| -> Vec<f64> {
        rows.iter().filter_map(|row| Some(row.get(at)?.1)).collect()
    };
    names
        .enumerate()
        .map(|(at, name)| {
            let (a, b) = (of(&before, at), of(&after, at));
            let differences: Vec<f64> = b.iter().zip(&a).map(|(b, a)| b - a).collect();
            let Gain {
                mean: gain,
                low,
                high,
            } = bootstrap::gain(&[differences]);
            MeasureDifference {
                measure: name.to_owned(),
                a: mean(&a),
                b: mean(&b),
                difference: gain,
                low,
                high,
            }
        })
        .collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn case((id, ndcg): &(&str, f64)) -> Value {
        let scores = json!({"recall@10": ndcg, "recall@20": ndcg, "mrr@10": ndcg, "ndcg@10": ndcg,
            "hit@1": ndcg, "hit@3": ndcg, "hit@5": ndcg, "hit@10": ndcg});
        let (verdict, step) = match *ndcg > 0.5 {
            true => ("full", Value::Null),
            false => ("none", json!("fine")),
        };
        json!({"id": id, "question": "?", "verdict": verdict, "step": step, "targets": [],
            "ranks": {"coarse": 1, "fine": null, "rerank": null, "hit": null}, "hits": [],
            "scores": scores})
    }

    /// A run with these values of nDCG@10.
    pub(crate) fn run(id: &str, cases: &[(&str, f64)]) -> StoredRun {
        let cases: Vec<Value> = cases.iter().map(case).collect();
        let scores = case(&("", 0.5))["scores"].clone();
        let tier = json!({"recall": 1.0, "candidates": 1.0});
        let run = json!({
            "format": 1, "id": id, "at_ms": 0, "queries": "queries.jsonl", "cases": cases,
            "report": {
                "set": "s", "documents": 1, "queries": 1, "left_out": [], "latency_ms": {},
                "tiers": {"coarse": tier, "fine": tier, "final": scores}, "settings": {},
                "diagnosis": {"top_k": 20, "verdicts": {}, "steps": {}, "worst": [], "groups": {}},
                "ingest": {"seconds": 1.0, "documents_per_second": 1.0, "skipped": 0, "dead": 0},
            },
        });
        serde_json::from_value(run).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn cases_are_paired_by_id_and_changes_begin_with_the_greatest_loss() {
        let a = run(
            "a",
            &[
                ("same", 1.0),
                ("worse", 1.0),
                ("better", 0.4),
                ("gone", 1.0),
            ],
        );
        let b = run(
            "b",
            &[("better", 0.9), ("new", 1.0), ("worse", 0.0), ("same", 1.0)],
        );
        let found = compare(&a, &b).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((found.cases, found.won, found.lost), (3, 1, 1));
        assert_eq!(
            (found.only_in_a, found.only_in_b),
            (vec!["gone".into()], vec!["new".into()])
        );
        let ids: Vec<&str> = found
            .changes
            .iter()
            .map(|change| change.id.as_str())
            .collect();
        assert_eq!(ids, ["worse", "better"]);
        let worse = found
            .changes
            .first()
            .map(|change| (change.verdict, change.step));
        let expected = (
            [CaseVerdict::Full, CaseVerdict::None],
            [None, Some(Step::Fine)],
        );
        assert_eq!(worse, Some(expected));
        assert!(compare(&a, &run("c", &[("other", 1.0)])).is_err());
    }
}
