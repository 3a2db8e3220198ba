//! Workbooks, delimited text, and the tables that they become.

pub mod cells;
pub mod csv;
pub mod spreadsheet;
pub mod tables;
