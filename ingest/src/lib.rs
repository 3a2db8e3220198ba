//! `documents.raw` → `documents.clean`: detection, converters per format, cleaners per source, fingerprints.
//! [`process::IngestStage`] is the stage that the worker loop runs; [`convert`] is what `tributary convert` prints.

pub mod config;
pub mod converters;
pub mod detect;
pub mod lines;
#[cfg(test)]
mod test_config;
pub mod text_encoding;

pub use config::Config;
pub use converters::{Converted, convert};
