//! Pages that are XML. HTML ends no element by `/>`: to its parser everything behind `<title/>` or
//! `<script src="x"/>` is a title or a script.

use std::borrow::Cow;

use super::nesting::{self, RAW_TEXT, VOID};

/// What a page that is XML may begin with.
const DECLARATION: &str = "<?xml";

/// What its first element names, and how many bytes of the page are looked through for it.
const NAMESPACE: &str = "http://www.w3.org/1999/xhtml";
const HEAD_BYTES: usize = 2048;

/// Characters that are no markup.
const LITERAL: &str = "<![CDATA[";
const LITERAL_END: &str = "]]>";

/// Whether a page says that it is XML.
pub(super) fn is_declared(page: &str) -> bool {
    let page = page.trim_start_matches('\u{feff}').trim_start();
    let head = page.get(..page.floor_char_boundary(HEAD_BYTES.min(page.len())));
    page.starts_with(DECLARATION) || head.is_some_and(|head| head.contains(NAMESPACE))
}

/// The same page with an end tag for every element that ends in `/>`, as HTML wants it. One pass.
pub(super) fn with_end_tags(page: &str) -> Cow<'_, str> {
    if !page.contains("/>") && !page.contains(LITERAL) {
        return Cow::Borrowed(page);
    }
    let mut result = String::with_capacity(page.len() + page.len() / 16);
    let mut rest = page;
    while let Some(at) = rest.find('<') {
        let (text, markup) = rest.split_at(at);
        result.push_str(text);
        if let Some(literal) = markup.strip_prefix(LITERAL) {
            let (literal, after) = literal.split_once(LITERAL_END).unwrap_or((literal, ""));
            result.push_str(&literal.replace('&', "&amp;").replace('<', "&lt;"));
            rest = after;
            continue;
        }
        let (length, ended) = piece(markup);
        let (piece, after) = markup.split_at(length);
        result.push_str(piece);
        if let Some(name) = ended {
            result.push_str("</");
            result.push_str(name);
            result.push('>');
        }
        rest = after;
    }
    result.push_str(rest);
    Cow::Owned(result)
}

/// Length of the tag, comment, declaration or raw text at the start, and the name of the element
/// that ends with it and has no end tag.
fn piece(markup: &str) -> (usize, Option<&str>) {
    let after = markup.get(1..).unwrap_or_default();
    if after.starts_with("!--") {
        return (nesting::comment_length(markup), None);
    }
    if !after.starts_with(|character: char| character.is_ascii_alphabetic()) {
        return (1, None);
    }
    let (length, lower) = nesting::tag_name(after);
    let tag = nesting::scan_tag(markup, 1 + length);
    if tag.self_closing {
        let name = after
            .get(..length)
            .filter(|_| !VOID.contains(&lower.as_str()));
        return (tag.length, name);
    }
    match RAW_TEXT.contains(&lower.as_str()) {
        true => (nesting::raw_text_end(markup, tag.length, &lower), None),
        false => (tag.length, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_in_a_slash_gets_an_end_tag() {
        let page =
            "<html><title/><script src='a/>'/><a id=\"x\" /><br/><p class='n'/>b<svg:rect/></html>";
        assert_eq!(
            with_end_tags(page),
            "<html><title/></title><script src='a/>'/></script><a id=\"x\" /></a><br/><p class='n'/></p>b<svg:rect/></svg:rect></html>"
        );
    }

    #[test]
    fn other_markup_stays_as_it_is() {
        for page in [
            "<p>a</p>",
            "<!-- <p/> --><br/>",
            "<script>if (a</b/>.c) {}</script><hr/>",
            "a < b /> <",
            "<汉/>",
            "<a href=x/>text</a>",
            "<title",
        ] {
            assert_eq!(with_end_tags(page), page);
        }
    }

    #[test]
    fn literal_characters_are_text() {
        assert_eq!(
            with_end_tags("<p>a <![CDATA[b < c && <d>]]> e</p><![CDATA[f"),
            "<p>a b &lt; c &amp;&amp; &lt;d> e</p>f"
        );
    }

    #[test]
    fn a_page_says_that_it_is_xml() {
        assert!(is_declared(
            "<!-- x --><!DOCTYPE html><html xmlns=\"http://www.w3.org/1999/xhtml\">"
        ));
        assert!(is_declared("\u{feff}<?xml version='1.0'?><html/>"));
        assert!(!is_declared("<!DOCTYPE html><html>"));
    }
}
