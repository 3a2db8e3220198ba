//! HTML inside Markdown: whole blocks (tables, `<div>`, comments) go through the HTML converter
//! before parsing, single tags in a line are dropped or rewritten. Code is never touched.

use std::sync::LazyLock;

use regex::Regex;
use tributary_schemas::Result;

use super::{Pictures, destination};
use crate::limits::Limits;
use crate::lines::Fences;
use crate::slices::part;
use crate::web::html;

/// Longest HTML block in lines; what goes on longer without an end is left as it is.
const MAXIMUM_BLOCK_LINES: usize = 20_000;

static ATTRIBUTE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"(?i)\s([a-z][\w-]*)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))"#).ok()
});
static DOCS_IMAGE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"^\s*:::image\s.*?source="([^"]*)"(?:.*?alt-text="([^"]*)")?.*?:::\s*$"#).ok()
});

/// Replaces HTML tables and comments that begin a line, and the image directive of docs sites, by
/// Markdown.
pub(super) fn replace_blocks(body: &str, limits: &Limits) -> Result<String> {
    if !body.contains("<table")
        && !body.contains("<TABLE")
        && !body.contains("<!--")
        && !body.contains(":::image")
    {
        return Ok(body.to_owned());
    }
    let lines: Vec<&str> = body.split_inclusive('\n').collect();
    let mut fences = Fences::default();
    let mut result = String::with_capacity(body.len());
    let mut at = 0;
    // Where a search for an end found none: searching again from a later line would find none
    // either.
    let mut no_end_of_table = false;
    while let Some(line) = lines.get(at) {
        let in_code = fences.is_code(line);
        let start = line.trim_start().to_ascii_lowercase();
        if in_code {
            result.push_str(line);
        } else if start.starts_with("<table") && !no_end_of_table {
            match table_end(&lines, at) {
                Some(end) => {
                    let block = part(&lines, at..end).concat();
                    result.push_str(&table(&block, limits)?);
                    at = end;
                    continue;
                }
                None => {
                    no_end_of_table = true;
                    result.push_str(line);
                }
            }
        } else if start.starts_with("<!--")
            && start.trim_end().ends_with("-->")
            && start.matches("-->").count() == 1
        {
            result.push('\n');
        } else if let Some(image) = docs_image(line) {
            result.push_str(&image);
        } else {
            result.push_str(line);
        }
        at += 1;
    }
    Ok(result)
}

/// Index of the line after the one that closes the table that begins at `start`.
fn table_end(lines: &[&str], start: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (index, line) in lines
        .iter()
        .enumerate()
        .skip(start)
        .take(MAXIMUM_BLOCK_LINES)
    {
        let lower = line.to_ascii_lowercase();
        depth += lower.matches("<table").count();
        depth = depth.saturating_sub(lower.matches("</table").count());
        if depth == 0 {
            return Some(index + 1);
        }
    }
    None
}

fn table(block: &str, limits: &Limits) -> Result<String> {
    let markdown = html::convert_fragment(block, limits)?;
    Ok(format!("\n{}\n\n", markdown.trim_end()))
}

/// `:::image type="content" source="a.png" alt-text="b":::`
fn docs_image(line: &str) -> Option<String> {
    if !line.trim_start().starts_with(":::image") {
        return None;
    }
    let found = DOCS_IMAGE.as_ref()?.captures(line.trim_end())?;
    let alt = found
        .get(2)
        .map_or("", |alt| alt.as_str())
        .replace(['[', ']'], "");
    Some(format!("![{alt}]({})\n", destination(&found[1])))
}

/// `<a>` tags whose end has not been seen: the replacement of that end.
#[derive(Default)]
pub(super) struct OpenAnchors(Vec<String>);

/// What a single tag within a line becomes; `None` leaves it.
pub(super) fn inline_replacement(
    tag: &str,
    anchors: &mut OpenAnchors,
    pictures: &mut Pictures<'_>,
) -> Option<String> {
    if tag.starts_with("<!--") || tag.starts_with("<?") {
        return Some(String::new());
    }
    let closes = tag.starts_with("</");
    match tag_name(tag).as_str() {
        "a" if closes => Some(anchors.0.pop().unwrap_or_default()),
        "a" => Some(open_anchor(tag, anchors)),
        "img" => {
            let link = attribute(tag, "src").unwrap_or_default();
            Some(pictures.image(&attribute(tag, "alt").unwrap_or_default(), link))
        }
        "b" | "strong" => Some("**".to_owned()),
        "span" | "font" | "center" | "div" | "p" | "small" | "big" | "u" | "nobr" | "wbr" => {
            Some(String::new())
        }
        _ => None,
    }
}

/// The name of a tag, in small letters.
fn tag_name(tag: &str) -> String {
    tag.trim_start_matches(['<', '/'])
        .chars()
        .take_while(char::is_ascii_alphanumeric)
        .collect::<String>()
        .to_ascii_lowercase()
}

fn open_anchor(tag: &str, anchors: &mut OpenAnchors) -> String {
    let link = attribute(tag, "href").filter(|link| {
        !link.is_empty()
            && !link.starts_with('#')
            && !link.to_ascii_lowercase().starts_with("javascript:")
    });
    let self_closing = tag.ends_with("/>");
    match link {
        Some(link) if !self_closing => {
            anchors.0.push(format!("]({})", destination(&link)));
            "[".to_owned()
        }
        _ => {
            if !self_closing {
                anchors.0.push(String::new());
            }
            String::new()
        }
    }
}

fn attribute(tag: &str, wanted: &str) -> Option<String> {
    let found = ATTRIBUTE
        .as_ref()?
        .captures_iter(tag)
        .find(|found| found[1].eq_ignore_ascii_case(wanted))?;
    let value = found
        .get(2)
        .or_else(|| found.get(3))
        .or_else(|| found.get(4))?;
    Some(value.as_str().replace("&amp;", "&"))
}
