//! References in XML texts. Only those that XML itself defines and characters by number are
//! resolved, so nothing grows.

use quick_xml::events::BytesRef;

/// The text of a reference; a blank for `&nbsp;`, nothing for names that a document defines itself.
pub(crate) fn text_of(reference: &BytesRef) -> String {
    if let Some(character) = reference.resolve_char_ref().ok().flatten() {
        return character.to_string();
    }
    let name = reference.xml10_content();
    match quick_xml::escape::resolve_predefined_entity(&name) {
        Some(text) => text.to_owned(),
        None if name == "nbsp" => " ".to_owned(),
        None => String::new(),
    }
}
