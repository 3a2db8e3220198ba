//! Settings of the ingest service: the section `[ingest]` of the configuration. Values live in the commented default file of the
//! command line; `tributary run` and `tributary convert` read them.

use serde::{Deserialize, Serialize};

/// The section `[ingest]`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Largest body in bytes that is converted; a larger one is refused as `Invalid`.
    pub maximum_body_bytes: u64,
    /// Largest Markdown in bytes that a document may become; markup that unfolds into more is refused as `Invalid`.
    pub maximum_markdown_bytes: u64,
    /// Longest time in milliseconds that one conversion may take; one that takes longer is refused as `Invalid`.
    pub conversion_timeout_ms: u64,
    /// Documents converted at the same time; each takes one core.
    pub conversion_workers: usize,
    /// Whether each is converted in a process of its own kind, which may use no network and little else of the system: whatever a document
    /// does to its converter, it costs that document alone.
    pub isolate_conversion: bool,
    /// Address space in bytes of such a process; a document that needs more is refused as `Invalid`.
    pub conversion_memory_bytes: u64,
    /// Most bytes that the files and pictures of one document may have together.
    pub maximum_embedded_bytes: u64,
    /// Most front matter in bytes that is read as metadata; longer front matter stays in the text.
    pub maximum_front_matter_bytes: usize,
    /// Longest title in characters; longer ones are cut.
    pub maximum_title_characters: usize,
    /// The section `[ingest.html]`.
    pub html: HtmlConfig,
    /// The section `[ingest.cleaners]`.
    pub cleaners: CleanersConfig,
}

/// The section `[ingest.html]`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct HtmlConfig {
    /// Elements that may be nested in each other; deeper tags are dropped, their text stays.
    pub maximum_depth: usize,
    /// Whether navigation, page headers and footers, banners and forms are dropped and the main content is chosen.
    pub main_content_only: bool,
    /// Share of the page's text, 0 to 1, that must remain after the dropping; if less remains, the whole page is taken.
    pub minimum_main_share: f64,
}

/// The section `[ingest.cleaners]`: what the cleaning steps share over all sources.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CleanersConfig {
    /// Largest compiled size in bytes of one boilerplate pattern.
    pub maximum_pattern_bytes: usize,
    /// Longest line in bytes that boilerplate patterns are tried on; longer lines are content.
    pub maximum_pattern_line_bytes: usize,
}
