//! Elements that are what their ARIA role says: pages of nothing but `div` and `span` tell
//! headings, lists and tables that way alone. They get the name of the element that the role
//! stands for, so that nothing behind has to know of roles.

use ego_tree::{NodeId, Tree};
use html5ever::LocalName;
use scraper::{ElementRef, Node};

/// Names of elements that mean nothing by themselves.
const NAMELESS: [&str; 4] = ["div", "span", "p", "section"];

/// Roles that stand alone or open a list or a table, and the elements they stand for.
const ROLES: [(&str, &str); 5] = [
    ("list", "ul"),
    ("table", "table"),
    ("grid", "table"),
    ("treegrid", "table"),
    ("blockquote", "blockquote"),
];

/// Roles of the parts of a list or a table, and the elements they stand for.
const PARTS: [(&str, &str); 8] = [
    ("listitem", "li"),
    ("rowgroup", "tbody"),
    ("row", "tr"),
    ("columnheader", "th"),
    ("rowheader", "th"),
    ("cell", "td"),
    ("gridcell", "td"),
    ("caption", "caption"),
];

/// Elements above within which the role of a part is looked for.
const MAXIMUM_DISTANCE: usize = 8;

/// Names elements by their roles.
pub(super) fn apply(tree: &mut Tree<Node>) {
    let named: Vec<(NodeId, String)> = tree
        .root()
        .descendants()
        .filter_map(ElementRef::wrap)
        .filter_map(|element| Some((element.id(), name_of(element)?)))
        .collect();
    for (id, name) in named {
        if let Some(mut node) = tree.get_mut(id)
            && let Node::Element(element) = node.value()
        {
            element.name.local = LocalName::from(name.as_str());
        }
    }
}

/// The element that a role stands for; `None` where the element's own name counts.
fn name_of(element: ElementRef) -> Option<String> {
    if !NAMELESS.contains(&element.value().name()) {
        return None;
    }
    let role = element.attr("role")?;
    if role == "heading" {
        let level = element
            .attr("aria-level")
            .and_then(|level| level.trim().parse::<u8>().ok());
        return Some(format!("h{}", level.unwrap_or(2).clamp(1, 6)));
    }
    let named = |roles: &[(&str, &str)]| {
        roles
            .iter()
            .find(|(known, _)| *known == role)
            .map(|(_, name)| (*name).to_owned())
    };
    named(&ROLES).or_else(|| named(&PARTS).filter(|_| is_part(element)))
}

/// Whether a list or a table by role is around: a row or a cell alone is none.
fn is_part(element: ElementRef) -> bool {
    element
        .ancestors()
        .filter_map(ElementRef::wrap)
        .take(MAXIMUM_DISTANCE)
        .filter_map(|above| above.attr("role"))
        .any(|role| ROLES.iter().any(|(known, _)| *known == role))
}
