//! The presentation part: its slides in order, their sections, and their size.

use std::collections::HashMap;

use tributary_schemas::Result;

use super::model::SlideSize;
use crate::office::xml::{Element, XmlReader};

/// Size of a slide that does not say: 10 × 7.5 inches in EMU.
const USUAL_SIZE: SlideSize = SlideSize {
    width: 9_144_000,
    height: 6_858_000,
};
/// Names that PowerPoint gives to sections by itself.
const USUAL_SECTIONS: [&str; 6] = [
    "Default Section",
    "Untitled Section",
    "默认节",
    "无标题节",
    "預設章節",
    "未命名的章節",
];

/// What the presentation part says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Deck {
    /// Identifier and relationship identifier of each slide, in order.
    pub slides: Vec<(String, String)>,
    /// Name of the section that begins with a slide, by the slide's identifier.
    pub sections: HashMap<String, String>,
    /// Size of the slides in EMU.
    pub size: SlideSize,
}

impl Deck {
    /// Reads the part.
    pub(super) fn read(xml: &mut XmlReader) -> Result<Self> {
        let mut deck = Self {
            size: USUAL_SIZE,
            ..Self::default()
        };
        xml.child()?;
        while let Some(element) = xml.child()? {
            match element.name() {
                "sldIdLst" => deck.slides = slides(xml)?,
                "sldSz" => {
                    let length = |name| {
                        element
                            .attribute(name)
                            .and_then(|length| length.parse().ok())
                            .filter(|length| *length > 0)
                    };
                    let (width, height) = (length("cx"), length("cy"));
                    deck.size = SlideSize {
                        width: width.unwrap_or(USUAL_SIZE.width),
                        height: height.unwrap_or(USUAL_SIZE.height),
                    };
                    xml.skip()?;
                }
                "extLst" => deck.extensions(xml)?,
                _ => xml.skip()?,
            }
        }
        Ok(deck)
    }

    /// Sections stand in an extension of the presentation.
    fn extensions(&mut self, xml: &mut XmlReader) -> Result<()> {
        while let Some(element) = xml.child()? {
            match element.name() {
                "ext" | "sectionLst" => self.extensions(xml)?,
                "section" => {
                    let name = element
                        .attribute("name")
                        .unwrap_or_default()
                        .trim()
                        .to_owned();
                    let first = first_slide(xml)?;
                    if let Some(first) = first
                        .filter(|_| !name.is_empty() && !USUAL_SECTIONS.contains(&name.as_str()))
                    {
                        self.sections.insert(first, name);
                    }
                }
                _ => xml.skip()?,
            }
        }
        Ok(())
    }
}

fn slides(xml: &mut XmlReader) -> Result<Vec<(String, String)>> {
    let mut slides = Vec::new();
    while let Some(element) = xml.child()? {
        if element.name() == "sldId"
            && let Some(relationship) = element.prefixed_attribute("id")
        {
            slides.push((own_id(&element), relationship.into_owned()));
        }
        xml.skip()?;
    }
    Ok(slides)
}

/// The attribute `id`, which stands beside `r:id`, in whatever order.
fn own_id(element: &Element) -> String {
    element
        .unprefixed_attribute("id")
        .unwrap_or_default()
        .into_owned()
}

/// Identifier of the first slide in the section that was entered last.
fn first_slide(xml: &mut XmlReader) -> Result<Option<String>> {
    let mut first = None;
    while let Some(list) = xml.child()? {
        if list.name() != "sldIdLst" {
            xml.skip()?;
            continue;
        }
        while let Some(element) = xml.child()? {
            first = first.or_else(|| Some(own_id(&element)));
            xml.skip()?;
        }
    }
    Ok(first)
}
