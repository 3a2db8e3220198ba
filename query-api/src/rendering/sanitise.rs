//! What may stand in rendered HTML: a list of elements and attributes that show and never act. It
//! is the last step, whatever the steps before it made of a document.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use ammonia::{Builder, UrlRelative};

use crate::http::images;

/// Elements of HTML that documents may use. What else looks like one is text.
pub const ELEMENTS: &[&str] = &[
    "a",
    "b",
    "blockquote",
    "br",
    "caption",
    "code",
    "dd",
    "del",
    "details",
    "div",
    "dl",
    "dt",
    "em",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "i",
    "img",
    "kbd",
    "li",
    "mark",
    "ol",
    "p",
    "pre",
    "s",
    "span",
    "strong",
    "sub",
    "summary",
    "sup",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "tr",
    "u",
    "ul",
];

/// Elements of MathML that formulas are made of.
const FORMULA_ELEMENTS: &[&str] = &[
    "math",
    "menclose",
    "merror",
    "mfrac",
    "mi",
    "mmultiscripts",
    "mn",
    "mo",
    "mover",
    "mpadded",
    "mphantom",
    "mprescripts",
    "mroot",
    "mrow",
    "ms",
    "mspace",
    "msqrt",
    "mstyle",
    "msub",
    "msubsup",
    "msup",
    "mtable",
    "mtd",
    "mtext",
    "mtr",
    "munder",
    "munderover",
];

/// Attributes of MathML that say how a formula looks.
const FORMULA_ATTRIBUTES: &[&str] = &[
    "accent",
    "accentunder",
    "columnalign",
    "columnlines",
    "columnspacing",
    "depth",
    "display",
    "displaystyle",
    "fence",
    "form",
    "height",
    "largeop",
    "linethickness",
    "lspace",
    "mathvariant",
    "maxsize",
    "minsize",
    "movablelimits",
    "notation",
    "rowspacing",
    "rspace",
    "scriptlevel",
    "separator",
    "stretchy",
    "symmetric",
    "voffset",
    "width",
];

static BUILDER: LazyLock<Builder<'static>> = LazyLock::new(builder);

/// The HTML without anything that is not on the lists.
pub fn clean(html: &str) -> String {
    without_empty_pictures(&BUILDER.clean(html).to_string()).into_owned()
}

fn builder() -> Builder<'static> {
    let elements: HashSet<&str> = ELEMENTS.iter().chain(FORMULA_ELEMENTS).copied().collect();
    let mut builder = Builder::default();
    builder
        .tags(elements)
        .tag_attributes(attributes())
        .generic_attributes(HashSet::new())
        .url_schemes(HashSet::from(["http", "https", "mailto"]))
        .url_relative(UrlRelative::Custom(Box::new(own_picture)))
        .attribute_filter(|element, attribute, value| match (element, attribute) {
            ("img", "src") => own_picture(value),
            _ => Some(value.into()),
        })
        .set_tag_attribute_value("img", "loading", "lazy")
        .set_tag_attribute_value("a", "target", "_blank")
        .link_rel(Some("noopener noreferrer nofollow"));
    builder
}

fn attributes() -> HashMap<&'static str, HashSet<&'static str>> {
    let mut attributes = HashMap::from([
        ("a", HashSet::from(["href", "title"])),
        ("img", HashSet::from(["src", "alt", "title"])),
        ("ol", HashSet::from(["start"])),
        ("td", HashSet::from(["colspan", "rowspan", "align"])),
        (
            "th",
            HashSet::from(["colspan", "rowspan", "align", "scope"]),
        ),
        ("details", HashSet::from(["open"])),
    ]);
    for element in FORMULA_ELEMENTS {
        attributes.insert(*element, FORMULA_ATTRIBUTES.iter().copied().collect());
    }
    attributes
}

/// Pictures and relative links lead to the pictures that this server keeps, or nowhere: the path
/// of another file means nothing here, and a picture of another host would tell it who reads.
fn own_picture(url: &str) -> Option<Cow<'_, str>> {
    let name = url.strip_prefix(images::PATH)?;
    let is_name = !name.is_empty() && name.bytes().all(|one| one.is_ascii_alphanumeric());
    is_name.then_some(Cow::Borrowed(url))
}

/// Without pictures that lead nowhere: what they show is their description, if they have one.
fn without_empty_pictures(html: &str) -> Cow<'_, str> {
    const BEGINNING: &str = "<img ";
    if !html.contains(BEGINNING) {
        return Cow::Borrowed(html);
    }
    let mut kept = String::with_capacity(html.len());
    let mut rest = html;
    while let Some((before, behind)) = rest.split_once(BEGINNING) {
        kept.push_str(before);
        // The sanitiser escapes `>` and quotes in values, so that the first one ends the element.
        let (attributes, after) = behind.split_once('>').unwrap_or((behind, ""));
        match attributes.contains("src=\"") {
            true => {
                kept.push_str(BEGINNING);
                kept.push_str(attributes);
                kept.push('>');
            }
            false => kept.push_str(description(attributes)),
        }
        rest = after;
    }
    kept.push_str(rest);
    Cow::Owned(kept)
}

/// `alt` of a picture, escaped as it is.
fn description(attributes: &str) -> &str {
    let behind = attributes.split_once("alt=\"").map(|(_, behind)| behind);
    let alt = behind.and_then(|behind| behind.split_once('"'));
    alt.map_or("", |(alt, _)| alt)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_acts_is_left() {
        let table = [
            ("<script>alert(1)</script>", ""),
            ("<img src=x onerror=alert(1)>", ""),
            (
                "a<img src=/v1/images/../../x alt='a &gt; \"b\"'>b",
                "aa &gt; &quot;b&quot;b",
            ),
            ("<img src=/v1/images/>", ""),
            ("<img src=/v1/images/..%2fx alt=src=&quot;>", "src=&quot;"),
            ("<p style=\"x\" onclick=\"y\" id=\"q\">a</p>", "<p>a</p>"),
            ("<svg onload=alert(1)><circle/></svg>", ""),
            ("<iframe src=\"https://a\"></iframe>", ""),
            ("<form action=/v1><input></form>", ""),
        ];
        for (html, expected) in table {
            assert_eq!(clean(html), expected, "{html}");
        }
        let link = clean("<a href=\"javascript:alert(1)\">a</a><a href=\"/v1/x\">b</a>");
        assert!(!link.contains("href"), "{link}");
    }

    #[test]
    fn formulas_and_kept_pictures_stay() {
        let formula = "<math display=\"block\"><mfrac><mi>a</mi><mn>2</mn></mfrac></math>";
        assert_eq!(clean(formula), formula);
        let kept = clean("<img src=\"/v1/images/abc\" alt=\"a\">");
        assert!(kept.contains("src=\"/v1/images/abc\""), "{kept}");
        assert!(!clean("<img src=\"https://other/a.png\">").contains("src"));
    }
}
