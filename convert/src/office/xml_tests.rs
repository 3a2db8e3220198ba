//! The XML reader: branches, limits, damage, encodings.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::config::Config;

fn trace(text: &str) -> String {
    let config = Config::default();
    let mut xml = XmlReader::new(text, "p", Limits::starting_now(&config));
    let mut trace = String::new();
    loop {
        match xml.next_node().unwrap() {
            Node::Start(element) => trace.push_str(&format!("<{}>", element.name())),
            Node::End => trace.push_str("</>"),
            Node::Text(text) => trace.push_str(&text),
            Node::Eof => return trace,
        }
    }
}

#[test]
fn one_branch_of_alternate_content_is_passed_on() {
    let both = "<a><mc:AlternateContent><mc:Choice Requires='wps'><x/></mc:Choice><mc:Fallback><y/></mc:Fallback></mc:AlternateContent><b/></a>";
    assert_eq!(trace(both), "<a><x></><b></></>");
    assert_eq!(trace(&both.replace("wps", "cx1")), "<a><y></><b></></>");
    assert_eq!(
        trace(
            "<a><AlternateContent><Choice Requires='w'/><Choice Requires='v'><z/></Choice></AlternateContent></a>"
        ),
        "<a></>"
    );
}

#[test]
fn entities_of_document_types_are_not_expanded() {
    let bomb = "<!DOCTYPE a [<!ENTITY x 'yyyy'><!ENTITY f SYSTEM 'file:///etc/passwd'>]><a>1&x;2&f;&amp;&#x4E2D;&lt;</a>";
    assert_eq!(trace(bomb), "<a>12&中<</>");
}

#[test]
fn damage_ends_the_part_and_is_told() {
    let config = Config::default();
    for (text, message) in [
        ("<a><b>", "the part p ends early"),
        ("<a></b>", "not well-formed"),
    ] {
        let mut xml = XmlReader::new(text, "p", Limits::starting_now(&config));
        while !matches!(xml.next_node().unwrap(), Node::Eof) {}
        assert!(
            xml.damage().unwrap().message.contains(message),
            "{:?}",
            xml.damage()
        );
    }
}

#[test]
fn depth_is_limited() {
    let config = Config::default();
    let text = "<a>".repeat(300);
    let mut xml = XmlReader::new(&text, "p", Limits::starting_now(&config));
    xml.child().unwrap();
    let error = xml.skip().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(
        error
            .full_message()
            .contains("convert.office.maximum_xml_depth")
    );
}

#[test]
fn children_text_and_attributes() {
    let config = Config::default();
    let text = "<w:a><w:b w:val='0' r:id='r&amp;1'/><c>x<d>y</d>z</c></w:a>";
    let mut xml = XmlReader::new(text, "p", Limits::starting_now(&config));
    xml.child().unwrap();
    let b = xml.child().unwrap().unwrap();
    assert!(!b.is_on());
    assert_eq!(b.prefixed_attribute("id").as_deref(), Some("r&1"));
    xml.skip().unwrap();
    xml.child().unwrap();
    assert_eq!(xml.text().unwrap(), "xyz");
    assert!(xml.child().unwrap().is_none());
}

#[test]
fn encodings_are_known_by_mark_and_declaration() {
    let utf16: Vec<u8> = "\u{FEFF}<a>中</a>"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    assert_eq!(decode(utf16), "<a>中</a>");
    let (gbk, _, _) = encoding_rs::GBK.encode("<?xml version='1.0' encoding='gb2312'?><a>中</a>");
    assert!(decode(gbk.into_owned()).ends_with("<a>中</a>"));
    assert_eq!(decode(b"<a>\xFF</a>".to_vec()), "<a>\u{FFFD}</a>");
    assert_eq!(
        decode(b"<?xml version='1.0' encoding='utf-16'?><a/>".to_vec()),
        "<?xml version='1.0' encoding='utf-16'?><a/>"
    );
}
