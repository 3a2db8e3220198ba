//! The structure tree of a page as PDFium reads it, copied into nodes within limits: a tree may
//! lead back to itself, be endless or name what is not there.

use std::ffi::c_int;

use pdfium_render::prelude::{FPDF_STRUCTELEMENT, FPDF_STRUCTTREE};

use super::attributes::Attributes;
use super::cells::{self, CellTags};
use super::roles::Role;
use crate::pdf::document::{Page, utf16_text};
use crate::pdf::library::Bindings;

/// Deepest nesting; deeper elements are left out.
const MAXIMUM_DEPTH: usize = 64;

/// Most elements of a page; a document with more is read by geometry from there on.
const MAXIMUM_ELEMENTS: usize = 50_000;

/// Most children that are looked at in a document, over all its pages: PDFium reads all children
/// of an element anew for each page.
const MAXIMUM_CHILDREN: usize = 20_000_000;

/// A structure element.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::pdf) struct Node {
    pub(super) role: Role,
    /// What its content says, where the letters do not say it; empty if they do.
    pub(super) actual: String,
    /// What a picture shows.
    pub(super) alternative: String,
    /// What the attributes of a cell say.
    pub(super) cell: CellTags,
    /// It is set as a block.
    pub(super) is_block: bool,
    /// Its first content stands on a page before.
    pub(super) begins_before: bool,
    pub(super) kids: Vec<Kid>,
}

/// What a structure element holds, in its order.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::pdf) enum Kid {
    Node(Node),
    /// Marked content of the page, by its id.
    Content(c_int),
}

impl Node {
    pub(super) fn new(role: Role) -> Self {
        Self {
            role,
            actual: String::new(),
            alternative: String::new(),
            cell: CellTags::default(),
            is_block: role.is_block(),
            begins_before: false,
            kids: Vec::new(),
        }
    }

    /// Whether its text goes on from a page before: its first content stands there, or that of the
    /// first element in it.
    pub(super) fn goes_on(&self) -> bool {
        self.begins_before || self.nodes().next().is_some_and(Self::goes_on)
    }

    /// Its elements, without its own content.
    pub(super) fn nodes(&self) -> impl Iterator<Item = &Self> {
        self.kids.iter().filter_map(|kid| match kid {
            Kid::Node(node) => Some(node),
            Kid::Content(_) => None,
        })
    }
}

/// Reads the trees of a document's pages.
pub(super) struct Trees<'a> {
    pdfium: &'a Bindings,
    /// Children that may still be looked at.
    children_left: usize,
}

/// An open tree of a page.
struct OpenTree<'a> {
    pdfium: &'a Bindings,
    handle: FPDF_STRUCTTREE,
}

impl Drop for OpenTree<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle is open and used by nobody after this.
        unsafe { self.pdfium.FPDF_StructTree_Close(self.handle) };
    }
}

impl<'a> Trees<'a> {
    pub(super) fn new(pdfium: &'a Bindings) -> Self {
        Self {
            pdfium,
            children_left: MAXIMUM_CHILDREN,
        }
    }

    /// The tree of an open page; `None` without one, or over a limit.
    pub(super) fn read(&mut self, page: &Page) -> Option<Node> {
        if self.children_left == 0 {
            return None;
        }
        // SAFETY: the page is open.
        let handle = unsafe { self.pdfium.FPDF_StructTree_GetForPage(page.handle) };
        if handle.is_null() {
            return None;
        }
        let tree = OpenTree {
            pdfium: self.pdfium,
            handle,
        };
        // SAFETY: the tree is open.
        let count = unsafe { self.pdfium.FPDF_StructTree_CountChildren(tree.handle) };
        let mut root = Node::new(Role::Group);
        let mut elements = 0;
        for index in 0..self.granted(count)? {
            // SAFETY: as above; PDFium checks the index.
            let element = unsafe {
                self.pdfium
                    .FPDF_StructTree_GetChildAtIndex(tree.handle, index)
            };
            if !element.is_null() {
                let node = self.node(element, 1, &mut elements)?;
                root.kids.push(Kid::Node(node));
            }
        }
        Some(root)
    }

    /// So many children, if they may be looked at.
    fn granted(&mut self, count: c_int) -> Option<c_int> {
        let wanted = usize::try_from(count).unwrap_or(0);
        let left = self.children_left.checked_sub(wanted);
        self.children_left = left.unwrap_or(0);
        left.map(|_| count)
    }

    /// `None` over a limit.
    fn node(
        &mut self,
        element: FPDF_STRUCTELEMENT,
        depth: usize,
        elements: &mut usize,
    ) -> Option<Node> {
        *elements += 1;
        if *elements > MAXIMUM_ELEMENTS {
            self.children_left = 0;
            return None;
        }
        let mut node = self.without_kids(element);
        if depth >= MAXIMUM_DEPTH {
            return Some(node);
        }
        // SAFETY: elements stay valid while their tree is open.
        let count = unsafe { self.pdfium.FPDF_StructElement_CountChildren(element) };
        let mut misses_first = false;
        for index in 0..self.granted(count)? {
            // SAFETY: as above; PDFium checks the index.
            let (child, content) = unsafe {
                (
                    self.pdfium
                        .FPDF_StructElement_GetChildAtIndex(element, index),
                    self.pdfium
                        .FPDF_StructElement_GetChildMarkedContentID(element, index),
                )
            };
            if !child.is_null() {
                node.kids
                    .push(Kid::Node(self.node(child, depth + 1, elements)?));
            } else if content >= 0 {
                node.begins_before |= misses_first && node.kids.is_empty();
                node.kids.push(Kid::Content(content));
            } else if node.role == Role::Row {
                // PDFium leaves out elements without content on the page: an empty cell.
                node.kids.push(Kid::Node(Node::new(Role::Cell)));
            } else {
                misses_first = true;
            }
        }
        Some(node)
    }

    fn without_kids(&self, element: FPDF_STRUCTELEMENT) -> Node {
        // SAFETY (of all closures): the element is valid; the buffer is as long as said.
        let kind = utf16_text(|buffer, length| unsafe {
            self.pdfium
                .FPDF_StructElement_GetType(element, buffer, length)
        });
        let raw = || {
            utf16_text(|buffer, length| unsafe {
                self.pdfium
                    .FPDF_StructElement_GetRawType(element, buffer.cast(), length as usize)
            })
        };
        let mut node = Node::new(Role::of(&kind));
        // Word maps its heads and feet to sections.
        if kind == "Sect" && matches!(raw().as_str(), "Artifact" | "Header" | "Footer") {
            node.role = Role::Artifact;
        }
        node.actual = utf16_text(|buffer, length| unsafe {
            self.pdfium
                .FPDF_StructElement_GetActualText(element, buffer, length)
        });
        let attributes = Attributes {
            pdfium: self.pdfium,
            element,
        };
        match node.role {
            Role::Figure => {
                node.alternative = utf16_text(|buffer, length| unsafe {
                    self.pdfium
                        .FPDF_StructElement_GetAltText(element, buffer, length)
                });
            }
            Role::Cell => node.cell = cells::read(&attributes, &kind),
            Role::Code | Role::Formula => {
                node.is_block = attributes.string("Placement") == "Block";
            }
            _ => {}
        }
        node
    }
}
