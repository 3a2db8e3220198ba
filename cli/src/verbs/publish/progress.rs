//! How far a publication is: a bar by bytes, what is being worked on, and what is said when Ctrl-C
//! ends it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use indicatif::{HumanBytes, ProgressBar};
use tokio::signal::unix::{SignalKind, signal};
use tributary_schemas::work::WorkItem;

use super::follow::is_open;
use super::{Published, SEND_AGAIN, UNCONFIRMED};
use crate::print;

/// What the estimate looks back on.
const WINDOW: Duration = Duration::from_secs(60);
/// An estimate over this says nothing.
const LONGEST_ESTIMATE: Duration = Duration::from_secs(24 * 3600);
/// Documents that are named as being worked on.
const NAMED: usize = 3;

/// Shared by those who send, the one who waits, and the one who listens for Ctrl-C.
#[derive(Clone)]
pub struct Progress {
    bar: ProgressBar,
    counts: Arc<Mutex<Counts>>,
}

#[derive(Default)]
struct Counts {
    documents: usize,
    bytes: u64,
    sent: usize,
    /// Documents by state, refused ones under that name.
    states: BTreeMap<String, usize>,
    /// Documents and chunks that are done with, each with when that was seen.
    seen: VecDeque<(Instant, f64)>,
}

/// What was seen of the documents that are waited for.
pub struct Seen<'a> {
    /// All documents of the publication.
    pub documents: &'a [Published],
    /// What the stages are at.
    pub work: &'a [WorkItem],
}

impl Progress {
    /// For so many documents of so many bytes.
    pub fn new(documents: usize, bytes: u64) -> Self {
        let bar = print::amount_bar(bytes);
        bar.set_prefix("publishing");
        Self {
            bar,
            counts: Arc::new(Mutex::new(Counts {
                documents,
                bytes,
                ..Counts::default()
            })),
        }
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A document is being sent.
    pub fn sending(&self, source_path: &str) {
        let counts = self.counts();
        let message = format!(
            "{} of {} documents  {}",
            counts.sent,
            counts.documents,
            print::shorten(source_path, 40)
        );
        drop(counts);
        self.bar.set_message(message);
    }

    /// It was accepted or refused.
    pub fn sent(&self, published: &Published) {
        let mut counts = self.counts();
        counts.sent += 1;
        *counts.states.entry(published.state.clone()).or_default() += 1;
        drop(counts);
        self.bar.inc(published.bytes);
    }

    /// Everything is sent; from now on the bar shows what is done with.
    pub fn waits(&self, documents: &[Published]) {
        let mut counts = self.counts();
        counts.bytes = documents.iter().map(|document| document.bytes).sum();
        self.bar.set_length(counts.bytes.max(1));
        self.bar.set_prefix("indexing");
        self.bar.set_position(0);
    }

    /// The server was asked.
    pub fn look(&self, seen: &Seen<'_>) {
        let mut states: BTreeMap<String, usize> = BTreeMap::new();
        for document in seen.documents {
            *states.entry(document.state.clone()).or_default() += 1;
        }
        let done = seen.done_bytes();
        let mut counts = self.counts();
        counts.states = states;
        let estimate = counts.estimate(Instant::now(), done);
        drop(counts);
        self.bar.set_position(done as u64);
        self.bar.set_message(format!(
            "{}  {}",
            estimate.map_or_else(|| "-".to_owned(), print::duration),
            seen.describe()
        ));
    }

    /// Nothing more is shown.
    pub fn end(&self) {
        self.bar.finish_and_clear();
    }

    /// From now on Ctrl-C says what is on its way and how to follow it, and ends the process.
    pub fn explain_interrupts(&self, source: &str, is_local: bool) -> Result<()> {
        let (progress, source) = (self.clone(), source.to_owned());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("cannot listen for signals")?;
        // Caught from here on, not from when the thread comes to it.
        let mut interrupts = {
            let _within = runtime.enter();
            signal(SignalKind::interrupt()).context("cannot listen for signals")?
        };
        std::thread::spawn(move || {
            if runtime.block_on(interrupts.recv()).is_some() {
                progress.end();
                print::note(&progress.farewell(&source, is_local));
                std::process::exit(print::INTERRUPTED.into());
            }
        });
        Ok(())
    }

    /// The waiting ends, since the server cannot be asked any more: the same is said as on Ctrl-C.
    pub fn explain_failure(&self, source: &str, is_local: bool) {
        self.end();
        print::note(&self.farewell(source, is_local));
    }

    fn farewell(&self, source: &str, is_local: bool) -> String {
        let counts = self.counts();
        let unconfirmed = counts.states.get(UNCONFIRMED).copied().unwrap_or_default();
        let unsent = counts.documents.saturating_sub(counts.sent) + unconfirmed;
        let mut lines = vec![format!(
            "interrupted: {} of {} documents sent; {}",
            counts.sent,
            counts.documents,
            counts.describe()
        )];
        if unsent > 0 {
            lines.push(format!(
                "{unsent} were not sent or not confirmed: {SEND_AGAIN}"
            ));
        }
        let on_their_way = counts.on_their_way();
        drop(counts);
        if on_their_way > 0 {
            let where_on = if is_local {
                "they go on at the next start, of `tributary run` or of a verb that publishes"
            } else {
                "they go on whenever the server runs"
            };
            lines.push(format!(
                "what was accepted is not lost: {where_on}\nfollow them with `tributary documents list --source {source}`"
            ));
        }
        lines.join("\n")
    }
}

impl Counts {
    fn on_their_way(&self) -> usize {
        let open = self.states.iter().filter(|(name, _)| is_open(name));
        open.map(|(_, count)| count).sum()
    }

    fn describe(&self) -> String {
        let states: Vec<String> = self
            .states
            .iter()
            .map(|(state, count)| format!("{count} {state}"))
            .collect();
        if states.is_empty() {
            return "none was accepted yet".to_owned();
        }
        format!(
            "{} ({} on their way)",
            states.join(", "),
            self.on_their_way()
        )
    }

    /// How long the rest takes at the pace of the last minute; none while nothing moves.
    fn estimate(&mut self, now: Instant, done: f64) -> Option<Duration> {
        while self
            .seen
            .front()
            .is_some_and(|(at, _)| now.duration_since(*at) > WINDOW && self.seen.len() > 2)
        {
            self.seen.pop_front();
        }
        let (since, before) = *self.seen.front().unwrap_or(&(now, done));
        self.seen.push_back((now, done));
        let pace = (done - before) / now.duration_since(since).as_secs_f64();
        let seconds = (self.bytes as f64 - done) / pace;
        let is_sure = seconds.is_finite() && seconds >= 0.0;
        let estimate = is_sure.then(|| Duration::try_from_secs_f64(seconds).ok())??;
        (estimate < LONGEST_ESTIMATE).then_some(estimate)
    }
}

impl Seen<'_> {
    /// Bytes of documents that are done with, and the share of those that are being embedded.
    fn done_bytes(&self) -> f64 {
        let of = |document: &Published| {
            let bytes = document.bytes as f64;
            if !document.is_open() {
                return bytes;
            }
            let shares = self
                .work
                .iter()
                .filter(|item| item.document_id == document.document_id)
                .map(WorkItem::share);
            bytes * shares.fold(0.0, f64::max)
        };
        self.documents.iter().map(of).sum()
    }

    fn describe(&self) -> String {
        let done = self
            .documents
            .iter()
            .filter(|document| !document.is_open())
            .count();
        let chunks: u64 = self
            .documents
            .iter()
            .map(|document| u64::from(document.chunks))
            .sum::<u64>()
            + self.own_work().map(|(_, item)| item.done).sum::<u64>();
        let documents = self.documents.len();
        let mut parts = vec![format!("{done} of {documents} documents, {chunks} chunks")];
        parts.extend(self.names());
        parts.join("  ")
    }

    /// What the stages are at, a few of them.
    pub fn names(&self) -> Vec<String> {
        let name = |(document, item): (&Published, &WorkItem)| {
            let amount = match item.all {
                0 => HumanBytes(document.bytes).to_string(),
                all => format!("{} of {all} chunks", item.done),
            };
            let path = print::shorten(&document.source_path, 40);
            format!("{} {path} ({amount})", item.stage)
        };
        let mut work: Vec<_> = self.own_work().collect();
        // Those that wait for their first turn come last.
        work.sort_by_key(|(_, item)| item.all > 0 && item.done == 0);
        work.into_iter().take(NAMED).map(name).collect()
    }

    /// What the stages are at of this publication, the longest at first.
    fn own_work(&self) -> impl Iterator<Item = (&Published, &WorkItem)> {
        self.work.iter().filter_map(|item| {
            let document = self
                .documents
                .iter()
                .find(|document| document.document_id == item.document_id)?;
            Some((document, item))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(states: &[(&str, usize)]) -> Counts {
        Counts {
            documents: 10,
            bytes: 1000,
            sent: 8,
            states: states
                .iter()
                .map(|(state, count)| ((*state).to_owned(), *count))
                .collect(),
            ..Counts::default()
        }
    }

    #[test]
    fn an_estimate_is_made_of_the_last_minute_or_not_at_all() {
        let mut counts = counts(&[]);
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(counts.estimate(start, 0.0), None, "nothing has moved");
        assert_eq!(
            counts.estimate(after(10), 100.0),
            Some(Duration::from_secs(90))
        );
        for second in 11..300 {
            counts.estimate(after(second), 100.0);
        }
        assert_eq!(
            counts.estimate(after(300), 100.0),
            None,
            "nothing has moved for a minute"
        );
        assert_eq!(
            counts.estimate(after(301), 100.001),
            None,
            "years are no estimate"
        );
    }

    #[test]
    fn ctrl_c_says_what_is_on_its_way_and_how_to_follow_it() {
        let progress = Progress::new(10, 1000);
        *progress.counts() = counts(&[("embedding", 5), ("indexed", 2), ("refused", 1)]);
        let said = progress.farewell("hb", false);
        assert_eq!(
            said,
            "interrupted: 8 of 10 documents sent; 5 embedding, 2 indexed, 1 refused (5 on their way)\n\
             2 were not sent or not confirmed: publish them again, which changes nothing for those that arrived\n\
             what was accepted is not lost: they go on whenever the server runs\n\
             follow them with `tributary documents list --source hb`"
        );
        assert!(progress.farewell("hb", true).contains("at the next start"));
        *progress.counts() = counts(&[("accepted", 5), (UNCONFIRMED, 3)]);
        let said = progress.farewell("hb", false);
        assert!(
            said.contains("3 unconfirmed (5 on their way)")
                && said.contains("\n5 were not sent or not confirmed: publish them again"),
            "{said}"
        );
    }

    #[test]
    fn what_is_worked_on_is_named_and_counts_by_its_chunks() {
        let documents = [
            Published {
                document_id: "a".to_owned(),
                source_path: "long.pdf".to_owned(),
                state: "embedding".to_owned(),
                bytes: 1000,
                ..Published::default()
            },
            Published {
                document_id: "b".to_owned(),
                source_path: "done.md".to_owned(),
                state: "indexed".to_owned(),
                bytes: 10,
                chunks: 7,
                ..Published::default()
            },
        ];
        let work = [WorkItem {
            stage: "embed".to_owned(),
            document_id: "a".to_owned(),
            seconds: 9.0,
            done: 30,
            all: 120,
        }];
        let seen = Seen {
            documents: &documents,
            work: &work,
        };
        assert_eq!(seen.done_bytes() as u64, 260);
        assert_eq!(
            seen.describe(),
            "1 of 2 documents, 37 chunks  embed long.pdf (30 of 120 chunks)"
        );
    }
}
