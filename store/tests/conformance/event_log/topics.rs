//! Making topics, and what of one does not reach another.

use super::*;

/// Creating a topic again is fine and keeps partitions and records.
pub async fn creation_can_be_repeated(log: &dyn EventLog) {
    topic(log, "creation", 2).await;
    log.append("creation", vec![record("a", "1")])
        .await
        .unwrap();
    topic(log, "creation", 5).await;
    assert_eq!(log.lag("creation", "g").await.unwrap().len(), 2);
    take(log.subscribe("creation", None).await.unwrap().as_mut(), 1).await;
}

/// Every call on a topic that was never created is `NotFound`.
pub async fn unknown_topics_are_not_found(log: &dyn EventLog) {
    let kinds = [
        log.append("no-such-topic", vec![record("a", "1")])
            .await
            .map(drop)
            .unwrap_err()
            .kind(),
        log.append("no-such-topic", Vec::new())
            .await
            .map(drop)
            .unwrap_err()
            .kind(),
        log.subscribe("no-such-topic", Some("g"))
            .await
            .map(drop)
            .unwrap_err()
            .kind(),
        log.subscribe("no-such-topic", None)
            .await
            .map(drop)
            .unwrap_err()
            .kind(),
        log.lag("no-such-topic", "g")
            .await
            .map(drop)
            .unwrap_err()
            .kind(),
    ];
    assert_eq!(kinds, [ErrorKind::NotFound; 5]);
}

/// Names that are no file names, and topics without partitions, are `Invalid`.
pub async fn illegal_names_are_refused(log: &dyn EventLog) {
    for name in [
        "",
        ".",
        "..",
        "a/b",
        "../a",
        "主题",
        "a b",
        "a\0b",
        &"x".repeat(250),
    ] {
        assert_eq!(
            log.create_topic(name, settings(1))
                .await
                .unwrap_err()
                .kind(),
            ErrorKind::Invalid,
            "{name}"
        );
    }
    assert_eq!(
        log.create_topic("no-partitions", settings(0))
            .await
            .unwrap_err()
            .kind(),
        ErrorKind::Invalid
    );
}

/// Topics share neither records nor offsets nor group positions.
pub async fn topics_are_independent(log: &dyn EventLog) {
    topic(log, "left", 1).await;
    topic(log, "right", 1).await;
    log.append("left", vec![record("a", "left")]).await.unwrap();
    let positions = log
        .append("right", vec![record("a", "right")])
        .await
        .unwrap();
    assert_eq!(
        positions,
        [Position {
            partition: 0,
            offset: 0
        }]
    );
    let mut left = log.subscribe("left", Some("g")).await.unwrap();
    let read = take(left.as_mut(), 1).await;
    left.commit(&[after(&read[0])]).await.unwrap();
    let mut right = log.subscribe("right", Some("g")).await.unwrap();
    assert_eq!(value(&take(right.as_mut(), 1).await[0]), "right");
}
