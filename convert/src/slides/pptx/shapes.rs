//! The shape tree of a slide, a layout or a master.
//!
//! Of alternate content one branch is taken (by the XML reader). Connectors, ink and sound are left
//! out.

use tributary_schemas::Result;

use super::model::{Cell, Content, Frame, Placeholder, Shape, Slide};
use super::text;
use crate::office::relationships::Relationships;
use crate::office::xml::{Element, XmlReader};

/// Reads a part that holds a slide, a layout or a master; its relationships name what its
/// hyperlinks lead to.
pub(super) fn slide(xml: &mut XmlReader, links: &Relationships) -> Result<Slide> {
    let mut slide = Slide::default();
    let Some(root) = xml.child()? else {
        return Ok(slide);
    };
    slide.is_hidden = matches!(root.attribute("show").as_deref(), Some("0" | "false"));
    while let Some(element) = xml.child()? {
        match element.name() {
            "cSld" => slide.shapes = common_slide(xml, links)?,
            "txStyles" => text_styles(xml, &mut slide)?,
            _ => xml.skip()?,
        }
    }
    Ok(slide)
}

fn common_slide(xml: &mut XmlReader, links: &Relationships) -> Result<Vec<Shape>> {
    let mut shapes = Vec::new();
    while let Some(element) = xml.child()? {
        match element.name() {
            "spTree" => shapes.extend(tree(xml, links)?.0),
            _ => xml.skip()?,
        }
    }
    Ok(shapes)
}

fn text_styles(xml: &mut XmlReader, slide: &mut Slide) -> Result<()> {
    while let Some(element) = xml.child()? {
        match element.name() {
            "titleStyle" => slide.title_levels = text::levels(xml)?,
            "bodyStyle" => slide.body_levels = text::levels(xml)?,
            "otherStyle" => slide.other_levels = text::levels(xml)?,
            _ => xml.skip()?,
        }
    }
    Ok(())
}

/// The shapes of a tree or a group, and what the group says of itself. Its depth is bounded by the
/// XML reader.
fn tree(xml: &mut XmlReader, links: &Relationships) -> Result<(Vec<Shape>, Shape, Option<Frame>)> {
    let (mut shapes, mut own, mut inner) = (Vec::new(), Shape::default(), None);
    while let Some(element) = xml.child()? {
        match element.name() {
            "sp" | "pic" | "graphicFrame" => shapes.push(shape(xml, links)?),
            "grpSp" => {
                let (children, mut group, frame) = tree(xml, links)?;
                group.content = Content::Group(children, frame);
                shapes.push(group);
            }
            "nvGrpSpPr" => describe(xml, &mut own)?,
            "grpSpPr" => inner = group_frames(xml, &mut own)?,
            _ => xml.skip()?,
        }
    }
    Ok((shapes, own, inner))
}

fn group_frames(xml: &mut XmlReader, own: &mut Shape) -> Result<Option<Frame>> {
    let mut inner = None;
    while let Some(element) = xml.child()? {
        match element.name() {
            "xfrm" => (own.frame, inner) = frames(xml)?,
            _ => xml.skip()?,
        }
    }
    Ok(inner)
}

/// A shape, picture or frame.
fn shape(xml: &mut XmlReader, links: &Relationships) -> Result<Shape> {
    let mut shape = Shape::default();
    while let Some(element) = xml.child()? {
        match element.name() {
            "nvSpPr" | "nvPicPr" | "nvGraphicFramePr" => describe(xml, &mut shape)?,
            "spPr" => properties(xml, &mut shape)?,
            "xfrm" => shape.frame = frames(xml)?.0,
            "blipFill" => picture(xml, &mut shape)?,
            "txBody" => shape.body = text::body(xml, links)?,
            "graphic" => graphic(xml, links, &mut shape)?,
            _ => xml.skip()?,
        }
    }
    Ok(shape)
}

/// Name, alternative text and placeholder.
fn describe(xml: &mut XmlReader, shape: &mut Shape) -> Result<()> {
    while let Some(element) = xml.child()? {
        match element.name() {
            "cNvPr" => {
                let said = |name: &str| {
                    element
                        .attribute(name)
                        .filter(|text| !text.trim().is_empty())
                };
                shape.alt = said("descr")
                    .or_else(|| said("title"))
                    .unwrap_or_default()
                    .into_owned();
                shape.is_hidden =
                    matches!(element.attribute("hidden").as_deref(), Some("1" | "true"));
                xml.skip()?;
            }
            "nvPr" => {
                while let Some(child) = xml.child()? {
                    if child.name() == "ph" {
                        shape.placeholder = Some(placeholder(&child));
                    }
                    xml.skip()?;
                }
            }
            _ => xml.skip()?,
        }
    }
    Ok(())
}

fn placeholder(element: &Element) -> Placeholder {
    let index = element
        .attribute("idx")
        .and_then(|index| index.parse().ok());
    Placeholder {
        kind: element.attribute("type").unwrap_or_default().into_owned(),
        index,
    }
}

/// Place and picture of a shape's properties.
fn properties(xml: &mut XmlReader, shape: &mut Shape) -> Result<()> {
    while let Some(element) = xml.child()? {
        match element.name() {
            "xfrm" => shape.frame = frames(xml)?.0,
            "blipFill" => picture(xml, shape)?,
            _ => xml.skip()?,
        }
    }
    Ok(())
}

fn picture(xml: &mut XmlReader, shape: &mut Shape) -> Result<()> {
    while let Some(element) = xml.child()? {
        if element.name() == "blip"
            && let Some(id) = element
                .prefixed_attribute("embed")
                .or_else(|| element.prefixed_attribute("link"))
        {
            shape.content = Content::Picture(id.into_owned());
        }
        xml.skip()?;
    }
    Ok(())
}

/// Two numbers, if both are there.
type Pair = Option<(i64, i64)>;

/// The rectangle of a shape, and of a group the one of its inner coordinates.
fn frames(xml: &mut XmlReader) -> Result<(Option<Frame>, Option<Frame>)> {
    let (mut outer, mut inner) = ((None, None), (None, None));
    while let Some(element) = xml.child()? {
        let pair = |first: &str, second: &str| {
            let number = |name: &str| element.attribute(name)?.trim().parse::<i64>().ok();
            Some((number(first)?, number(second)?))
        };
        match element.name() {
            "off" => outer.0 = pair("x", "y"),
            "ext" => outer.1 = pair("cx", "cy"),
            "chOff" => inner.0 = pair("x", "y"),
            "chExt" => inner.1 = pair("cx", "cy"),
            _ => {}
        }
        xml.skip()?;
    }
    let frame = |(corner, size): (Pair, Pair)| {
        let ((left, top), (width, height)) = (corner?, size.unwrap_or_default());
        Some(Frame {
            left,
            top,
            width,
            height,
        })
    };
    Ok((frame(outer), frame(inner)))
}

/// What a frame holds: a table, a chart, a diagram, or an object of another program with its
/// picture.
fn graphic(xml: &mut XmlReader, links: &Relationships, shape: &mut Shape) -> Result<()> {
    while let Some(element) = xml.child()? {
        match element.name() {
            "graphicData" | "oleObj" => graphic(xml, links, shape)?,
            "tbl" => shape.content = Content::Table(table(xml, links)?),
            "chart" => {
                shape.content = element
                    .prefixed_attribute("id")
                    .map_or(Content::Nothing, |id| Content::Chart(id.into_owned()));
                xml.skip()?;
            }
            "relIds" => {
                shape.content = element
                    .prefixed_attribute("dm")
                    .map_or(Content::Nothing, |id| Content::Diagram(id.into_owned()));
                xml.skip()?;
            }
            "pic" => show_picture(self::shape(xml, links)?, shape),
            _ => xml.skip()?,
        }
    }
    Ok(())
}

/// Lets a frame show the picture of its object; its own words for it come first.
fn show_picture(picture: Shape, shape: &mut Shape) {
    shape.content = picture.content;
    if shape.alt.is_empty() {
        shape.alt = picture.alt;
    }
}

fn table(xml: &mut XmlReader, links: &Relationships) -> Result<Vec<Vec<Cell>>> {
    let mut rows = Vec::new();
    while let Some(element) = xml.child()? {
        match element.name() {
            "tr" => {
                let mut row = Vec::new();
                while let Some(child) = xml.child()? {
                    match child.name() {
                        "tc" => row.push(cell(xml, &child, links)?),
                        _ => xml.skip()?,
                    }
                }
                rows.push(row);
            }
            _ => xml.skip()?,
        }
    }
    Ok(rows)
}

fn cell(xml: &mut XmlReader, element: &Element, links: &Relationships) -> Result<Cell> {
    let is_on = |name: &str| matches!(element.attribute(name).as_deref(), Some("1" | "true"));
    let mut cell = Cell {
        continues_left: is_on("hMerge"),
        continues_above: is_on("vMerge"),
        ..Cell::default()
    };
    while let Some(child) = xml.child()? {
        match child.name() {
            "txBody" => cell.body = text::body(xml, links)?,
            _ => xml.skip()?,
        }
    }
    Ok(cell)
}
