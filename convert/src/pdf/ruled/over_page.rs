//! Tables that go on over the end of a page, where no line is drawn: those around their head stand on
//! the page where they begin, the one below their last row where they end.

use super::{Area, Parted, Rule, Rules, SAME_END, Segment, Table};
use super::{between_rules, pieces, stack_left, stack_right};
use crate::pdf::wrapped::between_rules::rows_of_body;

/// Part of the height of the page at which such a table ends at least.
const LOW: f32 = 0.7;

/// What the next page has to know of such a table.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::pdf) struct Open {
    /// Where its columns begin, in points.
    lefts: Vec<f32>,
    width: f32,
    head: Vec<String>,
}

/// Takes the text below the lines of a head, if nothing else stands there.
pub(super) fn begin(stack: &[Rule], parted: &mut Parted, rules: &Rules, height: f32) {
    let [top, below_head] = stack else { return };
    let is_lowest = rules.horizontal.iter().all(|rule| rule.at <= below_head.at);
    let (left, right) = (stack_left(stack), stack_right(stack));
    let (below, rest): (Vec<Segment>, Vec<Segment>) = std::mem::take(&mut parted.rest)
        .into_iter()
        .partition(|segment| is_lowest && segment.area.middle() > top.at);
    parted.rest = rest;
    let area = Area::around(below.iter().map(|segment| segment.area)).unwrap_or_default();
    let is_inside =
        area.left > left - SAME_END && area.right < right + SAME_END && area.bottom > LOW * height;
    let edges = [top.at, below_head.at, area.bottom + 1.0];
    let found = between_rules(&below, &edges)
        .filter(|(_, lefts)| is_inside && ends_in_columns(&below, lefts));
    match found {
        Some((rows, lefts)) => {
            parted.open = Some(Open {
                lefts,
                width: right - left,
                head: rows.first().cloned().unwrap_or_default(),
            });
            parted.tables.push(Table {
                area: Area {
                    left,
                    right,
                    top: top.at,
                    bottom: area.bottom,
                },
                rows,
                ..Table::default()
            });
        }
        None => parted.rest.extend(below),
    }
}

impl Open {
    /// Takes the text of the page down to the line below the table, or all of it, if it goes on with the
    /// columns of the table.
    pub(super) fn go_on(self, parted: &mut Parted, rules: &Rules) {
        let end = rules
            .horizontal
            .iter()
            .find(|rule| (rule.to - rule.from - self.width).abs() <= SAME_END);
        let bottom = end.map_or(f32::MAX, |rule| rule.at);
        let (above, rest): (Vec<Segment>, Vec<Segment>) = std::mem::take(&mut parted.rest)
            .into_iter()
            .partition(|segment| segment.area.middle() < bottom);
        parted.rest = rest;
        let pieces = pieces(&above);
        let Some(area) = Area::around(pieces.iter().map(|piece| piece.area)) else {
            return;
        };
        // Pages to the left and to the right may have other margins.
        let shift = area.left - self.lefts.first().copied().unwrap_or_default();
        let lefts: Vec<f32> = self.lefts.iter().map(|left| left + shift).collect();
        let is_inside = area.width() < self.width + SAME_END;
        let rows = rows_of_body(&pieces, &lefts)
            .filter(|_| is_inside && (end.is_some() || ends_in_columns(&above, &lefts)));
        let Some(rows) = rows else {
            parted.rest.extend(above);
            return;
        };
        parted.tables.push(Table {
            area,
            rows,
            head_before: Some(self.head.clone()),
            ..Table::default()
        });
        if end.is_none() {
            parted.open = Some(Self { lefts, ..self });
        }
    }
}

/// Whether no text of the last line stands in two columns: what follows a table does.
fn ends_in_columns(segments: &[Segment], lefts: &[f32]) -> bool {
    let pieces = pieces(segments);
    let bottom = pieces
        .iter()
        .map(|piece| piece.area.bottom)
        .fold(f32::MIN, f32::max);
    let mut last = pieces
        .iter()
        .filter(|piece| piece.area.bottom > bottom - piece.size);
    last.all(|piece| {
        let area = piece.area;
        !lefts
            .iter()
            .any(|left| (area.left + SAME_END..area.right).contains(left))
    })
}
