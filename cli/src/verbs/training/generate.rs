//! `tributary training generate`: questions by the model of the role `generate`, or by rules.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Result;
use futures::StreamExt;
use indicatif::ProgressBar;
use serde::Serialize;
use tributary_eval::training::folder::GenerationFolder;
use tributary_eval::training::generate::{Asked, Generator, QuestionLanguage};
use tributary_eval::training::{Failure, Language, TrainingPassage, rules, shuffle};
use tributary_models::chat::{ChatModels, Role, SharedObserver, Unobserved};
use tributary_models::prompts::Prompts;
use tributary_models::tokens::estimate::EstimatedTokens;
use tributary_schemas::{Error, ErrorKind};

use super::passages::{self, Read};
use crate::app::{self, PROMPT_SETS};
use crate::args::{GenerateTraining, Global, QuestionLanguageChoice, Service};
use crate::client::Client;
use crate::config::Config;
use crate::print::{self, Outcome};
use crate::verbs::NO_DOCUMENT;

/// What a run did; `--format json` prints it.
#[derive(Debug, Default, Serialize)]
struct Report {
    documents: usize,
    passages: usize,
    left_out: BTreeMap<&'static str, usize>,
    done_before: usize,
    asked: usize,
    without_questions: BTreeMap<String, usize>,
    new_questions: usize,
    questions: usize,
    calls: usize,
    ended_early: Option<String>,
}

/// Who makes questions.
enum Maker {
    Model(Generator),
    Rules { per_passage: usize },
}

/// Reads the passages, and has questions made of those that have none.
pub fn run(global: &Global, config: &Config, wanted: &GenerateTraining) -> Result<Outcome> {
    let maker = Maker::choose(config, wanted)?;
    let mut folder = GenerationFolder::open(&wanted.output_folder, wanted.again)?;
    let client = Client::connect(global, config, &[Service::Query])?;
    let read = passages::read(&client, wanted)?;
    client.close()?;
    if read.passages.is_empty() {
        return Err(nothing_to_ask_about(&read));
    }
    GenerationFolder::write_passages(&wanted.output_folder, &read.passages)?;
    let mut report = Report {
        documents: read.documents,
        passages: read.passages.len(),
        left_out: read.left_out,
        ..Report::default()
    };
    let mut chosen = read.passages;
    shuffle(&mut chosen, wanted.seed);
    chosen.truncate(wanted.limit.unwrap_or(usize::MAX));
    let left = maker.left(chosen, &folder, &mut report)?;
    let bar = print::progress_bar((report.done_before + left.len()) as u64, "asking");
    bar.set_position(report.done_before as u64);
    let mut kept = Kept {
        folder: &mut folder,
        report: &mut report,
        bar: &bar,
    };
    let made = maker.make(&left, &mut kept);
    bar.finish_and_clear();
    made?;
    report.questions = folder.questions;
    print::result(wanted.output, &report, || describe(&report, wanted))?;
    Ok(outcome(&report, wanted))
}

fn nothing_to_ask_about(read: &Read) -> anyhow::Error {
    let left_out: usize = read.left_out.values().sum();
    let message = match left_out {
        0 => NO_DOCUMENT.to_owned(),
        _ => format!("none of {left_out} passages can be asked about"),
    };
    let hint = "`tributary documents list` shows what is there; --shortest takes shorter passages";
    Error::new(ErrorKind::NotFound, message)
        .with_hint(hint)
        .into()
}

/// Passages that the rules say nothing to are no failure: not all have a title or a definition.
fn outcome(report: &Report, wanted: &GenerateTraining) -> Outcome {
    let failed: usize = report.without_questions.values().sum();
    match (wanted.by_rules, &report.ended_early) {
        (true, _) => Outcome::Done,
        (false, Some(_)) => Outcome::of(report.asked - failed, failed.max(1)),
        (false, None) => Outcome::of(report.asked - failed, failed),
    }
}

/// Where results go as they come.
struct Kept<'a> {
    folder: &'a mut GenerationFolder,
    report: &'a mut Report,
    bar: &'a ProgressBar,
}

impl Kept<'_> {
    fn keep(&mut self, asked: &Asked) -> Result<()> {
        self.folder.keep(&asked.outcome)?;
        self.report.asked += 1;
        self.report.calls += asked.calls;
        match &asked.outcome {
            Ok(pairs) => self.report.new_questions += pairs.len(),
            Err(failure) => {
                let reasons = &mut self.report.without_questions;
                *reasons.entry(failure.reason.clone()).or_default() += 1;
                if asked.ends_run {
                    self.report.ended_early = Some(failure.reason.clone());
                }
            }
        }
        self.bar.inc(1);
        Ok(())
    }
}

impl Maker {
    fn choose(config: &Config, wanted: &GenerateTraining) -> Result<Self> {
        let per_passage = usize::from(wanted.per_passage);
        if wanted.by_rules {
            return Ok(Self::Rules { per_passage });
        }
        let observer: SharedObserver = Arc::new(Unobserved);
        let tokens = Arc::new(EstimatedTokens) as Arc<_>;
        let chat = ChatModels::open(&config.models.chat, &tokens, &observer)?;
        let model = chat.role(Role::Generate).ok_or_else(no_model)?;
        let prompts = Prompts::load(&PROMPT_SETS, config.models.chat.prompts_folder())?;
        Ok(Self::Model(Generator {
            model,
            prompts: Arc::new(prompts),
            language: language(wanted.language),
            per_passage,
            input_characters: wanted.longest,
        }))
    }

    fn made_by(&self, passage: &TrainingPassage) -> Result<(String, String)> {
        match self {
            Self::Model(generator) => Ok(generator.made_by(passage)?),
            Self::Rules { .. } => Ok((rules::VERSION.to_owned(), rules::MODEL.to_owned())),
        }
    }

    /// Those that are not done, each with its place among all: where its kinds of questions begin.
    fn left(
        &self,
        chosen: Vec<TrainingPassage>,
        folder: &GenerationFolder,
        report: &mut Report,
    ) -> Result<Vec<(usize, TrainingPassage)>> {
        let mut left = Vec::new();
        for (place, passage) in chosen.into_iter().enumerate() {
            if folder.is_done(passage.chunk_id, &self.made_by(&passage)?) {
                report.done_before += 1;
            } else {
                left.push((place, passage));
            }
        }
        Ok(left)
    }

    fn make(&self, left: &[(usize, TrainingPassage)], kept: &mut Kept<'_>) -> Result<()> {
        match self {
            Self::Model(generator) => app::block_on(ask_model(generator, left, kept)),
            Self::Rules { per_passage } => {
                let mut made = left
                    .iter()
                    .map(|(_, passage)| by_rules(passage, *per_passage));
                made.try_for_each(|asked| kept.keep(&asked))
            }
        }
    }
}

/// Asks as many at a time as the endpoint takes. What was kept stays when the process is ended.
async fn ask_model(
    generator: &Generator,
    left: &[(usize, TrainingPassage)],
    kept: &mut Kept<'_>,
) -> Result<()> {
    let asked = left
        .iter()
        .map(|(place, passage)| generator.ask(passage, *place));
    let mut asked =
        futures::stream::iter(asked).buffer_unordered(generator.model.endpoint().parallel());
    while let Some(asked) = asked.next().await {
        let asked = asked?;
        kept.keep(&asked)?;
        if asked.ends_run {
            break;
        }
    }
    Ok(())
}

fn by_rules(passage: &TrainingPassage, per_passage: usize) -> Asked {
    let pairs = rules::questions(passage, per_passage);
    let outcome = match pairs.is_empty() {
        false => Ok(pairs),
        true => Err(Failure {
            chunk_id: passage.chunk_id,
            document_id: passage.document_id.clone(),
            prompt: rules::VERSION.to_owned(),
            model: rules::MODEL.to_owned(),
            reason: "no rule makes a question of it".to_owned(),
            is_settled: true,
        }),
    };
    Asked {
        outcome,
        ends_run: false,
        calls: 0,
    }
}

fn no_model() -> Error {
    Error::new(ErrorKind::Invalid, "no model has the role `generate`").with_hint(
        "set models.chat.endpoint.url and .model to any OpenAI-compatible server (deploy/services/chat start runs a small \
         one), or name another endpoint in models.chat.roles.generate.endpoint; --by-rules needs none",
    )
}

fn language(choice: QuestionLanguageChoice) -> QuestionLanguage {
    match choice {
        QuestionLanguageChoice::Passage => QuestionLanguage::OfPassage,
        QuestionLanguageChoice::Other => QuestionLanguage::Other,
        QuestionLanguageChoice::En => QuestionLanguage::Fixed(Language::En),
        QuestionLanguageChoice::Zh => QuestionLanguage::Fixed(Language::Zh),
    }
}

fn describe(report: &Report, wanted: &GenerateTraining) -> String {
    let mut lines = vec![format!(
        "{} of {}",
        print::count(report.passages, "passage"),
        print::count(report.documents, "document")
    )];
    let counted = |(why, count): (&&str, &usize)| format!("  left out: {count} {why}");
    lines.extend(report.left_out.iter().map(counted));
    lines.push(format!(
        "asked about {} now, {} before; {}",
        report.asked,
        report.done_before,
        print::count(report.calls, "call")
    ));
    let failed = |(why, count): (&String, &usize)| format!("  without questions: {count}, {why}");
    lines.extend(report.without_questions.iter().map(failed));
    if let Some(why) = &report.ended_early {
        lines.push(format!(
            "ended early: {why}\n  the same command goes on where this ended"
        ));
    }
    lines.push(format!(
        "{} new, {} in {}",
        print::count(report.new_questions, "question"),
        report.questions,
        wanted.output_folder.display()
    ));
    lines.join("\n")
}
