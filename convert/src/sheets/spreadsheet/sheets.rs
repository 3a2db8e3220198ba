//! Goes through the sheets of an Office Open XML workbook, whatever its sheets are written in.

use std::collections::HashMap;

use tributary_schemas::{Error, ErrorKind, Result};

use super::Bounds;
use super::package::{Package, Part};
use super::parts::{Relationships, drawing_texts, read_relationships, resolve};
use super::sheet::{CellCount, SheetBuilder};
use super::xlsx_styles::{SharedTexts, Styles};
use super::{About, check_sheets};
use crate::sheets::tables::writer::Writer;

/// A sheet as the workbook lists it.
#[derive(Debug)]
pub(super) struct Listed {
    /// Its name.
    pub name: String,
    /// Whether it is hidden.
    pub is_hidden: bool,
    /// The relationship that leads to its part.
    pub relationship: String,
}

/// A workbook before its sheets are read.
pub(super) struct Workbook<'a> {
    /// Limits of the conversion.
    pub bounds: Bounds<'a>,
    /// How its format has a sheet.
    pub read_sheet: ReadSheet,
    /// The folder of its main part, with `/` at the end.
    pub folder: String,
    /// Sheets in order.
    pub listed: Vec<Listed>,
    /// Relationships of the main part.
    pub relationships: Relationships,
    /// Number formats.
    pub styles: Styles,
    /// Shared texts.
    pub texts: SharedTexts,
    /// Whether days count from 1904.
    pub is_1904: bool,
}

/// What a sheet needs of its workbook.
pub(super) struct Context<'a> {
    /// Number formats.
    pub styles: &'a Styles,
    /// Shared texts.
    pub texts: &'a SharedTexts,
    /// Targets of the sheet's relationships.
    pub links: HashMap<String, String>,
    /// Whether days count from 1904.
    pub is_1904: bool,
    /// Limits of the conversion.
    pub bounds: Bounds<'a>,
}

/// Metadata: how many cells have a formula and no value.
const UNCOMPUTED: &str = "formulas_without_values";

/// Reads one sheet from a part of that name; what was read before an error stays in the builder.
pub(super) type ReadSheet = fn(Part<'_>, &str, &Context<'_>, &mut SheetBuilder<'_>) -> Result<()>;

/// Reads and writes all sheets that are wanted. A damaged sheet is noted, unless no sheet has
/// anything that can be read.
pub(super) fn write_sheets(
    package: &mut Package<'_>,
    workbook: &Workbook<'_>,
    writer: &mut Writer<'_>,
    about: &mut About,
) -> Result<()> {
    check_sheets(workbook.listed.len(), workbook.bounds)?;
    let mut count = CellCount::default();
    let (mut pages, mut has_content, mut first_damage) = (0, false, None);
    for sheet in &workbook.listed {
        let Some(part) = wanted_part(sheet, workbook, about) else {
            continue;
        };
        // Without them a sheet has no links and drawings; its cells are read all the same.
        let relationships = read_relationships(package, &part).ok().unwrap_or_default();
        let mut builder = SheetBuilder::new(workbook.bounds, count);
        let context = workbook.context(&relationships);
        let read = match package.part(&part) {
            Ok(Some(content)) => (workbook.read_sheet)(content, &part, &context, &mut builder),
            Ok(None) => Err(missing(&part)),
            Err(error) => Err(error),
        };
        count = builder.count();
        has_content |= read.is_ok() || builder.next_row() > 0;
        match read {
            Err(error) if error.kind() != ErrorKind::Corrupt => return Err(error),
            Err(error) => {
                about.note("damaged", &format!("sheet {}: {error}", sheet.name));
                first_damage.get_or_insert(error);
            }
            Ok(()) => {}
        }
        writer.begin_sheet(&sheet.name, pages == 0);
        pages += 1;
        builder.write(&sheet.name, writer)?;
        for text in drawing_texts(package, &part, &relationships) {
            writer.write_text(&text);
        }
    }
    if count.uncomputed() > 0 {
        about.note(UNCOMPUTED, &count.uncomputed().to_string());
    }
    first_damage.filter(|_| !has_content).map_or(Ok(()), Err)
}

impl Workbook<'_> {
    /// What a sheet with these relationships needs.
    fn context(&self, relationships: &Relationships) -> Context<'_> {
        let links = relationships
            .iter()
            .map(|(id, relationship)| (id.clone(), relationship.target.clone()))
            .collect();
        Context {
            styles: &self.styles,
            texts: &self.texts,
            links,
            is_1904: self.is_1904,
            bounds: self.bounds,
        }
    }
}

fn missing(part: &str) -> Error {
    Error::new(ErrorKind::Corrupt, format!("the part {part} is missing"))
}

/// The part of a sheet; `None`, with a note, for one that is left out.
fn wanted_part(sheet: &Listed, workbook: &Workbook<'_>, about: &mut About) -> Option<String> {
    let Some(relationship) = workbook.relationships.get(&sheet.relationship) else {
        about.note("damaged", &format!("sheet {} has no content", sheet.name));
        return None;
    };
    let note = match relationship.kind.as_str() {
        "chartsheet" => "chart_sheets",
        "worksheet" if sheet.is_hidden && !workbook.bounds.settings.hidden_sheets => {
            "hidden_sheets"
        }
        "worksheet" => return Some(resolve(&workbook.folder, &relationship.target)),
        _ => "other_sheets",
    };
    about.note(note, &sheet.name);
    None
}
