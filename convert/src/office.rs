//! What the readers of office documents share: packages and their XML, compound files, formulas,
//! charts, symbol fonts, runs of text, blocks of Markdown, pictures.

pub mod art;
pub mod blocks;
pub mod bytes;
pub mod chart;
pub mod compound;
pub mod eq_field;
pub mod inline;
mod inline_writer;
pub mod ole;
pub mod omml;
mod omml_run;
mod omml_symbols;
pub mod open_document;
pub mod package;
pub mod pictures;
pub mod pieces;
pub mod properties;
pub mod records;
pub mod relationships;
pub mod summary;
pub mod symbol_fonts;
pub mod xml;
