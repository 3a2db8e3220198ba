//! Files of JSON lines.

use std::path::Path;

use anyhow::{Context, Result};
use serde::de::DeserializeOwned;
use tributary_schemas::files;

const NOT_UTF8: &str = "is not UTF-8; `iconv -f GB18030 -t UTF-8` (or -f UTF-16) makes it so";

/// Where a line is, from its index.
pub(super) fn place(file: &Path, index: usize) -> String {
    format!("{} line {}", file.display(), index + 1)
}

/// The lines of a file that are not blank, with their places; those that are not UTF-8 are named.
pub(super) fn text_lines<'a>(
    file: &Path,
    bytes: &'a [u8],
    left_out: &mut Vec<String>,
) -> Vec<(usize, &'a str)> {
    // Some editors put a mark before the text.
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    let mut lines = Vec::new();
    for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        match std::str::from_utf8(line) {
            Ok(line) if line.trim().is_empty() => {}
            Ok(line) => lines.push((index, line.strip_suffix('\r').unwrap_or(line))),
            Err(_) => left_out.push(format!("{} {NOT_UTF8}", place(file, index))),
        }
    }
    lines
}

/// The objects of a file with the places of their lines.
pub(crate) fn read_lines<T: DeserializeOwned>(
    file: &Path,
    left_out: &mut Vec<String>,
) -> Result<Vec<(String, T)>> {
    let bytes =
        files::read_data(file).with_context(|| format!("cannot read {}", file.display()))?;
    let mut objects = Vec::new();
    for (index, line) in text_lines(file, &bytes, left_out) {
        match serde_json::from_str(line) {
            Ok(object) => objects.push((place(file, index), object)),
            Err(error) => left_out.push(format!("{}: {error}", place(file, index))),
        }
    }
    Ok(objects)
}
