//! Indexes of a text: its table of contents, lists of figures and tables, the index of words. They
//! say where on paper something stands, and nothing more; they are taken out before the text is
//! read.

use std::borrow::Cow;

use quick_xml::Reader;
use quick_xml::events::Event;
use tributary_schemas::Result;

use super::corrupt;
use super::pages::with_content;
use crate::slices::text_part;

/// Elements that are indexes; a list of literature is none.
const INDEXES: [&str; 6] = [
    "table-of-content",
    "illustration-index",
    "table-index",
    "object-index",
    "user-index",
    "alphabetical-index",
];

/// The package without indexes; the same if it has none, or if its content is no UTF-8.
pub(super) fn left_out<'b>(package: &'b [u8], content: &[u8]) -> Result<Cow<'b, [u8]>> {
    let text = std::str::from_utf8(content).ok().unwrap_or_default();
    if !INDEXES.iter().any(|name| text.contains(name)) {
        return Ok(Cow::Borrowed(package));
    }
    with_content(package, &without_indexes(text))
        .map(Cow::Owned)
        .map_err(|error| corrupt(&error.to_string()))
}

fn without_indexes(content: &str) -> String {
    let mut out = String::with_capacity(content.len());
    let mut xml = Reader::from_str(content);
    // Elements that are open within the outermost index, with it.
    let (mut written, mut open) = (0, 0_usize);
    loop {
        let start = position(&xml);
        let event = xml.read_event();
        match event {
            Ok(Event::Start(tag)) => {
                if open == 0 && INDEXES.contains(&tag.local_name().as_ref()) {
                    out.push_str(text_part(content, written..start));
                    open = 1;
                } else if open > 0 {
                    open += 1;
                }
            }
            Ok(Event::End(_)) if open > 0 => {
                open -= 1;
                written = position(&xml);
            }
            Ok(Event::Eof) | Err(_) => break,
            Ok(_) => {}
        }
    }
    // An index without an end is kept with all that follows it.
    if open == 0 {
        out.push_str(text_part(content, written..));
        return out;
    }
    content.to_owned()
}

fn position<R>(xml: &Reader<R>) -> usize {
    usize::try_from(xml.buffer_position()).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_are_taken_out_whole() {
        let index = "<text:table-of-content><text:index-body><text:p>A 1</text:p></text:index-body></text:table-of-content>";
        let text = format!("<o>a{index}<text:p>b</text:p>{index}c</o>");
        assert_eq!(without_indexes(&text), "<o>a<text:p>b</text:p>c</o>");
        let damaged = "<o><text:user-index><text:p>a</text:p>";
        assert_eq!(without_indexes(damaged), damaged);
    }
}
