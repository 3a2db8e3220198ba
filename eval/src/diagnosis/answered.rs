//! What an answer makes of a case: evidence counts as found where the answer cites a source that
//! has it.

use tributary_schemas::ask::{Answer, Source, Verdict};

use super::placement::Target;
use super::{CaseLevel, CaseRecord, CaseVerdict, Step, Trail, judge};
use crate::evidence::{holds, normalised};

/// The case of a search, as the answer to the same question leaves it. `targets` are those that
/// the search was looked at for.
pub fn answered(mut case: CaseRecord, targets: &[Target], answer: &Answer) -> CaseRecord {
    for (trail, target) in case.targets.iter_mut().zip(targets) {
        follow(trail, target, answer);
    }
    let has_spans = case.targets.iter().any(|trail| trail.quote.is_some());
    let suffices = case.level == Some(CaseLevel::Single) && !has_spans;
    let (verdict, decisive) = judge(&case.targets, suffices);
    let lost = decisive.filter(|_| verdict != CaseVerdict::Full);
    let (step, why) = (
        lost.and_then(|trail| trail.step),
        lost.map(|trail| trail.why.clone()),
    );
    let ranks = decisive.map(|trail| trail.ranks);
    case.verdict = verdict;
    case.step = step;
    case.why = why.unwrap_or_default();
    case.ranks = ranks.unwrap_or_default();
    case
}

/// From the hits to the answer. What no search found but a source has was found in another way, such
/// as by another wording of the question.
fn follow(trail: &mut Trail, target: &Target, answer: &Answer) {
    let has_it = |source: &&Source| {
        let quote = target.normalised.as_deref();
        let is_its = source.document_id == target.document;
        is_its && quote.is_none_or(|quote| holds(&normalised(&source.text), quote))
    };
    let holding: Vec<&Source> = answer.sources.iter().filter(has_it).collect();
    let is_refused = answer.verdict == Verdict::Refused;
    let (step, why) = match (holding.is_empty(), trail.found) {
        (true, false) => return,
        (true, true) if is_refused => (Step::Answer, "the question was refused".to_owned()),
        (true, true) => {
            let sources = answer.sources.len();
            let why =
                format!("a hit, and not among the {sources} passages that were answered from");
            (Step::Packing, why)
        }
        (false, _) if is_refused => (Step::Answer, "the question was refused".to_owned()),
        (false, _) if !holding.iter().any(|source| source.cited) => (
            Step::Answer,
            "given to the answer, which does not cite it".to_owned(),
        ),
        (false, _) => {
            (trail.found, trail.step) = (true, None);
            trail.why.clear();
            return;
        }
    };
    (trail.found, trail.step, trail.why) = (false, Some(step), why);
}
