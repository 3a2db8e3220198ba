//! Text that stands directly in a list, a table or a row, where none should: browsers show it, so it
//! is put into an item, a cell, or an element of its own.

use ego_tree::{NodeId, Tree};
use html5ever::{LocalName, QualName, ns};
use scraper::{ElementRef, Node, node::Element};

/// Elements that hold only others, and what their loose text is put into.
const HOLDERS: [(&str, &str); 10] = [
    ("ul", "li"),
    ("ol", "li"),
    ("menu", "li"),
    ("dir", "li"),
    ("dl", "dd"),
    ("table", "div"),
    ("thead", "tr"),
    ("tbody", "tr"),
    ("tfoot", "tr"),
    ("tr", "td"),
];

/// Puts all such text of a page where it is read.
pub(super) fn apply(tree: &mut Tree<Node>) {
    let loose: Vec<(NodeId, &str)> = tree
        .root()
        .descendants()
        .filter_map(ElementRef::wrap)
        .filter_map(|element| Some((element, holder(element.value().name())?)))
        .flat_map(|(element, name)| {
            let children = element.children();
            let texts = children.filter(|child| is_said(child.value()));
            texts.map(|text| (text.id(), name)).collect::<Vec<_>>()
        })
        .collect();
    for (text, name) in loose {
        wrap(tree, text, name);
        if name == "tr" {
            wrap(tree, text, "td");
        }
    }
}

fn holder(name: &str) -> Option<&'static str> {
    let found = HOLDERS.iter().find(|(known, _)| *known == name);
    found.map(|(_, within)| *within)
}

fn is_said(node: &Node) -> bool {
    matches!(node, Node::Text(text) if !text.text.trim().is_empty())
}

/// Puts an element around a node.
fn wrap(tree: &mut Tree<Node>, id: NodeId, name: &str) {
    let name = QualName::new(None, ns!(html), LocalName::from(name));
    let element = Node::Element(Element::new(name, Vec::new()));
    let Some(mut node) = tree.get_mut(id) else {
        return;
    };
    let around = node.insert_before(element).id();
    if let Some(mut around) = tree.get_mut(around) {
        around.append_id(id);
    }
}
