//! One page of PDFium as segments and lines of drawing, one layer for each direction of its text.

use pdfium_render::prelude::FS_RECTF;
use tributary_schemas::Result;

use super::Bounds;
use super::characters::{self, Characters, Glyph, Place};
use super::document::{Document, Page};
use super::entries;
use super::geometry::Turn;
use super::links;
use super::markers;
use super::overlaps;
use super::rules::{self, Rules};
use super::segments::{self, Segment};
use super::structure::{Marks, Structure, Told};

/// Characters below which the text of a page that a picture covers is a stamp, and the share of the
/// page that the picture covers.
const STAMP_CHARACTERS: usize = 60;
const SCAN_SHARE: f32 = 0.6;

/// Part of the page's height at the top and at the bottom in which its head and its foot stand.
pub(super) const MARGIN_SHARE: f32 = 0.16;

/// Text of one direction.
#[derive(Debug, Default)]
pub(super) struct Layer {
    /// Runs of text, in PDFium's order.
    pub segments: Vec<Segment>,
    /// Lines drawn on the page; only with the first layer.
    pub rules: Rules,
    /// Width and height of the page as this layer is turned, in points.
    pub width: f32,
    pub height: f32,
}

/// A page before its layout.
#[derive(Debug, Default)]
pub(super) struct PageText {
    /// The direction with most characters first; without the text that tags tell.
    pub layers: Vec<Layer>,
    /// The text that the page's tags tell, in their order; empty if geometry reads the page.
    pub told: Vec<Told>,
    /// Width and height of the page as most of its text is turned, in points.
    pub width: f32,
    pub height: f32,
    /// Lines of running heads and feet that its tags leave out.
    pub running: Vec<String>,
    /// Characters that are read.
    pub characters: usize,
    /// Whether there is text that can be read, and more of it than a stamp on a scan.
    pub has_text: bool,
}

/// Reads the pages of a document.
pub(super) struct Reader<'a> {
    document: &'a Document<'a>,
    bounds: Bounds<'a>,
    structure: Structure<'a>,
    /// Where the links of the pages lead that were read.
    pub addresses: Vec<String>,
}

impl<'a> Reader<'a> {
    /// Has read nothing yet.
    pub(super) fn new(document: &'a Document<'a>, bounds: Bounds<'a>) -> Self {
        Self {
            document,
            bounds,
            structure: Structure::of(document),
            addresses: Vec::new(),
        }
    }

    /// Reads a page (number `index` from 0) with what was entered on it.
    pub(super) fn page(&mut self, index: usize, page: Page) -> Result<PageText> {
        let links = links::read(self.document, &page, &mut self.addresses);
        let page_box = page_box(&page);
        let tree = self.structure.tree(&page);
        let characters_of = |page: &Page| {
            let marks = tree.as_ref().map(|_| Marks::of(page));
            let place = Place {
                page,
                page_box,
                links: &links,
                marks: marks.as_ref(),
            };
            let text = page.text();
            text.map_or_else(
                || Ok(Characters::default()),
                |text| characters::read(&place, &text, self.bounds),
            )
        };
        let (mut page, mut found) = (&page, characters_of(&page)?);
        let with_entries = entries::with_entries(self.document, index, page);
        if let Some(whole) = &with_entries {
            let all = characters_of(whole)?;
            if all.continues(&found) {
                (page, found) = (whole, all);
            }
        }
        if found.visible == 0 || found.are_garbage() {
            return Ok(PageText::default());
        }
        let (width, height) = size(&found.glyphs, page_box);
        let tagged = tree.and_then(|tree| self.structure.page(&tree, &found, height));
        let whole = |found: &Characters| {
            let layers = layers(page, page_box, found, self.bounds)?;
            Ok(PageText::of(layers))
        };
        let Some(tagged) = tagged else {
            return whole(&found);
        };
        if found.visible < STAMP_CHARACTERS {
            let scan = whole(&found)?;
            if !scan.has_text {
                return Ok(scan);
            }
        }
        let visible = found.visible;
        found.glyphs = tagged.loose;
        Ok(PageText {
            told: tagged.told,
            running: tagged.running,
            characters: visible,
            has_text: true,
            width,
            height,
            ..whole(&found)?
        })
    }
}

impl PageText {
    /// A scan with a stamp: the few characters are kept, but the page is one to read from its
    /// picture.
    fn of(layers: Vec<Layer>) -> Self {
        let characters = layers
            .iter()
            .flat_map(|layer| &layer.segments)
            .map(|segment| segment.characters)
            .sum();
        let is_scan = characters < STAMP_CHARACTERS
            && layers
                .first()
                .is_some_and(|layer| layer.rules.largest_picture > SCAN_SHARE);
        let size = layers.first().map(|layer| (layer.width, layer.height));
        let (width, height) = size.unwrap_or_default();
        Self {
            layers,
            width,
            height,
            characters,
            has_text: characters > 0 && !is_scan,
            ..Self::default()
        }
    }
}

fn layers(
    page: &Page,
    page_box: [f32; 4],
    found: &Characters,
    bounds: Bounds<'_>,
) -> Result<Vec<Layer>> {
    let mut layers = Vec::new();
    for (index, quarters) in directions(&found.glyphs).into_iter().enumerate() {
        let turn = Turn {
            quarters: quarters.unwrap_or(0),
            page: page_box,
        };
        let rules = if index == 0 {
            rules::read(page, turn, bounds)?
        } else {
            Rules::default()
        };
        let mut segments = segments::build(&found.glyphs, quarters, &rules);
        overlaps::end_where_others_begin(&mut segments);
        let segments = markers::with_markers(segments, &rules);
        let (width, height) = turn.size();
        layers.push(Layer {
            segments,
            rules,
            width,
            height,
        });
    }
    Ok(layers)
}

/// The directions of the text, the most frequent one first, the slanted ones last.
pub(super) fn directions(glyphs: &[Glyph]) -> Vec<Option<u8>> {
    let mut counts: [(Option<u8>, usize); 5] = [
        (Some(0), 0),
        (Some(1), 0),
        (Some(2), 0),
        (Some(3), 0),
        (None, 0),
    ];
    for glyph in glyphs {
        if let Glyph::Drawn(character) = glyph
            && let Some((_, count)) = counts
                .iter_mut()
                .find(|(quarters, _)| *quarters == character.style.quarters)
        {
            *count += 1;
        }
    }
    counts.sort_by_key(|(quarters, count)| (quarters.is_none(), std::cmp::Reverse(*count)));
    counts
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(quarters, _)| quarters)
        .collect()
}

/// Width and height of the page in points as most of its text is turned.
fn size(glyphs: &[Glyph], page_box: [f32; 4]) -> (f32, f32) {
    let usual = directions(glyphs).into_iter().next().flatten();
    let turn = Turn {
        quarters: usual.unwrap_or(0),
        page: page_box,
    };
    turn.size()
}

/// Left, bottom, right, top of the visible page.
fn page_box(page: &Page) -> [f32; 4] {
    let mut area = FS_RECTF {
        left: 0.0,
        top: 0.0,
        right: 0.0,
        bottom: 0.0,
    };
    // SAFETY: the page is open.
    let is_known = unsafe {
        page.pdfium
            .FPDF_GetPageBoundingBox(page.handle, &raw mut area)
    } != 0;
    let found = [
        area.left.min(area.right),
        area.bottom.min(area.top),
        area.left.max(area.right),
        area.bottom.max(area.top),
    ];
    if is_known && found.iter().all(|edge| edge.is_finite()) {
        found
    } else {
        [0.0, 0.0, 612.0, 792.0]
    }
}
