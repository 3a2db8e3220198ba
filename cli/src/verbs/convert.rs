//! `tributary convert FILE`: the Markdown that ingest would make of a file.

use anyhow::{Context, Result};
use serde_json::json;

use crate::args::FileArgument;
use crate::config::Config;
use crate::print::{self, Outcome};

/// Converts without a server or a data folder.
pub fn run(config: &Config, argument: &FileArgument) -> Result<Outcome> {
    let bytes = std::fs::read(&argument.file).with_context(|| format!("cannot read {}", argument.file.display()))?;
    let name = argument.file.file_name().map(|name| name.to_string_lossy().into_owned());
    let converted = tributary_ingest::convert(&bytes, name.as_deref(), None, &config.ingest)
        .with_context(|| format!("cannot convert {}", argument.file.display()))?;
    let object = json!({
        "title": converted.title,
        "media_type": converted.media_type,
        "converter": converted.converter,
        "metadata": converted.metadata,
        "images": converted.images,
        "markdown": converted.markdown,
    });
    print::result(argument.output, &object, || converted.markdown.clone())?;
    Ok(Outcome::Done)
}
