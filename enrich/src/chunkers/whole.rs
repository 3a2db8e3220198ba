//! Documents that are never cut (cases, question and answer pages): one chunk of kind `Whole`.

use tributary_models::TokenCounter;
use tributary_schemas::{ChunkKind, CleanDocument};

use super::assemble::{Assembly, Draft, excerpt};
use super::{Cut, count};
use crate::markdown::Outline;

/// Grows with every change of the code that changes what this strategy gives.
pub(super) const CODE_VERSION: u32 = 1;

/// The document as one chunk.
pub(super) fn chunk(clean: &CleanDocument, tokens: &dyn TokenCounter) -> Cut {
    let outline = Outline::parse(&clean.markdown);
    let range = outline.span(0..outline.blocks.len());
    let (text, images) = excerpt(&outline, &range);
    let tokens = count(tokens, &text);
    one(
        clean,
        Draft {
            kind: ChunkKind::Whole,
            section_path: Vec::new(),
            text,
            tokens,
            part: range.clone(),
            range,
            parent: None,
            is_continuation: false,
            api: None,
            code: None,
            language: None,
        },
        images,
    )
}

/// A document without text is found by its title.
pub(super) fn chunk_title(clean: &CleanDocument, tokens: &dyn TokenCounter) -> Cut {
    let text = clean.document.title.trim().to_owned();
    if text.is_empty() {
        return Cut::default();
    }
    let tokens = count(tokens, &text);
    let draft = Draft {
        kind: ChunkKind::Whole,
        section_path: Vec::new(),
        text,
        tokens,
        range: 0..0,
        part: 0..0,
        parent: None,
        is_continuation: false,
        api: None,
        code: None,
        language: None,
    };
    one(clean, draft, &[])
}

fn one(clean: &CleanDocument, draft: Draft, images: &[crate::markdown::ImagePlace]) -> Cut {
    let mut assembly = Assembly::new(clean);
    assembly.push(draft, images);
    assembly.finish()
}
