//! What became of each case: whether the answer's evidence is among the first hits, and if not,
//! which step lost it.

mod answered;
mod placement;
#[cfg(test)]
mod tests;
mod trail;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tributary_retrieval::Outcome;
use tributary_schemas::ChunkId;

use crate::case::{CaseLevel, Modality, Style};
use crate::metrics::RankScores;
use crate::set::Question;

pub use placement::{Target, place};
pub use trail::{Ranks, Searched, Trail};

/// Cases that a report shows.
const WORST: usize = 10;

/// How much of what a question needs is among the first hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CaseVerdict {
    /// Nothing.
    None,
    /// Some.
    Partial,
    /// All.
    Full,
}

impl CaseVerdict {
    /// As in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Partial => "partial",
            Self::Full => "full",
        }
    }
}

/// Steps that can lose what a question needs, along the route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// The document is dead, skipped, deleted or was never published.
    NotIndexed,
    /// The converted document lacks it.
    Conversion,
    /// The converted document has it, no single chunk does.
    Chunking,
    /// The search's filter keeps the document out.
    Filter,
    /// Tier 1 did not find it.
    Coarse,
    /// Tier 2 did not keep it, or ranked it too low where no reranker runs.
    Fine,
    /// The reranker ranked it too low.
    Rerank,
    /// It ranked among the first and is no hit: folded, or cut off.
    Packing,
    /// The answer does not use it.
    Answer,
}

impl Step {
    /// As in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::NotIndexed => "not_indexed",
            Self::Conversion => "conversion",
            Self::Chunking => "chunking",
            Self::Filter => "filter",
            Self::Coarse => "coarse",
            Self::Fine => "fine",
            Self::Rerank => "rerank",
            Self::Packing => "packing",
            Self::Answer => "answer",
        }
    }
}

/// A hit of a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseHit {
    /// Position, from 1.
    pub rank: usize,
    /// Document.
    pub document_id: String,
    /// Chunk.
    pub chunk_id: ChunkId,
    /// Titles above it.
    pub section_path: Vec<String>,
    /// Final score.
    pub score: f32,
}

/// One question and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseRecord {
    /// Identifier in the set.
    pub id: String,
    /// As asked.
    pub question: String,
    /// See [`CaseLevel`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<CaseLevel>,
    /// See [`Style`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub style: Option<Style>,
    /// See [`Modality`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modality: Option<Modality>,
    /// How much was found.
    pub verdict: CaseVerdict,
    /// The step that lost it, where not all was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<Step>,
    /// How, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// Ranks of what was lost; of what was found last where all was found.
    pub ranks: Ranks,
    /// Each thing that it needs.
    pub targets: Vec<Trail>,
    /// The hits that count.
    pub hits: Vec<CaseHit>,
    /// Scores of all hits by documents.
    pub scores: RankScores,
    /// What was done in a lesser way than configured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub degraded: Vec<String>,
}

impl CaseRecord {
    /// Of a search with `explain`, of whose hits the first `top_k` count.
    pub fn of(
        question: &Question,
        targets: &[Target],
        (outcome, top_k): (&Outcome, usize),
        scores: RankScores,
    ) -> Self {
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
        Self {
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

/// What a report says of all cases together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Diagnosis {
    /// Hits among which evidence counts.
    pub top_k: usize,
    /// Cases by verdict.
    pub verdicts: BTreeMap<String, usize>,
    /// Cases that are not full, by the step that lost them.
    pub steps: BTreeMap<Step, usize>,
    /// The first of those, the worst first.
    pub worst: Vec<CaseRecord>,
    /// Scores by what cases say of themselves: `level`, `style`, `modality`, then the value.
    pub groups: BTreeMap<String, BTreeMap<String, GroupScores>>,
}

/// Scores of a part of the cases.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupScores {
    /// Cases.
    pub cases: usize,
    /// By verdict.
    pub verdicts: BTreeMap<String, usize>,
    /// Means.
    pub scores: RankScores,
}

impl Diagnosis {
    /// Of all cases of a run.
    pub fn of(cases: &[CaseRecord], top_k: usize) -> Self {
        let mut steps = BTreeMap::new();
        for step in cases.iter().filter_map(|case| case.step) {
            *steps.entry(step).or_default() += 1;
        }
        Self {
            top_k,
            verdicts: verdicts(cases),
            steps,
            worst: worst(cases),
            groups: groups(cases),
        }
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
            scores: RankScores::mean(&scores),
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
