//! Speed of the embedded event log beside the disk itself, in one run: appends of 1 KB records that
//! are durable when acknowledged, against a plain loop of write + fdatasync; scans, against reading
//! the same files.

#![allow(clippy::unwrap_used, clippy::explicit_write)]

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tributary_store::event_log::embedded::{Config, EmbeddedEventLog};
use tributary_store::event_log::{BatchLimit, EventLog, Record, TopicSettings};

const RECORD_BYTES: usize = 1024;
const MEASURED: Duration = Duration::from_secs(3);

/// Who appends: so many tasks, each so many records per call, over so many partitions.
const LOADS: [(usize, usize, u32); 6] = [
    (1, 1, 1),
    (64, 1, 1),
    (64, 1, 4),
    (256, 1, 1),
    (64, 16, 1),
    (64, 16, 4),
];

fn main() {
    let folder = std::env::var_os("BENCH_FOLDER").map_or_else(std::env::temp_dir, Into::into);
    let folder = tempfile::tempdir_in(folder).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(run(folder.path()));
}

async fn run(folder: &Path) {
    say(
        "load                          records/s     MB/s   records/sync   ms/sync   x one by one   x large writes",
    );
    let one_by_one = raw(folder, RECORD_BYTES);
    let large = raw(folder, 256 << 10) * (256.0 * 1024.0 / RECORD_BYTES as f64);
    say(&format!(
        "raw write + fdatasync of 1 KB   {one_by_one:9.0} {:8.1}",
        megabytes(one_by_one)
    ));
    say(&format!(
        "raw write + fdatasync of 256 KB {large:9.0} {:8.1}",
        megabytes(large)
    ));
    for (index, (tasks, batch, partitions)) in LOADS.into_iter().enumerate() {
        let log = EmbeddedEventLog::open(&folder.join(index.to_string()), config()).unwrap();
        let settings = TopicSettings {
            partitions,
            compacted: false,
            retention_age: None,
            retention_bytes: None,
        };
        log.create_topic("t", settings).await.unwrap();
        let rate = append(&log, tasks, batch).await;
        let counters = log.counters();
        let (records, syncs) = (
            counters.appended_records.get() as f64,
            counters.syncs.get() as f64,
        );
        let per_sync = counters.sync_us.get() as f64 / 1e3 / syncs;
        say(&format!(
            "{tasks:3} tasks x {batch:2}, {partitions} partitions     {rate:9.0} {:8.1} {:14.1} {per_sync:9.2} {:14.1} {:16.2}",
            megabytes(rate),
            records / syncs,
            rate / one_by_one,
            rate / large
        ));
        if tasks > 1 {
            scan(&log, &folder.join(index.to_string())).await;
        }
        drop(log);
        std::fs::remove_dir_all(folder.join(index.to_string())).unwrap();
    }
}

fn config() -> Config {
    Config {
        segment_bytes: 64 << 20,
        max_record_bytes: 8 << 20,
        linger_ms: 0,
        queue_bytes: 64 << 20,
        maintenance_interval_seconds: 0,
        compaction_dirty_ratio: 0.5,
        tombstone_retention_seconds: 0,
    }
}

/// Writes per second of `bytes` each, every one synced.
fn raw(folder: &Path, bytes: usize) -> f64 {
    let mut file = File::create(folder.join("raw")).unwrap();
    let chunk = vec![7; bytes];
    let (started, mut count) = (Instant::now(), 0);
    while started.elapsed() < MEASURED {
        file.write_all(&chunk).unwrap();
        file.sync_data().unwrap();
        count += 1;
    }
    f64::from(count) / started.elapsed().as_secs_f64()
}

/// Acknowledged records per second.
async fn append(log: &EmbeddedEventLog, tasks: usize, batch: usize) -> f64 {
    let value = Bytes::from(vec![b'x'; RECORD_BYTES - 8]);
    let started = Instant::now();
    let producer = async |task: usize| {
        let mut count = 0;
        while started.elapsed() < MEASURED {
            let key =
                |n: usize| Bytes::from(format!("{:08}", (task * 7919 + count + n) % 100_000_000));
            let record = |n| Record {
                key: key(n),
                value: Some(value.clone()),
                headers: Vec::new(),
                timestamp_ms: 0,
            };
            log.append("t", (0..batch).map(record).collect())
                .await
                .unwrap();
            count += batch;
        }
        count
    };
    let counts = futures::future::join_all((0..tasks).map(producer)).await;
    counts.iter().sum::<usize>() as f64 / started.elapsed().as_secs_f64()
}

/// Reads all back, checksums and all, beside a plain read of the same files (both from the page
/// cache).
async fn scan(log: &EmbeddedEventLog, folder: &Path) {
    let mut subscription = log.subscribe("t", None).await.unwrap();
    let (started, mut count, mut bytes) = (cpu_seconds(), 0, 0);
    loop {
        let limit = BatchLimit {
            records: 4096,
            bytes: 4 << 20,
        };
        let batch = subscription
            .next_batch(limit, Duration::ZERO)
            .await
            .unwrap();
        if batch.is_empty() {
            break;
        }
        count += batch.len();
        bytes += batch
            .iter()
            .map(|stored| stored.record.size())
            .sum::<usize>();
    }
    let scan = bytes as f64 / 1e6 / (cpu_seconds() - started);
    let plain = read_files(folder);
    say(&format!(
        "    scan of {count} records: {scan:.0} MB per CPU second, {:.2} of reading the files ({plain:.0})",
        scan / plain
    ));
}

fn read_files(folder: &Path) -> f64 {
    let mut buffer = vec![0; 256 << 10];
    let (started, mut bytes) = (cpu_seconds(), 0);
    for partition in std::fs::read_dir(folder.join("topics/t"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
    {
        for segment in std::fs::read_dir(partition).unwrap() {
            let mut file = File::open(segment.unwrap().path()).unwrap();
            loop {
                let count = file.read(&mut buffer).unwrap();
                if count == 0 {
                    break;
                }
                bytes += count;
            }
        }
    }
    bytes as f64 / 1e6 / (cpu_seconds() - started)
}

/// CPU time of all threads of this process, which other processes do not disturb as they do the
/// clock.
fn cpu_seconds() -> f64 {
    let nanoseconds = |task: std::io::Result<std::fs::DirEntry>| {
        let text = std::fs::read_to_string(task.unwrap().path().join("schedstat"))
            .ok()
            .unwrap_or_default();
        text.split(' ')
            .next()
            .and_then(|first| first.parse::<f64>().ok())
            .unwrap_or(0.0)
    };
    std::fs::read_dir("/proc/self/task")
        .unwrap()
        .map(nanoseconds)
        .sum::<f64>()
        / 1e9
}

fn megabytes(records: f64) -> f64 {
    records * RECORD_BYTES as f64 / 1e6
}

fn say(line: &str) {
    writeln!(std::io::stdout(), "{line}").unwrap();
}
