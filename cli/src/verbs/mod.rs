//! One file per verb. A verb is an HTTP client, or works on local files alone.

pub mod analyze;
pub mod backup;
pub mod blobs;
pub mod calibrate;
mod chat_probe;
pub mod chunk;
pub mod completions;
pub mod config;
pub mod convert;
pub mod dead_letters;
pub mod doctor;
pub mod documents;
pub mod eval;
pub mod knowledge_sets;
mod learn_boilerplate;
pub mod machine;
pub mod models;
mod preview_summary;
pub mod profiles;
pub mod publish;
pub mod quiescence;
mod reindex;
pub mod repair;
pub mod restore;
pub mod run;
pub mod search;
mod verify;
