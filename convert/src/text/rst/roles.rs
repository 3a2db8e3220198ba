//! Roles: what `:role:`text`` becomes.

use super::inline::{unescaped, with_target};
use super::parser::Parser;
use crate::blanks::collapsed;
use crate::escape::destination;
use crate::escape::{code_span, escaped};
use crate::positions::{lowered, raised};

/// Roles whose text is code, without domain.
const CODE: [&str; 46] = [
    "class",
    "func",
    "meth",
    "attr",
    "mod",
    "exc",
    "obj",
    "data",
    "const",
    "type",
    "var",
    "macro",
    "member",
    "struct",
    "enum",
    "enumerator",
    "union",
    "expr",
    "texpr",
    "option",
    "envvar",
    "file",
    "command",
    "program",
    "code",
    "samp",
    "kbd",
    "literal",
    "makevar",
    "regexp",
    "token",
    "keyword",
    "confval",
    "setting",
    "py",
    "c",
    "cpp",
    "js",
    "directive",
    "role",
    "mimetype",
    "newsgroup",
    "dir",
    "opt",
    "bash",
    "console",
];

/// Roles whose text links to another document or file.
const DOCUMENTS: [&str; 2] = ["doc", "download"];

fn document_link(path: &str) -> String {
    format!(
        "[{}]({})",
        escaped(path.trim_start_matches(['~', '!'])),
        destination(path)
    )
}

impl Parser<'_> {
    /// The Markdown of a role with its text.
    pub(super) fn role(&mut self, name: &str, raw: &str, depth: usize) -> String {
        let name = name.to_ascii_lowercase();
        let base = self
            .references
            .roles
            .get(&name)
            .filter(|base| !base.is_empty())
            .cloned();
        let name = base.unwrap_or(name);
        let kind = name.rsplit(':').next().unwrap_or_default();
        match kind {
            "raw" | "index" => String::new(),
            "math" => format!("${}$", collapsed(raw)),
            "emphasis" | "strong" => {
                let mark = if kind == "strong" { "**" } else { "*" };
                format!("{mark}{}{mark}", self.inline_at(raw, depth + 1))
            }
            "pep" => format!("PEP {}", escaped(raw)),
            "rfc" => format!("RFC {}", escaped(raw)),
            "guilabel" | "menuselection" => {
                escaped(&unescaped(raw).replace("-->", "→").replace('&', ""))
            }
            "sub" | "subscript" => self.positioned(raw, lowered, depth),
            "sup" | "superscript" => self.positioned(raw, raised, depth),
            "abbr" | "title-reference" | "title" | "t" | "dfn" => self.inline_at(raw, depth + 1),
            _ if CODE.contains(&kind) => code_reference(raw),
            _ => self.reference(kind, raw, depth),
        }
    }

    /// Raised or lowered text.
    fn positioned(&mut self, raw: &str, shifted: fn(&str) -> String, depth: usize) -> String {
        let text = shifted(raw);
        if text == raw {
            self.inline_at(raw, depth + 1)
        } else {
            text
        }
    }

    /// Text that refers to something: its own text, else the title of what it refers to.
    fn reference(&mut self, kind: &str, raw: &str, depth: usize) -> String {
        let (text, target) = with_target(raw);
        match target {
            Some(target) if DOCUMENTS.contains(&kind) || target.contains("://") => {
                let shown = self.inline_at(&text, depth + 1);
                format!("[{}]({})", shown, destination(&unescaped(&target)))
            }
            Some(target) if text.is_empty() => escaped(&target),
            Some(_) => self.inline_at(&text, depth + 1),
            None if DOCUMENTS.contains(&kind) => document_link(&unescaped(&text)),
            None => match self.references.title(&text).map(str::to_owned) {
                Some(title) if kind == "ref" => self.inline_at(&title, depth + 1),
                _ => escaped(unescaped(&text).trim_start_matches(['~', '!'])),
            },
        }
    }
}

/// A name as code: the text if there is one, `~` leaves only the last part.
fn code_reference(raw: &str) -> String {
    let (text, target) = with_target(raw);
    let shown = if text.is_empty() {
        target.unwrap_or_default()
    } else {
        text
    };
    let shown = unescaped(&shown);
    match shown.strip_prefix('~') {
        Some(path) => code_span(path.rsplit('.').next().unwrap_or(path)),
        None => code_span(shown.trim_start_matches('!')),
    }
}
