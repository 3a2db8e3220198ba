//! reStructuredText, as docutils and Sphinx read it, to Markdown.
//!
//! The route: decode → collect targets, substitutions and roles of the whole text (`references`) →
//! blocks (`parser`, `lists`, `tables`, `explicit`, `directives`, `objects`, `inline`) → Markdown
//! ([`super::render`]).
//!
//! Comments, raw HTML and LaTeX, `contents` and other directives for the layout are left out; files
//! that `include` and `literalinclude` name are named, not read. Where authors miss a blank line or
//! an indentation, the text is read as it was meant.

mod directives;
mod explicit;
mod grid_table;
mod inline;
mod lists;
mod objects;
mod parser;
mod references;
mod roles;
mod scanner;
mod simple_table;
mod source;
mod tables;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use tributary_schemas::Result;

use crate::document::Converted;
use crate::limits::Limits;
use crate::render::render;
use crate::text_encoding::decode;
use crate::text_encoding::note_encoding;
use crate::text_encoding::unix_line_ends;

/// Name and version; the version grows with every change of the output.
pub(crate) const NAME: &str = "rst/4";

/// Converts reStructuredText of any encoding.
pub(crate) fn convert(bytes: &[u8], limits: &Limits) -> Result<Converted> {
    let decoded = decode(bytes, None);
    let mut metadata = BTreeMap::new();
    note_encoding(&mut metadata, decoded.encoding, decoded.replaced_characters);
    let text = source::expand_tabs(&unix_line_ends(decoded.text).replace('\u{C}', " "));
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let mut parser = parser::Parser::new(references::References::of(&lines), limits, metadata);
    let blocks = parser.document(&lines)?;
    let markdown = render(&blocks);
    limits.check_time()?;
    let parser::Parser {
        title,
        metadata,
        images,
        ..
    } = parser;
    Ok(Converted {
        markdown,
        title,
        converter: NAME.into(),
        metadata,
        images,
        ..Converted::default()
    })
}
