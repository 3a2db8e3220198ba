//! Writes small tagged PDFs for tests: pages with marked content, and the structure tree that names
//! it.

use super::maker::{file, text};

/// What a structure element holds.
pub(super) enum Kid {
    /// Marked content of the page by its id.
    Content(usize),
    /// Marked content of the page before.
    Before(usize),
    Element(Element),
}

/// A structure element of one page.
pub(super) struct Element {
    kind: &'static str,
    /// More entries of its dictionary.
    entries: &'static str,
    kids: Vec<Kid>,
}

impl Element {
    pub(super) fn with(mut self, entries: &'static str) -> Self {
        self.entries = entries;
        self
    }
}

/// An element that holds elements.
pub(super) fn group(kind: &'static str, kids: impl IntoIterator<Item = Element>) -> Element {
    Element {
        kind,
        entries: "",
        kids: kids.into_iter().map(Kid::Element).collect(),
    }
}

/// An element that holds content, given by its ids.
pub(super) fn leaf(kind: &'static str, ids: impl IntoIterator<Item = usize>) -> Element {
    Element {
        kind,
        entries: "",
        kids: ids.into_iter().map(Kid::Content).collect(),
    }
}

/// An element that holds content and an element behind it.
pub(super) fn mixed(
    kind: &'static str,
    ids: impl IntoIterator<Item = usize>,
    behind: Element,
) -> Element {
    let mut element = leaf(kind, ids);
    element.kids.push(Kid::Element(behind));
    element
}

/// The same that goes on from content of the page before.
pub(super) fn continued(kind: &'static str, before: usize, id: usize) -> Element {
    let mut element = leaf(kind, [id]);
    element.kids.insert(0, Kid::Before(before));
    element
}

/// Text as marked content with an id.
pub(super) fn marked(id: usize, x: f32, y: f32, words: &str) -> String {
    let shown = text("F1", 10.0, x, y, words);
    format!("/Span <</MCID {id}>> BDC\n{shown}EMC\n")
}

/// Text that is an artifact.
pub(super) fn artifact(x: f32, y: f32, words: &str) -> String {
    let shown = text("F1", 10.0, x, y, words);
    format!("/Artifact <</Type /Pagination>> BDC\n{shown}EMC\n")
}

/// Objects up to the first page: catalog, pages, three fonts, the root of the structure, the tree
/// of parents.
const FIRST_PAGE: usize = 8;
const ROOT: usize = 6;

/// A document of pages, each with its content and its elements.
pub(super) fn document(pages: &[(String, Vec<Element>)]) -> Vec<u8> {
    let mut tree = Tree {
        objects: Vec::new(),
        first: FIRST_PAGE + 2 * pages.len(),
        parents: Vec::new(),
    };
    let (mut kids, mut parents, mut written) = (Vec::new(), String::new(), Vec::new());
    for (index, (content, elements)) in pages.iter().enumerate() {
        let page = FIRST_PAGE + 2 * index;
        tree.parents.clear();
        for element in elements {
            let name = tree.element(element, ROOT, page);
            kids.push(format!("{name} 0 R"));
        }
        let names: Vec<String> = tree
            .parents
            .iter()
            .map(|name| format!("{name} 0 R"))
            .collect();
        parents += &format!("{index} [{}] ", names.join(" "));
        written.push(page_object(index, page));
        written.push(format!(
            "<< /Length {} >>\nstream\n{content}\nendstream",
            content.len() + 1
        ));
    }
    let root = format!(
        "<< /Type /StructTreeRoot /K [{}] /ParentTree 7 0 R >>",
        kids.join(" ")
    );
    let mut objects = head(pages.len(), root, &format!("<< /Nums [{parents}] >>"));
    objects.extend(written);
    objects.extend(tree.objects);
    file(&objects, "")
}

/// The objects before the first page.
pub(super) fn head(pages: usize, root: String, parents: &str) -> Vec<String> {
    let kids: Vec<String> = (0..pages)
        .map(|page| format!("{} 0 R", FIRST_PAGE + 2 * page))
        .collect();
    let font = |name: &str| {
        format!("<< /Type /Font /Subtype /Type1 /BaseFont /{name} /Encoding /WinAnsiEncoding >>")
    };
    vec![
        "<< /Type /Catalog /Pages 2 0 R /MarkInfo << /Marked true >> /StructTreeRoot 6 0 R >>"
            .to_owned(),
        format!(
            "<< /Type /Pages /Kids [{}] /Count {pages} >>",
            kids.join(" ")
        ),
        font("Helvetica"),
        font("Helvetica-Bold"),
        font("Courier"),
        root,
        parents.to_owned(),
    ]
}

/// A page with the number `index` whose content is the object behind it.
pub(super) fn page_object(index: usize, name: usize) -> String {
    let resources = "/Resources << /Font << /F1 3 0 R /F2 4 0 R /F3 5 0 R >> >>";
    format!(
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] {resources} /StructParents {index} /Contents {} 0 R >>",
        name + 1
    )
}

struct Tree {
    objects: Vec<String>,
    /// Number of the first of its objects.
    first: usize,
    /// The element of each piece of content of a page.
    parents: Vec<usize>,
}

impl Tree {
    /// Writes an element with all below it; its object's number.
    fn element(&mut self, element: &Element, parent: usize, page: usize) -> usize {
        let place = self.objects.len();
        let name = self.first + place;
        self.objects.push(String::new());
        let mut kids = Vec::new();
        for kid in &element.kids {
            match kid {
                Kid::Content(id) => {
                    self.parents.resize(self.parents.len().max(id + 1), name);
                    self.parents[*id] = name;
                    kids.push(id.to_string());
                }
                Kid::Before(id) => {
                    let before = page - 2;
                    kids.push(format!("<< /Type /MCR /Pg {before} 0 R /MCID {id} >>"));
                }
                Kid::Element(element) => {
                    let inner = self.element(element, name, page);
                    kids.push(format!("{inner} 0 R"));
                }
            }
        }
        self.objects[place] = format!(
            "<< /Type /StructElem /S /{} /P {parent} 0 R /Pg {page} 0 R /K [{}] {} >>",
            element.kind,
            kids.join(" "),
            element.entries
        );
        name
    }
}
