//! Reads the fields of one entry from its blocks.

use tributary_schemas::api_entry::{ApiEntry, ApiField};

use super::labels::Field;
use crate::markdown::{Block, BlockKind, Outline};

/// Words before the name in a signature.
const KINDS: [&str; 14] = [
    "class",
    "function",
    "method",
    "property",
    "attribute",
    "data",
    "exception",
    "staticmethod",
    "classmethod",
    "async",
    "def",
    "static",
    "abstractmethod",
    "decorator",
];

/// The signature that a block is: code alone in its paragraph, or a short block of code, that names
/// something to call or says what it is.
///
/// Below a class an attribute may stand there by its name alone, as in its title.
pub(super) fn signature<'a>(outline: &Outline<'a>, block: &Block, title: &str) -> Option<&'a str> {
    let text = outline.text(block.range.clone()).trim();
    let code = match block.kind {
        BlockKind::Text => {
            let code = text.strip_prefix('`')?.strip_suffix('`')?;
            (!code.contains('`')).then_some(code)?
        }
        BlockKind::Code => {
            let body = text.strip_prefix("```")?.strip_suffix("```")?;
            let (_, body) = body.split_once('\n')?;
            (body.lines().count() <= 8).then_some(body.trim())?
        }
        _ => return None,
    };
    (is_signature(code) || code == title).then_some(code)
}

fn is_signature(code: &str) -> bool {
    let mut words = code.split_whitespace().peekable();
    let mut says_what = false;
    while words.peek().is_some_and(|word| KINDS.contains(word)) {
        words.next();
        says_what = true;
    }
    let rest = words.collect::<Vec<_>>().join(" ");
    let (name, call) = match rest.split_once('(') {
        Some((name, call)) => (name, Some(call)),
        None => (rest.as_str(), None),
    };
    let name = name.trim();
    let is_name = is_dotted_name(name);
    let is_call = call.is_some_and(|call| call.contains(')'));
    is_name && (is_call || says_what)
}

fn is_dotted_name(text: &str) -> bool {
    !text.is_empty()
        && text.split('.').all(|part| {
            let mut letters = part.chars();
            letters
                .next()
                .is_some_and(|first| first.is_alphabetic() || first == '_')
                && letters.all(|letter| letter.is_alphanumeric() || letter == '_')
        })
}

/// Collects the fields of an entry.
pub(super) struct EntryReader {
    entry: ApiEntry,
    field: Field,
    /// The field to go back to after a label that holds for its paragraph alone.
    after: Option<Field>,
}

impl EntryReader {
    /// Of the entry with this signature.
    pub fn new(signature: &str) -> Self {
        Self {
            entry: ApiEntry {
                signature: signature.to_owned(),
                ..ApiEntry::default()
            },
            field: Field::Description,
            after: None,
        }
    }

    /// A heading below the entry's: a field, or a part of the description.
    pub fn heading(&mut self, title: &str, text: &str) {
        self.after = None;
        match Field::named(title) {
            Some(field) => self.field = field,
            None => {
                self.field = Field::Description;
                self.add(text, false);
            }
        }
    }

    /// The next block that is no heading.
    pub fn block(&mut self, outline: &Outline<'_>, block: &Block) {
        let is_code = block.kind == BlockKind::Code;
        let raw = outline.text(block.range.clone());
        let before = outline.source.get(..block.range.start).unwrap_or_default();
        let line = before.rsplit('\n').next().unwrap_or_default();
        // Items of items, and what goes on in an item, are indented.
        let is_below = raw.starts_with([' ', '\t']) || line.starts_with([' ', '\t']);
        let text = raw.trim();
        let label = Field::beginning(text).filter(|_| block.kind == BlockKind::Text && !is_below);
        let Some((field, rest)) = label else {
            let is_item = text.starts_with(['-', '*', '+']) || is_below;
            if !is_item && let Some(before) = self.after.take() {
                self.field = before;
            }
            self.add_block(text, is_code, is_below);
            return;
        };
        let before = self.after.take().unwrap_or(self.field);
        self.field = field;
        if !rest.is_empty() {
            self.after = Some(before);
            self.add_block(rest, false, false);
        }
    }

    /// All of it.
    pub fn finish(self) -> ApiEntry {
        self.entry
    }

    fn add_block(&mut self, text: &str, is_code: bool, is_below: bool) {
        if is_code && self.field == Field::Description {
            self.entry.examples.push(text.to_owned());
            return;
        }
        self.add(text, is_below);
    }

    fn add(&mut self, text: &str, is_below: bool) {
        let entry = &mut self.entry;
        match self.field {
            Field::Description => join(&mut entry.description, text),
            Field::Parameters => field(&mut entry.parameters, text, is_below),
            Field::Inputs => field(&mut entry.inputs, text, is_below),
            Field::Raises => field(&mut entry.raises, text, is_below),
            Field::Outputs => join(&mut entry.outputs, text),
            Field::Returns => join(&mut entry.returns, text),
            Field::Platforms => join(&mut entry.platforms, text),
            Field::References => join(&mut entry.references, text),
            Field::Examples => entry.examples.push(text.to_owned()),
            Field::Notes => entry.notes.push(text.to_owned()),
        }
    }
}

fn join(to: &mut String, text: &str) {
    if !to.is_empty() {
        to.push_str("\n\n");
    }
    to.push_str(text);
}

/// A new item, or more of the last one.
fn field(fields: &mut Vec<ApiField>, text: &str, is_below: bool) {
    match (item(text).filter(|_| !is_below), fields.last_mut()) {
        (Some(item), _) => fields.push(item),
        (None, Some(last)) => join(&mut last.description, text),
        (None, None) => fields.push(ApiField {
            description: text.to_owned(),
            ..ApiField::default()
        }),
    }
}

/// `- **name** (type) - description`, in the styles in which that is written.
fn item(text: &str) -> Option<ApiField> {
    let text = text.strip_prefix(['-', '*', '+'])?;
    let (name, rest) = named(text.strip_prefix([' ', '\t'])?.trim_start())?;
    let rest = rest.trim_start();
    let (type_name, rest) = parenthesised(rest).unwrap_or(("", rest));
    let description = rest
        .trim_start()
        .trim_start_matches(['-', '–', '—', ':', '：'])
        .trim();
    Some(ApiField {
        name: name.trim_matches(['`', '\\']).replace("\\_", "_"),
        type_name: type_name.to_owned(),
        description: description.to_owned(),
    })
}

/// What stands in the brackets at the beginning, and what behind them.
fn parenthesised(text: &str) -> Option<(&str, &str)> {
    let inside = text.strip_prefix(['(', '（'])?;
    let end = closing(inside)?;
    Some((
        inside.get(..end)?.trim(),
        inside.get(end..)?.trim_start_matches([')', '）']),
    ))
}

/// The bold or coded name that an item begins with, and what follows.
fn named(text: &str) -> Option<(&str, &str)> {
    for mark in ["**", "`"] {
        if let Some((name, rest)) = text
            .strip_prefix(mark)
            .and_then(|text| text.split_once(mark))
        {
            return Some((name.trim_end_matches([':', '：']).trim(), rest));
        }
    }
    // A plain name before its type or a dash.
    let end = text.find([' ', '(', '（', ':', '：'])?;
    let (name, rest) = text.split_at_checked(end)?;
    let is_name = name
        .chars()
        .all(|letter| letter.is_ascii_alphanumeric() || "_*.".contains(letter));
    let goes_on = rest
        .trim_start()
        .starts_with(['(', '（', '-', '–', ':', '：']);
    (is_name && !name.is_empty() && goes_on).then_some((name, rest))
}

/// Where the bracket ends that was opened just before.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 1_usize;
    for (at, character) in text.char_indices() {
        match character {
            '(' | '（' | '[' => depth += 1,
            ')' | '）' | ']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_names_something_to_call_or_says_what_it_is() {
        for code in [
            "class mindspore.nn.ReLU",
            "add_flags(**flags)",
            "mindspore.nn.Conv2d(in_channels, pad_mode=\"same\")",
            "property name",
            "def f(x) -> int",
        ] {
            assert!(is_signature(code), "{code}");
        }
        for code in [
            "pip install mindspore",
            "x",
            "mindspore.nn",
            "a + f(x",
            "1.2(3)",
            "",
        ] {
            assert!(!is_signature(code), "{code}");
        }
    }

    #[test]
    fn items_are_read_in_the_styles_in_which_they_are_written() {
        let field = |name: &str, type_name: &str, description: &str| ApiField {
            name: name.to_owned(),
            type_name: type_name.to_owned(),
            description: description.to_owned(),
        };
        for (text, expected) in [
            (
                "- **stride** (Union[int, tuple[int]]，可选) - 步长。",
                field("stride", "Union[int, tuple[int]]，可选", "步长。"),
            ),
            (
                "- **dilation** (Union(int, tuple[int])，可选) - 膨胀。",
                field("dilation", "Union(int, tuple[int])，可选", "膨胀。"),
            ),
            (
                "- **TypeError** - 不是整数。",
                field("TypeError", "", "不是整数。"),
            ),
            ("* `path`: where it is", field("path", "", "where it is")),
            ("- size (int): how much", field("size", "int", "how much")),
            (
                "- **dtype** (`mindspore.dtype`) - 类型。",
                field("dtype", "`mindspore.dtype`", "类型。"),
            ),
        ] {
            assert_eq!(item(text), Some(expected), "{text}");
        }
        for text in ["plain text", "- a sentence about it", "**name** (type)"] {
            assert_eq!(item(text), None, "{text}");
        }
    }
}
