//! Texts that a language model writes for chunks: summaries of sections, descriptions of code. A
//! bounded number of calls at a time, each result cached so that no call is paid twice, and patience
//! with a model that is away.

mod away;
mod beginning;
pub mod check;
mod choice;
mod kind;
mod metered;
mod single_flight;
mod writer;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use tributary_models::TokenCounter;
use tributary_models::chat::ChatRequest;
use tributary_schemas::Result;
use tributary_schemas::set_status::SetCost;

pub(crate) use beginning::{LEFT_OUT, beginning};
pub use choice::WriterChoice;
pub use kind::WrittenKind;
pub(crate) use writer::{Had, Writer, WriterParts};

/// Counts texts by where they come from: `model`, `cache` or `extractive`.
pub type TextCounter = Arc<dyn Fn(&'static str) + Send + Sync>;

/// How the texts of a document are asked for.
#[derive(Clone, Copy)]
pub struct Asking<'a> {
    /// Variant of the prompts; none for the built-in ones.
    pub variant: Option<&'a str>,
    /// Whether texts are asked for again that the model could not write before.
    pub asks_again: bool,
    /// Told what each question cost, as soon as it is over.
    pub spent: &'a (dyn Fn(&SetCost) + Sync),
}

impl Default for Asking<'_> {
    fn default() -> Self {
        Self {
            variant: None,
            asks_again: false,
            spent: &|_: &SetCost| {},
        }
    }
}

/// What became of the texts of a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// In the order in which they were wanted; `None` for those that no model wrote.
    pub texts: Vec<Option<String>>,
    /// How many of them were written now.
    pub calls: usize,
    /// Why the first that is missing is; `None` if none is.
    pub missing: Option<String>,
}

/// A text that is to be written.
pub(crate) trait Task: Sync {
    /// What the model replies.
    type Reply: JsonSchema + DeserializeOwned + Send;

    /// What it is about, for messages.
    fn name(&self) -> String;

    /// Which prompt exactly asks for it.
    fn prompt_id(&self) -> String;

    /// What the model is shown.
    fn shown(&self) -> &str;

    /// Tokens at most.
    fn limit_tokens(&self) -> usize;

    /// The question, with this much of what is shown.
    fn request(&self, shown: &str) -> Result<ChatRequest>;

    /// The text in a reply.
    fn text<'r>(&self, reply: &'r Self::Reply) -> &'r str;

    /// What is wrong with a text, in words for the model that wrote it.
    fn check(&self, text: &str, tokens: &dyn TokenCounter) -> std::result::Result<(), String>;
}

impl Written {
    /// None of so many.
    pub(crate) fn none_of(wanted: usize) -> Self {
        Self {
            texts: vec![None; wanted],
            ..Self::default()
        }
    }

    /// Keeps what was had at its position; returns it if there is something.
    pub(crate) fn keep(&mut self, at: usize, had: Had, name: &dyn Fn() -> String) -> Option<&str> {
        let slot = self.texts.get_mut(at)?;
        match had {
            Had::Cached(text) => *slot = Some(text),
            Had::New(text) => {
                self.calls += 1;
                *slot = Some(text);
            }
            Had::Not(why) => {
                self.missing
                    .get_or_insert_with(|| format!("{}: {why}", name()));
            }
        }
        slot.as_deref()
    }
}
