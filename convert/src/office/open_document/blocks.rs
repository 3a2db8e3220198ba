//! The document of the crate `anydoc` as Markdown.

use std::collections::HashMap;

use anydoc::model::{
    Block as Read, Cell, CellSlot, Document, ImageSource, Inline as ReadInline, LinkTarget, List,
    ListItem, Style, Table, TableKind,
};
use tributary_schemas::{ImageLink, Result};

use super::pages::MARK;
use crate::block::Block;
use crate::document::EmbeddedFile;
use crate::limits::Limits;
use crate::office::inline::{Inline, Look};
use crate::office::pictures::Pictures;
use crate::render::render;

/// Longest text of a merged cell, in bytes, that stands in every row that the cell reaches into.
const MAXIMUM_REPEATED_BYTES: usize = 400;

/// What was written.
pub(super) struct Written {
    pub(super) markdown: String,
    pub(super) first_heading: Option<String>,
    pub(super) pictures: Pictures,
}

struct Writer {
    assets: Vec<Option<EmbeddedFile>>,
    /// Labels of notes by what the document calls them.
    notes: HashMap<String, String>,
    pictures: Pictures,
    first_heading: Option<String>,
}

/// Writes a document; slides are pages.
pub(super) fn write(document: Document, limits: &Limits) -> Result<Written> {
    let labels = document.notes.iter().enumerate();
    let mut writer = Writer {
        notes: labels
            .map(|(index, note)| (note.id.clone(), (index + 1).to_string()))
            .collect(),
        assets: document.assets.into_iter().map(file).map(Some).collect(),
        pictures: Pictures::new(limits.maximum_embedded_bytes),
        first_heading: None,
    };
    let mut markdown = String::new();
    let slides: Vec<&[Read]> = document.blocks.split(is_mark).collect();
    // In front of the first mark is nothing.
    let from = usize::from(slides.len() > 1);
    for (index, slide) in slides.iter().skip(from).enumerate() {
        limits.check_time()?;
        if index > 0 {
            markdown.push_str("\n\u{C}");
        }
        markdown.push_str(&render(&writer.blocks(slide)));
    }
    let notes: Vec<Block> = document
        .notes
        .iter()
        .map(|note| {
            let label = writer.notes.get(&note.id).cloned().unwrap_or_default();
            Block::Footnote(label, writer.blocks(&note.blocks))
        })
        .collect();
    if !notes.is_empty() {
        markdown.push('\n');
        markdown.push_str(&render(&notes));
    }
    Ok(Written {
        markdown,
        first_heading: writer.first_heading,
        pictures: writer.pictures,
    })
}

fn file(asset: anydoc::model::Asset) -> EmbeddedFile {
    let name = asset.origin_part.rsplit('/').next().unwrap_or_default();
    EmbeddedFile {
        name: name.to_owned(),
        media_type: asset.media_type,
        bytes: asset.bytes,
    }
}

fn is_mark(block: &Read) -> bool {
    let Read::Heading { content, .. } = block else {
        return false;
    };
    matches!(content.as_slice(), [ReadInline::Text { text, .. }, ..] if text.starts_with(MARK))
        && content.len() == 1
}

impl Writer {
    fn blocks(&mut self, blocks: &[Read]) -> Vec<Block> {
        let mut out = Vec::with_capacity(blocks.len());
        for block in blocks {
            self.block(block, &mut out);
        }
        out
    }

    fn block(&mut self, block: &Read, out: &mut Vec<Block>) {
        match block {
            Read::Heading { level, content, .. } => {
                let inline = self.inline(content);
                self.heading(*level, &inline, out);
            }
            Read::Paragraph(content) => out.extend(self.paragraph(content)),
            Read::List(list) => out.push(self.list(list)),
            Read::Table(table) => self.table(table, out),
            Read::BlockQuote(content) => out.push(Block::Quote(self.blocks(content))),
            Read::CodeBlock { lang, text } => {
                let language = lang.clone().unwrap_or_default();
                out.push(Block::Code(language, text.clone()));
            }
            Read::Rule => out.push(Block::Rule),
            Read::Math(formula) => out.push(Block::Math(formula.clone())),
        }
    }

    /// `None` if the paragraph shows nothing.
    fn paragraph(&mut self, content: &[ReadInline]) -> Option<Block> {
        let inline = self.inline(content);
        (!inline.is_blank()).then(|| Block::Paragraph(inline.markdown()))
    }

    /// A heading without text, but with a picture, is that picture.
    fn heading(&mut self, level: u8, inline: &Inline, out: &mut Vec<Block>) {
        let title = inline.title();
        if title.is_empty() {
            if !inline.is_blank() {
                out.push(Block::Paragraph(inline.markdown()));
            }
            return;
        }
        self.first_heading.get_or_insert(title);
        out.push(Block::Heading(level.clamp(1, 6), inline.heading()));
    }

    fn list(&mut self, list: &List) -> Block {
        let items = list.items.iter().map(|item| self.item(item)).collect();
        Block::List(list.ordered().then_some(list.start), items)
    }

    /// A mark that no list of Markdown has stands in front of the text.
    fn item(&mut self, item: &ListItem) -> Vec<Block> {
        let mut blocks = self.blocks(&item.blocks);
        if let (Some(label), Some(Block::Paragraph(text))) =
            (&item.marker_label, blocks.first_mut())
        {
            let mut mark = Inline::default();
            mark.text(label, Look::default());
            *text = format!("{} {text}", mark.markdown());
        }
        blocks
    }

    /// Tables within a table stand after it; one that only serves layout is its content.
    fn table(&mut self, table: &Table, out: &mut Vec<Block>) {
        let cells = table.grid.iter().flatten();
        if table.kind == TableKind::Layout || table.is_single_cell() {
            for slot in cells {
                if let CellSlot::Origin(cell) = slot {
                    out.extend(self.blocks(&cell.blocks));
                }
            }
            return;
        }
        let mut inner = Vec::new();
        let mut rows: Vec<Vec<String>> = Vec::with_capacity(table.grid.len());
        for (number, slots) in table.grid.iter().enumerate() {
            let mut row = Vec::with_capacity(slots.len());
            for slot in slots {
                let text = match slot {
                    CellSlot::Origin(cell) => self.cell(cell, &mut inner),
                    CellSlot::Covered {
                        origin_row,
                        origin_col,
                    } if *origin_row < number => covered(&rows, *origin_row, *origin_col),
                    CellSlot::Covered { .. } => String::new(),
                };
                row.push(text);
            }
            rows.push(row);
        }
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        rows.iter_mut()
            .for_each(|row| row.resize(columns, String::new()));
        if rows.iter().flatten().any(|text| !text.is_empty()) {
            out.push(Block::Table(rows));
        }
        out.extend(inner);
    }

    /// A cell on one line.
    fn cell(&mut self, cell: &Cell, inner: &mut Vec<Block>) -> String {
        let mut blocks = self.blocks(&cell.blocks);
        inner.extend(blocks.extract_if(.., |block| matches!(block, Block::Table(_))));
        let text = render(&blocks);
        let lines: Vec<&str> = text
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .collect();
        lines.join("<br>").replace('|', "\\|")
    }

    fn inline(&mut self, content: &[ReadInline]) -> Inline {
        let mut inline = Inline::default();
        self.write_inline(content, &mut inline);
        inline
    }

    fn write_inline(&mut self, content: &[ReadInline], out: &mut Inline) {
        for part in content {
            match part {
                ReadInline::Text { text, style } => out.text(text, look(*style)),
                ReadInline::Link { content, target } => self.link(content, target, out),
                ReadInline::Image { alt, source } => self.image(alt, source, out),
                ReadInline::Anchor(_) => {}
                ReadInline::NoteRef(id) => {
                    if let Some(label) = self.notes.get(id) {
                        out.raw(format!("[^{label}]"));
                    }
                }
                ReadInline::LineBreak => out.line_break(),
                ReadInline::Math(formula) => out.raw(format!("${}$", formula.trim())),
                ReadInline::Checkbox(is_set) => {
                    out.text(anydoc::model::checkbox_text(*is_set), Look::default());
                }
            }
        }
    }

    fn link(&mut self, content: &[ReadInline], target: &LinkTarget, out: &mut Inline) {
        match target {
            LinkTarget::External(place) | LinkTarget::Relative(place) => {
                out.open_link(place);
            }
            LinkTarget::Anchor(_) => out.open_link(""),
        }
        self.write_inline(content, out);
        out.close_link();
    }

    fn image(&mut self, alt: &str, source: &ImageSource, out: &mut Inline) {
        match source {
            ImageSource::External(link) => {
                let image = ImageLink {
                    link: link.clone(),
                    alt: alt.to_owned(),
                };
                out.raw(self.pictures.link(image));
            }
            ImageSource::Asset(id) => {
                let file = self.assets.get_mut(id.0);
                let shown = self
                    .pictures
                    .show(&id.0.to_string(), alt, || file.and_then(Option::take));
                if let Some(markdown) = shown {
                    out.raw(markdown);
                }
            }
            ImageSource::Unavailable => out.text(alt, Look::default()),
        }
    }
}

/// What a merged cell says in a row below its first: the same, if it is short.
fn covered(rows: &[Vec<String>], row: usize, column: usize) -> String {
    rows.get(row)
        .and_then(|row| row.get(column))
        .filter(|text| text.len() <= MAXIMUM_REPEATED_BYTES && !text.contains("!["))
        .cloned()
        .unwrap_or_default()
}

fn look(style: Style) -> Look {
    Look {
        bold: style.bold,
        italic: style.italic,
        strike: style.strike,
        code: style.code,
        ..Look::default()
    }
}
