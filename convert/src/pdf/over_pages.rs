//! Tables that go on over pages: their rows without the head that is printed again, and rows that
//! the end of a page breaks whole again.

use super::blocks::Block;
use super::lines;
use super::tables::Table;

/// How far the edges of both parts may differ, in points.
const SAME_EDGE: f32 = 6.0;

/// Tells the tables at the beginning of pages that go on from the end of the page before.
pub(super) fn mark(pages: &mut [Vec<Block>]) {
    for at in 1..pages.len() {
        let (before, own) = pages.split_at_mut(at);
        let (Some(before), Some(own)) = (before.last_mut(), own.first_mut()) else {
            continue;
        };
        let is_note = |block: &&mut Block| matches!(block, Block::Note(..));
        let last = before.iter_mut().rev().find(|block| !is_note(block));
        let (Some(Block::Table(above)), Some(Block::Table(below))) = (last, own.first_mut()) else {
            continue;
        };
        if !go_on(above, below) {
            continue;
        }
        if is_same_head(above, below) {
            below.rows.remove(0);
        }
        below.head_before = above.head().cloned();
        if below.goes_on && !below.rows.is_empty() && above.rows.len() > 1 {
            let rest = below.rows.remove(0);
            let cells = above.rows.last_mut().into_iter().flatten();
            cells
                .zip(rest)
                .for_each(|(cell, rest)| go_on_with(cell, &rest));
        }
        if below.rows.is_empty() {
            own.remove(0);
        }
    }
}

/// Adds the rest of a cell to its beginning.
fn go_on_with(cell: &mut String, rest: &str) {
    match cell.is_empty() || rest.contains('\n') {
        true if rest.is_empty() => {}
        true => *cell = [cell.as_str(), rest].join("\n").trim().to_owned(),
        false => lines::append(cell, rest, cell.ends_with('-')),
    }
}

fn go_on(above: &Table, below: &Table) -> bool {
    let columns = |table: &Table| table.rows.first().map(Vec::len);
    let is_near = |one: f32, other: f32| (one - other).abs() <= SAME_EDGE;
    let is_below =
        || is_near(above.area.left, below.area.left) && is_near(above.area.right, below.area.right);
    columns(above) == columns(below)
        && (is_same_head(above, below)
            || match (above.is_head_told, below.is_head_told) {
                (Some(_), Some(is_head)) => !is_head,
                (None, None) => is_below(),
                _ => false,
            })
}

/// Whether the other begins with the head of the one.
fn is_same_head(above: &Table, below: &Table) -> bool {
    let head = above
        .head()
        .filter(|head| head.iter().any(|cell| !cell.is_empty()));
    head.is_some_and(|head| below.rows.first() == Some(head))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pdf::geometry::Area;

    fn table(rows: &[[&str; 2]], left: f32) -> Block {
        let row = |row: &[&str; 2]| row.map(str::to_owned).to_vec();
        Block::Table(Table {
            area: Area {
                left,
                right: 500.0,
                ..Area::default()
            },
            rows: rows.iter().map(row).collect(),
            ..Table::default()
        })
    }

    fn marked(pages: &[Block]) -> Vec<(usize, bool)> {
        let mut pages: Vec<Vec<Block>> = pages.iter().map(|block| vec![block.clone()]).collect();
        mark(&mut pages);
        let tables = pages.iter().map(|page| match page.first() {
            Some(Block::Table(table)) => (table.rows.len(), table.head_before.is_some()),
            _ => (0, false),
        });
        tables.collect()
    }

    #[test]
    fn rows_go_on_without_the_head_that_is_printed_again() {
        let (head, row) = (["Part", "Torque"], ["V-12", "55"]);
        let pages = [
            table(&[head, row], 50.0),
            table(&[head, row, row], 90.0),
            table(&[row], 90.0),
            table(&[row], 200.0),
            table(&[head], 50.0),
        ];
        assert_eq!(
            marked(&pages),
            [(2, false), (2, true), (1, true), (1, false), (1, false)]
        );
        assert_eq!(
            marked(&[table(&[head, row], 50.0), table(&[head], 50.0)]),
            [(2, false), (0, false)]
        );
    }

    #[test]
    fn rows_that_a_page_breaks_are_whole() {
        let told = |rows: &[[&str; 2]], is_head, goes_on| match table(rows, 0.0) {
            Block::Table(table) => Block::Table(Table {
                goes_on,
                is_head_told: Some(is_head),
                ..table
            }),
            other => other,
        };
        let head = ["Part", "Torque"];
        let above = told(&[head, ["V-12", "55 newton"]], true, false);
        let note = Block::Note('1', "Or so.".into());
        let rows = |page: &Vec<Block>| match page.first() {
            Some(Block::Table(table)) => table.rows.clone(),
            _ => Vec::new(),
        };
        let joined = |below: Block| {
            let mut pages = [vec![above.clone(), note.clone()], vec![below]];
            mark(&mut pages);
            pages.map(|page| rows(&page))
        };
        assert_eq!(
            joined(told(&[["", "metres"], ["V-13", "60"]], false, true)),
            [
                vec![head, ["V-12", "55 newton metres"]],
                vec![["V-13", "60"]]
            ]
        );
        // Nothing but the head again.
        assert_eq!(
            joined(told(&[head], true, true)),
            [vec![head, ["V-12", "55 newton"]], vec![]]
        );
    }

    #[test]
    fn tags_say_whether_a_table_begins() {
        let told = |is_head| match table(&[["Part", "55"]], 0.0) {
            Block::Table(table) => Block::Table(Table {
                is_head_told: Some(is_head),
                rows: [table.rows, vec![vec![is_head.to_string(); 2]]].concat(),
                ..table
            }),
            other => other,
        };
        let other_head = match told(true) {
            Block::Table(mut table) => {
                table.rows.remove(0);
                Block::Table(table)
            }
            other => other,
        };
        assert_eq!(marked(&[told(true), told(false)]).last(), Some(&(1, true)));
        assert_eq!(marked(&[told(true), other_head]).last(), Some(&(1, false)));
    }
}
