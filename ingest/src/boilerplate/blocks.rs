//! Blocks of a Markdown text: runs of lines without a blank one between them. Headings, code and
//! page marks are no blocks and end one.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;
use tributary_taxonomy::fold;

use tributary_convert::lines::{LineKind, classified};

/// `](destination)`: where a link leads is no part of what it says.
static DESTINATION: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\]\([^()\s]*(?:\([^()]*\)[^()\s]*)*\)").ok());

/// Spaces that HTML has names for.
const NAMED_SPACES: [&str; 4] = ["&nbsp;", "&ensp;", "&emsp;", "&thinsp;"];

/// Longest block in bytes that is compared; longer ones are content.
const LONGEST_BLOCK: usize = 8192;

/// Bytes of each block, in order.
pub(super) fn blocks(markdown: &str) -> Vec<Range<usize>> {
    let mut blocks: Vec<Range<usize>> = Vec::new();
    let (mut offset, mut in_block) = (0, false);
    for (line, kind) in classified(markdown) {
        let end = offset + line.len();
        let is_text = kind == LineKind::Text;
        match blocks.last_mut() {
            Some(last) if is_text && in_block => last.end = end,
            _ if is_text => blocks.push(offset..end),
            _ => {}
        }
        in_block = is_text;
        offset = end;
    }
    blocks
}

/// The text that two copies of a block share: folded, without link destinations, marks and odd
/// spaces, every number as 0.
pub(super) fn normalised(block: &str) -> String {
    let said = match DESTINATION.as_ref() {
        Some(destination) => destination.replace_all(block, "]"),
        None => block.into(),
    };
    let mut said = said.into_owned();
    for space in NAMED_SPACES {
        if said.contains(space) {
            said = said.replace(space, " ");
        }
    }
    let mut normal = String::with_capacity(said.len());
    for character in fold(&said).chars() {
        match character {
            digit if digit.is_ascii_digit() && normal.ends_with('0') => {}
            digit if digit.is_ascii_digit() => normal.push('0'),
            '*' | '_' | '`' | '[' | ']' | '!' | '>' | '|' | '#' | '-' | '=' | '\\' => {
                space(&mut normal)
            }
            white if white.is_whitespace() => space(&mut normal),
            other => normal.push(other),
        }
    }
    normal.trim_end().to_owned()
}

fn space(text: &mut String) {
    if !text.is_empty() && !text.ends_with(' ') {
        text.push(' ');
    }
}

/// 16 hexadecimal digits of the BLAKE3 hash of a normalised block.
pub(super) fn hash(normalised: &str) -> String {
    blake3::hash(normalised.as_bytes())
        .to_hex()
        .chars()
        .take(16)
        .collect()
}

/// The text without the blocks of these hashes, and how many it had. A heading below which nothing
/// else stood goes with them.
pub fn without(markdown: &str, hashes: &HashSet<String>) -> (String, usize) {
    let is_learned = |range: &Range<usize>| {
        let block = markdown.get(range.clone()).unwrap_or_default();
        block.len() <= LONGEST_BLOCK && hashes.contains(&hash(&normalised(block)))
    };
    let dropped: Vec<Range<usize>> = blocks(markdown).into_iter().filter(is_learned).collect();
    if dropped.is_empty() {
        return (markdown.to_owned(), 0);
    }
    let emptied = emptied_headings(markdown, &dropped);
    let mut kept = String::with_capacity(markdown.len());
    let (mut offset, mut goes) = (0, false);
    for (line, kind) in classified(markdown) {
        // An underline goes with its heading.
        goes = if kind == LineKind::Underline {
            goes
        } else {
            holds(&dropped, offset) || emptied.contains(&offset)
        };
        if !goes {
            kept.push_str(line);
        }
        offset += line.len();
    }
    (kept, dropped.len())
}

/// Whether one of the ranges, which are in order, holds the offset.
fn holds(ranges: &[Range<usize>], offset: usize) -> bool {
    ranges
        .get(ranges.partition_point(|range| range.end <= offset))
        .is_some_and(|range| range.contains(&offset))
}

/// Offsets of the headings below which only dropped blocks stood. The first heading of a text, its
/// title, stays.
fn emptied_headings(markdown: &str, dropped: &[Range<usize>]) -> HashSet<usize> {
    // Headings above the line at hand: offset, level, whether something was dropped below, whether
    // something else is left there.
    let mut open: Vec<(usize, usize, bool, bool)> = Vec::new();
    let mut emptied = HashSet::new();
    let (mut offset, mut is_first) = (0, true);
    let mut close = |open: &mut Vec<(usize, usize, bool, bool)>, level: usize| {
        while let Some((at, _, lost, left)) = open.pop_if(|(_, above, ..)| *above >= level) {
            let goes = lost && !left;
            if goes {
                emptied.insert(at);
            }
            if let Some(above) = open.last_mut() {
                above.2 |= lost;
                above.3 |= !goes;
            }
        }
    };
    for (line, kind) in classified(markdown) {
        match kind {
            LineKind::Heading(level) => {
                close(&mut open, level);
                open.push((offset, level, false, std::mem::take(&mut is_first)));
            }
            LineKind::Blank | LineKind::Underline => {}
            LineKind::Text | LineKind::Other => {
                let is_dropped = holds(dropped, offset);
                if let Some(heading) = open.last_mut() {
                    heading.2 |= is_dropped;
                    heading.3 |= !is_dropped;
                }
            }
        }
        offset += line.len();
    }
    close(&mut open, 0);
    emptied
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(markdown: &str) -> Vec<&str> {
        blocks(markdown)
            .into_iter()
            .map(|range| markdown.get(range).unwrap_or_default())
            .collect()
    }

    fn hashes(blocks: &[&str]) -> HashSet<String> {
        blocks
            .iter()
            .map(|block| hash(&normalised(block)))
            .collect()
    }

    #[test]
    fn blocks_end_at_blank_lines_headings_and_code() {
        let markdown =
            "# T\none\ntwo\n\nthree\n```\ncode\n\ncode\n```\nfour\n## H\n| a |\n|---|\n| b |\n";
        assert_eq!(
            texts(markdown),
            ["one\ntwo\n", "three\n", "four\n", "| a |\n|---|\n| b |\n"]
        );
        assert_eq!(texts("# \n#hash is text\n"), ["#hash is text\n"]);
    }

    #[test]
    fn copies_differ_in_links_numbers_marks_and_case() {
        for (left, right) in [
            (
                "[![查看源文件](https://a/logo.svg)](https://a/1(2).md)",
                "[![查看源文件](https://b/x.svg)](b.md)",
            ),
            ("Page 3 of 12", "**page 14** of&nbsp;2"),
            ("> Was this\n> helpful?", "was this helpful?"),
        ] {
            assert_eq!(normalised(left), normalised(right), "{left}");
        }
        assert_ne!(normalised("parameter a"), normalised("parameter b"));
    }

    #[test]
    fn learned_blocks_go_with_the_headings_that_they_leave_empty() {
        let learned = hashes(&["Windows 8", "footer"]);
        let (text, dropped) = without(
            "# T\n\ntext\n\n## Requirements\n\n### Client\n\nWindows 10\n\n## More\n\nfooter\n\nx\n",
            &learned,
        );
        assert_eq!(
            (text.as_str(), dropped),
            ("# T\n\ntext\n\n\n\n\n## More\n\n\nx\n", 2)
        );
        let (text, _) = without(
            "Title\n===\n\ntext\n\nRequirements\n---\n\nWindows 11\n",
            &learned,
        );
        assert_eq!(
            text, "Title\n===\n\ntext\n\n\n",
            "an underlined heading goes with its underline"
        );
        let (text, _) = without("# Title\n\nfooter\n", &learned);
        assert_eq!(text, "# Title\n\n", "a title stays");
        let code = "```\nfooter\n```\n";
        assert_eq!(without(code, &learned), (code.to_owned(), 0));
    }
}
