//! What the readers of office documents share: packages and their XML, compound files, formulas,
//! charts, symbol fonts, runs of text, blocks of Markdown, pictures.

pub(crate) mod art;
pub(crate) mod blocks;
pub(crate) mod bytes;
pub(crate) mod chart;
pub(crate) mod compound;
pub(crate) mod eq_field;
pub(crate) mod inline;
mod inline_writer;
pub(crate) mod ole;
pub(crate) mod omml;
mod omml_run;
mod omml_symbols;
pub(crate) mod open_document;
pub(crate) mod package;
pub(crate) mod pictures;
pub(crate) mod pieces;
pub(crate) mod properties;
pub(crate) mod records;
pub(crate) mod relationships;
pub(crate) mod summary;
pub(crate) mod symbol_fonts;
pub(crate) mod xml;
