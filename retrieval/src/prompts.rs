//! The prompts of this crate. The texts are files in `retrieval/prompts/`; a profile replaces them by
//! name, see [`tributary_models::prompts`].

use serde::Serialize;
use serde_json::json;
use tributary_models::chat::Role;
use tributary_models::prompts::{PromptSet, PromptSpec, UNTRUSTED};

/// A file of `retrieval/prompts/` and its text.
macro_rules! prompt_file {
    ($name:literal) => {
        ($name, include_str!(concat!("../prompts/", $name)))
    };
}

/// Name of the prompt for an answer from passages.
pub const ANSWER: &str = "answer";

/// All of them.
pub const PROMPTS: PromptSet = PromptSet {
    specs: &[PromptSpec {
        name: ANSWER,
        role: Role::Answer,
        reply: None,
        sample: || {
            json!(ToAnswer {
                question: "q",
                history: UNTRUSTED,
                passages: vec![NumberedPassage {
                    number: 1,
                    text: UNTRUSTED.to_owned(),
                }],
                refusal: "no",
            })
        },
    }],
    files: &[prompt_file!("answer.en.md"), prompt_file!("answer.zh.md")],
};

/// What the prompt for an answer is given.
#[derive(Clone, Debug, Serialize)]
pub struct ToAnswer<'a> {
    /// The question as it is asked without what was said before.
    pub question: &'a str,
    /// What was said before; empty for nothing.
    pub history: &'a str,
    /// What the answer is made from.
    pub passages: Vec<NumberedPassage>,
    /// The sentence that says that the passages do not answer.
    pub refusal: &'a str,
}

/// A passage as a model is shown it.
#[derive(Clone, Debug, Serialize)]
pub struct NumberedPassage {
    /// What citations call it.
    pub number: u32,
    /// Title, section and text.
    pub text: String,
}
