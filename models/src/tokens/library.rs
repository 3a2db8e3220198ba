//! The `tokenizers` crate behind our interface: for WordPiece and every tokenizer.json that our own
//! encoder does not know, and for the texts about which it is not certain.

use super::{EncodedText, truncation};
use crate::{Error, Result};
use tokenizers::{Encoding, Tokenizer, TruncationDirection};
use tributary_schemas::ErrorKind;

/// A tokenizer of the `tokenizers` crate, without the truncation and padding that its file may bake
/// in.
pub struct LibraryTokenizer {
    tokenizer: Tokenizer,
    single_extra: usize,
    pair_extra: usize,
}

impl LibraryTokenizer {
    /// Reads the content of a tokenizer.json; the error is the crate's.
    pub fn parse(json: &[u8]) -> std::result::Result<Self, String> {
        let mut tokenizer = Tokenizer::from_bytes(json).map_err(|error| error.to_string())?;
        tokenizer.with_padding(None);
        tokenizer
            .with_truncation(None)
            .map_err(|error| error.to_string())?;
        let extra = |pair: bool| {
            tokenizer.get_post_processor().map_or(0, |processor| {
                tokenizers::PostProcessor::added_tokens(processor, pair)
            })
        };
        let (single_extra, pair_extra) = (extra(false), extra(true));
        Ok(Self {
            tokenizer,
            single_extra,
            pair_extra,
        })
    }

    /// Tokens of the text, without special tokens.
    pub fn count(&self, text: &str) -> Result<usize> {
        Ok(self.plain(text)?.len())
    }

    /// Token ids of the text, without special tokens.
    pub fn plain_ids(&self, text: &str) -> Result<Vec<u32>> {
        Ok(self.plain(text)?.get_ids().to_vec())
    }

    /// Encodes a text, cut to `maximum_length` tokens.
    pub fn encode(&self, text: &str, maximum_length: usize) -> Result<EncodedText> {
        let mut encoding = self.plain(text)?;
        encoding.truncate(
            maximum_length.saturating_sub(self.single_extra),
            0,
            TruncationDirection::Right,
        );
        self.finish(encoding, None)
    }

    /// Encodes a pair, the longer text cut first.
    pub fn encode_pair(
        &self,
        first: &str,
        second: &str,
        maximum_length: usize,
    ) -> Result<EncodedText> {
        let (mut first, mut second) = (self.plain(first)?, self.plain(second)?);
        let limit = maximum_length.saturating_sub(self.pair_extra);
        let (keep_first, keep_second) = truncation::longest_first(first.len(), second.len(), limit);
        first.truncate(keep_first, 0, TruncationDirection::Right);
        second.truncate(keep_second, 0, TruncationDirection::Right);
        self.finish(first, Some(second))
    }

    fn plain(&self, text: &str) -> Result<Encoding> {
        self.tokenizer.encode_fast(text, false).map_err(failed)
    }

    fn finish(&self, first: Encoding, second: Option<Encoding>) -> Result<EncodedText> {
        let encoding = self
            .tokenizer
            .post_process(first, second, true)
            .map_err(failed)?;
        Ok(EncodedText {
            ids: encoding.get_ids().to_vec(),
            type_ids: encoding.get_type_ids().to_vec(),
        })
    }
}

fn failed(error: tokenizers::Error) -> Error {
    Error::new(ErrorKind::Internal, format!("tokenising: {error}"))
}
