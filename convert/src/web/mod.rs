//! HTML and EPUB.

pub mod epub;
pub mod html;
