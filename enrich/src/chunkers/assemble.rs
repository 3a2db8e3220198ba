//! Turns byte ranges of a document into chunks: ids, pages, images, ordinals and the links between
//! parents and children.

use std::collections::HashMap;
use std::ops::Range;

use tributary_schemas::{Chunk, ChunkId, ChunkKind, CleanDocument};

use crate::markdown::{ImagePlace, Outline};

/// A chunk to be.
pub(super) struct Draft {
    pub kind: ChunkKind,
    pub section_path: Vec<String>,
    pub text: String,
    pub tokens: usize,
    /// Bytes of the source that it stands for; gives the pages.
    pub range: Range<usize>,
    /// Position of the chunk above in the result.
    pub parent: Option<usize>,
    pub is_continuation: bool,
}

/// Collects chunks in document order.
pub(super) struct Assembly<'a> {
    clean: &'a CleanDocument,
    chunks: Vec<Chunk>,
    occurrences: HashMap<ChunkId, u32>,
}

impl<'a> Assembly<'a> {
    pub fn new(clean: &'a CleanDocument) -> Self {
        Self {
            clean,
            chunks: Vec::new(),
            occurrences: HashMap::new(),
        }
    }

    /// Adds a chunk and returns its position.
    pub fn push(&mut self, draft: Draft, images: &[ImagePlace]) -> usize {
        let chunk_id = self.identify(&draft);
        let position = self.chunks.len();
        let mut parent_id = None;
        let mut parent_summary = None;
        if let Some(parent) = draft.parent.and_then(|parent| self.chunks.get_mut(parent)) {
            parent.child_ids.push(chunk_id);
            parent_id = Some(parent.chunk_id);
            parent_summary = Some(parent.text.clone());
        }
        self.chunks.push(Chunk {
            chunk_id,
            kind: draft.kind,
            ordinal: u32::try_from(position).unwrap_or(u32::MAX),
            section_path: draft.section_path,
            tokens: u32::try_from(draft.tokens).unwrap_or(u32::MAX),
            parent_id,
            child_ids: Vec::new(),
            pages: self.pages(&draft.range),
            is_continuation: draft.is_continuation,
            parent_summary,
            images: self.links(images),
            text: draft.text,
            analyzed: String::new(),
        });
        position
    }

    pub fn finish(self) -> Vec<Chunk> {
        self.chunks
    }

    fn identify(&mut self, draft: &Draft) -> ChunkId {
        let derive = |occurrence| {
            ChunkId::derive(
                &self.clean.document.document_id,
                draft.kind.as_str(),
                &draft.section_path,
                &draft.text,
                occurrence,
            )
        };
        let first = derive(0);
        let occurrence = self.occurrences.get(&first).copied().unwrap_or(0);
        let id = if occurrence == 0 {
            first
        } else {
            derive(occurrence)
        };
        self.occurrences.insert(first, occurrence + 1);
        id
    }

    /// Pages, from 1, that the bytes lie on.
    fn pages(&self, range: &Range<usize>) -> Vec<u32> {
        let starts = &self.clean.page_starts;
        let begun_by = |offset: usize| starts.partition_point(|start| *start <= offset as u64);
        if starts.is_empty() || range.is_empty() {
            return Vec::new();
        }
        let first = begun_by(range.start).max(1);
        let last = begun_by(range.end - 1).max(first);
        (first..=last)
            .filter_map(|page| u32::try_from(page).ok())
            .collect()
    }

    /// Links of the images, each once: `image:N` is looked up, another destination is the link
    /// itself.
    fn links(&self, images: &[ImagePlace]) -> Vec<String> {
        let mut links: Vec<String> = Vec::new();
        for image in images {
            let link = match image
                .destination
                .strip_prefix("image:")
                .and_then(|number| number.parse::<usize>().ok())
            {
                Some(number) => self
                    .clean
                    .images
                    .get(number)
                    .map(|image| image.link.clone()),
                None => Some(image.destination.clone()),
            };
            links.extend(link.filter(|link| !link.is_empty()));
        }
        let mut seen = std::collections::HashSet::new();
        links.retain(|link| seen.insert(link.clone()));
        links
    }
}

/// The text of a byte range as a chunk shows it, and the images in it.
pub(super) fn excerpt<'o>(
    outline: &'o Outline<'_>,
    range: &Range<usize>,
) -> (String, &'o [ImagePlace]) {
    (
        outline.text(range.clone()).trim_end().to_owned(),
        outline.images_in(range),
    )
}
