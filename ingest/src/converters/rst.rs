//! reStructuredText: underlined titles become headings, code directives become code blocks, roles their text, image directives
//! images; other markup stays readable text. Called by [`super::convert`].

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;
use tributary_schemas::ImageLink;

use super::{Converted, fenced, note_encoding, unix_line_ends};
use crate::text_encoding::decode;

/// Name and version; the version grows with every change of the output.
pub const NAME: &str = "rst/1";

static DIRECTIVE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^(\s*)\.\. (?:\|[^|]*\| )?([A-Za-z][\w:+.-]*)::\s*(.*)$").ok());
static ROLE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r":[a-z][\w:+.-]*:`~?!?([^`<]*?)\s*(?:<[^`>]*>)?`").ok());
static LINK: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"`([^`<]+?)\s*<([^`>\s]+)>`__?").ok());

/// Directives whose body is code.
const CODE: [&str; 9] =
    ["code-block", "code", "sourcecode", "parsed-literal", "literalinclude", "prompt", "math", "productionlist", "highlight"];

/// Directives without text for a reader.
const SILENT: [&str; 12] = [
    "toctree",
    "contents",
    "meta",
    "index",
    "raw",
    "include",
    "only",
    "currentmodule",
    "py:currentmodule",
    "container",
    "role",
    "default-role",
];

/// Converts reStructuredText of any encoding.
pub fn convert(bytes: &[u8]) -> Converted {
    let decoded = decode(bytes, None);
    let mut metadata = BTreeMap::new();
    note_encoding(&mut metadata, decoded.encoding, decoded.replaced_characters);
    let text = unix_line_ends(decoded.text);
    let mut reader = Reader { lines: text.lines().collect(), ..Reader::default() };
    reader.run();
    let markdown = reader.markdown.trim_start_matches('\n').to_owned();
    Converted { markdown, title: reader.title, converter: NAME.into(), metadata, images: reader.images, ..Converted::default() }
}

#[derive(Default)]
struct Reader<'a> {
    lines: Vec<&'a str>,
    at: usize,
    /// Adornments in order of appearance: (character, overlined). Their place is the heading level.
    levels: Vec<(char, bool)>,
    markdown: String,
    title: Option<String>,
    images: Vec<ImageLink>,
}

impl<'a> Reader<'a> {
    fn run(&mut self) {
        while let Some(line) = self.line(0) {
            let taken = self.heading() || self.directive(line);
            if taken {
                continue;
            }
            self.at += 1;
            self.paragraph_line(line);
        }
    }

    fn line(&self, ahead: usize) -> Option<&'a str> {
        self.lines.get(self.at + ahead).copied()
    }

    /// A title with an underline, and perhaps an overline.
    fn heading(&mut self) -> bool {
        let (Some(first), Some(second)) = (self.line(0), self.line(1)) else { return false };
        let overlined = adornment(first).filter(|character| adornment(self.line(2).unwrap_or_default()) == Some(*character));
        let (title, character, used) = match (overlined, adornment(second)) {
            (Some(character), None) if !second.trim().is_empty() => (second.trim(), character, 3),
            (_, Some(character)) if is_title(first) && underline_fits(first, second) => (first.trim(), character, 2),
            _ => return false,
        };
        let key = (character, used == 3);
        let level = self.levels.iter().position(|known| *known == key).unwrap_or_else(|| {
            self.levels.push(key);
            self.levels.len() - 1
        });
        let text = plain_inline(title);
        self.title.get_or_insert_with(|| text.clone());
        self.start_block();
        self.markdown.push_str(&"#".repeat(level.min(5) + 1));
        self.markdown.push(' ');
        self.markdown.push_str(&text);
        self.markdown.push_str("\n\n");
        self.at += used;
        true
    }

    /// `.. name:: argument` with its indented body, comments and targets.
    fn directive(&mut self, line: &str) -> bool {
        let Some(found) = DIRECTIVE.as_ref().and_then(|pattern| pattern.captures(line)) else {
            return self.comment(line);
        };
        let (indent, name, argument) = (found.get(1).map_or(0, |spaces| spaces.len()), &found[2], found[3].trim().to_owned());
        self.at += 1;
        if CODE.contains(&name) {
            let code = self.body(indent, true);
            let language = if name == "math" { "math" } else { argument.split_whitespace().next().unwrap_or_default() };
            let one_line_math = if name == "math" && code.trim().is_empty() { argument.clone() } else { code };
            self.code(language, &one_line_math);
        } else if matches!(name, "image" | "figure") {
            self.image(indent, &argument);
        } else if SILENT.contains(&name) {
            self.body(indent, false);
        } else if !argument.is_empty() {
            // The body of a note, a table or an API entry is ordinary text: it is read on with its indentation removed line by line.
            self.start_block();
            let label = name.rsplit(':').next().unwrap_or_default();
            self.markdown.push_str(&format!("**{label}**: {}\n\n", plain_inline(&argument)));
            self.skip_options();
        } else {
            self.skip_options();
        }
        true
    }

    /// `.. text` without a directive: a comment, a link target or a substitution. Left out with its body.
    fn comment(&mut self, line: &str) -> bool {
        let trimmed = line.trim_start();
        if trimmed != ".." && !trimmed.starts_with(".. ") {
            return false;
        }
        self.at += 1;
        if !trimmed.starts_with(".. _") && !trimmed.starts_with(".. [") {
            self.body(line.len() - trimmed.len(), false);
        }
        true
    }

    fn skip_options(&mut self) {
        while self.line(0).is_some_and(is_option) {
            self.at += 1;
        }
    }

    /// Lines indented deeper than `indent`, dedented; options at their start are left out when `drop_options`.
    fn body(&mut self, indent: usize, drop_options: bool) -> String {
        if drop_options {
            self.skip_options();
        }
        let start = self.at;
        while let Some(line) = self.line(0) {
            if !line.trim().is_empty() && indentation(line) <= indent {
                break;
            }
            self.at += 1;
        }
        let lines = self.lines.get(start..self.at).unwrap_or_default();
        let common = lines.iter().filter(|line| !line.trim().is_empty()).map(|line| indentation(line)).min().unwrap_or(0);
        let dedented: Vec<String> = lines.iter().map(|line| line.chars().skip(common).collect()).collect();
        dedented.join("\n").trim_matches('\n').to_owned()
    }

    fn image(&mut self, indent: usize, link: &str) {
        let mut alt = String::new();
        while let Some(line) = self.line(0).filter(|line| is_option(line) && indentation(line) > indent) {
            if let Some(text) = line.trim().strip_prefix(":alt:") {
                alt = text.trim().to_owned();
            }
            self.at += 1;
        }
        if link.is_empty() {
            return;
        }
        self.start_block();
        self.markdown.push_str(&format!("![{}](image:{})\n\n", alt.replace(['[', ']'], ""), self.images.len()));
        self.images.push(ImageLink { link: link.to_owned(), alt });
    }

    fn code(&mut self, language: &str, code: &str) {
        if code.trim().is_empty() {
            return;
        }
        self.start_block();
        let language: String =
            language.chars().filter(|character| character.is_alphanumeric() || matches!(character, '+' | '-' | '_')).collect();
        self.markdown.push_str(&fenced(&language, code));
        self.markdown.push('\n');
    }

    /// A line of text; `::` at its end announces an indented literal block.
    fn paragraph_line(&mut self, line: &str) {
        let indent = indentation(line);
        let literal = line.trim_end().ends_with("::") && !line.trim_start().starts_with("..");
        let shown = if literal { line.trim_end().trim_end_matches(':').to_owned() + ":" } else { line.to_owned() };
        // Indentation in reStructuredText is structure (quotes, definitions), in Markdown it would be code.
        let is_item =
            matches!(shown.trim_start().split(' ').next(), Some("-" | "*" | "+" | "#.")) || starts_with_number(shown.trim_start());
        let text = plain_inline(shown.trim());
        if text != ":" {
            let kept = if is_item { indent.min(12) / 2 * 2 } else { 0 };
            self.markdown.push_str(&" ".repeat(kept));
            self.markdown.push_str(&text);
        }
        self.markdown.push('\n');
        if literal && self.line(0).is_some_and(|next| next.trim().is_empty()) {
            let code = self.body(indent, false);
            self.code("", &code);
        }
    }

    fn start_block(&mut self) {
        while self.markdown.ends_with("\n\n\n") {
            self.markdown.pop();
        }
        if !self.markdown.is_empty() && !self.markdown.ends_with("\n\n") {
            self.markdown.push_str(if self.markdown.ends_with('\n') { "\n" } else { "\n\n" });
        }
    }
}

/// Spaces (tabs count 8) before the first other character.
fn indentation(line: &str) -> usize {
    line.chars().take_while(|character| *character == ' ' || *character == '\t').count()
}

/// The character that a line of punctuation is made of.
fn adornment(line: &str) -> Option<char> {
    let trimmed = line.trim_end();
    let first = trimmed.chars().next()?;
    let repeats = trimmed.len() >= 3 && first.is_ascii_punctuation() && trimmed.chars().all(|character| character == first);
    repeats.then_some(first)
}

fn is_title(line: &str) -> bool {
    !line.trim().is_empty() && adornment(line).is_none() && !line.starts_with([' ', '\t', '|', '+']) && line.trim() != ".."
}

/// Underlines are meant to be as long as the title; authors of Chinese titles count wide characters in many ways.
fn underline_fits(title: &str, underline: &str) -> bool {
    let shown = underline.trim_end().len();
    shown >= title.trim().chars().count().min(8) || shown >= 4
}

fn is_option(line: &str) -> bool {
    let trimmed = line.trim_start();
    trimmed.len() < line.len()
        && trimmed.strip_prefix(':').and_then(|rest| rest.split_once(':')).is_some_and(|(name, _)| !name.is_empty() && !name.contains('`'))
}

fn starts_with_number(text: &str) -> bool {
    let digits = text.chars().take_while(char::is_ascii_digit).count();
    (1..=9).contains(&digits) && matches!(text.chars().nth(digits), Some('.' | ')'))
}

/// Roles and links to their text, double backticks to single ones.
fn plain_inline(text: &str) -> String {
    if !text.contains('`') {
        return text.to_owned();
    }
    let mut result = text.to_owned();
    if let Some(pattern) = ROLE.as_ref() {
        result = pattern.replace_all(&result, "`$1`").into_owned();
    }
    if let Some(pattern) = LINK.as_ref() {
        result = pattern.replace_all(&result, "[$1]($2)").into_owned();
    }
    result.replace("``", "`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_directives_and_roles_become_markdown() {
        let source = "\
.. _target:

=====
Title
=====

Intro with :ref:`a link <target>` and ``code`` and `site <https://x.y>`_.

第一节
------

.. code-block:: bash
   :linenos:

   $ run
     it

.. note:: Mind this.

.. image:: a.png
   :alt: An image

Literal::

    raw *text*

After.
";
        let converted = convert(source.as_bytes());
        assert_eq!(
            converted.markdown,
            "# Title\n\n\nIntro with `a link` and `code` and [site](https://x.y).\n\n## 第一节\n\n```bash\n$ run\n  it\n```\n\n**note**: Mind this.\n\n![An image](image:0)\n\n\nLiteral:\n\n```\nraw *text*\n```\n\nAfter.\n"
        );
        assert_eq!(converted.title.as_deref(), Some("Title"));
        assert_eq!(converted.images, vec![ImageLink { link: "a.png".into(), alt: "An image".into() }]);
    }

    #[test]
    fn table_borders_and_transitions_are_no_titles() {
        let converted = convert(b"+---+---+\n| a | b |\n+---+---+\n\ntext\n\n----\n\nmore\n");
        assert!(!converted.markdown.contains('#'), "{}", converted.markdown);
    }
}
