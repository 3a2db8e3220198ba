//! `documents.raw` → `documents.clean`: detection, converters per format, cleaners per source, fingerprints.
//! [`process::IngestStage`] is the stage that the worker loop runs; [`convert`] is what `tributary convert` prints.

pub mod attributes;
pub mod cleaners;
pub mod config;
pub mod converters;
pub mod detect;
pub mod fingerprint;
pub mod lines;
pub mod process;
#[cfg(test)]
mod test_config;
pub mod text_encoding;

pub use config::Config;
pub use converters::{Converted, convert};
pub use process::{BodySource, Clock, IndexedFingerprints, IngestStage};
