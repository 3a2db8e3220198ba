//! HTML and EPUB.

pub(crate) mod epub;
pub(crate) mod html;
