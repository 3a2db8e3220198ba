//! Pictures, and the text in them.

pub(crate) mod image;
pub(crate) mod jpeg;
pub mod ocr;
pub(crate) mod pictures;
