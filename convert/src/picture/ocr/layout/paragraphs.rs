//! Rows of a block to paragraphs. Lines are joined where the line above had no room for the next
//! word; otherwise the line end stays, and a wider gap, another size, an indent or the short last
//! line of running text begins a new paragraph.

use super::escape::escape_line;
use super::median;
use super::rows::{Row, separator};
use tributary_models::ocr::is_wide;

/// What stands between two lines.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Break {
    Joined,
    Line,
    Paragraph,
}

/// Text of the first rows: those of `block`, up to a row for which `ends` is true. Gives the number
/// of rows taken, at least one.
pub(super) fn text_before(
    rows: &[Row],
    ends: impl Fn(&[Row]) -> bool,
    block: usize,
) -> (String, usize) {
    let same_block = rows.iter().take_while(|row| row.block == block).count();
    let length = (1..same_block)
        .find(|at| ends(rows.get(*at..).unwrap_or_default()))
        .unwrap_or(same_block)
        .max(1);
    let rows = rows.get(..length).unwrap_or_default();
    let lines = lines(rows);
    let mut text = lines
        .iter()
        .map(|line| escape_line(line))
        .collect::<Vec<_>>()
        .join("\n");
    text.push('\n');
    (text, length)
}

/// Rows joined to lines, with an empty one between paragraphs.
fn lines(rows: &[Row]) -> Vec<String> {
    let shape = Shape::of(rows);
    let mut lines: Vec<String> = Vec::new();
    let mut before: Option<&Row> = None;
    for row in rows {
        let text = row.text();
        match before.map_or(Break::Line, |above| shape.between(above, row)) {
            Break::Joined => join(&mut lines, &text),
            Break::Line => lines.push(text),
            Break::Paragraph => lines.extend([String::new(), text]),
        }
        before = Some(row);
    }
    lines
}

/// Appends to the last line; a word that was parted at the line end is made whole.
fn join(lines: &mut Vec<String>, text: &str) {
    let Some(last) = lines.last_mut() else {
        lines.push(text.to_owned());
        return;
    };
    let mut ends = last.chars().rev();
    let is_parted = ends.next() == Some('-')
        && ends.next().is_some_and(char::is_lowercase)
        && text.starts_with(char::is_lowercase);
    if is_parted {
        last.pop();
    } else {
        last.push_str(separator(last, text));
    }
    last.push_str(text);
}

/// What the rows of a block have in common.
struct Shape {
    left: f32,
    right: f32,
    /// From line to line.
    pitch: f32,
    /// Whether most lines reach the right end.
    is_running_text: bool,
}

impl Shape {
    fn of(rows: &[Row]) -> Self {
        let left = rows.iter().map(Row::left).fold(f32::INFINITY, f32::min);
        let right = rows
            .iter()
            .map(Row::right)
            .fold(f32::NEG_INFINITY, f32::max);
        let pitch = median(
            rows.iter()
                .zip(rows.iter().skip(1))
                .map(|(above, below)| middle(below) - middle(above)),
        );
        let mut shape = Self {
            left,
            right,
            pitch,
            is_running_text: false,
        };
        let full = rows
            .iter()
            .zip(rows.iter().skip(1))
            .filter(|(above, below)| shape.is_full(above, below))
            .count();
        shape.is_running_text = rows.len() >= 3 && full * 2 >= rows.len() - 1;
        shape
    }

    fn between(&self, above: &Row, below: &Row) -> Break {
        let (smaller, larger) = (
            above.height().min(below.height()),
            above.height().max(below.height()),
        );
        if middle(below) - middle(above) > 1.4 * self.pitch || larger > 1.5 * smaller {
            return Break::Paragraph;
        }
        let is_indented = below.left() - self.left > 1.2 * below.height()
            && above.left() - self.left < 0.6 * above.height();
        match (self.is_full(above, below), self.is_running_text) {
            (true, true) if is_indented => Break::Paragraph,
            (true, true) if begins_item(&below.text()) => Break::Line,
            (true, true) => Break::Joined,
            (false, true) => Break::Paragraph,
            _ => Break::Line,
        }
    }

    /// Whether the row ends where the next one's first word would not have fitted any more.
    fn is_full(&self, row: &Row, next: &Row) -> bool {
        let text = next.text();
        let columns: usize = text
            .chars()
            .map(|character| if is_wide(character) { 2 } else { 1 })
            .sum();
        let column_width = (next.right() - next.left()) / columns.max(1) as f32;
        let first_word = match text.chars().next() {
            Some(first) if is_wide(first) => 4,
            _ => {
                text.chars()
                    .take_while(|character| !character.is_whitespace() && !is_wide(*character))
                    .take(20)
                    .count()
                    + 2
            }
        };
        self.right - row.right() < first_word as f32 * column_width
    }
}

fn middle(row: &Row) -> f32 {
    (row.top() + row.bottom()) / 2.0
}

/// Whether a line begins like an item of a list: a bullet, or a number with a mark.
fn begins_item(text: &str) -> bool {
    let after_digits = text.trim_start_matches(|character: char| character.is_ascii_digit());
    let is_numbered = after_digits.len() < text.len()
        && after_digits.starts_with(['.', ')', '、', '）'])
        && text.len() - after_digits.len() <= 3;
    is_numbered
        || text.starts_with([
            '•', '·', '●', '○', '■', '□', '◆', '▪', '※', '★', '-', '–', '*',
        ])
}
