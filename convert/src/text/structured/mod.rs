//! JSON, JSON Lines, YAML and XML as text to search in: names become headings and list entries,
//! lists of flat records tables, long texts paragraphs. What does not parse, and data of which
//! little is prose (settings, measurements without records), goes into a code block as it is.

mod write;
mod xml;

use std::collections::BTreeMap;

use tributary_schemas::Result;

use crate::config::StructuredConfig;
use crate::document::Converted;
use crate::escape::fenced;
use crate::limits::Limits;
use crate::render::render;
use crate::text::tree::Tree;
use crate::text::yaml;
use crate::text_encoding::decode;
use crate::text_encoding::note_encoding;
use crate::text_encoding::unix_line_ends;

/// Name and version; the version grows with every change of the output.
pub(crate) const NAME: &str = "structured/2";

/// A notation for nested data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notation {
    /// One JSON value.
    Json,
    /// A JSON value per line.
    JsonLines,
    /// YAML, possibly several documents.
    Yaml,
    /// XML without a converter of its own.
    Xml,
}

impl Notation {
    /// The language of a code block.
    fn language(self) -> &'static str {
        match self {
            Self::Json | Self::JsonLines => "json",
            Self::Yaml => "yaml",
            Self::Xml => "xml",
        }
    }
}

/// Values that name the whole, by preference.
const TITLES: [&str; 4] = ["title", "name", "标题", "名称"];

/// Converts data of any encoding.
pub(crate) fn convert(
    bytes: &[u8],
    notation: Notation,
    settings: &StructuredConfig,
    limits: &Limits,
) -> Result<Converted> {
    let declared = (notation == Notation::Xml)
        .then(|| xml::declared_encoding(bytes))
        .flatten();
    let decoded = decode(bytes, declared.as_deref());
    let mut metadata = BTreeMap::new();
    note_encoding(&mut metadata, decoded.encoding, decoded.replaced_characters);
    let text = unix_line_ends(decoded.text);
    let tree = parse(&text, notation, limits)?;
    limits.check_time()?;
    let title = tree.as_ref().and_then(|tree| {
        tree.title(&TITLES)
            .or_else(|| tree.only_value()?.title(&TITLES))
    });
    let markdown = match tree.filter(|tree| write::is_text(tree, settings)) {
        Some(tree) => render(&write::blocks(&tree, settings, limits)?),
        None if text.trim().is_empty() => String::new(),
        None => fenced(notation.language(), &text),
    };
    Ok(Converted {
        markdown,
        title,
        converter: NAME.into(),
        metadata,
        ..Converted::default()
    })
}

/// The data as a tree; `None` if it does not parse.
fn parse(text: &str, notation: Notation, limits: &Limits) -> Result<Option<Tree>> {
    let text = text.trim_start_matches('\u{FEFF}');
    Ok(match notation {
        Notation::Json => serde_json::from_str(text).ok(),
        Notation::JsonLines => json_lines(text, limits)?,
        Notation::Yaml => yaml(text, limits)?,
        Notation::Xml => xml::parse(text, limits)?,
    })
}

fn json_lines(text: &str, limits: &Limits) -> Result<Option<Tree>> {
    let mut records = Vec::new();
    for (number, line) in text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
    {
        if number.is_multiple_of(256) {
            limits.check_time()?;
        }
        match serde_json::from_str::<Tree>(line) {
            Ok(record) => records.push(record),
            Err(_) => return Ok(None),
        }
    }
    Ok((!records.is_empty()).then_some(Tree::List(records)))
}

/// Several documents are a list of them.
fn yaml(text: &str, limits: &Limits) -> Result<Option<Tree>> {
    let Some(mut documents) = yaml::documents(text, limits)? else {
        return Ok(None);
    };
    Ok(match documents.len() {
        0 | 1 => documents.pop(),
        _ => Some(Tree::List(documents)),
    })
}

#[cfg(test)]
mod tests;
