//! `tributary eval run --set DIR`: the real pipeline on an evaluation set, in a data folder of its
//! own.

use std::cell::RefCell;
use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::path::Path;

use anyhow::{Context, Result, anyhow, ensure};
use indicatif::ProgressBar;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tributary_eval::runner::Pipeline;
use tributary_eval::{EvaluationSet, Progress, Report};
use tributary_models::EmbedderKind;
use tributary_schemas::{Error, ErrorKind, State};
use tributary_store::data_folder;
use tributary_store::evaluations::FOLDER;
use tributary_store::manifest::documents::Documents;
use tributary_store::manifest::table::DocumentRow;

use super::eval_folder::OwnFolder;
use super::{eval_diagnosis, eval_runs};
use crate::app::{self, App};
use crate::args::{EmbedderChoice, EvalRun, Global, Service};
use crate::config::Config;
use crate::print::{self, Interrupted, Outcome};

/// Lines of what is left out that a person is shown.
pub(super) const SHOWN_LEFT_OUT: usize = 20;
const STAGES: [Service; 4] = [
    Service::Ingest,
    Service::Chunk,
    Service::Embed,
    Service::Index,
];

/// Runs and prints the report. With `--data-dir` the folder is kept, and unchanged documents are
/// not embedded again; one that holds other documents is refused.
pub fn run(global: &Global, config: &Config, eval: &EvalRun) -> Result<Outcome> {
    super::eval_answers::check_level(eval)?;
    let set = EvaluationSet::read(&eval.set, &eval.queries, &eval.qrels, &eval.source)?;
    tell_left_out(&set);
    let faults = set.mostly_faulty().filter(|_| !eval.fail_under.is_empty());
    let set = limited(set, eval.limit);
    let told = set.left_out.clone();
    let store = eval_runs::store(config, &eval.store);
    store.prepare()?;
    if let Some(file) = &eval.cases {
        eval_runs::prepare_cases(file)?;
    }
    check_top_k(eval, config)?;
    let own_folder = OwnFolder::choose(global)?;
    let config = own_config(config, eval.embedder, &own_folder.path);
    let mut report = app::block_on(evaluate(&set, &config, eval))?;
    // What cannot be kept is shown all the same.
    let cases = eval.cases.as_deref();
    let written = cases.map_or(Ok(()), |file| eval_runs::write_cases(file, &report.cases));
    let kept = store.keep(&mut report, &eval.queries);
    print::result(eval.output, &report, || describe(&report, &told))?;
    written.and(kept)?;
    let misses = eval.fail_under.iter();
    let misses = misses.filter_map(|least| least.miss(&report));
    let misses: Vec<String> = misses.chain(faults).collect();
    for miss in &misses {
        print::note(&format!("failed under: {miss}"));
    }
    Ok(match (misses.is_empty(), report.ingest.dead) {
        (false, _) => Outcome::Failed,
        (true, 0) => Outcome::Done,
        (true, _) => Outcome::PartlyFailed,
    })
}

/// Says what of a set cannot be used, before anything of it is published.
pub(super) fn tell_left_out(set: &EvaluationSet) {
    if let Some(text) = left_out(&set.left_out) {
        print::note(&text);
    }
}

/// What is left out, a line each, for a person: the first ones, where there are many.
pub(super) fn left_out(lines: &[String]) -> Option<String> {
    let mut shown: Vec<String> = lines.iter().take(SHOWN_LEFT_OUT).cloned().collect();
    let more = lines.len().saturating_sub(SHOWN_LEFT_OUT);
    if more > 0 {
        shown.push(format!("and {more} more"));
    }
    let text = format!("left out {}: {}", lines.len(), shown.join("\n         "));
    (!lines.is_empty()).then_some(text)
}

/// What is left out beside what was told before.
pub(super) fn left_out_since(lines: &[String], told: &[String]) -> Option<String> {
    let told: HashSet<&String> = told.iter().collect();
    let news: Vec<String> = lines
        .iter()
        .filter(|line| !told.contains(line))
        .cloned()
        .collect();
    left_out(&news)
}

fn limited(mut set: EvaluationSet, limit: Option<NonZeroUsize>) -> EvaluationSet {
    set.questions
        .truncate(limit.map_or(usize::MAX, NonZeroUsize::get));
    set
}

/// More hits than a search may have would be counted as fewer without a word.
pub(super) fn check_top_k(eval: &EvalRun, config: &Config) -> Result<()> {
    let (wanted, most) = (eval.top_k.get(), config.query_api.retrieval.maximum_top_k);
    ensure!(
        wanted <= most,
        "--top-k {wanted} is more than query_api.retrieval.maximum_top_k, which is {most}"
    );
    Ok(())
}

async fn evaluate(set: &EvaluationSet, config: &Config, eval: &EvalRun) -> Result<Report> {
    in_pipeline(set, config, &[], async |pipeline, parts| {
        let evidence_within = eval.top_k.get();
        let mut settings = settings(config, parts);
        if let Some(settings) = settings.as_object_mut() {
            settings.insert("asked".to_owned(), asked(eval, evidence_within));
        }
        let pipeline = Pipeline {
            evidence_within,
            fold: eval.fold,
            understander: eval.understand.then_some(parts.asker.understander()),
            ..pipeline
        };
        tributary_eval::run(set, &pipeline, settings, &Bars::default()).await
    })
    .await
}

/// What the command line says of how questions are asked and scored: two runs with other words
/// here are not of the same settings. Which questions are asked is no setting.
fn asked(eval: &EvalRun, top_k: usize) -> Value {
    json!({
        "top_k": top_k,
        "fold": eval.fold,
        "understand": eval.understand,
        "source": eval.source,
    })
}

/// Runs the services on the configured data folder, which holds no document beside those of the
/// set, for as long as `work` takes.
pub(super) async fn in_pipeline<T>(
    set: &EvaluationSet,
    config: &Config,
    may_differ: &[&str],
    work: impl AsyncFnOnce(Pipeline<'_>, &app::Parts) -> Result<T>,
) -> Result<T> {
    let app = App::start(config, &STAGES, None)
        .await
        .map_err(|error| beside_a_server(error, config))?;
    let parts = app.parts();
    let shutdown = app.shutdown();
    let mut running = tokio::spawn(app.run());
    let pipeline = Pipeline {
        documents: parts.documents.clone(),
        retriever: &parts.retriever,
        index: parts.stores.index.as_ref(),
        topics: parts.stores.topics.clone(),
        evidence_within: config.query_api.retrieval.maximum_top_k,
        top_k: config.query_api.retrieval.maximum_top_k,
        fold: false,
        understander: None,
    };
    let worked = async {
        is_built_as_configured(&parts, config, may_differ)?;
        holds_nothing_else(&parts.documents, set, config).await?;
        work(pipeline, &parts).await
    };
    let mut has_ended = false;
    let worked = unless_ended(worked, &mut running, &mut has_ended);
    let result = tokio::select! {
        result = worked => result,
        // So that a temporary folder goes.
        _ = tokio::signal::ctrl_c() => Err(Interrupted("stopped before there was a report").into()),
    };
    shutdown.cancel();
    if !has_ended {
        running.await.context("the pipeline panicked")??;
    }
    result
}

/// What comes of work in a pipeline, or why the pipeline ended before: what it waits for would never
/// come.
async fn unless_ended<T>(
    work: impl Future<Output = Result<T>>,
    running: &mut JoinHandle<Result<()>>,
    has_ended: &mut bool,
) -> Result<T> {
    tokio::select! {
        result = work => result,
        ended = running => {
            *has_ended = true;
            let early = "the pipeline ended before there was a report";
            ended.context("the pipeline panicked")?.context(early)?;
            Err(anyhow!(early))
        }
    }
}

/// A kept index goes on under the settings that it was built with: what it measures would be said of
/// others. `may_differ` has the names of those that do not matter.
fn is_built_as_configured(parts: &app::Parts, config: &Config, may_differ: &[&str]) -> Result<()> {
    let mut outdated = parts.pipelines.outdated()?;
    outdated.retain(|setting| !may_differ.contains(&setting.as_str()));
    if outdated.is_empty() {
        return Ok(());
    }
    let folder = &config.store.data_folder;
    let message = format!(
        "the index that is kept in {folder} was built with other settings than the configuration has now: {}",
        outdated.join(", ")
    );
    let hint = format!(
        "`tributary knowledge-sets reindex --all --wait --data-dir {folder}` builds it anew and embeds only what changed; or remove the folder"
    );
    Err(Error::new(ErrorKind::Conflict, message)
        .with_hint(hint)
        .into())
}

/// Whose server is asked to show a run names its folder, which it holds: `--store` is meant.
fn beside_a_server(error: anyhow::Error, config: &Config) -> anyhow::Error {
    let folder = Path::new(&config.store.data_folder);
    let is_served = data_folder::running_server(folder).is_some();
    match error.downcast::<Error>() {
        Ok(error) if is_served && error.kind() == ErrorKind::Conflict => {
            let runs = folder.join(FOLDER);
            let hint = format!(
                "an evaluation works in a data folder of its own: leave out --data-dir (and TRIBUTARY_DATA_DIR); `eval run --store {}` keeps the run where that server shows it",
                runs.display()
            );
            error.with_hint(hint).into()
        }
        Ok(error) => error.into(),
        Err(error) => error,
    }
}

/// Documents beside those of the set would be found too, and those of the set would stay among
/// them.
async fn holds_nothing_else(
    documents: &Documents,
    set: &EvaluationSet,
    config: &Config,
) -> Result<()> {
    let known: HashSet<&str> = set
        .documents
        .iter()
        .filter_map(|event| event.document_id.as_deref())
        .collect();
    let rows = documents.all().await?;
    let is_other = |row: &&DocumentRow| {
        row.latest.state != State::Deleted && !known.contains(row.latest.document_id.as_str())
    };
    let others: Vec<&DocumentRow> = rows.iter().filter(is_other).collect();
    let Some(first) = others.first() else {
        return Ok(());
    };
    let message = format!(
        "{} holds {} documents that are not of this set, such as `{}`",
        config.store.data_folder,
        others.len(),
        first.latest.document_id
    );
    let hint = "the evaluation would be published beside them; leave out --data-dir (and TRIBUTARY_DATA_DIR), or name a folder of its own";
    Err(Error::new(ErrorKind::Conflict, message)
        .with_hint(hint)
        .into())
}

pub(super) fn settings(config: &Config, parts: &app::Parts) -> Value {
    let pipeline = parts.pipelines.serving();
    json!({
        "coarse_model": pipeline.models.embedder.coarse_name(),
        "fine_model": pipeline.models.embedder.fine_name(),
        "degraded": pipeline.models.degraded,
        "analyzer": pipeline.analyzer.fingerprint(),
        "retrieval": config.query_api.retrieval,
        "chunker": pipeline.recipe.chunkers,
    })
}

/// Models are taken from where they would be without the folder of its own.
pub(super) fn own_config(
    config: &Config,
    embedder: Option<EmbedderChoice>,
    folder: &Path,
) -> Config {
    let mut own = Config {
        origin: None,
        ..config.clone()
    };
    own.models.search_folders.insert(
        0,
        Path::new(&config.store.data_folder)
            .join("models")
            .display()
            .to_string(),
    );
    own.store.data_folder = folder.display().to_string();
    match embedder {
        Some(EmbedderChoice::Onnx) => own.models.kind = EmbedderKind::Onnx,
        Some(EmbedderChoice::Hashing) => own.models.kind = EmbedderKind::Hashing,
        None => {}
    }
    own
}

/// One bar per step.
#[derive(Default)]
pub(super) struct Bars {
    current: RefCell<Option<(String, ProgressBar)>>,
}

impl Progress for Bars {
    fn at(&self, step: &str, done: usize, of: usize) {
        let mut current = self.current.borrow_mut();
        if current.as_ref().is_none_or(|(name, _)| name != step) {
            if let Some((_, bar)) = current.take() {
                bar.finish_and_clear();
            }
            *current = Some((step.to_owned(), print::progress_bar(of as u64, step)));
        }
        if let Some((_, bar)) = current.as_ref() {
            bar.set_position(done as u64);
            if done == of {
                bar.finish_and_clear();
            }
        }
    }
}

/// The report for people, who were `told` before it began what is left out of the set.
fn describe(report: &Report, told: &[String]) -> String {
    let last = &report.tiers.last;
    let total = report
        .latency_ms
        .get("total")
        .map(|latency| format!("p50 {:.1} ms, p95 {:.1} ms", latency.p50, latency.p95));
    let mut lines = vec![
        format!(
            "{}: {} documents, {} questions",
            report.set, report.documents, report.queries
        ),
        format!(
            "coarse  recall {:.4}  of {:.0} candidates",
            report.tiers.coarse.recall, report.tiers.coarse.candidates
        ),
        format!(
            "fine    recall {:.4}  of {:.0} candidates",
            report.tiers.fine.recall, report.tiers.fine.candidates
        ),
        format!(
            "final   nDCG@10 {:.4}  MRR@10 {:.4}  recall@10 {:.4}  recall@20 {:.4}",
            last.ndcg_10, last.mrr_10, last.recall_10, last.recall_20
        ),
        format!(
            "        hit@1 {:.4}  hit@3 {:.4}  hit@5 {:.4}  hit@10 {:.4}",
            last.hit_1, last.hit_3, last.hit_5, last.hit_10
        ),
        format!("latency {}", total.unwrap_or_default()),
        format!(
            "ingest  {:.1} s, {:.1} documents/s",
            report.ingest.seconds, report.ingest.documents_per_second
        ),
    ];
    lines.extend(eval_diagnosis::lines(&report.diagnosis));
    if let Some(run) = &report.run {
        lines.push(format!("kept as {run} (tributary eval runs)"));
    }
    lines.extend(left_out_since(&report.left_out, told));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        eval: EvalRun,
    }

    #[tokio::test]
    async fn work_does_not_wait_for_a_pipeline_that_has_ended() {
        let mut has_ended = false;
        let mut running = tokio::spawn(async { Err(anyhow!("a full disk")) });
        let waiting = std::future::pending::<Result<()>>();
        let ended = unless_ended(waiting, &mut running, &mut has_ended).await;
        let said = ended.err().map(|error| format!("{error:#}"));
        assert_eq!(
            said.as_deref(),
            Some("the pipeline ended before there was a report: a full disk")
        );
        assert!(has_ended);

        let mut has_ended = false;
        let mut running = tokio::spawn(std::future::pending());
        let worked = unless_ended(async { Ok(7) }, &mut running, &mut has_ended);
        assert_eq!(worked.await.ok(), Some(7));
        assert!(!has_ended);
    }

    #[test]
    fn what_was_asked_for_is_part_of_the_settings_and_the_questions_are_not() {
        let asked_by = |words: &[&str]| {
            let line = Line::parse_from(["run", "--set", "s"].iter().chain(words));
            asked(&line.eval, line.eval.top_k.get())
        };
        let plain = asked_by(&[]);
        assert_eq!(plain, asked_by(&["--top-k", "20", "--limit", "3"]));
        for words in [
            &["--top-k", "1"][..],
            &["--fold"],
            &["--understand"],
            &["--source", "wiki"],
        ] {
            assert_ne!(plain, asked_by(words), "{words:?}");
        }
    }

    #[test]
    fn of_many_lines_that_are_left_out_the_first_are_shown() {
        let lines =
            |count: usize| -> Vec<String> { (0..count).map(|at| format!("l{at}")).collect() };
        assert_eq!(left_out(&[]), None);
        assert_eq!(
            left_out(&lines(2)).as_deref(),
            Some("left out 2: l0\n         l1")
        );
        let many = left_out(&lines(SHOWN_LEFT_OUT + 3)).unwrap_or_default();
        assert!(many.starts_with("left out 23: l0\n"), "{many}");
        assert!(many.ends_with(" l19\n         and 3 more"), "{many}");
    }
}
