//! Where the slides of a presentation begin. The crate that reads it joins them, so each gets a
//! title of our own in front, which [`super::blocks`] turns into the end of a page.

use std::borrow::Cow;
use std::io::{Cursor, Write};

use quick_xml::Reader;
use quick_xml::events::Event;
use tributary_schemas::Result;
use zip::result::ZipResult;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::{CONTENT, corrupt};
use crate::slices::text_part;

/// The text of that title: a character that no document has.
pub(super) const MARK: char = '\u{10FFFD}';

/// Elements around a slide: the document, its body, the presentation.
const SLIDE_DEPTH: usize = 3;

/// The content with the slides marked; slides behind damage stay as they are.
pub(super) fn with_marks(content: &str) -> String {
    let mark = format!(
        "<d:frame xmlns:d=\"urn:oasis:names:tc:opendocument:xmlns:drawing:1.0\" \
         xmlns:p=\"urn:oasis:names:tc:opendocument:xmlns:presentation:1.0\" p:class=\"title\">\
         <d:text-box><t:p xmlns:t=\"urn:oasis:names:tc:opendocument:xmlns:text:1.0\">{MARK}</t:p>\
         </d:text-box></d:frame>"
    );
    let mut out = String::with_capacity(content.len() + 64 * mark.len());
    let (mut written, mut depth) = (0, 0_usize);
    let mut xml = Reader::from_str(content);
    loop {
        let event = xml.read_event();
        let end = usize::try_from(xml.buffer_position()).unwrap_or(usize::MAX);
        match event {
            Ok(Event::Start(tag)) => {
                if depth == SLIDE_DEPTH && tag.local_name().as_ref() == "page" {
                    out.push_str(text_part(content, written..end));
                    out.push_str(&mark);
                    written = end;
                }
                depth += 1;
            }
            Ok(Event::Empty(tag))
                if depth == SLIDE_DEPTH && tag.local_name().as_ref() == "page" =>
            {
                let open = text_part(content, written..end);
                out.push_str(open.strip_suffix("/>").unwrap_or(open));
                out.push_str(&format!(">{mark}</{}>", tag.name().as_ref()));
                written = end;
            }
            Ok(Event::End(_)) => depth = depth.saturating_sub(1),
            Ok(Event::Eof) | Err(_) => break,
            Ok(_) => {}
        }
    }
    out.push_str(text_part(content, written..));
    out
}

/// The package with other content than it has.
pub(super) fn with_content<'b>(
    package: &'b [u8],
    before: &str,
    content: &str,
) -> Result<Cow<'b, [u8]>> {
    if content == before {
        return Ok(Cow::Borrowed(package));
    }
    rewritten(package, content)
        .map(Cow::Owned)
        .map_err(|error| corrupt(&error.to_string()))
}

fn rewritten(package: &[u8], content: &str) -> ZipResult<Vec<u8>> {
    let mut members = ZipArchive::new(Cursor::new(package))?;
    let mut out = ZipWriter::new(Cursor::new(Vec::with_capacity(package.len())));
    for index in 0..members.len() {
        let member = members.by_index_raw(index)?;
        if member.name()? != CONTENT {
            out.raw_copy_file(member)?;
        }
    }
    let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    out.start_file(CONTENT, stored)?;
    out.write_all(content.as_bytes())?;
    Ok(out.finish()?.into_inner())
}
