//! A process that appends, commits and compacts is killed again and again: nothing that it was told
//! is durable may be lost. 10 kills by default; `TRIBUTARY_KILLS` sets another number.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use super::*;

const FOLDER: &str = "TRIBUTARY_TEST_KILL";
const PRODUCERS: u64 = 8;

fn child_config() -> Config {
    Config {
        segment_bytes: 64 << 10,
        ..config()
    }
}

/// What the killed process runs: says on its output what was acknowledged, for ever.
#[test]
fn child() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let log = EmbeddedEventLog::open(Path::new(&folder), child_config()).unwrap();
        log.create_topic("plain", topic(2)).await.unwrap();
        log.create_topic("compacted", compacted()).await.unwrap();
        let from: u64 = std::env::var("FROM").unwrap().parse().unwrap();
        let produce =
            futures::future::join_all((0..PRODUCERS).map(|producer| produce(&log, producer, from)));
        let compact = async {
            loop {
                log.compact("compacted").await.unwrap();
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        let (_, (), ()) = futures::join!(produce, compact, consume(&log));
    });
}

async fn produce(log: &dyn EventLog, producer: u64, from: u64) {
    for n in from.. {
        let value = format!("{n} {}", "x".repeat((n % 700) as usize));
        let plain = log
            .append("plain", vec![record(&format!("{producer}/{n}"), &value)])
            .await
            .unwrap()[0];
        say(&format!(
            "plain {} {} {producer}/{n}",
            plain.partition, plain.offset
        ));
        let key = format!("{producer}/{}", n % 10);
        log.append("compacted", vec![record(&key, &value)])
            .await
            .unwrap();
        say(&format!("compacted {key} {n}"));
    }
}

async fn consume(log: &dyn EventLog) {
    let mut subscription = log.subscribe("plain", Some("g")).await.unwrap();
    loop {
        let batch = subscription
            .next_batch(
                BatchLimit {
                    records: 50,
                    bytes: 1 << 20,
                },
                Duration::from_secs(1),
            )
            .await
            .unwrap();
        let positions: Vec<Position> = batch.iter().map(conformance::after).collect();
        subscription.commit(&positions).await.unwrap();
        for position in positions {
            say(&format!(
                "committed {} {}",
                position.partition, position.offset
            ));
        }
    }
}

fn say(line: &str) {
    // One write per line, so that a kill cuts no line that the parent reads whole.
    std::io::stdout()
        .write_all(format!("#{line}\n").as_bytes())
        .unwrap();
}

/// All that any child was told.
#[derive(Default)]
struct Told {
    plain: HashMap<(u32, u64), String>,
    compacted: BTreeMap<String, u64>,
    committed: BTreeMap<u32, u64>,
    highest: u64,
}

impl Told {
    fn hear(&mut self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| words[at].parse::<u64>().unwrap();
        match words[0] {
            "plain" => {
                let before = self
                    .plain
                    .insert((number(1) as u32, number(2)), words[3].to_owned());
                assert_eq!(before, None, "an offset was given twice");
                self.highest = self
                    .highest
                    .max(words[3].split('/').nth(1).unwrap().parse().unwrap());
            }
            "compacted" => drop(self.compacted.insert(words[1].to_owned(), number(2))),
            "committed" => {
                let position = self.committed.entry(number(1) as u32).or_insert(0);
                *position = number(2).max(*position);
            }
            other => panic!("{other}"),
        }
    }
}

#[test]
fn kills_lose_nothing_acknowledged() {
    let kills: u64 = std::env::var("TRIBUTARY_KILLS").map_or(10, |kills| kills.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let mut told = Told::default();
    for kill in 0..kills {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "kill::child", "--nocapture"])
            .env(FOLDER, folder.path())
            .env("FROM", (told.highest + 1).to_string())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap())
            .lines()
            .map_while(Result::ok);
        let mut heard = 0;
        for line in lines
            .by_ref()
            .filter_map(|line| line.split_once('#').map(|(_, said)| said.to_owned()))
        {
            told.hear(&line);
            heard += 1;
            if heard >= 200 + kill * 37 % 400 {
                break;
            }
        }
        assert!(heard >= 200, "the child ended by itself");
        child.kill().unwrap();
        child.wait().unwrap();
        // What it had said before it died counts, too; the last line may be cut.
        for line in lines.filter_map(|line| line.split_once('#').map(|(_, said)| said.to_owned())) {
            told.hear(&line);
        }
        tokio::runtime::Runtime::new()
            .unwrap()
            .block_on(check(folder.path(), &told));
    }
    writeln!(
        std::io::stderr(),
        "{kills} kills, {} acknowledged records, 0 lost",
        told.plain.len()
    )
    .unwrap();
}

async fn check(folder: &Path, told: &Told) {
    let log = EmbeddedEventLog::open(folder, child_config()).unwrap();
    let read: HashMap<(u32, u64), String> = read_all(&log, "plain")
        .await
        .iter()
        .map(|stored| {
            (
                (stored.position.partition, stored.position.offset),
                text(stored).0,
            )
        })
        .collect();
    for (place, key) in &told.plain {
        assert_eq!(
            read.get(place),
            Some(key),
            "an acknowledged record is lost or changed"
        );
    }
    let newest: BTreeMap<String, u64> = read_all(&log, "compacted")
        .await
        .iter()
        .map(text)
        .map(|(key, value)| {
            (
                key,
                value.unwrap().split(' ').next().unwrap().parse().unwrap(),
            )
        })
        .collect();
    for (key, n) in &told.compacted {
        assert!(
            newest.get(key) >= Some(n),
            "{key}: {n} was acknowledged, {:?} is there",
            newest.get(key)
        );
    }
    for lag in log.lag("plain", "g").await.unwrap() {
        assert!(
            lag.committed >= told.committed.get(&lag.partition).copied().unwrap_or(0),
            "a commit was lost"
        );
    }
}
