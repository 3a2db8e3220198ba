//! Footnotes: small paragraphs that begin with a number, and the raised number in the text of their
//! page that refers to each. Numbers that nothing explains stay raised figures.

use std::collections::{BTreeMap, HashSet};

use super::blocks::Block;
use super::raised;
use super::statistics::Statistics;
use super::unicode;
use crate::escape::is_wide;

/// Size of a note, relative to the running text, at most.
pub(super) const SMALLER: f32 = 0.96;

/// Most notes of a page: more of them are something else.
const MAXIMUM_NOTES: usize = 200;

/// What is raised to a power rather than explained.
const UNITS: [&str; 8] = ["mm", "cm", "dm", "km", "nm", "µm", "μm", "ft"];

/// What may be notes of a page: their numbers and their texts by the places of their blocks.
type Notes = BTreeMap<usize, (String, String)>;

/// A note that something on its page refers to.
struct Linked {
    /// Place of its block, and of the block that it comes behind.
    from: usize,
    behind: usize,
    note: Block,
}

/// Tells the notes of each page and puts them behind what refers to them; the labels of all, by the
/// numbers of their marks. `statistics` are those of each page.
pub(super) fn link(pages: &mut [Vec<Block>], statistics: &[Statistics]) -> Vec<String> {
    let mut labels = Labels::default();
    for (page, (blocks, usual)) in pages.iter_mut().zip(statistics).enumerate() {
        let all = blocks.iter().enumerate();
        let notes: Notes = all
            .filter_map(|(at, block)| Some((at, note(block, usual)?)))
            .collect();
        if notes.len() <= MAXIMUM_NOTES {
            let linked = linked(blocks, &notes, page, &mut labels);
            put_behind(blocks, linked);
        }
    }
    labels.all
}

/// Labels that differ from each other.
#[derive(Default)]
struct Labels {
    all: Vec<String>,
    used: HashSet<String>,
}

impl Labels {
    /// The mark of a note with that number on a page (an index); `None` where there are too many.
    fn mark(&mut self, number: &str, page: usize) -> Option<char> {
        let mark = unicode::note_mark(self.all.len())?;
        let label = match self.used.contains(number) {
            true => format!("{number}.{}", page + 1),
            false => number.to_owned(),
        };
        self.used.insert(label.clone());
        self.all.push(label);
        Some(mark)
    }
}

/// The number and the text of what may be a note.
fn note(block: &Block, usual: &Statistics) -> Option<(String, String)> {
    let (paragraph, number, text) = match block {
        Block::Paragraph(paragraph) => {
            let (number, text) = raised::split_number(&paragraph.text);
            (paragraph, number, text)
        }
        // Some programs write `1. ` before a note.
        Block::Item(item) => {
            let number = item.marker.trim_end_matches(['.', ')']).to_owned();
            (item.paragraph.as_deref()?, number, item.text.as_str())
        }
        _ => return None,
    };
    let is_told = !number.is_empty() && !text.trim().is_empty();
    let is_note = is_told && paragraph.size <= SMALLER * usual.body_size;
    is_note.then(|| (number, text.trim().to_owned()))
}

/// Marks what refers to each of the notes.
fn linked(blocks: &mut [Block], notes: &Notes, page: usize, labels: &mut Labels) -> Vec<Linked> {
    let is_note = |at: usize| notes.contains_key(&at);
    let mut linked = Vec::new();
    for (from, (number, text)) in notes {
        // What refers to a note stands before it, but for text in another column.
        let before = (0..*from).chain(*from..blocks.len());
        let place = before.filter(|at| !is_note(*at)).find_map(|at| {
            let found = texts(blocks.get(at)?)
                .into_iter()
                .enumerate()
                .find_map(|(nth, text)| Some((nth, reference(text, number)?)));
            found.map(|(nth, range)| (at, nth, range))
        });
        let Some((at, nth, range)) = place else {
            continue;
        };
        let Some(mark) = labels.mark(number, page) else {
            return linked;
        };
        let texts = blocks.get_mut(at).map(texts_mut).unwrap_or_default();
        if let Some(text) = texts.into_iter().nth(nth) {
            let behind = text.get(range.end..).unwrap_or_default();
            let before = text.get(..range.start).unwrap_or_default();
            *text = format!("{before}{mark}{behind}");
        }
        linked.push(Linked {
            from: *from,
            behind: end_of_list(blocks, at, &is_note),
            note: Block::Note(mark, text.clone()),
        });
    }
    linked
}

/// The last item of the list that a block is in, or the block.
fn end_of_list(blocks: &[Block], at: usize, is_note: &impl Fn(usize) -> bool) -> usize {
    let is_item = |at: usize| matches!(blocks.get(at), Some(Block::Item(_))) && !is_note(at);
    if !is_item(at) {
        return at;
    }
    (at..blocks.len())
        .take_while(|at| is_item(*at))
        .last()
        .unwrap_or(at)
}

fn put_behind(blocks: &mut Vec<Block>, linked: Vec<Linked>) {
    if linked.is_empty() {
        return;
    }
    let old = std::mem::take(blocks);
    for (at, block) in old.into_iter().enumerate() {
        if !linked.iter().any(|note| note.from == at) {
            blocks.push(block);
        }
        let notes = linked.iter().filter(|note| note.behind == at);
        blocks.extend(notes.map(|note| note.note.clone()));
    }
}

/// Where a text refers to a note of that number, in bytes: raised behind a word or the end of a
/// sentence.
fn reference(text: &str, number: &str) -> Option<std::ops::Range<usize>> {
    let mut start = 0;
    while let Some(found) = text.get(start..)?.find(raised::is_raised) {
        let at = start + found;
        let (other, rest) = raised::split_number(text.get(at..)?);
        let end = text.len() - rest.len();
        if other == number && explains(text.get(..at)?, rest) {
            return Some(at..end);
        }
        start = end;
    }
    None
}

/// Whether a raised number between two texts is that of a note: no power, and no number before a
/// sentence.
fn explains(before: &str, after: &str) -> bool {
    let is_gap = |letter: char| unicode::is_mark(letter) || letter == ' ';
    let readable = before.trim_end_matches(is_gap);
    if before.ends_with(' ') && after.starts_with(char::is_alphanumeric) {
        return false;
    }
    let word = readable
        .rsplit(|letter: char| !letter.is_alphanumeric())
        .next();
    let word = word.unwrap_or_default();
    let has_letters = word.starts_with(char::is_alphabetic);
    let is_word = has_letters && word.chars().nth(1).is_some() && !UNITS.contains(&word);
    let ends_with_sign = |last: char| {
        let is_minus = matches!(last, '-' | '−' | '⁻' | '+' | '⁺');
        is_wide(last) || !last.is_alphanumeric() && !is_minus
    };
    is_word || readable.ends_with(ends_with_sign)
}

/// The texts of a block that may refer to notes.
fn texts(block: &Block) -> Vec<&str> {
    match block {
        Block::Paragraph(paragraph) => vec![&paragraph.text],
        Block::Heading(_, text) => vec![text],
        Block::Item(item) => vec![&item.text],
        Block::Table(table) => table.rows.iter().flatten().map(String::as_str).collect(),
        Block::Code(_) | Block::Note(..) => Vec::new(),
    }
}

/// The same to be changed.
fn texts_mut(block: &mut Block) -> Vec<&mut String> {
    match block {
        Block::Paragraph(paragraph) => vec![&mut paragraph.text],
        Block::Heading(_, text) => vec![text],
        Block::Item(item) => vec![&mut item.text],
        Block::Table(table) => table.rows.iter_mut().flatten().collect(),
        Block::Code(_) | Block::Note(..) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pdf::blocks::{Item, Paragraph};

    fn paragraph(text: &str, size: f32) -> Block {
        Block::Paragraph(Paragraph {
            text: text.to_owned(),
            size,
            ..Paragraph::default()
        })
    }

    fn item(marker: &str, text: &str, size: f32) -> Block {
        Block::Item(Item {
            marker: marker.to_owned(),
            text: text.to_owned(),
            paragraph: Some(Box::new(Paragraph {
                size,
                ..Paragraph::default()
            })),
            ..Item::default()
        })
    }

    /// The pages after linking, blocks as texts with labels for marks.
    fn linked(mut pages: Vec<Vec<Block>>) -> Vec<Vec<String>> {
        let usual = Statistics {
            body_size: 10.0,
            ..Statistics::default()
        };
        let statistics = vec![usual; pages.len()];
        let labels = link(&mut pages, &statistics);
        let label = |mark: char| unicode::note_number(mark).and_then(|at| labels.get(at));
        let shown = |text: &str| {
            let one = |sign: char| match label(sign) {
                Some(label) => format!("[^{label}]"),
                None => sign.to_string(),
            };
            text.chars().map(one).collect::<String>()
        };
        let block = |block: &Block| match block {
            Block::Note(mark, text) => shown(&format!("{mark}: {text}")),
            other => shown(&texts(other).join("|")),
        };
        pages
            .iter()
            .map(|blocks| blocks.iter().map(block).collect())
            .collect()
    }

    #[test]
    fn notes_come_behind_what_refers_to_them() {
        let pages = vec![
            vec![
                paragraph("Of 10² m² the station¹ *nix ² slept.", 10.0),
                paragraph("More", 10.0),
                item("-", "one³", 10.0),
                item("-", "two", 10.0),
                paragraph("¹ Or beacon.", 8.0),
                paragraph("² At night.", 8.0),
                paragraph("³ Of ten.", 8.0),
                paragraph("⁴ Of nobody.", 8.0),
            ],
            vec![
                paragraph("再次⁽¹⁾测量 ESC/P2²", 10.0),
                item("1.", "夜间", 8.0),
                paragraph("⁽²⁾打印机", 8.0),
            ],
        ];
        assert_eq!(
            linked(pages),
            [
                vec![
                    "Of 10² m² the station[^1] *nix [^2] slept.",
                    "[^1]: Or beacon.",
                    "[^2]: At night.",
                    "More",
                    "one[^3]",
                    "two",
                    "[^3]: Of ten.",
                    "⁴ Of nobody.",
                ],
                vec![
                    "再次[^1.2]测量 ESC/P2[^2.2]",
                    "[^1.2]: 夜间",
                    "[^2.2]: 打印机",
                ],
            ]
        );
    }

    #[test]
    fn what_is_as_large_as_the_text_or_a_power_is_no_note() {
        for pages in [
            vec![vec![
                paragraph("The station¹ slept", 10.0),
                paragraph("¹ Or beacon", 10.0),
            ]],
            vec![vec![
                paragraph("x² and 10² mm² (2) ²Sentence", 10.0),
                paragraph("² By hand", 8.0),
            ]],
        ] {
            let texts: Vec<Vec<String>> = pages
                .iter()
                .map(|page| page.iter().map(|block| texts(block).join("|")).collect())
                .collect();
            assert_eq!(linked(pages), texts);
        }
    }
}
