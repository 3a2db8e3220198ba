//! Settings for tests: the ones that users get.

use crate::config::{CleanersConfig, Config, HtmlConfig};

/// The settings of the default file.
pub fn config() -> Config {
    Config {
        maximum_body_bytes: 64 << 20,
        maximum_markdown_bytes: 128 << 20,
        conversion_timeout_ms: 60_000,
        conversion_workers: 2,
        maximum_front_matter_bytes: 64 << 10,
        maximum_title_characters: 300,
        html: HtmlConfig { maximum_depth: 256, main_content_only: true, minimum_main_share: 0.2 },
        cleaners: CleanersConfig { maximum_pattern_bytes: 1 << 20, maximum_pattern_line_bytes: 2000 },
    }
}
