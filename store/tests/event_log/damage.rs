//! Torn tails, flipped bits, missing files: what is cut off, and what is reported.

use super::*;

/// A log with 3 acknowledged appends of 2 records, in one segment.
async fn three_batches(folder: &Path) -> Vec<u8> {
    let log = open(folder);
    log.create_topic("t", topic(1)).await.unwrap();
    for n in 0..3 {
        log.append(
            "t",
            vec![
                record("a", &format!("{n} a")),
                record("b", &format!("{n} b")),
            ],
        )
        .await
        .unwrap();
    }
    drop(log);
    std::fs::read(&segments(folder, "t")[0]).unwrap()
}

async fn values(folder: &Path) -> Vec<String> {
    read_all(&open(folder), "t")
        .await
        .iter()
        .map(|stored| text(stored).1.unwrap())
        .collect()
}

const VALUES: [&str; 6] = ["0 a", "0 b", "1 a", "1 b", "2 a", "2 b"];
const FRAME: usize = 44 + 1 + 3;

#[tokio::test]
async fn a_tail_torn_at_any_byte_is_cut_off_and_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = three_batches(folder.path()).await;
    assert_eq!(bytes.len(), 32 + 6 * FRAME);
    let path = &segments(folder.path(), "t")[0];
    for length in bytes.len() - 2 * FRAME..=bytes.len() {
        for junk in [
            &b""[..],
            &[0; 100],
            b"junk at the end of a file, longer than one frame of this log, to be cut off",
        ] {
            std::fs::write(path, [&bytes[..length], junk].concat()).unwrap();
            let whole = (length - 32) / FRAME;
            let log = open(folder.path());
            assert_eq!(read_all(&log, "t").await.len(), whole, "cut at {length}");
            assert_eq!(
                log.counters().torn_bytes.get() as usize,
                length - 32 - whole * FRAME + junk.len()
            );
            let positions = log.append("t", vec![record("c", "new")]).await.unwrap();
            assert_eq!(positions[0].offset, whole as u64);
            drop(log);
            let mut expected = VALUES[..whole].to_vec();
            expected.push("new");
            assert_eq!(values(folder.path()).await, expected);
        }
    }
}

#[tokio::test]
async fn a_flipped_bit_is_cut_off_in_the_last_batch_and_passed_over_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = three_batches(folder.path()).await;
    let path = segments(folder.path(), "t").remove(0);
    let last_batch = bytes.len() - 2 * FRAME;
    for bit in (0..bytes.len() * 8).step_by(5) {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        std::fs::write(&path, &damaged).unwrap();
        if bit / 8 < last_batch {
            let log = open(folder.path());
            let read: Vec<String> = read_all(&log, "t")
                .await
                .iter()
                .map(|stored| text(stored).1.unwrap())
                .collect();
            let rotten = (bit / 8).checked_sub(32).map(|byte| byte / FRAME);
            let mut expected = VALUES.to_vec();
            rotten.map(|place| expected.remove(place));
            assert_eq!(read, expected, "bit {bit}");
            let (position, found) = (rotten.map_or(0, |place| 32 + place * FRAME), log.damage());
            assert_eq!(
                found
                    .iter()
                    .map(|damage| (&damage.path, damage.position))
                    .collect::<Vec<_>>(),
                [(&path, position as u64)]
            );
            assert_eq!(
                log.append("t", vec![record("c", "new")]).await.unwrap()[0].offset,
                6
            );
        } else {
            let whole = 4 + (bit / 8 - last_batch) / FRAME;
            assert_eq!(values(folder.path()).await, VALUES[..whole], "bit {bit}");
        }
    }
}

#[tokio::test]
async fn damage_in_the_last_batch_costs_one_record_where_a_group_has_read_it() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = three_batches(folder.path()).await;
    let log = open(folder.path());
    log.subscribe("t", Some("g"))
        .await
        .unwrap()
        .commit(&[Position {
            partition: 0,
            offset: 6,
        }])
        .await
        .unwrap();
    drop(log);
    let path = segments(folder.path(), "t").remove(0);
    let first_of_the_last = bytes.len() - 2 * FRAME;
    for bit in first_of_the_last * 8..(first_of_the_last + FRAME) * 8 {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        std::fs::write(&path, &damaged).unwrap();
        let log = open(folder.path());
        let read: Vec<String> = read_all(&log, "t")
            .await
            .iter()
            .map(|stored| text(stored).1.unwrap())
            .collect();
        assert_eq!(read, ["0 a", "0 b", "1 a", "1 b", "2 b"], "bit {bit}");
        let found: Vec<u64> = log.damage().iter().map(|damage| damage.position).collect();
        assert_eq!(found, [first_of_the_last as u64], "bit {bit}");
        assert_eq!(
            log.append("t", vec![record("c", "new")]).await.unwrap()[0].offset,
            6
        );
        drop(log);
        assert_eq!(
            values(folder.path()).await.last().map(String::as_str),
            Some("new"),
            "bit {bit}"
        );
    }
}

#[tokio::test]
async fn a_cut_below_what_a_group_has_read_is_reported_and_its_offsets_are_never_used_again() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = three_batches(folder.path()).await;
    let log = open(folder.path());
    log.subscribe("t", Some("g"))
        .await
        .unwrap()
        .commit(&[Position {
            partition: 0,
            offset: 6,
        }])
        .await
        .unwrap();
    drop(log);
    std::fs::write(&segments(folder.path(), "t")[0], &bytes[..bytes.len() - 1]).unwrap();
    for _ in 0..2 {
        let log = open(folder.path());
        assert!(
            log.damage()
                .iter()
                .any(|damage| damage.what.contains("records are lost")),
            "{:?}",
            log.damage()
        );
        assert_eq!(log.lag("t", "g").await.unwrap()[0].records(), 0);
    }
    let log = open(folder.path());
    assert_eq!(
        log.append("t", vec![record("c", "new")]).await.unwrap()[0].offset,
        6
    );
    let mut subscription = log.subscribe("t", Some("g")).await.unwrap();
    assert_eq!(
        text(&subscription.next_batch(ANY, Duration::ZERO).await.unwrap()[0])
            .1
            .as_deref(),
        Some("new")
    );
    drop((log, subscription));
    assert_eq!(open(folder.path()).damage(), []);
}

#[tokio::test]
async fn who_waits_for_the_end_sees_it_where_the_last_records_rotted() {
    let folder = tempfile::tempdir().unwrap();
    many_segments(folder.path()).await;
    let last = segments(folder.path(), "t").pop().unwrap();
    std::fs::remove_file(&last).unwrap();
    let path = segments(folder.path(), "t").pop().unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let length = bytes.len();
    bytes[length - 70] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let log = open(folder.path());
    let end = log.lag("t", "g").await.unwrap()[0].end;
    let mut subscription = log.subscribe("t", Some("g")).await.unwrap();
    let mut seen = 0;
    while subscription.positions()[0].offset < end {
        let batch = subscription
            .next_batch(ANY, Duration::from_secs(60))
            .await
            .unwrap();
        seen += batch.len() as u64;
        subscription
            .commit(&[Position {
                partition: 0,
                offset: seen,
            }])
            .await
            .unwrap();
    }
    assert_eq!(
        (seen, log.lag("t", "g").await.unwrap()[0].records()),
        (end - 1, 0)
    );
}

#[tokio::test]
async fn bytes_within_a_value_are_not_taken_for_a_record() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = three_batches(folder.path()).await;
    let log = open(folder.path());
    // A document that holds a segment file, and one that follows it.
    let value = Some(Bytes::from(bytes.clone()));
    log.append(
        "t",
        vec![Record {
            value,
            ..record("d", "")
        }],
    )
    .await
    .unwrap();
    log.append("t", vec![record("e", "after")]).await.unwrap();
    drop(log);
    let path = segments(folder.path(), "t").remove(0);
    let whole = std::fs::read(&path).unwrap();
    for bit in 0..44 * 8 {
        let mut damaged = whole.clone();
        damaged[bytes.len() + bit / 8] ^= 1 << (bit % 8);
        std::fs::write(&path, &damaged).unwrap();
        let mut expected = VALUES.to_vec();
        expected.push("after");
        assert_eq!(values(folder.path()).await, expected, "bit {bit}");
    }
}

async fn many_segments(folder: &Path) {
    let log = EmbeddedEventLog::open(folder, small_segments()).unwrap();
    log.create_topic("t", topic(1)).await.unwrap();
    for n in 0..40 {
        log.append("t", vec![record("k", &format!("{n} {}", "x".repeat(500)))])
            .await
            .unwrap();
    }
    assert!(segments(folder, "t").len() > 4);
}

#[tokio::test]
async fn damage_in_a_closed_segment_takes_one_record_with_it() {
    let folder = tempfile::tempdir().unwrap();
    many_segments(folder.path()).await;
    let path = segments(folder.path(), "t").remove(1);
    let bytes = std::fs::read(&path).unwrap();
    for bit in (32 * 8..(bytes.len() - 60) * 8).step_by(1511) {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        std::fs::write(&path, &damaged).unwrap();
        let log = open(folder.path());
        let read = read_all(&log, "t").await;
        assert!(read.iter().all(|stored| {
            text(stored)
                .1
                .unwrap()
                .starts_with(&format!("{} ", stored.position.offset))
        }));
        let offsets: Vec<u64> = read.iter().map(|stored| stored.position.offset).collect();
        assert!(
            offsets.is_sorted() && offsets.len() == 39,
            "bit {bit}: {offsets:?}"
        );
        let found = log.damage();
        assert!(found.len() == 1 && found[0].path == path, "{found:?}");
        assert!(
            bit / 8 < 32 + 44
                || (found[0].position..found[0].position + found[0].bytes)
                    .contains(&(bit as u64 / 8)),
            "{found:?}"
        );
    }
}

#[tokio::test]
async fn damaged_headers_and_footers_cost_nothing_and_missing_segments_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    many_segments(folder.path()).await;
    let path = segments(folder.path(), "t").remove(1);
    let bytes = std::fs::read(&path).unwrap();
    for byte in (0..32).chain(bytes.len() - 60..bytes.len()) {
        let mut damaged = bytes.clone();
        damaged[byte] ^= 0x10;
        std::fs::write(&path, &damaged).unwrap();
        let log = open(folder.path());
        assert_eq!(
            (read_all(&log, "t").await.len(), log.damage().is_empty()),
            (40, false),
            "byte {byte}"
        );
    }
    for (length, lost) in [
        (32, 7),
        (100, 7),
        (bytes.len() - 1, 0),
        (bytes.len() - 61, 1),
    ] {
        std::fs::write(&path, &bytes[..length]).unwrap();
        let log = open(folder.path());
        assert_eq!(
            (read_all(&log, "t").await.len(), log.damage().is_empty()),
            (40 - lost, false),
            "length {length}"
        );
    }
    for length in [0, 10] {
        std::fs::write(&path, &bytes[..length]).unwrap();
        assert_eq!(
            kind_of_open(folder.path()).unwrap().0,
            ErrorKind::Corrupt,
            "length {length}"
        );
    }
    std::fs::remove_file(&path).unwrap();
    assert_eq!(kind_of_open(folder.path()).unwrap().0, ErrorKind::Corrupt);
    std::fs::write(&path, &bytes).unwrap();
    assert_eq!(kind_of_open(folder.path()), None);
}

#[tokio::test]
async fn a_crash_between_closing_and_the_next_segment_is_fine() {
    let folder = tempfile::tempdir().unwrap();
    many_segments(folder.path()).await;
    let mut paths = segments(folder.path(), "t");
    let last = paths.pop().unwrap();
    std::fs::rename(&last, last.with_added_extension("new")).unwrap();
    let log = open(folder.path());
    let end = log.lag("t", "g").await.unwrap()[0].end;
    assert_eq!(
        log.append("t", vec![record("k", "after")]).await.unwrap()[0].offset,
        end
    );
    drop(log);
    assert_eq!(
        segments(folder.path(), "t").len(),
        paths.len() + 1,
        "the unfinished file is still there"
    );
    assert_eq!(
        read_all(&open(folder.path()), "t").await.len() as u64,
        end + 1
    );
}

#[tokio::test]
async fn an_unfinished_topic_can_be_created() {
    let folder = tempfile::tempdir().unwrap();
    drop(open(folder.path()));
    std::fs::create_dir_all(folder.path().join("topics/t/0")).unwrap();
    std::fs::write(folder.path().join("topics/t/topic.json.new"), "{").unwrap();
    let log = open(folder.path());
    assert_eq!(
        log.append("t", vec![record("a", "")])
            .await
            .unwrap_err()
            .kind(),
        ErrorKind::NotFound
    );
    log.create_topic("t", topic(2)).await.unwrap();
    log.append("t", vec![record("a", "")]).await.unwrap();
    drop(log);
    std::fs::write(folder.path().join("topics/t/topic.json"), "{").unwrap();
    assert_eq!(
        open(folder.path()).lag("t", "g").await.unwrap().len(),
        2,
        "its partitions are counted"
    );
}
