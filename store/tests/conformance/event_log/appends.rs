//! What an append promises: positions, order, partitions, nothing lost.

use super::*;

/// Positions come in the order of the call, grow within a partition, and are where the records are
/// read.
pub async fn appends_return_their_positions(log: &dyn EventLog) {
    topic(log, "positions", 3).await;
    let records: Vec<Record> = (0..50)
        .map(|n| record(&format!("key {n}"), &n.to_string()))
        .collect();
    let mut positions = log.append("positions", records.clone()).await.unwrap();
    positions.extend(log.append("positions", records.clone()).await.unwrap());
    let read = take(
        log.subscribe("positions", None).await.unwrap().as_mut(),
        100,
    )
    .await;
    let by_position: HashMap<Position, String> = read
        .iter()
        .map(|stored| (stored.position, value(stored)))
        .collect();
    assert_eq!(by_position.len(), 100, "a position was used twice");
    for (index, position) in positions.iter().enumerate() {
        assert_eq!(by_position[position], (index % 50).to_string());
    }
    for partition in 0..3 {
        let offsets: Vec<u64> = positions
            .iter()
            .filter(|p| p.partition == partition)
            .map(|p| p.offset)
            .collect();
        assert!(offsets.is_sorted_by(|a, b| a < b), "offsets do not grow");
    }
}

/// No records, no positions, no error.
pub async fn an_empty_append_is_fine(log: &dyn EventLog) {
    topic(log, "empty", 1).await;
    assert_eq!(log.append("empty", Vec::new()).await.unwrap(), []);
}

/// Records of one key are read in the order of their appends.
pub async fn keys_keep_their_order(log: &dyn EventLog) {
    topic(log, "key-order", 3).await;
    for n in 0..20 {
        let both = vec![record("a", &n.to_string()), record("b", &n.to_string())];
        log.append("key-order", both).await.unwrap();
    }
    let read = take(log.subscribe("key-order", None).await.unwrap().as_mut(), 40).await;
    for key in ["a", "b"] {
        let values: Vec<String> = read
            .iter()
            .filter(|stored| stored.record.key == key)
            .map(value)
            .collect();
        assert_eq!(values, (0..20).map(|n| n.to_string()).collect::<Vec<_>>());
    }
}

/// Records of one append that go to one partition keep the order of the call.
pub async fn an_append_keeps_its_order(log: &dyn EventLog) {
    topic(log, "append-order", 2).await;
    log.append(
        "append-order",
        (0..500)
            .map(|n| record(&format!("{}", n % 7), &n.to_string()))
            .collect(),
    )
    .await
    .unwrap();
    let read = take(
        log.subscribe("append-order", None).await.unwrap().as_mut(),
        500,
    )
    .await;
    for partition in 0..2 {
        let of_partition = read
            .iter()
            .filter(|stored| stored.position.partition == partition);
        let numbers: Vec<u32> = of_partition
            .map(|stored| value(stored).parse().unwrap())
            .collect();
        assert!(numbers.is_sorted(), "partition {partition}: {numbers:?}");
    }
}

/// A key never changes its partition, and more than one partition is used.
pub async fn one_key_stays_in_one_partition(log: &dyn EventLog) {
    topic(log, "partitions", 4).await;
    let mut partition_of = HashMap::new();
    for _ in 0..3 {
        let keys: Vec<String> = (0..40).map(|n| format!("document/{n}")).collect();
        let positions = log
            .append(
                "partitions",
                keys.iter().map(|key| record(key, "")).collect(),
            )
            .await
            .unwrap();
        for (key, position) in keys.into_iter().zip(positions) {
            assert_eq!(
                *partition_of.entry(key).or_insert(position.partition),
                position.partition
            );
        }
    }
    let used: std::collections::HashSet<u32> = partition_of.into_values().collect();
    assert_eq!(used.len(), 4, "40 keys do not use all of 4 partitions");
}

/// Many appends at once: every record once, each producer's in order, while a reader follows.
pub async fn concurrent_appends_lose_nothing(log: &dyn EventLog) {
    topic(log, "concurrent", 4).await;
    let producer = async |producer: usize| {
        for n in 0..20 {
            log.append(
                "concurrent",
                vec![record(&format!("producer {producer}"), &n.to_string())],
            )
            .await
            .unwrap();
        }
    };
    let mut subscription = log.subscribe("concurrent", Some("g")).await.unwrap();
    let producers = futures::future::join_all((0..32).map(producer));
    let (_, read) = futures::future::join(producers, take(subscription.as_mut(), 640)).await;
    for producer in 0..32 {
        let key = format!("producer {producer}");
        let values: Vec<String> = read
            .iter()
            .filter(|stored| stored.record.key == key)
            .map(value)
            .collect();
        assert_eq!(
            values,
            (0..20).map(|n| n.to_string()).collect::<Vec<_>>(),
            "{key}"
        );
    }
    nothing_more(subscription.as_mut()).await;
}
