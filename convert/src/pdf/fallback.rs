//! The built-in reader (crate `unpdf`), for places without libpdfium.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use tributary_schemas::{Error, ErrorKind, Result};
use unpdf::parser::{ParseOptions, PdfParser};
use unpdf::render::{PageMarkerStyle, RenderOptions};

use super::{Bounds, Extracted, page_list};

/// What the reader writes before each page, up to the number.
const PAGE_MARK: &str = "<!-- page ";

/// Reads a PDF into pages of Markdown.
pub(super) fn extract(bytes: &[u8], bounds: Bounds<'_>) -> Result<Extracted> {
    // A young crate: what makes it panic fails one document.
    catch_unwind(AssertUnwindSafe(|| read(bytes, bounds))).unwrap_or_else(|_| {
        Err(
            Error::new(ErrorKind::Corrupt, "the built-in reader failed on this PDF")
                .with_hint("install libpdfium, which reads more documents"),
        )
    })
}

fn read(bytes: &[u8], bounds: Bounds<'_>) -> Result<Extracted> {
    check_start(bytes)?;
    let options = ParseOptions::new()
        .with_resources(false)
        .sequential()
        .lenient();
    let parser =
        PdfParser::from_bytes_with_options(bytes, options).map_err(|error| refused(&error))?;
    let document = parser.parse().map_err(|error| refused(&error))?;
    bounds.limits.check_time()?;
    let count = document.metadata.page_count as usize;
    super::check_pages(count.max(document.pages.len()), bounds.settings)?;
    let rendering = RenderOptions {
        page_markers: PageMarkerStyle::Comment,
        include_frontmatter: false,
        ..RenderOptions::default()
    };
    let markdown =
        unpdf::render::to_markdown(&document, &rendering).map_err(|error| refused(&error))?;
    bounds.limits.check_time()?;
    let pages = pages(&markdown, count.max(1));
    let mut metadata = metadata(document.metadata);
    let is_blank = |(_, text): &(usize, &String)| text.trim().is_empty();
    let blank = pages.iter().enumerate().filter(is_blank);
    let without_text = page_list(blank.map(|(index, _)| index + 1));
    metadata.extend(without_text.map(|list| ("pages_without_text".to_owned(), list)));
    Ok(Extracted {
        markdown: pages.join("\u{c}"),
        title: None,
        metadata,
    })
}

/// `Corrupt` for bytes that do not begin like a PDF.
fn check_start(bytes: &[u8]) -> Result<()> {
    let start = bytes.get(..bytes.len().min(1024)).unwrap_or(bytes);
    if start.windows(5).any(|window| window == b"%PDF-") {
        return Ok(());
    }
    let message = "not a PDF: its first 1024 bytes hold no `%PDF-`";
    Err(Error::new(ErrorKind::Corrupt, message))
}

/// What the document says of itself.
fn metadata(stated: unpdf::Metadata) -> BTreeMap<String, String> {
    let texts = [
        ("title", stated.title),
        ("author", stated.author),
        ("subject", stated.subject),
        ("keywords", stated.keywords),
        ("creator", stated.creator),
        ("producer", stated.producer),
        ("created", stated.created.map(|time| time.to_rfc3339())),
        ("modified", stated.modified.map(|time| time.to_rfc3339())),
        ("pages", Some(stated.page_count.to_string())),
    ];
    let has_text = |text: &String| !text.trim().is_empty();
    let found = texts
        .into_iter()
        .filter_map(|(name, text)| Some((name.to_owned(), text.filter(has_text)?)));
    found.collect()
}

/// Cuts the Markdown at the marks of its pages; pages that are not marked are empty.
fn pages(markdown: &str, count: usize) -> Vec<String> {
    let mut pages = vec![String::new(); count];
    let mut current = 0;
    for line in markdown.lines() {
        let number = line
            .strip_prefix(PAGE_MARK)
            .and_then(|rest| rest.strip_suffix(" -->"))
            .and_then(|number| number.parse::<usize>().ok());
        if let Some(number) = number {
            current = number.saturating_sub(1).min(count - 1);
            continue;
        }
        if let Some(page) = pages.get_mut(current) {
            page.push_str(&line.replace('\u{c}', " "));
            page.push('\n');
        }
    }
    pages
        .iter()
        .map(|page| page.trim_matches('\n'))
        .map(|page| {
            if page.is_empty() {
                String::new()
            } else {
                format!("{page}\n")
            }
        })
        .collect()
}

fn refused(error: &unpdf::Error) -> Error {
    match error {
        unpdf::Error::Encrypted | unpdf::Error::InvalidPassword => Error::new(
            ErrorKind::Unsupported,
            "the document is encrypted and needs a password",
        )
        .with_hint("save a copy without a password and send that"),
        other => Error::new(ErrorKind::Corrupt, format!("not a readable PDF: {other}")).with_hint(
            "open it in a PDF viewer and save it again, or fetch it again from its source",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_part_the_pages() {
        let cut = pages("<!-- page 1 -->\n\none\n\n<!-- page 3 -->\n\nthree\n", 3);
        assert_eq!(cut, ["one\n", "", "three\n"]);
    }
}
