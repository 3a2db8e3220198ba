//! Any format to Markdown: bytes in, a document out. Knows nothing of the pipeline.
//! [`convert`] converts in this process; [`isolation::ConversionPool`] in a confined one, as the ingest stage and `tributary convert` do.

pub mod config;
pub mod converters;
pub mod detect;
pub mod isolation;
pub mod lines;
pub mod ocr;
pub mod pages;
pub mod slides;
#[cfg(test)]
mod test_config;
#[cfg(test)]
mod test_defaults;
pub mod text_encoding;

pub use config::Config;
pub use converters::{Converted, convert};
