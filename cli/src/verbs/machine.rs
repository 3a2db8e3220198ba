//! What `doctor` looks at beside Tributary's own files: room on the disk, file handles, the clock,
//! and whether the event log answers and keeps what is unread.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tributary_schemas::error::MORE_HANDLES;
use tributary_schemas::{Error, ErrorKind, Result, Topic};
use tributary_store::config::EventLogKind;
use tributary_store::data_folder::free_bytes;
use tributary_store::event_log::kafka::KafkaEventLog;
use tributary_store::event_log::{EventLog, PartitionLag};
use tributary_store::manifest::documents::{StageReader, stage_readers};
use tributary_store::system_clock;

use crate::app;
use crate::config::Config;

/// A clock that is behind by more than this was set back.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(60);
/// How long brokers may take to answer once they are reached.
const BROKER_TIMEOUT: Duration = Duration::from_secs(10);

/// Each with how it is.
pub fn checks(config: &Config) -> Vec<(&'static str, Result<String>)> {
    let folder = PathBuf::from(&config.store.data_folder);
    vec![
        ("disk", disk(&folder, config.store.minimum_free_bytes)),
        ("file handles", file_handles()),
        ("clock", clock(&folder)),
        ("event log", event_log(config)),
        ("retention", retention(config)),
    ]
}

/// The folder may not be there yet: then the one that it will be made in counts.
fn disk(folder: &Path, minimum_free_bytes: u64) -> Result<String> {
    let absolute = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let existing = absolute
        .ancestors()
        .find(|path| path.exists())
        .unwrap_or(Path::new("/"));
    let free = free_bytes(existing)?;
    if free < minimum_free_bytes {
        let message = format!(
            "{} MiB free, fewer than the {} MiB wanted",
            free >> 20,
            minimum_free_bytes >> 20
        );
        return Err(Error::new(ErrorKind::Exhausted, message)
            .with_hint("make room, or lower store.minimum_free_bytes"));
    }
    Ok(format!("{} MiB free", free >> 20))
}

/// As many as a server takes at its start.
fn file_handles() -> Result<String> {
    app::raise_open_files();
    let limits = std::fs::read_to_string("/proc/self/limits")
        .ok()
        .unwrap_or_default();
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"));
    let soft = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    match soft {
        Some(soft) if soft < app::FEW_OPEN_FILES => {
            let needed = app::FEW_OPEN_FILES;
            let message = format!("{soft} file handles, at least {needed} are needed");
            Err(Error::new(ErrorKind::Exhausted, message).with_hint(MORE_HANDLES))
        }
        Some(soft) => Ok(format!("{soft} at most")),
        None => Ok("no limit is told here".to_owned()),
    }
}

/// Versions and retention follow the clock: one that is behind what it was at the last start makes
/// new documents look old.
fn clock(folder: &Path) -> Result<String> {
    let now = SystemTime::now();
    let last = std::fs::metadata(folder.join("lock"))
        .and_then(|lock| lock.modified())
        .ok();
    match last
        .and_then(|last| last.duration_since(now).ok())
        .filter(|behind| *behind > CLOCK_TOLERANCE)
    {
        None => Ok("not behind the last start".to_owned()),
        Some(behind) => {
            let message = format!(
                "the clock is {} s behind the last start on this folder",
                behind.as_secs()
            );
            Err(Error::new(ErrorKind::Conflict, message)
                .with_hint("set it by NTP before documents are published"))
        }
    }
}

/// The embedded one is looked at with the data folder.
fn event_log(config: &Config) -> Result<String> {
    if config.store.event_log.kind == EventLogKind::Embedded {
        return Ok("embedded".to_owned());
    }
    let found = ask(config, async |log| topics(config, &log).await)?;
    let mut said = match found.missing {
        0 => "brokers answer; every topic may be read and written".to_owned(),
        missing => {
            format!("brokers answer; the next start creates {missing} topics that are not there")
        }
    };
    if found.otherwise_cut > 0 {
        let (count, wanted) = (found.otherwise_cut, config.store.partitions);
        said += &format!(
            "; {count} topics have another number of partitions than store.partitions = {wanted}, and keep it"
        );
    }
    Ok(said)
}

/// `Denied` unless this user may read and write a topic.
async fn require_rights(log: &KafkaEventLog, topic: &str) -> Result<()> {
    let denied = log.denied(topic).await?;
    if denied.is_empty() {
        return Ok(());
    }
    let what = format!(
        "Kafka does not let this user {} `{topic}`",
        denied.join(" and ")
    );
    Err(Error::new(ErrorKind::Denied, what).with_hint(
        "docs/rights.md lists the ACLs that the user in store.event_log.kafka.username needs",
    ))
}

/// What the brokers have of the topics.
#[derive(Default)]
struct Found {
    /// Topics that are not there.
    missing: usize,
    /// Topics that have more or fewer partitions than is configured.
    otherwise_cut: usize,
}

/// An error for the first topic that this user may not use, or of which the brokers drop what they
/// should keep.
async fn topics(config: &Config, log: &KafkaEventLog) -> Result<Found> {
    let is_recorded = config.query_api.server.audit.enabled;
    let audit = is_recorded.then_some(Topic::Audit);
    let mut found = Found::default();
    for topic in Topic::ALL.into_iter().chain(audit) {
        let name = topic.full_name(&config.store.topic_prefix);
        let lag = match log.lag(&name, "doctor").await {
            Ok(lag) => lag,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                found.missing += 1;
                continue;
            }
            Err(error) => return Err(error),
        };
        require_rights(log, &name).await?;
        log.check_policy(&name, topic.is_compacted()).await?;
        let is_as_wanted = topic == Topic::Audit || lag.len() == config.store.partitions as usize;
        found.otherwise_cut += usize::from(!is_as_wanted);
    }
    Ok(found)
}

/// Whether the brokers are about to forget what a stage has yet to read.
fn retention(config: &Config) -> Result<String> {
    let Some(forgets_after) = config.store.forgets_after() else {
        return Ok("what a stage has yet to read is kept".to_owned());
    };
    let lags = ask(config, async |log| {
        let mut lags = Vec::new();
        // What the chunk stage reads is compacted: the newest record of each document stays.
        for StageReader {
            stage,
            topic,
            group,
        } in stage_readers(&[])
            .into_iter()
            .filter(|reader| !reader.topic.is_compacted())
        {
            match log
                .lag(&topic.full_name(&config.store.topic_prefix), &group)
                .await
            {
                Ok(lag) => lags.push((stage, lag)),
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(lags)
    })?;
    unread(&lags, forgets_after, system_clock()())
}

fn unread(
    lags: &[(&str, Vec<PartitionLag>)],
    forgets_after: Duration,
    now_ms: i64,
) -> Result<String> {
    let hours = |age: Duration| format!("{:.1} h", age.as_secs_f64() / 3600.0);
    let mut oldest = Duration::ZERO;
    for (stage, lag) in lags {
        let age = app::oldest_unread(lag, now_ms);
        if app::is_nearly_forgotten(age, forgets_after) {
            let (age, limit) = (hours(age), hours(forgets_after));
            let message = format!(
                "the oldest record that `{stage}` has yet to finish is {age} old, and the brokers forget it at {limit}"
            );
            return Err(Error::new(ErrorKind::Exhausted, message)
                .with_hint("run the stage, or raise store.retention_hours"));
        }
        oldest = oldest.max(age);
    }
    Ok(format!(
        "the oldest record that a stage has yet to finish is {} old; brokers forget it at {}",
        hours(oldest),
        hours(forgets_after)
    ))
}

/// What the brokers answer, within some time.
fn ask<T>(config: &Config, question: impl AsyncFnOnce(KafkaEventLog) -> Result<T>) -> Result<T> {
    let failed = |error: anyhow::Error| Error::new(ErrorKind::Internal, format!("{error:#}"));
    app::runtime().map_err(failed)?.block_on(async {
        let asked = async {
            question(KafkaEventLog::open(config.store.event_log.kafka.clone()).await?).await
        };
        let connecting = Duration::from_millis(config.store.event_log.kafka.connect_timeout_ms);
        // Longer than connecting takes to fail: that error says more than a time.
        let longest = connecting + BROKER_TIMEOUT;
        tokio::time::timeout(longest, asked)
            .await
            .unwrap_or_else(|_| {
                let message = format!("brokers do not answer within {} s", longest.as_secs());
                Err(Error::new(ErrorKind::Unavailable, message)
                    .with_hint("look at store.event_log.kafka and at the brokers"))
            })
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn no_room_and_a_clock_set_back_are_told() {
        let folder = tempfile::tempdir().unwrap();
        assert!(disk(&folder.path().join("not/yet/there"), 0).is_ok());
        assert_eq!(
            disk(folder.path(), u64::MAX).unwrap_err().kind(),
            ErrorKind::Exhausted
        );
        assert!(file_handles().is_ok());
        assert!(clock(folder.path()).is_ok());
        let lock = std::fs::File::create(folder.path().join("lock")).unwrap();
        lock.set_modified(SystemTime::now() + Duration::from_secs(3600))
            .unwrap();
        assert!(
            clock(folder.path())
                .unwrap_err()
                .to_string()
                .contains("behind the last start")
        );
    }

    #[test]
    fn what_is_unread_and_about_to_be_forgotten_is_told() {
        let lag = |oldest_uncommitted_ms| {
            vec![PartitionLag {
                partition: 0,
                start: 0,
                committed: 3,
                end: 4,
                oldest_uncommitted_ms,
            }]
        };
        let day = Duration::from_secs(86_400);
        let at = |hours: i64| Some(hours * 3_600_000);
        assert!(
            unread(
                &[("ingest", lag(None)), ("embed", lag(at(90)))],
                day,
                100 * 3_600_000
            )
            .unwrap()
            .contains("10.0 h old")
        );
        let told = unread(
            &[("ingest", lag(None)), ("embed", lag(at(80)))],
            day,
            100 * 3_600_000,
        )
        .unwrap_err();
        assert!(
            told.to_string()
                .contains("`embed` has yet to finish is 20.0 h old"),
            "{told}"
        );
    }
}
