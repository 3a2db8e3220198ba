//! Which characters of plain text Markdown would read as marks, and code spans.

use crate::blanks::collapsed;

/// Code within a line, white space collapsed; empty for nothing.
pub(crate) fn code_span(code: &str) -> String {
    let code = collapsed(code);
    if code.is_empty() {
        return code;
    }
    let fence = "`".repeat(longest_run(&code, '`') + 1);
    let pad = if code.starts_with('`') || code.ends_with('`') {
        " "
    } else {
        ""
    };
    format!("{fence}{pad}{code}{pad}{fence}")
}

/// Plain text with what Markdown would read as marks escaped; line ends stay.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut characters = text
        .chars()
        .filter(|character| *character == '\n' || !is_invisible(*character))
        .peekable();
    while let Some(character) = characters.next() {
        if needs_escape(
            character,
            out.chars().next_back(),
            characters.peek().copied(),
            false,
        ) {
            out.push('\\');
        }
        out.push(character);
    }
    out
}

/// Zero-width characters, marks of direction, soft hyphens and control characters, of no use to a
/// reader.
pub(crate) fn is_invisible(character: char) -> bool {
    matches!(
        character,
        '\u{200B}'
            | '\u{200E}'
            | '\u{200F}'
            | '\u{202A}'..='\u{202E}'
            | '\u{2060}'
            | '\u{2066}'..='\u{2069}'
            | '\u{FEFF}'
            | '\u{AD}'
    ) || (character.is_control() && character != '\t')
}

/// Chinese and Japanese characters and full-width punctuation: no space between them where the
/// source has a line end.
pub(crate) fn is_wide(character: char) -> bool {
    matches!(
        character,
        '\u{2E80}'..='\u{9FFF}'
            | '\u{F900}'..='\u{FAFF}'
            | '\u{FE30}'..='\u{FE4F}'
            | '\u{FF01}'..='\u{FF60}'
            | '\u{FFE0}'..='\u{FFE6}'
            | '\u{20000}'..='\u{3FFFF}'
    )
}

/// Columns that a text takes: Chinese characters take two.
pub(crate) fn columns(text: &str) -> usize {
    text.chars()
        .map(|letter| 1 + usize::from(is_wide(letter)))
        .sum()
}

/// Whether Markdown would read the character as a mark here.
pub(crate) fn needs_escape(
    character: char,
    previous: Option<char>,
    next: Option<char>,
    in_link: bool,
) -> bool {
    let is_word = |neighbour: Option<char>| neighbour.is_some_and(char::is_alphanumeric);
    match character {
        '`' => true,
        '\\' => next.is_some_and(|next| next.is_ascii_punctuation()),
        '*' => {
            !(previous.is_none_or(char::is_whitespace) && next.is_none_or(char::is_whitespace))
                || previous.is_none()
        }
        '_' => !(is_word(previous) && (next.is_none() || is_word(next))),
        '<' => {
            next.is_some_and(|next| next.is_ascii_alphabetic() || matches!(next, '/' | '!' | '?'))
        }
        '[' => in_link || next == Some('^'),
        ']' => in_link || matches!(next, Some('(' | '[')),
        '~' => next == Some('~') || previous == Some('~'),
        '&' => next == Some('#'),
        _ => false,
    }
}

/// Escapes line starts that Markdown would read as headings, lists, quotes, code or rules.
pub(crate) fn escape_starts(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for (index, line) in text.split('\n').enumerate() {
        if index > 0 {
            escaped.push('\n');
        }
        match escape_position(line).and_then(|at| line.split_at_checked(at)) {
            Some((before, after)) => escaped.extend([before, "\\", after]),
            None => escaped.push_str(line),
        }
    }
    escaped
}

/// Where a line needs a backslash for that.
pub(crate) fn escape_position(line: &str) -> Option<usize> {
    let first = line.chars().next()?;
    let after_run = line.trim_start_matches(first);
    let is_spaced = after_run.is_empty() || after_run.starts_with(' ');
    let run = line.len() - after_run.len();
    match first {
        '#' if run <= 6 && is_spaced => Some(0),
        '-' | '+' if run == 1 && is_spaced => Some(0),
        '=' | '-' | '_' if after_run.is_empty() => Some(0),
        '>' | '|' => Some(0),
        '~' if run >= 3 => Some(0),
        '0'..='9' => numbered_mark(line),
        _ => None,
    }
}

/// Where the `.` or `)` of a list number stands that begins the line.
fn numbered_mark(line: &str) -> Option<usize> {
    let digits = line.chars().take_while(char::is_ascii_digit).count();
    let after = line.get(digits..)?;
    let is_mark = digits <= 9
        && after.starts_with(['.', ')'])
        && (after.len() == 1 || after.get(1..)?.starts_with(' '));
    is_mark.then_some(digits)
}

/// A code block whose fence is longer than any run of backticks in it.
pub(crate) fn fenced(language: &str, code: &str) -> String {
    let fence = "`".repeat(longest_run(code, '`').max(2) + 1);
    let end = if code.ends_with('\n') || code.is_empty() {
        ""
    } else {
        "\n"
    };
    format!("{fence}{language}\n{code}{end}{fence}\n")
}

/// Length of the longest run of `wanted`.
pub(crate) fn longest_run(text: &str, wanted: char) -> usize {
    let (mut longest, mut current) = (0, 0);
    for character in text.chars() {
        current = if character == wanted { current + 1 } else { 0 };
        longest = longest.max(current);
    }
    longest
}

/// A link destination as Markdown writes it.
pub(crate) fn destination(link: &str) -> String {
    let link = link.replace(['\n', '\r', '\t'], "");
    if link.contains([' ', '(', ')', '<', '>']) {
        format!("<{}>", link.replace('<', "%3C").replace('>', "%3E"))
    } else {
        link
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_like_a_note_is_no_note_and_directions_are_no_text() {
        assert_eq!(escaped("see [^1] and [1]"), "see \\[^1] and [1]");
        assert_eq!(escaped("a\u{202E}b\u{2066}c"), "abc");
    }

    #[test]
    fn fences_are_longer_than_what_they_hold() {
        assert_eq!(fenced("c", "x"), "```c\nx\n```\n");
        assert_eq!(fenced("", "````\n"), "`````\n````\n`````\n");
    }
}
