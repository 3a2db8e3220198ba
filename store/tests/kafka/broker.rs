//! A broker that goes away: everything waits or says so, and goes on by itself. Starts a broker of
//! its own to stop it.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use super::*;

/// A broker that only this test uses; gone with its data at the end.
struct OwnBroker {
    name: String,
    address: String,
}

impl OwnBroker {
    fn start(name: &str) -> Self {
        let name = format!("{name}-{}", std::process::id());
        let address = services(&["start", "--name", &name, "--port", "free", "--heap", "256m"]);
        Self {
            name,
            address: address.lines().last().unwrap().trim().to_owned(),
        }
    }

    fn act(&self, command: &str) {
        services(&[command, "--name", &self.name]);
    }
}

impl Drop for OwnBroker {
    fn drop(&mut self) {
        services(&["clean", "--name", &self.name]);
    }
}

fn services(arguments: &[&str]) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/services/kafka");
    let output = Command::new(script).args(arguments).output().unwrap();
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_restart_of_the_broker_everything_goes_on_by_itself() {
    if brokers("after_a_restart_of_the_broker_everything_goes_on_by_itself").is_none() {
        return;
    }
    let broker = OwnBroker::start("k-restart");
    let short = Config {
        delivery_timeout_ms: 3_000,
        request_timeout_ms: 2_000,
        ..config(&broker.address)
    };
    let log = KafkaEventLog::open(short).await.unwrap();
    log.create_topic("restart", partitions(2)).await.unwrap();
    log.append(
        "restart",
        (0..20).map(|n| record(&n.to_string(), "before")).collect(),
    )
    .await
    .unwrap();
    let mut subscription = log.subscribe("restart", Some("g")).await.unwrap();
    let before = conformance::take(subscription.as_mut(), 20).await;
    let half: Vec<Position> = before
        .iter()
        .filter(|stored| stored.position.partition == 0)
        .map(conformance::after)
        .collect();
    subscription.commit(&half).await.unwrap();

    broker.act("kill");
    let started = Instant::now();
    let refused = log
        .append("restart", vec![record("a", "away")])
        .await
        .unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unavailable, "{refused}");
    assert!(
        started.elapsed() < Duration::from_secs(60),
        "an append to a broker that is away took {:?}",
        started.elapsed()
    );
    assert_eq!(
        log.lag("restart", "g").await.unwrap_err().kind(),
        ErrorKind::Unavailable
    );
    match subscription
        .next_batch(ANY, Duration::from_millis(300))
        .await
    {
        Ok(batch) => assert!(
            batch
                .iter()
                .all(|stored| stored.record.value.as_deref() == Some(b"away".as_slice())),
            "{batch:?}"
        ),
        Err(error) => assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}"),
    }

    broker.act("start");
    let deadline = Instant::now() + Duration::from_secs(180);
    while let Err(error) = log.append("restart", vec![record("b", "after")]).await {
        assert!(
            error.kind() == ErrorKind::Unavailable && Instant::now() < deadline,
            "{error}"
        );
    }
    let mut received = Vec::new();
    while !received
        .iter()
        .any(|stored: &StoredRecord| stored.record.value.as_deref() == Some(b"after".as_slice()))
    {
        assert!(Instant::now() < deadline, "the reader did not go on");
        received.extend(
            subscription
                .next_batch(ANY, Duration::from_secs(1))
                .await
                .ok()
                .unwrap_or_default(),
        );
    }
    // The group may have been lost with its coordinator: then what was not committed comes again,
    // and can be committed.
    let ends: Vec<Position> = log
        .lag("restart", "g")
        .await
        .unwrap()
        .iter()
        .map(|lag| Position {
            partition: lag.partition,
            offset: lag.end,
        })
        .collect();
    while let Err(error) = subscription.commit(&ends).await {
        assert!(Instant::now() < deadline, "{error}");
        subscription
            .next_batch(ANY, Duration::from_millis(500))
            .await
            .ok();
    }
    assert!(
        log.lag("restart", "g")
            .await
            .unwrap()
            .iter()
            .all(|lag| lag.records() == 0)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_that_is_forgotten_while_the_broker_is_away_ends_nothing() {
    if brokers("a_group_that_is_forgotten_while_the_broker_is_away_ends_nothing").is_none() {
        return;
    }
    let broker = OwnBroker::start("k-forget");
    let short = Config {
        request_timeout_ms: 1_500,
        ..config(&broker.address)
    };
    let log = KafkaEventLog::open(short).await.unwrap();
    log.create_topic("left", partitions(1)).await.unwrap();
    log.append("left", vec![record("a", "read")]).await.unwrap();
    let mut subscription = log.subscribe("left", Some("g")).await.unwrap();
    let read = conformance::take(subscription.as_mut(), 1).await;
    let after: Vec<Position> = read.iter().map(conformance::after).collect();
    subscription.commit(&after).await.unwrap();
    drop(subscription);

    broker.act("kill");
    for _ in 0..3 {
        let refused = log.forget_group("left", "g").await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Unavailable, "{refused}");
    }
    broker.act("start");
    let deadline = Instant::now() + Duration::from_secs(180);
    while let Err(error) = log.forget_group("left", "g").await {
        assert!(Instant::now() < deadline, "{error}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let lag = log.lag("left", "g").await.unwrap();
    assert_eq!(lag.first().map(|lag| lag.committed), Some(0));
}
