//! Tutorials and designs: each section down to the third level is a chunk, with all titles above as
//! prefix; deeper ones stay with theirs. What is too long is cut into leaves. A heading without text
//! goes with what comes next.

use tributary_models::TokenCounter;
use tributary_schemas::CleanDocument;

use super::Cut;
use super::parts::{Part, Parts};
use crate::config::ChunkerConfig;
use crate::markdown::Outline;

/// Grows with every change of the code that changes what this strategy gives.
pub(super) const CODE_VERSION: u32 = 1;

/// Sections below this level are no chunks of their own.
const DEEPEST_LEVEL: u8 = 3;

/// Cuts a document; `None` if it has no heading of the second or third level.
pub(super) fn chunk(
    clean: &CleanDocument,
    config: &ChunkerConfig,
    tokens: &dyn TokenCounter,
) -> Option<Cut> {
    let outline = Outline::parse(&clean.markdown);
    let is_cut_at = |level: u8| (2..=DEEPEST_LEVEL).contains(&level);
    if !outline
        .sections
        .iter()
        .any(|section| is_cut_at(section.level))
    {
        return None;
    }
    let mut parts = Parts::new(clean, &outline, config, tokens);
    let holds = |above: usize, below: usize| {
        let above = outline.sections.get(above);
        above.is_some_and(|above| above.sections_end > below)
    };
    // Blocks that are still to be a part, and the section that they begin in.
    let mut open: Option<(usize, std::ops::Range<usize>)> = None;
    for (index, section) in outline.sections.iter().enumerate() {
        let own = &section.own_blocks;
        if own.is_empty() {
            continue;
        }
        let bytes = outline.span(own.clone());
        let has_other_level = |blocks: &std::ops::Range<usize>| {
            let (before, levels) = (outline.span(blocks.clone()), parts.levels());
            levels.within(&before) != levels.within(&bytes)
        };
        let has_other_level = open.as_ref().is_some_and(|(_, open)| has_other_level(open));
        let begins = section.level <= DEEPEST_LEVEL || has_other_level;
        match open.take() {
            // A heading alone goes with the first section below it, and gives it no title.
            Some((first, blocks))
                if begins
                    && !has_other_level
                    && is_heading_alone(&outline, &blocks)
                    && holds(first, index) =>
            {
                open = Some((index, blocks.start..own.end));
            }
            Some((first, blocks)) if begins => {
                let path = parts.path(first);
                parts.push(Part::of(blocks, path, None));
                open = Some((index, own.clone()));
            }
            Some((first, blocks)) => open = Some((first, blocks.start..own.end)),
            None => open = Some((index, own.clone())),
        }
    }
    if let Some((first, blocks)) = open {
        let path = parts.path(first);
        parts.push(Part::of(blocks, path, None));
    }
    Some(parts.finish())
}

fn is_heading_alone(outline: &Outline<'_>, blocks: &std::ops::Range<usize>) -> bool {
    match outline.blocks.get(blocks.clone()) {
        Some([block]) => matches!(block.kind, crate::markdown::BlockKind::Heading(_)),
        _ => false,
    }
}
