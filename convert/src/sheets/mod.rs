//! Workbooks, delimited text, and the tables that they become.

pub mod csv;
pub mod spreadsheet;
pub mod tables;
