//! Simple tables: columns under a line of `=`. Text in a column is found by screen columns, else by
//! characters, else by gaps of two spaces, as authors count wide characters in many ways.

use super::parser::Parser;
use super::source::{character_width, display_width, is_blank};
use super::tables::push_table;
use crate::block::Block;

/// A column: where it begins and ends; the last one has no end.
type Column = (usize, usize);

impl Parser<'_> {
    pub(super) fn simple_table(
        &mut self,
        line: &str,
        rest: &[&str],
        blocks: &mut Vec<Block>,
    ) -> Option<usize> {
        let columns = border(line, '=')?;
        let (end, header) = extent(rest)?;
        let mut rows: Vec<Vec<String>> = Vec::new();
        let mut after_gap = true;
        for (index, line) in rest.iter().enumerate().take(end).skip(1) {
            if border(line, '=').is_some() || Some(index) == header {
                after_gap = true;
            } else if let Some(underline) = border(line, '-') {
                // Underlined columns were one cell: join their texts.
                join_spans(&mut rows, &columns, &underline);
                after_gap = true;
            } else if is_blank(line) {
                after_gap = true;
            } else {
                add_line(&mut rows, cut(line, &columns), after_gap);
                after_gap = false;
            }
        }
        let mut inner_tables = Vec::new();
        let mut shown = Vec::with_capacity(rows.len());
        for row in rows {
            shown.push(
                row.iter()
                    .map(|text| self.cell_of(text, &mut inner_tables))
                    .collect(),
            );
        }
        push_table(shown, inner_tables, blocks);
        Some(end + 1)
    }
}

/// Columns of a line of `=` or `-` with gaps; a single one is no table.
fn border(line: &str, mark: char) -> Option<Vec<Column>> {
    let is_line = line.starts_with(mark)
        && line
            .chars()
            .all(|character| character == mark || character == ' ');
    if !is_line {
        return None;
    }
    let mut columns = Vec::new();
    let mut at = 0;
    for part in line.split(' ') {
        if !part.is_empty() {
            columns.push((at, at + part.len()));
        }
        at += part.len() + 1;
    }
    let is_enough = columns.len() >= 2 || mark == '-';
    is_enough.then_some(columns)
}

/// Lines of the bottom border and of the border below the header.
fn extent(rest: &[&str]) -> Option<(usize, Option<usize>)> {
    let mut borders = Vec::new();
    for (index, line) in rest.iter().enumerate() {
        if border(line, '=').is_some() {
            borders.push(index);
            let ends = borders.len() >= 2 && rest.get(index + 1).is_none_or(|next| is_blank(next));
            if ends || borders.len() == 3 {
                break;
            }
        }
    }
    match borders.as_slice() {
        [_, bottom] => Some((*bottom, None)),
        [_, header, bottom] => Some((*bottom, Some(*header))),
        _ => None,
    }
}

/// A new row, or more lines of the cells of the last one where the first column is empty.
fn add_line(rows: &mut Vec<Vec<String>>, cells: Vec<String>, after_gap: bool) {
    let continues = cells.first().is_none_or(|first| first.trim().is_empty()) && !rows.is_empty();
    if !continues {
        rows.push(cells);
        return;
    }
    let Some(last) = rows.last_mut() else { return };
    for (text, more) in last.iter_mut().zip(cells) {
        text.push_str(if after_gap && !more.trim().is_empty() {
            "\n\n"
        } else {
            "\n"
        });
        text.push_str(&more);
    }
}

/// Texts of the columns of a line.
fn cut(line: &str, columns: &[Column]) -> Vec<String> {
    let by_screen = cut_at(line, columns, character_width);
    let by_count = || cut_at(line, columns, |_| 1);
    by_screen.or_else(by_count).unwrap_or_else(|| {
        let mut parts: Vec<String> = line
            .split("  ")
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .map(str::to_owned)
            .collect();
        if line.starts_with(' ') {
            parts.insert(0, String::new());
        }
        let more = parts.split_off(columns.len().min(parts.len()));
        if let Some(last) = parts.last_mut().filter(|_| !more.is_empty()) {
            *last = format!("{last} {}", more.join(" "));
        }
        parts.resize(columns.len(), String::new());
        parts
    })
}

/// Cuts between columns; `None` where text stands in a gap. The last column goes on to the end of
/// the line.
fn cut_at(line: &str, columns: &[Column], width: fn(char) -> usize) -> Option<Vec<String>> {
    let mut cells = vec![String::new(); columns.len()];
    let mut at = 0;
    for character in line.chars() {
        let place = columns
            .iter()
            .rposition(|(start, _)| at >= *start)
            .unwrap_or(0);
        let in_gap =
            place + 1 < columns.len() && columns.get(place).is_some_and(|(_, end)| at >= *end);
        if in_gap && character != ' ' {
            return None;
        }
        cells.get_mut(place)?.push(character);
        at += width(character).max(1);
    }
    Some(cells)
}

/// Joins the cells of the last row that one underline runs below; what is joined stands in the
/// first of them.
fn join_spans(rows: &mut [Vec<String>], columns: &[Column], underline: &[Column]) {
    let Some(row) = rows.last_mut() else { return };
    for (start, end) in underline {
        let below = columns_between(columns, *start, *end);
        let [first, others @ ..] = below.as_slice() else {
            continue;
        };
        let more: Vec<String> = others
            .iter()
            .filter_map(|index| row.get_mut(*index).map(std::mem::take))
            .collect();
        if let Some(cell) = row.get_mut(*first) {
            more.iter()
                .filter(|text| display_width(text.trim()) > 0)
                .for_each(|text| {
                    cell.push(' ');
                    cell.push_str(text.trim());
                });
        }
    }
}

/// The numbers of the columns from one position of a line to another.
fn columns_between(columns: &[Column], start: usize, end: usize) -> Vec<usize> {
    (0..columns.len())
        .filter(|index| {
            columns
                .get(*index)
                .is_some_and(|(from, to)| *from >= start && *to <= end)
        })
        .collect()
}
