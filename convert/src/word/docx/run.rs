//! What stands in a paragraph: runs, links, insertions, fields, formulas.

use tributary_schemas::Result;

use super::body::{Story, is_dropped_control};
use super::fields::{Ending, Meaning, meaning};
use super::notes::NoteKind;
use super::run_look::RunLook;
use crate::office::blocks::Block;
use crate::office::inline::{Inline, Look};
use crate::office::omml;
use crate::office::symbol_fonts;
use crate::office::xml::{Element, XmlReader};

/// Size of text in half points where no style and no default gives one.
const DEFAULT_SIZE: u16 = 20;

impl Story<'_, '_> {
    /// Adds a child of a paragraph.
    pub(super) fn inline_child(
        &mut self,
        element: &Element,
        xml: &mut XmlReader,
        inline: &mut Inline,
    ) -> Result<()> {
        match element.name() {
            "r" => self.run(xml, inline),
            "hyperlink" => self.hyperlink(element, xml, inline),
            "fldSimple" => self.simple_field(element, xml, inline),
            "sdt" => self.inline_control(xml, inline),
            "oMath" => {
                let latex = omml::formula(xml)?;
                self.formula(&latex, inline);
                Ok(())
            }
            "oMathPara" => self.formula_paragraph(xml, inline),
            "ruby" => self.ruby(xml, inline),
            "ins" | "moveTo" | "smartTag" | "customXml" | "dir" | "bdo" | "sdtContent"
            | "rubyBase" => self.inline_children(xml, inline),
            // Runs stand in these only in damaged documents.
            "p" => self.inline_children(xml, inline),
            _ => xml.skip(),
        }
    }

    /// Adds the children of the element that was entered last.
    pub(super) fn inline_children(
        &mut self,
        xml: &mut XmlReader,
        inline: &mut Inline,
    ) -> Result<()> {
        while let Some(element) = xml.child()? {
            self.inline_child(&element, xml, inline)?;
        }
        Ok(())
    }

    fn hyperlink(
        &mut self,
        element: &Element,
        xml: &mut XmlReader,
        inline: &mut Inline,
    ) -> Result<()> {
        let relationship = element
            .prefixed_attribute("id")
            .and_then(|id| self.relationships.get(&id).cloned());
        let Some(relationship) = relationship.filter(|relationship| relationship.is_external)
        else {
            return self.inline_children(xml, inline);
        };
        inline.open_link(&relationship.target);
        self.inline_children(xml, inline)?;
        inline.close_link();
        Ok(())
    }

    fn simple_field(
        &mut self,
        element: &Element,
        xml: &mut XmlReader,
        inline: &mut Inline,
    ) -> Result<()> {
        let meaning = element
            .attribute("instr")
            .map_or(Meaning::Result, |instruction| meaning(&instruction));
        match meaning {
            Meaning::Contents => xml.skip(),
            Meaning::Link(address) => {
                inline.open_link(&address);
                self.inline_children(xml, inline)?;
                inline.close_link();
                Ok(())
            }
            _ => self.inline_children(xml, inline),
        }
    }

    fn inline_control(&mut self, xml: &mut XmlReader, inline: &mut Inline) -> Result<()> {
        let mut is_dropped = false;
        while let Some(element) = xml.child()? {
            match element.name() {
                "sdtPr" => is_dropped = is_dropped_control(xml)?,
                "sdtContent" if !is_dropped => self.inline_children(xml, inline)?,
                _ => xml.skip()?,
            }
        }
        Ok(())
    }

    /// Phonetic text: the base is kept, what is written above it is not.
    fn ruby(&mut self, xml: &mut XmlReader, inline: &mut Inline) -> Result<()> {
        while let Some(element) = xml.child()? {
            match element.name() {
                "rubyBase" => self.inline_children(xml, inline)?,
                _ => xml.skip()?,
            }
        }
        Ok(())
    }

    /// A formula in a line of text.
    fn formula(&mut self, latex: &str, inline: &mut Inline) {
        if !latex.is_empty() && self.fields.shows_text() {
            self.after_explicit_page = false;
            inline.raw(format!("${latex}$"));
        }
    }

    /// Formulas on lines of their own; in cells they stay in the text.
    fn formula_paragraph(&mut self, xml: &mut XmlReader, inline: &mut Inline) -> Result<()> {
        for latex in omml::formulas(xml)? {
            self.after_explicit_page = false;
            if self.table_depth > 0 || !inline.is_blank() {
                self.formula(&latex, inline);
            } else {
                self.floating.push(Block::Formula(latex));
            }
        }
        Ok(())
    }

    fn run(&mut self, xml: &mut XmlReader, inline: &mut Inline) -> Result<()> {
        let mut look = RunLook::default();
        while let Some(element) = xml.child()? {
            if element.name() == "rPr" {
                look = RunLook::read(xml)?;
                if let Some(style) = look.style.clone() {
                    look.inherit(&self.document.styles.character(&style));
                }
                continue;
            }
            self.run_child(&element, &look, xml, inline)?;
        }
        Ok(())
    }

    fn run_child(
        &mut self,
        element: &Element,
        look: &RunLook,
        xml: &mut XmlReader,
        inline: &mut Inline,
    ) -> Result<()> {
        let is_hidden =
            look.hidden.unwrap_or(self.hides_text) && !self.document.settings.include_hidden_text;
        match element.name() {
            "t" => {
                let text = xml.text()?;
                if !is_hidden {
                    self.text(&text, look, inline);
                }
                return Ok(());
            }
            "instrText" => {
                let text = xml.text()?;
                self.fields.instruction(&text);
                return Ok(());
            }
            "fldChar" => return self.field_character(element, xml, inline),
            "drawing" | "pict" | "object" if !is_hidden => return self.drawing(xml, inline),
            "ruby" if !is_hidden => return self.ruby(xml, inline),
            "tab" | "ptab" => self.space(inline),
            "br" | "cr" => self.line_break(element, inline),
            "lastRenderedPageBreak" => self.rendered_page(inline),
            "noBreakHyphen" => self.text("-", look, inline),
            "sym" if !is_hidden => self.symbol(element, look, inline),
            "footnoteReference" if !is_hidden => self.note(NoteKind::Footnote, element, inline),
            "endnoteReference" if !is_hidden => self.note(NoteKind::Endnote, element, inline),
            "commentReference" if self.document.settings.include_comments => {
                self.note(NoteKind::Comment, element, inline)
            }
            // Some writers put them into runs.
            "oMath" | "oMathPara" | "hyperlink" | "r" | "ins" | "sdt" | "smartTag"
            | "fldSimple" => {
                return self.inline_child(element, xml, inline);
            }
            _ => {}
        }
        xml.skip()
    }

    fn space(&mut self, inline: &mut Inline) {
        if self.fields.shows_text() {
            inline.text("\t", Look::default());
        }
    }

    fn line_break(&mut self, element: &Element, inline: &mut Inline) {
        match element.attribute("type").as_deref() {
            Some("page") => self.explicit_page(inline),
            Some("column") => self.space(inline),
            _ if self.fields.shows_text() => inline.line_break(),
            _ => {}
        }
    }

    /// Adds text, of symbol fonts in Unicode.
    pub(super) fn text(&mut self, text: &str, look: &RunLook, inline: &mut Inline) {
        if !self.fields.shows_text() {
            return;
        }
        if !text.trim().is_empty() {
            self.after_explicit_page = false;
        }
        self.count_setting(text, look);
        let written = look.look(look.has_code_font());
        if !text.contains(symbol_fonts::is_private) {
            return inline.text(text, written);
        }
        let font = look.font.as_deref().unwrap_or_default();
        let in_unicode = |character: char| {
            let known = symbol_fonts::is_private(character)
                .then(|| symbol_fonts::character(font, u32::from(character)))
                .flatten();
            known.unwrap_or(character)
        };
        inline.text(&text.chars().map(in_unicode).collect::<String>(), written);
    }

    fn count_setting(&mut self, text: &str, look: &RunLook) {
        let of_style = &self.style.look;
        let is_bold = look.bold.or(of_style.bold) == Some(true);
        let size = look.size.or(of_style.size).unwrap_or(DEFAULT_SIZE);
        self.setting.add(text, is_bold, size);
    }

    fn symbol(&mut self, element: &Element, look: &RunLook, inline: &mut Inline) {
        let code = element
            .attribute("char")
            .and_then(|code| u32::from_str_radix(code.trim(), 16).ok());
        let font = element.attribute("font").unwrap_or_default();
        if let Some(character) = code.and_then(|code| symbol_fonts::character(&font, code)) {
            self.text(character.encode_utf8(&mut [0; 4]), look, inline);
        }
    }

    fn field_character(
        &mut self,
        element: &Element,
        xml: &mut XmlReader,
        inline: &mut Inline,
    ) -> Result<()> {
        let kind = element
            .attribute("fldCharType")
            .map(|kind| kind.into_owned())
            .unwrap_or_default();
        match kind.as_str() {
            "begin" => {
                self.fields.begin();
                return self.form_field(xml);
            }
            "separate" => {
                if let Some(address) = self.fields.separate() {
                    inline.open_link(&address);
                }
            }
            "end" => match self.fields.end() {
                Ending::CloseLink => inline.close_link(),
                Ending::Show(Meaning::Formula(latex)) => self.formula(&latex, inline),
                Ending::Show(Meaning::Text(text)) => self.text(&text, &RunLook::default(), inline),
                Ending::Show(_) | Ending::Nothing => {}
            },
            _ => {}
        }
        xml.skip()
    }

    /// What a form field shows: its box, or the chosen entry of its list.
    fn form_field(&mut self, xml: &mut XmlReader) -> Result<()> {
        let (mut checked, mut entries, mut chosen) = (None, Vec::new(), 0);
        let mut open = 1_usize;
        while open > 0 {
            match xml.next_node()? {
                crate::office::xml::Node::Start(element) => {
                    open += 1;
                    match element.name() {
                        "checkBox" => checked = checked.or(Some(false)),
                        "checked" | "default" if checked.is_some() => {
                            checked = Some(element.is_on())
                        }
                        "result" => {
                            chosen = element
                                .number()
                                .and_then(|number| usize::try_from(number).ok())
                                .unwrap_or(0)
                        }
                        "listEntry" => {
                            entries.push(element.value().unwrap_or_default().into_owned())
                        }
                        _ => {}
                    }
                }
                crate::office::xml::Node::End => open -= 1,
                crate::office::xml::Node::Text(_) => {}
                crate::office::xml::Node::Eof => break,
            }
        }
        match (checked, entries.get(chosen)) {
            (Some(is_checked), _) => self
                .fields
                .form(if is_checked { "☒" } else { "☐" }.to_owned()),
            (None, Some(entry)) => self.fields.form(entry.clone()),
            _ => {}
        }
        Ok(())
    }
}
