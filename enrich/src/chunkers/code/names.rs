//! Names in a tree: of definitions and of what is called.

use std::ops::Range;

use tree_sitter::Node;

use super::languages::Language;

/// Longest name, in bytes; what is longer is something else.
const LONGEST: usize = 200;

/// The name of a definition.
pub(super) fn of(node: Node<'_>, code: &str, language: Language) -> Option<String> {
    let named = match (language, node.kind()) {
        (Language::Go, "method_declaration") => return go_method(node, code),
        (Language::Rust, "impl_item") => node.child_by_field_name("type"),
        (Language::C | Language::Cpp, kind) => c_name(node, kind),
        (_, "assignment_expression") => node.child_by_field_name("left"),
        (_, "field_definition") => node.child_by_field_name("property"),
        _ => node.child_by_field_name("name"),
    }?;
    let text = code.get(named.byte_range())?;
    let text = match (language, text.find('<')) {
        // `Stack<T>`; but `operator<` is a name.
        (Language::Rust, Some(end)) => text.get(..end)?,
        _ => text,
    };
    let text = text.strip_prefix("module.exports.").unwrap_or(text);
    let name: String = text.split_whitespace().collect();
    (!name.is_empty() && name.len() <= LONGEST).then_some(name)
}

/// The name that a type without one is given in the same declaration.
pub(super) fn given(after: &str) -> Option<String> {
    let name = after.trim_end_matches([';', ' ', '\n', '\t']);
    let is_sign = |sign: char| !(sign.is_alphanumeric() || sign == '_');
    let name = name.rsplit(is_sign).next()?;
    (!name.is_empty() && name.len() <= LONGEST).then(|| name.to_owned())
}

/// The name at the end of a chain of declarators, or of a type.
fn c_name<'t>(node: Node<'t>, kind: &str) -> Option<Node<'t>> {
    /// Pointers to pointers to functions.
    const LONGEST_CHAIN: usize = 32;
    if kind != "function_definition" && kind != "inline_method_definition" {
        return node.child_by_field_name("name");
    }
    end_of_chain(node.child_by_field_name("declarator")?, LONGEST_CHAIN)
}

fn end_of_chain(mut node: Node<'_>, maximum_steps: usize) -> Option<Node<'_>> {
    for _ in 0..maximum_steps {
        let next = node.child_by_field_name("declarator").or_else(|| {
            // Round brackets and references have no field for what is in them.
            let holds = matches!(
                node.kind(),
                "parenthesized_declarator" | "reference_declarator" | "attributed_declarator"
            );
            node.named_child(0).filter(|_| holds)
        });
        match next {
            Some(next) => node = next,
            None => return Some(node),
        }
    }
    None
}

/// `Type.name` of a method of Go.
fn go_method(node: Node<'_>, code: &str) -> Option<String> {
    let name = code.get(node.child_by_field_name("name")?.byte_range())?;
    let receiver = code.get(node.child_by_field_name("receiver")?.byte_range())?;
    let receiver = receiver.trim_matches(['(', ')']);
    let receiver = receiver.split('[').next()?;
    let type_name = receiver.rsplit([' ', '*', '\t']).next()?.trim();
    let is_short = name.len() + type_name.len() < LONGEST;
    is_short.then(|| format!("{type_name}.{name}"))
}

/// The function that a variable is given, or a class.
pub(super) fn function_value(node: Node<'_>) -> Option<Node<'_>> {
    let value = node.child_by_field_name("value");
    let value = value.or_else(|| node.child_by_field_name("right"))?;
    matches!(
        value.kind(),
        "arrow_function" | "function_expression" | "generator_function" | "class"
    )
    .then_some(value)
}

/// The text that a body of Python begins with.
pub(super) fn docstring(body: Node<'_>) -> Option<Range<usize>> {
    let first = (0..4)
        .filter_map(|at| body.named_child(at))
        .find(|child| child.kind() != "comment")?;
    let text = match first.kind() {
        "expression_statement" => first.named_child(0)?,
        _ => first,
    };
    (text.kind() == "string").then(|| text.byte_range())
}

/// The last name of what a node calls.
pub(super) fn callee(node: Node<'_>, code: &str) -> Option<Range<usize>> {
    let fields = ["function", "name", "macro", "constructor", "type"];
    let callee = fields
        .into_iter()
        .find_map(|field| node.child_by_field_name(field))?;
    let range = callee.byte_range();
    let bytes = code.as_bytes().get(range.clone())?;
    let mut end = bytes.len();
    if bytes.last() == Some(&b'>') {
        // Types that are given to it.
        let tail = bytes.len().saturating_sub(LONGEST);
        end = tail + bytes.get(tail..)?.iter().position(|byte| *byte == b'<')?;
        end -= usize::from(bytes.get(..end)?.ends_with(b"::")) * 2;
    }
    let is_word = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_' || **byte >= 0x80;
    let word = bytes
        .get(..end)?
        .iter()
        .rev()
        .take(LONGEST)
        .take_while(is_word);
    let length = word.count();
    let name = range.start + end - length..range.start + end;
    (length > 0 && length < LONGEST).then_some(name)
}
