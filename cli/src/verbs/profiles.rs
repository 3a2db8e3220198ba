//! `tributary profiles preview`: what the profile of a source makes of files. Nothing is published,
//! no server is needed.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use tributary_convert::isolation::ConversionPool;
use tributary_convert::{Converted, Job};
use tributary_enrich::chunkers;
use tributary_enrich::tag::tag;
use tributary_ingest::SourceCleaning;
use tributary_models::TokenCounter;
use tributary_schemas::{Chunk, CleanDocument, DocumentEvent, id};
use tributary_taxonomy::{KnowledgeSets, SourceProfile, SourceProfiles};

use super::external_preview::{self, ExternalPreview};
use super::knowledge_sets::of_running_server;
use super::learn_boilerplate;
use super::other_profiles;
use super::preview_summary::Summary;
use super::publish::{Found, Roots, Rule, source_of};
use crate::args::{Global, Preview, Profiles};
use crate::client::Client;
use crate::config::{self, Config};
use crate::conversion;
use crate::print::{self, Outcome};

/// Runs one of the verbs.
pub fn run(global: &Global, config: &Config, verb: &Profiles) -> Result<Outcome> {
    match verb {
        Profiles::Preview(preview) => run_preview(global, config, preview),
        Profiles::LearnBoilerplate(learn) => learn_boilerplate::run(global, config, learn),
    }
}

/// What the services ingest and chunk do to a document, on local files.
struct Previewer<'a> {
    config: &'a Config,
    source: &'a str,
    pool: ConversionPool,
    cleaning: SourceCleaning,
    external: ExternalPreview,
    profiles: Arc<SourceProfiles>,
    knowledge_sets: KnowledgeSets,
    tokens: Arc<dyn TokenCounter>,
}

fn run_preview(global: &Global, config: &Config, preview: &Preview) -> Result<Outcome> {
    let source = source_of(global, config, preview.source.as_deref(), &preview.paths)?;
    let roots = Roots::of(global, config, &source)?;
    let found = Rule::new(preview.root.as_deref(), &roots)?
        .select(&preview.paths)?
        .files;
    refuse_nothing(&found)?;
    let sets = knowledge_sets(global, config, preview.sets.as_deref())?;
    let previewer = Previewer::new(config, &source, sets)?;
    let mut seen = previewer.preview_all(&found);
    seen.summary.end();
    let outcome = Outcome::of(seen.documents.len(), seen.failed.len());
    if preview.summary {
        seen.documents.clear();
        seen.texts.clear();
    }
    seen.texts.push(seen.summary.describe());
    let object = json!({
        "documents": seen.documents,
        "failed": seen.failed,
        "summary": seen.summary,
    });
    print::result(preview.output, &object, || seen.texts.join("\n\n"))?;
    previewer.doubt_source();
    if let Some(client) = Client::of_running_server(global, config) {
        other_profiles::note(&client, config)?;
    }
    Ok(outcome)
}

/// Those of the file, else those of the server that runs, else those of the configuration.
fn knowledge_sets(global: &Global, config: &Config, file: Option<&Path>) -> Result<KnowledgeSets> {
    if let Some(file) = file {
        let text = tributary_schemas::files::read_to_string(file)
            .with_context(|| format!("cannot read {}", file.display()))?;
        return Ok(KnowledgeSets::from_toml(&text)?);
    }
    let configured = tributary_taxonomy::load_knowledge_sets(&config.taxonomy, Path::new(""))?;
    let Some(applied) = of_running_server(global, config)? else {
        return Ok(configured);
    };
    if applied != configured {
        print::note("knowledge sets are those of the running server (--sets FILE tries others)");
    }
    Ok(applied)
}

/// Nothing to look at is a mistake.
pub(super) fn refuse_nothing(found: &[Found]) -> Result<()> {
    if found.is_empty() {
        bail!("there is no file to read (hidden ones are left out)");
    }
    Ok(())
}

/// What was made of all files.
#[derive(Default)]
struct Seen {
    documents: Vec<Value>,
    texts: Vec<String>,
    failed: Vec<Value>,
    summary: Summary,
}

impl<'a> Previewer<'a> {
    fn new(config: &'a Config, source: &'a str, knowledge_sets: KnowledgeSets) -> Result<Self> {
        let taxonomy = &config.taxonomy;
        let profiles = Arc::new(tributary_taxonomy::load_source_profiles(
            taxonomy,
            Path::new(""),
        )?);
        Ok(Self {
            config,
            source,
            pool: conversion::pool(config),
            cleaning: SourceCleaning::new(
                Arc::clone(&profiles),
                &config.ingest,
                config.convert.maximum_title_characters,
            )?,
            external: ExternalPreview::new()?,
            profiles,
            knowledge_sets,
            tokens: tributary_models::token_counter(
                &config.models,
                &Path::new(&config.store.data_folder).join("models"),
            ),
        })
    }

    fn preview_all(&self, found: &[Found]) -> Seen {
        let mut seen = Seen::default();
        for found in found {
            match self.preview(found, &mut seen.summary) {
                Ok((document, text)) => {
                    seen.documents.push(document);
                    seen.texts.push(text);
                }
                Err(error) => {
                    let (path, reason) = (&found.source_path, format!("{error:#}"));
                    seen.summary.add_failure();
                    seen.texts.push(format!("══ {path}\nfailed: {reason}"));
                    seen.failed
                        .push(json!({"source_path": path, "reason": reason}));
                }
            }
        }
        seen
    }

    /// Says that no profile names the source, where there are others: it may be misspelt.
    fn doubt_source(&self) {
        let serves = |profile: &SourceProfile| {
            profile
                .source
                .as_ref()
                .is_some_and(|patterns| patterns.matches(self.source))
        };
        let named: Vec<&str> = self
            .profiles
            .iter()
            .filter_map(|profile| profile.source.as_ref())
            .flat_map(|patterns| patterns.written().iter().map(String::as_str))
            .collect();
        if named.is_empty() || self.profiles.iter().any(serves) {
            return;
        }
        let near = config::nearest(self.source, named.iter().copied());
        let meant = near.map_or_else(String::new, |near| format!(", did you mean `{near}`?"));
        print::note(&format!(
            "no source profile names the source `{}`{meant}: `default` treats it; profiles name {}",
            self.source,
            named.join(", ")
        ));
    }

    /// The document for scripts and for people.
    fn preview(&self, found: &Found, summary: &mut Summary) -> Result<(Value, String)> {
        let converted = convert(&self.pool, found)?;
        let before = converted.markdown.clone();
        let mut clean = begin(&self.cleaning, self.source, found, converted);
        let external = self.external.run(&self.cleaning, &mut clean);
        self.cleaning.finish(&mut clean);
        let profile = self.cleaning.profile(self.source);
        tag(&mut clean, profile, &self.knowledge_sets)?;
        let strategy = profile.chunker_of(&clean.document, &clean.markdown);
        let chunker = &self.config.enrich.chunker;
        let chunks = chunkers::chunk(&clean, strategy, chunker, self.tokens.as_ref());
        summary.add(&profile.name, &before, &clean, chunks.len());
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
            "external_steps": external,
            "markdown": clean.markdown,
        });
        let text = describe(&clean, &profile.name, strategy.as_str(), chunks.len());
        let text = external_preview::with(text, &external);
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
    let converted = convert(pool, found)?;
    let mut clean = begin(cleaning, source, found, converted);
    cleaning.finish(&mut clean);
    Ok(clean)
}

fn convert(pool: &ConversionPool, found: &Found) -> Result<Converted> {
    let bytes = tributary_schemas::files::read_data(&found.file)
        .with_context(|| format!("cannot read {}", found.file.display()))?;
    Ok(pool.convert(Job {
        bytes: &bytes,
        name: Some(&found.source_path),
        media_type: None,
    })?)
}

/// As the local steps leave it.
fn begin(
    cleaning: &SourceCleaning,
    source: &str,
    found: &Found,
    converted: Converted,
) -> CleanDocument {
    let event = DocumentEvent {
        source: source.to_owned(),
        source_path: Some(found.source_path.clone()),
        ..DocumentEvent::default()
    };
    let document_id = id::derive_document_id(source, &found.source_path);
    cleaning.begin(event, document_id, 1, converted)
}

fn row(chunk: &Chunk) -> Value {
    json!({"kind": chunk.kind, "section_path": chunk.section_path, "tokens": chunk.tokens, "text": chunk.text})
}

fn describe(clean: &CleanDocument, profile: &str, chunker: &str, chunks: usize) -> String {
    let document = &clean.document;
    let attributes =
        serde_json::to_string(&document.attributes).unwrap_or_else(|error| error.to_string());
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
