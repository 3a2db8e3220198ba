//! The rows of such a table: lines that stand closer to each other than rows do.

use std::collections::BTreeSet;

use super::Within;
use super::run::{self, Line, Run, step};
use crate::pdf::geometry::share_width;
use crate::slices::part;

/// Least step from line to line within a cell, in sizes.
const LINE_STEP: f32 = 0.85;

/// How much steps within cells differ, as letters of several fonts make them, and how much wider
/// those from row to row are, both relative.
const WIDEST_LINE_STEP: f32 = 1.35;
const ROW_STEP: f32 = 1.04;

/// Differences between steps that are tried.
const MAXIMUM_TRIED: usize = 3;

/// How much wider than usual the step to what is no row any more is, relative.
const WIDE_STEP: f32 = 1.6;

/// The lines of one row, from `first` up to `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Band {
    pub first: usize,
    pub end: usize,
}

/// What may be the rows of a run, the most likely first; none if no cell wraps.
pub(super) fn of(lines: &[Line], run: &Run, within: Within) -> Vec<Vec<Band>> {
    let thresholds = thresholds(part(lines, run.first..run.end), run, within);
    let bands = thresholds
        .into_iter()
        .map(|threshold| parted(lines, run, threshold));
    bands.collect()
}

/// The lines of a run, parted where the step from line to line is `threshold` or more.
fn parted(lines: &[Line], run: &Run, threshold: f32) -> Vec<Band> {
    let band = |first| Band {
        first,
        end: first + 1,
    };
    let mut bands = vec![band(run.first)];
    let mut steps = Vec::new();
    let pairs = part(lines, run.first..run.end).windows(2);
    for (at, pair) in (run.first + 1..).zip(pairs) {
        let [above, below] = pair else { break };
        let step = step(above, below);
        match bands.last_mut() {
            Some(band) if step < threshold => band.end = at + 1,
            _ => {
                steps.push(step);
                bands.push(band(at));
            }
        }
    }
    let mut usual = steps.clone();
    usual.sort_by(f32::total_cmp);
    let widest = WIDE_STEP * usual.get(usual.len() / 2).copied().unwrap_or_default();
    trimmed(lines, run, near(bands, &steps, widest))
}

/// Steps from which a line may begin another row: between the small steps, which are those within
/// cells, and the others, where the difference is largest.
fn thresholds(lines: &[Line], run: &Run, within: Within) -> Vec<f32> {
    let step_of = |pair: &[&Line]| match pair {
        [above, below] => Some(step(above, below)),
        _ => None,
    };
    // From the lowest cell of a row to the highest of the next one, whichever their columns. Lines
    // of columns of text stand at any distance.
    let all: Vec<&Line> = match within {
        Within::Region => lines.iter().collect(),
        Within::Page => Vec::new(),
    };
    let mut steps: Vec<f32> = all.windows(2).filter_map(step_of).collect();
    for column in &run.columns {
        let is_inside = |line: &&Line| {
            let mut pieces = line.pieces.iter();
            pieces.any(|piece| share_width(*column, piece.area))
        };
        let inside: Vec<&Line> = lines.iter().filter(is_inside).collect();
        steps.extend(inside.windows(2).filter_map(step_of));
    }
    steps.retain(|step| *step > LINE_STEP);
    steps.sort_by(f32::total_cmp);
    let widest = WIDEST_LINE_STEP * steps.first().copied().unwrap_or_default();
    let mut gaps: Vec<(f32, f32)> = steps
        .windows(2)
        .filter_map(|pair| Some((*pair.first()?, *pair.last()?)))
        .filter(|(within, next)| *within <= widest && *next > ROW_STEP * within)
        .collect();
    gaps.sort_by(|one, other| (other.1 / other.0).total_cmp(&(one.1 / one.0)));
    gaps.truncate(MAXIMUM_TRIED);
    let between = |(within, next): (f32, f32)| f32::midpoint(within, next);
    gaps.into_iter().map(between).collect()
}

/// The most rows that follow each other without a wide step.
fn near(bands: Vec<Band>, steps: &[f32], widest: f32) -> Vec<Band> {
    let mut groups: Vec<Vec<Band>> = Vec::new();
    let before = [0.0].into_iter().chain(steps.iter().copied());
    for (band, step) in bands.into_iter().zip(before) {
        match groups.last_mut() {
            Some(group) if step <= widest => group.push(band),
            _ => groups.push(vec![band]),
        }
    }
    groups
        .into_iter()
        .rev()
        .max_by_key(Vec::len)
        .unwrap_or_default()
}

/// Without lines before and behind the table that have text in one column only.
fn trimmed(lines: &[Line], run: &Run, mut bands: Vec<Band>) -> Vec<Band> {
    let columns = |band: &Band| {
        let inside = part(lines, band.first..band.end);
        let pieces = inside.iter().flat_map(|line| &line.pieces);
        let homes = pieces.filter_map(|piece| run::home(&run.columns, piece));
        homes.collect::<BTreeSet<_>>().len()
    };
    let leading = bands.iter().take_while(|band| columns(band) < 2).count();
    bands.drain(..leading);
    let trailing = bands
        .iter()
        .rev()
        .take_while(|band| columns(band) < 2)
        .count();
    bands.truncate(bands.len() - trailing);
    bands
}
