//! Reads xlsx and xlsm workbooks (Office Open XML, transitional and strict) as a stream.

use quick_xml::events::Event;
use tributary_schemas::{Error, ErrorKind, Result};

use super::About;
use super::Bounds;
use super::package::Package;
use super::parts::{folder_of, forgive, read_part, read_properties, read_relationships, resolve};
use super::sheet::short_name;
use super::sheets::{Listed, Workbook, write_sheets};
use super::xlsx_sheet::read_sheet;
use super::xlsx_styles::{SharedTexts, Styles};
use super::xml::{Xml, attribute, truth};
use crate::sheets::tables::writer::Writer;

const MEDIA_TYPE: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
const MACRO_MEDIA_TYPE: &str = "application/vnd.ms-excel.sheet.macroEnabled.12";

/// Reads all sheets that are wanted.
pub(super) fn read(
    package: &mut Package<'_>,
    writer: &mut Writer<'_>,
    bounds: Bounds<'_>,
) -> Result<About> {
    let main = workbook_part(package)?;
    let (listed, is_1904) = read_workbook(package, &main, bounds.settings.maximum_sheets)?;
    let folder = folder_of(&main).to_owned();
    let relationships = read_relationships(package, &main)?;
    let mut about = About {
        media_type: if package.has("xl/vbaProject.bin") {
            MACRO_MEDIA_TYPE
        } else {
            MEDIA_TYPE
        },
        ..About::default()
    };
    read_properties(package, &mut about);
    let part_of = |kind: &str, usual: &str| {
        let named = relationships
            .values()
            .find(|relationship| relationship.kind == kind)
            .map(|found| resolve(&folder, &found.target));
        named.unwrap_or_else(|| format!("{folder}{usual}"))
    };
    let mut styles = Styles::default();
    let read = read_part(package, &part_of("styles", "styles.xml"), Styles::read)
        .map(|found| styles = found.unwrap_or_default());
    forgive(&mut about, "styles", true, read)?;
    let mut texts = SharedTexts::default();
    let read = read_part(
        package,
        &part_of("sharedStrings", "sharedStrings.xml"),
        |xml| texts.read(xml, bounds),
    )
    .map(|_| ());
    forgive(&mut about, "shared texts", !texts.is_empty(), read)?;
    let workbook = Workbook {
        bounds,
        read_sheet,
        folder,
        listed,
        relationships,
        styles,
        texts,
        is_1904,
    };
    write_sheets(package, &workbook, writer, &mut about)?;
    Ok(about)
}

/// The part that lists the sheets.
fn workbook_part(package: &mut Package<'_>) -> Result<String> {
    // Without them the usual name is tried.
    let relationships = read_relationships(package, "").ok().unwrap_or_default();
    let named = relationships
        .into_values()
        .find(|relationship| relationship.kind == "officeDocument");
    let named = named
        .map(|relationship| resolve("", &relationship.target))
        .filter(|name| package.has(name));
    match named {
        Some(name) => Ok(name),
        None if package.has("xl/workbook.xml") => Ok("xl/workbook.xml".to_owned()),
        None => Err(Error::new(
            ErrorKind::Unsupported,
            "a ZIP container without a workbook in it",
        )
        .with_hint("supported are xlsx, xlsm, xlsb, xls and ods")),
    }
}

/// The list of sheets, up to one more than `maximum`.
fn read_workbook(
    package: &mut Package<'_>,
    name: &str,
    maximum: usize,
) -> Result<(Vec<Listed>, bool)> {
    let Some(part) = package.part(name)? else {
        return Err(Error::new(
            ErrorKind::Corrupt,
            format!("the part {name} is missing"),
        ));
    };
    let mut xml = Xml::new(part, name);
    let (mut sheets, mut is_1904, mut is_workbook) = (Vec::new(), false, false);
    loop {
        match xml.next()? {
            Event::Start(tag) | Event::Empty(tag) => match tag.local_name().as_ref() {
                "workbook" => is_workbook = true,
                "workbookPr" => is_1904 = truth(&tag, "date1904"),
                "sheet" if sheets.len() <= maximum => sheets.push(Listed {
                    name: short_name(&attribute(&tag, "name").unwrap_or_default()),
                    is_hidden: attribute(&tag, "state").is_some_and(|state| state != "visible"),
                    relationship: short_name(&attribute(&tag, "id").unwrap_or_default()),
                }),
                _ => {}
            },
            Event::Eof if !is_workbook => {
                return Err(Error::new(
                    ErrorKind::Unsupported,
                    format!("the part {name} is no workbook"),
                )
                .with_hint("supported are xlsx, xlsm, xlsb, xls and ods"));
            }
            Event::Eof => return Ok((sheets, is_1904)),
            _ => {}
        }
    }
}
