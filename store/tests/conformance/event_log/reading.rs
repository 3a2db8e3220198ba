//! Reading in batches: limits, waiting, cancelling.

use super::*;

/// A batch has at most `limit.records`, and ends as soon as `limit.bytes` is reached.
pub async fn limits_are_kept(log: &dyn EventLog) {
    topic(log, "limits", 2).await;
    log.append(
        "limits",
        (0..100)
            .map(|n| record(&n.to_string(), &"x".repeat(1_000)))
            .collect(),
    )
    .await
    .unwrap();
    let mut subscription = log.subscribe("limits", None).await.unwrap();
    let mut seen = 0;
    for (records, bytes, maximum) in [
        (0, 1 << 20, 0),
        (1, 1 << 20, 1),
        (7, 1 << 20, 7),
        (100, 1, 1),
        (100, 0, 1),
        (100, 2_500, 3),
        (1_000, 1 << 30, 88),
    ] {
        let batch = subscription
            .next_batch(BatchLimit { records, bytes }, SOON)
            .await
            .unwrap();
        assert!(
            batch.len() <= maximum && batch.is_empty() == (maximum == 0),
            "{} records under a limit of {records} and {bytes} bytes",
            batch.len()
        );
        seen += batch.len();
    }
    take(subscription.as_mut(), 100 - seen).await;
    nothing_more(subscription.as_mut()).await;
}

/// One record over the byte limit is still returned.
pub async fn a_large_record_is_returned_alone(log: &dyn EventLog) {
    topic(log, "large", 1).await;
    let sent = vec![record("a", &"x".repeat(700_000)), record("a", "small")];
    log.append("large", sent.clone()).await.unwrap();
    let mut subscription = log.subscribe("large", None).await.unwrap();
    for expected in sent {
        let batch = subscription
            .next_batch(
                BatchLimit {
                    records: 10,
                    bytes: 1,
                },
                SOON,
            )
            .await
            .unwrap();
        assert_eq!(
            batch
                .into_iter()
                .map(|stored| stored.record)
                .collect::<Vec<_>>(),
            [expected]
        );
    }
}

/// Without records the wait is waited, and the batch is empty.
pub async fn waiting_ends_without_records(log: &dyn EventLog) {
    topic(log, "silence", 2).await;
    let mut subscription = log.subscribe("silence", Some("g")).await.unwrap();
    let started = Instant::now();
    assert_eq!(
        subscription
            .next_batch(ANY, Duration::from_millis(60))
            .await
            .unwrap(),
        []
    );
    assert!(
        started.elapsed() >= Duration::from_millis(60),
        "returned before the wait was over"
    );
    assert_eq!(
        subscription.next_batch(ANY, Duration::ZERO).await.unwrap(),
        []
    );
}

/// A record that arrives during the wait ends it.
pub async fn waiting_ends_early_with_a_record(log: &dyn EventLog) {
    topic(log, "wake", 3).await;
    let mut subscription = log.subscribe("wake", Some("g")).await.unwrap();
    for round in 0..3 {
        let started = Instant::now();
        let append = async {
            tokio::time::sleep(Duration::from_millis(30)).await;
            log.append("wake", vec![record(&round.to_string(), "")])
                .await
                .unwrap()
        };
        let (batch, positions) = tokio::join!(
            subscription.next_batch(ANY, Duration::from_secs(60)),
            append
        );
        assert_eq!(
            batch
                .unwrap()
                .iter()
                .map(|stored| stored.position)
                .collect::<Vec<_>>(),
            positions
        );
        assert!(
            started.elapsed() < SOON,
            "the append did not wake the reader"
        );
    }
    assert_eq!(
        subscription
            .next_batch(ANY, Duration::MAX / 2)
            .now_or_pending()
            .await,
        None,
        "an endless wait must not end"
    );
}

/// Dropping `next_batch` in the middle skips no record.
pub async fn cancelling_loses_nothing(log: &dyn EventLog) {
    topic(log, "cancel", 2).await;
    let mut subscription = log.subscribe("cancel", Some("g")).await.unwrap();
    let mut seen = Vec::new();
    for round in 0..30u32 {
        let records = (0..10)
            .map(|n| record(&format!("{round}/{n}"), ""))
            .collect();
        log.append("cancel", records).await.unwrap();
        let limit = BatchLimit {
            records: 7,
            bytes: 1 << 20,
        };
        let patience = Duration::from_micros(u64::from(round) * 20);
        if let Ok(batch) =
            tokio::time::timeout(patience, subscription.next_batch(limit, SOON)).await
        {
            seen.extend(batch.unwrap());
        }
    }
    let missing = 300 - seen.len();
    seen.extend(take(subscription.as_mut(), missing).await);
    let positions: std::collections::HashSet<Position> =
        seen.iter().map(|stored| stored.position).collect();
    assert_eq!(
        positions.len(),
        300,
        "a record came twice, and so another not at all"
    );
}

/// Gives a future 50 ms.
trait NowOrPending: Future + Sized {
    async fn now_or_pending(self) -> Option<Self::Output> {
        tokio::time::timeout(Duration::from_millis(50), self)
            .await
            .ok()
    }
}

impl<F: Future> NowOrPending for F {}
