//! `normalize_whitespace`: control and zero-width characters go, odd spaces become blanks, trailing
//! blanks and runs of more than two blank lines go. Code keeps its bytes.

use tributary_schemas::Result;

use super::{Cleaner, Draft, Settings};
use crate::config::CleanersConfig;
use tributary_convert::lines::Fences;

/// Blank lines in a row that stay.
const MAXIMUM_BLANK_LINES: usize = 2;

#[derive(Debug)]
struct NormalizeWhitespace;

pub(super) fn make(_: &mut Settings, _: &CleanersConfig) -> Result<Box<dyn Cleaner>> {
    Ok(Box::new(NormalizeWhitespace))
}

impl Cleaner for NormalizeWhitespace {
    fn clean(&self, draft: &mut Draft) {
        draft.markdown = normalize(&draft.markdown);
    }
}

/// Also run on every document, whatever its profile, before anything else looks at it.
pub(crate) fn normalize(markdown: &str) -> String {
    let mut fences = Fences::default();
    let mut result = String::with_capacity(markdown.len());
    let mut blank_lines = MAXIMUM_BLANK_LINES;
    for line in markdown.split_inclusive('\n') {
        if fences.is_code(line) {
            result.push_str(line);
            blank_lines = 0;
            continue;
        }
        let text = line.strip_suffix('\n').unwrap_or(line);
        let begins = result.len();
        result.extend(text.chars().filter_map(visible));
        // Two trailing blanks are a line break in Markdown; the line end says as much to a reader.
        let length = result
            .get(begins..)
            .map_or(0, |added| added.trim_end().len());
        result.truncate(begins + length);
        blank_lines = if length == 0 { blank_lines + 1 } else { 0 };
        if blank_lines <= MAXIMUM_BLANK_LINES {
            result.push('\n');
        }
    }
    end_with_newline(&mut result);
    result
}

fn end_with_newline(text: &mut String) {
    let length = text.trim_end_matches('\n').len();
    text.truncate(length);
    if !text.is_empty() {
        text.push('\n');
    }
}

/// The character as it is kept.
fn visible(character: char) -> Option<char> {
    match character {
        '\t' => Some('\t'),
        '\u{A0}'
        | '\u{1680}'
        | '\u{2000}'..='\u{200A}'
        | '\u{202F}'
        | '\u{205F}'
        | '\u{3000}'
        | '\u{2028}'
        | '\u{2029}'
        | '\u{85}' => Some(' '),
        '\u{200B}'
        | '\u{200E}'
        | '\u{200F}'
        | '\u{202A}'..='\u{202E}'
        | '\u{2060}'..='\u{2069}'
        | '\u{FEFF}'
        | '\u{AD}' => None,
        other if other.is_control() => None,
        other => Some(other),
    }
}
