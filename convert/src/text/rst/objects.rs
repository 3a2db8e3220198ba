//! Descriptions of classes, functions and options (Sphinx domains and autodoc): a heading, the
//! signature as code, the text below.

use super::explicit::Directive;
use super::parser::Parser;
use crate::block::Block;
use crate::escape::{code_span, escaped};

/// Kinds of objects, without domain.
const OBJECTS: [&str; 35] = [
    "class",
    "function",
    "method",
    "attribute",
    "data",
    "exception",
    "staticmethod",
    "classmethod",
    "property",
    "decorator",
    "decoratormethod",
    "member",
    "macro",
    "struct",
    "union",
    "enum",
    "enumerator",
    "type",
    "var",
    "alias",
    "concept",
    "namespace",
    "option",
    "cmdoption",
    "envvar",
    "program",
    "describe",
    "object",
    "confval",
    "setting",
    "directive",
    "role",
    "event",
    "signal",
    "templatefilter",
];

/// autodoc's directives, which take their text from the code: only the name is in the text.
const AUTOMATIC: [&str; 10] = [
    "autoclass",
    "autofunction",
    "automethod",
    "autoattribute",
    "autodata",
    "autoexception",
    "automodule",
    "autoproperty",
    "autodecorator",
    "autoenum",
];

/// Domains that may stand before the kind.
const DOMAINS: [&str; 9] = ["py", "c", "cpp", "js", "rst", "std", "java", "rust", "http"];

/// Objects that are described inside others as sections of their own, at most.
const MAXIMUM_LEVELS: usize = 2;

/// Whether a directive describes an object.
pub(super) fn is_object(name: &str) -> bool {
    let with_domain = name
        .split_once(':')
        .filter(|(domain, _)| DOMAINS.contains(domain));
    match with_domain {
        Some(("http", method)) => matches!(
            method,
            "get" | "post" | "put" | "delete" | "patch" | "head" | "any"
        ),
        Some((_, kind)) => OBJECTS.contains(&kind),
        // `class` and `role` without a domain are docutils' own.
        None => {
            AUTOMATIC.contains(&name)
                || (OBJECTS.contains(&name)
                    && !matches!(name, "class" | "role" | "directive" | "program" | "event"))
        }
    }
}

impl Parser<'_> {
    /// The heading is left out where the section above has that name.
    pub(super) fn object(&mut self, directive: &Directive, blocks: &mut Vec<Block>) {
        let signatures: Vec<&str> = std::iter::once(directive.argument)
            .chain(directive.more.iter().copied())
            .filter(|text| !text.is_empty())
            .collect();
        let kind = directive.name.rsplit(':').next().unwrap_or_default();
        let mut levels = 0;
        if let Some(first) = signatures.first() {
            let name = object_name(first, directive.name.starts_with('c'));
            let is_title = same_name(&self.last_title, &name);
            let is_option = matches!(
                kind,
                "option" | "cmdoption" | "envvar" | "confval" | "describe" | "describe:"
            );
            if !is_title && !is_option && self.objects < MAXIMUM_LEVELS {
                self.push_heading(self.section + 1 + self.objects, escaped(&name), blocks);
                self.last_title.clone_from(&name);
                levels = 1;
            }
        }
        for signature in signatures {
            let label = if matches!(
                kind,
                "class" | "exception" | "property" | "classmethod" | "staticmethod"
            ) {
                format!("{kind} ")
            } else {
                String::new()
            };
            blocks.push(Block::Paragraph(code_span(&format!(
                "{label}{}",
                signature.replace("\\", "")
            ))));
        }
        self.objects += levels;
        self.blocks(&directive.content, blocks);
        self.objects -= levels;
    }
}

/// The dotted name of a signature: what stands before the parameters, without return type.
fn object_name(signature: &str, typed: bool) -> String {
    let before = signature
        .split(['(', '[', '='])
        .next()
        .unwrap_or_default()
        .trim();
    let before = before
        .split(" -> ")
        .next()
        .unwrap_or_default()
        .split(": ")
        .next()
        .unwrap_or_default()
        .trim();
    let name = if typed {
        before
            .split_whitespace()
            .last()
            .unwrap_or_default()
            .trim_start_matches(['*', '&'])
    } else {
        before
    };
    let words = ["class ", "async ", "static ", "abstract ", "final "];
    words
        .iter()
        .fold(name, |name, word| name.strip_prefix(word).unwrap_or(name))
        .trim()
        .to_owned()
}

/// Whether a title names the object, with or without module and parentheses.
fn same_name(title: &str, name: &str) -> bool {
    let bare = |text: &str| {
        text.chars()
            .filter(|character| character.is_alphanumeric() || matches!(character, '.' | '_'))
            .collect::<String>()
    };
    let (title, name) = (bare(title), bare(name));
    !name.is_empty()
        && (title == name
            || title.ends_with(&format!(".{name}"))
            || name.ends_with(&format!(".{title}")) && !title.is_empty())
}
