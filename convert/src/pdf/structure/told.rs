//! A structure tree with the glyphs of its content to text with roles, in the order of the tree.

use crate::pdf::characters::{Character, Glyph};
use crate::pdf::geometry::Area;
use crate::pdf::segments::Segment;

use super::cells::HeaderColumns;
use super::contents::{self, Contents};
use super::roles::Role;
use super::table;
use super::tree::{Kid, Node};

/// How much longer the text that stands for content may be than the content: characters for each
/// of its characters, and characters on top.
const MAXIMUM_GROWTH: usize = 4;
const MAXIMUM_ADDED: usize = 32;

/// Fewest letters of a description of a picture that says something; wide ones say more.
const DESCRIPTION_LETTERS: usize = 10;
const WIDE_DESCRIPTION_LETTERS: usize = 4;

/// Text with its role.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::pdf) enum Told {
    /// Level 1 to 6 and text.
    Heading(u8, Vec<Segment>),
    Paragraph(Vec<Segment>),
    /// Text of which only the place in the order is told.
    Untold(Vec<Segment>),
    Item {
        /// Lists around the list.
        depth: usize,
        /// The item's sign as printed.
        label: String,
        text: Vec<Segment>,
    },
    /// Rows of cells; `\n` parts paragraphs of a cell. A merged cell has its text in its first row
    /// and column.
    Table {
        rows: Vec<Vec<String>>,
        /// All cells of the first row are headers.
        has_head: bool,
        /// The first row below the head goes on from the page before.
        goes_on: bool,
    },
    Code(Vec<Segment>),
    /// A footnote, behind the block that refers to it.
    Note(Vec<Segment>),
    /// What a picture shows.
    Description(String),
}

impl Told {
    /// Its text on the page; none of tables and descriptions.
    pub(in crate::pdf) fn segments(&self) -> &[Segment] {
        match self {
            Self::Heading(_, text)
            | Self::Paragraph(text)
            | Self::Untold(text)
            | Self::Item { text, .. }
            | Self::Code(text)
            | Self::Note(text) => text,
            Self::Table { .. } | Self::Description(_) => &[],
        }
    }

    /// Whether it is text of no other kind.
    pub(in crate::pdf) fn is_text(&self) -> bool {
        matches!(self, Self::Paragraph(_) | Self::Untold(_))
    }

    /// Leaves out what of its text is not to be kept, if it is text of no other kind; returns whether
    /// anything is left.
    pub(in crate::pdf) fn keep_text(&mut self, is_kept: impl Fn(&Segment) -> bool) -> bool {
        let (Self::Paragraph(text) | Self::Untold(text)) = self else {
            return true;
        };
        text.retain(is_kept);
        !text.is_empty()
    }
}

/// All text on the page but that of tables.
pub(in crate::pdf) fn segments(told: &[Told]) -> impl Iterator<Item = &Segment> {
    told.iter().flat_map(Told::segments)
}

/// What a tree tells.
pub(super) struct Telling {
    pub told: Vec<Told>,
    /// Lines that the tree calls artifacts.
    pub artifacts: Vec<String>,
}

/// Takes the contents that a tree names.
pub(super) fn tell(tree: &Node, contents: &mut Contents, headers: &mut HeaderColumns) -> Telling {
    let mut teller = Teller::new(contents, headers);
    teller.walk(tree, Mode::Untold);
    teller.flush(Mode::Untold);
    Telling {
        told: teller.told,
        artifacts: teller.artifacts,
    }
}

/// What the text right in an element is.
#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Untold,
    Paragraph,
    Heading(u8),
    Code,
    Note,
}

/// Walks a tree.
pub(super) struct Teller<'a> {
    contents: &'a mut Contents,
    /// Where the header cells of tables stand.
    pub(super) headers: &'a mut HeaderColumns,
    told: Vec<Told>,
    artifacts: Vec<String>,
    /// Glyphs of the block that is open.
    open: Vec<Glyph>,
    /// Depth and label of the item whose text comes next.
    item: Option<(usize, String)>,
    /// What comes behind the block that is open.
    behind: Vec<Told>,
    /// Lists and sections around.
    lists: usize,
    sections: u8,
}

impl<'a> Teller<'a> {
    fn new(contents: &'a mut Contents, headers: &'a mut HeaderColumns) -> Self {
        Self {
            contents,
            headers,
            told: Vec::new(),
            artifacts: Vec::new(),
            open: Vec::new(),
            item: None,
            behind: Vec::new(),
            lists: 0,
            sections: 0,
        }
    }

    fn walk(&mut self, node: &Node, mode: Mode) {
        if let Some(glyphs) = self.replaced(node) {
            self.open.extend(glyphs);
            return;
        }
        let is_alone = node.kids.len() == 1;
        for kid in &node.kids {
            match kid {
                Kid::Content(id) => {
                    let glyphs = self.contents.take(*id);
                    self.open.extend(glyphs);
                }
                Kid::Node(code) if code.role == Role::Code && is_alone && mode == Mode::Untold => {
                    self.code(code, mode);
                }
                Kid::Node(node) => self.node(node, mode),
            }
        }
    }

    fn node(&mut self, node: &Node, mode: Mode) {
        match node.role {
            Role::Group | Role::Row | Role::Cell => self.apart(node, mode, mode),
            Role::Section => {
                self.sections = self.sections.saturating_add(1);
                self.apart(node, mode, mode);
                self.sections -= 1;
            }
            Role::Label if mode == Mode::Note => {
                self.walk(node, mode);
                self.open.push(Glyph::Space);
            }
            Role::Inline | Role::Label => self.walk(node, mode),
            // The label of a note stands before its paragraph.
            Role::Paragraph if mode == Mode::Note => {
                self.walk(node, mode);
                self.flush(mode);
            }
            Role::Paragraph => self.apart(node, mode, Mode::Paragraph),
            Role::Heading(level) => self.apart(node, mode, Mode::Heading(level)),
            Role::HeadingOfSection => {
                let level = self.sections.clamp(1, 6);
                self.apart(node, mode, Mode::Heading(level));
            }
            Role::List => self.list(node, mode),
            Role::Item => self.item(node, mode),
            Role::Table => {
                self.flush(mode);
                table::tell(self, node);
            }
            Role::Code if is_block_of_code(node) => self.code(node, mode),
            Role::Formula if node.is_block => self.apart(node, mode, Mode::Paragraph),
            Role::Code | Role::Formula => self.walk(node, mode),
            Role::Figure => self.figure(node, mode),
            Role::Note => {
                let note = self.aside(node, Mode::Note);
                self.behind.extend(note);
            }
            Role::Artifact => {
                let glyphs = self.all_glyphs(node);
                self.artifacts.extend(contents::lines(&glyphs));
            }
        }
    }

    /// A block: what was open ends before it, and it ends with itself.
    fn apart(&mut self, node: &Node, outer: Mode, mode: Mode) {
        self.flush(outer);
        self.walk(node, mode);
        self.flush(mode);
    }

    fn list(&mut self, node: &Node, mode: Mode) {
        self.flush(mode);
        self.lists += 1;
        self.walk(node, Mode::Untold);
        self.flush(Mode::Untold);
        self.lists -= 1;
    }

    fn item(&mut self, node: &Node, mode: Mode) {
        self.flush(mode);
        let (labels, rest): (Vec<&Kid>, Vec<&Kid>) = node
            .kids
            .iter()
            .partition(|kid| matches!(kid, Kid::Node(node) if node.role == Role::Label));
        let mut label = Vec::new();
        for kid in labels {
            if let Kid::Node(node) = kid {
                label.extend(self.all_glyphs(node));
            }
        }
        let label = super::text(&contents::segments(&label));
        self.item = Some((self.lists.saturating_sub(1), label));
        let body = Node {
            kids: rest.into_iter().cloned().collect(),
            ..Node::new(Role::Group)
        };
        self.walk(&body, Mode::Paragraph);
        self.flush(Mode::Paragraph);
        self.item = None;
    }

    /// All of it is code, however the tree parts its lines.
    fn code(&mut self, node: &Node, mode: Mode) {
        self.flush(mode);
        self.open = self.all_glyphs(node);
        self.item = None;
        self.flush(Mode::Code);
    }

    fn figure(&mut self, node: &Node, mode: Mode) {
        let description = Some(&node.alternative).filter(|text| describes(text));
        if let Some(text) = description {
            self.behind.push(Told::Description(text.clone()));
        }
        if self.open.is_empty() && self.item.is_none() {
            self.flush(mode);
        }
        self.walk(node, mode);
    }

    /// What an element tells by itself, apart from the text around it.
    fn aside(&mut self, node: &Node, mode: Mode) -> Vec<Told> {
        let told = std::mem::take(&mut self.told);
        let open = std::mem::take(&mut self.open);
        let behind = std::mem::take(&mut self.behind);
        let item = self.item.take();
        self.walk(node, mode);
        self.flush(mode);
        self.item = item;
        self.behind = behind;
        self.open = open;
        std::mem::replace(&mut self.told, told)
    }

    /// What the cell of a table tells.
    pub(super) fn cell(&mut self, node: &Node) -> Vec<Told> {
        let lists = std::mem::take(&mut self.lists);
        let told = self.aside(node, Mode::Paragraph);
        self.lists = lists;
        told
    }

    /// Adds finished text.
    pub(super) fn push(&mut self, told: impl IntoIterator<Item = Told>) {
        self.told.extend(told);
    }

    /// What an element tells as a part of the text around it.
    pub(super) fn block(&mut self, node: &Node) {
        self.node(node, Mode::Paragraph);
        self.flush(Mode::Paragraph);
    }

    /// Ends the open block.
    fn flush(&mut self, mode: Mode) {
        let glyphs = std::mem::take(&mut self.open);
        let segments = if mode == Mode::Code {
            contents::code(&glyphs)
        } else {
            contents::segments(&glyphs)
        };
        if !segments.is_empty() {
            let told = match (mode, self.item.take()) {
                (Mode::Heading(level), _) => Told::Heading(level, segments),
                (_, Some((depth, label))) => Told::Item {
                    depth,
                    label,
                    text: segments,
                },
                (Mode::Untold, None) => Told::Untold(segments),
                (Mode::Paragraph, None) => Told::Paragraph(segments),
                (Mode::Code, None) => Told::Code(segments),
                (Mode::Note, None) => Told::Note(segments),
            };
            self.told.push(told);
        }
        self.told.append(&mut self.behind);
    }

    fn all_glyphs(&mut self, node: &Node) -> Vec<Glyph> {
        let mut glyphs = Vec::new();
        for kid in &node.kids {
            match kid {
                Kid::Content(id) => glyphs.extend(self.contents.take(*id)),
                Kid::Node(node) => {
                    let inner = self.replaced(node);
                    glyphs.extend(inner.unwrap_or_else(|| self.all_glyphs(node)));
                }
            }
        }
        glyphs
    }

    /// The glyphs of an element whose text stands for its content; `None` if its letters say it.
    fn replaced(&mut self, node: &Node) -> Option<Vec<Glyph>> {
        if node.actual.is_empty() || !node.nodes().all(|node| node.nodes().next().is_none()) {
            return None;
        }
        let plain = Node {
            actual: String::new(),
            ..node.clone()
        };
        let glyphs = self.all_glyphs(&plain);
        let drawn = contents::drawn(glyphs.iter()).count();
        let is_plausible =
            node.actual.chars().count() <= MAXIMUM_GROWTH * drawn + MAXIMUM_ADDED && drawn > 0;
        Some(if is_plausible {
            spelt(&node.actual, &glyphs)
        } else {
            glyphs
        })
    }
}

/// Text at the place of glyphs, in the style of the first of them.
fn spelt(text: &str, glyphs: &[Glyph]) -> Vec<Glyph> {
    let Some(first) = contents::drawn(glyphs.iter()).next() else {
        return Vec::new();
    };
    let on_line = |character: &&Character| (character.baseline - first.baseline).abs() < 1.0;
    let areas = contents::drawn(glyphs.iter()).filter(on_line);
    let area = Area::around(areas.map(|character| character.area)).unwrap_or(first.area);
    text.chars()
        .map(|value| match value {
            value if value.is_whitespace() => Glyph::Space,
            value => Glyph::Drawn(Character {
                value,
                area,
                is_guessed: false,
                ..*first
            }),
        })
        .collect()
}

/// Whether an element of code is a block: it is set as one, or its lines are elements.
fn is_block_of_code(node: &Node) -> bool {
    node.is_block || node.nodes().any(|node| node.role.is_block())
}

/// Whether a description says more than the name of a file or "Picture 1".
fn describes(text: &str) -> bool {
    let letters = text.chars().filter(|character| character.is_alphabetic());
    let wide = letters
        .clone()
        .filter(|letter| crate::escape::is_wide(*letter));
    let is_phrase = text.split_whitespace().count() > 1;
    wide.count() >= WIDE_DESCRIPTION_LETTERS
        || (is_phrase && letters.count() >= DESCRIPTION_LETTERS)
}
