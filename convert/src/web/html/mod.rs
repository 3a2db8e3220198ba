//! HTML: the main content of a page as Markdown, its `<title>` and `<meta>` as metadata.
//!
//! The route: decode → bound the nesting (`nesting`) → parse (html5ever, in pieces, under a
//! deadline) → name what is known by its role, its class or its style alone (`roles`, `list_marks`) →
//! leave out what is not content (`content`, `contents_lists`) → blocks (`blocks`, `inline`, `table`) →
//! Markdown ([`super::render`]).

mod blocks;
mod content;
mod contents_lists;
mod inline;
mod list_marks;
mod loose_text;
mod mathml;
mod nesting;
mod page_metadata;
mod roles;
mod table;
mod xhtml;

use ego_tree::NodeRef;
use html5ever::driver::{self, ParseOpts};
use html5ever::tendril::TendrilSink;
use html5ever::tree_builder::TreeBuilderOpts;
use scraper::{Html, HtmlTreeSink, Node};
use tributary_schemas::{Error, ErrorKind, ImageLink, Result};

use crate::config::HtmlConfig;
use crate::document::Converted;
use crate::embedded::Embedded;
use crate::limits::Limits;
use crate::render::render;
use crate::text_encoding::decode;
use crate::text_encoding::note_encoding;
use crate::text_encoding::unix_line_ends;

/// Name and version; the version grows with every change of the output.
pub(crate) const NAME: &str = "html/8";

/// Bytes given to the parser between two looks at the clock.
const PIECE_BYTES: usize = 32 * 1024;

/// Bytes at the start of a page in which a charset may be declared.
const DECLARATION_BYTES: usize = 4096;

type Tree<'a> = NodeRef<'a, Node>;

/// Converts a page of any encoding.
pub(crate) fn convert(bytes: &[u8], settings: &HtmlConfig, limits: &Limits) -> Result<Converted> {
    let decoded = decode(bytes, declared_charset(bytes).as_deref());
    let (encoding, replaced) = (decoded.encoding, decoded.replaced_characters);
    let text = unix_line_ends(decoded.text);
    let page = parse_page(&text, false, limits)?;
    let root = page.tree.root();
    let mut head = page_metadata::read(root);
    note_encoding(&mut head.metadata, encoding, replaced);
    let mut images = Vec::new();
    let mut embedded = Embedded::new(limits);
    let selection = selection(root, settings);
    let builder = blocks::Builder::new(&selection, limits.deadline);
    let markdown = markdown_of(selection.root(root), builder, &mut images, &mut embedded)?;
    let blobs = embedded.finish(&mut head.metadata);
    Ok(Converted {
        markdown,
        title: head.title,
        converter: NAME.into(),
        metadata: head.metadata,
        images,
        blobs,
        ..Converted::default()
    })
}

/// HTML that is a part of a document: a chapter, a message.
pub(crate) struct Part<'a> {
    pub bytes: &'a [u8],
    /// XML, whether it says so or not.
    pub is_xml: bool,
}

/// Converts a part of a document: everything in it that is not hidden is content, its images go on in the numbering of
/// `images`, and pictures that it carries join the document's files.
pub(crate) fn convert_part(
    part: &Part,
    limits: &Limits,
    images: &mut Vec<ImageLink>,
    embedded: &mut Embedded,
) -> Result<String> {
    let charset = declared_charset(part.bytes);
    let text = unix_line_ends(decode(part.bytes, charset.as_deref()).text);
    let page = parse_page(&text, part.is_xml, limits)?;
    let root = page.tree.root();
    let shown = content::Selection::shown(root);
    let mut builder = blocks::Builder::new(&shown, limits.deadline);
    builder.has_address = false;
    markdown_of(root, builder, images, embedded)
}

/// Parses a page, or a part that may be one; as XML also where it says that it is.
fn parse_page(text: &str, is_xml: bool, limits: &Limits) -> Result<Html> {
    match is_xml || xhtml::is_declared(text) {
        true => parse(&xhtml::with_end_tags(text), limits),
        false => parse(text, limits),
    }
}

/// Converts HTML that stands inside Markdown: everything is content, and images are Markdown images
/// with their links.
pub(crate) fn convert_fragment(html: &str, limits: &Limits) -> Result<String> {
    let page = parse(html, limits)?;
    let root = page.tree.root();
    let selection = content::Selection::everything(root);
    let mut builder = blocks::Builder::new(&selection, limits.deadline);
    builder.links_stay_in_images = true;
    let blocks = builder.build(root)?;
    Ok(render(&blocks))
}

/// The page's main content; the whole page where that is wanted, or where the choice leaves too
/// little of it, or nothing.
fn selection(root: Tree, settings: &HtmlConfig) -> content::Selection {
    let everything = content::Selection::everything(root);
    if !settings.main_content_only {
        return everything;
    }
    let chosen = content::Selection::main_content(root);
    let whole = everything.characters(root) as f64;
    let kept = chosen.characters(chosen.root(root)) as f64;
    if kept == 0.0 || kept < whole * settings.minimum_main_share {
        everything
    } else {
        chosen
    }
}

fn markdown_of<'s>(
    root: Tree,
    mut builder: blocks::Builder<'s>,
    images: &mut Vec<ImageLink>,
    embedded: &'s mut Embedded,
) -> Result<String> {
    builder.images = std::mem::take(images);
    builder.embedded = Some(embedded);
    let blocks = builder.build(root)?;
    *images = builder.images;
    Ok(render(&blocks))
}

/// Parses in pieces, so that markup made to keep the parser busy is stopped by the clock.
fn parse(html: &str, limits: &Limits) -> Result<Html> {
    let bounded = nesting::bound(html, limits.maximum_html_depth);
    let options = ParseOpts {
        tree_builder: TreeBuilderOpts {
            scripting_enabled: false,
            ..TreeBuilderOpts::default()
        },
        ..ParseOpts::default()
    };
    let mut parser = driver::parse_document(HtmlTreeSink::new(Html::new_document()), options);
    let mut rest: &str = &bounded;
    while !rest.is_empty() {
        limits.check_time()?;
        let (piece, after) = rest.split_at(rest.floor_char_boundary(PIECE_BYTES.min(rest.len())));
        parser.process(piece.into());
        rest = after;
    }
    let mut page = parser.finish();
    check_depth(&page, limits.maximum_html_depth)?;
    roles::apply(&mut page.tree);
    list_marks::apply(&mut page.tree);
    loose_text::apply(&mut page.tree);
    limits.check_time()?;
    Ok(page)
}

fn check_depth(page: &Html, maximum: usize) -> Result<()> {
    let depth = depth(page.tree.root());
    // Twice: the parser adds elements of its own, and each list or table level has several.
    let allowed = 2 * maximum + 64;
    if depth <= allowed {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Invalid,
        format!("HTML is nested {depth} levels deep, more than {allowed}"),
    )
    .with_hint("flatten the page, or raise `convert.html.maximum_depth`"))
}

/// Deepest level of the tree, counted without recursion.
fn depth(root: Tree) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    for edge in root.traverse() {
        match edge {
            ego_tree::iter::Edge::Open(_) => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            ego_tree::iter::Edge::Close(_) => depth -= 1,
        }
    }
    deepest
}

/// The charset that `<meta>` or the XML declaration names.
fn declared_charset(bytes: &[u8]) -> Option<String> {
    let start = bytes.get(..DECLARATION_BYTES.min(bytes.len()))?;
    let text: String = start
        .iter()
        .map(|byte| {
            if byte.is_ascii() {
                char::from(*byte).to_ascii_lowercase()
            } else {
                ' '
            }
        })
        .collect();
    let after = ["charset", "encoding"].iter().find_map(|name| {
        let (_, after) = text.split_once(name)?;
        after.trim_start().strip_prefix('=')
    })?;
    let label: String = after
        .trim_start_matches([' ', '"', '\''])
        .chars()
        .take_while(|character| character.is_ascii_alphanumeric() || matches!(character, '-' | '_'))
        .collect();
    (!label.is_empty()).then_some(label)
}

#[cfg(test)]
mod tests;
