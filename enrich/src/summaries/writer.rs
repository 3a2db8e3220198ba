//! Summaries by a language model: a bounded number of calls at a time, each result cached so that no
//! call is paid twice, and patience with a model that is away.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures::future::join_all;
use tokio::sync::Semaphore;
use tributary_models::TokenCounter;
use tributary_models::chat::structured::ask_checked;
use tributary_models::chat::{ChatError, ChatModel, ChatRequest, Reason, RoleModel};
use tributary_models::prompts::{Prompt, Prompts};
use tributary_schemas::{Error, ErrorKind, Result};
use tributary_store::blobs::Blobs;

use super::WantedSummary;
use super::check::{accept, cleaned, is_chinese};
use super::input::section_text;
use super::single_flight::SingleFlight;
use crate::config::SummariesConfig;
use crate::prompts::{SECTION_SUMMARY, SectionSummary, SectionToSummarize, section_summary_ids};

/// Tokens of the reply beside the summary: JSON, and what escaping adds.
const TOKENS_AROUND: usize = 64;
/// First pause before a call is tried again; doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// Longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// A budget that has room within this time is waited for, however often.
const SOON: Duration = Duration::from_secs(60);
/// How often a prompt that the server finds too long is halved.
const HALVINGS: usize = 3;

/// What became of the summaries of a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// In the order in which they were wanted; `None` for those that no model wrote.
    pub summaries: Vec<Option<String>>,
    /// How many of them were written now.
    pub calls: usize,
    /// Why the first that is missing is; `None` if none is.
    pub missing: Option<String>,
}

/// Counts summaries by where they come from: `model`, `cache` or `extractive`.
pub type SummaryCounter = Arc<dyn Fn(&'static str) + Send + Sync>;

/// Writes summaries. Shared by all generations that have them written by a model.
pub struct SummaryWriter {
    model: Arc<RoleModel>,
    prompts: Arc<Prompts>,
    blobs: Blobs,
    config: SummariesConfig,
    turns: Semaphore,
    flight: SingleFlight,
    away: Away,
    counter: SummaryCounter,
}

/// Since when no call has come through.
#[derive(Default)]
struct Away {
    since: Mutex<Option<Instant>>,
}

/// What stands for sections, by where they begin.
type Made = Arc<HashMap<usize, String>>;

/// One summary that is to be written.
struct Task<'a> {
    wanted: &'a WantedSummary,
    text: String,
    must_be_chinese: bool,
    prompt: Arc<Prompt>,
}

/// How one was had.
enum Had {
    Cached(String),
    New(String),
    /// Why not.
    Not(String),
}

impl SummaryWriter {
    /// Asks this model as configured, and caches what it writes in the blob store.
    pub fn new(
        model: Arc<RoleModel>,
        prompts: Arc<Prompts>,
        blobs: Blobs,
        config: SummariesConfig,
        counter: SummaryCounter,
    ) -> Self {
        let turns = Semaphore::new(model.endpoint().parallel());
        Self {
            model,
            prompts,
            blobs,
            config,
            turns,
            flight: SingleFlight::default(),
            away: Away::default(),
            counter,
        }
    }

    /// Who writes: model and prompts. Shapes what is written, as part of `lineage.chunker`.
    pub fn name(&self) -> String {
        let ids = section_summary_ids(&self.prompts);
        format!("{}/{}", self.model.describe().model, ids.join("/"))
    }

    /// Has all summaries of a document written, those of deeper sections first: where a section is
    /// too long to be shown whole, they stand for those below it. Waits for a model that is away,
    /// as long as it is patient; then, and for what the model cannot do, a summary is missing.
    /// Fails only when the blob store is away. `progress` is told how many of all are there.
    pub async fn write(
        &self,
        markdown: &Arc<str>,
        wanted: &[WantedSummary],
        tokens: &Arc<dyn TokenCounter>,
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<Written> {
        let mut written = Written {
            summaries: vec![None; wanted.len()],
            ..Written::default()
        };
        let mut made = Made::default();
        let mut done = 0;
        progress(done, wanted.len());
        for level in levels(wanted) {
            let tasks = self.tasks(markdown, wanted, &level, &made, tokens).await?;
            let had = join_all(tasks.iter().map(|task| self.have(task, tokens))).await;
            for ((at, task), had) in level.iter().zip(&tasks).zip(had) {
                done += 1;
                let summary = written.take(had?, task, &self.counter);
                let shown = summary.as_deref().unwrap_or(&task.wanted.extractive);
                Arc::make_mut(&mut made).insert(task.wanted.range.start, shown.to_owned());
                if let Some(slot) = written.summaries.get_mut(*at) {
                    *slot = summary;
                }
            }
            progress(done, wanted.len());
        }
        Ok(written)
    }

    /// What is asked for the sections of one level. Counting tokens is work for a thread of its
    /// own.
    async fn tasks<'a>(
        &self,
        markdown: &Arc<str>,
        wanted: &'a [WantedSummary],
        level: &[usize],
        made: &Made,
        tokens: &Arc<dyn TokenCounter>,
    ) -> Result<Vec<Task<'a>>> {
        let mut tasks = Vec::with_capacity(level.len());
        for wanted in level.iter().filter_map(|at| wanted.get(*at)) {
            let room = self.room(wanted).await?;
            let (markdown, tokens) = (Arc::clone(markdown), Arc::clone(tokens));
            let (owned, made) = (wanted.clone(), Arc::clone(made));
            let text = crate::blocking("chunk", move || {
                Ok(section_text(
                    &markdown,
                    &owned,
                    &made,
                    room,
                    tokens.as_ref(),
                ))
            })
            .await?;
            let must_be_chinese = is_chinese(&text);
            let language = if must_be_chinese { "zh" } else { "en" };
            tasks.push(Task {
                wanted,
                must_be_chinese,
                prompt: self.prompts.get(SECTION_SUMMARY, Some(language))?,
                text,
            });
        }
        Ok(tasks)
    }

    /// Tokens of a section's text that fit into the model's context beside the prompt's own.
    async fn room(&self, wanted: &WantedSummary) -> Result<usize> {
        let prompt = self.prompts.get(SECTION_SUMMARY, Some("zh"))?;
        let around = self.request(&prompt, wanted, "")?;
        let room = self.model.prompt_room(around.maximum_tokens);
        let around = self.model.count(&around).await?;
        Ok(self
            .config
            .input_tokens
            .min(room.saturating_sub(around))
            .max(1))
    }

    fn request(&self, prompt: &Prompt, wanted: &WantedSummary, text: &str) -> Result<ChatRequest> {
        let values = SectionToSummarize {
            path: &wanted.path(),
            text,
            limit_tokens: wanted.limit_tokens,
        };
        prompt.request(values, wanted.limit_tokens * 2 + TOKENS_AROUND)
    }

    /// A summary from the cache, or else a new one, which goes into it.
    async fn have(&self, task: &Task<'_>, tokens: &Arc<dyn TokenCounter>) -> Result<Had> {
        let key = self.key(task)?;
        let _entered = self.flight.enter(&key).await;
        if let Some(cached) = self.blobs.cached(&key).await? {
            return Ok(Had::Cached(cached));
        }
        let had = self.ask(task, tokens).await?;
        if let Had::New(summary) = &had
            && let Err(error) = self.blobs.cache(&key, summary).await
        {
            // It can be used all the same; what cannot wait is the document.
            let error = error.full_message();
            tracing::warn!(
                error,
                "a summary is not cached and will be paid for once more"
            );
        }
        Ok(had)
    }

    /// Hash of all that shapes a summary. 64 hexadecimal digits.
    fn key(&self, task: &Task<'_>) -> Result<String> {
        let request = self.request(&task.prompt, task.wanted, &task.text)?;
        let mut hasher = blake3::Hasher::new();
        let model = self.model.describe().model;
        let limit = task.wanted.limit_tokens.to_string();
        for part in [model.as_str(), &task.prompt.id(), &limit] {
            hasher.update(part.as_bytes()).update(&[0]);
        }
        // The marks of a fence depend on the text alone.
        for message in &request.messages {
            hasher.update(message.text.as_bytes()).update(&[0]);
        }
        Ok(hasher.finalize().to_hex().to_string())
    }

    async fn ask(&self, task: &Task<'_>, tokens: &Arc<dyn TokenCounter>) -> Result<Had> {
        let mut text = task.text.clone();
        let (mut failing_since, mut halvings) = (None::<Instant>, 0);
        let mut pause = FIRST_PAUSE;
        loop {
            let failed = match self.call(task, &text, tokens).await? {
                Ok(summary) => {
                    self.away.over();
                    return Ok(Had::New(summary));
                }
                Err(failed) => failed,
            };
            let why = failed.error().full_message();
            if failed.reason == Reason::TooLong && halvings < HALVINGS {
                halvings += 1;
                text.truncate(text.floor_char_boundary(text.len() / 2));
                continue;
            }
            if !failed.error().is_held() {
                tracing::info!(section = %task.wanted.path(), why, "a section keeps its extractive summary");
                return Ok(Had::Not(why));
            }
            let patience = Duration::from_secs(self.config.patience_seconds);
            // A budget of the minute gives room soon; one of the day is as good as a model that is
            // away.
            let gives_room = failed.reason == Reason::BudgetUsedUp
                && failed.retry_after.is_some_and(|wait| wait <= SOON);
            if !gives_room {
                let since = *failing_since.get_or_insert_with(Instant::now);
                if since.elapsed() >= patience || self.away.for_longer_than(patience, &why) {
                    return Ok(Had::Not(why));
                }
            }
            let wait = failed.retry_after.unwrap_or(pause).max(pause);
            tokio::time::sleep(wait.min(LONGEST_PAUSE)).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    async fn call(
        &self,
        task: &Task<'_>,
        text: &str,
        tokens: &Arc<dyn TokenCounter>,
    ) -> Result<std::result::Result<String, ChatError>> {
        let request = self.request(&task.prompt, task.wanted, text)?;
        let closed = |_| Error::new(ErrorKind::Internal, "calls of the model are closed");
        let _turn = self.turns.acquire().await.map_err(closed)?;
        let limit = task.wanted.limit_tokens;
        let check = |reply: &SectionSummary| {
            let summary = cleaned(&reply.summary);
            accept(&summary, limit, task.must_be_chinese, tokens.as_ref())
        };
        let asked = ask_checked(self.model.as_ref(), &request, check).await;
        Ok(asked.map(|reply| cleaned(&reply.value.summary)))
    }
}

impl Written {
    /// Counts it, and returns the summary.
    fn take(&mut self, had: Had, task: &Task<'_>, counter: &SummaryCounter) -> Option<String> {
        match had {
            Had::Cached(summary) => {
                counter("cache");
                Some(summary)
            }
            Had::New(summary) => {
                counter("model");
                self.calls += 1;
                Some(summary)
            }
            Had::Not(why) => {
                counter("extractive");
                let path = task.wanted.path();
                self.missing.get_or_insert_with(|| format!("{path}: {why}"));
                None
            }
        }
    }
}

impl Away {
    fn over(&self) {
        if let Some(since) = self.lock().take() {
            tracing::info!(
                seconds = since.elapsed().as_secs(),
                "the model for summaries is back"
            );
        }
    }

    /// Whether no call has come through for so long; said once when it begins.
    fn for_longer_than(&self, patience: Duration, why: &str) -> bool {
        let mut since = self.lock();
        if since.is_none() {
            tracing::warn!(
                why,
                "the model for summaries is away: documents that need one wait"
            );
        }
        since.get_or_insert_with(Instant::now).elapsed() >= patience
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Instant>> {
        self.since.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Positions of sections, those that have none of the others below them first.
fn levels(wanted: &[WantedSummary]) -> Vec<Vec<usize>> {
    // Those above come before those below, so that what is open at one is above it.
    let mut open: Vec<usize> = Vec::new();
    let mut by_depth: Vec<Vec<usize>> = Vec::new();
    for (at, one) in wanted.iter().enumerate() {
        let is_above = |above: &usize| {
            let above = wanted.get(*above).map(|above| above.range.end);
            above.is_some_and(|end| end > one.range.start)
        };
        while open.last().is_some_and(|above| !is_above(above)) {
            open.pop();
        }
        if by_depth.len() <= open.len() {
            by_depth.push(Vec::new());
        }
        if let Some(level) = by_depth.get_mut(open.len()) {
            level.push(at);
        }
        open.push(at);
    }
    by_depth.reverse();
    by_depth
}
