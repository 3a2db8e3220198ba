//! Word and RTF.

pub mod doc;
pub mod docx;
pub mod rtf;
