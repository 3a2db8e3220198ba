//! `repair_indentation`: text that an export indented is no code (3GPP): paragraphs lose the
//! indentation that Markdown would read as a code block, list items keep their nesting.

use tributary_schemas::Result;

use super::{Cleaner, Draft, Settings};
use crate::config::CleanersConfig;
use tributary_convert::lines::map_text_lines;

/// Columns of a tab.
const TAB: usize = 4;

/// Columns per list level in the repaired text.
const LEVEL: usize = 2;

#[derive(Debug)]
struct RepairIndentation;

pub(super) fn make(_: &mut Settings, _: &CleanersConfig) -> Result<Box<dyn Cleaner>> {
    Ok(Box::new(RepairIndentation))
}

impl Cleaner for RepairIndentation {
    fn clean(&self, draft: &mut Draft) {
        let mut levels: Vec<usize> = Vec::new();
        draft.markdown = map_text_lines(&draft.markdown, |line| Some(repaired(line, &mut levels)));
    }
}

/// The line with the indentation of its list level; `levels` holds the columns of the open list
/// levels.
fn repaired(line: &str, levels: &mut Vec<usize>) -> String {
    let text = line.trim_start_matches([' ', '\t', '\u{A0}', '\u{3000}']);
    if text.is_empty() {
        return String::new();
    }
    let column = column_of(line.get(..line.len() - text.len()).unwrap_or_default());
    if !is_list_item(text) {
        // Text under an item keeps to that item, other text ends the list.
        let inside = levels.iter().filter(|level| **level < column).count();
        levels.truncate(inside);
        return " ".repeat(LEVEL * inside) + text;
    }
    levels.retain(|level| *level < column);
    let indented = " ".repeat(LEVEL * levels.len()) + text;
    // Deeper than any real list: the columns of a drawing, not levels.
    if levels.len() < 12 {
        levels.push(column);
    }
    indented
}

fn column_of(white: &str) -> usize {
    white.chars().fold(0, |column, character| {
        if character == '\t' {
            (column / TAB + 1) * TAB
        } else {
            column + 1
        }
    })
}

/// `- x`, `* x`, `1. x`, `1) x`, `a) x`, and the `-` + tab of 3GPP.
fn is_list_item(text: &str) -> bool {
    let mut characters = text.chars();
    let Some(first) = characters.next() else {
        return false;
    };
    let after = characters.as_str();
    let spaced = |rest: &str| rest.starts_with([' ', '\t']);
    if matches!(first, '-' | '*' | '+' | '•' | '–') {
        return spaced(after);
    }
    let digits = text.chars().take_while(char::is_ascii_digit).count();
    let after_number = text.get(digits..).unwrap_or_default();
    let numbered =
        (1..=3).contains(&digits) && (after_number.strip_prefix(['.', ')']).is_some_and(spaced));
    let lettered = first.is_ascii_lowercase() && after.strip_prefix(')').is_some_and(spaced);
    numbered || lettered
}
