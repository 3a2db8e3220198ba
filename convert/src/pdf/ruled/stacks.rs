//! The drawn lines of each table: lines of one width, one above the other.

use super::{Area, MINIMUM_RULES, Rule, SAME_END, Segment, columns, pieces};
use crate::pdf::wrapped::between_rules::MAXIMUM_EDGES;

/// Narrowest width of a table and usual height of a row in points; for higher rows the fewest pieces of
/// their first line, and the widest text, relative to the table.
const MINIMUM_WIDTH: f32 = 60.0;
const MAXIMUM_ROW: f32 = 160.0;
const MINIMUM_PIECES: usize = 3;
const WIDEST_TEXT: f32 = 0.75;

/// Fewest lines of text between two tables that tell it from a merged cell.
const MINIMUM_PROSE: usize = 2;

/// How much higher than the usual row what stands between two tables is, relative and in points.
const WIDE_GAP: f32 = 3.0;
const MINIMUM_WIDE_GAP: f32 = 40.0;

/// How far text stands from the lines around it in tables with lines around their head alone, in sizes.
const FARTHEST_TEXT: f32 = 1.0;

/// Lines of one width that follow each other from top to bottom.
pub(super) fn of_one_width(rules: &[Rule]) -> Vec<Vec<Rule>> {
    let mut stacks: Vec<Vec<Rule>> = Vec::new();
    for rule in rules
        .iter()
        .filter(|rule| rule.to - rule.from >= MINIMUM_WIDTH)
    {
        let goes_on = |stack: &&mut Vec<Rule>| {
            stack.last().is_some_and(|last| {
                (last.from - rule.from).abs() <= SAME_END && (last.to - rule.to).abs() <= SAME_END
            })
        };
        match stacks.iter_mut().rev().find(goes_on) {
            Some(stack) => stack.push(*rule),
            None => stacks.push(vec![*rule]),
        }
    }
    stacks
}

/// The lines of tables that have one above their head, one below it, one below their last row, and at
/// most one more, however high the text between them is.
pub(super) fn around_heads(rules: &[Rule], segments: &[Segment]) -> Vec<Vec<Rule>> {
    let own = |above: &Rule, below: &Rule| -> Vec<Segment> {
        let inside = inside(above, below, segments).into_iter();
        inside.cloned().collect()
    };
    let has_columns = |pair: &[Rule]| match pair {
        [above, below] => columns(&pieces(&own(above, below))).is_some(),
        _ => true,
    };
    let stacks = of_one_width(rules);
    let tables = stacks
        .iter()
        .flat_map(|stack| stack.chunk_by(|above, below| fills(above, below, &own(above, below))));
    tables
        .filter(|table| {
            (MINIMUM_RULES..=MAXIMUM_EDGES).contains(&table.len())
                && table.windows(2).all(has_columns)
        })
        .map(<[Rule]>::to_vec)
        .collect()
}

/// Whether text stands as near to the line above it and to the one below it as rows do.
fn fills(above: &Rule, below: &Rule, inside: &[Segment]) -> bool {
    let height = inside.iter().map(|text| text.size).fold(0.0, f32::max);
    Area::around(inside.iter().map(|text| text.area)).is_some_and(|text| {
        text.top - above.at < FARTHEST_TEXT * height
            && below.at - text.bottom < FARTHEST_TEXT * height
    })
}

/// The lines of each table among lines below each other: text between two tables makes a gap, if it
/// is no very high row.
pub(super) fn tables_of(stack: &[Rule], segments: &[Segment]) -> Vec<Vec<Rule>> {
    let mut gaps: Vec<f32> = stack
        .windows(2)
        .filter_map(|pair| Some(pair.last()?.at - pair.first()?.at))
        .collect();
    gaps.sort_by(f32::total_cmp);
    let usual = gaps.get(gaps.len() / 2).copied().unwrap_or_default();
    let widest = (WIDE_GAP * usual).clamp(MINIMUM_WIDE_GAP, MAXIMUM_ROW);
    stack
        .chunk_by(|above, below| {
            let is_near = below.at - above.at <= widest || is_row(above, below, segments);
            is_near && !is_prose(above, below, segments)
        })
        .map(<[Rule]>::to_vec)
        .collect()
}

/// The text between two lines.
fn inside<'a>(above: &Rule, below: &Rule, segments: &'a [Segment]) -> Vec<&'a Segment> {
    let is_inside = |segment: &&Segment| {
        let area = segment.area;
        (above.from..above.to).contains(&area.centre())
            && (above.at..below.at).contains(&area.middle())
    };
    segments.iter().filter(is_inside).collect()
}

/// Whether what stands between two lines is text between two tables: lines as wide as these.
fn is_prose(above: &Rule, below: &Rule, segments: &[Segment]) -> bool {
    let inside = inside(above, below, segments);
    let widest = WIDEST_TEXT * (above.to - above.from);
    let wide = inside.iter().filter(|text| text.area.width() > widest);
    let wide = wide.count();
    wide >= MINIMUM_PROSE && wide * 2 > inside.len()
}

/// Whether what stands between two lines far apart is a row: text in columns from the upper line on.
fn is_row(above: &Rule, below: &Rule, segments: &[Segment]) -> bool {
    let inside = inside(above, below, segments);
    let Some(first) = inside
        .iter()
        .min_by(|one, other| one.area.top.total_cmp(&other.area.top))
    else {
        return false;
    };
    let beside = inside
        .iter()
        .filter(|segment| segment.area.shared_height(first.area) > 0.5 * first.area.height());
    let widest = WIDEST_TEXT * (above.to - above.from);
    first.area.top - above.at < first.area.height()
        && beside.count() >= MINIMUM_PIECES
        && inside.iter().all(|segment| segment.area.width() <= widest)
}
