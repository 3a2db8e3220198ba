//! The layout of one page: tables by their lines, reading order, tables by their places,
//! paragraphs.

use tributary_schemas::Result;

use super::aligned::{self, Part};
use super::blocks::{self, Block, Edges};
use super::columns::{self, Item};
use super::lines;
use super::listings;
use super::page_text::{Layer, PageText};
use super::ruled::{self, Open};
use super::segments::Segment;
use super::statistics::Statistics;
use super::tables::{self, Table};
use super::wrapped;
use crate::limits::Limits;

/// Segments of one layer above which reading order is left as PDFium gives it: such a page is a
/// drawing.
const MAXIMUM_SEGMENTS: usize = 20_000;

/// The blocks of a page, one direction of its text after the other; `open` is the table that goes on
/// from the page before, and then the one that goes on with the next page.
pub(super) fn blocks(
    page: PageText,
    statistics: &Statistics,
    limits: &Limits,
    open: &mut Option<Open>,
) -> Result<Vec<Block>> {
    let mut blocks = Vec::new();
    let mut before = open.take();
    for layer in page.layers {
        limits.check_time()?;
        let open_now = layer_blocks(layer, statistics, limits, before.take(), &mut blocks)?;
        *open = open.take().or(open_now);
    }
    Ok(blocks)
}

fn layer_blocks(
    layer: Layer,
    statistics: &Statistics,
    limits: &Limits,
    open: Option<Open>,
    blocks: &mut Vec<Block>,
) -> Result<Option<Open>> {
    if layer.segments.len() > MAXIMUM_SEGMENTS {
        let lines: Vec<_> = layer
            .segments
            .iter()
            .filter_map(|segment| lines::line(std::slice::from_ref(segment)))
            .collect();
        blocks.extend(blocks::blocks(&lines, Edges::of(&lines), statistics));
        return Ok(None);
    }
    let (mut tables, segments) = tables::take(layer.segments, &layer.rules);
    let ruled = ruled::take(segments, &layer.rules, layer.height, open);
    tables.extend(ruled.tables);
    let (wrapped, segments) = wrapped::take(ruled.rest);
    tables.extend(wrapped);
    let items = segments
        .into_iter()
        .map(Item::Text)
        .chain(tables.into_iter().map(Item::Table))
        .chain(ruled.enclosed.into_iter().map(Item::Enclosed))
        .collect();
    for region in columns::regions(items) {
        limits.check_time()?;
        region_blocks(region, statistics, blocks);
    }
    Ok(ruled.open)
}

/// A region from top to bottom: the text between its tables, and the tables.
fn region_blocks(region: Vec<Item>, statistics: &Statistics, blocks: &mut Vec<Block>) {
    let writer = Writer {
        edges: edges(&region),
        statistics,
    };
    let mut text: Vec<Segment> = Vec::new();
    for item in region {
        match item {
            Item::Text(segment) => text.push(segment),
            Item::Table(table) => {
                writer.text(std::mem::take(&mut text), blocks);
                blocks.push(Block::Table(table));
            }
            Item::Enclosed(enclosed) => {
                writer.text(std::mem::take(&mut text), blocks);
                let inside = enclosed.text.into_iter().map(Item::Text).collect();
                for region in columns::regions(inside) {
                    region_blocks(region, statistics, blocks);
                }
            }
        }
    }
    writer.text(text, blocks);
}

/// The edges of all text of a region, whatever tables part it.
fn edges(region: &[Item]) -> Edges {
    let text = region.iter().filter_map(|item| match item {
        Item::Text(segment) => Some(segment.clone()),
        Item::Table(_) | Item::Enclosed(_) => None,
    });
    let rows = lines::rows(text.collect());
    let lines: Vec<_> = rows.iter().filter_map(|row| lines::line(row)).collect();
    Edges::of(&lines)
}

/// Makes blocks of the text of a region.
struct Writer<'a> {
    edges: Edges,
    statistics: &'a Statistics,
}

impl Writer<'_> {
    fn text(&self, segments: Vec<Segment>, blocks: &mut Vec<Block>) {
        let segments = listings::without_numbers(segments);
        for part in wrapped::parts(segments) {
            match part {
                wrapped::Part::Text(segments) => self.aligned(segments, blocks),
                wrapped::Part::Table(table) => blocks.push(Block::Table(cleaned(table))),
            }
        }
    }

    fn aligned(&self, segments: Vec<Segment>, blocks: &mut Vec<Block>) {
        for part in aligned::parts(lines::rows(segments)) {
            match part {
                Part::Rows(rows) => {
                    let lines: Vec<_> = rows.iter().flat_map(|row| lines::parted(row)).collect();
                    blocks.extend(blocks::blocks(&lines, self.edges, self.statistics));
                }
                Part::Table(table) => blocks.push(Block::Table(cleaned(table))),
            }
        }
    }
}

fn cleaned(mut table: Table) -> Table {
    table
        .rows
        .retain(|row| row.iter().any(|cell| !cell.is_empty()));
    table
}
