//! Jupyter notebooks: Markdown cells as Markdown, code cells as code blocks of the kernel's
//! language, their outputs as text within a limit and as pictures, raw cells as they are unless
//! they are for another program. Pictures of outputs and attachments become files of the document.

mod outputs;

use std::collections::HashMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use tributary_schemas::{Error, ErrorKind, Result};

use crate::config::NotebookConfig;
use crate::document::Converted;
use crate::embedded::Embedded;
use crate::escape::fenced;
use crate::limits::Limits;
use crate::text::markdown;
use crate::text_encoding::decode;

/// Name and version; the version grows with every change of the output.
pub(crate) const NAME: &str = "notebook/4";

/// Converts a notebook. `Corrupt` if it is not JSON, `Invalid` if it has no cells.
pub(crate) fn convert(
    bytes: &[u8],
    settings: &NotebookConfig,
    limits: &Limits,
) -> Result<Converted> {
    let notebook = parse(bytes)?;
    let cells = cells(&notebook).ok_or_else(|| {
        Error::new(ErrorKind::Invalid, "the notebook has no list `cells`")
            .with_hint("give the file another extension than .ipynb if it is no notebook")
    })?;
    let language = language(&notebook);
    let mut writer = Writer {
        markdown: String::new(),
        embedded: Embedded::new(limits),
        settings,
        limits,
        language,
    };
    for cell in cells {
        limits.check_time()?;
        writer.cell(cell);
    }
    let mut converted = markdown::convert_text(&writer.markdown, &mut writer.embedded, limits)?;
    converted.blobs = writer.embedded.finish(&mut converted.metadata);
    converted
        .metadata
        .insert("language_name".to_owned(), language.to_owned());
    Ok(Converted {
        converter: NAME.into(),
        ..converted
    })
}

fn parse(bytes: &[u8]) -> Result<Value> {
    let text = decode(bytes, None).text;
    serde_json::from_str(text.trim_start_matches('\u{FEFF}')).map_err(|error| {
        Error::new(
            ErrorKind::Corrupt,
            format!("the notebook is not JSON: {error}"),
        )
    })
}

/// A cell of older notebooks: a heading with its level beside it.
fn heading(cell: &Value, source: &str) -> String {
    let level = cell
        .get("level")
        .and_then(Value::as_u64)
        .unwrap_or(1)
        .clamp(1, 6);
    format!(
        "{} {}",
        "#".repeat(usize::try_from(level).unwrap_or(1)),
        source.replace('\n', " ")
    )
}

fn language(notebook: &Value) -> &str {
    let places = [
        "/metadata/kernelspec/language",
        "/metadata/language_info/name",
        "/worksheets/0/cells/0/language",
    ];
    let is_plain = |name: &&str| {
        !name.is_empty()
            && name
                .chars()
                .all(|letter| letter.is_alphanumeric() || matches!(letter, '+' | '#' | '-'))
    };
    let found = places
        .iter()
        .filter_map(|place| notebook.pointer(place))
        .filter_map(Value::as_str)
        .find(is_plain);
    found.unwrap_or("python")
}

/// Cells of format 4, or of the first worksheet of format 3.
fn cells(notebook: &Value) -> Option<&Vec<Value>> {
    notebook
        .get("cells")
        .or_else(|| notebook.pointer("/worksheets/0/cells"))?
        .as_array()
}

/// One text, or a list of lines with their line ends.
fn text_of(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(lines)) => lines.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}

struct Writer<'l> {
    markdown: String,
    embedded: Embedded,
    settings: &'l NotebookConfig,
    limits: &'l Limits<'l>,
    language: &'l str,
}

impl Writer<'_> {
    fn cell(&mut self, cell: &Value) {
        let source = text_of(cell.get("source").or_else(|| cell.get("input")));
        match cell.get("cell_type").and_then(Value::as_str) {
            Some("markdown") => {
                let source = self.with_attachments(cell, source);
                self.push(&source);
            }
            Some("heading") => self.push(&heading(cell, &source)),
            Some("code") => {
                if !source.trim().is_empty() {
                    let block = fenced(cell_language(&source).unwrap_or(self.language), &source);
                    self.push(&block);
                }
                if self.settings.outputs {
                    self.outputs(cell);
                }
            }
            // Raw cells in the notation of another program are for that program.
            Some("raw")
                if raw_format(cell)
                    .is_none_or(|format| matches!(format, "" | "text/plain" | "text/markdown")) =>
            {
                self.push(&source);
            }
            _ => {}
        }
    }

    fn push(&mut self, markdown: &str) {
        if !markdown.trim().is_empty() {
            self.markdown.push_str(markdown.trim_end());
            self.markdown.push_str("\n\n");
        }
    }

    /// Links to `attachment:name` become links to files of the document.
    fn with_attachments(&mut self, cell: &Value, source: String) -> String {
        let Some(Value::Object(attachments)) = cell.get("attachments") else {
            return source;
        };
        let mut links: HashMap<&str, String> = HashMap::new();
        for (name, bundle) in attachments {
            let Some((media_type, data)) =
                bundle.as_object().and_then(|bundle| bundle.iter().next())
            else {
                continue;
            };
            if let Some(link) = self.embed(name, media_type, &text_of(Some(data))) {
                links.insert(name, link);
            }
        }
        let mut result = String::with_capacity(source.len());
        let mut rest = source.as_str();
        while let Some((before, after)) = rest.split_once("attachment:") {
            let end = after
                .find([')', '"', '\'', ' ', '>', '\n'])
                .unwrap_or(after.len());
            let (name, behind) = after.split_at(end);
            result.push_str(before);
            let unquoted = name.replace("%20", " ");
            match links.get(unquoted.as_str()) {
                Some(link) => result.push_str(link),
                None => result.extend(["attachment:", name]),
            }
            rest = behind;
        }
        result + rest
    }

    /// The link to a file of the document.
    fn embed(&mut self, name: &str, media_type: &str, base64: &str) -> Option<String> {
        let data: Vec<u8> = base64
            .bytes()
            .filter(|byte| !byte.is_ascii_whitespace())
            .collect();
        let bytes = STANDARD.decode(data).ok()?;
        self.embedded
            .add(name, media_type, bytes)
            .map(|number| format!("embedded:{number}"))
    }
}

/// The notation of a raw cell, if it names one.
fn raw_format(cell: &Value) -> Option<&str> {
    ["/metadata/raw_mimetype", "/metadata/format"]
        .iter()
        .find_map(|place| cell.pointer(place))
        .and_then(Value::as_str)
}

/// The language that a cell's magic names.
fn cell_language(source: &str) -> Option<&'static str> {
    let magic = source
        .trim_start()
        .strip_prefix("%%")?
        .split_whitespace()
        .next()?;
    match magic {
        "bash" | "sh" | "script" | "system" => Some("bash"),
        "html" | "HTML" => Some("html"),
        "javascript" | "js" => Some("javascript"),
        "sql" => Some("sql"),
        "latex" => Some("latex"),
        "markdown" => Some("markdown"),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
