//! `tributary profiles learn-boilerplate`: finds blocks that repeat across the documents of a
//! source and writes them into a file, which a person reviews and a source profile names.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tributary_ingest::SourceCleaning;
use tributary_ingest::boilerplate::{LearnLimits, Learned, learn};
use tributary_schemas::{Error, ErrorKind};

use super::profiles::{clean, refuse_nothing};
use super::publish::{Found, Roots, Rule};
use crate::args::{Global, LearnBoilerplate};
use crate::config::Config;
use crate::conversion;
use crate::print::{self, Outcome};

/// Cleans the sample as the source's profile does before the step that removes what is learned,
/// counts, and writes the file.
pub fn run(global: &Global, config: &Config, arguments: &LearnBoilerplate) -> Result<Outcome> {
    refuse_reviewed(&arguments.file)?;
    let cleaning = cleaning(config, &arguments.source)?;
    let roots = Roots::of(global, config, &arguments.source)?;
    let rule = Rule::new(arguments.root.as_deref(), &roots)?;
    let found = rule.select(&arguments.paths)?.files;
    refuse_nothing(&found)?;
    let (texts, failed) = clean_all(config, &cleaning, &arguments.source, &found);
    let limits = LearnLimits {
        minimum_documents: arguments.minimum_documents,
        minimum_share: arguments.minimum_share,
        minimum_characters: arguments.minimum_characters,
    };
    let learned = learn(&arguments.source, texts.iter().map(String::as_str), limits);
    write(&arguments.file, &learned)?;
    let object = json!({"file": arguments.file, "source": learned.source, "documents": learned.documents, "blocks": learned.blocks, "failed": failed});
    print::result(arguments.output, &object, || {
        describe(arguments, &learned, failed.len())
    })?;
    Ok(Outcome::of(learned.documents, failed.len()))
}

fn cleaning(config: &Config, source: &str) -> Result<SourceCleaning> {
    let profiles = tributary_taxonomy::parse_source_profiles(&config.taxonomy, Path::new(""))?;
    Ok(SourceCleaning::before_learned_boilerplate(
        Arc::new(profiles),
        source,
        &config.ingest.cleaners,
        config.convert.maximum_title_characters,
    )?)
}

/// The cleaned texts, and the files that could not be read with the reasons.
fn clean_all(
    config: &Config,
    cleaning: &SourceCleaning,
    source: &str,
    files: &[Found],
) -> (Vec<String>, Vec<Value>) {
    let pool = conversion::pool(config);
    let bar = print::progress_bar(files.len() as u64, "reading");
    let (mut texts, mut failed) = (Vec::new(), Vec::new());
    for file in files {
        match clean(&pool, cleaning, source, file) {
            Ok(clean) => texts.push(clean.markdown),
            Err(error) => failed
                .push(json!({"source_path": file.source_path, "reason": format!("{error:#}")})),
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    (texts, failed)
}

/// Whoever reviewed a file would lose the review.
fn refuse_reviewed(file: &Path) -> Result<()> {
    if !file.exists() {
        return Ok(());
    }
    let message = format!(
        "{} is there already, perhaps with a review in it",
        file.display()
    );
    Err(Error::new(ErrorKind::Conflict, message)
        .with_hint("learn into another file and compare, or remove this one first")
        .into())
}

fn write(file: &Path, learned: &Learned) -> Result<()> {
    let failed = || format!("cannot write {}", file.display());
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder).with_context(failed)?;
    }
    std::fs::write(file, learned.to_toml()?).with_context(failed)
}

fn describe(arguments: &LearnBoilerplate, learned: &Learned, failed: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for block in &learned.blocks {
        let start: String = block.text.chars().take(100).collect();
        lines.push(format!(
            "{:6} of {}  {start}",
            block.documents, learned.documents
        ));
    }
    if failed > 0 {
        lines.push(format!(
            "{failed} files could not be read; --format json names them"
        ));
    }
    lines.push(format!(
        "{} blocks in {}: review it, and name it in the profile of `{}`:",
        learned.blocks.len(),
        arguments.file.display(),
        arguments.source
    ));
    lines.push("  { step = \"drop_learned_boilerplate\", file = \"…\" }   (relative to the file of source profiles)".to_owned());
    lines.join("\n")
}
