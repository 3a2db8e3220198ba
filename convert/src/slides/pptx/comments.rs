//! Comments of reviewers on a slide, of both kinds that PowerPoint writes. They are kept where the
//! settings say so.

use tributary_schemas::Result;

use crate::office::blocks::Block;
use crate::office::package::Package;
use crate::office::pieces::{Piece, to_markdown};
use crate::office::relationships::Relationships;
use crate::office::xml::{Node, XmlReader};

/// `Comments:` and one list item for each comment.
pub(super) fn blocks(package: &mut Package, links: &Relationships) -> Result<Vec<Block>> {
    let Some(part) = links.target_of_kind("comments") else {
        return Ok(Vec::new());
    };
    let Some(content) = package.text(part)? else {
        return Ok(Vec::new());
    };
    let mut xml = XmlReader::new(&content.text, part, package.limits());
    let mut texts: Vec<String> = Vec::new();
    loop {
        match xml.next_node()? {
            // Old comments have a `text`, new ones a text body.
            Node::Start(element) if element.name() == "text" => texts.push(xml.text()?),
            Node::Start(element) if element.name() == "txBody" => texts.push(body_text(&mut xml)?),
            Node::Eof => break,
            _ => {}
        }
    }
    let items = texts
        .into_iter()
        .map(|text| to_markdown(&[Piece::plain(text)]))
        .filter(|text| !text.is_empty());
    let items: Vec<Block> = items
        .map(|text| Block::Item {
            level: 0,
            number: None,
            text,
        })
        .collect();
    let heading = (!items.is_empty()).then(|| Block::Paragraph("Comments:".to_owned()));
    Ok(heading.into_iter().chain(items).collect())
}

fn body_text(xml: &mut XmlReader) -> Result<String> {
    let mut text = String::new();
    while let Some(element) = xml.child()? {
        match element.name() {
            "p" => text.push_str(&(xml.text()? + "\n")),
            _ => xml.skip()?,
        }
    }
    Ok(text)
}
