//! A model that counts what the replies of one question cost.

use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use tributary_models::chat::{
    ChatModel, ChatRequest, ChatResult, Completion, DeltaStream, ModelDescription,
};
use tributary_schemas::set_status::SetCost;

/// Counts whole replies; pieces are passed on uncounted.
pub(super) struct Metered<'a> {
    model: &'a dyn ChatModel,
    spent: Mutex<SetCost>,
}

impl<'a> Metered<'a> {
    /// Nothing yet.
    pub fn new(model: &'a dyn ChatModel) -> Self {
        Self {
            model,
            spent: Mutex::default(),
        }
    }

    /// What was spent so far.
    pub fn spent(&self) -> SetCost {
        *self.lock()
    }

    fn lock(&self) -> MutexGuard<'_, SetCost> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl ChatModel for Metered<'_> {
    async fn stream(&self, request: &ChatRequest) -> ChatResult<DeltaStream> {
        self.model.stream(request).await
    }

    fn describe(&self) -> ModelDescription {
        self.model.describe()
    }

    async fn complete(&self, request: &ChatRequest) -> ChatResult<Completion> {
        let completion = self.model.complete(request).await?;
        let usage = &completion.ending.usage;
        self.lock().add(&SetCost {
            calls: 1,
            tokens_in: usage.prompt_tokens.unwrap_or(0),
            tokens_out: usage.completion_tokens.unwrap_or(0),
            since_ms: 0,
        });
        Ok(completion)
    }
}
