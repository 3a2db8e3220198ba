//! Formulas and HTML tables that Markdown does not know as such, or takes for several blocks.

use super::{Block, BlockKind};

/// How far an unclosed formula or HTML table may reach over blank lines, in blocks and bytes.
const MAXIMUM_MERGED_BLOCKS: usize = 256;
const MAXIMUM_MERGED_BYTES: usize = 1 << 18;

/// HTML tables and formulas that Markdown does not know are found by their first characters.
pub(super) fn kind_of(kind: BlockKind, text: &str) -> BlockKind {
    match opener(text) {
        Some(opener)
            if kind == BlockKind::Text
                && text.trim_end().ends_with(opener.close)
                && balanced(text, opener) =>
        {
            opener.kind
        }
        _ => kind,
    }
}

/// A mark that opens something unbreakable, and the one that closes it.
struct Opener {
    open: &'static str,
    close: &'static str,
    kind: BlockKind,
}

const OPENERS: [Opener; 4] = [
    Opener {
        open: "$$",
        close: "$$",
        kind: BlockKind::Formula,
    },
    Opener {
        open: "\\[",
        close: "\\]",
        kind: BlockKind::Formula,
    },
    Opener {
        open: "\\begin{",
        close: "}",
        kind: BlockKind::Formula,
    },
    Opener {
        open: "<table",
        close: "</table>",
        kind: BlockKind::Table,
    },
];

fn opener(text: &str) -> Option<&'static Opener> {
    let text = text.trim_start();
    OPENERS.iter().find(|opener| text.starts_with(opener.open))
}

/// Whether everything that opens in the text also closes in it.
fn balanced(text: &str, opener: &Opener) -> bool {
    match opener.open {
        "$$" => text.matches("$$").count().is_multiple_of(2),
        "\\begin{" => text.matches("\\begin{").count() == text.matches("\\end{").count(),
        open => text.matches(open).count() <= text.matches(opener.close).count(),
    }
}

/// Joins a formula or HTML table that has blank lines in it, which Markdown takes for several
/// blocks.
pub(super) fn merge_unclosed(source: &str, blocks: Vec<Block>) -> Vec<Block> {
    let mut merged: Vec<Block> = Vec::with_capacity(blocks.len());
    let mut position = 0;
    while let Some(block) = blocks.get(position) {
        let joined = joined_with_following(source, &blocks, position);
        let (kind, last) = joined.unwrap_or((block.kind, position));
        let end = blocks
            .get(last)
            .map_or(block.range.end, |block| block.range.end);
        merged.push(Block {
            kind,
            range: block.range.start..end,
        });
        position = last + 1;
    }
    merged
}

/// Kind and last block of an unclosed block at `position`, if a block soon after closes it.
fn joined_with_following(
    source: &str,
    blocks: &[Block],
    position: usize,
) -> Option<(BlockKind, usize)> {
    let block = blocks
        .get(position)
        .filter(|block| block.kind == BlockKind::Text)?;
    let text = source.get(block.range.clone())?;
    let opener = opener(text).filter(|opener| !balanced(text, opener))?;
    for (last, next) in blocks
        .iter()
        .enumerate()
        .skip(position + 1)
        .take(MAXIMUM_MERGED_BLOCKS)
    {
        let span = block.range.start..next.range.end;
        if matches!(next.kind, BlockKind::Heading(_)) || span.len() > MAXIMUM_MERGED_BYTES {
            return None;
        }
        let closes = source
            .get(next.range.clone())
            .is_some_and(|text| text.contains(opener.close));
        if closes && source.get(span).is_some_and(|text| balanced(text, opener)) {
            return Some((opener.kind, last));
        }
    }
    None
}
