//! Texts by a language model: what is asked, what is asked again, what is not, and what happens when
//! the model cannot.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod descriptions;
mod model;
mod summaries;
#[path = "../support/mod.rs"]
mod support;
