//! Text within a block: white space, escapes, emphasis, links, code, images. Everything is written
//! once, so the cost is linear.

use scraper::{ElementRef, Node};
use tributary_schemas::ImageLink;

use super::Tree;
use super::blocks::{Builder, is_block};
use super::content::Selection;
use super::mathml;
use crate::escape::destination;
use crate::escape::{code_span, is_invisible, is_wide, needs_escape};
use crate::links::{is_place, scheme};
use crate::positions::{lowered, raised};

/// Markdown of a run of text. Opening marks and white space are held back until text follows, so
/// `<b> x </b>` is ` **x** `.
#[derive(Default)]
pub(super) struct Inline {
    out: String,
    space: Option<Space>,
    /// Marks that open at the next text.
    waiting: Vec<&'static str>,
    strong: usize,
    emphasis: usize,
    in_link: bool,
    is_heading: bool,
}

/// White space that is owed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Space {
    /// Typed in a line.
    Blank,
    /// A line end of the source: nothing between Chinese characters.
    SourceLine,
    /// A `<br>`.
    Break,
}

impl Inline {
    /// For headings: they are strong already.
    pub(super) fn heading() -> Self {
        Self {
            is_heading: true,
            strong: 1,
            ..Self::default()
        }
    }

    /// The Markdown, trimmed.
    pub(super) fn finish(self) -> String {
        self.out
    }

    /// Adds text of the page.
    pub(super) fn text(&mut self, text: &str) {
        let mut characters = text.chars().peekable();
        while let Some(character) = characters.next() {
            if character.is_whitespace() {
                let kind = if character == '\n' {
                    Space::SourceLine
                } else {
                    Space::Blank
                };
                self.owe(kind);
            } else if !is_invisible(character) {
                self.settle(character);
                if needs_escape(
                    character,
                    self.out.chars().next_back(),
                    characters.peek().copied(),
                    self.in_link,
                ) {
                    self.out.push('\\');
                }
                self.out.push(character);
            }
        }
    }

    fn owe(&mut self, kind: Space) {
        if self.out.is_empty() || self.space == Some(Space::Break) {
            return;
        }
        // A blank beside a line end is a blank only if the line end stands alone between wide
        // characters.
        self.space = match (self.space, kind) {
            (Some(Space::SourceLine), Space::Blank) => Some(Space::SourceLine),
            (_, kind) => Some(kind),
        };
    }

    /// Writes owed white space and waiting marks before `next`.
    fn settle(&mut self, next: char) {
        let previous = self.out.chars().next_back();
        match self.space.take() {
            Some(Space::Break) => self.out.push('\n'),
            Some(Space::SourceLine) if previous.is_some_and(is_wide) && is_wide(next) => {}
            Some(_) => self.out.push(' '),
            None => {}
        }
        for mark in self.waiting.drain(..) {
            self.out.push_str(mark);
        }
    }

    /// Adds ready Markdown.
    fn raw(&mut self, markdown: &str) {
        if let Some(first) = markdown.chars().next() {
            self.settle(first);
            self.out.push_str(markdown);
        }
    }

    fn open(&mut self, mark: &'static str) {
        self.waiting.push(mark);
    }

    /// Closes a mark; a mark with nothing in it vanishes.
    fn close(&mut self, open: &'static str, close: &str) {
        if self.waiting.last() == Some(&open) {
            self.waiting.pop();
        } else {
            self.out.push_str(close);
        }
    }
}

impl Builder<'_> {
    /// Adds the children of a node to a run of text.
    pub(super) fn inline_children(&mut self, node: Tree, inline: &mut Inline) {
        for child in node.children() {
            if self.is_late() {
                return;
            }
            match child.value() {
                Node::Text(text) => self.text(&text.text, inline),
                Node::Element(_) if !self.selection.leaves_out(child) => self.inline(child, inline),
                _ => {}
            }
        }
    }

    /// Adds text, in which a script of the page may show formulas: `\(…\)` in a line, `\[…\]` on
    /// their own.
    pub(super) fn text(&self, text: &str, inline: &mut Inline) {
        let mut rest = text;
        while self.selection.has_tex
            && let Some((before, tex, is_display, after)) = next_formula(rest)
        {
            inline.text(before);
            formula(tex, is_display, inline);
            rest = after;
        }
        inline.text(rest);
    }

    /// Adds one element to a run of text.
    pub(super) fn inline(&mut self, node: Tree, inline: &mut Inline) {
        let Some(element) = ElementRef::wrap(node) else {
            return;
        };
        match element.value().name() {
            "br" => inline.owe(Space::Break),
            "wbr" | "rp" => {}
            "img" => self.image(element, inline),
            "a" => self.link(element, inline),
            "b" | "strong" => self.marked(node, inline, "**", |inline| &mut inline.strong),
            "em" | "i" => self.marked(node, inline, "*", |inline| &mut inline.emphasis),
            "del" | "s" | "strike" => {
                self.marked(node, inline, "~~", |inline| &mut inline.emphasis)
            }
            "code" | "kbd" | "samp" | "tt" => {
                inline.raw(&code_span(&code_text(node, self.selection)))
            }
            "sup" => self.positioned(element, inline, raised),
            "sub" => self.positioned(element, inline, lowered),
            "q" => {
                inline.text("“");
                self.inline_children(node, inline);
                inline.text("”");
            }
            "math" => self.math(node, inline),
            "script" => tex_script(&element, inline),
            "rt" => {
                inline.text("(");
                self.inline_children(node, inline);
                inline.text(")");
            }
            name if is_block(name) => {
                inline.owe(Space::Blank);
                self.inline_children(node, inline);
                inline.owe(Space::Blank);
            }
            _ => self.inline_children(node, inline),
        }
    }

    fn marked(
        &mut self,
        node: Tree,
        inline: &mut Inline,
        mark: &'static str,
        depth: fn(&mut Inline) -> &mut usize,
    ) {
        *depth(inline) += 1;
        let outermost = *depth(inline) == 1;
        if outermost {
            inline.open(mark);
        }
        self.inline_children(node, inline);
        if outermost {
            inline.close(mark, mark);
        }
        *depth(inline) -= 1;
    }

    /// Raised or lowered text, of which links within the page may be part.
    fn positioned(
        &mut self,
        element: ElementRef,
        inline: &mut Inline,
        shifted: fn(&str) -> String,
    ) {
        let is_plain = element
            .descendants()
            .skip(1)
            .all(|node| match node.value() {
                Node::Element(inner) => {
                    inner.name() == "a"
                        && inner.attr("href").is_none_or(|link| link.starts_with('#'))
                }
                _ => true,
            });
        if is_plain {
            inline.text(&shifted(element.text().collect::<String>().trim()));
        } else {
            self.inline_children(*element, inline);
        }
    }

    fn link(&mut self, element: ElementRef, inline: &mut Inline) {
        let link = element.attr("href").unwrap_or_default().trim();
        let is_known = self.has_address || !scheme(link).is_empty() || link.starts_with("//");
        if !is_known || !is_place(link) || inline.in_link || inline.is_heading {
            self.inline_children(*element, inline);
            return;
        }
        inline.open("[");
        inline.in_link = true;
        self.inline_children(*element, inline);
        inline.in_link = false;
        inline.close("[", &format!("]({})", destination(link)));
    }

    fn image(&mut self, element: ElementRef, inline: &mut Inline) {
        let attribute = |name: &str| filled_attribute(element, name);
        let is_pixel = matches!(attribute("width"), Some("0" | "1"))
            && matches!(attribute("height"), Some("0" | "1"));
        if is_pixel {
            return;
        }
        let alt = alt_text(element);
        let embedded = || attribute("src").and_then(|link| self.embed(link, &alt));
        let Some(link) = linked_image(element).map(str::to_owned).or_else(embedded) else {
            inline.text(&alt);
            return;
        };
        if self.links_stay_in_images {
            inline.raw(&format!("![{alt}]({})", destination(&link)));
        } else {
            inline.raw(&format!("![{alt}](image:{})", self.images.len()));
            self.images.push(ImageLink { link, alt });
        }
    }

    /// A formula: its TeX source where the page carries it, else what its MathML says.
    fn math(&mut self, node: Tree, inline: &mut Inline) {
        let is_tex = |element: &ElementRef| {
            element.value().name() == "annotation"
                && element
                    .attr("encoding")
                    .is_some_and(|encoding| encoding.contains("tex"))
        };
        let math = ElementRef::wrap(node);
        let attribute = |name: &str| {
            math.and_then(|element| element.attr(name))
                .unwrap_or_default()
        };
        let tex = match node.descendants().filter_map(ElementRef::wrap).find(is_tex) {
            Some(annotation) => annotation.text().collect(),
            None if !attribute("alttext").is_empty() => attribute("alttext").to_owned(),
            None => mathml::latex(node),
        };
        formula(
            &tex,
            attribute("display") == "block" || attribute("mode") == "display",
            inline,
        );
    }
}

/// The words that stand for a picture, on one line and without square brackets.
fn alt_text(element: ElementRef) -> String {
    let alt: String = filled_attribute(element, "alt")
        .or_else(|| filled_attribute(element, "title"))
        .unwrap_or_default()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    alt.replace(['[', ']'], "")
}

fn filled_attribute<'a>(element: ElementRef<'a>, name: &str) -> Option<&'a str> {
    element
        .attr(name)
        .map(str::trim)
        .filter(|value| !value.is_empty())
}

/// Where an image lies that is not in the page itself. Pages that load images late keep it
/// elsewhere than in `src`.
fn linked_image(element: ElementRef<'_>) -> Option<&str> {
    let attribute = |name: &str| filled_attribute(element, name);
    let is_link = |link: &&str| !link.starts_with("data:");
    let from_set = attribute("srcset")
        .or_else(|| attribute("data-srcset"))
        .and_then(|set| set.split([' ', ',']).find(|part| !part.is_empty()));
    let places = [
        attribute("src").filter(is_link),
        attribute("data-src"),
        attribute("data-original"),
        from_set,
    ];
    places.into_iter().flatten().find(is_link)
}

/// The TeX source that MathJax 2 keeps in a script.
fn tex_script(element: &ElementRef, inline: &mut Inline) {
    let is_display = element
        .attr("type")
        .unwrap_or_default()
        .contains("mode=display");
    formula(&element.text().collect::<String>(), is_display, inline);
}

/// The first formula of a text, with what is in front of it, whether it stands on a line of its own,
/// and what is behind it.
fn next_formula(text: &str) -> Option<(&str, &str, bool, &str)> {
    let (open, close, is_display) = [("\\(", "\\)", false), ("\\[", "\\]", true)]
        .into_iter()
        .min_by_key(|(open, ..)| text.find(open).unwrap_or(usize::MAX))?;
    let (before, behind) = text.split_once(open)?;
    let (tex, after) = behind.split_once(close)?;
    Some((before, tex, is_display, after))
}

/// A formula between dollar signs, on one line.
pub(super) fn formula(tex: &str, is_display: bool, inline: &mut Inline) {
    let tex = tex.split_whitespace().collect::<Vec<_>>().join(" ");
    let mark = if is_display { "$$" } else { "$" };
    if !tex.is_empty() {
        inline.raw(&format!("{mark}{tex}{mark}"));
    }
}

/// Text of code, as it is: white space counts, `<br>` is a line end.
pub(super) fn code_text(node: Tree, selection: &Selection) -> String {
    let mut code = String::new();
    let mut stack = vec![node];
    while let Some(node) = stack.pop() {
        if selection.leaves_out(node) {
            continue;
        }
        match node.value() {
            Node::Text(text) => code.push_str(&text.text),
            Node::Element(element) if element.name() == "br" => code.push('\n'),
            _ => stack.extend(node.children().rev()),
        }
    }
    code.replace('\u{A0}', " ")
        .trim_matches('\n')
        .trim_end()
        .to_owned()
}

/// The language that a `<pre>`, its `<code>` or the elements around it name.
pub(super) fn code_language(node: Tree) -> String {
    let inner = node
        .children()
        .filter(|child| {
            ElementRef::wrap(*child).is_some_and(|element| element.value().name() == "code")
        })
        .take(1);
    let places = std::iter::once(node)
        .chain(inner)
        .chain(node.ancestors().take(2));
    places
        .filter_map(ElementRef::wrap)
        .find_map(|element| language_of(&element))
        .unwrap_or_default()
}

fn language_of(element: &ElementRef) -> Option<String> {
    let named = ["data-lang", "data-language", "lang-name"]
        .iter()
        .find_map(|name| element.attr(name))
        .map(str::to_owned);
    let by_class = || {
        let prefixes = [
            "language-",
            "lang-",
            "highlight-source-",
            "highlight-",
            "brush:",
        ];
        element
            .value()
            .classes()
            .find_map(|class| {
                prefixes
                    .iter()
                    .find_map(|prefix| class.strip_prefix(prefix))
            })
            .map(str::to_owned)
    };
    let language = named.or_else(by_class)?.to_ascii_lowercase();
    let plain = language.len() <= 24
        && language.chars().all(|character| {
            character.is_ascii_alphanumeric() || matches!(character, '+' | '#' | '-' | '_')
        });
    (plain
        && !matches!(
            language.as_str(),
            "" | "none" | "notranslate" | "default" | "text" | "plaintext"
        ))
    .then_some(language)
}
