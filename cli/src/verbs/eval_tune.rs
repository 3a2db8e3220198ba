//! `tributary eval tune --set DIR…`: fits the weight of the vector side to the questions of the
//! sets, and says what it is worth on questions that it was not fitted on.

use std::fmt::Write;
use std::fs;

use anyhow::{Context, Result, ensure};
use tributary_eval::EvaluationSet;
use tributary_eval::tune::{CONFIGURED, Collected, FOLDS, Gain, Rule, Tuning, Way, tune};

use super::eval::{Bars, OwnFolder, in_pipeline, own_config};
use crate::app;
use crate::args::{EvalTune, Global};
use crate::config::Config;
use crate::print::{self, Outcome};

const SECTION: &str = "query_api.retrieval.vector_weight";

/// Runs each set in a folder of its own (below `--data-dir`, if that is given), then fits all.
pub fn run(global: &Global, config: &Config, verb: &EvalTune) -> Result<Outcome> {
    let sets = verb.sets.iter();
    let sets = sets.map(|folder| EvaluationSet::read(folder, &verb.queries, &verb.qrels));
    let sets: Vec<EvaluationSet> = sets.collect::<Result<_>>()?;
    let own_folder = OwnFolder::choose(global)?;
    let mut collected = Collected::default();
    let mut model = String::new();
    for set in &sets {
        let config = own_config(config, verb.embedder, &own_folder.path.join(&set.name));
        let added = in_pipeline(set, &config, async |pipeline, parts| {
            let models = &parts.pipelines.serving().models;
            ensure!(
                models.degraded.is_empty(),
                "{} could not be loaded; what is fitted without it would not hold with it",
                models.degraded.join(" and ")
            );
            model = models.embedder.fine_name().to_owned();
            collected.add(set, &pipeline, &Bars::default()).await
        });
        app::block_on(added)?;
    }
    let configured = Rule::configured(&config.query_api.retrieval.vector_weight, &model);
    let tuning = tune(&collected, configured)?;
    let text = describe(&tuning, &model);
    if let Some(file) = &verb.write {
        fs::write(file, &text).with_context(|| format!("cannot write {}", file.display()))?;
    }
    print::result(verb.output, &tuning, || text)?;
    Ok(Outcome::Done)
}

/// A section of the configuration, with the figures and the way back as comments.
fn describe(tuning: &Tuning, model: &str) -> String {
    let mut text = String::new();
    describe_sets(tuning, &mut text);
    for way in &tuning.ways {
        describe_way(way, tuning, &mut text);
    }
    for reason in &tuning.left_out {
        writeln!(text, "# left out: {reason}").ok();
    }
    let (ways, before): (Vec<&Way>, Vec<&Way>) =
        tuning.ways.iter().partition(|way| way.name != CONFIGURED);
    let Some(before) = before.first().map(|way| way.rule) else {
        return text;
    };
    let kind = if tuning.best == CONFIGURED {
        text.push_str("# No way certainly gains over the configured one, which stays.\n");
        before.kind()
    } else {
        &tuning.best
    };
    let fitted: Vec<Rule> = match tuning.best == CONFIGURED {
        true => vec![before],
        false => ways.iter().map(|way| way.rule).collect(),
    };
    text.push('\n');
    text.push_str(&section(kind, &fitted, model));
    text.push_str("\n# What was configured, to go back to:\n");
    for line in section(before.kind(), &[before], model).lines() {
        writeln!(text, "# {line}").ok();
    }
    text
}

fn describe_sets(tuning: &Tuning, text: &mut String) {
    writeln!(
        text,
        "# nDCG@10 of tier 2 by the weight of the vector side; each question is scored by what was fitted\n\
         # without it ({FOLDS} folds), each set weighs alike."
    )
    .ok();
    for set in &tuning.sets {
        writeln!(
            text,
            "# {}: {}; in hindsight its best single weight is {:.3} with {:.4}",
            set.name,
            print::count(set.questions, "question"),
            set.own_best_weight,
            set.own_best_ndcg_10
        )
        .ok();
    }
}

fn describe_way(way: &Way, tuning: &Tuning, text: &mut String) {
    let gain = |gain: &Gain| format!("{:+.4} ({:+.4} to {:+.4})", gain.mean, gain.low, gain.high);
    let is_new = way.name != CONFIGURED;
    let gained = if is_new {
        gain(&way.gain)
    } else {
        way.rule.kind().to_owned()
    };
    writeln!(text, "#\n# {:10} {:.4}  {gained}", way.name, way.ndcg_10).ok();
    let by_set = tuning.sets.iter().zip(&way.by_set).zip(&way.gain_by_set);
    for ((set, score), gained) in by_set {
        let gained = if is_new { gain(gained) } else { String::new() };
        let line = format!("#   {:20} {score:.4}  {gained}", set.name);
        writeln!(text, "{}", line.trim_end()).ok();
    }
}

/// The section as TOML, with the numbers of these ways.
fn section(kind: &str, rules: &[Rule], model: &str) -> String {
    let mut text = format!("[{SECTION}]\nkind = \"{kind}\"\n");
    let is_adaptive = |rule: &&Rule| matches!(rule, Rule::Adaptive(_));
    let (below, here): (Vec<&Rule>, Vec<&Rule>) = rules.iter().partition(is_adaptive);
    for (key, value) in here.iter().flat_map(|rule| rule.parameters()) {
        writeln!(text, "{key} = {value:.3}").ok();
    }
    for rule in below {
        writeln!(text, "\n[{SECTION}.adaptive]\nmodel = \"{model}\"").ok();
        for (key, value) in rule.parameters() {
            writeln!(text, "{key} = {value:.3}").ok();
        }
    }
    text
}
