//! Settings of the ingest stage: the section `[ingest]` of the configuration. Values live in the
//! commented default file of the command line.

use serde::{Deserialize, Serialize};

/// The section `[ingest]`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The section `[ingest.cleaners]`.
    pub cleaners: CleanersConfig,
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
