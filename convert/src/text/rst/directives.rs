//! Directives of docutils and Sphinx.

use tributary_schemas::ImageLink;

use super::explicit::Directive;
use super::inline::plain;
use super::parser::Parser;
use crate::blanks::collapsed;
use crate::block::Block;
use crate::escape::destination;

/// Directives for the tool or the layout, left out with all they hold.
const SILENT: [&str; 25] = [
    "contents",
    "sectnum",
    "section-numbering",
    "index",
    "raw",
    "role",
    "default-role",
    "highlight",
    "currentmodule",
    "py:currentmodule",
    "module",
    "py:module",
    "default-domain",
    "tabularcolumns",
    "header",
    "footer",
    "target-notes",
    "sectionauthor",
    "codeauthor",
    "restructuredtext-test-directive",
    "include-comments",
    "title",
    "testsetup",
    "testcleanup",
    "ifconfig",
];

/// Directives whose content is code; the argument names the language.
const CODE: [&str; 12] = [
    "code-block",
    "code",
    "sourcecode",
    "code-cell",
    "parsed-literal",
    "prompt",
    "productionlist",
    "ipython",
    "testcode",
    "doctest",
    "testoutput",
    "command-output",
];

/// Directives whose content is the source of a diagram.
const DIAGRAMS: [&str; 7] = [
    "mermaid",
    "graphviz",
    "digraph",
    "graph",
    "plantuml",
    "uml",
    "blockdiag",
];

/// Admonitions and what they are called.
const ADMONITIONS: [(&str, &str); 16] = [
    ("note", "Note"),
    ("warning", "Warning"),
    ("tip", "Tip"),
    ("hint", "Hint"),
    ("important", "Important"),
    ("caution", "Caution"),
    ("danger", "Danger"),
    ("error", "Error"),
    ("attention", "Attention"),
    ("seealso", "See also"),
    ("todo", "Todo"),
    ("versionadded", "New in version"),
    ("versionchanged", "Changed in version"),
    ("deprecated", "Deprecated since version"),
    ("deprecated-removed", "Deprecated since version"),
    ("versionremoved", "Removed in version"),
];

/// Directives whose argument is not for a reader; their content is.
const TRANSPARENT: [&str; 16] = [
    "only",
    "container",
    "class",
    "rst-class",
    "compound",
    "tabs",
    "tab-set",
    "grid",
    "grid-item",
    "hlist",
    "epigraph",
    "highlights",
    "pull-quote",
    "centered-block",
    "parsed",
    "cssclass",
];

/// `Title <path>` or a path alone as a link.
fn contents_entry(entry: &str) -> Block {
    let titled = entry
        .strip_suffix('>')
        .and_then(|entry| entry.rsplit_once('<'));
    let (title, path) = titled.map_or((entry, entry), |(title, path)| (title.trim(), path.trim()));
    let shown = crate::escape::escaped(if title.is_empty() { path } else { title });
    Block::Paragraph(format!("[{shown}]({})", destination(path)))
}

impl Parser<'_> {
    /// The blocks of a directive.
    pub(super) fn directive(&mut self, directive: &Directive, blocks: &mut Vec<Block>) {
        let name = directive.name.as_str();
        if SILENT.contains(&name) {
            return;
        }
        if name.ends_with("autosummary") {
            return name_list(directive, blocks);
        }
        if super::objects::is_object(name) {
            return self.object(directive, blocks);
        }
        match name {
            _ if CODE.contains(&name) => self.code(directive, blocks),
            _ if DIAGRAMS.contains(&name) => push_code(name, directive.content.join("\n"), blocks),
            _ if TRANSPARENT.contains(&name) => self.blocks(&directive.content, blocks),
            "math" => math(directive, blocks),
            "image" => self.image(directive, blocks),
            "figure" => self.figure(directive, blocks),
            "include" | "literalinclude" | "download" | "video" | "youtube" => {
                self.named_file(directive, blocks)
            }
            "toctree" => self.contents_tree(directive, blocks),
            "list-table" | "flat-table" => self.list_table(directive, blocks),
            "csv-table" => self.csv_table(directive, blocks),
            "table" => {
                self.caption(directive.argument, blocks);
                self.blocks(&directive.content, blocks);
            }
            "meta" => self.meta(directive),
            "rubric" | "centered" => self.caption(directive.argument, blocks),
            "glossary" | "line-block" => self.blocks(&directive.body(), blocks),
            "replace" | "unicode" | "date" => {}
            _ => self.labelled_content(directive, blocks),
        }
    }

    /// An admonition, or any directive that is not known: its label, then its content.
    fn labelled_content(&mut self, directive: &Directive, blocks: &mut Vec<Block>) {
        let found = ADMONITIONS
            .iter()
            .find(|(known, _)| *known == directive.name);
        let Some((name, label)) = found else {
            let title = std::iter::once(directive.argument)
                .chain(directive.more.iter().copied())
                .collect::<Vec<_>>()
                .join(" ");
            self.caption(&title, blocks);
            return self.blocks(&directive.content, blocks);
        };
        if name.starts_with("version") || name.starts_with("deprecated") {
            return self.version_note(label, directive, blocks);
        }
        self.labelled_blocks(label, &directive.body(), blocks);
    }

    /// What a version added, changed or dropped.
    fn version_note(&mut self, label: &str, directive: &Directive, blocks: &mut Vec<Block>) {
        let (version, text) = directive
            .argument
            .split_once(' ')
            .unwrap_or((directive.argument, ""));
        let mut lines = vec![text];
        lines.extend(&directive.more);
        lines.extend(&directive.content);
        self.labelled_blocks(
            &format!("{label} {version}"),
            &super::source::trimmed(lines),
            blocks,
        );
    }

    /// `**label:** text` and what follows.
    fn labelled_blocks(&mut self, label: &str, lines: &[&str], blocks: &mut Vec<Block>) {
        let mut content = self.inner(lines);
        match content.first_mut() {
            Some(Block::Paragraph(text)) => *text = format!("**{label}:** {text}"),
            Some(_) => content.insert(0, Block::Paragraph(format!("**{label}:**"))),
            None => content.push(Block::Paragraph(format!("**{label}**"))),
        }
        blocks.append(&mut content);
    }

    /// A title of something that is no section.
    pub(super) fn caption(&mut self, text: &str, blocks: &mut Vec<Block>) {
        let shown = self.bold(text);
        if !shown.is_empty() {
            blocks.push(Block::Paragraph(shown));
        }
    }

    fn code(&mut self, directive: &Directive, blocks: &mut Vec<Block>) {
        self.caption(directive.option("caption").unwrap_or_default(), blocks);
        let language = directive
            .argument
            .split_whitespace()
            .next()
            .unwrap_or_default();
        let is_code_itself = matches!(
            directive.name.as_str(),
            "parsed-literal" | "productionlist" | "prompt" | "doctest" | "testcode" | "testoutput"
        );
        let first = if is_code_itself && directive.name != "prompt" {
            directive.argument
        } else {
            ""
        };
        let mut lines = Vec::from_iter((!first.is_empty()).then_some(first));
        lines.extend(&directive.more);
        lines.extend(&directive.content);
        push_code(
            if is_code_itself { "" } else { language },
            lines.join("\n"),
            blocks,
        );
    }

    /// The Markdown of an image, which is noted.
    pub(super) fn image_markdown(&mut self, link: &str, alt: &str) -> String {
        let alt: String = collapsed(alt).replace(['[', ']', '`'], "");
        let markdown = format!("![{alt}](image:{})", self.images.len());
        self.images.push(ImageLink {
            link: link.to_owned(),
            alt,
        });
        markdown
    }

    fn image(&mut self, directive: &Directive, blocks: &mut Vec<Block>) {
        let link: String = directive.argument.split_whitespace().collect();
        if !link.is_empty() {
            let markdown = self.image_markdown(&link, directive.option("alt").unwrap_or_default());
            blocks.push(Block::Paragraph(markdown));
        }
        self.blocks(&directive.content, blocks);
    }

    /// An image, its caption (the first paragraph) and its legend.
    fn figure(&mut self, directive: &Directive, blocks: &mut Vec<Block>) {
        let content = self.inner(&directive.content);
        let caption = match content.first() {
            Some(Block::Paragraph(text)) => plain(text),
            _ => String::new(),
        };
        let alt = directive.option("alt").map_or(caption, str::to_owned);
        let link: String = directive.argument.split_whitespace().collect();
        if !link.is_empty() {
            let markdown = self.image_markdown(&link, &alt);
            blocks.push(Block::Paragraph(markdown));
        }
        blocks.extend(content);
    }

    /// A file that is named, not read.
    fn named_file(&mut self, directive: &Directive, blocks: &mut Vec<Block>) {
        self.caption(directive.option("caption").unwrap_or_default(), blocks);
        let path = directive.argument.trim();
        if !path.is_empty() {
            let shown = path
                .rsplit('/')
                .next()
                .filter(|name| !name.is_empty())
                .unwrap_or(path);
            blocks.push(Block::Paragraph(format!(
                "[{}]({})",
                crate::escape::escaped(shown),
                destination(path)
            )));
        }
    }

    /// A table of contents: each entry as a link.
    fn contents_tree(&mut self, directive: &Directive, blocks: &mut Vec<Block>) {
        self.caption(directive.option("caption").unwrap_or_default(), blocks);
        let mut items = Vec::new();
        for entry in directive
            .body()
            .into_iter()
            .map(str::trim)
            .filter(|entry| !entry.is_empty() && *entry != "self")
        {
            items.push(vec![contents_entry(entry)]);
        }
        if !items.is_empty() {
            blocks.push(Block::List(None, items));
        }
    }

    fn meta(&mut self, directive: &Directive) {
        let fields = directive
            .content
            .iter()
            .filter_map(|line| super::lists::field(line));
        let options = directive
            .options
            .iter()
            .map(|(name, value)| (*name, value.as_str()));
        for (name, value) in fields.chain(options) {
            let name = name
                .split_whitespace()
                .next()
                .unwrap_or_default()
                .to_lowercase();
            if matches!(
                name.as_str(),
                "description" | "keywords" | "author" | "date"
            ) {
                self.metadata.insert(name, value.to_owned());
            }
        }
    }
}

/// Names of a summary of an interface, as code. Columns of the summary and signs before the name
/// are for the tool.
fn name_list(directive: &Directive, blocks: &mut Vec<Block>) {
    let names = directive
        .body()
        .into_iter()
        .map(|line| line.trim().trim_start_matches(['~', '!']))
        .filter(|name| !name.is_empty());
    let items: Vec<Vec<Block>> = names
        .map(|name| vec![Block::Paragraph(crate::escape::code_span(name))])
        .collect();
    if !items.is_empty() {
        blocks.push(Block::List(None, items));
    }
}

/// A code block with a language that a fence can carry.
pub(super) fn push_code(language: &str, code: String, blocks: &mut Vec<Block>) {
    if code.trim().is_empty() {
        return;
    }
    let plain: String = language
        .chars()
        .filter(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '+' | '-' | '_' | '#'))
        .collect();
    let language = if matches!(plain.as_str(), "default" | "none" | "text" | "guess") {
        String::new()
    } else {
        plain.to_lowercase()
    };
    blocks.push(Block::Code(language, code));
}

/// Formulas parted by blank lines are formulas of their own; those of several lines are aligned, as
/// docutils does.
fn math(directive: &Directive, blocks: &mut Vec<Block>) {
    for formula in directive
        .body()
        .split(|line| line.trim().is_empty())
        .filter(|lines| !lines.is_empty())
    {
        let formula = formula.join("\n");
        let is_aligned = formula.contains("\\\\") && !formula.contains("\\begin");
        blocks.push(Block::Math(if is_aligned {
            format!("\\begin{{aligned}}\n{formula}\n\\end{{aligned}}")
        } else {
            formula
        }));
    }
}
