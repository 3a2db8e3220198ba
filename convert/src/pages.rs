//! Where pages, slides and sheets begin. Converters put a form feed before each page but the first;
//! cleaning steps, which work line by line, meet a mark on a line of its own; chunks know their
//! pages by the offsets that are left when the marks are taken out.

use crate::escape::{columns, is_wide};

/// No text contains it: Unicode keeps it for the inside of programs.
const MARK: char = '\u{FDD0}';

/// Whether the character marks the beginning of a page.
pub fn is_mark(character: char) -> bool {
    character == MARK
}

/// Columns (Chinese characters take two) from which a line is one of text that a page may break.
const LONG_LINE: usize = 30;

/// Text with form feeds to text with marks, each a line. A page begins a block of its own unless the
/// block before it goes on there: a sentence, the rows of a table, the items of a list.
pub fn mark(markdown: &str) -> String {
    let mut marked = String::with_capacity(markdown.len());
    let mut pages = markdown.split('\u{c}').map(|page| page.replace(MARK, ""));
    marked.extend(pages.next());
    for page in pages {
        if !marked.is_empty() && !marked.ends_with('\n') {
            marked.push('\n');
        }
        if !goes_on(&marked, &page) {
            marked.push('\n');
        }
        marked.push(MARK);
        marked.push('\n');
        marked.push_str(&page);
    }
    marked
}

/// Whether nothing is to part what stands before a page and the page.
fn goes_on(before: &str, page: &str) -> bool {
    let is_text = |line: &&str| !line.starts_with(MARK);
    let Some(last) = before.lines().rev().find(is_text).map(str::trim) else {
        return true;
    };
    let mut lines = page.lines().map(str::trim);
    let first = lines.next().unwrap_or_default();
    let is_parted = last.is_empty() || first.is_empty();
    let (from, to) = (Line::of(last), Line::of(first));
    is_parted
        || match (from, to) {
            // A head follows where a table begins.
            (Line::Row, Line::Row) => !lines.next().is_some_and(is_rule_of_table),
            (Line::Item, Line::Item) => true,
            (Line::Item | Line::Text, Line::Text) => is_one_sentence(last, first),
            _ => false,
        }
}

/// What a line of Markdown is part of.
#[derive(Clone, Copy, PartialEq)]
enum Line {
    Row,
    Item,
    Text,
    Other,
}

impl Line {
    fn of(line: &str) -> Self {
        let number = line.trim_start_matches(|sign: char| sign.is_ascii_digit());
        let is_number = number.len() < line.len() && number.starts_with(". ");
        match line {
            _ if line.starts_with('|') => Self::Row,
            _ if is_number || line.starts_with("- ") => Self::Item,
            _ if line.starts_with(['#', '>', '`', '!', '<', '$', '[']) => Self::Other,
            _ => Self::Text,
        }
    }
}

fn is_rule_of_table(line: &str) -> bool {
    let is_of_rule = |sign: char| matches!(sign, '|' | '-' | ':' | ' ');
    line.contains("--") && line.chars().all(is_of_rule)
}

/// Whether a line that is long and ends in the middle of a sentence goes on with the other.
fn is_one_sentence(last: &str, first: &str) -> bool {
    let (Some(end), Some(start)) = (last.chars().next_back(), first.chars().next()) else {
        return false;
    };
    let is_open = matches!(end, ',' | '，' | '、' | '-' | '(' | '（');
    columns(last) >= LONG_LINE
        && (is_open || end.is_alphanumeric())
        && (is_open || start.is_lowercase() || is_wide(start))
}

/// Takes the marks out. Returns the text and the byte offsets at which pages 1, 2, … begin; none if
/// there is no mark.
pub fn take_out(marked: &str) -> (String, Vec<u64>) {
    let mut starts = Vec::new();
    let mut text = String::with_capacity(marked.len());
    for part in marked.split(MARK) {
        let part = if starts.is_empty() {
            part
        } else {
            part.strip_prefix('\n').unwrap_or(part)
        };
        starts.push(text.len() as u64);
        text.push_str(part);
    }
    if starts.len() == 1 {
        starts.clear();
    }
    (text, starts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_point_at_the_beginnings_of_pages() {
        let (text, starts) = take_out(&mark("# 一\n\ntext\u{c}# Two\n\u{c}\u{c}four\n"));
        assert_eq!(text, "# 一\n\ntext\n\n# Two\n\nfour\n");
        let pages: Vec<&str> = starts
            .iter()
            .map(|start| text.get(*start as usize..).unwrap_or_default())
            .collect();
        assert_eq!(
            pages,
            [
                "# 一\n\ntext\n\n# Two\n\nfour\n",
                "# Two\n\nfour\n",
                "\nfour\n",
                "four\n"
            ]
        );
    }

    #[test]
    fn what_goes_on_over_pages_is_not_parted() {
        let joined =
            |before: &str, page: &str| take_out(&mark(&format!("{before}\n\u{c}{page}"))).0;
        let long = "a line that is long enough to be one of many";
        for (before, page) in [
            (long, "goes on here."),
            (
                "我们把这一页的最后一句话写得很长很长，",
                "Tributary 也在下一页继续。",
            ),
            ("| a | b |\n| --- | --- |\n| 1 | 2 |", "| 3 | 4 |"),
            ("- one", "- two"),
            ("1. one", "2. two"),
        ] {
            assert_eq!(joined(before, page), format!("{before}\n{page}"));
        }
        for (before, page) in [
            (long, "Another title"),
            (format!("{long}.").as_str(), "goes on here."),
            ("A title", "goes on"),
            (
                "| a | b |\n| --- | --- |\n| 1 | 2 |",
                "| 3 | 4 |\n| --- | --- |",
            ),
            ("| a | b |\n| --- | --- |\n| 1 | 2 |", "第二章"),
            ("- one item of a list, which is rather long.", "Text"),
            ("```", "text"),
        ] {
            assert_eq!(joined(before, page), format!("{before}\n\n{page}"));
        }
    }

    #[test]
    fn text_without_pages_stays_as_it_is() {
        assert_eq!(take_out(&mark("# a\n\nb")), ("# a\n\nb".to_owned(), vec![]));
        assert_eq!(take_out(&mark("a\u{FDD0}b")), ("ab".to_owned(), vec![]));
    }
}
