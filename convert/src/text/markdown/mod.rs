//! Markdown: front matter becomes metadata, images become `image:N`, HTML inside becomes Markdown,
//! reference links become inline ones; everything else stays byte for byte.

mod front_matter;
mod html_inside;

use std::ops::Range;

use pulldown_cmark::{Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd};
use tributary_schemas::{ImageLink, Result};

use crate::blanks::collapsed;
use crate::document::Converted;
use crate::embedded::Embedded;
use crate::escape::destination;
use crate::limits::Limits;
use crate::links::MAXIMUM_LINK_BYTES;
use crate::slices::text_part;
use crate::text_encoding::decode;
use crate::text_encoding::note_encoding;
use crate::text_encoding::unix_line_ends;

/// Name and version; the version grows with every change of the output.
pub(crate) const NAME: &str = "markdown/3";

/// Converts Markdown of any encoding.
pub(crate) fn convert(bytes: &[u8], limits: &Limits) -> Result<Converted> {
    let decoded = decode(bytes, None);
    let (encoding, replaced) = (decoded.encoding, decoded.replaced_characters);
    let text = unix_line_ends(decoded.text);
    let mut embedded = Embedded::new(limits);
    let mut converted = convert_text(&text, &mut embedded, limits)?;
    converted.blobs = embedded.finish(&mut converted.metadata);
    note_encoding(&mut converted.metadata, encoding, replaced);
    Ok(converted)
}

/// Converts Markdown text with `\n` line ends; pictures in `data:` addresses go into `embedded`.
pub(crate) fn convert_text(
    text: &str,
    embedded: &mut Embedded,
    limits: &Limits,
) -> Result<Converted> {
    let (metadata, body) = front_matter::split(text, limits.maximum_front_matter_bytes);
    let body = html_inside::replace_blocks(body, limits)?;
    let rewritten = rewrite(&body, embedded, limits)?;
    let title = metadata
        .get("title")
        .cloned()
        .filter(|title| !title.trim().is_empty())
        .or(rewritten.title);
    Ok(Converted {
        markdown: rewritten.markdown,
        title,
        converter: NAME.into(),
        metadata,
        images: rewritten.images,
        ..Converted::default()
    })
}

struct Rewritten {
    markdown: String,
    title: Option<String>,
    images: Vec<ImageLink>,
}

/// One pass over the parser's events collects replacements of byte ranges; a second applies them.
fn rewrite(body: &str, embedded: &mut Embedded, limits: &Limits) -> Result<Rewritten> {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES;
    let mut rewriter = Rewriter::new(embedded);
    let mut events = Parser::new_ext(body, options).into_offset_iter();
    for (count, (event, range)) in events.by_ref().enumerate() {
        if count.is_multiple_of(4096) {
            limits.check_time()?;
        }
        rewriter.event(event, range);
    }
    let definitions: Vec<Range<usize>> = events
        .reference_definitions()
        .iter()
        .filter(|(_, definition)| {
            definition.dest.len() <= MAXIMUM_LINK_BYTES || definition.dest.starts_with("data:")
        })
        .map(|(_, definition)| definition.span.clone())
        .collect();
    rewriter
        .edits
        .extend(definitions.into_iter().map(|span| (span, String::new())));
    Ok(Rewritten {
        markdown: apply(body, rewriter.edits),
        title: rewriter
            .first_level_title
            .or(rewriter.first_title)
            .filter(|title| !title.trim().is_empty()),
        images: rewriter.pictures.links,
    })
}

/// A link or image whose end has not been seen yet.
struct Open {
    range: Range<usize>,
    link: String,
    /// Where the text inside ends, as far as seen.
    inner_end: usize,
    is_image: bool,
    is_reference: bool,
    alt: String,
}

/// The pictures of a document so far.
struct Pictures<'a> {
    links: Vec<ImageLink>,
    embedded: &'a mut Embedded,
}

impl Pictures<'_> {
    /// The Markdown of an image. Of one in a `data:` address that cannot be taken out its text stays.
    fn image(&mut self, alt: &str, link: String) -> String {
        let alt: String = collapsed(alt).replace(['[', ']'], "");
        let link = match link.starts_with("data:") {
            true => self.embedded.add_data_url(&link, &alt),
            false => Some(link).filter(|link| !link.is_empty()),
        };
        let Some(link) = link else {
            return alt;
        };
        let replacement = format!("![{alt}](image:{})", self.links.len());
        self.links.push(ImageLink { link, alt });
        replacement
    }
}

struct Rewriter<'a> {
    edits: Vec<(Range<usize>, String)>,
    pictures: Pictures<'a>,
    open: Vec<Open>,
    open_images: usize,
    heading: Option<(HeadingLevel, String)>,
    first_level_title: Option<String>,
    first_title: Option<String>,
    anchors: html_inside::OpenAnchors,
}

impl<'a> Rewriter<'a> {
    fn new(embedded: &'a mut Embedded) -> Self {
        Self {
            edits: Vec::new(),
            pictures: Pictures {
                links: Vec::new(),
                embedded,
            },
            open: Vec::new(),
            open_images: 0,
            heading: None,
            first_level_title: None,
            first_title: None,
            anchors: html_inside::OpenAnchors::default(),
        }
    }

    fn event(&mut self, event: Event, range: Range<usize>) {
        if let Some(open) = self
            .open
            .last_mut()
            .filter(|open| open.range.end >= range.end && open.range.start < range.start)
        {
            open.inner_end = open.inner_end.max(range.end);
        }
        match event {
            Event::Start(Tag::Heading { level, .. }) => self.heading = Some((level, String::new())),
            Event::End(TagEnd::Heading(_)) => self.end_heading(),
            Event::Start(Tag::Image {
                link_type,
                dest_url,
                ..
            }) => self.start(link_type, &dest_url, range, true),
            Event::Start(Tag::Link {
                link_type,
                dest_url,
                ..
            }) => self.start(link_type, &dest_url, range, false),
            Event::End(TagEnd::Image | TagEnd::Link) => self.end(),
            Event::Text(text) | Event::Code(text) => self.text(&text),
            Event::SoftBreak | Event::HardBreak => self.text(" "),
            Event::InlineHtml(html) if self.open_images == 0 => self.inline_html(&html, range),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if self.open_images > 0
            && let Some(open) = self.open.last_mut()
        {
            open.alt.push_str(text);
        }
        if let Some((_, heading)) = &mut self.heading {
            heading.push_str(text);
        }
    }

    fn end_heading(&mut self) {
        let Some((level, text)) = self.heading.take() else {
            return;
        };
        if level == HeadingLevel::H1 {
            self.first_level_title.get_or_insert_with(|| text.clone());
        }
        self.first_title.get_or_insert(text);
    }

    fn start(&mut self, link_type: LinkType, link: &str, range: Range<usize>, is_image: bool) {
        let is_reference = matches!(
            link_type,
            LinkType::Reference | LinkType::Collapsed | LinkType::Shortcut
        ) && link.len() <= MAXIMUM_LINK_BYTES;
        self.open_images += usize::from(is_image);
        let inner_end = range.start + 1;
        self.open.push(Open {
            range,
            link: link.to_owned(),
            inner_end,
            is_image,
            is_reference,
            alt: String::new(),
        });
    }

    fn end(&mut self) {
        let Some(open) = self.open.pop() else { return };
        if open.is_image {
            self.open_images -= 1;
            if self.open_images > 0 {
                // An image in the alternative text of another is only text of it.
                if let Some(outer) = self.open.last_mut() {
                    outer.alt.push_str(&open.alt);
                }
                return;
            }
            let replacement = self.pictures.image(&open.alt, open.link);
            self.edits.push((open.range, replacement));
        } else if open.is_reference && self.open_images == 0 {
            self.edits.push((
                open.inner_end..open.range.end,
                format!("]({})", destination(&open.link)),
            ));
        }
    }

    fn inline_html(&mut self, html: &str, range: Range<usize>) {
        if let Some(replacement) =
            html_inside::inline_replacement(html, &mut self.anchors, &mut self.pictures)
        {
            self.edits.push((range, replacement));
        }
    }
}

/// Replaces ranges; of two that overlap, the one that starts first (the outer one) counts.
fn apply(body: &str, mut edits: Vec<(Range<usize>, String)>) -> String {
    edits.sort_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));
    let mut result = String::with_capacity(body.len());
    let mut copied = 0;
    for (range, replacement) in edits {
        if range.start < copied {
            continue;
        }
        result.push_str(text_part(body, copied..range.start));
        result.push_str(&replacement);
        copied = range.end;
    }
    result.push_str(text_part(body, copied..));
    result
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;

    use super::*;
    use crate::test_config::config;

    /// As Google Docs and note programs write them: in the link, or in a definition at the end.
    #[test]
    fn pictures_in_data_addresses_are_files_of_the_document() {
        let data = STANDARD.encode([1; 300]);
        let url = format!("data:image/png;base64,{data}");
        let markdown = format!(
            "# A\n\nOne ![first]({url}) and ![][image1] and <img src=\"{url}\" alt=\"third\"> and ![spacer](data:image/gif;base64,R0lG).\n\n[image1]: <{url}>\n"
        );
        let config: crate::Config = config();
        let limits = Limits::starting_now(&config);
        let converted = convert(markdown.as_bytes(), &limits).unwrap();
        assert_eq!(
            converted.markdown.trim_end(),
            "# A\n\nOne ![first](image:0) and ![](image:1) and ![third](image:2) and spacer."
        );
        let links = converted.images.iter().map(|image| image.link.as_str());
        let links: Vec<&str> = links.collect();
        assert_eq!(links, ["embedded:0", "embedded:1", "embedded:2"]);
        let sizes = converted.blobs.iter().map(|file| file.bytes.len());
        assert_eq!(sizes.collect::<Vec<_>>(), [300; 3]);
    }
}
