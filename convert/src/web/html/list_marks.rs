//! Lists of programs that write none: Word's paragraphs with `mso-list` in their style and a mark
//! in front, and the lists of Google Docs, of which each level stands beside the others and tells
//! its depth in its class. Both become nested lists before the tree is read.

use ego_tree::{NodeId, NodeRef, Tree};
use html5ever::{Attribute, LocalName, QualName, ns};
use scraper::node::Element;
use scraper::{ElementRef, Node};

/// Deepest level that is nested further; both programs have nine.
const MAXIMUM_DEPTH: usize = 8;

/// Width of a level in points where only the margin tells it.
const LEVEL_POINTS: f32 = 36.0;

/// Characters that Word writes in front of items, some of them letters of a symbol font.
const BULLETS: [&str; 12] = [
    "·", "•", "o", "§", "-", "–", "▪", "Ø", "ü", "v", "◦", "\u{F0B7}",
];

/// A paragraph or an item, and where it stands in its list.
struct Item {
    node: NodeId,
    /// The child of the run's parent that holds it.
    holder: NodeId,
    depth: usize,
    number: Option<u64>,
    /// What of it is only its mark.
    marks: Vec<NodeId>,
}

/// A list that is being nested.
struct Open {
    depth: usize,
    is_ordered: bool,
    list: NodeId,
    last_item: NodeId,
}

/// Nests the lists of both programs.
pub(super) fn apply(tree: &mut Tree<Node>) {
    for run in runs(tree) {
        nest(tree, run);
    }
}

/// Items that stand one behind the other, with nothing but white space between.
fn runs(tree: &Tree<Node>) -> Vec<Vec<Item>> {
    let mut runs = Vec::new();
    for parent in tree.root().descendants().filter(NodeRef::has_children) {
        let mut run = Vec::new();
        for child in parent.children() {
            let items = ElementRef::wrap(child).map_or_else(Vec::new, items_of);
            if items.is_empty() && !run.is_empty() && !is_blank(child) {
                runs.push(std::mem::take(&mut run));
            }
            run.extend(items);
        }
        if !run.is_empty() {
            runs.push(run);
        }
    }
    runs
}

fn is_blank(node: NodeRef<Node>) -> bool {
    match node.value() {
        Node::Text(text) => text.trim().is_empty(),
        Node::Element(_) => false,
        _ => true,
    }
}

/// The items that an element is: none for most.
fn items_of(element: ElementRef) -> Vec<Item> {
    match element.value().name() {
        "p" => word_item(element).into_iter().collect(),
        "ul" | "ol" => {
            list_depth(element).map_or_else(Vec::new, |depth| list_items(element, depth))
        }
        _ => Vec::new(),
    }
}

/// Depth of a list of Google Docs, the end of a class such as `lst-kix_abc-2`.
fn list_depth(list: ElementRef) -> Option<usize> {
    let class = list
        .value()
        .classes()
        .find(|class| class.starts_with("lst-kix_"))?;
    class.rsplit_once('-')?.1.parse().ok()
}

fn list_items(list: ElementRef, depth: usize) -> Vec<Item> {
    let is_ordered = list.value().name() == "ol";
    let start = list.attr("start").and_then(|start| start.parse().ok());
    list.child_elements()
        .filter(|item| item.value().name() == "li")
        .zip(start.unwrap_or(1)..)
        .map(|(item, number)| Item {
            node: item.id(),
            holder: list.id(),
            depth: depth.min(MAXIMUM_DEPTH),
            number: is_ordered.then_some(number),
            marks: Vec::new(),
        })
        .collect()
}

/// A paragraph of Word that is an item: by its style, or, in filtered pages, by its class and mark.
fn word_item(paragraph: ElementRef) -> Option<Item> {
    let style = paragraph.attr("style").unwrap_or_default();
    let told = style
        .split_once("mso-list:")
        .map(|(_, list)| list.trim_start());
    let depth = match told {
        Some(list) => list.split_once("level")?.1.chars().next()?.to_digit(10)? as usize,
        None if paragraph
            .value()
            .classes()
            .any(|class| class.starts_with("MsoListParagraph")) =>
        {
            margin_depth(style)?
        }
        None => return None,
    };
    let (mark, marks) = mark_of(paragraph).filter(|(mark, _)| told.is_some() || is_mark(mark))?;
    Some(Item {
        node: paragraph.id(),
        holder: paragraph.id(),
        depth: depth.saturating_sub(1).min(MAXIMUM_DEPTH),
        number: number_of(&mark),
        marks,
    })
}

/// Level from 1 by the left margin.
fn margin_depth(style: &str) -> Option<usize> {
    let margin = style
        .split_once("margin-left:")?
        .1
        .split(';')
        .next()?
        .trim();
    let digits = margin.trim_end_matches(|character: char| character.is_ascii_alphabetic());
    let factor = match margin.get(digits.len()..)? {
        "pt" => 1.0,
        "in" => 72.0,
        "cm" => 28.35,
        _ => return None,
    };
    let points = digits.trim().parse::<f32>().ok()? * factor;
    Some((points / LEVEL_POINTS).round().clamp(1.0, 9.0) as usize)
}

/// The mark in front of a paragraph's text and the nodes that it is.
fn mark_of(paragraph: ElementRef) -> Option<(String, Vec<NodeId>)> {
    let ignored = paragraph
        .descendants()
        .filter_map(ElementRef::wrap)
        .find(|below| {
            below
                .attr("style")
                .is_some_and(|style| style.replace(' ', "").contains("mso-list:Ignore"))
        });
    if let Some(mark) = ignored {
        let text: String = mark.text().collect();
        return Some((text.trim().to_owned(), vec![mark.id()]));
    }
    let first = paragraph
        .descendants()
        .find(|below| matches!(below.value(), Node::Text(text) if !text.trim().is_empty()))?;
    // Blanks of seven points stand between a mark and the text.
    let blanks = first.next_sibling().and_then(ElementRef::wrap)?;
    let text = first.value().as_text()?.trim().to_owned();
    blanks
        .attr("style")
        .is_some_and(|style| style.contains("7.0pt"))
        .then(|| (text, vec![first.id(), blanks.id()]))
}

fn is_mark(text: &str) -> bool {
    BULLETS.contains(&text) || number_of(text).is_some()
}

/// The number of a mark such as `3.`, `(3)`, `c)` or `i.`; only that of a list's first item counts.
fn number_of(mark: &str) -> Option<u64> {
    let inner = mark
        .trim_start_matches('(')
        .strip_suffix(['.', ')', '、'])?;
    if let Ok(number) = inner.rsplit('.').next()?.parse() {
        return Some(number);
    }
    if inner.eq_ignore_ascii_case("i") {
        return Some(1);
    }
    let mut letters = inner.chars();
    let letter = letters.next().filter(char::is_ascii_alphabetic)?;
    let place = u64::from(u32::from(letter.to_ascii_lowercase())) - u64::from(u32::from('a'));
    letters.next().is_none().then_some(place + 1)
}

/// Puts the items of a run into lists within each other.
fn nest(tree: &mut Tree<Node>, run: Vec<Item>) {
    let mut open: Vec<Open> = Vec::new();
    for item in run {
        for mark in &item.marks {
            if let Some(mut mark) = tree.get_mut(*mark) {
                mark.detach();
            }
        }
        let is_ordered = item.number.is_some();
        while open
            .pop_if(|list| {
                list.depth > item.depth
                    || (list.depth == item.depth && list.is_ordered != is_ordered)
            })
            .is_some()
        {}
        if open.last().is_none_or(|list| list.depth != item.depth)
            && let Some(list) = new_list(tree, &item, open.last())
        {
            open.push(list);
        }
        if let Some(list) = open.last_mut() {
            put_into(tree, &item, list);
        }
    }
}

/// An empty list where the item stands, or in the item above it.
fn new_list(tree: &mut Tree<Node>, item: &Item, above: Option<&Open>) -> Option<Open> {
    let element = match item.number {
        Some(number) => element("ol", Some(number)),
        None => element("ul", None),
    };
    let list = match above {
        Some(above) => tree.get_mut(above.last_item)?.append(element).id(),
        None => tree.get_mut(item.holder)?.insert_before(element).id(),
    };
    Some(Open {
        depth: item.depth,
        is_ordered: item.number.is_some(),
        list,
        last_item: list,
    })
}

fn put_into(tree: &mut Tree<Node>, item: &Item, list: &mut Open) {
    let Some(mut target) = tree.get_mut(list.list) else {
        return;
    };
    if item.node != item.holder {
        target.append_id(item.node);
        list.last_item = item.node;
        return;
    }
    let mut entry = target.append(element("li", None));
    entry.append_id(item.node);
    list.last_item = entry.id();
}

fn element(name: &str, start: Option<u64>) -> Node {
    let attributes = start.map(|start| Attribute {
        name: QualName::new(None, ns!(), LocalName::from("start")),
        value: start.to_string().into(),
    });
    let name = QualName::new(None, ns!(html), LocalName::from(name));
    Node::Element(Element::new(name, attributes.into_iter().collect()))
}
