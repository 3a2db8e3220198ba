//! The tree of a page as blocks: headings, paragraphs, lists, quotes, code, tables. Recursion is
//! bounded by the depth of the tree, which `nesting` bounds.

use std::collections::HashSet;
use std::time::Instant;

use ego_tree::NodeId;
use ego_tree::iter::Edge;
use scraper::{ElementRef, Node};
use tributary_schemas::{Error, ErrorKind, ImageLink, Result};

use super::Tree;
use super::content::Selection;
use super::inline::Inline;
use super::table;
use crate::block::Block;
use crate::embedded::Embedded;

/// Levels of lists and quotes that are written; deeper ones are flattened, or each line would carry
/// ever longer indentation.
const MAXIMUM_NESTING: usize = 10;

/// Elements that begin a new block.
const BLOCKS: [&str; 48] = [
    "address",
    "article",
    "aside",
    "blockquote",
    "body",
    "caption",
    "center",
    "dd",
    "details",
    "dialog",
    "dir",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "frame",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hgroup",
    "hr",
    "html",
    "legend",
    "li",
    "listing",
    "main",
    "menu",
    "nav",
    "ol",
    "p",
    "plaintext",
    "pre",
    "search",
    "section",
    "summary",
    "table",
    "tbody",
    "tr",
    "ul",
    "xmp",
];

/// Whether the author made a heading of it or of a part of it.
fn holds_heading(node: Tree) -> bool {
    let names = node.descendants().filter_map(ElementRef::wrap);
    names
        .map(|element| element.value().name())
        .any(|name| matches!(name, "h1" | "h2" | "h3" | "h4" | "h5" | "h6"))
}

/// Builds blocks from a tree.
pub(super) struct Builder<'s> {
    pub(super) selection: &'s Selection,
    /// Inline elements with a block somewhere below them.
    holders: HashSet<NodeId>,
    /// Images in order of appearance.
    pub images: Vec<ImageLink>,
    /// Where images that the page carries itself go; without it they are left out.
    pub embedded: Option<&'s mut Embedded>,
    /// Whether images are written with their links, not as `image:N`.
    pub links_stay_in_images: bool,
    /// Whether links are read beside the page's address; a part of another file has none, and its
    /// relative links lead nowhere.
    pub has_address: bool,
    nesting: usize,
    deadline: Instant,
    steps: usize,
    late: bool,
}

impl<'s> Builder<'s> {
    /// A builder that leaves out what the selection leaves out and gives up at the deadline.
    pub(super) fn new(selection: &'s Selection, deadline: Instant) -> Self {
        Self {
            selection,
            holders: HashSet::new(),
            images: Vec::new(),
            embedded: None,
            links_stay_in_images: false,
            has_address: true,
            nesting: 0,
            deadline,
            steps: 0,
            late: false,
        }
    }

    /// The blocks below a node.
    pub(super) fn build(&mut self, root: Tree) -> Result<Vec<Block>> {
        self.holders = holders(root);
        let blocks = self.blocks(root);
        if self.late {
            return Err(Error::new(ErrorKind::Invalid, "conversion took too long")
                .with_hint("simplify the document, or raise `convert.conversion_timeout_ms`"));
        }
        Ok(blocks)
    }

    /// The blocks below a node; text between them becomes paragraphs.
    pub(super) fn blocks(&mut self, node: Tree) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut inline = Inline::default();
        for child in node.children() {
            if self.is_late() {
                break;
            }
            match child.value() {
                Node::Text(text) => self.text(&text.text, &mut inline),
                Node::Element(_) if self.selection.leaves_out(child) => {}
                Node::Element(element)
                    if BLOCKS.contains(&element.name()) || self.holders.contains(&child.id()) =>
                {
                    flush(&mut inline, &mut blocks);
                    self.block(child, element.name(), &mut blocks);
                }
                Node::Element(_) => self.inline(child, &mut inline),
                _ => {}
            }
        }
        flush(&mut inline, &mut blocks);
        blocks
    }

    fn block(&mut self, node: Tree, name: &str, blocks: &mut Vec<Block>) {
        match name {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => self.heading(node, name, blocks),
            "pre" | "listing" | "xmp" | "plaintext" => blocks.push(Block::Code(
                super::inline::code_language(node),
                super::inline::code_text(node, self.selection),
            )),
            "ul" | "ol" | "menu" | "dir" => self.list(node, name, blocks),
            "dl" => self.definitions(node, blocks),
            "blockquote" => self.quote(node, blocks),
            "table" => table::table(self, node, blocks),
            "hr" => blocks.push(Block::Rule),
            "summary" | "caption" | "legend" if holds_heading(node) => {
                blocks.extend(self.blocks(node));
            }
            "summary" | "caption" | "legend" => self.bold_paragraph(node, blocks),
            _ => blocks.extend(self.blocks(node)),
        }
    }

    /// A heading; blocks in it other than text (an image, a list) follow it.
    fn heading(&mut self, node: Tree, name: &str, blocks: &mut Vec<Block>) {
        let level = name
            .bytes()
            .last()
            .map_or(1, |digit| digit.saturating_sub(b'0'))
            .clamp(1, 6);
        let mut inline = Inline::heading();
        self.inline_children(node, &mut inline);
        let text = inline.finish().replace('\n', " ");
        if !text.trim_end_matches('#').trim().is_empty() {
            blocks.push(Block::Heading(level, text));
        }
    }

    fn bold_paragraph(&mut self, node: Tree, blocks: &mut Vec<Block>) {
        let mut inline = Inline::heading();
        self.inline_children(node, &mut inline);
        let text = inline.finish();
        if !text.is_empty() {
            blocks.push(Block::Paragraph(format!("**{}**", text.replace('\n', " "))));
        }
    }

    /// A list; what stands between its items is an item too.
    fn list(&mut self, node: Tree, name: &str, blocks: &mut Vec<Block>) {
        if self.nesting >= MAXIMUM_NESTING {
            blocks.extend(self.blocks(node));
            return;
        }
        self.nesting += 1;
        let mut items: Vec<Vec<Block>> = Vec::new();
        for child in node.children() {
            let Some(element) = ElementRef::wrap(child) else {
                continue;
            };
            if self.selection.leaves_out(child) || self.is_late() {
                continue;
            }
            let is_item = element.value().name() == "li";
            let mut content = Vec::new();
            if is_item {
                content = self.blocks(child);
            } else {
                self.block(child, element.value().name(), &mut content);
            }
            // A list directly in a list belongs to the item before it.
            match items.last_mut() {
                Some(last) if !is_item => last.append(&mut content),
                _ if content.is_empty() => {}
                _ => items.push(content),
            }
        }
        self.nesting -= 1;
        let start = ElementRef::wrap(node)
            .and_then(|list| list.attr("start"))
            .and_then(|start| start.trim().parse().ok())
            .unwrap_or(1)
            .min(999_999_999);
        if !items.is_empty() {
            blocks.push(Block::List((name == "ol").then_some(start), items));
        }
    }

    /// Terms as bold paragraphs, their definitions as list items below.
    fn definitions(&mut self, node: Tree, blocks: &mut Vec<Block>) {
        let mut items: Vec<Vec<Block>> = Vec::new();
        let flush_items = |items: &mut Vec<Vec<Block>>, blocks: &mut Vec<Block>| {
            if !items.is_empty() {
                blocks.push(Block::List(None, std::mem::take(items)));
            }
        };
        for child in node.children() {
            let Some(element) = ElementRef::wrap(child) else {
                continue;
            };
            if self.selection.leaves_out(child) || self.is_late() {
                continue;
            }
            match element.value().name() {
                "dt" => {
                    flush_items(&mut items, blocks);
                    self.bold_paragraph(child, blocks);
                }
                "dd" if self.nesting < MAXIMUM_NESTING => {
                    self.nesting += 1;
                    let content = self.blocks(child);
                    self.nesting -= 1;
                    if !content.is_empty() {
                        items.push(content);
                    }
                }
                "div" => {
                    flush_items(&mut items, blocks);
                    self.definitions(child, blocks);
                }
                _ => blocks.extend(self.blocks(child)),
            }
        }
        flush_items(&mut items, blocks);
    }

    fn quote(&mut self, node: Tree, blocks: &mut Vec<Block>) {
        if self.nesting >= MAXIMUM_NESTING {
            blocks.extend(self.blocks(node));
            return;
        }
        self.nesting += 1;
        let content = self.blocks(node);
        self.nesting -= 1;
        if !content.is_empty() {
            blocks.push(Block::Quote(content));
        }
    }

    /// Takes a picture out of a `data:` address; the link to it.
    pub(super) fn embed(&mut self, link: &str, name: &str) -> Option<String> {
        self.embedded.as_deref_mut()?.add_data_url(link, name)
    }

    /// Whether the time is over; looks at the clock now and then.
    pub(super) fn is_late(&mut self) -> bool {
        self.steps += 1;
        if self.steps.is_multiple_of(1024) && Instant::now() >= self.deadline {
            self.late = true;
        }
        self.late
    }
}

/// Whether an element of that name begins a block.
pub(super) fn is_block(name: &str) -> bool {
    BLOCKS.contains(&name)
}

fn flush(inline: &mut Inline, blocks: &mut Vec<Block>) {
    let text = std::mem::take(inline).finish();
    if !text.is_empty() {
        blocks.push(Block::Paragraph(text));
    }
}

/// Inline elements with a block somewhere below them. Marks upwards until a marked node, so it is
/// linear.
fn holders(root: Tree) -> HashSet<NodeId> {
    let mut holders = HashSet::new();
    for edge in root.traverse() {
        let Edge::Open(node) = edge else { continue };
        if !ElementRef::wrap(node).is_some_and(|element| is_block(element.value().name())) {
            continue;
        }
        for above in node.ancestors() {
            let Some(element) = ElementRef::wrap(above) else {
                break;
            };
            if !is_block(element.value().name()) && !holders.insert(above.id()) {
                break;
            }
            if is_block(element.value().name()) {
                break;
            }
        }
    }
    holders
}
