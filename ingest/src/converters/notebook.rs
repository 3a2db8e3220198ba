//! Jupyter notebooks: Markdown cells as Markdown, code cells as code blocks, outputs left out. Called by [`super::convert`].

use serde_json::Value;
use tributary_schemas::{Error, ErrorKind, Result};

use super::{Converted, Limits, fenced, markdown};
use crate::text_encoding::decode;

/// Name and version; the version grows with every change of the output.
pub const NAME: &str = "notebook/1";

/// Converts a notebook. `Corrupt` if it is not JSON, `Invalid` if it has no cells.
pub fn convert(bytes: &[u8], limits: &Limits) -> Result<Converted> {
    let text = decode(bytes, None).text;
    let notebook: Value =
        serde_json::from_str(&text).map_err(|error| Error::new(ErrorKind::Corrupt, format!("notebook is not JSON: {error}")))?;
    let cells = cells(&notebook).ok_or_else(|| {
        Error::new(ErrorKind::Invalid, "notebook has no list `cells`")
            .with_hint("give the file another extension than .ipynb if it is no notebook")
    })?;
    let language = notebook.pointer("/metadata/language_info/name").or_else(|| notebook.pointer("/metadata/kernelspec/language"));
    let language = language.and_then(Value::as_str).filter(|name| name.chars().all(char::is_alphanumeric)).unwrap_or("python");
    let mut markdown = String::new();
    for cell in cells {
        let source = source(cell);
        if source.trim().is_empty() {
            continue;
        }
        match cell.get("cell_type").and_then(Value::as_str) {
            Some("markdown" | "heading") => markdown.push_str(&source),
            Some("code") => markdown.push_str(&fenced(language, &source)),
            _ => continue,
        }
        markdown.push_str("\n\n");
    }
    let mut converted = markdown::convert_text(&markdown, limits)?;
    converted.metadata.insert("language_name".to_owned(), language.to_owned());
    Ok(Converted { converter: NAME.into(), ..converted })
}

/// Cells of format 4, or of the first worksheet of format 3.
fn cells(notebook: &Value) -> Option<&Vec<Value>> {
    notebook.get("cells").or_else(|| notebook.pointer("/worksheets/0/cells"))?.as_array()
}

/// Source of a cell: one text, or a list of lines with their line ends.
fn source(cell: &Value) -> String {
    match cell.get("source").or_else(|| cell.get("input")) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(lines)) => lines.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}
