//! One pass over a tree, without recursion: definitions, comments and calls.

use std::ops::Range;

use tree_sitter::{Node, Tree, TreeCursor};

use super::compact::Compact;
use super::definitions::{Call, Candidate, Span, What};
use super::languages::{Language, Role};
use super::names;

/// Definitions deeper in the tree are left alone.
const DEEPEST: usize = 64;
/// Definitions in more than this many others are left alone.
const DEEPEST_NESTING: u8 = 8;

/// What a tree has, in document order.
#[derive(Default)]
pub(super) struct Walk {
    pub candidates: Vec<Candidate>,
    pub spans: Vec<Span>,
    pub calls: Vec<Call>,
    pub doc: Option<Range<usize>>,
}

impl Walk {
    /// With the places of the text that the tree's was made from.
    pub fn moved(mut self, compact: &Compact) -> Self {
        for one in &mut self.candidates {
            one.body = compact.original(&(one.range.start..one.body)).end;
            one.range = compact.original(&one.range);
        }
        for call in &mut self.calls {
            call.name = compact.original(&call.name);
        }
        self
    }
}

/// A node above the one at hand.
#[derive(Clone, Copy)]
struct Above {
    /// Where the definition begins and ends whose wrapper it is.
    wrapper: Option<(usize, usize)>,
    /// Whether it is in a function, where nothing is looked for.
    is_closed: bool,
    nesting: u8,
}

/// Goes over a tree. `code` is what its places are in.
pub(super) fn walk(tree: &Tree, code: &str, language: Language) -> Walk {
    let mut walker = Walker {
        code,
        language,
        roles: language.roles(),
        above: Vec::new(),
        walk: Walk::default(),
    };
    let root = tree.root_node();
    if language == Language::Python {
        walker.walk.doc = names::docstring(root);
    }
    let mut cursor = root.walk();
    while walker.visit(&mut cursor) {}
    walker.walk
}

struct Walker<'a> {
    code: &'a str,
    language: Language,
    roles: &'static [Role],
    above: Vec<Above>,
    walk: Walk,
}

impl Walker<'_> {
    /// Reads the node at hand and goes to the next one; `false` at the end.
    fn visit(&mut self, cursor: &mut TreeCursor<'_>) -> bool {
        let node = cursor.node();
        let role = self.roles.get(usize::from(node.kind_id()));
        let above = self.read(node, role.copied().unwrap_or(Role::Other));
        if cursor.goto_first_child() {
            self.above.push(above);
            return true;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return false;
            }
            self.above.pop();
        }
        true
    }

    /// Takes note of a node; how the nodes below it see it.
    fn read(&mut self, node: Node<'_>, role: Role) -> Above {
        let above = self.above.last().copied().unwrap_or(Above {
            wrapper: None,
            is_closed: false,
            nesting: 0,
        });
        let below = Above {
            wrapper: None,
            is_closed: above.is_closed || self.above.len() > DEEPEST,
            ..above
        };
        match role {
            Role::Other => below,
            Role::Comment | Role::Attribute => {
                let text = self.code.get(node.byte_range()).unwrap_or_default();
                // Some grammars take the line end for a part of a comment.
                let end = node.start_byte() + text.trim_end().len();
                self.walk.spans.push(Span {
                    range: node.start_byte()..end,
                    is_comment: role == Role::Comment,
                });
                below
            }
            Role::Call => {
                let name = names::callee(node, self.code);
                self.walk.calls.extend(name.map(|name| Call { name }));
                below
            }
            _ if below.is_closed => below,
            Role::Wrapper | Role::Group => self.wrapper(node, role, above, below),
            _ => self.definition(node, role, above, below),
        }
    }

    fn wrapper(&self, node: Node<'_>, role: Role, above: Above, below: Above) -> Above {
        if role == Role::Group && node.named_child_count() > 1 {
            return below;
        }
        let own = (node.start_byte(), node.end_byte());
        Above {
            wrapper: Some(above.wrapper.unwrap_or(own)),
            ..below
        }
    }

    fn definition(&mut self, node: Node<'_>, role: Role, above: Above, below: Above) -> Above {
        let Some(mut found) = self.candidate(node, role, above) else {
            // What a wrapper holds may be in a variable or a name for a type.
            return Above {
                wrapper: above.wrapper,
                ..below
            };
        };
        if let Some((start, end)) = above.wrapper {
            found.range = start..end;
        }
        let is_closed = matches!(found.what, What::Function | What::Macro);
        self.walk.candidates.push(found);
        Above {
            wrapper: None,
            is_closed: is_closed || above.nesting >= DEEPEST_NESTING,
            nesting: above.nesting.saturating_add(1),
        }
    }

    fn candidate(&self, node: Node<'_>, role: Role, above: Above) -> Option<Candidate> {
        let what = match role {
            Role::Function | Role::Variable => What::Function,
            Role::Type => What::Type,
            Role::Macro => What::Macro,
            Role::Scope => What::Scope,
            _ => return None,
        };
        let holder = match role {
            Role::Variable => names::function_value(node)?,
            _ => node,
        };
        let body = holder.child_by_field_name("body");
        let needs_body = match role {
            Role::Scope => true,
            Role::Type => node.kind().ends_with("_specifier"),
            _ => false,
        };
        if needs_body && body.is_none() {
            return None;
        }
        let name = names::of(node, self.code, self.language).or_else(|| {
            let (_, end) = above.wrapper.filter(|_| needs_body)?;
            names::given(self.code.get(node.end_byte()..end)?)
        })?;
        let body_start = body.map_or(node.end_byte(), |body| body.start_byte());
        let mut found = Candidate::new(what, name, node.byte_range(), body_start);
        if self.language == Language::Python {
            found.doc = body.and_then(names::docstring);
        }
        Some(found)
    }
}
