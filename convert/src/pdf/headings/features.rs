//! What speaks for a paragraph being a heading and against it, as numbers between about -1 and 3.
//! The weights of the sum are in `weights`.

use std::collections::HashMap;

use super::habits::Habits;
use super::looks::{LARGE, PLAIN, is_plain, of_looks};
use super::numbers::{is_dotted, is_version, number_depth, without_number};
use super::weights::WEIGHTS;
pub(super) use crate::escape::columns as length;
use crate::pdf::blocks::{Block, Paragraph};
use crate::pdf::lists;
use crate::pdf::statistics::Statistics;
use crate::pdf::unicode;

/// Size of a title, relative to running text, at least, and its columns: what is shorter may be a
/// logo.
const TITLE: f32 = 1.3;
const TITLE_LENGTH: usize = 12;

/// Length in columns (Chinese characters take two) from which a paragraph is prose, and up to which
/// one is short.
pub(super) const PROSE_LENGTH: usize = 90;
pub(super) const SHORT_LENGTH: usize = 60;

/// Most lines and columns of a heading, and the share of letters in it in percent.
const MAXIMUM_LINES: usize = 4;
const MAXIMUM_LENGTH: usize = 220;
const MINIMUM_LETTERS_PERCENT: usize = 33;

/// Short paragraphs that something sets off from which a document has such: its title may be one.
const SET_OFF: usize = 2;

/// What no heading ends with: it goes on.
const GOES_ON: [char; 6] = [',', ';', '，', '；', '、', '-'];

/// Times that a text stands in a document from which it is no heading of one place.
const REPEATED: usize = 3;

/// Share of the width that stays free on both sides of a centred line, at least, and by how much
/// the two may differ.
const CENTRED_MARGIN: f32 = 0.06;
const CENTRED_DIFFERENCE: f32 = 0.02;

/// A number that speaks for or against a heading, with its name.
pub(super) type Feature = (&'static str, f32);

/// A paragraph that may be a heading.
pub(super) struct Candidate<'a> {
    pub paragraph: &'a Paragraph,
    /// Index of its page, of its block there, and among the blocks of the document.
    pub page: usize,
    pub block: usize,
    pub at: usize,
    /// It has the number of a list's item.
    is_item: bool,
}

/// How a paragraph is drawn; what has the same style has the same part.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Style {
    /// Half points.
    size: u32,
    is_bold: bool,
    is_italic: bool,
    colour: Option<u32>,
}

/// How much of a document is in one style.
#[derive(Default)]
struct Use {
    characters: usize,
    paragraphs: usize,
    short: usize,
}

/// A document with what its paragraphs have in common.
pub(super) struct Document<'a> {
    blocks: Vec<(usize, usize, &'a Block)>,
    statistics: &'a [Statistics],
    styles: HashMap<Style, Use>,
    texts: HashMap<String, usize>,
    characters: usize,
    habits: Habits,
    /// Short paragraphs that are not drawn as the running text is.
    set_off: usize,
}

impl<'a> Document<'a> {
    /// Of the blocks of all pages and what is usual on each.
    pub(super) fn of(pages: &'a [Vec<Block>], statistics: &'a [Statistics]) -> Self {
        let numbered = |(page, blocks): (usize, &'a Vec<Block>)| {
            let of_page = blocks.iter().enumerate();
            of_page
                .map(move |(at, block)| (page, at, block))
                .collect::<Vec<_>>()
        };
        let mut document = Self {
            blocks: pages.iter().enumerate().flat_map(numbered).collect(),
            statistics,
            styles: HashMap::new(),
            texts: HashMap::new(),
            characters: 0,
            habits: Habits::default(),
            set_off: 0,
        };
        let blocks = document.blocks.iter();
        for paragraph in blocks.filter_map(|(_, _, block)| paragraph(block)) {
            let length = length(&paragraph.text);
            let style = document.styles.entry(style(paragraph)).or_default();
            style.characters += length;
            style.paragraphs += 1;
            style.short += usize::from(is_short(paragraph));
            document.characters += length;
            *document.texts.entry(pattern(&paragraph.text)).or_default() += 1;
        }
        let looks = |(page, _, block): &(usize, usize, &'a Block)| {
            let paragraph = paragraph(block).filter(|paragraph| is_short(paragraph))?;
            let statistics = statistics.get(*page)?;
            let text = clean(&paragraph.text);
            (may_be(paragraph, &text) && !is_plain(paragraph, &text, statistics)).then_some(())
        };
        document.set_off = document.blocks.iter().filter_map(looks).count();
        let paragraphs = document.blocks.iter();
        document.habits = Habits::of(paragraphs.filter_map(|(_, _, block)| paragraph(block)));
        document
    }

    /// The paragraphs that may be headings, in order.
    pub(super) fn candidates(&self) -> impl Iterator<Item = Candidate<'a>> {
        self.blocks
            .iter()
            .enumerate()
            .filter_map(|(at, (page, block, found))| {
                paragraph(found).map(|paragraph| Candidate {
                    paragraph,
                    page: *page,
                    block: *block,
                    at,
                    is_item: matches!(found, Block::Item(_)),
                })
            })
    }

    /// The numbers for a paragraph, always in the same order; `None` if it is none in any case.
    pub(super) fn features(&self, candidate: &Candidate) -> Option<Vec<Feature>> {
        let paragraph = candidate.paragraph;
        let statistics = self.statistics.get(candidate.page)?;
        let text = clean(&paragraph.text);
        if !may_be(paragraph, &text) {
            return None;
        }
        let mut features = vec![("always", 1.0)];
        features.extend(of_looks(paragraph, &text, statistics));
        // Text that nothing sets off, with nothing around it, is just short.
        let is_alone = paragraph.around.before.is_none() && paragraph.around.after.is_none();
        if is_alone && features.contains(&(PLAIN, 1.0)) {
            return None;
        }
        features.extend(of_text(&text, paragraph));
        features.extend(of_place(paragraph, self.is_large(candidate)));
        features.extend(self.of_neighbours(candidate));
        features.extend(self.of_document(candidate, &text));
        let is_plain = features.contains(&(PLAIN, 1.0));
        features.extend(self.habits.features(paragraph, &text, is_plain));
        // Nor is what stands among paragraphs as they do.
        let is_among = |(name, value): &Feature| match *name {
            "closer to what follows" | "more space before than paragraphs" => *value <= 0.0,
            _ => true,
        };
        if is_plain && (features.iter().all(is_among) || !has_letters(without_number(&text))) {
            return None;
        }
        features.push((
            "nothing is set off in the document",
            flag(self.set_off < SET_OFF),
        ));
        Some(features)
    }

    /// Whether what speaks for a heading outweighs what speaks against it.
    pub(super) fn is_heading(&self, candidate: &Candidate) -> bool {
        let Some(features) = self.features(candidate) else {
            return false;
        };
        // Other things tell a heading that is drawn as the text is.
        let is_plain = features.contains(&(PLAIN, 1.0));
        let weight = |(_, set_off, plain)| if is_plain { plain } else { set_off };
        let weighed = features.iter().zip(WEIGHTS.map(weight));
        weighed
            .map(|((_, value), weight)| value * weight)
            .sum::<f32>()
            > 0.0
    }

    /// Whether a paragraph is in the largest letters of the first page, and those are much larger
    /// than running text: its title, however long it is.
    pub(super) fn is_title(&self, candidate: &Candidate) -> bool {
        let (paragraph, statistics) = (candidate.paragraph, self.statistics.first());
        let body_size = statistics.map_or(f32::MAX, |statistics| statistics.body_size);
        if candidate.page > 0 || paragraph.size < TITLE * body_size {
            return false;
        }
        let first_page = self.blocks.iter().take_while(|(page, _, _)| *page == 0);
        let mut others = first_page.filter_map(|(_, _, block)| self::paragraph(block));
        may_be(paragraph, &clean(&paragraph.text))
            && others.all(|other| {
                other.size <= paragraph.size + 0.1 || length(&other.text) < TITLE_LENGTH
            })
            && length(&paragraph.text) >= TITLE_LENGTH
    }

    /// Whether a paragraph is in larger letters than the running text of its page.
    pub(super) fn is_large(&self, candidate: &Candidate) -> bool {
        let statistics = self.statistics.get(candidate.page);
        statistics.is_some_and(|usual| candidate.paragraph.size >= LARGE * usual.body_size)
    }

    /// Whether what follows it is text: no other short line, such as a heading or an author.
    pub(super) fn is_before_text(&self, candidate: &Candidate) -> bool {
        self.block(Some(candidate.at + 1))
            .is_some_and(|block| paragraph(block).is_none_or(|next| !is_short(next)))
    }

    fn block(&self, at: Option<usize>) -> Option<&'a Block> {
        self.blocks.get(at?).map(|(_, _, block)| *block)
    }

    /// What stands before and behind it.
    fn of_neighbours(&self, candidate: &Candidate) -> [Feature; 11] {
        let before = self.block(candidate.at.checked_sub(1));
        let after = self.block(Some(candidate.at + 1));
        let own = style(candidate.paragraph);
        let is_alike = |block: Option<&Block>| {
            let other = block.and_then(paragraph);
            other.is_some_and(|other| style(other) == own && is_short(other))
        };
        let is_prose = |block: Option<&Block>| {
            let other = block.and_then(paragraph);
            other.is_some_and(|other| length(&other.text) >= PROSE_LENGTH)
        };
        let text_of =
            |block: Option<&'a Block>| block.and_then(paragraph).map(|other| other.text.as_str());
        let is_item = |block: Option<&Block>| matches!(block, Some(Block::Item(_)));
        let is_unfinished = |block: Option<&Block>| {
            let other = block.and_then(paragraph);
            other.is_some_and(|other| is_prose(block) && !ends_sentence(&other.text))
        };
        [
            ("before prose", flag(is_prose(after))),
            (
                "before another kind",
                flag(after.is_some_and(|block| paragraph(block).is_none())),
            ),
            ("first of the document", flag(before.is_none())),
            ("last of the document", flag(after.is_none())),
            ("behind its like", flag(is_alike(before))),
            ("before its like", flag(is_alike(after))),
            (
                "an item among items",
                flag(candidate.is_item && (is_item(before) || is_item(after))),
            ),
            ("behind half a sentence", flag(is_unfinished(before))),
            (
                "behind a colon",
                flag(text_of(before).is_some_and(ends_with_colon)),
            ),
            (
                "behind a sentence",
                flag(text_of(before).is_some_and(ends_sentence)),
            ),
            (
                "before a sentence",
                flag(
                    text_of(after).is_some_and(|text| ends_sentence(text) || ends_with_colon(text)),
                ),
            ),
        ]
    }

    /// What the rest of the document says of it.
    fn of_document(&self, candidate: &Candidate, text: &str) -> [Feature; 4] {
        let style = self.styles.get(&style(candidate.paragraph));
        let share = style.map_or(0.0, |style| ratio(style.characters, self.characters));
        let short = style.map_or(0.0, |style| ratio(style.short, style.paragraphs));
        let is_alone = style.is_some_and(|style| style.paragraphs == 1);
        let times = self.texts.get(&pattern(text)).copied().unwrap_or_default();
        // Slides that go on have the same title.
        let is_page_title = candidate.block == 0 && self.is_large(candidate);
        [
            ("style of much text", share.sqrt()),
            ("style of short texts", short),
            (
                "style used once",
                flag(is_alone && !self.is_large(candidate)),
            ),
            ("repeated", flag(times >= REPEATED && !is_page_title)),
        ]
    }
}

/// What it says.
fn of_text(text: &str, paragraph: &Paragraph) -> [Feature; 14] {
    let length = length(text);
    let depth = number_depth(text);
    let count = |is: fn(char) -> bool| text.chars().filter(|letter| is(*letter)).count();
    let is_sign = |letter: char| matches!(letter, '=' | '{' | '}' | '<' | '>' | '|' | '@' | '_');
    let digits = ratio(count(|letter| letter.is_ascii_digit()), length);
    let small_start = text.chars().next().is_some_and(char::is_lowercase);
    [
        ("number", flag(depth == 1)),
        ("number of parts", flag(depth > 1)),
        (
            "letter or number in brackets",
            flag(lists::parse(text).is_some() && depth == 0),
        ),
        ("ends like a sentence", flag(ends_sentence(text))),
        ("ends with a colon", flag(ends_with_colon(text))),
        ("parts of sentences", flag(has_parts_of_sentences(text))),
        ("length", scaled(length)),
        ("long", flag(length > 80)),
        ("lines", paragraph.lines.saturating_sub(1).min(3) as f32),
        ("small start", flag(small_start)),
        ("digits", digits),
        ("signs", flag(count(is_sign) > 0)),
        ("caption", flag(is_caption(text))),
        ("leader", flag(lists::has_leader(text))),
    ]
}

/// Where it stands.
fn of_place(paragraph: &Paragraph, is_large: bool) -> [Feature; 7] {
    let around = paragraph.around;
    let width = (around.right - around.left).max(1.0);
    let left = (paragraph.area.left - around.left) / width;
    let right = (around.right - paragraph.area.right) / width;
    let is_centred = left > CENTRED_MARGIN && (left - right).abs() < CENTRED_DIFFERENCE;
    let space = |space: Option<f32>| space.map_or(0.0, |space| (space - 1.0).clamp(-0.5, 2.0));
    let is_closer_below = match (around.before, around.after) {
        (Some(before), Some(after)) => before > 1.1 * after,
        (before, _) => before.is_none(),
    };
    [
        ("centred", flag(is_centred)),
        (
            "set in",
            flag(left > CENTRED_MARGIN && !is_centred && !is_large),
        ),
        (
            "narrow",
            (1.0 - paragraph.area.width() / width).clamp(0.0, 1.0),
        ),
        ("space before", space(around.before)),
        ("space behind", space(around.after)),
        ("closer to what follows", flag(is_closer_below)),
        ("ends its region", flag(around.after.is_none())),
    ]
}

/// The paragraph of a block, or that of a numbered item.
fn paragraph(block: &Block) -> Option<&Paragraph> {
    match block {
        Block::Paragraph(paragraph) => Some(paragraph),
        Block::Item(item) => item.paragraph.as_deref(),
        _ => None,
    }
}

fn style(paragraph: &Paragraph) -> Style {
    Style {
        size: (paragraph.size * 2.0).round().clamp(0.0, 2000.0) as u32,
        is_bold: paragraph.is_bold || paragraph.is_bold_but_wide,
        is_italic: paragraph.is_italic || paragraph.is_italic_but_wide,
        colour: paragraph.colour,
    }
}

/// Whether it is short and has letters enough to be a heading at all, whatever its number, and does
/// not stop in the middle of a sentence.
fn may_be(paragraph: &Paragraph, text: &str) -> bool {
    let words = without_number(text);
    !text.ends_with(GOES_ON)
        && (has_letters(words) || is_version(words) || is_named_version(words))
        && paragraph.lines <= MAXIMUM_LINES
        && length(text) <= MAXIMUM_LENGTH
}

fn has_letters(text: &str) -> bool {
    let letters = text.chars().filter(|letter| letter.is_alphabetic()).count();
    letters >= 2 && letters * 100 >= text.chars().count() * MINIMUM_LETTERS_PERCENT
}

/// Whether it is a word and a version, as `Release 0.2.19 (2026-05-03)` is.
fn is_named_version(text: &str) -> bool {
    let (word, version) = text.split_once(' ').unwrap_or_default();
    word.chars().all(char::is_alphabetic) && is_version(version)
}

pub(super) fn is_short(paragraph: &Paragraph) -> bool {
    paragraph.lines <= 2
        && length(&paragraph.text) <= SHORT_LENGTH
        && !ends_sentence(&paragraph.text)
}

fn ends_sentence(text: &str) -> bool {
    let text = text.trim_end_matches(|letter| unicode::is_mark(letter) || letter == ' ');
    text.ends_with(['.', '!', '。', '！'])
}

/// Whether there is a comma of Chinese text within, or the end of a sentence behind a word.
fn has_parts_of_sentences(text: &str) -> bool {
    let is_word = |word: &str| {
        word.chars()
            .rev()
            .take(3)
            .filter(|one| one.is_lowercase())
            .count()
            == 3
    };
    let mut ends = text
        .match_indices(". ")
        .filter_map(|(at, _)| text.get(..at));
    text.contains(['，', '。', '；']) || ends.any(is_word)
}

fn ends_with_colon(text: &str) -> bool {
    text.trim_end_matches(|letter| unicode::is_mark(letter) || letter == ' ')
        .ends_with([':', '：'])
}

/// `Figure 3`, `Table 2:`, `图 1`, `表 1-2`.
pub(in crate::pdf) fn is_caption(text: &str) -> bool {
    let lower = text.to_lowercase();
    let words = [
        "figure",
        "fig.",
        "table",
        "图",
        "圖",
        "表",
        "listing",
        "algorithm",
    ];
    words.iter().any(|word| {
        let rest = lower.strip_prefix(word).map(str::trim_start);
        rest.is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
    })
}

/// The text without marks of links.
fn clean(text: &str) -> String {
    let readable = text.chars().filter(|letter| !unicode::is_mark(*letter));
    readable.collect::<String>().trim().to_owned()
}

/// Letters of a text; its numbers are left out, but for those of versions, which differ by them alone.
fn pattern(text: &str) -> String {
    let words = || text.split_whitespace();
    let named = words().filter(|word| word.contains(char::is_alphabetic));
    let is_dotted = |word: &str| is_dotted(word.trim_matches(['(', ')', '[', ']', ',']));
    let is_version = named.count() < 2 && words().skip(1).any(is_dotted) || is_version(text);
    let is_kept = |letter: &char| letter.is_alphabetic() || is_version && letter.is_numeric();
    let letters = text.chars().filter(is_kept);
    letters.flat_map(char::to_lowercase).collect()
}

/// A length of which the double does not count double.
pub(super) fn scaled(length: usize) -> f32 {
    (length as f32 / 20.0).ln_1p()
}

pub(super) fn flag(is_so: bool) -> f32 {
    if is_so { 1.0 } else { 0.0 }
}

fn ratio(part: usize, whole: usize) -> f32 {
    part as f32 / whole.max(1) as f32
}
