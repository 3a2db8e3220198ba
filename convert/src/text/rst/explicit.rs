//! What begins with `..`: directives, footnotes, citations, targets, substitutions, comments.

use std::sync::LazyLock;

use regex::Regex;

use super::lists::field;
use super::parser::Parser;
use super::references::explicit_length;
use super::source::{dedent, indentation, is_blank, trimmed};
use crate::block::Block;

static DIRECTIVE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^\.\. *([A-Za-z][\w:+.-]*?) ?::(?:\s+(.*))?$").ok());
static FOOTNOTE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^\.\. +\[([^\]\s]+)\](?:\s+(.*))?$").ok());

/// A directive with its parts.
#[derive(Debug, Default)]
pub(super) struct Directive<'a> {
    /// Its name, lowercase.
    pub name: String,
    /// What stands behind `::`.
    pub argument: &'a str,
    /// Lines below that go on with the argument, as those of a signature do.
    pub more: Vec<&'a str>,
    /// Options by name.
    pub options: Vec<(&'a str, String)>,
    /// Lines below, dedented.
    pub content: Vec<&'a str>,
    /// Whether a blank line parts the argument from them.
    pub is_parted: bool,
}

impl<'a> Directive<'a> {
    /// An option's value.
    pub(super) fn option(&self, name: &str) -> Option<&str> {
        self.options
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value.as_str())
    }

    /// Argument and content together, for directives that have no argument of their own.
    pub(super) fn body(&self) -> Vec<&'a str> {
        let mut lines = vec![self.argument];
        lines.extend(&self.more);
        if self.is_parted
            || !self.more.is_empty()
            || (self.argument.is_empty() && !self.content.is_empty())
        {
            lines.push("");
        }
        lines.extend(&self.content);
        trimmed(lines)
    }
}

/// Whether a line begins a directive.
pub(super) fn is_directive(line: &str) -> bool {
    line.starts_with("..")
        && DIRECTIVE
            .as_ref()
            .is_some_and(|pattern| pattern.is_match(line))
}

impl Parser<'_> {
    /// A block that begins with `..`, or the short form of an anonymous target; how many lines it
    /// takes.
    pub(super) fn explicit(
        &mut self,
        line: &str,
        rest: &[&str],
        blocks: &mut Vec<Block>,
    ) -> Option<usize> {
        if line.starts_with("__ ") {
            return Some(1);
        }
        if line != ".." && !line.starts_with(".. ") && !is_directive(line) {
            return None;
        }
        if line == ".." && rest.get(1).is_none_or(|next| is_blank(next)) {
            return Some(1);
        }
        if line.trim_start_matches(['.', ' ']).starts_with('_') {
            // A target has no content: what is indented below after a blank line is text.
            return Some(
                1 + rest
                    .iter()
                    .skip(1)
                    .take_while(|next| !is_blank(next) && indentation(next) > 0)
                    .count(),
            );
        }
        let used = explicit_length(rest);
        let below = rest.get(1..used).unwrap_or_default();
        if let Some(found) = FOOTNOTE.as_ref().and_then(|pattern| pattern.captures(line)) {
            let mut lines = dedent(below);
            lines.insert(0, found.get(2).map_or("", |text| text.as_str()));
            let label =
                super::inline::footnote_label(found.get(1).map_or("", |label| label.as_str()));
            let content = self.inner(&lines);
            blocks.push(Block::Footnote(label, content));
        } else if let Some(found) = DIRECTIVE
            .as_ref()
            .and_then(|pattern| pattern.captures(line))
        {
            let argument = found.get(2).map_or("", |argument| argument.as_str()).trim();
            let directive = parts(found[1].to_ascii_lowercase(), argument, below);
            self.directive(&directive, blocks);
        }
        Some(used)
    }
}

/// Splits what is below a directive into more of its argument, options and content.
fn parts<'a>(name: String, argument: &'a str, below: &[&'a str]) -> Directive<'a> {
    let lines = dedent(below);
    let mut directive = Directive {
        name,
        argument,
        ..Directive::default()
    };
    let adjoining = below.first().is_some_and(|line| !is_blank(line));
    let mut at = 0;
    if adjoining {
        let head = lines.iter().take_while(|line| !is_blank(line)).count();
        let options_from = lines
            .iter()
            .take(head)
            .position(|line| field(line).is_some())
            .unwrap_or(head);
        let is_argument = !argument.is_empty()
            && (options_from < head || super::objects::is_object(&directive.name));
        if is_argument && options_from > 0 {
            directive.more = lines
                .get(..options_from)
                .unwrap_or_default()
                .iter()
                .map(|line| line.trim())
                .collect();
            at = options_from;
        }
    } else if lines.first().is_none_or(|line| field(line).is_none()) || !argument.is_empty() {
        directive.content = lines;
        directive.is_parted = true;
        return directive;
    }
    at += read_options(lines.get(at..).unwrap_or_default(), &mut directive.options);
    directive.content = dedent(lines.get(at..).unwrap_or_default());
    directive
}

/// Options at the start, each with the lines that go on with it; how many lines they take.
fn read_options<'a>(lines: &[&'a str], options: &mut Vec<(&'a str, String)>) -> usize {
    let mut at = 0;
    while let Some((option, value)) = lines.get(at).and_then(|line| field(line)) {
        at += 1;
        let mut value = value.to_owned();
        while let Some(more) = lines
            .get(at)
            .filter(|line| !is_blank(line) && indentation(line) > 0)
        {
            value.push(' ');
            value.push_str(more.trim());
            at += 1;
        }
        options.push((option, value));
    }
    at
}
