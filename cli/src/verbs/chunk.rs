//! `tributary chunk FILE`: the chunks that enrich would make of a file.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tributary_convert::pages;
use tributary_enrich::chunkers::{self, Strategy};
use tributary_schemas::{Chunk, CleanDocument, DocumentHeader};

use crate::args::FileArgument;
use crate::config::Config;
use crate::conversion;
use crate::print::{self, Outcome};

/// Converts and cuts without a server; token counts are those of the configured model, estimates if
/// it is not there.
pub fn run(config: &Config, argument: &FileArgument) -> Result<Outcome> {
    let bytes = std::fs::read(&argument.file)
        .with_context(|| format!("cannot read {}", argument.file.display()))?;
    let name = argument
        .file
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let converted = conversion::convert(config, &argument.file, &bytes, Some(&name))?;
    let (markdown, page_starts) = pages::take_out(&pages::mark(&converted.markdown));
    let document = DocumentHeader {
        document_id: tributary_schemas::id::derive_document_id("files", &name),
        source: "files".to_owned(),
        source_path: name,
        title: converted.title.unwrap_or_default(),
        ..DocumentHeader::default()
    };
    let clean = CleanDocument {
        document,
        markdown,
        images: converted.images,
        page_starts,
        ..CleanDocument::default()
    };
    let tokens = tributary_models::token_counter(
        &config.models,
        &Path::new(&config.store.data_folder).join("models"),
    );
    let chunks = chunkers::chunk(
        &clean,
        Strategy::Sections,
        &config.enrich.chunker,
        tokens.as_ref(),
    );
    let rows: Vec<Value> = chunks.iter().map(row).collect();
    print::result(argument.output, &json!({"chunks": rows}), || {
        chunks.iter().map(describe).collect::<Vec<_>>().join("\n\n")
    })?;
    Ok(Outcome::Done)
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
    })
}

fn describe(chunk: &Chunk) -> String {
    let continues = if chunk.is_continuation {
        ", continues"
    } else {
        ""
    };
    let path = chunk.section_path.join(" › ");
    format!(
        "── {} {} ({} tokens{continues}) {path}\n{}",
        chunk.ordinal,
        chunk.kind.as_str(),
        chunk.tokens,
        chunk.text
    )
}
