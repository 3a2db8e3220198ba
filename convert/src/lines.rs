//! Walking through Markdown line by line with an eye on fenced code, for converters and cleaners
//! that must not touch code.

/// Follows code fences from line to line.
#[derive(Clone, Debug, Default)]
pub struct Fences {
    open: Option<(char, usize)>,
}

impl Fences {
    /// Whether this line, the next one of the text, is code: inside a fence or the fence itself.
    ///
    /// Fences inside lists and quotes count too, so indentation, quote marks and list marks before
    /// them are passed over.
    pub fn is_code(&mut self, line: &str) -> bool {
        let content = line.trim_start_matches([' ', '\t', '>']).trim_end();
        match self.open {
            Some((mark, length)) => {
                let run = run_of(content, mark);
                if run >= length && content.chars().count() == run {
                    self.open = None;
                }
                true
            }
            None => {
                let content = after_list_marks(content);
                let Some(mark) = content
                    .chars()
                    .next()
                    .filter(|mark| matches!(mark, '`' | '~'))
                else {
                    return false;
                };
                let run = run_of(content, mark);
                // A backtick after the fence makes it inline code, as in "```x```".
                let opens = run >= 3
                    && !(mark == '`'
                        && content.chars().skip(run).any(|character| character == '`'));
                if opens {
                    self.open = Some((mark, run));
                }
                opens
            }
        }
    }
}

/// What a line of Markdown is to a step that looks at paragraphs and sections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    /// Text, lists, tables.
    Text,
    /// Nothing.
    Blank,
    /// A heading of that level.
    Heading(usize),
    /// The line of `=` or `-` that makes the line before it a heading.
    Underline,
    /// Code with its fences, and marks of pages.
    Other,
}

/// All lines with their ends, and what they are.
pub fn classified(markdown: &str) -> Vec<(&str, LineKind)> {
    let mut fences = Fences::default();
    let mut lines: Vec<(&str, LineKind)> = Vec::new();
    for line in markdown.split_inclusive('\n') {
        let kind = if fences.is_code(line) {
            LineKind::Other
        } else {
            kind_of(line)
        };
        // Only one line of text stands above: under a paragraph of several, dashes end the
        // paragraph in the eyes of most authors.
        let stands_alone = !matches!(lines.iter().rev().nth(1), Some((_, LineKind::Text)));
        match (lines.last_mut(), underline_level(line)) {
            (Some((_, above)), Some(level))
                if *above == LineKind::Text && stands_alone && kind == LineKind::Text =>
            {
                *above = LineKind::Heading(level);
                lines.push((line, LineKind::Underline));
            }
            _ => lines.push((line, kind)),
        }
    }
    lines
}

fn kind_of(line: &str) -> LineKind {
    let text = line.trim();
    if line.chars().any(crate::pages::is_mark) {
        return LineKind::Other;
    }
    if text.is_empty() {
        return LineKind::Blank;
    }
    let level = text
        .chars()
        .take_while(|character| *character == '#')
        .count();
    let is_heading =
        (1..=6).contains(&level) && text.chars().nth(level).is_none_or(|next| next == ' ');
    if is_heading {
        LineKind::Heading(level)
    } else {
        LineKind::Text
    }
}

/// Level of the heading that a line of `=` or `-` makes of the line above it.
fn underline_level(line: &str) -> Option<usize> {
    let text = line.trim();
    let is_all =
        |mark: char| text.chars().count() > 1 && text.chars().all(|character| character == mark);
    if is_all('=') {
        Some(1)
    } else {
        is_all('-').then_some(2)
    }
}

/// The words of a heading's line.
pub fn heading_text(line: &str) -> &str {
    line.trim().trim_matches('#').trim()
}

fn run_of(text: &str, mark: char) -> usize {
    text.chars()
        .take_while(|character| *character == mark)
        .count()
}

/// Text after `- `, `* `, `+ `, `1. ` at its start, a few times.
fn after_list_marks(text: &str) -> &str {
    let mut rest = text;
    for _ in 0..8 {
        let after_bullet = rest.strip_prefix(['-', '*', '+']);
        let after_number = rest
            .trim_start_matches(|character: char| character.is_ascii_digit())
            .strip_prefix(['.', ')']);
        let numbered =
            after_number.filter(|_| rest.starts_with(|character: char| character.is_ascii_digit()));
        match after_bullet
            .or(numbered)
            .and_then(|after| after.strip_prefix(' '))
        {
            Some(after) => rest = after.trim_start(),
            None => break,
        }
    }
    rest
}

/// Rewrites every line that is not code. Lines come without their `\n`; `None` drops the line.
pub fn map_text_lines(markdown: &str, mut rewrite: impl FnMut(&str) -> Option<String>) -> String {
    let mut fences = Fences::default();
    let mut result = String::with_capacity(markdown.len());
    for line in markdown.split_inclusive('\n') {
        if fences.is_code(line) {
            result.push_str(line);
            continue;
        }
        let (text, end) = line
            .strip_suffix('\n')
            .map_or((line, ""), |text| (text, "\n"));
        if let Some(changed) = rewrite(text) {
            result.push_str(&changed);
            result.push_str(end);
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code_lines(text: &str) -> Vec<bool> {
        let mut fences = Fences::default();
        text.lines().map(|line| fences.is_code(line)).collect()
    }

    #[test]
    fn fences_open_and_close_as_in_commonmark() {
        assert_eq!(
            code_lines("a\n```c\nx\n```\nb"),
            [false, true, true, true, false]
        );
        assert_eq!(code_lines("````\n```\n````\nb"), [true, true, true, false]);
        assert_eq!(code_lines("~~~\n```\n~~~\nb"), [true, true, true, false]);
        assert_eq!(
            code_lines("- ```\n  x\n  ```\nb"),
            [true, true, true, false]
        );
        assert_eq!(
            code_lines("> ```\n> x\n> ```\nb"),
            [true, true, true, false]
        );
        assert_eq!(
            code_lines("1. ```\n   x\n   ```\nb"),
            [true, true, true, false]
        );
        assert_eq!(code_lines("```x``` inline\nb"), [false, false]);
        assert_eq!(
            code_lines("``` js\n```not the end\n```"),
            [true, true, true]
        );
    }

    #[test]
    fn headings_are_known_in_both_ways_of_writing() {
        use LineKind::{Blank, Heading, Other, Text, Underline};
        let kinds = |text| {
            classified(text)
                .into_iter()
                .map(|(_, kind)| kind)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            kinds("# A\n\nB\n---\ntext\nmore\n---\n"),
            [Heading(1), Blank, Heading(2), Underline, Text, Text, Text]
        );
        assert_eq!(
            kinds("C\n===\n| a |\n| - |\n```\nD\n---\n```\n"),
            [
                Heading(1),
                Underline,
                Text,
                Text,
                Other,
                Other,
                Other,
                Other
            ]
        );
        assert_eq!(kinds("#tag\n\n---\n"), [Text, Blank, Text]);
        assert_eq!(["## A b ##\n", "A b\n"].map(heading_text), ["A b", "A b"]);
    }

    #[test]
    fn only_text_lines_are_rewritten() {
        let upper = map_text_lines("a\n```\nb\n```\nc", |line| Some(line.to_uppercase()));
        assert_eq!(upper, "A\n```\nb\n```\nC");
        assert_eq!(
            map_text_lines("a\nb\n", |line| (line != "a").then(|| line.to_owned())),
            "b\n"
        );
    }
}
