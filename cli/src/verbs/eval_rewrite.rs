//! `tributary eval rewrite --set FILE.jsonl`: how well follow-ups are completed, by rules and by the
//! model of the role `understand`.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use tributary_eval::rewrite::{self, Part, RewriteReport, Way};
use tributary_models::chat::{ChatModels, Role, SharedObserver, Unobserved};
use tributary_models::prompts::Prompts;
use tributary_models::tokens::estimate::EstimatedTokens;
use tributary_retrieval::prompts::PROMPTS;
use tributary_retrieval::{AnalyzerSource, Understander, UnderstanderParts};
use tributary_schemas::{Error, ErrorKind};
use tributary_taxonomy::{Analyzer, Lexicon};

use super::eval::Bars;
use crate::app;
use crate::args::{EvalRewrite, PartChoice};
use crate::config::Config;
use crate::print::{self, Outcome};

/// Runs and prints the report.
pub fn run(config: &Config, eval: &EvalRewrite) -> Result<Outcome> {
    let part = match eval.part {
        PartChoice::All => Part::All,
        PartChoice::First => Part::First,
        PartChoice::Second => Part::Second,
    };
    let follow_ups = rewrite::read(&eval.set, part)?;
    let rules = understander(config, ChatModels::default())?;
    let model = match eval.model {
        true => Some(understander(config, model(config)?)?),
        false => None,
    };
    let mut ways = vec![Way {
        name: "rules",
        understander: &rules,
    }];
    ways.extend(model.as_ref().map(|understander| Way {
        name: "model",
        understander,
    }));
    let name = eval.set.display().to_string();
    let bars = Bars::default();
    let report =
        app::block_on(async { anyhow::Ok(rewrite::run(&name, &follow_ups, &ways, &bars).await) })?;
    if let Some(file) = &eval.rewritten {
        write(&report, file)?;
    }
    print::result(eval.output, &report, || describe(&report))?;
    Ok(Outcome::Done)
}

/// With the lexicon and the analyzer that the configuration names.
fn understander(config: &Config, chat: ChatModels) -> Result<Understander> {
    let lexicon = Lexicon::from_files(&config.taxonomy.lexicon_files)?;
    let synonyms = Arc::new(lexicon.synonyms().clone());
    let analyzer = Analyzer::new(&config.taxonomy.analyzer, lexicon)?;
    let prompts = Prompts::load(
        &[&PROMPTS, &tributary_enrich::prompts::PROMPTS],
        config.models.chat.prompts_folder(),
    )?;
    Ok(Understander::new(UnderstanderParts {
        analyzer: AnalyzerSource::Fixed(Arc::new(analyzer)),
        synonyms,
        chat: Arc::new(chat),
        prompts: Arc::new(prompts),
        config: config.query_api.retrieval.understanding,
    }))
}

fn model(config: &Config) -> Result<ChatModels> {
    let observer: SharedObserver = Arc::new(Unobserved);
    let tokens = Arc::new(EstimatedTokens) as Arc<_>;
    let chat = ChatModels::open(&config.models.chat, &tokens, &observer)?;
    if chat.role(Role::Understand).is_some() {
        return Ok(chat);
    }
    Err(
        Error::new(ErrorKind::Invalid, "no model has the role `understand`")
            .with_hint("name its endpoint in models.chat.roles.understand.endpoint")
            .into(),
    )
}

fn write(report: &RewriteReport, file: &Path) -> Result<()> {
    let mut text = String::new();
    for line in &report.rewritten {
        text.push_str(&serde_json::to_string(line)?);
        text.push('\n');
    }
    std::fs::write(file, text).with_context(|| format!("write {}", file.display()))
}

fn describe(report: &RewriteReport) -> String {
    let mut text = format!("{}: {} questions\n", report.set, report.questions);
    for (way, scores) in &report.ways {
        write!(
            text,
            "{way:6} exact match {:.4}  ROUGE-L {:.4}  unchanged {:.4}",
            scores.exact_match, scores.rouge_l, scores.unchanged
        )
        .ok();
        if way != "none" {
            write!(text, "  p50 {:.1} ms", scores.p50_ms).ok();
        }
        if scores.degraded > 0.0 {
            write!(text, "  by rules after all {:.4}", scores.degraded).ok();
        }
        text.push('\n');
    }
    text
}
