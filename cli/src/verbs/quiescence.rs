//! Notices that nothing moves while somebody waits for documents, and says which stage it is.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::Value;

use crate::app::WAITING_FOR_MODEL;
use crate::client::Client;
use crate::print;

/// How long nothing moves before that is worth a word; the next word takes three times as long.
const FIRST_WORD: Duration = Duration::from_secs(15);

/// Said where documents wait for what a model writes.
const FEWER_CALLS: &str = " (without `summarize` and `describe_code` nothing is written while \
    documents come in: docs/language-models.md)";

/// What has been seen to move, and when last.
pub struct Quiescence {
    /// How long nothing may move; zero for ever.
    patience: Duration,
    since: Instant,
    looked: Instant,
    next_word: Duration,
    states: BTreeMap<String, usize>,
    /// What the stages were at, with how far they were.
    work: Vec<String>,
    lag: BTreeMap<String, u64>,
}

impl Quiescence {
    /// Starts now.
    pub fn new(patience: Duration) -> Self {
        let now = Instant::now();
        Self {
            patience,
            since: now,
            looked: now,
            next_word: FIRST_WORD,
            states: BTreeMap::new(),
            work: Vec::new(),
            lag: BTreeMap::new(),
        }
    }

    /// Looks at the states of the documents that are waited for, and from time to time at the
    /// stages; `work` is what these are at, as people are told. An error once patience is over.
    pub fn look(&mut self, client: &Client, states: &[&str], work: Vec<String>) -> Result<()> {
        self.note(states, work);
        let still = self.since.elapsed();
        let limit = self.limit();
        if still < self.next_word.min(limit)
            || self.looked.elapsed() < Duration::from_secs(1) && still < limit
        {
            return Ok(());
        }
        self.looked = Instant::now();
        let metrics = client.get_text("/metrics").ok().unwrap_or_default();
        let lag = by_stage(&metrics, "tributary_lag_records");
        if lag != self.lag && !self.lag.is_empty() {
            self.lag = lag;
            self.moved();
            return Ok(());
        }
        self.lag = lag;
        let taken = by_stage(&metrics, "tributary_stage_records_in_progress");
        let model = waits_for_model(client);
        self.report(still, limit, &taken, model.as_deref())
    }

    /// Notes where documents and stages are; patience begins anew where that is news.
    fn note(&mut self, states: &[&str], work: Vec<String>) {
        let mut counted: BTreeMap<String, usize> = BTreeMap::new();
        states
            .iter()
            .for_each(|state| *counted.entry((*state).to_owned()).or_default() += 1);
        if counted != self.states || work != self.work {
            self.states = counted;
            self.work = work;
            self.moved();
        }
    }

    /// How long nothing may move; for ever where no patience was named.
    fn limit(&self) -> Duration {
        if self.patience.is_zero() {
            Duration::MAX
        } else {
            self.patience
        }
    }

    /// Says what is waited for; an error once patience is over.
    fn report(
        &mut self,
        still: Duration,
        limit: Duration,
        taken: &BTreeMap<String, u64>,
        model: Option<&str>,
    ) -> Result<()> {
        let mut what = describe(&self.states, &self.lag, taken);
        if let Some(model) = model {
            what.push_str(&format!("; language model: {model}{FEWER_CALLS}"));
        }
        if !self.work.is_empty() {
            what.push_str(&format!("; at work: {}", self.work.join(", ")));
        }
        if still >= limit {
            bail!(
                "nothing moved for {} s: {what}\nhint: it goes on where it is once the stage runs; --timeout waits longer",
                limit.as_secs()
            );
        }
        self.next_word = still.saturating_mul(3);
        print::note(&format!(
            "nothing moved for {} s: {what}; waiting goes on (Ctrl-C ends it and loses nothing)",
            still.as_secs()
        ));
        Ok(())
    }

    fn moved(&mut self) {
        self.since = Instant::now();
        self.next_word = FIRST_WORD;
    }
}

/// Records that a stage has taken are worked on (a document may have many pages to read as
/// pictures) or held until something is there again; those that no stage has taken may have nobody
/// who runs it.
fn describe(
    states: &BTreeMap<String, usize>,
    lag: &BTreeMap<String, u64>,
    taken: &BTreeMap<String, u64>,
) -> String {
    let documents = states
        .iter()
        .map(|(state, count)| format!("{count} {state}"))
        .collect::<Vec<_>>()
        .join(", ");
    let named = |records: &BTreeMap<String, u64>| {
        let named = records
            .iter()
            .filter(|(_, records)| **records > 0)
            .map(|(stage, records)| format!("{stage} ({records})"));
        named.collect::<Vec<_>>().join(", ")
    };
    match (named(taken).as_str(), named(lag).as_str()) {
        ("", "") => format!("documents {documents}, and no stage has records to take"),
        ("", waiting) => format!(
            "documents {documents}; stages with records before them: {waiting} - does a process run them?"
        ),
        (taken, _) => format!(
            "documents {documents}; taken by {taken}: a long document, others before it, or the stage waits for a model, an external step or a store that does not answer (see its log and /health/readyz)"
        ),
    }
}

/// What readiness says of documents that wait for a language model.
fn waits_for_model(client: &Client) -> Option<String> {
    let ready: Value = client.get("/health/readyz").ok()?;
    let mut checks = ready.get("checks")?.as_array()?.iter();
    let chat = checks.find(|check| check.get("name").and_then(Value::as_str) == Some("chat"))?;
    let detail = chat.get("detail")?.as_str()?;
    detail
        .contains(WAITING_FOR_MODEL)
        .then(|| detail.to_owned())
}

/// A gauge by stage.
fn by_stage(metrics: &str, gauge: &str) -> BTreeMap<String, u64> {
    let mut stages: BTreeMap<String, u64> = BTreeMap::new();
    for line in metrics.lines() {
        let sample = || {
            let (labels, value) = line
                .strip_prefix(gauge)?
                .strip_prefix('{')?
                .split_once("} ")?;
            let (stage, _) = labels.split_once("stage=\"")?.1.split_once('"')?;
            Some((stage.to_owned(), value.trim().parse::<u64>().ok()?))
        };
        // A stage may have several readers.
        if let Some((stage, records)) = sample() {
            *stages.entry(stage).or_default() += records;
        }
    }
    stages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stage_that_does_not_move_is_named() {
        let metrics = "# TYPE tributary_lag_records gauge\ntributary_lag_records{group=\"chunk\",stage=\"chunk\"} 0\ntributary_lag_records{group=\"embed\",stage=\"embed\"} 12\n";
        let lag = by_stage(metrics, "tributary_lag_records");
        assert_eq!(
            lag,
            BTreeMap::from([("chunk".to_owned(), 0), ("embed".to_owned(), 12)])
        );
        let waiting = BTreeMap::from([("embedding".to_owned(), 12)]);
        let said = describe(&waiting, &lag, &BTreeMap::new());
        assert_eq!(
            said,
            "documents 12 embedding; stages with records before them: embed (12) - does a process run them?"
        );
        let taken = by_stage(
            "tributary_stage_records_in_progress{stage=\"embed\"} 2\n",
            "tributary_stage_records_in_progress",
        );
        let said = describe(&waiting, &lag, &taken);
        assert_eq!(
            said,
            "documents 12 embedding; taken by embed (2): a long document, others before it, or the stage waits for a model, an external step or a store that does not answer (see its log and /health/readyz)"
        );
    }
}
