//! Reads xlsb workbooks (binary parts in a ZIP container, [MS-XLSB]) as a stream.

use std::collections::HashMap;

use tributary_schemas::{Error, ErrorKind, Result};

use super::About;
use super::Bounds;
use super::number_format::NumberFormat;
use super::package::Package;
use super::parts::{forgive, read_properties, read_relationships};
use super::sheet::short_name;
use super::sheets::{Listed, Workbook, write_sheets};
use super::xls_records::{u16_at, u32_at};
use super::xlsb_records::{Records, kind, wide_text, wide_text_bytes};
use super::xlsb_sheet::read_sheet;
use super::xlsx_styles::{SharedTexts, Styles};
use crate::sheets::tables::writer::Writer;

const MEDIA_TYPE: &str = "application/vnd.ms-excel.sheet.binary.macroEnabled.12";
const FOLDER: &str = "xl/";
const WORKBOOK: &str = "xl/workbook.bin";

/// Cell formats that are kept.
const MAXIMUM_FORMATS: usize = 70_000;

/// Reads all sheets that are wanted.
pub(super) fn read(
    package: &mut Package<'_>,
    writer: &mut Writer<'_>,
    bounds: Bounds<'_>,
) -> Result<About> {
    let (listed, is_1904) = read_workbook(package, bounds.settings.maximum_sheets)?;
    let relationships = read_relationships(package, WORKBOOK)?;
    let mut about = About {
        media_type: MEDIA_TYPE,
        ..About::default()
    };
    read_properties(package, &mut about);
    let mut styles = Styles::default();
    let read = read_styles(package).map(|found| styles = found);
    forgive(&mut about, "styles", true, read)?;
    let mut texts = SharedTexts::default();
    let read = read_texts(package, &mut texts, bounds);
    forgive(&mut about, "shared texts", !texts.is_empty(), read)?;
    let workbook = Workbook {
        bounds,
        read_sheet,
        folder: FOLDER.to_owned(),
        listed,
        relationships,
        styles,
        texts,
        is_1904,
    };
    write_sheets(package, &workbook, writer, &mut about)?;
    Ok(about)
}

/// The list of sheets, up to one more than `maximum`.
fn read_workbook(package: &mut Package<'_>, maximum: usize) -> Result<(Vec<Listed>, bool)> {
    let Some(part) = package.part(WORKBOOK)? else {
        return Err(Error::new(
            ErrorKind::Corrupt,
            format!("the part {WORKBOOK} is missing"),
        ));
    };
    let mut records = Records::new(part, WORKBOOK);
    let (mut listed, mut is_1904) = (Vec::new(), false);
    while let Some((kind, data)) = records.next()? {
        match kind {
            kind::WORKBOOK_PROPERTIES => {
                is_1904 = u32_at(data, 0).is_some_and(|flags| flags & 1 != 0)
            }
            kind::SHEET if listed.len() <= maximum => listed.extend(listed_sheet(data)),
            _ => {}
        }
    }
    Ok((listed, is_1904))
}

fn listed_sheet(data: &[u8]) -> Option<Listed> {
    let name_at = wide_text_bytes(data, 8)?.checked_add(8)?;
    Some(Listed {
        is_hidden: u32_at(data, 0)? != 0,
        relationship: short_name(&wide_text(data, 8)?),
        name: short_name(&wide_text(data, name_at)?),
    })
}

fn read_styles(package: &mut Package<'_>) -> Result<Styles> {
    let name = "xl/styles.bin";
    let Some(part) = package.part(name)? else {
        return Ok(Styles::default());
    };
    let mut records = Records::new(part, name);
    let mut codes: HashMap<u16, NumberFormat> = HashMap::new();
    let mut formats = Vec::new();
    let mut in_cell_formats = false;
    while let Some((kind, data)) = records.next()? {
        match kind {
            kind::FORMAT if codes.len() < MAXIMUM_FORMATS => {
                if let Some((id, code)) = u16_at(data, 0).zip(wide_text(data, 2)) {
                    codes.insert(id, NumberFormat::parse(&code));
                }
            }
            kind::BEGIN_CELL_FORMATS => in_cell_formats = true,
            kind::END_CELL_FORMATS => in_cell_formats = false,
            kind::CELL_FORMAT if in_cell_formats && formats.len() < MAXIMUM_FORMATS => {
                let id = u16_at(data, 2).unwrap_or(0);
                formats.push(
                    codes
                        .get(&id)
                        .cloned()
                        .unwrap_or_else(|| NumberFormat::built_in(u32::from(id))),
                );
            }
            _ => {}
        }
    }
    Ok(Styles::new(formats))
}

fn read_texts(
    package: &mut Package<'_>,
    texts: &mut SharedTexts,
    bounds: Bounds<'_>,
) -> Result<()> {
    let name = "xl/sharedStrings.bin";
    let Some(part) = package.part(name)? else {
        return Ok(());
    };
    let mut records = Records::new(part, name);
    while let Some((kind, data)) = records.next()? {
        if kind == kind::SHARED_TEXT {
            texts.push(&wide_text(data, 1).unwrap_or_default(), bounds)?;
        }
    }
    Ok(())
}
