//! `documents.raw` → `documents.clean`: detection, converters per format, cleaners per source, fingerprints.
//! [`process::IngestStage`] is the stage that the worker loop runs, [`SourceCleaning`] the part of it that source profiles steer; [`convert`] is what `tributary convert` prints.
//!
//! A document of which nothing is left after cleaning is reported as skipped and, because its newer version has no content, followed
//! by a tombstone that removes the chunks of an older one.

pub mod attributes;
pub mod boilerplate;
pub mod cleaners;
pub mod config;
pub mod converters;
pub mod detect;
pub mod fingerprint;
pub mod isolation;
pub mod lines;
pub mod ocr;
pub mod pages;
pub mod process;
pub mod similarity;
pub mod slides;
pub mod source_cleaning;
#[cfg(test)]
mod test_config;
#[cfg(test)]
mod test_defaults;
pub mod text_encoding;

pub use config::Config;
pub use converters::{Converted, convert};
pub use process::{BodySource, Clock, IndexedFingerprints, IngestParts, IngestStage, LaterSettings};
pub use source_cleaning::SourceCleaning;
