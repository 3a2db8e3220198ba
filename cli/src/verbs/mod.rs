//! One file per verb. A verb is an HTTP client, or works on local files alone.

pub mod analyze;
pub mod chunk;
pub mod completions;
pub mod config;
pub mod convert;
pub mod dead_letters;
pub mod doctor;
pub mod documents;
pub mod eval;
pub mod knowledge_sets;
pub mod models;
pub mod publish;
pub mod run;
pub mod search;
