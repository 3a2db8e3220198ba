//! Text with markup, data and source code.

pub(crate) mod markdown;
pub(crate) mod notebook;
pub(crate) mod plain;
pub(crate) mod rst;
pub(crate) mod structured;
mod tree;
mod yaml;
