//! What became of the cases of a run, as text.

use tributary_eval::diagnosis::{CaseRecord, Diagnosis, GroupScores, Ranks};

use crate::print;

/// Characters of a question, and of a reason, that are shown.
const QUESTION_WIDTH: usize = 60;
const REASON_WIDTH: usize = 100;

/// Verdicts, losing steps, groups and the worst cases.
pub fn lines(diagnosis: &Diagnosis) -> Vec<String> {
    let count = |verdict: &str| diagnosis.verdicts.get(verdict).copied().unwrap_or(0);
    let mut lines = vec![format!(
        "verdict full {}, partial {}, none {}  (evidence among {} hits)",
        count("full"),
        count("partial"),
        count("none"),
        diagnosis.top_k
    )];
    for (field, groups) in &diagnosis.groups {
        lines.extend(
            groups
                .iter()
                .map(|(value, scores)| group(field, value, scores)),
        );
    }
    if !diagnosis.steps.is_empty() {
        let steps = diagnosis.steps.iter();
        let steps: Vec<String> = steps
            .map(|(step, count)| format!("{} {count}", step.name()))
            .collect();
        lines.push(format!("lost by {}", steps.join(", ")));
    }
    lines.extend(diagnosis.worst.iter().map(case));
    lines
}

fn group(field: &str, value: &str, group: &GroupScores) -> String {
    let full = group.verdicts.get("full").copied().unwrap_or(0);
    format!(
        "  {:<24} {:>5}  full {full}  nDCG@10 {:.4}  recall@20 {:.4}",
        format!("{field} {value}"),
        group.cases,
        group.scores.ndcg_10,
        group.scores.recall_20
    )
}

fn case(case: &CaseRecord) -> String {
    let step = case.step.map_or("", |step| step.name());
    format!(
        "  {:<11} {}  {}\n              {}: {}",
        step,
        case.id,
        print::shorten(&case.question, QUESTION_WIDTH),
        ranks(case.ranks),
        print::shorten(&case.why, REASON_WIDTH)
    )
}

fn ranks(ranks: Ranks) -> String {
    let rank = |rank: Option<usize>| rank.map_or("-".to_owned(), |rank| rank.to_string());
    let Ranks {
        coarse,
        fine,
        rerank,
        hit,
    } = ranks;
    format!(
        "coarse {} fine {} rerank {} hit {}",
        rank(coarse),
        rank(fine),
        rank(rerank),
        rank(hit)
    )
}
