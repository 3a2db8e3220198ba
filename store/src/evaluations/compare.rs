//! Two runs beside each other: case by case, and each measure with a confidence interval of the
//! difference by the paired bootstrap.

use std::collections::{BTreeSet, HashMap, HashSet};

use tributary_schemas::evaluation::{
    CaseChange, CaseRecord, CaseVerdict, Comparison, MeasureDifference, StoredRun, Style,
};
use tributary_schemas::{Error, ErrorKind, Result};

use super::statistics::{Gain, gain, mean};

/// Differences of nDCG below this are none.
const EQUAL: f64 = 1e-9;

type Pair<'a> = (&'a CaseRecord, &'a CaseRecord);

/// Compares the cases that both runs have; `Invalid` where there are none. A case that was put in
/// another style is compared with the case that it was made from, where the other run lacks it.
pub fn compare(a: &StoredRun, b: &StoredRun) -> Result<Comparison> {
    let pairs = pairs(a, b);
    if pairs.is_empty() {
        let what = format!("`{}` and `{}` have no case in common", a.id, b.id);
        return Err(Error::new(ErrorKind::Invalid, what)
            .with_hint("runs of one set can be compared, and of a set that was made from it"));
    }
    let in_both = |of: fn(&Pair<'_>) -> String| pairs.iter().map(of).collect::<HashSet<_>>();
    let only = |run: &StoredRun, paired: &HashSet<String>| {
        let ids = run.cases.iter().map(|case| case.id.clone());
        ids.filter(|id| !paired.contains(id)).collect()
    };
    let gain = |(before, after): &Pair| after.scores.ndcg_10 - before.scores.ndcg_10;
    Ok(Comparison {
        a: a.id.clone(),
        b: b.id.clone(),
        cases: pairs.len(),
        asked_otherwise: ids_where(&pairs, |before, after| {
            before.id == after.id && before.question != after.question
        }),
        judged_otherwise: ids_where(&pairs, |before, after| needs(before) != needs(after)),
        top_k: [a, b].map(|run| run.report.diagnosis.top_k),
        only_in_a: only(a, &in_both(|(before, _)| before.id.clone())),
        only_in_b: only(b, &in_both(|(_, after)| after.id.clone())),
        measures: measures(&pairs),
        won: pairs.iter().filter(|pair| gain(pair) > EQUAL).count(),
        lost: pairs.iter().filter(|pair| gain(pair) < -EQUAL).count(),
        changes: changes(&pairs),
    })
}

fn ids_where(pairs: &[Pair<'_>], is_one: impl Fn(&CaseRecord, &CaseRecord) -> bool) -> Vec<String> {
    let found = pairs.iter().filter(|(before, after)| is_one(before, after));
    found.map(|(_, after)| after.id.clone()).collect()
}

/// Documents and passages that a case needs.
fn needs(case: &CaseRecord) -> BTreeSet<(&str, Option<&str>)> {
    let targets = case.targets.iter();
    targets
        .map(|target| (target.document.as_str(), target.quote.as_deref()))
        .collect()
}

/// Cases of the same id, then those of the same origin among the others.
fn pairs<'a>(a: &'a StoredRun, b: &'a StoredRun) -> Vec<Pair<'a>> {
    let by_id = by(&b.cases, |case| &case.id);
    let same: HashSet<&str> = a.cases.iter().map(|case| case.id.as_str()).collect();
    let rest = b
        .cases
        .iter()
        .filter(|case| !same.contains(case.id.as_str()));
    let by_origin = by(rest, origin);
    let pair = |before: &'a CaseRecord| {
        let after = by_id.get(before.id.as_str());
        Some((before, *after.or_else(|| by_origin.get(origin(before)))?))
    };
    a.cases.iter().filter_map(pair).collect()
}

/// The first case of each name.
fn by<'a>(
    cases: impl IntoIterator<Item = &'a CaseRecord>,
    name: impl Fn(&'a CaseRecord) -> &'a str,
) -> HashMap<&'a str, &'a CaseRecord> {
    let mut named = HashMap::new();
    for case in cases {
        named.entry(name(case)).or_insert(case);
    }
    named
}

/// The case that a case was made from: `eval generate` puts the style behind its id.
fn origin(case: &CaseRecord) -> &str {
    let style = case.style.map(Style::name).unwrap_or_default();
    let stem = case.id.strip_suffix(style);
    let stem = stem.and_then(|stem| stem.strip_suffix('-'));
    stem.unwrap_or(&case.id)
}

fn changes(pairs: &[Pair<'_>]) -> Vec<CaseChange> {
    let change = |(before, after): &Pair| CaseChange {
        id: after.id.clone(),
        id_before: (before.id != after.id).then(|| before.id.clone()),
        question: after.question.clone(),
        ndcg_10: [before.scores.ndcg_10, after.scores.ndcg_10],
        verdict: [before.verdict, after.verdict],
        step: [before.step, after.step],
        ranks: [before.ranks, after.ranks],
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
                mean: difference,
                low,
                high,
            } = gain(&[differences]);
            MeasureDifference {
                measure: name.to_owned(),
                a: mean(&a),
                b: mean(&b),
                difference,
                low,
                high,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use tributary_schemas::evaluation::Step;

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
    fn run(id: &str, cases: &[(&str, f64)]) -> StoredRun {
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

    #[test]
    fn what_did_not_ask_the_same_is_said() {
        let cases = [("same", 1.0), ("reworded", 1.0), ("rejudged", 1.0)];
        let (before, mut after) = (run("a", &cases), run("b", &cases));
        let alike = compare(&before, &after).unwrap_or_else(|error| panic!("{error}"));
        assert!(alike.asked_otherwise.is_empty() && alike.judged_otherwise.is_empty());
        assert_eq!(alike.top_k, [20, 20]);
        after.report.diagnosis.top_k = 60;
        for case in &mut after.cases {
            match case.id.as_str() {
                "reworded" => case.question = "??".into(),
                "rejudged" => case.targets = targets("d2"),
                _ => {}
            }
        }
        let found = compare(&before, &after).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(found.asked_otherwise, ["reworded"]);
        assert_eq!(found.judged_otherwise, ["rejudged"]);
        assert_eq!(found.top_k, [20, 60]);
    }

    fn targets(document: &str) -> Vec<tributary_schemas::evaluation::Trail> {
        let ranks = json!({"coarse": 1, "fine": null, "rerank": null, "hit": null});
        let target = json!([{"document": document, "found": true, "ranks": ranks}]);
        serde_json::from_value(target).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn a_case_in_another_style_is_compared_with_the_one_that_it_was_made_from() {
        let original = run("a", &[("q", 1.0), ("other", 1.0), ("both", 1.0)]);
        let mut noisy = run(
            "b",
            &[
                ("q-noisy", 0.0),
                ("other-noisy", 1.0),
                ("both-noisy", 0.0),
                ("both", 1.0),
            ],
        );
        for case in noisy.cases.iter_mut().take(2) {
            case.style = Some(Style::Noisy);
        }
        let found = compare(&original, &noisy).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((found.cases, found.won, found.lost), (3, 0, 1));
        assert_eq!(found.only_in_b, ["both-noisy"], "`both` is there itself");
        let change = found
            .changes
            .first()
            .map(|one| (one.id.as_str(), one.id_before.as_deref()));
        assert_eq!(change, Some(("q-noisy", Some("q"))));
    }
}
