//! Summaries by a language model, those of deeper sections first.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tributary_models::TokenCounter;
use tributary_models::chat::{ChatRequest, RoleModel};
use tributary_models::prompts::{Prompt, Prompts};
use tributary_schemas::Result;
use tributary_store::blobs::Blobs;
use tributary_taxonomy::language::is_chinese;

use super::WantedSummary;
use super::input::section_text;
use crate::config::SummariesConfig;
use crate::prompts::{
    SECTION_SUMMARY, SectionSummary, SectionToSummarize, prompt_ids, variant_ids,
};
use crate::writing::check::{Expected, accept};
use crate::writing::{Asking, Task, TextCounter, Writer, WriterParts, Written, WrittenKind};

/// Tokens of the reply beside the summary: JSON, and what escaping adds.
const TOKENS_AROUND: usize = 64;

/// Writes summaries. Shared by all generations that have them written by a model.
pub struct SummaryWriter {
    writer: Writer,
    prompts: Arc<Prompts>,
    input_tokens: usize,
}

/// What stands for sections, by where they begin.
type Made = Arc<HashMap<usize, String>>;

/// One summary that is to be written.
struct SummaryTask<'a> {
    wanted: &'a WantedSummary,
    text: String,
    must_be_chinese: bool,
    prompt: Arc<Prompt>,
}

impl SummaryWriter {
    /// Asks this model as configured, and caches what it writes in the blob store.
    pub fn new(
        model: Arc<RoleModel>,
        prompts: Arc<Prompts>,
        blobs: Blobs,
        config: SummariesConfig,
        counter: TextCounter,
    ) -> Self {
        let writer = Writer::new(WriterParts {
            what: WrittenKind::Summary.setting(),
            model,
            blobs,
            patience: Duration::from_secs(config.patience_seconds),
            counter,
        });
        Self {
            writer,
            prompts,
            input_tokens: config.input_tokens,
        }
    }

    /// Has patience anew with a model that was away.
    pub fn expect_back(&self) {
        self.writer.expect_back();
    }

    /// Who writes: model and prompts. Shapes what is written, as part of `lineage.chunker`.
    pub fn name(&self) -> String {
        self.name_as(None)
    }

    /// The same with a variant of the prompts.
    pub fn name_as(&self, variant: Option<&str>) -> String {
        let names = WrittenKind::Summary.prompts();
        let ids = match variant {
            None => prompt_ids(&self.prompts, names),
            variant => variant_ids(&self.prompts, names, variant),
        };
        format!("{}/{}", self.writer.model_name(), ids.join("/"))
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
        self.write_as(&Asking::default(), markdown, wanted, tokens, progress)
            .await
    }

    /// The same, asked in a way of the document's own.
    pub async fn write_as(
        &self,
        asking: &Asking<'_>,
        markdown: &Arc<str>,
        wanted: &[WantedSummary],
        tokens: &Arc<dyn TokenCounter>,
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<Written> {
        let mut written = Written::none_of(wanted.len());
        let mut made = Made::default();
        let mut done = 0;
        progress(done, wanted.len());
        for level in levels(wanted) {
            let variant = asking.variant;
            let tasks = self
                .tasks(variant, markdown, wanted, &level, &made, tokens)
                .await?;
            let had = self.writer.have_all(&tasks, tokens, asking).await?;
            for ((at, task), had) in level.iter().zip(&tasks).zip(had) {
                done += 1;
                let summary = written.keep(*at, had, &|| task.name());
                let shown = summary.unwrap_or(&task.wanted.extractive).to_owned();
                Arc::make_mut(&mut made).insert(task.wanted.range.start, shown);
            }
            progress(done, wanted.len());
        }
        Ok(written)
    }

    /// What is asked for the sections of one level. Counting tokens is work for a thread of its
    /// own.
    async fn tasks<'a>(
        &self,
        variant: Option<&str>,
        markdown: &Arc<str>,
        wanted: &'a [WantedSummary],
        level: &[usize],
        made: &Made,
        tokens: &Arc<dyn TokenCounter>,
    ) -> Result<Vec<SummaryTask<'a>>> {
        let mut tasks = Vec::with_capacity(level.len());
        for wanted in level.iter().filter_map(|at| wanted.get(*at)) {
            let room = self.room(variant, wanted).await?;
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
            tasks.push(SummaryTask {
                wanted,
                must_be_chinese,
                prompt: self
                    .prompts
                    .get_variant(SECTION_SUMMARY, variant, Some(language))?,
                text,
            });
        }
        Ok(tasks)
    }

    /// Tokens of a section's text that fit into the model's context beside the prompt's own.
    async fn room(&self, variant: Option<&str>, wanted: &WantedSummary) -> Result<usize> {
        let prompt = self
            .prompts
            .get_variant(SECTION_SUMMARY, variant, Some("zh"))?;
        let room = self
            .writer
            .room_beside(&request(&prompt, wanted, "")?)
            .await?;
        Ok(self.input_tokens.min(room).max(1))
    }
}

fn request(prompt: &Prompt, wanted: &WantedSummary, text: &str) -> Result<ChatRequest> {
    let values = SectionToSummarize {
        path: &wanted.path(),
        text,
        limit_tokens: wanted.limit_tokens,
    };
    prompt.request(values, wanted.limit_tokens * 2 + TOKENS_AROUND)
}

impl Task for SummaryTask<'_> {
    type Reply = SectionSummary;

    fn name(&self) -> String {
        self.wanted.path()
    }

    fn prompt_id(&self) -> String {
        self.prompt.id()
    }

    fn shown(&self) -> &str {
        &self.text
    }

    fn limit_tokens(&self) -> usize {
        self.wanted.limit_tokens
    }

    fn request(&self, shown: &str) -> Result<ChatRequest> {
        request(&self.prompt, self.wanted, shown)
    }

    fn text<'r>(&self, reply: &'r SectionSummary) -> &'r str {
        &reply.summary
    }

    fn check(&self, text: &str, tokens: &dyn TokenCounter) -> std::result::Result<(), String> {
        let expected = Expected {
            what: "summary",
            of: "section",
            limit_tokens: self.wanted.limit_tokens,
            must_be_chinese: self.must_be_chinese,
        };
        accept(text, &expected, tokens)
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
