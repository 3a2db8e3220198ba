//! Words that the end of a line parts with a hyphen: how the rest of the document writes them decides
//! whether it is part of the word, else the letters beside it.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use super::blocks::Block;
use super::lines;
use super::raised;
use super::unicode::JOINT;
use crate::escape::is_wide;

/// Parts from which on a word is a name, such as `readNextFrameOfStream`, though the document writes none
/// of them elsewhere; several of them stand behind the hyphen.
const PARTS_OF_NAME: usize = 4;

/// Whether the hyphen at the end of a text only parts the line: a word with another hyphen of its own
/// is a compound and keeps it.
pub(super) fn is_one_word(text: &str) -> bool {
    let word = text.rsplit(char::is_whitespace).next().unwrap_or_default();
    let own = word.split('-').skip(1);
    own.filter(|part| !part.starts_with(JOINT)).count() == 1
}

/// Blocks between the two parts of a word that the end of a column or a page may have: notes and tables.
const MAXIMUM_BETWEEN: usize = 4;

/// Joins words that the end of a column or a page parts: the text goes on where the next paragraph of
/// the page begins, else the rest of the word moves to its beginning.
pub(super) fn join_over_ends(pages: &mut [Vec<Block>]) {
    let blocks = pages.iter().enumerate();
    let places = blocks.flat_map(|(page, blocks)| (0..blocks.len()).map(move |at| (page, at)));
    let places: Vec<(usize, usize)> = places.collect();
    for (place, from) in (1..).zip(&places) {
        let is_open = text_at(pages, *from).is_some_and(|text| is_open(text));
        let behind = places.get(place..).unwrap_or_default();
        let Some(to) = is_open.then(|| next_part(pages, behind)).flatten() else {
            continue;
        };
        let is_next = to.0 == from.0 && behind.first() == Some(&to);
        let Some(text) = text_at(pages, to) else {
            continue;
        };
        let part = match text.split_once(' ') {
            Some((word, rest)) if !is_next => {
                let word = word.to_owned();
                *text = rest.to_owned();
                word
            }
            _ => std::mem::take(text),
        };
        if let Some(text) = text_at(pages, *from) {
            lines::append(text, &part, true);
        }
    }
    let has_text = |block: &Block| !matches!(block, Block::Paragraph(text) if text.text.is_empty());
    pages.iter_mut().for_each(|page| page.retain(has_text));
}

/// The text of the paragraph or the item at a page and a place on it.
fn text_at(pages: &mut [Vec<Block>], (page, at): (usize, usize)) -> Option<&mut String> {
    match pages.get_mut(page)?.get_mut(at)? {
        Block::Paragraph(paragraph) => Some(&mut paragraph.text),
        Block::Item(item) => Some(&mut item.text),
        _ => None,
    }
}

/// Whether a text ends with the hyphen of a parted word.
fn is_open(text: &str) -> bool {
    let before = text
        .strip_suffix('-')
        .and_then(|text| text.chars().next_back());
    before.is_some_and(|before| before.is_alphabetic() && !is_wide(before))
}

/// Where the paragraph begins that goes on with a word.
fn next_part(pages: &[Vec<Block>], behind: &[(usize, usize)]) -> Option<(usize, usize)> {
    let is_passed = |block: &Block| match block {
        Block::Table(_) | Block::Note(..) => true,
        Block::Paragraph(note) => note
            .text
            .starts_with(|first: char| first.is_ascii_digit() || raised::is_raised(first)),
        _ => false,
    };
    let near = behind.iter().take(MAXIMUM_BETWEEN + 1);
    let mut blocks =
        near.filter_map(|(page, at)| Some(((*page, *at), pages.get(*page)?.get(*at)?)));
    let (place, block) = blocks.find(|(_, block)| !is_passed(block))?;
    match block {
        Block::Paragraph(text) if text.text.starts_with(char::is_lowercase) => Some(place),
        _ => None,
    }
}

/// Parts words with a hyphen, or not, as the rest of the document writes them; takes the marks out.
pub(super) fn resolve(blocks: &mut [Vec<Block>]) {
    let mut written = Written::default();
    each_text(blocks, &mut |text| written.await_parted(text));
    if written.forms.is_empty() {
        return;
    }
    each_text(blocks, &mut |text| written.count(text));
    each_text(blocks, &mut |text| {
        if text.contains(JOINT) {
            *text = written.resolved(text);
        }
    });
}

fn each_text(blocks: &mut [Vec<Block>], visit: &mut impl FnMut(&mut String)) {
    for block in blocks.iter_mut().flatten() {
        match block {
            Block::Paragraph(paragraph) => visit(&mut paragraph.text),
            Block::Heading(_, text) | Block::Note(_, text) => visit(text),
            Block::Item(item) => {
                visit(&mut item.text);
                if let Some(paragraph) = &mut item.paragraph {
                    visit(&mut paragraph.text);
                }
            }
            Block::Table(table) => table.rows.iter_mut().flatten().for_each(&mut *visit),
            Block::Code(lines) => lines.iter_mut().for_each(&mut *visit),
        }
    }
}

/// The words of a text, with their marks.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter| !is_of_word(letter))
        .map(|word| word.trim_matches('-'))
        .filter(|word| !word.is_empty())
}

fn is_of_word(letter: char) -> bool {
    (letter.is_alphanumeric() && !is_wide(letter)) || matches!(letter, '-' | '_' | JOINT)
}

/// The parts of a word between the ends of lines, without the hyphens there.
fn pieces(word: &str) -> impl Iterator<Item = &str> {
    let mut pieces = word.split(JOINT).peekable();
    std::iter::from_fn(move || {
        let piece = pieces.next()?;
        let is_last = pieces.peek().is_none();
        Some(
            piece
                .strip_suffix('-')
                .filter(|_| !is_last)
                .unwrap_or(piece),
        )
    })
}

fn joined(word: &str) -> String {
    pieces(word).collect()
}

/// A word as it is counted: at the start of a sentence it is the same one.
fn form(word: &str) -> String {
    if word.chars().skip(1).any(char::is_uppercase) {
        word.to_owned()
    } else {
        word.to_lowercase()
    }
}

/// The parts of a name: `read`, `Next` and `Frame` of `readNextFrame`.
fn parts(name: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut rest, mut start, mut was_small) = (name, 0, false);
    for (at, letter) in name.char_indices() {
        if was_small
            && letter.is_uppercase()
            && let Some((part, behind)) = rest.split_at_checked(at - start)
        {
            parts.push(part);
            (rest, start) = (behind, at);
        }
        was_small = letter.is_lowercase();
    }
    parts.push(rest);
    parts
}

/// A word with hyphens where another way of writing it has them.
fn hyphenated(word: &str, like: &str) -> String {
    let mut written = String::with_capacity(like.len());
    let mut letters = word.chars();
    for other in like.chars() {
        match other {
            '-' => written.push('-'),
            _ => written.extend(letters.next()),
        }
    }
    written.extend(letters);
    written
}

/// How often a word is written as one and with hyphens where no line parts it.
#[derive(Debug, Default)]
struct Forms {
    joined: usize,
    hyphenated: usize,
    /// One of those with hyphens.
    with_hyphens: String,
}

/// How a document writes the words that lines part in it.
#[derive(Debug, Default)]
struct Written {
    /// By the `form` of the word as one.
    forms: HashMap<String, Forms>,
    /// Parts of names that no line parts.
    parts: HashSet<String>,
}

impl Written {
    /// The parted words of a text are to be counted.
    fn await_parted(&mut self, text: &str) {
        for word in words(text).filter(|word| word.contains(JOINT)) {
            self.forms.entry(form(&joined(word))).or_default();
        }
    }

    /// Counts the words of a text that no line parts.
    fn count(&mut self, text: &str) {
        for word in words(text).filter(|word| !word.contains(JOINT)) {
            for name in word.split(['-', '_']) {
                let parts = parts(name);
                if parts.len() > 1 {
                    self.parts.extend(parts.into_iter().map(str::to_owned));
                }
            }
            let word = form(word);
            if let Some(forms) = self.forms.get_mut(&word) {
                forms.joined += 1;
            } else if word.contains('-')
                && let Some(forms) = self.forms.get_mut(&word.replace('-', ""))
            {
                forms.hyphenated += 1;
                forms.with_hyphens = word;
            }
        }
    }

    /// A text without marks, each parted word in the form that is written elsewhere.
    fn resolved(&self, text: &str) -> String {
        let mut resolved = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find(|letter| letter != '-' && is_of_word(letter)) {
            let (before, from) = rest.split_at(start);
            let end = from.find(|letter| !is_of_word(letter));
            let (word, _) = from.split_at(end.unwrap_or(from.len()));
            let (word, behind) = from.split_at(word.trim_end_matches('-').len());
            resolved.push_str(before);
            if word.contains(JOINT) {
                resolved.push_str(&self.word(word));
            } else {
                resolved.push_str(word);
            }
            rest = behind;
        }
        resolved.push_str(rest);
        resolved
    }

    fn word(&self, word: &str) -> String {
        let known = self.forms.get(&form(&joined(word)));
        let Some(forms) = known.filter(|forms| forms.joined + forms.hyphenated > 0) else {
            return self.unknown(word);
        };
        match forms.joined.cmp(&forms.hyphenated) {
            Ordering::Greater => joined(word),
            Ordering::Less => hyphenated(&joined(word), &forms.with_hyphens),
            Ordering::Equal => word.replace(JOINT, ""),
        }
    }

    /// A word that is not written elsewhere: hyphens in a name go, others stay as the lines were joined.
    fn unknown(&self, word: &str) -> String {
        let is_name = word.match_indices(JOINT).any(|(at, _)| {
            let (before, behind) = word.split_at(at);
            let before = joined(before.trim_end_matches('-'));
            self.is_name(&before, &joined(behind.trim_start_matches(JOINT)))
        });
        if is_name {
            joined(word)
        } else {
            word.replace(JOINT, "")
        }
    }

    /// Whether two parts of a word make the name of something in a program.
    fn is_name(&self, before: &str, behind: &str) -> bool {
        let is_other = |letter: char| !letter.is_alphanumeric();
        let before = before.rsplit(is_other).next().unwrap_or_default();
        let behind = behind.split(is_other).next().unwrap_or_default();
        let (first, second) = (parts(before), parts(behind));
        let is_known = |part: Option<&&str>| part.is_some_and(|part| self.parts.contains(*part));
        let are_known = before.ends_with(char::is_lowercase)
            && is_known(second.first())
            && (first.len() > 1 || is_known(first.last()));
        let are_many = second.len() > 1 && first.len() + second.len() >= PARTS_OF_NAME;
        behind.starts_with(char::is_uppercase) && (are_known || are_many)
    }
}

#[cfg(test)]
mod tests;
