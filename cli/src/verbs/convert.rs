//! `tributary convert FILE`: the Markdown that ingest would make of a file.

use anyhow::Result;
use serde_json::json;
use tributary_convert::pages;
use tributary_convert::picture::ocr;

use crate::args::FileArgument;
use crate::config::Config;
use crate::conversion;
use crate::print::{self, Outcome};

/// Converts without a server or a data folder.
pub fn run(config: &Config, argument: &FileArgument) -> Result<Outcome> {
    let converted = conversion::convert(config, argument)?;
    let (markdown, page_starts) = pages::take_out(&pages::mark(&converted.markdown));
    let object = json!({
        "title": converted.title,
        "media_type": converted.media_type,
        "converter": converted.converter,
        "metadata": converted.metadata,
        "images": converted.images,
        "page_starts": page_starts,
        "markdown": markdown,
    });
    print::result(argument.output, &object, || markdown.clone())?;
    if let Some(why) = converted.metadata.get(ocr::UNAVAILABLE_KEY) {
        print::note(&format!("pictures were not read: {why}"));
    }
    Ok(Outcome::Done)
}
