//! Pictures, and the text in them.

pub mod image;
pub mod ocr;
pub mod pictures;
