//! Paragraphs: their properties decide whether they are headings, list items, code or text.

use std::rc::Rc;

use tributary_schemas::Result;

use super::body::Story;
use super::numbering::{Mark, Numbered, Reference};
use super::run_look::RunLook;
use super::set_headings::Setting;
use super::styles::{ParagraphStyle, Role};
use crate::contents;
use crate::office::blocks::Block;
use crate::office::inline::Inline;
use crate::office::xml::XmlReader;

/// Longest heading in characters; longer paragraphs with an outline level are text.
const MAXIMUM_HEADING_CHARACTERS: usize = 400;

/// A paragraph's own properties.
#[derive(Clone, Debug, Default)]
struct Properties {
    style: Option<String>,
    outline: Option<u8>,
    numbering: Reference,
    page_break_before: Option<bool>,
    is_end_deleted: bool,
    /// The section that ends with the paragraph.
    section: Option<usize>,
}

/// A paragraph with all that decides what it becomes.
pub(super) struct Finished {
    properties: Properties,
    pub style: Rc<ParagraphStyle>,
    pub inline: Inline,
    pub setting: Setting,
}

impl Story<'_, '_> {
    /// Adds the paragraph in the element that was entered last.
    pub(super) fn paragraph(&mut self, xml: &mut XmlReader, out: &mut Vec<Block>) -> Result<()> {
        let outer_floating = std::mem::take(&mut self.floating);
        let outer_hides_text = self.hides_text;
        let outer_setting = std::mem::take(&mut self.setting);
        let mut inline = self.joined.take().unwrap_or_default();
        let mut properties = Properties::default();
        let mut style = self.document.styles.paragraph(None);
        self.hides_text = style.look.is_hidden();
        let outer_style = std::mem::replace(&mut self.style, Rc::clone(&style));
        let mut contents = Inline::default();
        let mut contents_number = self.fields.contents();
        while let Some(element) = xml.child()? {
            if element.name() == "pPr" {
                properties = self.properties(xml)?;
                style = self.document.styles.paragraph(properties.style.as_deref());
                self.hides_text = style.look.is_hidden();
                self.style = Rc::clone(&style);
                // A page that has just begun, the first one too, is not begun once more.
                if properties
                    .page_break_before
                    .unwrap_or(style.page_break_before)
                    && self.has_begun
                    && !self.after_explicit_page
                {
                    self.explicit_page(&mut inline);
                }
                continue;
            }
            let target = if self.fields.contents().is_some() {
                &mut contents
            } else {
                &mut inline
            };
            self.inline_child(&element, xml, target)?;
            contents_number = contents_number.or(self.fields.contents());
        }
        self.fields.end_paragraph();
        self.has_begun = true;
        self.document.check_size(0)?;
        if let Some(number) = contents_number.filter(|_| !contents.is_blank()) {
            out.push(Block::Contents(
                number,
                Box::new(Block::Paragraph(contents.markdown())),
            ));
        } else {
            inline.append(contents);
        }
        let setting = std::mem::replace(&mut self.setting, outer_setting);
        let finished = Finished {
            properties,
            style,
            inline,
            setting,
        };
        self.end_paragraph(finished, out)?;
        self.style = outer_style;
        out.append(&mut self.floating);
        self.floating = outer_floating;
        self.hides_text = outer_hides_text;
        Ok(())
    }

    fn end_paragraph(&mut self, mut finished: Finished, out: &mut Vec<Block>) -> Result<()> {
        let section = finished.properties.section;
        if finished.properties.is_end_deleted && section.is_none() {
            self.joined = Some(finished.inline);
            return Ok(());
        }
        let (before, after) = finished.inline.take_outer_pages();
        out.extend(std::iter::repeat_n(Block::Page, before));
        self.push_paragraph(finished, out)?;
        out.extend(std::iter::repeat_n(Block::Page, after));
        if let Some(number) = section.filter(|_| {
            !self.relies_on_rendered_pages && self.counts_pages && self.table_depth == 0
        }) {
            out.push(Block::Section(number));
            self.after_explicit_page = true;
        }
        Ok(())
    }

    fn push_paragraph(&mut self, mut finished: Finished, out: &mut Vec<Block>) -> Result<()> {
        let numbered = self.numbered(&finished);
        let is_blank = finished.inline.is_blank();
        if finished.style.role == Role::Code && !(is_blank && finished.style.look.is_hidden()) {
            push_code(&mut finished.inline, out);
            return Ok(());
        }
        if is_blank && self.table_depth > 0 {
            // A column that Word numbers has nothing else in it.
            let label = numbered.map(|numbered| numbered.label);
            let label = label.filter(|label| label.contains(char::is_alphanumeric));
            out.extend(label.map(Block::Paragraph));
            return Ok(());
        }
        if is_blank || finished.style.role == Role::Contents {
            return Ok(());
        }
        self.after_explicit_page = false;
        if finished.inline.is_all_code() {
            finished.inline.forget_code();
        }
        let outline = finished
            .properties
            .outline
            .or(finished.style.outline)
            .filter(|level| *level < 9);
        let level = if finished.style.role == Role::Title && finished.properties.outline.is_none() {
            Some(0)
        } else {
            outline
        };
        if let Some(level) = level
            && self.push_heading(level, &mut finished, numbered.as_ref(), out)?
        {
            return Ok(());
        }
        let text = finished.inline.markdown();
        self.document.check_size(text.len() as u64)?;
        let mut block = block_of(text, numbered, finished.style.role);
        if self.counts_pages && self.table_depth == 0 {
            block = self.document.evidence.paragraph(&finished, block);
        }
        out.push(block);
        Ok(())
    }

    /// Counts the paragraph in its list.
    fn numbered(&mut self, finished: &Finished) -> Option<Numbered> {
        let mut place = finished.properties.numbering.clone();
        place.inherit(&finished.style.numbering);
        let is_direct = finished.properties.numbering.list.is_some();
        if is_direct && finished.properties.numbering.level.is_none() {
            place.level = finished.style.numbering.level;
        }
        if finished.inline.is_blank() && place.list.is_none() {
            return None;
        }
        let document = &mut *self.document;
        document.numbering.advance(
            &place,
            finished.properties.style.as_deref(),
            &document.styles,
        )
    }

    /// Whether the paragraph is short enough to be a heading.
    fn push_heading(
        &mut self,
        level: u8,
        finished: &mut Finished,
        numbered: Option<&Numbered>,
        out: &mut Vec<Block>,
    ) -> Result<bool> {
        let mut text = finished.inline.clone();
        let pages = text.take_pages();
        let mut text = text.heading();
        if text.chars().count() > MAXIMUM_HEADING_CHARACTERS {
            return Ok(false);
        }
        if let Some(numbered) = numbered.filter(|numbered| {
            !numbered.label.is_empty()
                && (numbered.has_words || self.document.settings.show_heading_numbers)
        }) {
            text = format!("{} {text}", numbered.label);
        }
        self.document.check_size(text.len() as u64)?;
        self.note_title(finished);
        self.document.evidence.told += usize::from(finished.style.role != Role::Title);
        out.push(Block::Heading((level + 1).min(6), text));
        out.extend(std::iter::repeat_n(Block::Page, pages));
        Ok(true)
    }

    /// Keeps the first title and the first heading, but for that of a table of contents.
    fn note_title(&mut self, finished: &Finished) {
        let found = if finished.style.role == Role::Title {
            &mut self.document.title
        } else {
            &mut self.document.first_heading
        };
        if found.is_none() {
            let title = Some(finished.inline.title());
            *found = title.filter(|title| !title.is_empty() && !contents::is_title(title));
        }
    }

    fn properties(&mut self, xml: &mut XmlReader) -> Result<Properties> {
        let mut properties = Properties::default();
        while let Some(element) = xml.child()? {
            match element.name() {
                "pStyle" => properties.style = element.value().map(|value| value.into_owned()),
                "outlineLvl" => {
                    properties.outline = element.number().and_then(|level| u8::try_from(level).ok())
                }
                "pageBreakBefore" => properties.page_break_before = Some(element.is_on()),
                // A large first letter stands in a paragraph of its own.
                "framePr" => {
                    properties.is_end_deleted |= element
                        .attribute("dropCap")
                        .is_some_and(|cap| cap != "none")
                }
                "numPr" => {
                    properties.numbering = Reference::read(xml)?;
                    continue;
                }
                "rPr" => {
                    properties.is_end_deleted |= RunLook::read(xml)?.is_mark_deleted;
                    continue;
                }
                "sectPr" => {
                    properties.section = Some(self.sections());
                    self.section(xml)?;
                    continue;
                }
                _ => {}
            }
            xml.skip()?;
        }
        Ok(properties)
    }
}

fn block_of(text: String, numbered: Option<Numbered>, role: Role) -> Block {
    match numbered {
        Some(Numbered {
            level,
            mark: Some(Mark::Bullet),
            label,
            ..
        }) if !label.is_empty() => Block::Item {
            level,
            number: None,
            text: format!("{label} {text}"),
        },
        Some(Numbered {
            level,
            mark: Some(mark),
            ..
        }) => Block::Item {
            level,
            number: mark.number(),
            text,
        },
        Some(Numbered { label, .. }) if !label.is_empty() => {
            Block::Paragraph(format!("{label} {text}"))
        }
        _ if role == Role::Quote => Block::Quote(text),
        _ => Block::Paragraph(text),
    }
}

/// Adds a line of code to the block before it, if that is code too.
fn push_code(inline: &mut Inline, out: &mut Vec<Block>) {
    inline.take_pages();
    let line = inline.plain();
    match out.last_mut() {
        Some(Block::Code(code)) => {
            code.push('\n');
            code.push_str(line.trim_end());
        }
        _ if line.trim().is_empty() => {}
        _ => out.push(Block::Code(line.trim_end().to_owned())),
    }
}
