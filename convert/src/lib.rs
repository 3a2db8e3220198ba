//! Any format to Markdown: bytes in, a document out. Knows nothing of the pipeline.
//! [`convert`] converts in this process; [`isolation::ConversionPool`] in a confined one, as the ingest stage and `tributary convert` do.
//!
//! A converter lies in the family of its format; what several share lies beside the families.

pub mod archive;
pub mod block;
mod code_pages;
pub mod config;
mod conversion;
pub mod detect;
pub mod document;
pub mod embedded;
pub mod escape;
#[cfg(test)]
mod hostile;
pub mod isolation;
pub mod limits;
pub mod lines;
pub mod mail;
pub mod office;
pub mod pages;
pub mod pdf;
pub mod picture;
pub mod positions;
pub mod render;
pub mod sheets;
pub mod slides;
#[cfg(test)]
mod test_config;
#[cfg(test)]
mod test_defaults;
pub mod text;
pub mod text_encoding;
pub mod titles;
pub mod web;
pub mod word;
mod xml_references;

pub use config::Config;
pub use conversion::convert;
pub use document::Converted;
pub use limits::Limits;
