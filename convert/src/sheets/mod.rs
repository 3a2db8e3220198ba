//! Workbooks, delimited text, and the tables that they become.

pub(crate) mod csv;
pub(crate) mod spreadsheet;
pub(crate) mod tables;
