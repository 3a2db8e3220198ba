//! The section `[models.ocr]` of the configuration: how text in pictures is found and read.

use serde::{Deserialize, Serialize};

/// The section `[models.ocr]`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct OcrConfig {
    /// Whether text in pictures is read. Documents that consist of pictures are skipped with that
    /// reason otherwise.
    pub enabled: bool,
    /// Name of the folder with the models, below the models folder or one of `search_folders`; an
    /// absolute path works too.
    pub folder: String,
    /// Least confidence, 0 to 1, with which a line must have been read to be kept.
    pub minimum_confidence: f32,
    /// Longest side in pixels at which lines are searched; larger pages are searched in a smaller
    /// copy (they are read at full size).
    pub maximum_detection_side: u32,
    /// Shortest side in pixels at which lines are searched; smaller images are searched in a
    /// larger copy.
    pub minimum_detection_side: u32,
    /// Most lines that are read on one page; the rest of an image that seems to have more is left
    /// out.
    pub maximum_lines_per_page: usize,
    /// Pages read at the same time within one process (sessions of each model, opened when first
    /// needed); each takes up to 400 MB while it runs.
    pub sessions: usize,
    /// Threads inside one session.
    pub session_threads: usize,
}

/// What users get, see the command line's default configuration.
#[cfg(test)]
impl Default for OcrConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            folder: "ocr".to_owned(),
            minimum_confidence: 0.5,
            maximum_detection_side: 1440,
            minimum_detection_side: 544,
            maximum_lines_per_page: 3000,
            sessions: 1,
            session_threads: 1,
        }
    }
}
