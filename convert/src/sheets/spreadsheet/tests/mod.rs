//! Golden pairs for every format, limits and hostile workbooks; the workbooks are built here.
#![allow(clippy::unwrap_used)]

mod hostile;
mod ods;
mod xls;
mod xlsb;
mod xlsx;

use std::io::{Cursor, Write};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::*;
use crate::config::Config;

fn convert_with(bytes: &[u8], config: &Config) -> Result<Converted> {
    convert(
        bytes,
        &config.spreadsheet,
        &config.tables,
        &Limits::starting_now(config),
    )
}

fn converted(bytes: &[u8]) -> Converted {
    convert_with(bytes, &Config::default()).unwrap()
}

fn failure(bytes: &[u8]) -> Error {
    convert_with(bytes, &Config::default()).unwrap_err()
}

/// A ZIP container of the parts.
fn zipped_parts(parts: &[(&str, &[u8])], method: CompressionMethod) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in parts {
        writer
            .start_file(
                *name,
                SimpleFileOptions::default().compression_method(method),
            )
            .unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

const ROOT_RELATIONSHIPS: &str = r#"<Relationships><Relationship Id="r" Type="http://x/officeDocument" Target="xl/workbook.xml"/></Relationships>"#;

/// An xlsx workbook of sheets: name, attributes in the list of sheets, content of `worksheet`.
fn xlsx(
    sheets: &[(&str, &str, &str)],
    more: &[(&str, &str)],
    method: CompressionMethod,
) -> Vec<u8> {
    let mut listed = String::new();
    let mut relationships = String::new();
    let mut parts = vec![("_rels/.rels".to_owned(), ROOT_RELATIONSHIPS.to_owned())];
    for (number, (name, attributes, content)) in sheets.iter().enumerate() {
        listed +=
            &format!(r#"<sheet name="{name}" sheetId="{number}" r:id="s{number}" {attributes}/>"#);
        relationships += &format!(
            r#"<Relationship Id="s{number}" Type="http://x/worksheet" Target="worksheets/s{number}.xml"/>"#
        );
        parts.push((
            format!("xl/worksheets/s{number}.xml"),
            format!("<worksheet>{content}</worksheet>"),
        ));
    }
    parts.push((
        "xl/workbook.xml".to_owned(),
        format!("<workbook><sheets>{listed}</sheets></workbook>"),
    ));
    parts.push((
        "xl/_rels/workbook.xml.rels".to_owned(),
        format!("<Relationships>{relationships}</Relationships>"),
    ));
    parts.extend(
        more.iter()
            .map(|(name, content)| ((*name).to_owned(), (*content).to_owned())),
    );
    let parts: Vec<(&str, &[u8])> = parts
        .iter()
        .map(|(name, content)| (name.as_str(), content.as_bytes()))
        .collect();
    zipped_parts(&parts, method)
}

/// An xlsx workbook with one sheet.
fn sheet(content: &str) -> Vec<u8> {
    xlsx(&[("S", "", content)], &[], CompressionMethod::Deflated)
}
