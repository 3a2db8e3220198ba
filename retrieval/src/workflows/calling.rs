//! Calls whose reply is JSON that code reads. Whatever goes wrong with one ends in `None`, upon
//! which the caller takes its lesser way; the log tells why.

use std::sync::Arc;
use std::time::Instant;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tributary_models::chat::structured::ask_checked;
use tributary_models::chat::{ChatError, ChatRequest, ChatResult, Ending, Reason, RoleModel};
use tributary_models::prompts::Prompt;
use tributary_taxonomy::language::is_chinese;

use super::Asker;

/// How the calls of one step are made.
#[derive(Clone, Copy)]
pub struct Calls<'a> {
    pub asker: &'a Asker,
    /// In whose language the prompts are.
    pub question: &'a str,
    /// When the replies must be there.
    pub deadline: Instant,
    /// Tokens of a reply at most.
    pub reply_tokens: usize,
}

/// A reply to a prompt that was made of parts.
pub struct Replied<T> {
    pub value: T,
    /// How many of the first parts the model was shown.
    pub parts: usize,
    /// How it ended.
    pub ending: Ending,
}

impl Calls<'_> {
    /// The reply to a prompt, which `check` accepts.
    pub async fn ask<T: JsonSchema + DeserializeOwned>(
        &self,
        name: &str,
        values: impl Serialize,
        check: impl Fn(&T) -> Result<(), String> + Sync,
    ) -> Option<T> {
        let asking = async {
            let (prompt, Some(model)) = self.prompt(name)? else {
                return Ok(None);
            };
            let request = self.request(&prompt, values)?;
            let reply = ask_checked::<T>(model.as_ref(), &request, check).await?;
            Ok(Some(reply.value))
        };
        self.in_time(name, asking).await
    }

    /// The same for a prompt that `values` makes of the first parts: of as many as fit.
    pub async fn ask_of_parts<P: Sync, T: JsonSchema + DeserializeOwned, V: Serialize>(
        &self,
        name: &str,
        parts: &[P],
        values: impl Fn(&[P]) -> V + Sync,
    ) -> Option<T> {
        let replied = self.ask_checked_of_parts(name, parts, values, |_, _| Ok(()));
        Some(replied.await?.value)
    }

    /// The same, with a reply that `check` accepts, which is told how many parts the model was shown.
    pub async fn ask_checked_of_parts<P: Sync, T: JsonSchema + DeserializeOwned, V: Serialize>(
        &self,
        name: &str,
        parts: &[P],
        values: impl Fn(&[P]) -> V + Sync,
        check: impl Fn(&T, usize) -> Result<(), String> + Sync,
    ) -> Option<Replied<T>> {
        let asking = async {
            let (prompt, Some(model)) = self.prompt(name)? else {
                return Ok(None);
            };
            let whole = self.request(&prompt, values(parts))?;
            let render = |parts: &[P]| {
                let request = self.request(&prompt, values(parts));
                request.unwrap_or_else(|_| whole.clone())
            };
            let fitting = match parts {
                [] => 0,
                _ => model.fitting(parts, &render).await?,
            };
            let request = render(parts.get(..fitting).unwrap_or(parts));
            let check = |reply: &T| check(reply, fitting);
            let reply = ask_checked::<T>(model.as_ref(), &request, check).await?;
            Ok(Some(Replied {
                value: reply.value,
                parts: fitting,
                ending: reply.ending,
            }))
        };
        self.in_time(name, asking).await
    }

    /// The prompt, and the model of its role if there is one.
    fn prompt(&self, name: &str) -> ChatResult<(Arc<Prompt>, Option<Arc<RoleModel>>)> {
        let language = if is_chinese(self.question) {
            "zh"
        } else {
            "en"
        };
        let parts = &self.asker.parts;
        let prompt = parts.prompts.get(name, Some(language));
        let prompt = prompt.map_err(|error| unrendered(&error))?;
        let model = parts.chat.role(prompt.role());
        Ok((prompt, model))
    }

    fn request(&self, prompt: &Prompt, values: impl Serialize) -> ChatResult<ChatRequest> {
        let request = prompt.request(values, self.reply_tokens);
        let mut request = request.map_err(|error| unrendered(&error))?;
        request.deadline = Some(self.deadline);
        request.temperature = Some(0.0);
        Ok(request)
    }

    async fn in_time<T>(
        &self,
        name: &str,
        asking: impl Future<Output = ChatResult<Option<T>>>,
    ) -> Option<T> {
        let until = tokio::time::Instant::from_std(self.deadline);
        match tokio::time::timeout_at(until, asking).await {
            Ok(Ok(reply)) => reply,
            Ok(Err(error)) => {
                let reason = error.reason.as_str();
                tracing::warn!(prompt = name, reason, %error, "a model gave no reply to go by");
                None
            }
            Err(_) => {
                tracing::warn!(prompt = name, "a model was late");
                None
            }
        }
    }
}

fn unrendered(error: &tributary_schemas::Error) -> ChatError {
    ChatError::new(Reason::Refused, error.to_string())
}
