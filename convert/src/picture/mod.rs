//! Pictures, and the text in them.

pub(crate) mod image;
pub mod ocr;
pub(crate) mod pictures;
