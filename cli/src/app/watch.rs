//! What must live for the process to be of use, and what is done now and then. Something that has
//! ended for good ends the process with a clear line, so that whoever supervises it starts it
//! again: one that goes on without it would look healthy and do nothing.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, anyhow};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tributary_enrich::Pipeline;
use tributary_schemas::ErrorKind;
use tributary_store::conversations;

use super::parts::serving;
use super::{Parts, missing};
use crate::config::Config;

/// Between two looks at the writer of the log.
const LOOK: Duration = Duration::from_secs(1);
/// Between two looks for dead letters that are too old.
const RETENTION_PAUSE: Duration = Duration::from_secs(60);
/// Between two looks for conversations that are.
const SWEEP_PAUSE: Duration = Duration::from_secs(24 * 3600);

/// Between two looks whether the document table is to be kept.
const CHECKPOINT_LOOK: Duration = Duration::from_secs(10);
/// Reports after which it is, and after which it is if none have come since the last look. A start
/// reads about 300 000 reports a second.
const REPORTS: u64 = 200_000;
const REPORTS_AT_REST: u64 = WORTH_KEEPING;
/// Fewer reports than this are read in no time.
pub const WORTH_KEEPING: u64 = 10_000;

/// Runs something that goes on until `shutdown`; if it ends before, or panics, the process ends.
pub fn keep(
    tasks: &mut JoinSet<Result<()>>,
    what: &'static str,
    work: impl Future<Output = ()> + Send + 'static,
    shutdown: &CancellationToken,
) {
    let shutdown = shutdown.clone();
    tasks.spawn(async move {
        work.await;
        if shutdown.is_cancelled() {
            Ok(())
        } else {
            Err(anyhow!("{what} ended before the process was to stop"))
        }
    });
}

/// Starts the watches, and what follows changes that other processes make.
pub fn spawn(
    tasks: &mut JoinSet<Result<()>>,
    config: &Config,
    parts: &Arc<Parts>,
    shutdown: &CancellationToken,
) {
    keep(
        tasks,
        "the reader of generations",
        Arc::clone(parts.pipelines.generations()).follow(shutdown.clone()),
        shutdown,
    );
    let queries = parts.serving.clone();
    let promoted = move |pipeline: &Pipeline| queries.replace(serving(pipeline));
    keep(
        tasks,
        "the reader of promotions",
        Arc::clone(&parts.pipelines).follow(promoted, shutdown.clone()),
        shutdown,
    );
    keep(
        tasks,
        "the reader of knowledge sets",
        Arc::clone(&parts.knowledge_sets).follow(shutdown.clone()),
        shutdown,
    );
    tasks.spawn(until(shutdown.clone(), log_writer(Arc::clone(parts))));
    tasks.spawn(until(
        shutdown.clone(),
        gone(parts.table.ended(), "reports about documents"),
    ));
    tasks.spawn(until(
        shutdown.clone(),
        gone(parts.dead_letters.ended(), "dead letters"),
    ));
    tasks.spawn(until(shutdown.clone(), keep_table(Arc::clone(parts))));
    let counting = missing::watch(Arc::clone(parts));
    tasks.spawn(until(shutdown.clone(), counting));
    let sweep = sweep_conversations(Arc::clone(parts), config.store.conversations.clone());
    tasks.spawn(until(shutdown.clone(), sweep));
    let hours = config.store.dead_letter_retention_hours;
    if hours > 0 {
        let age = Duration::from_secs(hours.saturating_mul(3600));
        tasks.spawn(until(
            shutdown.clone(),
            drop_old_letters(Arc::clone(parts), age),
        ));
    }
}

async fn until(shutdown: CancellationToken, watch: impl Future<Output = Result<()>>) -> Result<()> {
    shutdown.run_until_cancelled(watch).await.unwrap_or(Ok(()))
}

/// Ends with an error when nothing can be appended any more; whatever may pass is shown by
/// readiness.
async fn log_writer(parts: Arc<Parts>) -> Result<()> {
    loop {
        if let Err(error) = parts.stores.topics.probe().await
            && error.kind() == ErrorKind::Internal
        {
            return Err(anyhow!(
                "{error}; what was accepted is durable, start the process again"
            ));
        }
        tokio::time::sleep(LOOK).await;
    }
}

async fn gone(ended: impl Future<Output = ()>, what: &str) -> Result<()> {
    ended.await;
    Err(anyhow!(
        "the reader of {what} has ended, see the panic above; start the process again"
    ))
}

async fn drop_old_letters(parts: Arc<Parts>, age: Duration) -> Result<()> {
    loop {
        match parts.dead_letters.drop_older_than(age).await {
            Ok(0) => {}
            Ok(letters) => tracing::warn!(
                letters,
                "dropped dead letters older than store.dead_letter_retention_hours"
            ),
            Err(error) => {
                tracing::warn!(%error, "old dead letters cannot be dropped, trying again")
            }
        }
        tokio::time::sleep(RETENTION_PAUSE).await;
    }
}

/// Deletes conversations that are older than they are kept, and completes deletions.
async fn sweep_conversations(parts: Arc<Parts>, keeping: conversations::Config) -> Result<()> {
    loop {
        let now_ms = u64::try_from((parts.clock)()).unwrap_or(0);
        let kept_since = keeping.kept_since_ms(now_ms);
        let store = &parts.stores.conversations;
        let reports_since = keeping.reports_kept_since_ms(now_ms);
        if let Err(error) = store.sweep_reports(reports_since).await {
            tracing::warn!(%error, "old reports cannot be deleted, trying again");
        }
        let pause = match store.sweep(kept_since).await {
            Ok(deleted) => {
                if deleted > 0 {
                    let days = keeping.retention_days;
                    tracing::info!(
                        deleted,
                        days,
                        "deleted conversations without a change since"
                    );
                }
                SWEEP_PAUSE
            }
            Err(error) => {
                tracing::warn!(%error, "old conversations cannot be deleted, trying again");
                RETENTION_PAUSE
            }
        };
        tokio::time::sleep(pause).await;
    }
}

/// Notes how far the document table has read, and writes it to its file when a start without that
/// would take long.
async fn keep_table(parts: Arc<Parts>) -> Result<()> {
    let mut before = 0;
    loop {
        if let Err(error) = parts.table.commit(&parts.stores.topics).await {
            tracing::warn!(%error, "how far reports about documents were read cannot be noted, trying again");
        }
        tokio::time::sleep(CHECKPOINT_LOOK).await;
        let reports = parts.table.reports_since_checkpoint();
        let is_at_rest = reports == before && reports >= REPORTS_AT_REST;
        if (reports >= REPORTS || is_at_rest)
            && let Err(error) = parts.table.checkpoint().await
        {
            tracing::warn!(%error, "the document table cannot be kept; the next start reads more reports");
        }
        before = reports;
    }
}
