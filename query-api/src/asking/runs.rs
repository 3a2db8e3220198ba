//! All answers that can be read: those on their way, and for some minutes those that are over.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::config::AskConfig;
use super::run::Run;

/// Answers by age.
pub struct Runs {
    runs: Mutex<VecDeque<Arc<Run>>>,
    keep: Duration,
    most: usize,
}

impl Runs {
    /// Empty.
    pub fn new(config: &AskConfig) -> Self {
        Self {
            runs: Mutex::default(),
            keep: Duration::from_secs(config.resume_seconds),
            most: config.resumable,
        }
    }

    /// Adds one; drops those that have been over for too long, and the oldest of too many.
    pub fn add(&self, run: &Arc<Run>) {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        let is_kept = |run: &Arc<Run>| run.over_for().is_none_or(|over| over < self.keep);
        runs.retain(is_kept);
        let is_over = |run: &Arc<Run>| run.over_for().is_some();
        while runs.len() >= self.most.max(1) {
            let Some(oldest) = runs.iter().position(is_over) else {
                break;
            };
            runs.remove(oldest);
        }
        runs.push_back(Arc::clone(run));
    }

    /// By the id of the answer.
    pub fn get(&self, id: &str) -> Option<Arc<Run>> {
        let runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        let run = runs.iter().find(|run| run.id == id)?;
        let is_kept = run.over_for().is_none_or(|over| over < self.keep);
        is_kept.then(|| Arc::clone(run))
    }
}
