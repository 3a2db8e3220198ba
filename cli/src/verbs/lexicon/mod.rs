//! `tributary lexicon discover|review|build`: terms of a domain, found in its documents, judged by
//! people, and written as a lexicon. What is a term is decided in `tributary_taxonomy::discovery`;
//! here are files, the server and the terminal.

mod build;
mod by_model;
mod corpus;
mod difference;
mod discover;
mod files;
mod review;

use anyhow::Result;

use crate::args::{Global, LexiconVerb};
use crate::config::Config;
use crate::print::Outcome;

/// Runs one of them.
pub fn run(global: &Global, config: &Config, verb: &LexiconVerb) -> Result<Outcome> {
    match verb {
        LexiconVerb::Discover(discover) => discover::run(global, config, discover),
        LexiconVerb::Review(review) => review::run(config, review),
        LexiconVerb::Build(build) => build::run(config, build),
    }
}
