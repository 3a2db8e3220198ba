//! Drawings, old (VML) and new: pictures, text boxes, charts and diagrams in them.

use tributary_schemas::Result;

use super::body::Story;
use super::run_look::RunLook;
use crate::office::blocks::Block;
use crate::office::chart::{Chart, paragraphs};
use crate::office::inline::{Inline, Look};
use crate::office::xml::{Element, XmlReader};
use crate::slices::text_part;
use crate::table::ready_cell;

fn chart_rows(chart: &Chart) -> Vec<Vec<String>> {
    chart
        .rows()
        .iter()
        .map(|row| {
            row.iter()
                .map(|cell| ready_cell(&markdown_of(cell)))
                .collect()
        })
        .collect()
}

impl Story<'_, '_> {
    /// Adds what is in the drawing that was entered last: pictures to the text, text boxes and
    /// charts after the paragraph.
    pub(super) fn drawing(&mut self, xml: &mut XmlReader, inline: &mut Inline) -> Result<()> {
        self.drawn(xml, &mut String::new(), inline)
    }

    /// `alt` is the alternative text of the innermost shape that has one.
    fn drawn(&mut self, xml: &mut XmlReader, alt: &mut String, inline: &mut Inline) -> Result<()> {
        while let Some(element) = xml.child()? {
            match element.name() {
                "docPr" | "cNvPr" => {
                    take_description(&element, &["descr", "title"], alt);
                    xml.skip()?;
                }
                "blip" | "imagedata" => {
                    take_description(&element, &["title"], alt);
                    self.drawn_picture(&element, alt, inline)?;
                    xml.skip()?;
                }
                "textpath" => {
                    let text = element.attribute("string").unwrap_or_default().into_owned();
                    self.text(&text, &RunLook::default(), inline);
                    xml.skip()?;
                }
                "txbxContent" => self.text_box(xml)?,
                "chart" => {
                    let id = element.prefixed_attribute("id").map(|id| id.into_owned());
                    xml.skip()?;
                    self.chart(id.as_deref())?;
                }
                "relIds" => {
                    let id = element.prefixed_attribute("dm").map(|id| id.into_owned());
                    xml.skip()?;
                    self.diagram(id.as_deref())?;
                }
                "shapetype" | "OLEObject" | "extLst" | "style" | "spPr" | "bodyPr" => xml.skip()?,
                "shape" | "rect" | "roundrect" | "oval" | "group" => {
                    take_description(&element, &["alt"], alt);
                    self.drawn(xml, alt, inline)?;
                }
                _ => self.drawn(xml, alt, inline)?,
            }
        }
        Ok(())
    }

    /// A picture: embedded, else linked, by the attributes of new and old drawings.
    fn drawn_picture(&mut self, element: &Element, alt: &str, inline: &mut Inline) -> Result<()> {
        let ids = ["embed", "link", "id", "pict"]
            .iter()
            .filter_map(|name| element.prefixed_attribute(name));
        match ids.into_iter().find(|id| !id.is_empty()) {
            Some(id) => self.picture(&id, alt, inline),
            None => Ok(()),
        }
    }

    /// The paragraphs of a text box; they come after the paragraph that holds it.
    fn text_box(&mut self, xml: &mut XmlReader) -> Result<()> {
        let outer_fields = std::mem::take(&mut self.fields);
        let (counted_pages, outer_floating) = (
            std::mem::take(&mut self.counts_pages),
            std::mem::take(&mut self.floating),
        );
        let blocks = self.inner_blocks(xml);
        self.fields = outer_fields;
        self.counts_pages = counted_pages;
        self.floating = outer_floating;
        self.floating.extend(blocks?);
        Ok(())
    }

    /// The blocks in the element that was entered last, as a text of their own.
    pub(super) fn inner_blocks(&mut self, xml: &mut XmlReader) -> Result<Vec<Block>> {
        let outer = self.joined.take();
        let mut blocks = Vec::new();
        self.blocks(xml, &mut blocks)?;
        if let Some(rest) =
            std::mem::replace(&mut self.joined, outer).filter(|rest| !rest.is_blank())
        {
            blocks.push(Block::Paragraph(rest.markdown()));
        }
        Ok(blocks)
    }

    /// A chart as its title and a table of its data.
    fn chart(&mut self, id: Option<&str>) -> Result<()> {
        let Some((name, text)) = self.related_text(id)? else {
            return Ok(());
        };
        let chart = Chart::read(&mut XmlReader::new(&text, &name, self.document.limits))?;
        if !chart.title.is_empty() {
            self.floating
                .push(Block::Paragraph(markdown_of(&chart.title)));
        }
        let rows = chart_rows(&chart);
        self.document.check_size(
            rows.iter()
                .flatten()
                .map(|cell| cell.len() as u64 + 3)
                .sum(),
        )?;
        if !rows.is_empty() {
            self.floating.push(Block::Table(rows));
        }
        Ok(())
    }

    /// A diagram (SmartArt) as a list of its texts.
    fn diagram(&mut self, id: Option<&str>) -> Result<()> {
        let Some((name, text)) = self.related_text(id)? else {
            return Ok(());
        };
        let texts = paragraphs(&mut XmlReader::new(&text, &name, self.document.limits))?;
        self.document
            .check_size(texts.iter().map(|text| text.len() as u64).sum())?;
        let items = texts.iter().map(|text| Block::Item {
            level: 0,
            number: None,
            text: markdown_of(text),
        });
        self.floating.extend(items);
        Ok(())
    }

    /// Name and text of the part that a relationship names.
    pub(super) fn related_text(&mut self, id: Option<&str>) -> Result<Option<(String, String)>> {
        let relationship = id
            .and_then(|id| self.relationships.get(id))
            .filter(|relationship| !relationship.is_external);
        let Some(name) = relationship.map(|relationship| relationship.target.clone()) else {
            return Ok(None);
        };
        Ok(self
            .document
            .package
            .text(&name)?
            .map(|part| (name, part.text)))
    }

    /// A part of other content (plain text or HTML) that stands where the element is.
    pub(super) fn alternative_chunk(&mut self, id: &str, out: &mut Vec<Block>) -> Result<()> {
        let Some((name, text)) = self.related_text(Some(id))? else {
            return Ok(());
        };
        let media_type = self.document.package.media_type(&name);
        let text = match media_type.split(';').next().unwrap_or_default() {
            "text/plain" => text,
            "text/html" | "application/xhtml+xml" => text_of_html(&text),
            _ => return Ok(()),
        };
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let line = markdown_of(line);
            self.document.check_size(line.len() as u64)?;
            out.push(Block::Paragraph(line));
        }
        Ok(())
    }
}

fn take_description(element: &Element, names: &[&str], alt: &mut String) {
    let described = names
        .iter()
        .filter_map(|name| element.attribute(name))
        .find(|text| !text.trim().is_empty());
    if let Some(text) = described {
        *alt = text.into_owned();
    }
}

/// Plain text as Markdown on one line.
fn markdown_of(text: &str) -> String {
    let mut inline = Inline::default();
    inline.text(text, Look::default());
    inline.markdown()
}

/// HTML without its tags, scripts and styles; each block on a line.
fn text_of_html(html: &str) -> String {
    let mut text = String::new();
    let mut rest = html;
    while let Some((before, after)) = rest.split_once('<') {
        text.push_str(before);
        let (tag, after) = after.split_once('>').unwrap_or((after, ""));
        let name: String = tag
            .chars()
            .take_while(|character| character.is_ascii_alphanumeric() || *character == '/')
            .collect::<String>()
            .to_lowercase();
        rest = match name.as_str() {
            "script" | "style" | "head" | "title" => {
                let end = format!("</{name}");
                let at = after.to_ascii_lowercase().find(&end).unwrap_or(after.len());
                text_part(after, at..)
            }
            _ => after,
        };
        let is_block = matches!(
            name.trim_start_matches('/'),
            "p" | "br"
                | "div"
                | "li"
                | "tr"
                | "h1"
                | "h2"
                | "h3"
                | "h4"
                | "h5"
                | "h6"
                | "table"
                | "ul"
                | "ol"
                | "body"
                | "html"
        );
        let is_cell = matches!(name.as_str(), "td" | "th");
        text.push_str(if is_block {
            "\n"
        } else if is_cell {
            " "
        } else {
            ""
        });
    }
    text.push_str(rest);
    let unescaped = text
        .replace("&nbsp;", " ")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&#39;", "'");
    unescaped.replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn html_becomes_lines() {
        let html = "<html><head><title>t</title></head><body><p>a &lt; <b>b</b></p><STYLE>x</STYLE>c<br>d<script>e</scr";
        let lines: Vec<String> = text_of_html(html)
            .lines()
            .map(str::to_owned)
            .filter(|line| !line.is_empty())
            .collect();
        assert_eq!(lines, ["a < b", "c", "d"]);
    }
}
