//! The blocks of a story: the main text, a note, a cell, a text box.

use std::rc::Rc;

use tributary_schemas::Result;

use super::Document;
use super::fields::Fields;
use super::set_headings::Setting;
use super::styles::ParagraphStyle;
use super::typed_contents::without_contents;
use crate::office::blocks::{Block, text_of};
use crate::office::inline::Inline;
use crate::office::relationships::Relationships;
use crate::office::xml::{Element, XmlReader};

/// A part that holds paragraphs, while it is read.
pub(super) struct Story<'d, 'b> {
    pub document: &'d mut Document<'b>,
    pub relationships: Rc<Relationships>,
    pub fields: Fields,
    /// Blocks of text boxes and charts, which come after the paragraph that holds them.
    pub floating: Vec<Block>,
    /// Text of a paragraph whose end was deleted: it goes on in the next one.
    pub joined: Option<Inline>,
    /// Whether the style of the paragraph that is read hides its text.
    pub hides_text: bool,
    /// The style of the paragraph that is read, and how its letters are set.
    pub style: Rc<ParagraphStyle>,
    pub setting: Setting,
    /// Whether the part says where Word last saw pages begin.
    pub relies_on_rendered_pages: bool,
    /// Whether page breaks count here; not in notes and text boxes.
    pub counts_pages: bool,
    /// Whether nothing was read since a break that the author asked for.
    pub after_explicit_page: bool,
    /// Whether a paragraph has been read.
    pub has_begun: bool,
    /// Tables that are open, and the page breaks in the innermost cell.
    pub table_depth: usize,
    pub pages_in_cell: usize,
    /// For each section: whether it begins on a page of its own.
    section_begins_page: Vec<bool>,
}

impl<'d, 'b> Story<'d, 'b> {
    pub(super) fn new(document: &'d mut Document<'b>, part: &str) -> Result<Self> {
        let relationships = document.package.relationships(part)?;
        Ok(Self {
            document,
            relationships,
            fields: Fields::default(),
            floating: Vec::new(),
            joined: None,
            hides_text: false,
            style: Rc::default(),
            setting: Setting::default(),
            relies_on_rendered_pages: false,
            counts_pages: true,
            after_explicit_page: false,
            has_begun: false,
            table_depth: 0,
            pages_in_cell: 0,
            section_begins_page: Vec::new(),
        })
    }

    /// Adds the blocks in the element that was entered last.
    pub(super) fn blocks(&mut self, xml: &mut XmlReader, out: &mut Vec<Block>) -> Result<()> {
        while let Some(element) = xml.child()? {
            self.any_block(&element, xml, out)?;
        }
        Ok(())
    }

    /// Adds one block.
    pub(super) fn any_block(
        &mut self,
        element: &Element,
        xml: &mut XmlReader,
        out: &mut Vec<Block>,
    ) -> Result<()> {
        match element.name() {
            "p" => self.paragraph(xml, out),
            "tbl" => self.table(xml, out),
            "sdt" => self.content_control(xml, out),
            "ins" | "moveTo" | "customXml" | "smartTag" | "sdtContent" | "dir" | "bdo" | "r"
            | "txbxContent" | "subDoc" => self.blocks(xml, out),
            "sectPr" => self.section(xml),
            "oMathPara" | "oMath" => self.loose_formula(element, xml, out),
            "altChunk" => {
                let part = element.prefixed_attribute("id").map(|id| id.into_owned());
                xml.skip()?;
                part.map_or(Ok(()), |id| self.alternative_chunk(&id, out))
            }
            _ => xml.skip(),
        }
    }

    /// A content control; one that is a table of contents, or that nobody has filled in, is dropped
    /// but for its pages.
    fn content_control(&mut self, xml: &mut XmlReader, out: &mut Vec<Block>) -> Result<()> {
        let mut is_dropped = false;
        while let Some(element) = xml.child()? {
            match element.name() {
                "sdtPr" => is_dropped = is_dropped_control(xml)?,
                "sdtContent" if is_dropped => {
                    let mut dropped = Vec::new();
                    self.blocks(xml, &mut dropped)?;
                    out.extend(std::iter::repeat_n(Block::Page, pages_in(&dropped)));
                }
                "sdtContent" => self.blocks(xml, out)?,
                _ => xml.skip()?,
            }
        }
        Ok(())
    }

    fn loose_formula(
        &mut self,
        element: &Element,
        xml: &mut XmlReader,
        out: &mut Vec<Block>,
    ) -> Result<()> {
        let mut inline = Inline::default();
        self.inline_child(element, xml, &mut inline)?;
        if !inline.is_blank() {
            out.push(Block::Paragraph(inline.markdown()));
        }
        out.append(&mut self.floating);
        Ok(())
    }

    /// A section ends (in a paragraph's properties) or the last one is described (at the end of the
    /// body).
    pub(super) fn section(&mut self, xml: &mut XmlReader) -> Result<()> {
        let mut begins_page = true;
        while let Some(element) = xml.child()? {
            if element.name() == "type" {
                begins_page = !matches!(
                    element.value().as_deref(),
                    Some("continuous" | "nextColumn")
                );
            }
            xml.skip()?;
        }
        self.section_begins_page.push(begins_page);
        Ok(())
    }

    /// Number of sections so far.
    pub(super) fn sections(&self) -> usize {
        self.section_begins_page.len()
    }

    /// A page begins here because the author asked for it.
    pub(super) fn explicit_page(&mut self, inline: &mut Inline) {
        self.after_explicit_page = true;
        self.page(inline);
    }

    /// A page began here when Word last showed the document; the same page that the author asked
    /// for counts once.
    pub(super) fn rendered_page(&mut self, inline: &mut Inline) {
        if !std::mem::take(&mut self.after_explicit_page) {
            self.page(inline);
        }
    }

    fn page(&mut self, inline: &mut Inline) {
        if !self.counts_pages {
            return;
        }
        if self.table_depth > 0 {
            self.pages_in_cell += 1;
        } else {
            inline.page();
        }
    }

    /// The blocks with what could only be known at the end: which tables of contents ended, which
    /// sections begin a page, which lines are headings or entries of a typed table of contents.
    pub(super) fn settled(&mut self, blocks: Vec<Block>) -> Vec<Block> {
        let mut finished = Vec::with_capacity(blocks.len());
        for block in blocks {
            match block {
                Block::Contents(number, block) if self.fields.contents_ended.contains(&number) => {
                    finished.extend(std::iter::repeat_n(Block::Page, pages_in(&[*block])));
                }
                Block::Contents(_, block) => finished.push(*block),
                Block::Section(number)
                    if self.section_begins_page.get(number + 1) == Some(&true) =>
                {
                    finished.push(Block::Page)
                }
                Block::Section(_) => {}
                block => finished.push(block),
            }
        }
        without_contents(self.document.evidence.decide(finished))
    }
}

/// Whether a content control's properties name it a table of contents, or say that it shows what is to
/// be filled in.
pub(super) fn is_dropped_control(xml: &mut XmlReader) -> Result<bool> {
    let mut found = false;
    while let Some(element) = xml.child()? {
        match element.name() {
            "docPartGallery" => {
                let gallery = element.value().unwrap_or_default().to_ascii_lowercase();
                found |= gallery == "table of contents";
                xml.skip()?;
            }
            "docPartObj" | "docPartList" => found |= is_dropped_control(xml)?,
            // What stands there says what is to be filled in.
            "showingPlcHdr" => {
                found |= element.is_on();
                xml.skip()?;
            }
            _ => xml.skip()?,
        }
    }
    Ok(found)
}

/// Pages that begin in blocks.
fn pages_in(blocks: &[Block]) -> usize {
    let count = |text: &str| text.matches('\u{C}').count();
    blocks
        .iter()
        .map(|block| match block {
            Block::Page => 1,
            Block::Contents(_, inner) => pages_in(std::slice::from_ref(&**inner)),
            block => text_of(block).map_or(0, count),
        })
        .sum()
}
