//! Counts the tokens of all calls that one piece of work makes, whichever roles it asks.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::request::Usage;
use super::role::Role;

tokio::task_local! {
    static METER: Meter;
}

/// Tokens by role.
#[derive(Clone, Debug, Default)]
pub struct Meter {
    used: Arc<Mutex<BTreeMap<Role, Used>>>,
}

/// Tokens of the calls of a role.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// Of the prompts.
    pub prompt: u64,
    /// Of the replies.
    pub completion: u64,
}

impl Meter {
    /// Counts the calls that this work begins on its own task.
    pub async fn during<T>(&self, work: impl Future<Output = T>) -> T {
        METER.scope(self.clone(), work).await
    }

    /// What was used so far. Of a call that goes on, nothing.
    pub fn used(&self) -> BTreeMap<Role, Used> {
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.clone()
    }

    /// That of the work that a call belongs to.
    pub(super) fn current() -> Option<Self> {
        METER.try_with(Self::clone).ok()
    }

    pub(super) fn add(&self, role: Role, usage: Usage) {
        if usage.prompt_tokens.is_none() && usage.completion_tokens.is_none() {
            return;
        }
        let mut all = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let used = all.entry(role).or_default();
        used.prompt += usage.prompt_tokens.unwrap_or(0);
        used.completion += usage.completion_tokens.unwrap_or(0);
    }
}
