//! Lines and their indentation. Indentation is spaces only, once tabs are expanded, so cutting at
//! it is cutting at a character.

/// Columns between tab stops.
const TAB_STOP: usize = 8;

/// Tabs to spaces; wide characters count one column, as docutils counts them here.
pub(super) fn expand_tabs(text: &str) -> String {
    if !text.contains('\t') {
        return text.to_owned();
    }
    let mut expanded = String::with_capacity(text.len() + text.len() / 8);
    let mut column = 0;
    for character in text.chars() {
        match character {
            '\t' => {
                let spaces = TAB_STOP - column % TAB_STOP;
                expanded.extend(std::iter::repeat_n(' ', spaces));
                column += spaces;
            }
            '\n' => {
                expanded.push('\n');
                column = 0;
            }
            other => {
                expanded.push(other);
                column += 1;
            }
        }
    }
    expanded
}

/// Spaces before the first other character.
pub(super) fn indentation(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Whether nothing is on the line.
pub(super) fn is_blank(line: &str) -> bool {
    line.trim().is_empty()
}

/// How many lines from the start are blank or indented; blank ones at the end do not count.
pub(super) fn indented(lines: &[&str]) -> usize {
    let mut used = 0;
    for (index, line) in lines.iter().enumerate() {
        if is_blank(line) {
            continue;
        }
        if indentation(line) == 0 {
            break;
        }
        used = index + 1;
    }
    used
}

/// The lines without `columns` columns of indentation, or without as much of it as each has.
pub(super) fn cut<'a>(lines: &[&'a str], columns: usize) -> Vec<&'a str> {
    lines
        .iter()
        .map(|line| line.get(columns.min(indentation(line))..).unwrap_or(line))
        .collect()
}

/// The lines without the indentation that they share, and without blank lines at either end.
pub(super) fn dedent<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let shared = lines
        .iter()
        .filter(|line| !is_blank(line))
        .map(|line| indentation(line))
        .min()
        .unwrap_or(0);
    trimmed(cut(lines, shared))
}

/// Without blank lines at either end.
pub(super) fn trimmed(lines: Vec<&str>) -> Vec<&str> {
    let Some(first) = lines.iter().position(|line| !is_blank(line)) else {
        return Vec::new();
    };
    let last = lines
        .iter()
        .rposition(|line| !is_blank(line))
        .unwrap_or(first);
    lines.get(first..=last).unwrap_or_default().to_vec()
}

/// The character that a line of punctuation is made of, and how many of it.
pub(super) fn adornment(line: &str) -> Option<(char, usize)> {
    let trimmed = line.trim_end();
    let first = trimmed.chars().next().filter(char::is_ascii_punctuation)?;
    trimmed
        .bytes()
        .all(|byte| char::from(byte) == first)
        .then_some((first, trimmed.len()))
}

/// Columns that a text takes on a screen: two for a Chinese character.
pub(super) fn display_width(text: &str) -> usize {
    text.chars().map(character_width).sum()
}

/// Columns of one character.
pub(super) fn character_width(character: char) -> usize {
    match character {
        '\u{300}'..='\u{36F}' | '\u{200B}'..='\u{200F}' | '\u{FE00}'..='\u{FE0F}' => 0,
        '\u{1100}'..='\u{115F}'
        | '\u{2E80}'..='\u{303E}'
        | '\u{3041}'..='\u{A4CF}'
        | '\u{AC00}'..='\u{D7A3}'
        | '\u{F900}'..='\u{FAFF}'
        | '\u{FE30}'..='\u{FE6F}'
        | '\u{FF00}'..='\u{FF60}'
        | '\u{FFE0}'..='\u{FFE6}'
        | '\u{1F300}'..='\u{1FAFF}'
        | '\u{20000}'..='\u{3FFFD}' => 2,
        _ => 1,
    }
}
