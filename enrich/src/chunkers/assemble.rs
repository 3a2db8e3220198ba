//! Turns byte ranges of a document into chunks: pages and images at once; ids, ordinals and the links
//! between parents and children when all summaries are there, as ids depend on texts.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use tributary_models::TokenCounter;
use tributary_schemas::api_entry::ApiEntry;
use tributary_schemas::code_entry::{CodeEntry, DescribedBy};
use tributary_schemas::{Chunk, ChunkId, ChunkKind, CleanDocument};

use super::count;
use super::levels::{SectionLevels, summary_for};
use crate::descriptions::WantedDescription;
use crate::markdown::{ImagePlace, Outline};
use crate::summaries::WantedSummary;

/// A document that is cut; its summaries may still be missing.
#[derive(Clone, Debug, Default)]
pub struct Cut {
    document_id: String,
    document_title: String,
    /// Why it is cut in another way than asked for.
    pub(super) fallback: Option<String>,
    highest_section_level: Option<u8>,
    security_level: Option<u8>,
    planned: Vec<Planned>,
    wanted: Vec<WantedSummary>,
}

/// What a language model wrote of a document; where a text is missing, that of the chunker stands.
#[derive(Clone, Debug, Default)]
pub struct ModelTexts {
    /// In the order of [`Cut::wanted`].
    pub summaries: Vec<Option<String>>,
    /// In the order of [`Cut::wanted_descriptions`].
    pub descriptions: Vec<Option<String>>,
}

/// A chunk without what its neighbours and its summary decide.
#[derive(Clone, Debug)]
struct Planned {
    kind: ChunkKind,
    section_path: Vec<String>,
    pages: Vec<u32>,
    images: Vec<String>,
    /// Position of the chunk above.
    parent: Option<usize>,
    is_continuation: bool,
    api: Option<Box<ApiEntry>>,
    code: Option<Box<CodeEntry>>,
    language: Option<String>,
    /// The highest of its sections.
    section_level: u8,
    text: Text,
}

#[derive(Clone, Debug)]
enum Text {
    /// A part of the document, and its tokens.
    Cut(String, usize),
    /// The summary of this number.
    Wanted(usize),
}

impl Cut {
    /// How it was cut instead, where the strategy found nothing of its own in it.
    pub fn fallback(&self) -> Option<&str> {
        self.fallback.as_deref()
    }

    /// The highest security level of any section; `None` where the document has no rules for them.
    pub fn highest_section_level(&self) -> Option<u8> {
        self.highest_section_level
    }

    /// With every chunk at that level: where what is known of one is read from all of the document.
    pub(super) fn at_highest_level(mut self) -> Self {
        let highest = self.highest_section_level.unwrap_or(0);
        for planned in &mut self.planned {
            planned.section_level = highest;
        }
        self
    }

    /// Summaries that stand for sections, in document order: those above before those below.
    pub fn wanted(&self) -> &[WantedSummary] {
        &self.wanted
    }

    /// Whether there is code to describe.
    pub fn has_code(&self) -> bool {
        self.planned.iter().any(|planned| planned.code.is_some())
    }

    /// Descriptions of code, in document order.
    pub fn wanted_descriptions(&self) -> Vec<WantedDescription> {
        let wanted = |(position, planned): (usize, &Planned)| {
            let entry = planned.code.as_deref()?.clone();
            let text = match &planned.text {
                Text::Cut(text, _) => text.clone(),
                Text::Wanted(_) => String::new(),
            };
            let titles = std::iter::once(&self.document_title).chain(&planned.section_path);
            let titles: Vec<&str> = titles.map(String::as_str).collect();
            Some(WantedDescription {
                position,
                path: titles.join(" › "),
                entry,
                text,
            })
        };
        let planned = self.planned.iter().enumerate();
        planned.filter_map(wanted).collect()
    }

    /// The chunks, by ordinal, with what a model wrote. `analyzed` is empty.
    pub fn finish(self, written: ModelTexts, tokens: &dyn TokenCounter) -> Vec<Chunk> {
        let ModelTexts {
            mut summaries,
            descriptions,
        } = written;
        let mut descriptions = descriptions.into_iter();
        summaries.resize(self.wanted.len(), None);
        let texts: Vec<String> = self
            .wanted
            .iter()
            .zip(summaries)
            .map(|(wanted, summary)| wanted.text(summary))
            .collect();
        let mut ids = Ids::new(&self.document_id);
        let mut chunks: Vec<Chunk> = Vec::with_capacity(self.planned.len());
        for planned in self.planned {
            let (text, tokens) = match planned.text {
                Text::Cut(text, tokens) => (text, tokens),
                Text::Wanted(number) => {
                    let text = texts.get(number).cloned().unwrap_or_default();
                    let tokens = count(tokens, &text);
                    (text, tokens)
                }
            };
            let code = planned
                .code
                .map(|entry| described(entry, descriptions.next().flatten()));
            let chunk_id = ids.next(planned.kind, &planned.section_path, &identity(&text, &code));
            let is_above = |level: &u8| *level > self.security_level.unwrap_or(0);
            let mut chunk = Chunk {
                chunk_id,
                kind: planned.kind,
                ordinal: u32::try_from(chunks.len()).unwrap_or(u32::MAX),
                section_path: planned.section_path,
                text,
                tokens: u32::try_from(tokens).unwrap_or(u32::MAX),
                parent_id: None,
                child_ids: Vec::new(),
                pages: planned.pages,
                is_continuation: planned.is_continuation,
                parent_summary: None,
                images: planned.images,
                api: planned.api,
                code,
                language: planned.language,
                security_level: Some(planned.section_level).filter(is_above),
                analyzed: String::new(),
            };
            let parent = planned.parent.and_then(|parent| chunks.get_mut(parent));
            if let Some(parent) = parent {
                parent.child_ids.push(chunk_id);
                chunk.parent_id = Some(parent.chunk_id);
                chunk.parent_summary = summary_for(parent, &chunk);
            }
            chunks.push(chunk);
        }
        chunks
    }
}

/// Chunks of which some have another text than their ids were made from: with ids of what they say
/// now, in links and summaries above, too.
pub(crate) fn renewed(document_id: &str, mut chunks: Vec<Chunk>) -> Vec<Chunk> {
    let mut ids = Ids::new(document_id);
    let mut by_old: HashMap<ChunkId, Chunk> = HashMap::new();
    for chunk in &mut chunks {
        let identity = identity(&chunk.text, &chunk.code);
        let id = ids.next(chunk.kind, &chunk.section_path, &identity);
        let old = std::mem::replace(&mut chunk.chunk_id, id);
        by_old.insert(old, chunk.clone());
    }
    let renew = |old: &ChunkId| by_old.get(old).map(|renewed| renewed.chunk_id);
    for chunk in &mut chunks {
        let above = chunk.parent_id.and_then(|above| by_old.get(&above));
        chunk.parent_summary = above.and_then(|above| summary_for(above, chunk));
        chunk.parent_id = above.map(|above| above.chunk_id);
        chunk.child_ids = chunk.child_ids.iter().filter_map(renew).collect();
    }
    chunks
}

/// The entry with the description that a model wrote, where it wrote one.
fn described(entry: Box<CodeEntry>, description: Option<String>) -> Box<CodeEntry> {
    match description {
        Some(description) => Box::new(CodeEntry {
            description,
            described_by: DescribedBy::Model,
            ..*entry
        }),
        None => entry,
    }
}

/// What tells a chunk from others at its place: the text, and what else its vector is made from.
fn identity<'a>(text: &'a str, code: &Option<Box<CodeEntry>>) -> Cow<'a, str> {
    match code {
        Some(code) => Cow::Owned(format!("{}\n{text}", code.description)),
        None => Cow::Borrowed(text),
    }
}

/// Gives chunks of the same kind, place and text different ids.
struct Ids<'a> {
    document_id: &'a str,
    occurrences: HashMap<ChunkId, u32>,
}

impl<'a> Ids<'a> {
    fn new(document_id: &'a str) -> Self {
        Self {
            document_id,
            occurrences: HashMap::new(),
        }
    }

    fn next(&mut self, kind: ChunkKind, section_path: &[String], text: &str) -> ChunkId {
        let derive = |occurrence| {
            ChunkId::derive(
                self.document_id,
                kind.as_str(),
                section_path,
                text,
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
}

/// A chunk to be.
pub(super) struct Draft {
    pub kind: ChunkKind,
    pub section_path: Vec<String>,
    pub text: String,
    pub tokens: usize,
    /// Bytes of the source that it stands for; gives the pages.
    pub range: Range<usize>,
    /// Bytes of the part that it is cut from, `range` among them: its path may say what stands
    /// anywhere in it.
    pub part: Range<usize>,
    /// Position of the chunk above in the result.
    pub parent: Option<usize>,
    pub is_continuation: bool,
    pub api: Option<Box<ApiEntry>>,
    pub code: Option<Box<CodeEntry>>,
    /// Of source code.
    pub language: Option<String>,
}

/// Collects what a document is cut into, in document order.
pub(super) struct Assembly<'a> {
    clean: &'a CleanDocument,
    levels: SectionLevels,
    cut: Cut,
}

impl<'a> Assembly<'a> {
    pub fn new(clean: &'a CleanDocument) -> Self {
        let levels = SectionLevels::of(clean);
        Self {
            clean,
            cut: Cut {
                document_id: clean.document.document_id.clone(),
                document_title: clean.document.title.clone(),
                highest_section_level: levels.highest(),
                security_level: clean.document.attributes.security_level,
                ..Cut::default()
            },
            levels,
        }
    }

    /// What the rules make of the document's sections.
    pub fn levels(&self) -> &SectionLevels {
        &self.levels
    }

    /// Adds a chunk and returns its position.
    pub fn push(&mut self, draft: Draft, images: &[ImagePlace]) -> usize {
        let planned = Planned {
            section_level: self.levels.within(&draft.part),
            kind: draft.kind,
            section_path: draft.section_path,
            pages: self.pages(&draft.range),
            images: self.links(images),
            parent: draft.parent,
            is_continuation: draft.is_continuation,
            api: draft.api,
            code: draft.code,
            language: draft.language,
            text: Text::Cut(draft.text, draft.tokens),
        };
        self.add(planned)
    }

    /// Adds a chunk whose text is a summary that is yet to be written.
    pub fn push_summary(&mut self, wanted: WantedSummary, parent: Option<usize>) -> usize {
        let planned = Planned {
            section_level: self.levels.within(&wanted.range),
            kind: ChunkKind::Summary,
            section_path: wanted.section_path.clone(),
            pages: self.pages(&wanted.range),
            images: Vec::new(),
            parent,
            is_continuation: false,
            api: None,
            code: None,
            language: None,
            text: Text::Wanted(self.cut.wanted.len()),
        };
        self.cut.wanted.push(wanted);
        self.add(planned)
    }

    pub fn finish(self) -> Cut {
        self.cut
    }

    fn add(&mut self, planned: Planned) -> usize {
        self.cut.planned.push(planned);
        self.cut.planned.len() - 1
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
