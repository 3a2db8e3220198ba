//! How one text is had: from the cache, or else from the model.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::join_all;
use tokio::sync::Semaphore;
use tributary_models::TokenCounter;
use tributary_models::chat::structured::ask_checked;
use tributary_models::chat::{ChatError, ChatModel, ChatRequest, Reason, RoleModel};
use tributary_schemas::{Error, ErrorKind, Result};
use tributary_store::blobs::Blobs;

use super::away::Away;
use super::check::cleaned;
use super::metered::Metered;
use super::single_flight::SingleFlight;
use super::{Asking, Task, TextCounter};

/// First pause before a call is tried again; doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// Longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// A budget that has room within this time is waited for, however often.
const SOON: Duration = Duration::from_secs(60);
/// Replies to one question after which it is settled that the model cannot answer it.
const REPLIES: u64 = 2;
/// Characters of the reason that is remembered then.
const MAXIMUM_REASON_CHARACTERS: usize = 500;
/// How often a prompt that the server finds too long is halved.
const HALVINGS: usize = 3;

/// What a writer is made of.
pub(crate) struct WriterParts {
    /// What it writes, such as `summaries`, for messages.
    pub what: &'static str,
    /// Who writes.
    pub model: Arc<RoleModel>,
    /// Where results are cached.
    pub blobs: Blobs,
    /// How long a model that is away is waited for.
    pub patience: Duration,
    /// Is told where each text comes from.
    pub counter: TextCounter,
}

/// Has texts written by one model.
pub(crate) struct Writer {
    parts: WriterParts,
    turns: Semaphore,
    flight: SingleFlight,
    away: Away,
}

/// How a text was had.
pub(crate) enum Had {
    Cached(String),
    New(String),
    /// Why not.
    Not(String),
}

/// What became of a question.
enum Asked {
    Text(String),
    /// The model replied, and none of its replies can be used.
    Cannot(String),
    /// It did not reply, or not to this question.
    NotNow(String),
}

/// Where it is remembered that a text could not be written.
fn failed_key(key: &str) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"not written\0").update(key.as_bytes());
    hasher.finalize().to_hex().to_string()
}

impl Writer {
    /// As many calls at a time as the model's endpoint allows.
    pub fn new(parts: WriterParts) -> Self {
        Self {
            turns: Semaphore::new(parts.model.endpoint().parallel()),
            flight: SingleFlight::default(),
            away: Away::new(parts.what),
            parts,
        }
    }

    /// The model as its server names it.
    pub fn model_name(&self) -> String {
        self.parts.model.describe().model
    }

    /// Waits for a model that is away as if it had just gone: somebody says that it is back.
    pub fn expect_back(&self) {
        self.away.forget();
        self.parts.model.endpoint().expect_back();
    }

    /// Tokens of text that fit into the model's context beside a question without any.
    pub async fn room_beside(&self, question: &ChatRequest) -> Result<usize> {
        let room = self.parts.model.prompt_room(question.maximum_tokens);
        let around = self.parts.model.count(question).await?;
        Ok(room.saturating_sub(around).max(1))
    }

    /// Has these texts, all at the same time as far as the endpoint allows.
    pub async fn have_all<T: Task>(
        &self,
        tasks: &[T],
        tokens: &Arc<dyn TokenCounter>,
        asking: &Asking<'_>,
    ) -> Result<Vec<Had>> {
        let all = tasks.iter().map(|task| self.have(task, tokens, asking));
        join_all(all).await.into_iter().collect()
    }

    /// A text from the cache, or else a new one, which goes into it. Waits for a model that is
    /// away, as long as there is patience. Fails only when the blob store is away.
    ///
    /// That the model could not write it is remembered, too, by the same text, prompt and model, so
    /// that a replay costs nothing until somebody asks again.
    async fn have<T: Task>(
        &self,
        task: &T,
        tokens: &Arc<dyn TokenCounter>,
        asking: &Asking<'_>,
    ) -> Result<Had> {
        let key = self.key(task)?;
        let _entered = self.flight.enter(&key).await;
        if let Some(cached) = self.parts.blobs.cached(&key).await? {
            (self.parts.counter)("cache");
            return Ok(Had::Cached(cached));
        }
        let failed_key = failed_key(&key);
        if !asking.asks_again
            && let Some(why) = self.parts.blobs.cached(&failed_key).await?
        {
            (self.parts.counter)("extractive");
            return Ok(Had::Not(why));
        }
        let asked = self.ask(task, tokens, asking).await?;
        match &asked {
            Asked::Text(text) => {
                (self.parts.counter)("model");
                self.remember(&key, text).await;
            }
            Asked::Cannot(why) => {
                (self.parts.counter)("extractive");
                let why: String = why.chars().take(MAXIMUM_REASON_CHARACTERS).collect();
                self.remember(&failed_key, &why).await;
            }
            Asked::NotNow(_) => (self.parts.counter)("extractive"),
        }
        Ok(match asked {
            Asked::Text(text) => Had::New(text),
            Asked::Cannot(why) | Asked::NotNow(why) => Had::Not(why),
        })
    }

    async fn remember(&self, key: &str, text: &str) {
        if let Err(error) = self.parts.blobs.cache(key, text).await {
            // It can be used all the same; what cannot wait is the document.
            let (error, what) = (error.full_message(), self.parts.what);
            tracing::warn!(
                error,
                "one of the {what} is not cached and will be paid for once more"
            );
        }
    }

    /// Hash of all that shapes a text. 64 hexadecimal digits.
    fn key<T: Task>(&self, task: &T) -> Result<String> {
        let request = task.request(task.shown())?;
        let mut hasher = blake3::Hasher::new();
        let (model, limit) = (self.model_name(), task.limit_tokens().to_string());
        for part in [model.as_str(), &task.prompt_id(), &limit] {
            hasher.update(part.as_bytes()).update(&[0]);
        }
        // The marks of a fence depend on the text alone.
        for message in &request.messages {
            hasher.update(message.text.as_bytes()).update(&[0]);
        }
        Ok(hasher.finalize().to_hex().to_string())
    }

    async fn ask<T: Task>(
        &self,
        task: &T,
        tokens: &Arc<dyn TokenCounter>,
        asking: &Asking<'_>,
    ) -> Result<Asked> {
        let mut shown = task.shown().to_owned();
        let (mut failing_since, mut halvings) = (None::<Instant>, 0);
        let mut pause = FIRST_PAUSE;
        loop {
            let model = Metered::new(self.parts.model.as_ref());
            let called = self.call(task, &shown, tokens, &model).await?;
            let spent = model.spent();
            (asking.spent)(&spent);
            let failed = match called {
                Ok(text) => {
                    self.away.over();
                    return Ok(Asked::Text(text));
                }
                Err(failed) => failed,
            };
            if failed.reason == Reason::TooLong && halvings < HALVINGS {
                halvings += 1;
                shown.truncate(shown.floor_char_boundary(shown.len() / 2));
                continue;
            }
            if let Some(why) = self.is_given_up(&failed, &mut failing_since) {
                tracing::info!(of = %task.name(), why, "no model wrote one of the {}", self.parts.what);
                return Ok(match spent.calls >= REPLIES {
                    true => Asked::Cannot(why),
                    false => Asked::NotNow(why),
                });
            }
            let wait = failed.retry_after.unwrap_or(pause).max(pause);
            tokio::time::sleep(wait.min(LONGEST_PAUSE)).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Why a text is not asked for again; `None` while there is patience.
    fn is_given_up(&self, failed: &ChatError, since: &mut Option<Instant>) -> Option<String> {
        let why = failed.error().full_message();
        if !failed.error().is_held() {
            return Some(why);
        }
        // A budget of the minute gives room soon; one of the day is as good as a model that is
        // away.
        let gives_room = failed.reason == Reason::BudgetUsedUp
            && failed.retry_after.is_some_and(|wait| wait <= SOON);
        if gives_room {
            return None;
        }
        let patience = self.parts.patience;
        let since = *since.get_or_insert_with(Instant::now);
        let is_over = since.elapsed() >= patience || self.away.for_longer_than(patience, &why);
        is_over.then_some(why)
    }

    async fn call<T: Task>(
        &self,
        task: &T,
        shown: &str,
        tokens: &Arc<dyn TokenCounter>,
        model: &Metered<'_>,
    ) -> Result<std::result::Result<String, ChatError>> {
        let request = task.request(shown)?;
        let closed = |_| Error::new(ErrorKind::Internal, "calls of the model are closed");
        let _turn = self.turns.acquire().await.map_err(closed)?;
        let check = |reply: &T::Reply| task.check(&cleaned(task.text(reply)), tokens.as_ref());
        let asked = ask_checked(model, &request, check).await;
        Ok(asked.map(|reply| cleaned(task.text(&reply.value))))
    }
}
