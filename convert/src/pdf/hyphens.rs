//! Words that the end of a line parts with a hyphen: how the rest of the document writes them decides
//! whether it is part of the word, else the letters beside it.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use super::blocks::Block;
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
            Block::Heading(_, text) => visit(text),
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
mod tests {
    use super::super::blocks::Paragraph;
    use super::super::lines;
    use super::*;

    /// What stands in a document of a text that a line parts and of another text.
    fn read(one: &str, next: &str, other: &str) -> String {
        let mut text = one.to_owned();
        lines::append(&mut text, next, false);
        read_all(&text, other)
    }

    fn read_all(text: &str, other: &str) -> String {
        let page = [text, other].map(|text| {
            Block::Paragraph(Paragraph {
                text: text.to_owned(),
                ..Paragraph::default()
            })
        });
        let mut blocks = vec![page.to_vec()];
        resolve(&mut blocks);
        match blocks.remove(0).remove(0) {
            Block::Paragraph(paragraph) => paragraph.text,
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn the_document_tells_whether_a_hyphen_is_part_of_a_word() {
        for (one, next, other, expected) in [
            ("a well-", "known fact", "", "a wellknown fact"),
            (
                "a well-",
                "known fact",
                "Well-known facts",
                "a well-known fact",
            ),
            ("the conver-", "sion of", "", "the conversion of"),
            ("of App-", "Size bytes", "", "of App-Size bytes"),
            (
                "of App-",
                "Size bytes",
                "the AppSize is",
                "of AppSize bytes",
            ),
            (
                "of App-",
                "Size bytes",
                "AppSize and App-Size",
                "of App-Size bytes",
            ),
            ("由 App-", "Size 指定", "其中AppSize的", "由 AppSize 指定"),
            ("pages 1-", "6 of it", "page 16", "pages 1-6 of it"),
            ("bei base-", "和", "base和", "bei base-和"),
        ] {
            assert_eq!(read(one, next, other), expected);
        }
    }

    #[test]
    fn names_of_programs_are_one_word() {
        for (one, next, expected) in [
            (
                "call readNextFrame-",
                "OfStream here",
                "call readNextFrameOfStream here",
            ),
            (
                "die AtEndDocument-",
                "Anweisung",
                "die AtEndDocument-Anweisung",
            ),
            ("a Neo-", "London street", "a Neo-London street"),
            ("the DATA-", "BUFFER", "the DATA-BUFFER"),
        ] {
            assert_eq!(read(one, next, ""), expected);
        }
    }

    #[test]
    fn words_over_three_lines_are_written_as_elsewhere() {
        for (lines, other, expected) in [
            (["Uicc-", "App-", "Type"], "UiccAppType", "UiccAppType"),
            (
                ["MBIMUicc-", "AppType-", "Unknown"],
                "",
                "MBIMUiccAppTypeUnknown",
            ),
            (
                ["--an eco-", "sys-", "tem"],
                "the Eco-system",
                "--an eco-system",
            ),
            (["--eco-", "sys-", "tem-"], "an ecosystem", "--ecosystem-"),
        ] {
            let mut text = String::new();
            lines
                .iter()
                .for_each(|line| lines::append(&mut text, line, false));
            assert_eq!(read_all(&text, other), expected);
        }
    }
}
