//! Descriptions by a language model: those of definitions first, as the summary of a file is made
//! from them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tributary_models::TokenCounter;
use tributary_models::chat::{ChatRequest, RoleModel};
use tributary_models::prompts::{Prompt, Prompts};
use tributary_schemas::Result;
use tributary_schemas::code_entry::Definition;
use tributary_store::blobs::Blobs;
use tributary_taxonomy::language::is_chinese;
use tributary_taxonomy::sentences::first_sentence;

use super::WantedDescription;
use crate::config::DescriptionsConfig;
use crate::prompts::{
    CODE_DESCRIPTION, CODE_FILE_SUMMARY, CodeDescription, CodeToDescribe, prompt_ids, variant_ids,
};
use crate::writing::check::{Expected, accept};
use crate::writing::{
    Asking, Task, TextCounter, Writer, WriterParts, Written, WrittenKind, beginning,
};

/// Tokens of the reply beside the description: JSON, and what escaping adds.
const TOKENS_AROUND: usize = 64;

/// Writes descriptions. Shared by all generations that have them written by a model.
pub struct DescriptionWriter {
    writer: Writer,
    prompts: Arc<Prompts>,
    config: DescriptionsConfig,
}

/// One description that is to be written.
struct DescriptionTask<'a> {
    wanted: &'a WantedDescription,
    prompt: Arc<Prompt>,
    shown: String,
    limit_tokens: usize,
    must_be_chinese: bool,
}

impl DescriptionWriter {
    /// Asks this model as configured, and caches what it writes in the blob store.
    pub fn new(
        model: Arc<RoleModel>,
        prompts: Arc<Prompts>,
        blobs: Blobs,
        config: DescriptionsConfig,
        counter: TextCounter,
    ) -> Self {
        let writer = Writer::new(WriterParts {
            what: "descriptions of code",
            model,
            blobs,
            patience: Duration::from_secs(config.patience_seconds),
            counter,
        });
        Self {
            writer,
            prompts,
            config,
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
        let names = WrittenKind::Description.prompts();
        let ids = match variant {
            None => prompt_ids(&self.prompts, names),
            variant => variant_ids(&self.prompts, names, variant),
        };
        format!("{}/{}", self.writer.model_name(), ids.join("/"))
    }

    /// Has the descriptions of a document's code written; short definitions keep what the chunker
    /// made of them. Waits for a model that is away, as long as it is patient; then, and for what
    /// the model cannot do, a description is missing. Fails only when the blob store is away.
    /// `progress` is told how many of all are there.
    pub async fn write(
        &self,
        wanted: &[WantedDescription],
        tokens: &Arc<dyn TokenCounter>,
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<Written> {
        self.write_as(&Asking::default(), wanted, tokens, progress)
            .await
    }

    /// The same, asked in a way of the document's own.
    pub async fn write_as(
        &self,
        asking: &Asking<'_>,
        wanted: &[WantedDescription],
        tokens: &Arc<dyn TokenCounter>,
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<Written> {
        let is_file = |at: &usize| {
            let wanted = wanted.get(*at);
            wanted.is_some_and(|wanted| wanted.entry.definition == Definition::File)
        };
        let is_long = |at: &usize| wanted.get(*at).is_some_and(|wanted| self.is_long(wanted));
        let (files, definitions): (Vec<usize>, Vec<usize>) = (0..wanted.len()).partition(is_file);
        let definitions: Vec<usize> = definitions.into_iter().filter(is_long).collect();
        let all = files.len() + definitions.len();
        let mut written = Written::none_of(wanted.len());
        let (mut done, mut told) = (0, HashMap::new());
        progress(done, all);
        for level in [definitions, files] {
            let variant = asking.variant;
            let tasks = self.tasks(variant, wanted, &level, &told, tokens).await?;
            let had = self.writer.have_all(&tasks, tokens, asking).await?;
            for ((at, task), had) in level.iter().zip(&tasks).zip(had) {
                done += 1;
                if let Some(text) = written.keep(*at, had, &|| task.name()) {
                    told.insert(*at, first_sentence(text).to_owned());
                }
            }
            progress(done, all);
        }
        Ok(written)
    }

    fn is_long(&self, wanted: &WantedDescription) -> bool {
        let lines = wanted
            .entry
            .end_line
            .saturating_sub(wanted.entry.start_line) as usize
            + 1;
        lines >= self.config.shortest_lines
    }

    /// What is asked for these positions; `told` has what was written before. Counting tokens is
    /// work for a thread of its own.
    async fn tasks<'a>(
        &self,
        variant: Option<&str>,
        wanted: &'a [WantedDescription],
        level: &[usize],
        told: &HashMap<usize, String>,
        tokens: &Arc<dyn TokenCounter>,
    ) -> Result<Vec<DescriptionTask<'a>>> {
        let mut tasks = Vec::with_capacity(level.len());
        for one in level.iter().filter_map(|at| wanted.get(*at)) {
            let is_file = one.entry.definition == Definition::File;
            let text = match is_file {
                true => format!("{}\n\n{}", one.text, definitions(wanted, told)),
                false => one.text.clone(),
            };
            let must_be_chinese = self.must_be_chinese(one);
            let language = if must_be_chinese { "zh" } else { "en" };
            let (name, limit_tokens) = match is_file {
                true => (CODE_FILE_SUMMARY, self.config.file_limit_tokens),
                false => (CODE_DESCRIPTION, self.config.limit_tokens),
            };
            let prompt = self.prompts.get_variant(name, variant, Some(language))?;
            let room = self.room(&prompt, one, limit_tokens).await?;
            let tokens = Arc::clone(tokens);
            let shown = move || Ok(beginning(text.trim(), room, tokens.as_ref()));
            tasks.push(DescriptionTask {
                wanted: one,
                prompt,
                shown: crate::blocking("chunk", shown).await?,
                limit_tokens,
                must_be_chinese,
            });
        }
        Ok(tasks)
    }

    fn must_be_chinese(&self, wanted: &WantedDescription) -> bool {
        match self.config.language.as_str() {
            "" => is_chinese(&wanted.entry.description),
            language => language == "zh",
        }
    }

    /// Tokens of code that fit into the model's context beside the prompt's own.
    async fn room(
        &self,
        prompt: &Prompt,
        wanted: &WantedDescription,
        limit_tokens: usize,
    ) -> Result<usize> {
        let around = request(prompt, wanted, "", limit_tokens)?;
        let room = self.writer.room_beside(&around).await?;
        Ok(self.config.input_tokens.min(room).max(1))
    }
}

/// One line a definition: its name, and the first sentence of what is said of it.
fn definitions(wanted: &[WantedDescription], told: &HashMap<usize, String>) -> String {
    let line = |(at, one): (usize, &WantedDescription)| {
        let said = told.get(&at).map(String::as_str);
        let said = said.unwrap_or_else(|| first_sentence(&one.entry.description));
        format!("- {}: {said}", one.entry.name)
    };
    let all = wanted.iter().enumerate();
    let all = all.filter(|(_, one)| one.entry.definition != Definition::File);
    all.map(line).collect::<Vec<_>>().join("\n")
}

fn request(
    prompt: &Prompt,
    wanted: &WantedDescription,
    text: &str,
    limit_tokens: usize,
) -> Result<ChatRequest> {
    let values = CodeToDescribe {
        path: &wanted.path,
        text,
        limit_tokens,
    };
    prompt.request(values, limit_tokens * 2 + TOKENS_AROUND)
}

impl Task for DescriptionTask<'_> {
    type Reply = CodeDescription;

    fn name(&self) -> String {
        self.wanted.path.clone()
    }

    fn prompt_id(&self) -> String {
        self.prompt.id()
    }

    fn shown(&self) -> &str {
        &self.shown
    }

    fn limit_tokens(&self) -> usize {
        self.limit_tokens
    }

    fn request(&self, shown: &str) -> Result<ChatRequest> {
        request(&self.prompt, self.wanted, shown, self.limit_tokens)
    }

    fn text<'r>(&self, reply: &'r CodeDescription) -> &'r str {
        &reply.description
    }

    fn check(&self, text: &str, tokens: &dyn TokenCounter) -> std::result::Result<(), String> {
        let expected = Expected {
            what: "description",
            of: "code",
            limit_tokens: self.limit_tokens,
            must_be_chinese: self.must_be_chinese,
        };
        accept(text, &expected, tokens)
    }
}
