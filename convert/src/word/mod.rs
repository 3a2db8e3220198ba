//! Word and RTF.

pub(crate) mod doc;
pub(crate) mod docx;
pub(crate) mod rtf;
