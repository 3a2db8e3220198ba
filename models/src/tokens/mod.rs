//! Texts to model tokens, and token counts. `TextEncoder` opens a model's tokenizer.json: our own
//! fast unigram encoder where the file has the shape it knows (XLM-R and relatives), the
//! `tokenizers` crate otherwise.

pub mod charsmap;
pub mod estimate;
pub mod library;
pub mod trie;
pub mod truncation;
pub mod unigram;

use crate::folder::ModelFolder;
use crate::{Config, EmbedderKind, Error, Result, TokenCounter};
use estimate::EstimatedTokens;
use library::LibraryTokenizer;
use std::path::Path;
use std::sync::Arc;
use tributary_schemas::ErrorKind;
use unigram::UnigramTokenizer;

/// A text or a pair as the model takes it, special tokens included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EncodedText {
    /// Token ids.
    pub ids: Vec<u32>,
    /// Which text of a pair each token belongs to.
    pub type_ids: Vec<u32>,
}

/// Longest text in bytes that is looked at per token of the model's limit: no text needs more bytes
/// per token, unless it is mostly blank, and a book handed over as one text must not be tokenised
/// to its end.
const BYTES_PER_TOKEN_LIMIT: usize = 256;

/// A loaded tokenizer.
pub enum TextEncoder {
    /// Our own.
    Unigram(Box<UnigramTokenizer>),
    /// The `tokenizers` crate.
    Library(Box<LibraryTokenizer>),
}

impl TextEncoder {
    /// Reads a tokenizer.json.
    pub fn open(file: &Path) -> Result<Self> {
        let json = tributary_schemas::files::read(file)
            .map_err(|error| Error::io(format_args!("reading {}", file.display()), &error))?;
        match UnigramTokenizer::parse(&json, file) {
            Ok(unigram) => return Ok(Self::Unigram(Box::new(unigram))),
            Err(reason) => {
                tracing::debug!(file = %file.display(), %reason, "using the tokenizers library")
            }
        }
        let library = LibraryTokenizer::parse(&json).map_err(|error| {
            Error::new(
                ErrorKind::Corrupt,
                format!("{} is not a tokenizer: {error}", file.display()),
            )
            .with_hint("fetch the model again")
        })?;
        Ok(Self::Library(Box::new(library)))
    }

    /// Encodes a text, cut to `maximum_length` tokens, special tokens included.
    pub fn encode(&self, text: &str, maximum_length: usize) -> Result<EncodedText> {
        let text = bounded(text, maximum_length);
        match self {
            Self::Unigram(unigram) => unigram.encode(text, maximum_length),
            Self::Library(library) => library.encode(text, maximum_length),
        }
    }

    /// Encodes a pair; the longer text is cut first until both fit.
    pub fn encode_pair(
        &self,
        first: &str,
        second: &str,
        maximum_length: usize,
    ) -> Result<EncodedText> {
        let (first, second) = (
            bounded(first, maximum_length),
            bounded(second, maximum_length),
        );
        match self {
            Self::Unigram(unigram) => unigram.encode_pair(first, second, maximum_length),
            Self::Library(library) => library.encode_pair(first, second, maximum_length),
        }
    }
}

impl TokenCounter for TextEncoder {
    fn count(&self, text: &str) -> usize {
        let counted = match self {
            Self::Unigram(unigram) => unigram.count(text),
            Self::Library(library) => library.count(text),
        };
        counted.unwrap_or_else(|error| {
            tracing::warn!(error = %error, "counting tokens failed; estimating");
            EstimatedTokens.count(text)
        })
    }
}

/// The front of a text that can matter for a model of this limit.
fn bounded(text: &str, maximum_length: usize) -> &str {
    let limit = maximum_length.saturating_mul(BYTES_PER_TOKEN_LIMIT);
    if text.len() <= limit {
        return text;
    }
    text.get(..text.floor_char_boundary(limit)).unwrap_or(text)
}

/// The counter for this configuration: exact for the fine model's tokenizer, an estimate when there
/// is no model or it cannot be read.
pub fn token_counter(config: &Config, models_folder: &Path) -> Arc<dyn TokenCounter> {
    if config.kind == EmbedderKind::Hashing {
        return Arc::new(EstimatedTokens);
    }
    let opened = ModelFolder::find(&config.folder, &config.folders(models_folder))
        .and_then(|model| TextEncoder::open(&model.tokenizer_file()));
    match opened {
        Ok(encoder) => Arc::new(encoder),
        Err(error) => {
            tracing::warn!(error = %error.full_message(), "no tokenizer; token counts are estimates");
            Arc::new(EstimatedTokens)
        }
    }
}
