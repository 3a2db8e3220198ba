//! `tributary profiles preview`: what the profile of a source makes of files. Nothing is published,
//! no server is needed.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tributary_convert::Job;
use tributary_convert::isolation::ConversionPool;
use tributary_enrich::chunkers;
use tributary_enrich::summarize::ExtractiveSummarizer;
use tributary_enrich::tag::tag;
use tributary_ingest::SourceCleaning;
use tributary_models::TokenCounter;
use tributary_schemas::{Chunk, CleanDocument, DocumentEvent, id};
use tributary_taxonomy::KnowledgeSets;

use super::learn_boilerplate;
use super::publish::{Found, collect};
use crate::args::{Preview, Profiles};
use crate::config::Config;
use crate::conversion;
use crate::print::{self, Outcome};

/// Runs one of the verbs.
pub fn run(config: &Config, verb: &Profiles) -> Result<Outcome> {
    match verb {
        Profiles::Preview(preview) => run_preview(config, preview),
        Profiles::LearnBoilerplate(learn) => learn_boilerplate::run(config, learn),
    }
}

/// What the services ingest and chunk do to a document, on local files.
struct Previewer<'a> {
    config: &'a Config,
    source: &'a str,
    pool: ConversionPool,
    cleaning: SourceCleaning,
    knowledge_sets: KnowledgeSets,
    tokens: Arc<dyn TokenCounter>,
}

fn run_preview(config: &Config, preview: &Preview) -> Result<Outcome> {
    let taxonomy = &config.taxonomy;
    let profiles = Arc::new(tributary_taxonomy::load_source_profiles(
        taxonomy,
        Path::new(""),
    )?);
    let previewer = Previewer {
        config,
        source: &preview.source,
        pool: conversion::pool(config),
        cleaning: SourceCleaning::new(
            profiles,
            &config.ingest.cleaners,
            config.convert.maximum_title_characters,
        )?,
        knowledge_sets: tributary_taxonomy::load_knowledge_sets(taxonomy, Path::new(""))?,
        tokens: tributary_models::token_counter(
            &config.models,
            &Path::new(&config.store.data_folder).join("models"),
        ),
    };
    let (mut documents, mut texts, mut failed) = (Vec::new(), Vec::new(), Vec::new());
    for found in collect(&preview.paths)? {
        match previewer.preview(&found) {
            Ok((document, text)) => {
                documents.push(document);
                texts.push(text);
            }
            Err(error) => {
                texts.push(format!("══ {}\nfailed: {error:#}", found.source_path));
                failed.push(
                    json!({"source_path": found.source_path, "reason": format!("{error:#}")}),
                );
            }
        }
    }
    let outcome = Outcome::of(documents.len(), failed.len());
    print::result(
        preview.output,
        &json!({"documents": documents, "failed": failed}),
        || texts.join("\n\n"),
    )?;
    Ok(outcome)
}

impl Previewer<'_> {
    /// The document for scripts and for people.
    fn preview(&self, found: &Found) -> Result<(Value, String)> {
        let mut clean = clean(&self.pool, &self.cleaning, self.source, found)?;
        let profile = self.cleaning.profile(self.source);
        tag(&mut clean, profile, &self.knowledge_sets)?;
        let strategy = profile.chunker_of(&clean.document, &clean.markdown);
        let chunker = &self.config.enrich.chunker;
        let chunks = chunkers::chunk(
            &clean,
            strategy,
            chunker,
            self.tokens.as_ref(),
            &ExtractiveSummarizer,
        );
        let document = &clean.document;
        let object = json!({
            "document_id": document.document_id,
            "source_path": document.source_path,
            "profile": profile.name,
            "title": document.title,
            "media_type": document.media_type,
            "attributes": document.attributes,
            "tags": document.tags,
            "knowledge_sets": document.knowledge_sets,
            "metadata": clean.metadata,
            "edition": document.edition,
            "chunker": strategy.as_str(),
            "chunks": chunks.iter().map(row).collect::<Vec<_>>(),
            "markdown": clean.markdown,
        });
        let text = describe(&clean, &profile.name, strategy.as_str(), chunks.len());
        Ok((object, text))
    }
}

/// Converts a file and runs the steps of its source's profile.
pub(super) fn clean(
    pool: &ConversionPool,
    cleaning: &SourceCleaning,
    source: &str,
    found: &Found,
) -> Result<CleanDocument> {
    let bytes = std::fs::read(&found.file)
        .with_context(|| format!("cannot read {}", found.file.display()))?;
    let converted = pool.convert(Job {
        bytes: &bytes,
        name: Some(&found.source_path),
        media_type: None,
    })?;
    let event = DocumentEvent {
        source: source.to_owned(),
        source_path: Some(found.source_path.clone()),
        ..DocumentEvent::default()
    };
    Ok(cleaning.clean(
        event,
        id::derive_document_id(source, &found.source_path),
        1,
        converted,
    ))
}

fn row(chunk: &Chunk) -> Value {
    json!({"kind": chunk.kind, "section_path": chunk.section_path, "tokens": chunk.tokens, "text": chunk.text})
}

fn describe(clean: &CleanDocument, profile: &str, chunker: &str, chunks: usize) -> String {
    let document = &clean.document;
    let attributes = serde_json::to_string(&document.attributes).unwrap_or_default();
    let edition = document
        .edition
        .as_ref()
        .map(|edition| format!("\nedition:    {}", edition.version))
        .unwrap_or_default();
    format!(
        "══ {}\nprofile:    {profile}\ntitle:      {}\nattributes: {attributes}\ntags:       {}\nsets:       {}{edition}\nchunks:     {chunks} \
         ({chunker})\n\n{}",
        document.source_path,
        document.title,
        document.tags.join(", "),
        document.knowledge_sets.join(", "),
        clean.markdown
    )
}
