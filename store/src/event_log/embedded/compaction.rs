//! Compaction of a partition: closed segments are rewritten with only the newest record of each
//! key. The protocol, and why a crash between any two steps does no harm, is in `format.rs`.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::Arc;
use std::time::Duration;

use tributary_schemas::{ErrorKind, Result};

use super::folder::{failed, lock, publish, remove, sync_folder, unfinished};
use super::format::{FOOTER_BYTES, Frame, HEADER_BYTES, Header};
use super::partition::Partition;
use super::scanner::{Scanner, SegmentFile};
use super::segment::{OffsetIndex, Segment, SegmentName, SegmentView, Totals};

const WRITE_BUFFER_BYTES: usize = 1 << 20;

/// A moment between two steps of a compaction; the caller may end it there by an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Before a run of segments is rewritten.
    Begin,
    /// The new file is complete under its unfinished name, and synced.
    Written,
    /// It has its name; old and new are there.
    Renamed,
    /// Some of the old files are gone.
    Removed,
    /// All is done and durable.
    Done,
}

/// Called between steps.
pub type Checkpoint<'a> = &'a mut dyn FnMut(Step) -> Result<()>;

/// What decides which tombstones may go.
#[derive(Clone, Copy, Debug)]
pub struct TombstoneRule {
    /// The lowest position of all groups, `None` without groups.
    pub lowest_position: Option<u64>,
    /// Time now, in milliseconds since 1970.
    pub now_ms: i64,
    /// How long a tombstone is kept at least.
    pub retention: Duration,
}

impl TombstoneRule {
    fn lets_go(&self, offset: u64, timestamp_ms: i64) -> bool {
        let age_ms = i128::from(self.now_ms) - i128::from(timestamp_ms);
        let is_old = age_ms >= 0 && age_ms.cast_unsigned() >= self.retention.as_millis();
        is_old && self.lowest_position.is_none_or(|lowest| offset < lowest)
    }
}

/// The newest record of a key.
struct Newest {
    offset: u64,
    segment: usize,
    /// Bytes that it will take: none if it is a tombstone that may go.
    bytes: u64,
}

/// 128 bits of BLAKE3 stand for a key: enough that no two keys meet, and little memory.
type KeyHash = [u8; 16];
type NewestByKey = HashMap<KeyHash, Newest>;

/// Share of closed bytes that came since the last compaction, 0 to 1.
pub fn dirty_ratio(partition: &Partition) -> f64 {
    let clean_until = lock(&partition.maintenance).clean_until;
    let (mut dirty, mut all) = (0, 0);
    for view in partition.segments().iter().filter(|view| view.closed) {
        all += view.data_end;
        dirty += if view.end > clean_until {
            view.data_end
        } else {
            0
        };
    }
    if all == 0 {
        0.0
    } else {
        dirty as f64 / all as f64
    }
}

/// Compacts the closed segments of a partition into segments of at most `segment_bytes`. Returns
/// the bytes that it freed.
pub fn compact(
    partition: &Partition,
    segment_bytes: u64,
    rule: TombstoneRule,
    checkpoint: Checkpoint<'_>,
) -> Result<u64> {
    let mut upkeep = lock(&partition.maintenance);
    let segments = partition.segments();
    let closed = segments.iter().take_while(|view| view.closed).count();
    let (newest, live) = newest_records(partition, &segments, rule)?;
    let mut freed = 0;
    for run in runs(&segments[..closed], &live, segment_bytes) {
        checkpoint(Step::Begin)?;
        let before: u64 = run
            .iter()
            .map(|view| view.data_end + FOOTER_BYTES as u64)
            .sum();
        let after = rewrite(partition, run, &newest, checkpoint)?;
        freed += before.saturating_sub(after);
    }
    upkeep.clean_until = segments[..closed]
        .last()
        .map_or(upkeep.clean_until, |view| view.end);
    Ok(freed)
}

/// The newest record of each key in the whole partition, and the bytes of each segment that must
/// stay.
fn newest_records(
    partition: &Partition,
    segments: &[SegmentView],
    rule: TombstoneRule,
) -> Result<(NewestByKey, Vec<u64>)> {
    let mut newest = NewestByKey::new();
    let mut live = vec![0; segments.len()];
    for (segment, view) in segments.iter().enumerate() {
        let file = SegmentFile::open(&view.segment.path)?;
        let mut scanner = Scanner::new(file.clone(), 0, view.data_end);
        while let Some((position, frame)) = scanner.next_sound()? {
            let key = key_hash(&file, position, &frame)?;
            let goes = frame.is_tombstone() && rule.lets_go(frame.offset(), frame.timestamp_ms());
            let bytes = if goes { 0 } else { frame.size() as u64 };
            live[segment] += bytes;
            if let Some(older) = newest.insert(
                key,
                Newest {
                    offset: frame.offset(),
                    segment,
                    bytes,
                },
            ) {
                live[older.segment] -= older.bytes;
            }
        }
    }
    tracing::debug!(folder = %partition.folder.display(), keys = newest.len(), "read all keys for compaction");
    Ok((newest, live))
}

fn key_hash(file: &SegmentFile, position: u64, frame: &Frame) -> Result<KeyHash> {
    let key = frame.key().map_err(|what| file.corrupt(position, what))?;
    let mut short = KeyHash::default();
    short.copy_from_slice(&blake3::hash(&key).as_bytes()[..16]);
    Ok(short)
}

/// Neighbours that fit into one segment, where there is something to remove or to join.
fn runs<'a>(closed: &'a [SegmentView], live: &[u64], segment_bytes: u64) -> Vec<&'a [SegmentView]> {
    let room = segment_bytes.saturating_sub((HEADER_BYTES + FOOTER_BYTES) as u64);
    let mut runs = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for index in 0..=closed.len() {
        let ends = index == closed.len() || index > start && bytes + live[index] > room;
        if ends {
            let run = &closed[start..index];
            if run.len() > 1 || !is_clean(run, &live[start..index]) {
                runs.push(run);
            }
            (start, bytes) = (index, 0);
        }
        bytes += live.get(index).copied().unwrap_or(0);
    }
    runs
}

/// Whether all bytes of the segments are live.
fn is_clean(run: &[SegmentView], live: &[u64]) -> bool {
    run.iter()
        .zip(live)
        .all(|(view, live)| view.data_end - HEADER_BYTES as u64 == *live)
}

/// Puts one new segment in the place of a run. Returns the bytes of its file.
fn rewrite(
    partition: &Partition,
    run: &[SegmentView],
    newest: &NewestByKey,
    checkpoint: Checkpoint<'_>,
) -> Result<u64> {
    let (Some(first), Some(last)) = (run.first(), run.last()) else {
        return Ok(0);
    };
    let generation = 1 + run
        .iter()
        .map(|view| view.segment.name.generation)
        .max()
        .unwrap_or(0);
    let name = SegmentName {
        base: first.segment.name.base,
        generation,
    };
    let path = name.path(&partition.folder);
    let written = write_run(partition, run, newest, &name);
    if let Err(error) = &written
        && error.kind() == ErrorKind::Exhausted
    {
        remove(&unfinished(&path))?;
    }
    let (index, totals, data_end) = written?;
    checkpoint(Step::Written)?;
    publish(&path)?;
    checkpoint(Step::Renamed)?;
    let segment = Arc::new(Segment::new(&partition.folder, name, index));
    partition.exchange(
        first.segment.name.base,
        run.len(),
        Some(SegmentView {
            segment,
            end: last.end,
            data_end,
            totals,
            closed: true,
        }),
    );
    for view in run {
        remove(&view.segment.path)?;
        checkpoint(Step::Removed)?;
    }
    sync_folder(&partition.folder)?;
    checkpoint(Step::Done)?;
    Ok(data_end + FOOTER_BYTES as u64)
}

/// Hands on each record of a segment that is the newest of its key and may stay.
fn each_newest(
    view: &SegmentView,
    newest: &NewestByKey,
    mut keep: impl FnMut(&Frame) -> Result<()>,
) -> Result<()> {
    let source = SegmentFile::open(&view.segment.path)?;
    let mut scanner = Scanner::new(source.clone(), 0, view.data_end);
    while let Some((position, frame)) = scanner.next_sound()? {
        let key = key_hash(&source, position, &frame)?;
        let is_newest = newest
            .get(&key)
            .is_some_and(|newest| newest.offset == frame.offset() && newest.bytes != 0);
        if is_newest {
            keep(&frame)?;
        }
    }
    Ok(())
}

/// Writes and syncs the new file under its unfinished name.
fn write_run(
    partition: &Partition,
    run: &[SegmentView],
    newest: &NewestByKey,
    name: &SegmentName,
) -> Result<(OffsetIndex, Totals, u64)> {
    let path = unfinished(&name.path(&partition.folder));
    let file = File::create(&path).map_err(failed("create", &path))?;
    let mut out = BufWriter::with_capacity(WRITE_BUFFER_BYTES, file);
    let header = Header {
        generation: name.generation,
        base: name.base,
        partition: partition.number,
    };
    out.write_all(&header.encode())
        .map_err(failed("write", &path))?;
    let (mut index, mut totals, mut data_end) =
        (OffsetIndex::new(), Totals::default(), HEADER_BYTES as u64);
    for view in run {
        each_newest(view, newest, |frame| {
            out.write_all(frame.bytes())
                .map_err(failed("write", &path))?;
            index.note(frame.offset(), data_end, frame.size() as u64);
            totals.count(frame.is_tombstone(), frame.timestamp_ms());
            data_end += frame.size() as u64;
            Ok(())
        })?;
    }
    let end = run.last().map_or(name.base, |view| view.end);
    let written = out
        .write_all(&totals.footer(end).encode(data_end as u32))
        .and_then(|()| out.flush());
    written
        .and_then(|()| out.get_ref().sync_all())
        .map_err(failed("write", &path))?;
    Ok((index, totals, data_end))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::BTreeMap;
    use std::path::Path;

    use tributary_schemas::Error;

    use super::super::folder::create_folder;
    use super::super::partition::Cursor;
    use super::super::tail::Part;
    use super::*;
    use crate::event_log::Record;

    const SEGMENT_BYTES: u64 = 1_000;
    const RULE: TombstoneRule = TombstoneRule {
        lowest_position: None,
        now_ms: 10,
        retention: Duration::ZERO,
    };

    fn open(folder: &Path) -> Arc<Partition> {
        Arc::new(Partition::open(folder.to_owned(), 0, 0).unwrap().0)
    }

    fn append(partition: &Arc<Partition>, key: &str, value: Option<usize>) {
        let value = value.map(|value| format!("{value:0100}").into());
        let mut part = Part::new(Arc::clone(partition));
        part.push(
            0,
            &Record {
                key: key.to_owned().into(),
                value,
                headers: Vec::new(),
                timestamp_ms: 5,
            },
        );
        let mut tail = lock(&partition.tail);
        if tail.is_full(part.frames.len(), SEGMENT_BYTES) {
            tail.close(partition).unwrap();
        }
        tail.stage(&part);
        tail.write(partition).unwrap();
        tail.finish(partition).unwrap();
    }

    /// Keys written over and over, three of them deleted in the end, over many segments.
    fn fill(folder: &Path) -> Arc<Partition> {
        create_folder(folder).unwrap();
        let partition = open(folder);
        for n in 0..24 {
            append(&partition, &format!("key {}", n % 8), Some(n));
            append(&partition, &format!("single {n}"), Some(n));
        }
        for key in ["key 1", "single 5", "single 20"] {
            append(&partition, key, None);
        }
        for n in 0..8 {
            append(&partition, &format!("last {n}"), Some(n));
        }
        partition
    }

    fn records(partition: &Partition) -> Vec<(u64, Record)> {
        let read = partition
            .read(&mut Cursor::at(0), usize::MAX, usize::MAX)
            .unwrap();
        read.into_iter()
            .map(|stored| (stored.position.offset, stored.record))
            .collect()
    }

    /// What a reader of all records ends up with: nothing for deleted keys.
    fn state(partition: &Partition) -> BTreeMap<bytes::Bytes, Record> {
        let mut state: BTreeMap<_, _> = records(partition)
            .into_iter()
            .map(|(_, record)| (record.key.clone(), record))
            .collect();
        state.retain(|_, record| record.value.is_some());
        state
    }

    fn copy(from: &Path, to: &Path) {
        std::fs::create_dir(to).unwrap();
        for entry in std::fs::read_dir(from)
            .unwrap()
            .map(std::result::Result::unwrap)
        {
            std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }

    fn files(folder: &Path) -> usize {
        std::fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn a_crash_between_any_two_steps_changes_nothing_for_readers() {
        let folder = tempfile::tempdir().unwrap();
        let template = folder.path().join("template");
        drop(fill(&template));
        let mut crashes = 0;
        for steps in 0.. {
            let path = folder.path().join(steps.to_string());
            copy(&template, &path);
            let partition = open(&path);
            let (expected, end) = (state(&partition), partition.end());
            let mut left = steps;
            let done = compact(&partition, SEGMENT_BYTES, RULE, &mut |step| {
                assert_eq!(state(&partition), expected, "while running, at {step:?}");
                left -= 1;
                if left < 0 {
                    Err(Error::new(ErrorKind::Internal, "crash"))
                } else {
                    Ok(())
                }
            });
            drop(partition);
            let reopened = open(&path);
            assert_eq!(
                (state(&reopened), reopened.start(), reopened.end()),
                (expected.clone(), 0, end),
                "crash after {steps} steps"
            );
            assert_eq!(
                files(&path),
                reopened.segments().len(),
                "leftovers after {steps} steps"
            );
            compact(&reopened, SEGMENT_BYTES, RULE, &mut |_| Ok(())).unwrap();
            assert_eq!(state(&reopened), expected);
            append(&reopened, "key 0", Some(1_000));
            assert_eq!(records(&reopened).last().unwrap().0, end);
            if done.is_ok() {
                break;
            }
            crashes += 1;
        }
        assert!(crashes > 15, "only {crashes} steps");
    }

    /// A segment that was begun, and to which nothing could be written.
    #[test]
    fn an_empty_segment_is_not_closed_and_keeps_what_is_written_to_it_later() {
        let folder = tempfile::tempdir().unwrap();
        let partition = fill(&folder.path().join("0"));
        lock(&partition.tail).close(&partition).unwrap();
        let mut part = Part::new(Arc::clone(&partition));
        let record = Record {
            key: "refused".into(),
            value: Some("".into()),
            headers: Vec::new(),
            timestamp_ms: 5,
        };
        part.push(0, &record);
        {
            let mut tail = lock(&partition.tail);
            tail.stage(&part);
            tail.write(&partition).unwrap();
            tail.abandon(&partition);
            tail.close(&partition).unwrap();
        }
        for n in 0..10 {
            append(&partition, &format!("later {n}"), Some(n));
        }
        let expected = state(&partition);
        compact(&partition, SEGMENT_BYTES, RULE, &mut |_| Ok(())).unwrap();
        assert_eq!(state(&partition), expected);
        assert!(expected.contains_key("later 9".as_bytes()));
        let end = partition.end();
        drop(partition);
        let reopened = open(&folder.path().join("0"));
        assert_eq!((state(&reopened), reopened.end()), (expected, end));
    }

    #[test]
    fn a_torn_new_file_is_removed_at_opening() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("0");
        let partition = fill(&path);
        let expected = state(&partition);
        compact(&partition, SEGMENT_BYTES, RULE, &mut |step| {
            if step == Step::Written {
                Err(Error::new(ErrorKind::Internal, "crash"))
            } else {
                Ok(())
            }
        })
        .unwrap_err();
        drop(partition);
        let is_new = |path: &std::path::PathBuf| {
            path.extension().is_some_and(|extension| extension == "new")
        };
        let new = std::fs::read_dir(&path)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .find(is_new)
            .unwrap();
        let length = std::fs::metadata(&new).unwrap().len();
        File::options()
            .write(true)
            .open(&new)
            .unwrap()
            .set_len(length / 2)
            .unwrap();
        assert_eq!(state(&open(&path)), expected);
        assert!(!new.exists());
    }

    #[test]
    fn newest_records_keep_their_offsets_and_old_tombstones_go() {
        let folder = tempfile::tempdir().unwrap();
        let partition = fill(&folder.path().join("0"));
        let before: BTreeMap<u64, Record> = records(&partition).into_iter().collect();
        let segments = partition.segments().len();
        assert!((dirty_ratio(&partition) - 1.0).abs() < 1e-9);
        compact(&partition, SEGMENT_BYTES, RULE, &mut |_| Ok(())).unwrap();
        let after = records(&partition);
        assert!(
            after
                .iter()
                .all(|(offset, record)| before.get(offset) == Some(record))
        );
        assert!(
            after.iter().all(|(_, record)| record.value.is_some()),
            "a tombstone is left"
        );
        assert_eq!(after.len(), 22 + 7 + 8);
        assert!(partition.segments().len() < segments && dirty_ratio(&partition) == 0.0);
    }

    #[test]
    fn tombstones_stay_while_a_group_is_behind_or_they_are_young() {
        for rule in [
            TombstoneRule {
                lowest_position: Some(0),
                ..RULE
            },
            TombstoneRule {
                retention: Duration::from_millis(6),
                ..RULE
            },
            TombstoneRule {
                now_ms: i64::MIN,
                ..RULE
            },
        ] {
            let folder = tempfile::tempdir().unwrap();
            let partition = fill(&folder.path().join("0"));
            compact(&partition, SEGMENT_BYTES, rule, &mut |_| Ok(())).unwrap();
            assert_eq!(
                records(&partition)
                    .iter()
                    .filter(|(_, record)| record.value.is_none())
                    .count(),
                3
            );
        }
    }
}
