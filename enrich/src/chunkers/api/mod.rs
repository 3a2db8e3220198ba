//! Pages of API references: an entry (class, function, method) with its signature, parameters,
//! returns, errors and examples is one chunk, never cut, with its fields beside the text. The methods
//! of a class are below it.
//!
//! Read from Markdown, so that any format gives them: a heading, a signature as code, fields that
//! begin with a label in bold or with a heading of their own.

mod entry;
mod labels;

use std::ops::Range;

use tributary_models::TokenCounter;
use tributary_schemas::{ChunkKind, CleanDocument};

use super::Cut;
use super::parts::{Part, Parts};
use crate::config::ChunkerConfig;
use crate::markdown::{BlockKind, Outline, Section};

use entry::{EntryReader, signature};

/// Grows with every change of the code that changes what this strategy gives.
pub(super) const CODE_VERSION: u32 = 1;

/// A section with a signature, or what stands before the first or between two.
struct Region {
    /// The section that it begins with.
    section: usize,
    blocks: Range<usize>,
    /// Block of its signature, and the signature.
    signature: Option<(usize, String)>,
}

/// Cuts a page; `None` if it has no entry.
pub(super) fn chunk(
    clean: &CleanDocument,
    config: &ChunkerConfig,
    tokens: &dyn TokenCounter,
) -> Option<Cut> {
    let outline = Outline::parse(&clean.markdown);
    let regions = regions(&outline);
    if regions.iter().all(|region| region.signature.is_none()) {
        return None;
    }
    let mut parts = Parts::new(clean, &outline, config, tokens);
    // Entries above the region at hand, with the end of their sections.
    let mut above: Vec<(usize, usize)> = Vec::new();
    for region in regions {
        while above.last().is_some_and(|(end, _)| *end <= region.section) {
            above.pop();
        }
        let parent = above.last().map(|(_, position)| *position);
        let path = parts.path(region.section);
        let Some((at, signature)) = &region.signature else {
            parts.push(Part::of(region.blocks, path, parent));
            continue;
        };
        let part = Part {
            kind: ChunkKind::Api,
            limit_tokens: config.block_limit_tokens,
            api: Some(read(&outline, &region.blocks, *at, signature)),
            ..Part::of(region.blocks.clone(), path, parent)
        };
        let position = parts.push(part);
        let end = outline
            .sections
            .get(region.section)
            .map(|section| section.sections_end);
        above.extend(end.zip(position));
    }
    Some(parts.finish())
}

fn read(
    outline: &Outline<'_>,
    blocks: &Range<usize>,
    signature_at: usize,
    signature: &str,
) -> Box<tributary_schemas::api_entry::ApiEntry> {
    let mut reader = EntryReader::new(signature);
    for at in blocks.clone() {
        let Some(block) = outline.blocks.get(at).filter(|_| at != signature_at) else {
            continue;
        };
        match block.kind {
            BlockKind::Heading(_) if at < signature_at => {}
            BlockKind::Heading(_) => {
                reader.heading(title_at(outline, at), outline.text(block.range.clone()));
            }
            _ => reader.block(outline, block),
        }
    }
    Box::new(reader.finish())
}

/// The title of the section that begins with a block.
fn title_at<'a>(outline: &'a Outline<'_>, block: usize) -> &'a str {
    let sections = &outline.sections;
    let begun = sections.partition_point(|section| section.own_blocks.start <= block);
    let section = sections.get(begun.wrapping_sub(1));
    section.map_or("", |section| section.title.as_str())
}

/// The page from top to bottom: a region begins with each section that has a signature, and where
/// the sections of one end.
fn regions(outline: &Outline<'_>) -> Vec<Region> {
    let mut regions: Vec<Region> = Vec::new();
    // The end of the sections of the entry at hand.
    let mut entry_end = 0;
    for (index, section) in outline.sections.iter().enumerate() {
        if section.own_blocks.is_empty() {
            continue;
        }
        let found = section_signature(outline, section);
        let begins = found.is_some() || index >= entry_end;
        match regions.last_mut() {
            Some(last) if !begins => last.blocks.end = section.own_blocks.end,
            // What no entry holds stays together.
            Some(last) if found.is_none() && last.signature.is_none() => {
                last.blocks.end = section.own_blocks.end;
            }
            _ => regions.push(Region {
                section: index,
                blocks: section.own_blocks.clone(),
                signature: found.clone(),
            }),
        }
        if found.is_some() {
            entry_end = section.sections_end;
        }
    }
    regions
}

/// The signature among the first blocks of a section.
fn section_signature(outline: &Outline<'_>, section: &Section) -> Option<(usize, String)> {
    /// Badges and the like may stand before it.
    const AMONG_THE_FIRST: usize = 4;
    let title = match section.level {
        0 | 1 => "",
        _ => section.title.as_str(),
    };
    let mut blocks = section.own_blocks.clone().take(AMONG_THE_FIRST);
    blocks.find_map(|at| {
        let found = signature(outline, outline.blocks.get(at)?, title)?;
        Some((at, found.to_owned()))
    })
}
