//! Source code: each definition (function, type, macro) is a chunk with the comment above it, below a
//! record of its file; what stands between definitions becomes leaves, so that no line is lost.
//!
//! A class that is no longer than a leaf stays whole, with its methods. Of a longer one each method
//! is a chunk of its own, and the chunk of the class is what stands before the first.

mod branches;
mod c_calls;
mod c_functions;
mod c_heads;
mod calls;
mod comments;
mod compact;
mod definitions;
mod describe;
mod entries;
mod file_record;
mod items;
mod languages;
mod macros;
mod names;
mod pieces;
mod preprocessor;
mod source;
mod walk;
mod writer;

use tributary_models::TokenCounter;
use tributary_schemas::CleanDocument;

use super::Cut;
use crate::config::ChunkerConfig;

use source::Source;
use writer::Writer;

/// Grows with every change of the code that changes what this strategy gives.
pub(super) const CODE_VERSION: u32 = 3;

/// Cuts a file; `None` if it is no source code, or of a language without a grammar.
pub(super) fn chunk(
    clean: &CleanDocument,
    config: &ChunkerConfig,
    tokens: &dyn TokenCounter,
) -> Option<Cut> {
    let source = Source::read(clean)?;
    let mut findings = definitions::find(source.code, source.language);
    let items = items::build(&source, &mut findings);
    Some(Writer::new(clean, &source, config, tokens).write(&findings, &items))
}
