//! `tributary chunk FILE`: the chunks that enrich would make of a file.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tributary_convert::pages;
use tributary_enrich::chunkers::{self, ModelTexts, Strategy};
use tributary_schemas::code_entry::CodeEntry;
use tributary_schemas::{Chunk, CleanDocument, DocumentHeader};

use crate::args::ChunkFile;
use crate::config::Config;
use crate::conversion;
use crate::print::{self, Outcome};

/// Converts and cuts without a server; token counts are those of the configured model, estimates if
/// it is not there.
pub fn run(config: &Config, wanted: &ChunkFile) -> Result<Outcome> {
    let argument = &wanted.file;
    let clean = converted(config, wanted)?;
    let tokens = tributary_models::token_counter(
        &config.models,
        &Path::new(&config.store.data_folder).join("models"),
    );
    let strategy = strategy(config, wanted, &clean)?;
    let cut = chunkers::cut(&clean, strategy, &config.enrich.chunker, tokens.as_ref());
    if let Some(fallback) = cut.fallback() {
        print::note(&format!("cut by {fallback}"));
    }
    let chunks = cut.finish(ModelTexts::default(), tokens.as_ref());
    let rows: Vec<Value> = chunks.iter().map(row).collect();
    print::result(argument.output, &json!({"chunks": rows}), || {
        chunks.iter().map(describe).collect::<Vec<_>>().join("\n\n")
    })?;
    Ok(Outcome::Done)
}

/// The file as a document that no step of a source profile has cleaned.
fn converted(config: &Config, wanted: &ChunkFile) -> Result<CleanDocument> {
    let argument = &wanted.file;
    let converted = conversion::convert(config, argument)?;
    let (markdown, page_starts) = pages::take_out(&pages::mark(&converted.markdown));
    let source_path = argument.name().unwrap_or_default();
    let document = DocumentHeader {
        document_id: tributary_schemas::id::derive_document_id(&wanted.source, &source_path),
        source: wanted.source.clone(),
        source_path,
        title: converted.title.unwrap_or_default(),
        ..DocumentHeader::default()
    };
    Ok(CleanDocument {
        document,
        markdown,
        images: converted.images,
        page_starts,
        ..CleanDocument::default()
    })
}

/// The one that is asked for, else that of the source's profile.
fn strategy(config: &Config, wanted: &ChunkFile, clean: &CleanDocument) -> Result<Strategy> {
    let Some(name) = &wanted.chunker else {
        let profiles = tributary_taxonomy::load_source_profiles(&config.taxonomy, Path::new(""))?;
        let profile = profiles.profile(&wanted.source);
        return Ok(profile.chunker_of(&clean.document, &clean.markdown));
    };
    let known = Strategy::ALL.map(Strategy::as_str);
    let found = Strategy::ALL.into_iter().find(|one| one.as_str() == name);
    found.with_context(|| format!("no chunker `{name}`; there are: {}", known.join(", ")))
}

fn row(chunk: &Chunk) -> Value {
    json!({
        "chunk_id": chunk.chunk_id,
        "kind": chunk.kind,
        "section_path": chunk.section_path,
        "tokens": chunk.tokens,
        "text": chunk.text,
        "parent_id": chunk.parent_id,
        "child_ids": chunk.child_ids,
        "pages": chunk.pages,
        "is_continuation": chunk.is_continuation,
        "api": chunk.api,
        "code": chunk.code,
    })
}

fn describe(chunk: &Chunk) -> String {
    let continues = if chunk.is_continuation {
        ", continues"
    } else {
        ""
    };
    let path = chunk.section_path.join(" › ");
    let code = chunk.code.as_deref().map(describe_code).unwrap_or_default();
    format!(
        "── {} {} ({} tokens{continues}) {path}\n{code}{}",
        chunk.ordinal,
        chunk.kind.as_str(),
        chunk.tokens,
        chunk.text
    )
}

/// Lines, signature and description of a definition or file, each line marked.
fn describe_code(code: &CodeEntry) -> String {
    let place = format!("lines {}-{} {}", code.start_line, code.end_line, code.name);
    let calls = match code.calls.is_empty() {
        true => String::new(),
        false => format!("calls {}", code.calls.join(", ")),
    };
    let callers = match code.callers.is_empty() {
        true => String::new(),
        false => format!("called by {}", code.callers.join(", ")),
    };
    let says_signature = code.description.contains(&code.signature);
    let signature = if says_signature {
        ""
    } else {
        code.signature.as_str()
    };
    let parts = [
        place.as_str(),
        signature,
        &code.description,
        &calls,
        &callers,
    ];
    let lines = parts.iter().flat_map(|part| part.lines());
    lines.map(|line| format!("│ {line}\n")).collect()
}
