//! `tributary eval tune --set DIR…`: fits the weight of the vector side and the numbers of BM25 to
//! the questions of the sets, and says what they are worth on questions that they were not fitted on.

use std::collections::HashSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use tributary_eval::EvaluationSet;
use tributary_eval::set::DEFAULT_SOURCE;
use tributary_eval::tune::{CONFIGURED, Collected, FOLDS, Gain, Keywords, Rule, Tuning, Way, tune};
use tributary_retrieval::{FEATURES, VectorWeight, WeightKind};
use tributary_store::config::SearchIndexKind;
use tributary_store::search_index::Bm25;

use super::eval::{Bars, SHOWN_LEFT_OUT, in_pipeline, own_config, tell_left_out};
use super::eval_folder::OwnFolder;
use crate::app;
use crate::args::{EvalTune, Global};
use crate::config::Config;
use crate::print::{self, Outcome};
use crate::verbs::own_files;

const SECTION: &str = "query_api.retrieval.vector_weight";
/// What the first line of a file says, before the hash of those below it.
const FIRST_LINE: &str = "# What tributary eval tune wrote. ";

/// Runs each set in a folder of its own (below `--data-dir`, if that is given), then fits all.
pub fn run(global: &Global, config: &Config, verb: &EvalTune) -> Result<Outcome> {
    if let Some(file) = &verb.write {
        let folder = file
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        let is_there = folder.is_none_or(Path::is_dir) && !file.is_dir();
        ensure!(is_there, "--write: {} cannot be a file", file.display());
        let hint = "name another file, and take over what you want of it";
        own_files::refuse_edited(file, FIRST_LINE, hint)?;
    }
    let sets = verb.sets.iter();
    let sets =
        sets.map(|folder| EvaluationSet::read(folder, &verb.queries, &verb.qrels, DEFAULT_SOURCE));
    let sets: Vec<EvaluationSet> = sets.collect::<Result<_>>()?;
    sets.iter().for_each(tell_left_out);
    let own_folder = OwnFolder::choose(global)?;
    let mut used = HashSet::new();
    let mut collected = Collected::new(config.enrich.bm25);
    let mut model = String::new();
    for set in &sets {
        let mut config = own_config(
            config,
            verb.embedder,
            &own_folder.of_set(&set.name, &mut used),
        );
        // It alone can be asked with other numbers of BM25; both kinds give the same order.
        config.store.search_index.kind = SearchIndexKind::Embedded;
        let added = in_pipeline(set, &config, &["bm25"], async |pipeline, parts| {
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
    let configured = &config.query_api.retrieval.vector_weight;
    let tuning = tune(&collected, Rule::configured(configured, &model))?;
    if let Some(said) = stand_in(configured, &model) {
        print::note(&said);
    }
    let text = describe(&tuning, configured, &model);
    if let Some(file) = &verb.write {
        let text = own_files::signed(FIRST_LINE, &text);
        fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))?;
    }
    print::result(verb.output, &tuning, || text)?;
    Ok(Outcome::Done)
}

/// A section of the configuration, with the figures and the way back as comments.
fn describe(tuning: &Tuning, configured: &VectorWeight, model: &str) -> String {
    let mut text = String::new();
    if let Some(said) = stand_in(configured, model) {
        writeln!(text, "# {said}").ok();
    }
    describe_sets(tuning, &mut text);
    for way in &tuning.ways {
        describe_way(way, tuning, &mut text);
    }
    for reason in tuning.left_out.iter().take(SHOWN_LEFT_OUT) {
        writeln!(text, "# left out: {reason}").ok();
    }
    if let Some(more @ 1..) = tuning.left_out.len().checked_sub(SHOWN_LEFT_OUT) {
        writeln!(text, "# left out: {more} more").ok();
    }
    describe_keywords(tuning, &mut text);
    let before = configured_section(configured);
    if tuning.best == CONFIGURED {
        text.push_str("#\n# No way certainly gains over the configured one, which stays:\n\n");
        text.push_str(&before);
        text.push_str(&keywords_section(&tuning.bm25));
        return text;
    }
    let fitted = tuning.ways.iter().filter(|way| way.name != CONFIGURED);
    let fitted: Vec<Rule> = fitted.map(|way| way.rule).collect();
    text.push('\n');
    text.push_str(&section(&tuning.best, &fitted, model));
    text.push_str("\n# What was configured, to go back to:\n");
    for line in before.lines() {
        writeln!(text, "{}", format!("# {line}").trim_end()).ok();
    }
    text.push_str(&keywords_section(&tuning.bm25));
    text
}

/// What other numbers of BM25 are worth.
fn describe_keywords(tuning: &Tuning, text: &mut String) {
    let found = &tuning.bm25;
    let Bm25 { k1, b } = found.configured;
    writeln!(
        text,
        "#\n# Numbers of BM25 instead of k1 = {k1}, b = {b}, weighed in the way `{}`, fitted and scored in the same way.",
        tuning.best
    )
    .ok();
    if found.fitted == found.configured {
        text.push_str("# No others are better.\n");
        return;
    }
    let Bm25 { k1, b } = found.fitted;
    writeln!(
        text,
        "# {:10} {:.4}  {}",
        format!("{k1} {b}"),
        found.ndcg_10,
        interval(&found.gain)
    )
    .ok();
    describe_by_set(tuning, &found.by_set, &found.gain_by_set, text);
    if !found.gains {
        text.push_str("# That is not certain, so they stay.\n");
    }
}

/// The section with the numbers of BM25, where others certainly gain.
fn keywords_section(found: &Keywords) -> String {
    if !found.gains {
        return String::new();
    }
    let (Bm25 { k1, b }, before) = (found.fitted, found.configured);
    format!(
        "\n# Holds from the next `tributary knowledge-sets reindex --all` on, which embeds nothing. It was k1 = {}, b = {}.\n\
         [enrich.bm25]\nk1 = {k1}\nb = {b}\n",
        before.k1, before.b
    )
}

/// Says that the configured coefficients do not hold with this embedding model, where that is so.
fn stand_in(configured: &VectorWeight, model: &str) -> Option<String> {
    let is_other = configured.kind == WeightKind::Adaptive && !configured.adapts(model);
    is_other.then(|| {
        format!(
            "{SECTION}.kind is \"adaptive\" for embedding models named {}…; this one is {model}, so that searches go \
             by length: \"{CONFIGURED}\" is that here",
            configured.adaptive.model
        )
    })
}

/// The section as it is configured, whichever kind takes effect.
fn configured_section(configured: &VectorWeight) -> String {
    let VectorWeight {
        kind,
        fixed,
        base,
        range,
        midpoint_tokens,
        slope_tokens,
        adaptive,
    } = configured;
    let kind = match kind {
        WeightKind::Fixed => "fixed",
        WeightKind::Length => "length",
        WeightKind::Adaptive => "adaptive",
    };
    let model = toml::Value::from(adaptive.model.as_str());
    let mut text = format!(
        "[{SECTION}]\nkind = \"{kind}\"\nfixed = {fixed:?}\nbase = {base:?}\nrange = {range:?}\n\
         midpoint_tokens = {midpoint_tokens:?}\nslope_tokens = {slope_tokens:?}\n\n\
         [{SECTION}.adaptive]\nmodel = {model}\nintercept = {:?}\n",
        adaptive.intercept
    );
    for (key, value) in FEATURES.into_iter().zip(adaptive.coefficients()) {
        writeln!(text, "{key} = {value:?}").ok();
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
    let is_new = way.name != CONFIGURED;
    let gained = if is_new {
        interval(&way.gain)
    } else {
        way.rule.kind().to_owned()
    };
    writeln!(text, "#\n# {:10} {:.4}  {gained}", way.name, way.ndcg_10).ok();
    let gains = if is_new {
        way.gain_by_set.as_slice()
    } else {
        &[]
    };
    describe_by_set(tuning, &way.by_set, gains, text);
}

/// Mean, and where it lies with 95 % certainty.
fn interval(gain: &Gain) -> String {
    format!("{:+.4} ({:+.4} to {:+.4})", gain.mean, gain.low, gain.high)
}

/// A line for each set, with what it gains where that is known.
fn describe_by_set(tuning: &Tuning, by_set: &[f64], gains: &[Gain], text: &mut String) {
    let by_set = tuning.sets.iter().zip(by_set).enumerate();
    for (place, (set, score)) in by_set {
        let gained = gains.get(place).map(interval).unwrap_or_default();
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use tributary_retrieval::AdaptiveWeight;

    #[test]
    fn the_configured_section_is_what_was_configured() {
        let mut configured = VectorWeight {
            kind: WeightKind::Adaptive,
            fixed: 0.5,
            base: 0.4,
            range: 0.3,
            midpoint_tokens: 8.0,
            slope_tokens: 1e-7,
            adaptive: AdaptiveWeight {
                model: "e5 \"base\"".to_owned(),
                intercept: -0.123_456,
                keyword_spread: 1.0,
                vector_spread: 33.25,
            },
        };
        let text = configured_section(&configured);
        let read: toml::Value = toml::from_str(&text).unwrap();
        let read = &read["query_api"]["retrieval"]["vector_weight"];
        let read: VectorWeight = read.clone().try_into().unwrap();
        assert_eq!(format!("{read:?}"), format!("{configured:?}"), "{text}");
        let said = stand_in(&configured, "hashing").unwrap();
        assert!(said.contains("this one is hashing"), "{said}");
        assert_eq!(stand_in(&configured, "e5 \"base\" small"), None);
        configured.kind = WeightKind::Fixed;
        assert_eq!(stand_in(&configured, "hashing"), None);
    }

    #[test]
    fn numbers_of_bm25_that_gain_are_a_section() {
        let gain = || Gain {
            mean: 0.02,
            low: 0.01,
            high: 0.03,
        };
        let mut found = Keywords {
            configured: Bm25::DEFAULT,
            fitted: Bm25 { k1: 0.9, b: 0.25 },
            gains: true,
            ndcg_10: 0.5,
            by_set: vec![0.5],
            gain: gain(),
            gain_by_set: vec![gain()],
        };
        let text = keywords_section(&found);
        let read: toml::Value = toml::from_str(&text).unwrap();
        let read: Bm25 = read["enrich"]["bm25"].clone().try_into().unwrap();
        assert_eq!(read, found.fitted, "{text}");
        assert!(text.contains("k1 = 1.2, b = 0.75"), "the way back: {text}");
        found.gains = false;
        assert_eq!(keywords_section(&found), "");
    }
}
