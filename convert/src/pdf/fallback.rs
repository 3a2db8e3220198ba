//! The built-in reader (crate `unpdf`), for places without libpdfium.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tributary_schemas::{Error, ErrorKind, Result};
use unpdf::parser::{ParseOptions, PdfParser};
use unpdf::render::{PageMarkerStyle, RenderOptions};

use super::{Bounds, Extracted, page_list};

/// What the reader writes before each page, up to the number.
const PAGE_MARK: &str = "<!-- page ";

/// Reads a PDF into pages of Markdown.
pub fn extract(bytes: &[u8], bounds: Bounds<'_>) -> Result<Extracted> {
    // A young crate: what makes it panic fails one document.
    catch_unwind(AssertUnwindSafe(|| read(bytes, bounds))).unwrap_or_else(|_| {
        Err(
            Error::new(ErrorKind::Corrupt, "the built-in reader failed on this PDF")
                .with_hint("install libpdfium, which reads more documents"),
        )
    })
}

fn read(bytes: &[u8], bounds: Bounds<'_>) -> Result<Extracted> {
    if !bytes
        .iter()
        .take(1024)
        .collect::<Vec<_>>()
        .windows(5)
        .any(|window| window.iter().copied().eq(b"%PDF-"))
    {
        return Err(Error::new(
            ErrorKind::Corrupt,
            "not a PDF: its first 1024 bytes hold no `%PDF-`",
        ));
    }
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
    let without_text = page_list(
        pages
            .iter()
            .enumerate()
            .filter(|(_, text)| text.trim().is_empty())
            .map(|(index, _)| index + 1),
    );
    let mut extracted = Extracted {
        markdown: pages.join("\u{c}"),
        title: None,
        ..Extracted::default()
    };
    let texts = [
        ("title", document.metadata.title),
        ("author", document.metadata.author),
        ("subject", document.metadata.subject),
        ("keywords", document.metadata.keywords),
        ("creator", document.metadata.creator),
        ("producer", document.metadata.producer),
        (
            "created",
            document.metadata.created.map(|time| time.to_rfc3339()),
        ),
        (
            "modified",
            document.metadata.modified.map(|time| time.to_rfc3339()),
        ),
        ("pages", Some(count.to_string())),
        ("pages_without_text", without_text),
    ];
    let found = texts.into_iter().filter_map(|(name, text)| {
        Some((
            name.to_owned(),
            text.filter(|text| !text.trim().is_empty())?,
        ))
    });
    extracted.metadata.extend(found);
    Ok(extracted)
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
