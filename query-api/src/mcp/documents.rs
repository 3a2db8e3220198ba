//! The tools `get_document` and `get_section`: documents as Markdown, put together from the passages
//! that the index has of them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tributary_retrieval::{DocumentParts, DocumentView};
use tributary_schemas::document::TABLES_DATABASE;
use tributary_schemas::search::Passage;
use tributary_schemas::{Attributes, ChunkKind, ErrorKind};

use super::engine::Engine;
use super::search::fenced;
use super::sections::{Section, find, outline};
use super::{Reply, heading, headings};
use crate::problem::{Code, Problem};

/// Characters of an answer, unless more are asked for.
const CHARACTERS: usize = 20_000;
/// Most characters of an answer.
const MAXIMUM_CHARACTERS: usize = 200_000;

/// Arguments of `get_document`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DocumentArguments {
    /// The document: its `document_id`, or `source/path`.
    document: String,
    /// The passage to begin with: 0, or `next` of the part before.
    #[serde(default)]
    from: usize,
    /// Most characters of text, about; 20 000 when absent. One passage comes in any case.
    #[serde(default)]
    characters: Option<usize>,
}

/// Answer of `get_document`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DocumentText {
    /// Id of the document.
    pub document_id: String,
    /// Its title.
    pub title: String,
    /// Name of the source.
    pub source: String,
    /// Path or URL within the source.
    pub source_path: String,
    /// Version that is shown.
    pub version: u64,
    /// Detected media type.
    pub media_type: String,
    /// What producer and document say of it, by name: `author`, `link`, `product` and others.
    pub attributes: BTreeMap<String, String>,
    /// Whether `get_table` has tables of it.
    pub has_tables: bool,
    /// Its sections in their order, those of parts that are not shown included.
    pub outline: Vec<Section>,
    /// The text as Markdown.
    pub text: String,
    /// `from` of the next part; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<usize>,
}

/// Arguments of `get_section`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SectionArguments {
    /// The document: its `document_id`, or `source/path`.
    document: String,
    /// Titles of the section from the top down, as a hit's `section_path`; the last one alone
    /// will do where no other section is called so. Empty for the whole document.
    section_path: Vec<String>,
}

/// Answer of `get_section`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SectionText {
    /// Id of the document.
    pub document_id: String,
    /// Title of the document.
    pub title: String,
    /// Titles of the section from the top down.
    pub section_path: Vec<String>,
    /// The section as Markdown, with those below it.
    pub text: String,
    /// Whether the text ends early, because it would be too long.
    pub is_cut: bool,
}

/// A document that the caller may see, with its passages.
pub struct Opened {
    /// Its id.
    pub document_id: String,
    /// Its title.
    pub title: String,
    source: String,
    source_path: String,
    version: u64,
    view: DocumentView,
}

/// Opens a document by its id or by `source/path`. One that the caller may not see is not there.
pub async fn open(engine: &Engine, name: &str) -> Result<Opened, Problem> {
    let state = &engine.state;
    let resolved = state
        .documents
        .resolve(name, engine.principal.viewer.as_ref())
        .await;
    let document_id = resolved.map_err(|error| match error.kind() {
        ErrorKind::NotFound => not_found(name, error.hint()),
        _ => error.into(),
    })?;
    let wanted = DocumentParts {
        passages: state.config.maximum_page,
        pictures_of: 0,
    };
    let _turn = state.searches.turn().await?;
    let found = state
        .retriever
        .document(&document_id, wanted, &engine.principal);
    let view = found.await?.ok_or_else(|| not_found(name, None))?;
    let row = state.documents.get(&document_id).await?;
    let viewer = engine.principal.viewer.as_ref();
    // The newest version may be another one than that which was opened.
    let row = row.and_then(|row| match viewer {
        Some(viewer) => row.told(viewer),
        None => Some(row),
    });
    let row = row.ok_or_else(|| not_found(name, None))?;
    engine.trail.document(&document_id);
    let version = row.indexed.map(|indexed| indexed.version);
    Ok(Opened {
        version: version.unwrap_or(row.latest.version),
        title: row.latest.title,
        source: row.latest.source,
        source_path: row.latest.source_path,
        document_id,
        view,
    })
}

/// No document is called so, or none that the caller may see.
pub fn not_found(name: &str, near: Option<&str>) -> Problem {
    let what = format!("no document has the id or the name `{name:.200}`");
    let hint = near.unwrap_or("take `document_id` of a hit of `search`, or its `source/path`");
    Problem::new(Code::DocumentNotFound, what).with_hint(hint)
}

/// Calls `get_document`.
pub async fn document(engine: &Engine, arguments: DocumentArguments) -> Result<Reply, Problem> {
    let opened = open(engine, &arguments.document).await?;
    let characters = arguments.characters.unwrap_or(CHARACTERS);
    let passages = &opened.view.passages;
    if arguments.from > 0 && arguments.from >= passages.len() {
        let what = format!("the document has {} passages", passages.len());
        return Err(Problem::new(Code::Invalid, what)
            .with_hint("`from` is 0, `next` of the part before, or `from` of the outline"));
    }
    let rest = passages.get(arguments.from..).unwrap_or_default();
    let (text, taken) = joined(rest, characters.min(MAXIMUM_CHARACTERS));
    let next = arguments.from + taken;
    let answer = DocumentText {
        attributes: named(&opened.view.attributes),
        has_tables: opened.view.metadata.contains_key(TABLES_DATABASE),
        outline: outline(passages),
        text,
        next: (next < passages.len()).then_some(next),
        document_id: opened.document_id,
        title: opened.title,
        source: opened.source,
        source_path: opened.source_path,
        version: opened.version,
        media_type: opened.view.media_type,
    };
    let shown = describe(&answer);
    Reply::new(&answer, shown)
}

/// The whole document as Markdown, as far as a page of passages goes.
pub fn markdown(opened: &Opened) -> String {
    joined(&opened.view.passages, usize::MAX).0
}

fn describe(answer: &DocumentText) -> String {
    let place = format!("{}/{}", answer.source, answer.source_path);
    let title = heading(&answer.title, &[]);
    let end = match answer.next {
        Some(next) => format!("\n\n[more from passage {next}]"),
        None => String::new(),
    };
    format!(
        "{title}\n{place} (document {})\n\n{}{end}",
        answer.document_id, answer.text
    )
}

fn named(attributes: &Attributes) -> BTreeMap<String, String> {
    let mut named = attributes.custom.clone();
    // Own ones last: they are what a filter by the name means.
    for (name, value) in attributes.texts() {
        named.insert(name.to_owned(), value.to_owned());
    }
    named
}

/// Texts of the passages up to about so many characters, at least one, and how many there are.
fn joined(passages: &[Passage], characters: usize) -> (String, usize) {
    let (mut text, mut length, mut taken) = (String::new(), 0_usize, 0);
    for passage in passages {
        // It is no text of the document.
        if passage.kind == ChunkKind::Summary {
            taken += 1;
            continue;
        }
        let next = fenced(&passage.text, passage.language.as_deref());
        length = length.saturating_add(next.chars().count());
        if !text.is_empty() && length > characters {
            break;
        }
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str(&next);
        taken += 1;
    }
    (text, taken)
}

/// Calls `get_section`.
pub async fn section(engine: &Engine, arguments: SectionArguments) -> Result<Reply, Problem> {
    let opened = open(engine, &arguments.document).await?;
    let passages = &opened.view.passages;
    let (section_path, text, is_cut) = match find(passages, &arguments.section_path) {
        Ok(section_path) => {
            let (text, is_cut) = text_of(passages, &section_path);
            (section_path, text, is_cut)
        }
        // Short sections are passages together, and their headings stand in the text alone.
        Err(problem) => {
            let whole = joined(passages, usize::MAX).0;
            let text = headings::below(&whole, &arguments.section_path).ok_or(problem)?;
            (arguments.section_path, text, false)
        }
    };
    let answer = SectionText {
        document_id: opened.document_id,
        title: opened.title,
        section_path,
        text,
        is_cut,
    };
    let title = heading(&answer.title, &answer.section_path);
    let shown = format!(
        "{title} (document {})\n\n{}",
        answer.document_id, answer.text
    );
    Reply::new(&answer, shown)
}

/// The section with those below it, and whether it ends early.
fn text_of(passages: &[Passage], section_path: &[String]) -> (String, bool) {
    let inside: Vec<Passage> = passages
        .iter()
        .filter(|passage| passage.section_path.starts_with(section_path))
        .cloned()
        .collect();
    let (text, taken) = joined(&inside, MAXIMUM_CHARACTERS);
    (text, taken < inside.len())
}

#[cfg(test)]
mod tests {
    use super::super::sections::tests::passages;
    use super::*;

    #[test]
    fn a_long_document_comes_in_parts_of_at_least_one_passage() {
        let passages = passages();
        assert_eq!(joined(&passages, 0), ("before".to_owned(), 1));
        assert_eq!(joined(&passages, 7), ("before\n\na".to_owned(), 2));
        assert_eq!(joined(&passages, usize::MAX).1, 6);
        assert_eq!(joined(&[], 10), (String::new(), 0));
    }
}
