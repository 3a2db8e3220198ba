//! What became of each case: whether the answer's evidence is among the first hits, and if not,
//! which step lost it.

mod answered;
mod placement;
#[cfg(test)]
mod tests;
mod trail;

use std::collections::BTreeMap;

use serde::Serialize;
use tributary_retrieval::Outcome;

use crate::case::CaseLevel;
use crate::metrics::{RankScores, mean_scores};
use crate::set::Question;

pub use answered::answered;
pub use placement::{Target, place};
pub use trail::Searched;
pub use tributary_schemas::evaluation::{
    CaseHit, CaseRecord, CaseVerdict, Diagnosis, GroupScores, Ranks, Step, Trail,
};

/// Cases that a report shows.
const WORST: usize = 10;

/// The case of a search with `explain`, of whose hits the first `top_k` count.
pub fn case_of(
    question: &Question,
    targets: &[Target],
    (outcome, top_k): (&Outcome, usize),
    scores: RankScores,
) -> CaseRecord {
    let searched = Searched::new(outcome, top_k);
    let trails: Vec<Trail> = targets
        .iter()
        .map(|target| searched.trail(target))
        .collect();
    let case = &question.case;
    let suffices = case.level == Some(CaseLevel::Single) && case.evidence.is_empty();
    let (verdict, decisive) = judge(&trails, suffices);
    let lost = decisive.filter(|_| verdict != CaseVerdict::Full);
    let hits = outcome.response.hits.iter().take(top_k);
    CaseRecord {
        id: question.id.clone(),
        question: question.text.clone(),
        level: case.level,
        style: case.style,
        modality: case.modality,
        verdict,
        step: lost.and_then(|trail| trail.step),
        why: lost.map(|trail| trail.why.clone()).unwrap_or_default(),
        ranks: decisive.map(|trail| trail.ranks).unwrap_or_default(),
        hits: hits
            .map(|hit| CaseHit {
                rank: hit.rank,
                document_id: hit.document_id.clone(),
                chunk_id: hit.chunk_id,
                section_path: hit.section_path.clone(),
                score: hit.score,
            })
            .collect(),
        scores,
        degraded: outcome.response.degraded.clone(),
        targets: trails,
    }
}

/// The verdict, and the target that decides it: where all are needed, the one that was lost first;
/// where one suffices, the one that came furthest.
pub fn judge(trails: &[Trail], one_suffices: bool) -> (CaseVerdict, Option<&Trail>) {
    let found = trails.iter().filter(|trail| trail.found).count();
    let is_full = found == trails.len() || (one_suffices && found > 0);
    let furthest = |trail: &&Trail| {
        let rank = trail.ranks.hit.unwrap_or(usize::MAX);
        (trail.step.is_none(), trail.step, std::cmp::Reverse(rank))
    };
    if one_suffices {
        let verdict = match is_full {
            true => CaseVerdict::Full,
            false => CaseVerdict::None,
        };
        return (verdict, trails.iter().max_by_key(furthest));
    }
    let verdict = match (is_full, found) {
        (true, _) => CaseVerdict::Full,
        (false, 0) => CaseVerdict::None,
        (false, _) => CaseVerdict::Partial,
    };
    (verdict, trails.iter().min_by_key(furthest))
}

/// What is said of all cases of a run together.
pub fn summary(cases: &[CaseRecord], top_k: usize) -> Diagnosis {
    let mut steps = BTreeMap::new();
    for step in cases.iter().filter_map(|case| case.step) {
        *steps.entry(step).or_default() += 1;
    }
    Diagnosis {
        top_k,
        verdicts: verdicts(cases),
        steps,
        worst: worst(cases),
        groups: groups(cases),
    }
}

fn verdicts<'a>(cases: impl IntoIterator<Item = &'a CaseRecord>) -> BTreeMap<String, usize> {
    let all = [CaseVerdict::Full, CaseVerdict::Partial, CaseVerdict::None];
    let mut counts: BTreeMap<String, usize> =
        all.map(|verdict| (verdict.name().to_owned(), 0)).into();
    for case in cases {
        *counts.entry(case.verdict.name().to_owned()).or_default() += 1;
    }
    counts
}

/// Nothing found before some, lost early before late.
fn worst(cases: &[CaseRecord]) -> Vec<CaseRecord> {
    let mut failed: Vec<&CaseRecord> = cases.iter().filter(|case| case.step.is_some()).collect();
    failed.sort_by_key(|case| (case.verdict, case.step));
    failed.into_iter().take(WORST).cloned().collect()
}

fn groups(cases: &[CaseRecord]) -> BTreeMap<String, BTreeMap<String, GroupScores>> {
    let mut members: BTreeMap<(&str, String), Vec<&CaseRecord>> = BTreeMap::new();
    for case in cases {
        let said = [
            ("level", case.level.and_then(name_of)),
            ("style", case.style.and_then(name_of)),
            ("modality", case.modality.and_then(name_of)),
        ];
        for (field, value) in said {
            if let Some(value) = value {
                members.entry((field, value)).or_default().push(case);
            }
        }
    }
    let mut groups: BTreeMap<String, BTreeMap<String, GroupScores>> = BTreeMap::new();
    for ((field, value), cases) in members {
        let scores: Vec<RankScores> = cases.iter().map(|case| case.scores).collect();
        let group = GroupScores {
            cases: cases.len(),
            verdicts: verdicts(cases),
            scores: mean_scores(&scores),
        };
        groups
            .entry(field.to_owned())
            .or_default()
            .insert(value, group);
    }
    groups
}

/// A value as files have it.
fn name_of(value: impl Serialize) -> Option<String> {
    let value = serde_json::to_value(value).ok()?;
    value.as_str().map(str::to_owned)
}
