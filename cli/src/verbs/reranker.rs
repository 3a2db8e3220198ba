//! What reads in tier 3, for `doctor`.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tributary_models::chat::Role;
use tributary_models::prompts::Prompts;
use tributary_models::{Reranker, RerankerKind};
use tributary_retrieval::ChatReranker;
use tributary_schemas::{Error, ErrorKind};

use super::doctor::{Check, failed, open_chat, passed};
use crate::app::{self, PROMPT_SETS};
use crate::config::Config;

/// How long a language model has for one passage.
const PATIENCE: Duration = Duration::from_secs(30);

/// What reads in tier 3, tried on one passage; nothing where nothing does.
pub fn check(config: &Config, folder: &Path) -> Option<Check> {
    let tried = match config.models.reranker.kind {
        RerankerKind::None => return None,
        RerankerKind::Chat => chat_reranker(config),
        RerankerKind::Lexical | RerankerKind::Onnx => {
            tributary_models::load_reranker(&config.models, folder).map(|found| {
                let name = found.map(|reranker| reranker.name().to_owned());
                name.unwrap_or_default()
            })
        }
    };
    Some(match tried {
        Ok(what) => passed("reranker", what),
        Err(error) => failed("reranker", &error),
    })
}

/// Asks the model of the role `judge`; says by what its answers count.
fn chat_reranker(config: &Config) -> tributary_schemas::Result<String> {
    let internal = |error: anyhow::Error| Error::new(ErrorKind::Internal, error.to_string());
    let models = open_chat(config)?;
    let model = models.role(Role::Judge);
    let model =
        model.ok_or_else(|| Error::new(ErrorKind::Invalid, "the role `judge` has no model"))?;
    let prompts = Prompts::load(&PROMPT_SETS, config.models.chat.prompts_folder())?;
    let runtime = app::runtime().map_err(internal)?;
    let handle = runtime.handle().clone();
    let reranker = ChatReranker::new(model, Arc::new(prompts), handle, PATIENCE);
    reranker.score("What colour is the sky?", &["The sky is blue."])?;
    let by = match reranker.goes_by_words() {
        false => "by log-probabilities",
        true => "by its word alone: the endpoint tells no log-probabilities",
    };
    Ok(format!("{} {by}", reranker.name()))
}
