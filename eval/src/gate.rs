//! Least values that a run must reach, for continuous integration.

use std::str::FromStr;

use anyhow::{Error, Result, bail};

use crate::diagnosis::CaseVerdict;
use crate::runner::Report;

/// Measures that a threshold can name, beside those of [`crate::metrics::RankScores`].
const OF_TIERS: [&str; 3] = ["full", "coarse.recall", "fine.recall"];

/// A measure and the least value that it must have.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    /// As written.
    pub measure: String,
    /// 0 to 1.
    pub least: f64,
}

impl FromStr for Threshold {
    type Err = Error;

    /// `nDCG@10=0.8`; the case of letters does not count.
    fn from_str(text: &str) -> Result<Self> {
        let Some((measure, least)) = text.split_once('=') else {
            bail!("a measure and its least value expected, such as nDCG@10=0.8");
        };
        let (measure, least) = (measure.trim(), least.trim());
        if !names().any(|name| name.eq_ignore_ascii_case(measure)) {
            let known: Vec<&str> = names().collect();
            bail!("`{measure}` is no measure; there are {}", known.join(", "));
        }
        match least.parse() {
            Ok(least) if (0.0..=1.0).contains(&least) => Ok(Self {
                measure: measure.to_owned(),
                least,
            }),
            _ => bail!("`{least}` is no value from 0 to 1"),
        }
    }
}

impl Threshold {
    /// What is said of a report that does not reach it.
    pub fn miss(&self, report: &Report) -> Option<String> {
        let values = values(report);
        let mut of_it = values
            .iter()
            .filter(|(name, _)| name.eq_ignore_ascii_case(&self.measure));
        let (_, value) = of_it.next()?;
        let (measure, least) = (&self.measure, self.least);
        (*value < least).then(|| format!("{measure} is {value:.4}, below {least}"))
    }
}

fn names() -> impl Iterator<Item = &'static str> {
    let ranks = crate::metrics::RankScores::default().named();
    ranks.map(|(name, _)| name).into_iter().chain(OF_TIERS)
}

fn values(report: &Report) -> Vec<(&'static str, f64)> {
    let full = report.diagnosis.verdicts.get(CaseVerdict::Full.name());
    let full = full.copied().unwrap_or(0) as f64 / report.queries.max(1) as f64;
    let tiers = [full, report.tiers.coarse.recall, report.tiers.fine.recall];
    let ranks = report.tiers.last.named().into_iter();
    ranks.chain(OF_TIERS.into_iter().zip(tiers)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn report() -> Report {
        let ranks = json!({"recall@10": 0.5, "recall@20": 0.5, "mrr@10": 0.5, "ndcg@10": 0.79996,
            "hit@1": 0.5, "hit@3": 0.5, "hit@5": 0.5, "hit@10": 0.5});
        let tier = json!({"recall": 0.9, "candidates": 10.0});
        let report = json!({
            "set": "s", "documents": 1, "queries": 4, "left_out": [],
            "tiers": {"coarse": tier, "fine": tier, "final": ranks},
            "diagnosis": {"top_k": 20, "verdicts": {"full": 3, "partial": 0, "none": 1},
                "steps": {"fine": 1}, "worst": [], "groups": {}},
            "latency_ms": {}, "settings": {},
            "ingest": {"seconds": 1.0, "documents_per_second": 1.0, "skipped": 0, "dead": 0},
        });
        serde_json::from_value(report).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn a_miss_names_the_measure_and_both_values() {
        let miss = |text: &str| {
            let threshold: Threshold = text.parse().unwrap_or_else(|error| panic!("{error}"));
            threshold.miss(&report())
        };
        assert_eq!(
            miss("nDCG@10=0.8").as_deref(),
            Some("nDCG@10 is 0.8000, below 0.8")
        );
        assert_eq!(miss("ndcg@10 = 0.79"), None);
        assert_eq!(miss("full=0.75"), None);
        assert!(miss("full=0.76").is_some());
        assert!(miss("coarse.recall=0.99").is_some());
    }

    #[test]
    fn what_is_no_threshold_is_refused_with_what_would_be_one() {
        let said = |text: &str| match text.parse::<Threshold>() {
            Ok(_) => String::new(),
            Err(error) => error.to_string(),
        };
        assert!(said("ndcg=0.8").contains("ndcg@10, hit@1"));
        assert!(said("ndcg@10").contains("such as"));
        assert!(said("ndcg@10=80").contains("0 to 1"));
        assert!(said("ndcg@10=NaN").contains("0 to 1"));
    }
}
