//! What a group of readers is promised: positions, commits, lag, sharing.

use super::*;

/// What one group reads and commits does not move another.
pub async fn groups_are_independent(log: &dyn EventLog) {
    topic(log, "groups", 1).await;
    log.append("groups", vec![record("a", "1"), record("a", "2")])
        .await
        .unwrap();
    let mut first = log.subscribe("groups", Some("first")).await.unwrap();
    let read = take(first.as_mut(), 2).await;
    first.commit(&[after(&read[1])]).await.unwrap();
    take(
        log.subscribe("groups", Some("组/第二"))
            .await
            .unwrap()
            .as_mut(),
        2,
    )
    .await;
    assert_eq!(log.lag("groups", "first").await.unwrap()[0].committed, 2);
    assert_eq!(log.lag("groups", "组/第二").await.unwrap()[0].committed, 0);
}

/// A new subscription of a group begins at its committed positions.
pub async fn groups_resume_after_what_they_committed(log: &dyn EventLog) {
    topic(log, "resume", 1).await;
    log.append(
        "resume",
        (0..10).map(|n| record("a", &n.to_string())).collect(),
    )
    .await
    .unwrap();
    let mut subscription = log.subscribe("resume", Some("g")).await.unwrap();
    let read = take(subscription.as_mut(), 10).await;
    subscription.commit(&[after(&read[3])]).await.unwrap();
    drop(subscription);
    let mut subscription = log.subscribe("resume", Some("g")).await.unwrap();
    assert_eq!(value(&take(subscription.as_mut(), 6).await[0]), "4");
    nothing_more(subscription.as_mut()).await;
}

/// Without a commit, a new subscription reads all again.
pub async fn uncommitted_records_come_again(log: &dyn EventLog) {
    topic(log, "again", 2).await;
    log.append(
        "again",
        (0..10).map(|n| record(&n.to_string(), "")).collect(),
    )
    .await
    .unwrap();
    for _ in 0..2 {
        take(
            log.subscribe("again", Some("g")).await.unwrap().as_mut(),
            10,
        )
        .await;
    }
}

/// A lower position than the committed one is ignored, also within one call.
pub async fn commits_never_move_back(log: &dyn EventLog) {
    topic(log, "back", 1).await;
    log.append(
        "back",
        (0..10).map(|n| record("a", &n.to_string())).collect(),
    )
    .await
    .unwrap();
    let mut subscription = log.subscribe("back", Some("g")).await.unwrap();
    let at = |offset| Position {
        partition: 0,
        offset,
    };
    subscription.commit(&[at(7), at(2)]).await.unwrap();
    subscription.commit(&[at(3)]).await.unwrap();
    subscription.commit(&[]).await.unwrap();
    assert_eq!(log.lag("back", "g").await.unwrap()[0].committed, 7);
    drop(subscription);
    take(log.subscribe("back", Some("g")).await.unwrap().as_mut(), 3).await;
}

/// Committing one partition leaves the others where they are.
pub async fn commits_reach_only_their_partition(log: &dyn EventLog) {
    topic(log, "one-partition", 2).await;
    let positions = log
        .append(
            "one-partition",
            (0..20).map(|n| record(&n.to_string(), "")).collect(),
        )
        .await
        .unwrap();
    let of_first = positions
        .iter()
        .filter(|position| position.partition == 0)
        .count() as u64;
    let mut subscription = log.subscribe("one-partition", Some("g")).await.unwrap();
    subscription
        .commit(&[Position {
            partition: 0,
            offset: of_first,
        }])
        .await
        .unwrap();
    drop(subscription);
    let lag = log.lag("one-partition", "g").await.unwrap();
    assert_eq!(
        (lag[0].committed, lag[0].records(), lag[1].committed),
        (of_first, 0, 0)
    );
    let read = take(
        log.subscribe("one-partition", Some("g"))
            .await
            .unwrap()
            .as_mut(),
        20 - of_first as usize,
    )
    .await;
    assert!(read.iter().all(|stored| stored.position.partition == 1));
}

/// A position that no record can have yet, or in no partition, is `Invalid`: committing it would
/// skip records to come.
pub async fn commits_beyond_the_end_are_refused(log: &dyn EventLog) {
    topic(log, "beyond", 1).await;
    log.append("beyond", vec![record("a", "")]).await.unwrap();
    let mut subscription = log.subscribe("beyond", Some("g")).await.unwrap();
    for position in [
        Position {
            partition: 0,
            offset: 2,
        },
        Position {
            partition: 1,
            offset: 0,
        },
    ] {
        assert_eq!(
            subscription.commit(&[position]).await.unwrap_err().kind(),
            ErrorKind::Invalid
        );
    }
    assert_eq!(log.lag("beyond", "g").await.unwrap()[0].committed, 0);
}

/// `subscribe(topic, None)` starts at the start, as often as one likes; its commit is `Invalid`.
pub async fn readers_without_a_group_see_all_and_cannot_commit(log: &dyn EventLog) {
    topic(log, "groupless", 2).await;
    log.append(
        "groupless",
        (0..10).map(|n| record(&n.to_string(), "")).collect(),
    )
    .await
    .unwrap();
    let mut first = log.subscribe("groupless", None).await.unwrap();
    let mut second = log.subscribe("groupless", None).await.unwrap();
    let read = take(first.as_mut(), 10).await;
    take(second.as_mut(), 10).await;
    assert_eq!(
        first.commit(&[after(&read[0])]).await.unwrap_err().kind(),
        ErrorKind::Invalid
    );
}

/// Start, committed, end, and the age of the oldest record to come.
pub async fn lag_counts(log: &dyn EventLog) {
    topic(log, "lag", 1).await;
    let lag = async || log.lag("lag", "g").await.unwrap()[0];
    assert_eq!(
        (
            lag().await.start,
            lag().await.committed,
            lag().await.end,
            lag().await.oldest_uncommitted_ms
        ),
        (0, 0, 0, None)
    );
    let records = (0..5)
        .map(|n| Record {
            timestamp_ms: 100 + n,
            ..record("a", "")
        })
        .collect();
    log.append("lag", records).await.unwrap();
    assert_eq!(
        (
            lag().await.committed,
            lag().await.end,
            lag().await.oldest_uncommitted_ms,
            lag().await.records()
        ),
        (0, 5, Some(100), 5)
    );
    let mut subscription = log.subscribe("lag", Some("g")).await.unwrap();
    for (offset, oldest) in [(2, Some(102)), (5, None)] {
        subscription
            .commit(&[Position {
                partition: 0,
                offset,
            }])
            .await
            .unwrap();
        assert_eq!(
            (
                lag().await.committed,
                lag().await.oldest_uncommitted_ms,
                lag().await.records()
            ),
            (offset, oldest, 5 - offset)
        );
    }
    assert_eq!(log.lag("lag", "another").await.unwrap()[0].committed, 0);
}

/// A second reader of a group is refused while the first lives.
#[allow(dead_code, reason = "one side of a difference")]
pub async fn a_group_has_one_reader(log: &dyn EventLog) {
    let mut first = first_of_the_group(log).await;
    let second = log.subscribe("readers", Some("g")).await;
    assert_eq!(second.map(drop).unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(
        first.revoked(),
        Vec::<u32>::new(),
        "a log with one reader per group took partitions away"
    );
}

/// A second reader of a group gets partitions of its own; every record goes to one of the two.
#[allow(dead_code, reason = "one side of a difference")]
pub async fn readers_of_a_group_share_its_partitions(log: &dyn EventLog) {
    let mut first = first_of_the_group(log).await;
    let mut second = log.subscribe("readers", Some("g")).await.unwrap();
    let deadline = Instant::now() + SOON;
    let (mut lost, mut gained) = (Vec::new(), Vec::new());
    while lost.is_empty() || gained.is_empty() {
        assert!(
            Instant::now() < deadline,
            "the partitions were not shared: lost {lost:?}, gained {gained:?}"
        );
        nothing_more(first.as_mut()).await;
        lost.extend(first.revoked());
        gained.extend(
            second
                .next_batch(ANY, Duration::from_millis(50))
                .await
                .unwrap(),
        );
    }
    assert!(
        gained
            .iter()
            .all(|stored| lost.contains(&stored.position.partition)),
        "a partition has two readers"
    );
    let of_lost = Position {
        partition: lost[0],
        offset: 1,
    };
    first.commit(&[of_lost]).await.unwrap();
    let lag = log.lag("readers", "g").await.unwrap();
    assert_eq!(
        lag[lost[0] as usize].committed, 0,
        "a reader committed what it no longer holds"
    );
}

/// A reader that has read twenty records of two partitions and committed none.
async fn first_of_the_group(log: &dyn EventLog) -> Box<dyn Subscription> {
    topic(log, "readers", 2).await;
    log.append(
        "readers",
        (0..20).map(|n| record(&n.to_string(), "")).collect(),
    )
    .await
    .unwrap();
    let mut first = log.subscribe("readers", Some("g")).await.unwrap();
    take(first.as_mut(), 20).await;
    first
}

/// A forgotten group begins at the start; one with a reader is not forgotten, and one that never
/// was is no error.
pub async fn forgotten_groups_start_again(log: &dyn EventLog) {
    topic(log, "forgotten", 1).await;
    log.append(
        "forgotten",
        (0..4).map(|n| record("a", &n.to_string())).collect(),
    )
    .await
    .unwrap();
    log.forget_group("forgotten", "never").await.unwrap();
    assert_eq!(
        log.forget_group("no-such-topic", "g")
            .await
            .unwrap_err()
            .kind(),
        ErrorKind::NotFound
    );
    let mut subscription = log.subscribe("forgotten", Some("g")).await.unwrap();
    take(subscription.as_mut(), 4).await;
    subscription
        .commit(&[Position {
            partition: 0,
            offset: 3,
        }])
        .await
        .unwrap();
    assert_eq!(
        log.forget_group("forgotten", "g").await.unwrap_err().kind(),
        ErrorKind::Conflict
    );
    drop(subscription);
    log.forget_group("forgotten", "g").await.unwrap();
    assert_eq!(log.lag("forgotten", "g").await.unwrap()[0].committed, 0);
    take(
        log.subscribe("forgotten", Some("g"))
            .await
            .unwrap()
            .as_mut(),
        4,
    )
    .await;
}
