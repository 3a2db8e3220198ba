//! Styles of a document, resolved along `basedOn`: what is a heading, a title, an entry of the
//! contents, code.

use std::collections::HashMap;
use std::rc::Rc;

use tributary_schemas::Result;

use super::numbering::Reference;
use super::run_look::RunLook;
use crate::office::xml::XmlReader;

/// Longest chain of styles that is followed.
const MAXIMUM_CHAIN: usize = 64;

/// What a paragraph is by its style.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Role {
    /// Body text.
    #[default]
    Body,
    /// The document's title.
    Title,
    /// An entry of the table of contents, or its heading.
    Contents,
    /// Code.
    Code,
    /// A quotation.
    Quote,
}

/// A paragraph style with all that it inherits.
#[derive(Clone, Debug, Default)]
pub(super) struct ParagraphStyle {
    /// Outline level from 0; 9 and more is body text.
    pub outline: Option<u8>,
    /// What it is by its name.
    pub role: Role,
    /// Its place in a list.
    pub numbering: Reference,
    /// Whether each paragraph begins a page.
    pub page_break_before: bool,
    /// The look of its text.
    pub look: RunLook,
}

/// One style as it is written.
#[derive(Clone, Debug, Default)]
struct Style {
    name: String,
    based_on: Option<String>,
    outline: Option<u8>,
    numbering: Reference,
    page_break_before: Option<bool>,
    look: RunLook,
}

/// All styles of a document.
#[derive(Debug, Default)]
pub(super) struct Styles {
    styles: HashMap<String, Style>,
    paragraphs: HashMap<String, Rc<ParagraphStyle>>,
    characters: HashMap<String, Rc<RunLook>>,
    default_paragraph: Option<String>,
    /// Size of text for which nothing else says one, in half points.
    default_size: Option<u16>,
}

impl Styles {
    /// Reads the styles part.
    pub(super) fn read(xml: &mut XmlReader) -> Result<Self> {
        let mut styles = Self::default();
        xml.child()?;
        while let Some(element) = xml.child()? {
            if element.name() == "docDefaults" {
                styles.default_size = default_size(xml)?;
                continue;
            }
            let Some(id) = element
                .attribute("styleId")
                .filter(|_| element.name() == "style")
            else {
                xml.skip()?;
                continue;
            };
            let is_paragraph = element
                .attribute("type")
                .is_none_or(|kind| kind == "paragraph");
            if is_paragraph
                && element
                    .attribute("default")
                    .is_some_and(|default| matches!(&*default, "1" | "true" | "on"))
            {
                styles.default_paragraph = Some(id.clone().into_owned());
            }
            let id = id.into_owned();
            styles.styles.insert(id, Style::read(xml)?);
        }
        Ok(styles)
    }

    /// The paragraph style of that identifier, of the default one without it.
    pub(super) fn paragraph(&mut self, id: Option<&str>) -> Rc<ParagraphStyle> {
        let Some(id) = id.or(self.default_paragraph.as_deref()).map(str::to_owned) else {
            return Rc::default();
        };
        if let Some(known) = self.paragraphs.get(&id) {
            return Rc::clone(known);
        }
        let resolved = Rc::new(self.resolve(&id));
        self.paragraphs.insert(id, Rc::clone(&resolved));
        resolved
    }

    /// The look of a character style.
    pub(super) fn character(&mut self, id: &str) -> Rc<RunLook> {
        if let Some(known) = self.characters.get(id) {
            return Rc::clone(known);
        }
        let mut look = RunLook::default();
        for style in self.chain(id) {
            look.inherit(&style.look);
            look.is_code |= is_code_name(&normalized(&style.name));
        }
        let look = Rc::new(look);
        self.characters.insert(id.to_owned(), Rc::clone(&look));
        look
    }

    /// The numbering that a numbering style stands for.
    pub(super) fn numbering(&self, id: &str) -> Option<String> {
        self.chain(id)
            .into_iter()
            .find_map(|style| style.numbering.list.clone())
    }

    /// The style and those that it is based on.
    fn chain(&self, id: &str) -> Vec<&Style> {
        let mut chain = Vec::new();
        let mut next = self.styles.get(id);
        while let Some(style) = next.filter(|_| chain.len() < MAXIMUM_CHAIN) {
            chain.push(style);
            next = style.based_on.as_deref().and_then(|id| self.styles.get(id));
        }
        chain
    }

    fn resolve(&self, id: &str) -> ParagraphStyle {
        let mut resolved = ParagraphStyle::default();
        let chain = self.chain(id);
        let mut page_break_before = None;
        for style in &chain {
            let name = normalized(&style.name);
            if resolved.role == Role::Body {
                resolved.role = role_of(&name);
            }
            resolved.outline = resolved
                .outline
                .or(style.outline)
                .or_else(|| heading_level(&name));
            resolved.numbering.inherit(&style.numbering);
            page_break_before = page_break_before.or(style.page_break_before);
            resolved.look.inherit(&style.look);
        }
        if chain.is_empty() {
            // Some writers name styles that they do not define.
            let name = normalized(id);
            resolved.outline = heading_level(&name);
            resolved.role = role_of(&name);
        }
        resolved.look.size = resolved.look.size.or(self.default_size);
        resolved.page_break_before = page_break_before.unwrap_or(false);
        resolved
    }
}

impl Style {
    fn read(xml: &mut XmlReader) -> Result<Self> {
        let mut style = Self::default();
        while let Some(element) = xml.child()? {
            match element.name() {
                "name" => style.name = element.value().unwrap_or_default().into_owned(),
                "basedOn" => style.based_on = element.value().map(|value| value.into_owned()),
                "pPr" => {
                    style.read_paragraph(xml)?;
                    continue;
                }
                "rPr" => {
                    style.look = RunLook::read(xml)?;
                    continue;
                }
                _ => {}
            }
            xml.skip()?;
        }
        Ok(style)
    }

    fn read_paragraph(&mut self, xml: &mut XmlReader) -> Result<()> {
        while let Some(element) = xml.child()? {
            match element.name() {
                "outlineLvl" => {
                    self.outline = element.number().and_then(|level| u8::try_from(level).ok())
                }
                "pageBreakBefore" => self.page_break_before = Some(element.is_on()),
                "numPr" => {
                    self.numbering = Reference::read(xml)?;
                    continue;
                }
                _ => {}
            }
            xml.skip()?;
        }
        Ok(())
    }
}

/// The size that the defaults of the document give, in the element that was entered last.
fn default_size(xml: &mut XmlReader) -> Result<Option<u16>> {
    let mut size = None;
    while let Some(element) = xml.child()? {
        match element.name() {
            "rPrDefault" => size = default_size(xml)?,
            "rPr" => size = RunLook::read(xml)?.size,
            _ => xml.skip()?,
        }
    }
    Ok(size)
}

/// Names are compared in lower case, up to a comma that parts aliases.
fn normalized(name: &str) -> String {
    name.split(',')
        .next()
        .unwrap_or_default()
        .trim()
        .to_lowercase()
}

/// Words that headings are called by, as the programs of many languages write them.
const HEADING_WORDS: [&str; 24] = [
    "heading",
    "标题",
    "標題",
    "überschrift",
    "titre",
    "título",
    "titulo",
    "titolo",
    "kop",
    "rubrik",
    "overskrift",
    "otsikko",
    "nagłówek",
    "заголовок",
    "見出し",
    "제목",
    "nadpis",
    "başlık",
    "encabezado",
    "intestazione",
    "címsor",
    "επικεφαλίδα",
    "titlu",
    "berschrift",
];

/// Level from 0 of a heading style by its name, such as `heading 1` or `标题 1`.
fn heading_level(name: &str) -> Option<u8> {
    let rest = HEADING_WORDS
        .iter()
        .find_map(|word| name.strip_prefix(word))?;
    let rest = rest.trim_start_matches([' ', '_', '-', '\u{3000}']);
    let level = rest
        .parse::<u8>()
        .ok()
        .filter(|level| (1..=9).contains(level) && rest.len() == 1)?;
    Some(level - 1)
}

fn role_of(name: &str) -> Role {
    if is_code_name(name) {
        return Role::Code;
    }
    match name {
        "title" | "标题" | "標題" | "文档标题" | "titel" | "titre" | "título" | "titolo"
        | "표제" | "表題" | "제목" | "tytuł" | "название" => Role::Title,
        "toc heading" | "tocheading" | "toc 标题" | "contents heading" => Role::Contents,
        "quote" | "intense quote" | "block text" | "quotations" | "引用" | "明显引用"
        | "intensequote" => Role::Quote,
        name => {
            let rest = ["toc", "contents", "目录"]
                .iter()
                .find_map(|word| name.strip_prefix(word));
            let is_entry = rest.is_some_and(|rest| matches!(rest.trim().as_bytes(), [b'1'..=b'9']));
            if is_entry { Role::Contents } else { Role::Body }
        }
    }
}

fn is_code_name(name: &str) -> bool {
    matches!(
        name,
        "code"
            | "source code"
            | "sourcecode"
            | "html preformatted"
            | "html 预设格式"
            | "html code"
            | "preformatted text"
            | "verbatim char"
            | "code block"
            | "codeblock"
            | "inline code"
            | "code char"
            | "代码"
            | "源代码"
            | "html typewriter"
            | "source text"
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::config::Config;
    use crate::limits::Limits;

    fn styles(inside: &str) -> Styles {
        let config = Config::default();
        let text = format!("<w:styles>{inside}</w:styles>");
        Styles::read(&mut XmlReader::new(
            &text,
            "styles",
            Limits::starting_now(&config),
        ))
        .unwrap()
    }

    #[test]
    fn headings_are_found_through_chains_and_names() {
        let mut styles = styles(
            "<w:style w:type='paragraph' w:styleId='1'><w:name w:val='heading 1'/><w:pPr><w:outlineLvl w:val='0'/></w:pPr></w:style>
             <w:style w:type='paragraph' w:styleId='a'><w:name w:val='我的标题'/><w:basedOn w:val='1'/></w:style>
             <w:style w:type='paragraph' w:styleId='b'><w:name w:val='标题 2'/></w:style>
             <w:style w:type='paragraph' w:styleId='c'><w:name w:val='Body of heading'/><w:basedOn w:val='1'/><w:pPr><w:outlineLvl w:val='9'/></w:pPr></w:style>
             <w:style w:type='paragraph' w:styleId='d'><w:name w:val='x'/><w:basedOn w:val='e'/></w:style>
             <w:style w:type='paragraph' w:styleId='e'><w:name w:val='y'/><w:basedOn w:val='d'/></w:style>
             <w:style w:type='paragraph' w:styleId='f'><w:name w:val='heading 3,H3,h3'/></w:style>",
        );
        let outlines: Vec<Option<u8>> = [
            "1",
            "a",
            "b",
            "c",
            "d",
            "f",
            "Heading4",
            "Header",
            "berschrift2",
        ]
        .into_iter()
        .map(|id| styles.paragraph(Some(id)).outline)
        .collect();
        assert_eq!(
            outlines,
            [
                Some(0),
                Some(0),
                Some(1),
                Some(9),
                None,
                Some(2),
                Some(3),
                None,
                Some(1)
            ]
        );
    }

    #[test]
    fn roles_are_known_by_name() {
        for (name, role) in [
            ("title", Role::Title),
            ("toc 3", Role::Contents),
            ("html preformatted", Role::Code),
            ("quote", Role::Quote),
            ("tocsin", Role::Body),
        ] {
            assert_eq!(role_of(name), role, "{name}");
        }
    }
}
