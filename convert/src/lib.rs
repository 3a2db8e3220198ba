//! Any format to Markdown: bytes in, a document out. Knows nothing of the pipeline.
//! [`convert`] converts in this process; [`isolation::ConversionPool`] in a confined one, as the
//! ingest stage and `tributary convert` do.
//!
//! A converter lies in the family of its format; what several share lies beside the families.

// What nobody outside can reach is not `pub`, so that the compiler sees what is dead.
#![warn(unreachable_pub)]

mod archive;
mod blanks;
mod block;
mod code_pages;
pub mod config;
mod contents;
mod conversion;
mod detect;
mod document;
mod embedded;
mod escape;
#[cfg(test)]
mod hostile;
pub mod isolation;
pub mod limits;
pub mod lines;
mod links;
mod mail;
mod office;
pub mod pages;
mod pdf;
pub mod picture;
mod positions;
mod render;
mod sheets;
mod slices;
pub mod slides;
mod table;
#[cfg(test)]
mod test_config;
#[cfg(test)]
mod test_defaults;
mod text;
pub mod text_encoding;
pub mod titles;
mod web;
mod word;
mod xml_references;

pub use config::Config;
pub use conversion::convert;
pub use document::{Converted, EmbeddedFile, Job, PageWanted};
pub use limits::Limits;
pub use mail::ATTACHMENTS_READ;
pub use pdf::{
    BUILTIN_NAME as BUILTIN_PDF_READER, LIBRARY_VARIABLE, find_library, is_library_named,
    probe_library,
};
#[doc(hidden)]
pub use pdf::{HeadingExample, heading_examples};
