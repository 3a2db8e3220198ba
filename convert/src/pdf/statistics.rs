//! What is usual in a document: the size and weight of its running text. Tells headings and code
//! from it.

use super::blocks::Paragraph;
use super::lines::Line;
use super::page_text::PageText;
use super::segments::Segment;
use super::structure;

/// Sizes are counted in steps of this many points.
const SIZE_STEP: f32 = 0.5;

/// Size of a heading relative to running text.
const HEADING_SIZE: f32 = 1.12;

/// Smallest bold heading relative to running text.
const BOLD_SIZE: f32 = 0.88;

/// Characters of a piece of running text, those of a page, and the share of its usual size in
/// percent, from which the page's own counts.
const PROSE_CHARACTERS: usize = 25;
const PAGE_CHARACTERS: usize = 400;
const PAGE_PERCENT: usize = 50;

/// Most characters and lines of a heading.
const MAXIMUM_CHARACTERS: usize = 220;
const MAXIMUM_LINES: usize = 4;
const MAXIMUM_BOLD_CHARACTERS: usize = 120;
const MAXIMUM_BOLD_LINES: usize = 2;
const MAXIMUM_OTHER_CHARACTERS: usize = 70;

/// Characters from which large text that ends like a sentence is one.
const MAXIMUM_SENTENCE_CHARACTERS: usize = 50;

/// The looks of the running text.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Statistics {
    /// Size of its letters in points.
    pub body_size: f32,
    /// Stands for the name of its font.
    pub font: u32,
    /// It is bold, so bold lines are no headings.
    pub is_bold: bool,
    /// It is in a font of one width, so such lines are no code.
    pub is_fixed: bool,
}

impl Statistics {
    /// Counts the characters of all pages.
    pub(super) fn of(pages: &[PageText]) -> Self {
        let (mut bold, mut fixed, mut all) = (0, 0, 0);
        for segment in pages.iter().flat_map(segments) {
            bold += segment.bold;
            fixed += segment.fixed;
            all += segment.characters;
        }
        let body_size = usual_size(pages.iter().flat_map(segments)).map_or(10.0, |(size, _)| size);
        let font = usual_font(pages.iter().flat_map(segments));
        Self {
            body_size,
            font,
            is_bold: bold * 2 > all,
            is_fixed: fixed * 2 > all,
        }
    }

    /// The same with the size of the running text of one page, if it has enough of it: parts of a
    /// document differ.
    pub(super) fn of_page(&self, page: &PageText) -> Self {
        let prose = || segments(page).filter(|segment| segment.characters >= PROSE_CHARACTERS);
        let characters: usize = prose().map(|segment| segment.characters).sum();
        let own = usual_size(prose()).filter(|(_, count)| {
            characters >= PAGE_CHARACTERS && count * 100 >= characters * PAGE_PERCENT
        });
        Self {
            body_size: own.map_or(self.body_size, |(size, _)| size),
            ..*self
        }
    }

    /// Whether a line is code.
    pub(super) fn is_code(&self, line: &Line) -> bool {
        line.is_fixed && !self.is_fixed && line.size < HEADING_SIZE * self.body_size
    }

    /// Whether a paragraph looks like a heading: larger than the text, or short and bold, or
    /// numbered in capitals.
    pub(super) fn is_heading(&self, paragraph: &Paragraph) -> bool {
        let text = paragraph.text.trim();
        let characters = text.chars().count();
        let letters = text
            .chars()
            .filter(|character| character.is_alphabetic())
            .count();
        if letters < 2
            || letters * 3 < characters
            || text.ends_with('-')
            || paragraph.lines > MAXIMUM_LINES
            || characters > MAXIMUM_CHARACTERS
        {
            return false;
        }
        let is_sentence = text.ends_with(['.', ',', ';', '。', '，', '；', '、']);
        if paragraph.size >= HEADING_SIZE * self.body_size {
            return !is_sentence || characters < MAXIMUM_SENTENCE_CHARACTERS;
        }
        let is_short =
            paragraph.lines <= MAXIMUM_BOLD_LINES && characters <= MAXIMUM_BOLD_CHARACTERS;
        let is_bold =
            paragraph.is_bold && !self.is_bold && paragraph.size >= BOLD_SIZE * self.body_size;
        let is_capitals =
            self.is_numbered(text) && !text.chars().any(char::is_lowercase) && text.is_ascii();
        // Fonts that do not tell that they are bold: numbered lines in another font than the text.
        let is_other = self.is_numbered(text)
            && paragraph.font != self.font
            && paragraph.lines == 1
            && characters <= MAXIMUM_OTHER_CHARACTERS;
        let is_titled = text
            .split_whitespace()
            .nth(1)
            .is_some_and(|word| word.starts_with(char::is_uppercase));
        is_short
            && !is_sentence
            && (is_bold
                || is_capitals
                || (is_other && is_titled && paragraph.size >= 0.95 * self.body_size))
    }

    /// Whether a text begins like a numbered heading: `2`, `3.1`, `Chapter 4`, `第五章`.
    pub(super) fn is_numbered(&self, text: &str) -> bool {
        number_depth(text) > 0
    }
}

/// How deep a heading is by its number: 1 for `2` and `Chapter 2`, 2 for `2.1`; 0 without a number.
pub(super) fn number_depth(text: &str) -> u8 {
    let mut words = text.split_whitespace();
    let Some(first) = words.next() else { return 0 };
    if first.starts_with('第')
        && first
            .chars()
            .take(7)
            .any(|character| matches!(character, '章' | '篇' | '部'))
    {
        return 1;
    }
    if first.starts_with('第') && first.chars().take(7).any(|character| character == '节') {
        return 2;
    }
    let lower = first.to_lowercase();
    let second = words.next();
    if matches!(lower.as_str(), "chapter" | "part" | "appendix" | "section") && second.is_some() {
        return 1;
    }
    let parts: Vec<&str> = first.trim_end_matches(['.', ')', ':']).split('.').collect();
    let is_number = |part: &&str| {
        !part.is_empty()
            && part.len() <= 3
            && part.chars().all(|character| character.is_ascii_digit())
    };
    let (head, tail) = parts.split_first().unwrap_or((&"", &[]));
    let is_letter = head.len() == 1
        && head.chars().all(|character| character.is_ascii_uppercase())
        && !tail.is_empty();
    if second.is_some() && (is_number(head) || is_letter) && tail.iter().all(is_number) {
        parts.len().min(6) as u8
    } else {
        0
    }
}

fn segments(page: &PageText) -> impl Iterator<Item = &Segment> {
    let loose = page.layers.iter().flat_map(|layer| &layer.segments);
    loose.chain(structure::segments(&page.told))
}

/// The font of most characters.
fn usual_font<'a>(segments: impl Iterator<Item = &'a Segment>) -> u32 {
    let mut fonts: std::collections::BTreeMap<u32, usize> = std::collections::BTreeMap::new();
    for segment in segments {
        *fonts.entry(segment.font).or_default() += segment.characters;
    }
    fonts
        .into_iter()
        .max_by_key(|(_, characters)| *characters)
        .map_or(0, |(font, _)| font)
}

/// The size of most characters, and their number.
fn usual_size<'a>(segments: impl Iterator<Item = &'a Segment>) -> Option<(f32, usize)> {
    let mut sizes: std::collections::BTreeMap<u32, usize> = std::collections::BTreeMap::new();
    for segment in segments {
        *sizes.entry(size_step(segment)).or_default() += segment.characters;
    }
    sizes
        .into_iter()
        .max_by_key(|(_, characters)| *characters)
        .map(|(step, characters)| (step as f32 * SIZE_STEP, characters))
}

fn size_step(segment: &Segment) -> u32 {
    (segment.size / SIZE_STEP).round().clamp(0.0, 2000.0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_depths() {
        let depths = [
            "2 Two",
            "2. Two",
            "3.1 Three",
            "A.1 Annex",
            "Chapter 4 Four",
            "第五章 标题",
            "Two",
            "2020.",
            "1.5",
        ]
        .map(number_depth);
        assert_eq!(depths, [1, 1, 2, 2, 1, 1, 0, 0, 0]);
    }

    #[test]
    fn looks_make_headings() {
        let statistics = Statistics {
            body_size: 10.0,
            ..Statistics::default()
        };
        let paragraph = |text: &str, size, is_bold| Paragraph {
            text: text.to_owned(),
            lines: 1,
            size,
            is_bold,
            ..Paragraph::default()
        };
        assert!(statistics.is_heading(&paragraph("Results", 12.0, false)));
        assert!(statistics.is_heading(&paragraph("Results", 10.0, true)));
        assert!(!statistics.is_heading(&paragraph("Results", 10.0, false)));
        assert!(!statistics.is_heading(&paragraph("Note that this is so.", 10.0, true)));
        assert!(!statistics.is_heading(&paragraph("12.5 %", 14.0, true)));
    }
}
