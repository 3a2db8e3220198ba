//! SmartArt: the texts of a diagram's data model as a list nested by its connections.

use std::collections::{BTreeMap, HashMap, HashSet};

use tributary_schemas::Result;

use super::model::TextBody;
use super::text;
use crate::office::blocks::Block;
use crate::office::pieces::to_markdown;
use crate::office::relationships::Relationships;
use crate::office::xml::XmlReader;

/// Deepest level of a list.
const MAXIMUM_LEVEL: usize = 32;

/// The data model.
#[derive(Debug, Default)]
struct Diagram {
    /// Texts of points by identifier; those of layout and of transitions have none.
    texts: HashMap<String, String>,
    /// Identifiers of the points in their order.
    order: Vec<String>,
    /// Children of a point by their order.
    children: HashMap<String, BTreeMap<(u32, usize), String>>,
    /// Points that are a child.
    placed: HashSet<String>,
    root: String,
}

/// Reads the data part of a diagram as list items.
pub(super) fn items(xml: &mut XmlReader, links: &Relationships) -> Result<Vec<Block>> {
    let mut diagram = Diagram::default();
    xml.child()?;
    while let Some(element) = xml.child()? {
        match element.name() {
            "ptLst" => diagram.points(xml, links)?,
            "cxnLst" => diagram.connections(xml)?,
            _ => xml.skip()?,
        }
    }
    Ok(diagram.into_items())
}

impl Diagram {
    fn points(&mut self, xml: &mut XmlReader, links: &Relationships) -> Result<()> {
        while let Some(element) = xml.child()? {
            let id = element
                .attribute("modelId")
                .unwrap_or_default()
                .into_owned();
            let kind = element.attribute("type").unwrap_or_default().into_owned();
            let mut text = String::new();
            while let Some(child) = xml.child()? {
                match child.name() {
                    "t" => text = joined(text::body(xml, links)?),
                    _ => xml.skip()?,
                }
            }
            match kind.as_str() {
                "doc" => self.root = id,
                "" | "node" | "asst" => {
                    self.order.push(id.clone());
                    self.texts.insert(id, text);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn connections(&mut self, xml: &mut XmlReader) -> Result<()> {
        let mut number = 0;
        while let Some(element) = xml.child()? {
            let said = |name: &str| element.attribute(name).unwrap_or_default().into_owned();
            // A connection that does not say its type is one of parent and child.
            if element.name() == "cxn" && matches!(said("type").as_str(), "" | "parOf") {
                let order = said("srcOrd").parse().unwrap_or(0);
                self.placed.insert(said("destId"));
                self.children
                    .entry(said("srcId"))
                    .or_default()
                    .insert((order, number), said("destId"));
                number += 1;
            }
            xml.skip()?;
        }
        Ok(())
    }

    /// Depth first from the root, then what is no child of anything. Every point is written once,
    /// so circles end.
    fn into_items(mut self) -> Vec<Block> {
        let mut items = Vec::new();
        let free = self.order.iter().filter(|id| !self.placed.contains(*id));
        let mut waiting: Vec<(String, usize)> = free.rev().map(|id| (id.clone(), 0)).collect();
        waiting.push((self.root.clone(), 0));
        while let Some((id, level)) = waiting.pop() {
            let text = self.texts.remove(&id).filter(|text| !text.is_empty());
            let below = level + usize::from(text.is_some());
            items.extend(text.map(|text| Block::Item {
                level: level.min(MAXIMUM_LEVEL),
                number: None,
                text,
            }));
            let children = self.children.remove(&id).unwrap_or_default();
            waiting.extend(children.into_values().rev().map(|child| (child, below)));
        }
        items
    }
}

/// Paragraphs of a point on one line.
fn joined(body: TextBody) -> String {
    let lines = body
        .paragraphs
        .iter()
        .map(|paragraph| to_markdown(&paragraph.pieces).replace('\n', " "));
    lines
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}
