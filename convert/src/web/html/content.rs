//! What of a page is content: leaves out scripts and controls always, navigation, banners, hidden
//! parts, page headers and tables of contents when the main content is wanted, and finds the element that holds it. No
//! recursion.

use std::collections::HashSet;

use ego_tree::NodeId;
use scraper::{ElementRef, Node};

use super::{Tree, contents_lists};

/// Elements that never hold text for a reader.
const NEVER: [&str; 27] = [
    "script", "style", "noscript", "template", "head", "svg", "canvas", "iframe", "object",
    "embed", "audio", "video", "map", "button", "input", "select", "option", "textarea",
    "datalist", "progress", "meter", "frameset", "noframes", "link", "meta", "base", "param",
];

/// Words in `class` or `id` that mark what surrounds the content.
const BOILERPLATE_WORDS: [&str; 26] = [
    "cookie-banner",
    "cookie-consent",
    "cookie-notice",
    "cookie-bar",
    "cookiebanner",
    "cookieconsent",
    "gdpr",
    "navbar",
    "navigation",
    "nav-menu",
    "breadcrumb",
    "breadcrumbs",
    "skip-link",
    "skip-to-content",
    "headerlink",
    "mw-editsection",
    "mw-jump-link",
    "noprint",
    "linenos",
    "social-share",
    "share-buttons",
    "advertisement",
    "newsletter-signup",
    "site-footer",
    "page-footer",
    "sr-only",
];

/// Classes of what shows a formula for the eye, beside its source.
const FORMULA_CLASSES: [&str; 5] = [
    "katex-html",
    "MathJax_Preview",
    "MathJax_Display",
    "MathJax_SVG",
    "MathJax_CHTML",
];

/// Classes of what a reader opens with a click.
const PANEL_CLASSES: [&str; 12] = [
    "accordion-body",
    "accordion-content",
    "accordion-panel",
    "collapse",
    "collapsible-content",
    "expand-content",
    "expander-content",
    "panel-collapse",
    "tab-content",
    "tab-pane",
    "tabcontent",
    "toggle-content",
];

/// `role`s of what surrounds the content.
const BOILERPLATE_ROLES: [&str; 8] = [
    "navigation",
    "banner",
    "contentinfo",
    "search",
    "dialog",
    "alertdialog",
    "menubar",
    "tooltip",
];

/// Share of the page's text that `<main>` or `<article>` must hold to be taken for the content.
const MAIN_SHARE: f64 = 0.25;

/// Which nodes of a page are left out, and where its content begins.
pub(super) struct Selection {
    left_out: HashSet<NodeId>,
    root: Option<NodeId>,
    /// Whether a script of the page shows TeX between `\(` and `\)` as a formula.
    pub(super) has_tex: bool,
}

impl Selection {
    /// Everything that can be read, hidden or not.
    pub(super) fn everything(root: Tree) -> Self {
        Self {
            left_out: collect(root, is_never),
            root: None,
            has_tex: has_tex(root),
        }
    }

    /// Everything that a reader is shown, or opens; everything where that would be nothing.
    pub(super) fn shown(root: Tree) -> Self {
        let is_not =
            |element: ElementRef| is_never(element) || is_hidden(element) && !is_panel(element);
        let shown = Self {
            left_out: collect(root, is_not),
            ..Self::everything(root)
        };
        match shown.characters(root) {
            0 => Self::everything(root),
            _ => shown,
        }
    }

    /// The main content.
    pub(super) fn main_content(root: Tree) -> Self {
        let mut left_out = collect(root, |element| is_never(element) || is_boilerplate(element));
        left_out.extend(contents_lists::find(root, &left_out));
        let mut selection = Self {
            left_out,
            root: None,
            has_tex: has_tex(root),
        };
        let whole = selection.characters(root) as f64;
        let candidate = selection
            .candidate(root, "main")
            .or_else(|| selection.candidate(root, "article"));
        selection.root = candidate
            .filter(|node| selection.characters(*node) as f64 >= whole * MAIN_SHARE)
            .map(|node| node.id());
        selection
    }

    /// Whether a node and all below it is left out.
    pub(super) fn leaves_out(&self, node: Tree) -> bool {
        self.left_out.contains(&node.id())
    }

    /// The node that the content is below.
    pub(super) fn root<'a>(&self, root: Tree<'a>) -> Tree<'a> {
        self.root.and_then(|id| root.tree().get(id)).unwrap_or(root)
    }

    /// Characters of text below a node, white space not counted.
    pub(super) fn characters(&self, node: Tree) -> usize {
        let mut count = 0;
        self.visit(node, |node| {
            if let Node::Text(text) = node.value() {
                count += text
                    .chars()
                    .filter(|character| !character.is_whitespace())
                    .count();
            }
        });
        count
    }

    /// The only element of that name (or that role) that is not left out.
    fn candidate<'a>(&self, root: Tree<'a>, name: &str) -> Option<Tree<'a>> {
        let mut found = Vec::new();
        self.visit(root, |node| {
            let is_wanted = |element: ElementRef| {
                element.value().name() == name || element.attr("role") == Some(name)
            };
            if ElementRef::wrap(node).is_some_and(is_wanted) {
                found.push(node);
            }
        });
        if found.len() > 64 {
            return None;
        }
        // A `<main role=main>` inside another counts once.
        let outermost: Vec<Tree> = found
            .iter()
            .copied()
            .filter(|node| {
                !node
                    .ancestors()
                    .any(|above| found.iter().any(|other| other.id() == above.id()))
            })
            .collect();
        match outermost.as_slice() {
            [only] => Some(*only),
            _ => None,
        }
    }

    fn visit<'a>(&self, start: Tree<'a>, mut see: impl FnMut(Tree<'a>)) {
        let mut stack = vec![start];
        while let Some(node) = stack.pop() {
            if self.leaves_out(node) {
                continue;
            }
            see(node);
            stack.extend(node.children().rev());
        }
    }
}

/// The topmost nodes for which `is_out` holds.
fn collect(root: Tree, is_out: impl Fn(ElementRef) -> bool) -> HashSet<NodeId> {
    let mut left_out = HashSet::new();
    let mut stack = vec![root];
    while let Some(node) = stack.pop() {
        if ElementRef::wrap(node).is_some_and(&is_out) {
            left_out.insert(node.id());
        } else {
            stack.extend(node.children());
        }
    }
    left_out
}

/// What never holds text for a reader. MathJax keeps the source of a formula in a script, and shows
/// the formula beside it.
fn is_never(element: ElementRef) -> bool {
    let has_class = |element: ElementRef, wanted: &[&str]| {
        element
            .value()
            .classes()
            .any(|class| wanted.contains(&class))
    };
    let is_shown_formula = || {
        let source_before = || {
            element
                .prev_siblings()
                .filter_map(ElementRef::wrap)
                .any(|before| has_class(before, &["katex-mathml"]))
        };
        let source_after = || {
            element
                .next_siblings()
                .filter_map(ElementRef::wrap)
                .take(3)
                .any(is_formula_source)
        };
        has_class(element, &FORMULA_CLASSES) && (source_before() || source_after())
    };
    let is_read = || is_formula_source(element) || is_word_of_a_sentence(element);
    (NEVER.contains(&element.value().name()) && !is_read()) || is_shown_formula()
}

/// A button that the text around it names: "Press RESET for 5 seconds".
fn is_word_of_a_sentence(element: ElementRef) -> bool {
    let is_text = |node: Option<Tree>| {
        node.is_some_and(|node| {
            let text = node.value().as_text();
            text.is_some_and(|text| text.contains(|character: char| !character.is_whitespace()))
        })
    };
    element.value().name() == "button"
        && is_text(element.prev_sibling())
        && is_text(element.next_sibling())
}

/// Whether a script of the page shows TeX in its text.
fn has_tex(root: Tree) -> bool {
    let is_renderer = |element: ElementRef| {
        let source = element.attr("src").unwrap_or_default().to_ascii_lowercase();
        element.value().name() == "script"
            && (source.contains("mathjax") || source.contains("katex"))
    };
    root.descendants()
        .filter_map(ElementRef::wrap)
        .any(is_renderer)
}

fn is_formula_source(script: ElementRef) -> bool {
    script.value().name() == "script"
        && script
            .attr("type")
            .is_some_and(|kind| kind.trim_start().starts_with("math/tex"))
}

fn is_boilerplate(element: ElementRef) -> bool {
    let name = element.value().name();
    if matches!(name, "html" | "body" | "main" | "article") {
        return false;
    }
    let role = element.attr("role").unwrap_or_default();
    name == "nav"
        || name == "dialog"
        || BOILERPLATE_ROLES.contains(&role)
        || is_page_frame(element, name)
        || (is_hidden(element) && !is_panel(element))
        || has_boilerplate_name(element)
}

/// A header or footer of the page, not of an article in it. A header that holds the page's title is
/// content.
fn is_page_frame(element: ElementRef, name: &str) -> bool {
    if !matches!(name, "header" | "footer") {
        return false;
    }
    let within = element
        .ancestors()
        .filter_map(ElementRef::wrap)
        .any(|above| matches!(above.value().name(), "article" | "main" | "section"));
    let holds_title = name == "header"
        && element
            .descendants()
            .filter_map(ElementRef::wrap)
            .any(|below| below.value().name() == "h1");
    !within && !holds_title
}

/// Whether a reader opens what is hidden: a panel of tabs or of an accordion, or what stands right
/// below its heading.
fn is_panel(element: ElementRef) -> bool {
    let is_named = |class: &str| PANEL_CLASSES.contains(&class.to_ascii_lowercase().as_str());
    let below_heading = || {
        let above = element.prev_siblings().find_map(ElementRef::wrap);
        above.is_some_and(|above| {
            matches!(
                above.value().name(),
                "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "dt"
            ) || above.attr("aria-expanded").is_some()
        })
    };
    element.attr("hidden") == Some("until-found")
        || element.attr("role") == Some("tabpanel")
        || element.value().classes().any(is_named)
        || below_heading()
}

fn is_hidden(element: ElementRef) -> bool {
    let style = element.attr("style").unwrap_or_default();
    let compact = |text: &str| {
        text.chars()
            .filter(|character| !character.is_whitespace())
            .take(4096)
            .collect::<String>()
            .to_ascii_lowercase()
    };
    let hidden_by_style = !style.is_empty() && {
        let style = compact(style);
        style.contains("display:none") || style.contains("visibility:hidden")
    };
    let wraps_math = element
        .value()
        .classes()
        .any(|class| class.starts_with("mwe-math"));
    element.attr("hidden").is_some()
        || (element.attr("aria-hidden") == Some("true") && !wraps_math)
        || (hidden_by_style && !wraps_math)
}

fn has_boilerplate_name(element: ElementRef) -> bool {
    let names = element.value().classes().chain(element.value().id());
    names
        .map(str::to_ascii_lowercase)
        .any(|name| BOILERPLATE_WORDS.contains(&name.as_str()))
}
