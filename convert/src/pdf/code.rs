//! Lines of code in a region: which they are, and their text with its indentation.

use super::blocks::step;
use super::lines::Line;
use super::raised;
use super::statistics::Statistics;
use super::unicode;

/// Step to the next line of a block of code, in sizes.
const CODE_STEP: f32 = 1.7;

/// Step to the next line of one listing, in sizes: a blank line may stand between them.
pub(super) const FARTHEST: f32 = 4.0;

/// Which lines are code: those in letters of one width, and those between them whose comments are
/// in Chinese.
pub(super) fn lines_of(lines: &[&Line], statistics: &Statistics) -> Vec<bool> {
    let notes = notes_of(lines);
    let is_note = |at: usize| notes.get(at) == Some(&true);
    let is_code = |(at, line): (usize, &&Line)| statistics.is_code(line) && !is_note(at);
    let mut code: Vec<bool> = lines.iter().enumerate().map(is_code).collect();
    let goes_on = |above: usize, below: usize, other: usize| {
        let (Some(above), Some(below)) = (lines.get(above), lines.get(below)) else {
            return false;
        };
        let is_fixed = lines.get(other).is_some_and(|line| line.is_fixed_or_wide);
        let is_like_code = is_fixed && !is_note(other);
        is_like_code && (above.size - below.size).abs() < 0.5 && step(above, below) < CODE_STEP
    };
    for at in 1..lines.len() {
        if code.get(at - 1) == Some(&true)
            && goes_on(at - 1, at, at)
            && let Some(is_code) = code.get_mut(at)
        {
            *is_code = true;
        }
    }
    for at in (1..lines.len()).rev() {
        if code.get(at) == Some(&true)
            && goes_on(at - 1, at, at - 1)
            && let Some(is_code) = code.get_mut(at - 1)
        {
            *is_code = true;
        }
    }
    code
}

/// Which lines are notes, whose addresses are no code.
fn notes_of(lines: &[&Line]) -> Vec<bool> {
    let mut notes: Vec<bool> = Vec::with_capacity(lines.len());
    let mut last: Option<&Line> = None;
    for line in lines {
        let goes_on = last.is_some_and(|last| {
            (last.size - line.size).abs() < 0.5 && step(last, line) < CODE_STEP
        });
        let is_in_note = notes.last() == Some(&true) && goes_on;
        notes.push(is_in_note || line.text.starts_with(raised::is_raised));
        last = Some(line);
    }
    notes
}

/// Lines of code with their indentation and the blank lines between them.
pub(super) fn texts(lines: &[&Line]) -> Vec<String> {
    let left = lines
        .iter()
        .map(|line| line.area.left)
        .fold(f32::MAX, f32::min);
    let mut code = Vec::new();
    let mut last: Option<&Line> = None;
    for line in lines {
        let text: String = line
            .text
            .trim_end()
            .chars()
            .filter(|character| !unicode::is_mark(*character))
            .collect();
        let columns = ((line.area.left - left) / (0.6 * line.size.max(1.0)))
            .round()
            .clamp(0.0, 120.0) as usize;
        if last.is_some_and(|last| step(last, line) > 1.9) {
            code.push(String::new());
        }
        code.push(format!("{}{text}", " ".repeat(columns)));
        last = Some(line);
    }
    code
}
