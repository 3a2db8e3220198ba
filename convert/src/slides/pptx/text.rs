//! Text bodies of DrawingML: paragraphs, runs, fields, line ends, formulas, links, bullets.

use std::rc::Rc;

use tributary_schemas::Result;

use super::model::{Bullet, LEVELS, Levels, Paragraph, TextBody};
use crate::office::omml;
use crate::office::pieces::{Piece, Style};
use crate::office::relationships::Relationships;
use crate::office::symbol_fonts::{character, is_private};
use crate::office::xml::{Element, XmlReader};

/// Reads the text body that was entered last.
pub(super) fn body(xml: &mut XmlReader, links: &Relationships) -> Result<TextBody> {
    let mut body = TextBody::default();
    while let Some(element) = xml.child()? {
        match element.name() {
            "lstStyle" => body.levels = levels(xml)?,
            "p" => body.paragraphs.push(paragraph(xml, links)?),
            _ => xml.skip()?,
        }
    }
    Ok(body)
}

/// Reads the list style that was entered last.
pub(super) fn levels(xml: &mut XmlReader) -> Result<Levels> {
    let mut levels: Levels = [None; LEVELS];
    while let Some(element) = xml.child()? {
        // `lvl1pPr` to `lvl9pPr`.
        let number = element
            .name()
            .strip_prefix("lvl")
            .and_then(|rest| rest.strip_suffix("pPr"))
            .and_then(|number| number.parse().ok());
        match number.and_then(|number: usize| levels.get_mut(number.checked_sub(1)?)) {
            Some(level) => *level = bullet(xml)?,
            None => xml.skip()?,
        }
    }
    Ok(levels)
}

/// The bullet among the children of the paragraph properties that were entered last.
fn bullet(xml: &mut XmlReader) -> Result<Option<Bullet>> {
    let mut bullet = None;
    while let Some(element) = xml.child()? {
        match element.name() {
            "buNone" => bullet = Some(Bullet::None),
            "buChar" | "buBlip" => bullet = Some(Bullet::Mark),
            "buAutoNum" => {
                let start = element
                    .attribute("startAt")
                    .and_then(|start| start.parse().ok());
                bullet = Some(Bullet::Number(start.unwrap_or(1)));
            }
            _ => {}
        }
        xml.skip()?;
    }
    Ok(bullet)
}

fn paragraph(xml: &mut XmlReader, links: &Relationships) -> Result<Paragraph> {
    let mut paragraph = Paragraph::default();
    while let Some(element) = xml.child()? {
        match element.name() {
            "pPr" => {
                let level: Option<usize> = element
                    .attribute("lvl")
                    .and_then(|level| level.parse().ok());
                paragraph.level = level.unwrap_or(0).min(LEVELS - 1);
                paragraph.bullet = bullet(xml)?;
            }
            "r" => paragraph.pieces.extend(run(xml, links)?),
            "fld" => {
                paragraph.has_field = true;
                field(xml, &element, links, &mut paragraph)?;
            }
            "br" => {
                paragraph.pieces.push(Piece::Break);
                xml.skip()?;
            }
            "m" => paragraph.pieces.extend(formulas(xml)?),
            _ => xml.skip()?,
        }
    }
    Ok(paragraph)
}

/// Slide numbers and dates change with the slide and the day, and say nothing.
fn field(
    xml: &mut XmlReader,
    element: &Element,
    links: &Relationships,
    paragraph: &mut Paragraph,
) -> Result<()> {
    let kind = element.attribute("type").unwrap_or_default();
    if kind == "slidenum" || kind.starts_with("datetime") {
        return xml.skip();
    }
    paragraph.pieces.extend(run(xml, links)?);
    Ok(())
}

fn run(xml: &mut XmlReader, links: &Relationships) -> Result<Option<Piece>> {
    let (mut style, mut font, mut text) = (Style::default(), None, String::new());
    while let Some(element) = xml.child()? {
        match element.name() {
            "rPr" => (style, font) = run_style(xml, &element, links)?,
            "t" => text.push_str(&unescaped(&xml.text()?)),
            _ => xml.skip()?,
        }
    }
    let text = with_symbols(text, font.as_deref());
    Ok((!text.is_empty()).then_some(Piece::Text(text, style)))
}

/// The text with the characters of symbol fonts in Unicode. An arrow that PowerPoint made of `-->`
/// is one character of the font Wingdings, kept as the letter that has its code.
fn with_symbols(text: String, font: Option<&str>) -> String {
    let is_arrow = font == Some("Wingdings")
        && text.chars().eq(text.chars().take(1))
        && text.chars().all(|one| ('\u{80}'..='\u{FF}').contains(&one));
    if !is_arrow && !text.contains(is_private) {
        return text;
    }
    let shown = |one: char| {
        if is_arrow || is_private(one) {
            character(font.unwrap_or("Symbol"), u32::from(one))
        } else {
            Some(one)
        }
    };
    text.chars().filter_map(shown).collect()
}

/// How a run looks, and its symbol font.
fn run_style(
    xml: &mut XmlReader,
    element: &Element,
    links: &Relationships,
) -> Result<(Style, Option<String>)> {
    let is_on = |name: &str| matches!(element.attribute(name).as_deref(), Some("1" | "true"));
    let is_struck = element
        .attribute("strike")
        .is_some_and(|strike| strike != "noStrike");
    let mut style = Style {
        is_bold: is_on("b"),
        is_italic: is_on("i"),
        is_struck,
        link: None,
    };
    let mut font = None;
    while let Some(child) = xml.child()? {
        if child.name() == "hlinkClick" {
            style.link = external_link(&child, links);
        } else if child.name() == "sym" {
            font = child
                .attribute("typeface")
                .map(std::borrow::Cow::into_owned);
        }
        xml.skip()?;
    }
    Ok((style, font))
}

fn external_link(element: &Element, links: &Relationships) -> Option<Rc<str>> {
    let id = element.prefixed_attribute("id")?;
    let link = links.get(&id).filter(|link| link.is_external)?;
    Some(Rc::from(link.target.as_str()))
}

/// `_x000B_` and the like, as which characters are written that XML has not.
fn unescaped(text: &str) -> String {
    if !text.contains("_x000") {
        return text.to_owned();
    }
    text.replace("_x000B_", "\u{B}")
        .replace("_x000D_", "\n")
        .replace("_x000A_", "\n")
}

/// Formulas (`a14:m`) as LaTeX.
fn formulas(xml: &mut XmlReader) -> Result<Vec<Piece>> {
    let mut pieces = Vec::new();
    while let Some(element) = xml.child()? {
        match element.name() {
            "oMath" => pieces.push(Piece::Markdown(format!("${}$", omml::formula(xml)?))),
            "oMathPara" => pieces.extend(
                omml::formulas(xml)?
                    .into_iter()
                    .map(|latex| Piece::Markdown(format!("$${latex}$$"))),
            ),
            _ => xml.skip()?,
        }
    }
    pieces.retain(
        |piece| !matches!(piece, Piece::Markdown(formula) if formula.trim_matches('$').is_empty()),
    );
    Ok(pieces)
}
