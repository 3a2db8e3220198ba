//! Counts blocks over a sample of cleaned documents.

use std::collections::{BTreeMap, HashSet};

use super::blocks::{blocks, hash, normalised};
use super::{FORMAT, Learned, LearnedBlock};

/// Longest normalised block in bytes that is written into the file: a person has to read it.
const LONGEST_TEXT: usize = 2000;

/// What counts as repeated.
#[derive(Clone, Copy, Debug)]
pub struct LearnLimits {
    /// Documents in which a block must stand.
    pub minimum_documents: usize,
    /// Share of all documents, 0 to 1, in which it must stand.
    pub minimum_share: f64,
    /// Letters and digits that a block must have, unless it is nothing but links.
    pub minimum_characters: usize,
}

/// The blocks that repeat across the documents of a source. The order of the documents makes no
/// difference.
///
/// A block counts once a document. Short ones are left out, since labels such as "Parameters"
/// repeat in what is content, and so are those that end in a colon, which introduce what follows.
pub fn learn<'a>(
    source: &str,
    documents: impl IntoIterator<Item = &'a str>,
    limits: LearnLimits,
) -> Learned {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut seen = 0;
    for markdown in documents {
        seen += 1;
        let candidates: HashSet<String> = blocks(markdown)
            .into_iter()
            .filter_map(|range| candidate(markdown.get(range)?, limits.minimum_characters))
            .collect();
        candidates
            .into_iter()
            .for_each(|text| *counts.entry(text).or_default() += 1);
    }
    let least = (limits.minimum_share * seen as f64)
        .ceil()
        .max(limits.minimum_documents.max(2) as f64);
    let mut blocks: Vec<LearnedBlock> = counts
        .into_iter()
        .filter(|(_, documents)| *documents as f64 >= least)
        .map(|(text, documents)| LearnedBlock {
            hash: hash(&text),
            documents,
            text,
        })
        .collect();
    blocks.sort_by(|left, right| {
        right
            .documents
            .cmp(&left.documents)
            .then_with(|| left.text.cmp(&right.text))
    });
    Learned {
        format: FORMAT,
        source: source.to_owned(),
        documents: seen,
        blocks,
    }
}

/// The normalised text of a block that may be boilerplate.
fn candidate(block: &str, minimum_characters: usize) -> Option<String> {
    let text = normalised(block);
    let introduces = text.ends_with([':', '：']);
    let characters = text
        .chars()
        .filter(|character| character.is_alphanumeric())
        .count();
    let is_long_enough =
        characters >= minimum_characters || (characters > 0 && is_only_links(block));
    (!introduces && is_long_enough && text.len() <= LONGEST_TEXT).then_some(text)
}

/// Whether every line is a link or a picture and nothing else, as in navigation and badges.
fn is_only_links(block: &str) -> bool {
    block.lines().map(str::trim).all(|line| {
        let line = line.trim_start_matches(['-', '*', '+', ' ']);
        (line.starts_with('[') || line.starts_with("!["))
            && line.ends_with(')')
            && line.contains("](")
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const LIMITS: LearnLimits = LearnLimits {
        minimum_documents: 3,
        minimum_share: 0.5,
        minimum_characters: 12,
    };

    fn page(number: usize) -> String {
        format!(
            "# Page {number}\n\n[![source](https://x/logo.svg)](https://x/{number}.md)\n\nParameters:\n\nWhat page {number} says of {}.\n\n\
             The following values are to be set as shown here:\n\nCopyright {number} by somebody, all rights reserved.\n\nLabel\n",
            ["ants", "bees", "cats", "dogs"][number % 4]
        )
    }

    #[test]
    fn what_repeats_is_learned_and_labels_are_not() {
        let pages: Vec<String> = (0..4).map(page).collect();
        let learned = learn("wiki", pages.iter().map(String::as_str), LIMITS);
        let found: Vec<(&str, usize)> = learned
            .blocks
            .iter()
            .map(|block| (block.text.as_str(), block.documents))
            .collect();
        assert_eq!(
            found,
            [
                ("copyright 0 by somebody, all rights reserved.", 4),
                ("source", 4)
            ]
        );
        let reversed = learn("wiki", pages.iter().rev().map(String::as_str), LIMITS);
        assert_eq!(
            reversed, learned,
            "the order of the documents makes no difference"
        );
        let read = Learned::from_toml(&learned.to_toml().unwrap()).unwrap();
        assert_eq!(read, learned);
        let (cleaned, dropped) = super::super::without(&page(9), &read.hashes());
        assert_eq!(dropped, 2);
        assert!(
            !cleaned.contains("Copyright")
                && !cleaned.contains("source")
                && cleaned.contains("Label"),
            "{cleaned}"
        );
    }

    #[test]
    fn a_block_repeated_within_one_document_or_in_too_few_is_content() {
        let once = "This sentence repeats and repeats.\n\n".repeat(9);
        let others = ["other text", "more text"];
        assert_eq!(
            learn("s", others.into_iter().chain([once.as_str()]), LIMITS).blocks,
            []
        );
    }

    #[test]
    fn a_file_that_was_edited_or_is_of_another_format_is_refused() {
        let learned = Learned {
            blocks: vec![LearnedBlock {
                hash: hash("some text"),
                documents: 3,
                text: "some text".into(),
            }],
            ..learn("s", [], LIMITS)
        };
        let text = learned.to_toml().unwrap();
        for (text, part) in [
            (
                text.replace("some text", "any text"),
                "the text of block 1 (`any text`) is not that of its hash",
            ),
            (
                text.replace("format = 1", "format = 2"),
                "format 2 is not known",
            ),
            (
                text.replace("source = ", "sourze = "),
                "unknown field `sourze`",
            ),
        ] {
            let error = Learned::from_toml(&text).unwrap_err();
            assert!(error.to_string().contains(part), "{error}");
        }
    }
}
