//! A slide as blocks: its title, then its shapes in reading order.
//!
//! Dropped: footers, slide numbers, dates (text that someone typed into a date's place stays),
//! connectors, hidden shapes (a setting keeps them). A merged cell's text stands once in its row
//! and again in every row that it reaches down into.

use tributary_schemas::{ImageLink, Result};

use super::model::{Bullet, Cell, Content, Frame, LEVELS, Paragraph, Shape, TextBody};
use super::parents::{Parents, Role};
use super::{diagram, order};
use crate::blanks::collapsed;
use crate::document::EmbeddedFile;
use crate::office::blocks::{Block, check_size, repeated, size};
use crate::office::chart::Chart;
use crate::office::package::Package;
use crate::office::pictures::Pictures;
use crate::office::pieces::{Piece, to_markdown, to_plain_line};
use crate::office::relationships::Relationships;
use crate::office::xml::XmlReader;
use crate::picture::image;

/// Bytes of links that one text body may show.
const SPARE_LINK_BYTES: usize = 1 << 20;
/// Titles that programs write by themselves.
const USUAL_TITLES: [&str; 5] = [
    "PowerPoint Presentation",
    "Presentation",
    "PowerPoint 演示文稿",
    "演示文稿",
    "PowerPoint プレゼンテーション",
];

/// Reads the shapes of one slide.
pub(crate) struct Reader<'r, 'b> {
    pub package: &'r mut Package<'b>,
    pub pictures: &'r mut Pictures,
    pub links: &'r Relationships,
    pub parents: Parents,
    pub include_hidden: bool,
    /// What was found, the title first.
    pub blocks: Vec<Block>,
    pub title: Option<String>,
    /// Bytes of the blocks so far.
    pub written: usize,
    /// What could not be read.
    pub damage: Option<String>,
    /// Where pictures lie that no decoder reads.
    pub unread: Vec<Option<Frame>>,
}

impl Reader<'_, '_> {
    /// Adds the blocks of shapes that stand in reading order.
    pub(crate) fn shapes(&mut self, shapes: &[Shape]) -> Result<()> {
        for shape in shapes {
            if !shape.is_hidden || self.include_hidden {
                let before = self.blocks.len();
                self.shape(shape)?;
                self.written += size(self.blocks.get(before..).unwrap_or_default());
                check_size(self.written, &self.package.limits())?;
            }
        }
        Ok(())
    }

    fn shape(&mut self, shape: &Shape) -> Result<()> {
        match &shape.content {
            Content::Group(children, _) => return self.shapes(children),
            Content::Picture(id) => self.picture(id, shape)?,
            Content::Table(rows) => self.blocks.extend(table(rows)),
            Content::Chart(id) => self.chart(id, &shape.alt)?,
            Content::Diagram(id) => self.diagram(id)?,
            Content::Nothing => {}
        }
        add_text(shape, &self.parents, &mut self.blocks, &mut self.title);
        Ok(())
    }

    fn picture(&mut self, id: &str, shape: &Shape) -> Result<()> {
        let Some(link) = self.links.get(id) else {
            return Ok(());
        };
        if link.is_external {
            let link = ImageLink {
                link: link.target.clone(),
                alt: shape.alt.clone(),
            };
            self.blocks.push(Block::Paragraph(self.pictures.link(link)));
            return Ok(());
        }
        let file = if self.pictures.knows(&link.target) {
            None
        } else {
            embedded(self.package, &link.target)?
        };
        self.blocks.extend(
            self.pictures
                .show(&link.target, &shape.alt, || file)
                .map(Block::Paragraph),
        );
        if !self
            .pictures
            .file(&link.target)
            .is_some_and(|file| image::is_readable(&file.bytes))
        {
            self.unread.push(shape.frame);
        }
        Ok(())
    }

    fn chart(&mut self, id: &str, alt: &str) -> Result<()> {
        let Some((part, text)) = self.part(id)? else {
            return Ok(());
        };
        let chart = Chart::read(&mut XmlReader::new(&text, &part, self.package.limits()))?;
        let title = if chart.title.is_empty() {
            alt
        } else {
            &chart.title
        };
        let title = collapsed(title);
        if !title.is_empty() {
            self.blocks.push(Block::Paragraph(format!("**{title}**")));
        }
        let rows = chart.rows();
        if !rows.is_empty() {
            self.blocks.push(Block::table(rows));
        }
        Ok(())
    }

    fn diagram(&mut self, id: &str) -> Result<()> {
        let Some((part, text)) = self.part(id)? else {
            return Ok(());
        };
        let items = diagram::items(
            &mut XmlReader::new(&text, &part, self.package.limits()),
            &Relationships::default(),
        )?;
        self.blocks.extend(items);
        Ok(())
    }

    /// Name and text of a part that the slide names.
    fn part(&mut self, id: &str) -> Result<Option<(String, String)>> {
        let Some(link) = self.links.get(id).filter(|link| !link.is_external) else {
            return Ok(None);
        };
        let Some(part) = self.package.text(&link.target)? else {
            self.damage = Some(format!("the part {} is missing", link.target));
            return Ok(None);
        };
        self.damage = part.damage.or_else(|| self.damage.take());
        Ok(Some((link.target.clone(), part.text)))
    }
}

/// Puts shapes into reading order: the title first, wherever it stands; what belongs to the margin
/// is dropped.
pub(crate) fn arrange(shapes: &mut Vec<Shape>, parents: &Parents, slide_height: i64) {
    shapes.retain(|shape| parents.role(shape) != Role::Margin);
    shapes
        .iter_mut()
        .for_each(|shape| shape.frame = parents.frame(shape));
    let is_title = |shape: &Shape| {
        parents.role(shape) == Role::Title
            && !shape.is_hidden
            && !plain_text(&shape.body).is_empty()
    };
    let title = shapes.iter().position(is_title).map(|at| shapes.remove(at));
    order::arrange(shapes, slide_height);
    shapes.splice(..0, title);
}

/// Adds the text of a shape; the first title becomes the slide's heading.
pub(crate) fn add_text(
    shape: &Shape,
    parents: &Parents,
    blocks: &mut Vec<Block>,
    title: &mut Option<String>,
) {
    match parents.role(shape) {
        Role::Margin => {}
        Role::Date if is_date(&shape.body) => {}
        Role::Title if title.is_none() => {
            let text = plain_text(&shape.body);
            if !text.is_empty() {
                blocks.insert(0, Block::Heading(2, text.clone()));
                *title = Some(text);
            }
        }
        _ => blocks.extend(paragraphs(&shape.body, |paragraph| {
            parents.bullet(shape, paragraph)
        })),
    }
}

/// The speaker's notes behind a line that says so; nothing if there are none.
pub(crate) fn notes(notes: Vec<Block>) -> Vec<Block> {
    let heading = (!notes.is_empty()).then(|| Block::Paragraph("Notes:".to_owned()));
    heading.into_iter().chain(notes).collect()
}

/// Whether a stated title is one that PowerPoint writes by itself.
pub(crate) fn is_usual_title(title: &str) -> bool {
    USUAL_TITLES.contains(&title)
}

fn embedded(package: &mut Package, part: &str) -> Result<Option<EmbeddedFile>> {
    let Some(content) = package
        .bytes(part)?
        .filter(|content| content.damage.is_none())
    else {
        return Ok(None);
    };
    let name = part.rsplit('/').next().unwrap_or(part).to_owned();
    Ok(Some(EmbeddedFile {
        name,
        media_type: package.media_type(part),
        bytes: content.bytes,
    }))
}

/// Whether a date's place holds a date (or nothing), and not words that someone typed there.
fn is_date(body: &TextBody) -> bool {
    let text = plain_text(body);
    text.is_empty()
        || text.chars().any(char::is_numeric)
        || body.paragraphs.iter().any(|paragraph| paragraph.has_field)
}

/// All text of a body on one line.
pub(crate) fn plain_text(body: &TextBody) -> String {
    let lines = body
        .paragraphs
        .iter()
        .map(|paragraph| to_plain_line(&paragraph.pieces));
    lines
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Paragraphs and list items of a body. Numbers go on until a paragraph of the same or a lower
/// level has none.
pub(crate) fn paragraphs(body: &TextBody, bullet: impl Fn(&Paragraph) -> Bullet) -> Vec<Block> {
    let mut counted: [Option<(u64, u64)>; LEVELS] = [None; LEVELS];
    let mut blocks = Vec::new();
    let lines = lines(body);
    let outermost = lines
        .iter()
        .map(|(paragraph, _)| paragraph.level)
        .min()
        .unwrap_or(0);
    for (paragraph, text) in lines {
        let bullet = bullet(paragraph);
        counted
            .iter_mut()
            .skip(paragraph.level + 1)
            .for_each(|deeper| *deeper = None);
        let slot = counted.get_mut(paragraph.level);
        let number = match (bullet, slot) {
            (Bullet::Number(start), Some(slot)) => {
                let number = slot
                    .filter(|(begun, _)| *begun == start)
                    .map_or(start, |(_, last)| last.saturating_add(1));
                *slot = Some((start, number));
                Some(number)
            }
            (_, Some(slot)) => {
                *slot = None;
                None
            }
            _ => None,
        };
        let level = paragraph.level - outermost;
        blocks.push(if bullet == Bullet::None {
            Block::Paragraph(text)
        } else {
            Block::Item {
                level,
                number,
                text,
            }
        });
    }
    blocks
}

/// Rows of cells as a table, unless all are empty.
pub(crate) fn table(rows: &[Vec<Cell>]) -> Option<Block> {
    let mut grid: Vec<Vec<String>> = Vec::with_capacity(rows.len());
    for row in rows {
        let above = grid.last();
        let cells = row.iter().enumerate().map(|(column, cell)| {
            match above.and_then(|above| above.get(column)) {
                Some(text) if cell.continues_above => repeated(text),
                _ if cell.continues_left => String::new(),
                _ => cell_text(&cell.body),
            }
        });
        let cells = cells.collect();
        grid.push(cells);
    }
    grid.iter()
        .flatten()
        .any(|cell| !cell.is_empty())
        .then_some(Block::table(grid))
}

/// Paragraphs that have text, and their Markdown. Links that multiply the text beyond all measure
/// are left out.
fn lines(body: &TextBody) -> Vec<(&Paragraph, String)> {
    let (mut lines, mut spare) = (Vec::new(), SPARE_LINK_BYTES);
    for paragraph in &body.paragraphs {
        let links = paragraph.pieces.iter().map(link_bytes).sum();
        let text = if links <= spare {
            to_markdown(&paragraph.pieces)
        } else {
            to_plain_line(&paragraph.pieces)
        };
        spare = spare.saturating_sub(links);
        if !text.is_empty() {
            lines.push((paragraph, text));
        }
    }
    lines
}

fn link_bytes(piece: &Piece) -> usize {
    match piece {
        Piece::Text(_, style) => style.link.as_ref().map_or(0, |link| link.len()),
        Piece::Markdown(_) | Piece::Break => 0,
    }
}

fn cell_text(body: &TextBody) -> String {
    let marked = |(paragraph, text): (&Paragraph, String)| match paragraph.bullet {
        Some(Bullet::Mark | Bullet::Number(_)) => format!("- {text}"),
        _ => text,
    };
    lines(body)
        .into_iter()
        .map(marked)
        .collect::<Vec<_>>()
        .join("\n")
}
