//! Text with markup, data and source code.

pub mod markdown;
pub mod notebook;
pub mod plain;
pub mod rst;
pub mod structured;
mod tree;
mod yaml;
