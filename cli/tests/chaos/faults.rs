//! What is done to the processes and to the servers beneath them.

use std::time::Duration;

use serde_json::{Value, json};

use crate::families::SOURCE_PROFILES;
use crate::fleet::Fleet;
use crate::harness::{Workspace, skip};
use crate::http_proxy::{HttpProxy, Weather};
use crate::random::Random;
use crate::servers::OwnServer;
use crate::tcp_proxy::TcpProxy;

/// A consumer of the real log that says nothing for so long is taken for dead.
pub const SESSION_TIMEOUT_MS: u64 = 6000;
const STAGES: [&str; 4] = ["ingest", "chunk", "embed", "index"];

/// One disturbance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// `kill -9` of one process.
    Kill,
    /// The same, and once more while it starts.
    KillWhileStarting,
    /// SIGTERM: it finishes what is in progress and ends.
    Terminate,
    /// SIGSTOP for a moment, then `kill -9` or SIGCONT.
    Pause,
    /// The time of day of all processes jumps by up to a day, back or forth.
    ClockJump,
    /// A stage forgets how far it was: everything is delivered again.
    DeliverAgain,
    /// The broker is stopped, or killed, and started again.
    RestartBroker,
    /// The broker is away for a while.
    BrokerAway,
    /// All connections to the broker are cut, several times.
    CutBroker,
    /// Everything from and to the broker takes longer.
    SlowBroker,
    /// The node is stopped, or killed, and started again.
    RestartNode,
    /// The node answers writes with 429.
    TooManyRequests,
    /// The node answers everything with 503.
    Unavailable,
    /// The node refuses every other item of a bulk request.
    RejectedItems,
    /// The node takes its time.
    SlowNode,
    /// Connections to the node are cut in the middle of an answer.
    CutNode,
    /// The flood stage of the disk: indexes are read-only until the block is lifted.
    Flood,
    /// A second worker of some services comes and goes.
    Rebalance,
    /// A process is paused until its partitions were given to another, and then goes on.
    Zombie,
    /// One process alone loses the broker until its partitions were given to another; the others do
    /// not.
    CutOff,
    /// The node answers everything with 401, as after a change of the password.
    Unauthorized,
    /// The node answers everything with 403.
    Forbidden,
    /// The node answers everything with 500.
    Broken,
    /// Files may not grow any more, as on a full disk.
    FullDisk,
    /// A process may not open more files.
    NoFiles,
    /// A new generation of the index is built, and with every second fault of the others too.
    Reindex,
}

/// A kind of fault: how often it comes in a round with either kind of stores, and what it waits
/// for.
pub struct Kind {
    pub fault: Fault,
    embedded: usize,
    real: usize,
}

const fn kind(fault: Fault, embedded: usize, real: usize) -> Kind {
    Kind {
        fault,
        embedded,
        real,
    }
}

/// Every kind of fault. With log and index in the data folder kills above all.
pub const KINDS: [Kind; 26] = [
    kind(Fault::Kill, 4, 1),
    kind(Fault::KillWhileStarting, 1, 0),
    kind(Fault::Terminate, 1, 1),
    kind(Fault::Pause, 1, 0),
    kind(Fault::ClockJump, 1, 1),
    kind(Fault::DeliverAgain, 1, 1),
    kind(Fault::FullDisk, 1, 0),
    kind(Fault::NoFiles, 1, 1),
    kind(Fault::RestartBroker, 0, 1),
    kind(Fault::BrokerAway, 0, 1),
    kind(Fault::CutBroker, 0, 1),
    kind(Fault::SlowBroker, 0, 1),
    kind(Fault::CutOff, 0, 1),
    kind(Fault::RestartNode, 0, 1),
    kind(Fault::TooManyRequests, 0, 1),
    kind(Fault::Unavailable, 0, 1),
    kind(Fault::Unauthorized, 0, 1),
    kind(Fault::Forbidden, 0, 1),
    kind(Fault::Broken, 0, 1),
    kind(Fault::RejectedItems, 0, 1),
    kind(Fault::SlowNode, 0, 1),
    kind(Fault::CutNode, 0, 1),
    kind(Fault::Flood, 0, 1),
    kind(Fault::Rebalance, 0, 1),
    kind(Fault::Zombie, 0, 1),
    kind(Fault::Reindex, 1, 1),
];

/// The faults of a round: all, or those of `asked` (names, with commas).
pub fn round(is_real: bool, asked: Option<&str>) -> Vec<Fault> {
    let is_asked = |fault: Fault| {
        asked.is_none_or(|names| names.split(',').any(|name| name == format!("{fault:?}")))
    };
    let times = |kind: &Kind| if is_real { kind.real } else { kind.embedded };
    let kinds = KINDS.iter().filter(|kind| is_asked(kind.fault));
    let faults: Vec<Fault> = kinds
        .flat_map(|kind| vec![kind.fault; times(kind)])
        .collect();
    assert!(!faults.is_empty(), "no such fault here: {asked:?}");
    faults
}

/// The processes and the servers beneath them.
pub struct Deployment {
    // First, so that it ends first.
    pub fleet: Fleet,
    pub real: Option<Real>,
    pub kills: usize,
}

/// A broker and a node of our own, each behind a proxy.
pub struct Real {
    kafka: OwnServer,
    elasticsearch: OwnServer,
    kafka_proxy: TcpProxy,
    pub elasticsearch_proxy: HttpProxy,
    away: Duration,
}

impl Deployment {
    /// Everything in one process and one data folder.
    pub fn embedded() -> Self {
        Self {
            fleet: Fleet::start("embedded", settings(), &["ingest,chunk,embed,index,query"]),
            real: None,
            kills: 0,
        }
    }

    /// Three kinds of processes over a broker and a node; `away` is how long the broker is gone
    /// when it is gone for long.
    pub fn real(away: Duration) -> Result<Self, String> {
        let (kafka_proxy, elasticsearch_proxy) = (TcpProxy::start(), HttpProxy::start());
        // Clients go where the broker says that it is: behind the proxy.
        let advertised = format!(
            "advertised.listeners=PLAINTEXT://127.0.0.1:{}",
            kafka_proxy.port
        );
        let kafka = OwnServer::start("kafka", "broker", &["--heap", "384m", "--set", &advertised])?;
        let elasticsearch = OwnServer::start("elasticsearch", "node", &["--heap", "512m"])?;
        kafka_proxy.lead_to(kafka.port);
        elasticsearch_proxy.lead_to(elasticsearch.port);
        let workspace = settings()
            .with("store.event_log.kind", "kafka")
            .with(
                "store.event_log.kafka.brokers",
                &format!("127.0.0.1:{}", kafka_proxy.port),
            )
            .with(
                "store.event_log.kafka.session_timeout_ms",
                &SESSION_TIMEOUT_MS.to_string(),
            )
            .with("store.search_index.kind", "elasticsearch")
            .with(
                "store.search_index.elasticsearch.urls",
                &format!("[\"http://127.0.0.1:{}\"]", elasticsearch_proxy.port),
            );
        let fleet = Fleet::start("real", workspace, &["ingest", "chunk,embed", "index,query"]);
        let real = Real {
            kafka,
            elasticsearch,
            kafka_proxy,
            elasticsearch_proxy,
            away,
        };
        Ok(Self {
            fleet,
            real: Some(real),
            kills: 0,
        })
    }

    /// Does it, undoes it, and returns what it was in words.
    pub fn inject(&mut self, fault: Fault, random: &mut Random) -> String {
        let said = match fault {
            Fault::Kill => self.kill(random),
            Fault::KillWhileStarting => self.kill_while_starting(random),
            Fault::Terminate => self.terminate(random),
            Fault::Pause => self.pause(random),
            Fault::ClockJump => self.jump(random),
            Fault::DeliverAgain => self.deliver_again(random),
            Fault::Rebalance => self.rebalance(random),
            Fault::Zombie => self.zombie(random),
            Fault::CutOff => self.cut_off(random),
            Fault::FullDisk => self.fill_disk(random),
            Fault::NoFiles => self.take_files(random),
            Fault::Reindex => self.reindex(),
            _ => self.disturb_servers(fault, random),
        };
        self.fleet.wait_until_ready();
        said
    }

    fn any_role(&self, random: &mut Random) -> usize {
        random.below(self.fleet.size() as u64) as usize
    }

    fn kill(&mut self, random: &mut Random) -> String {
        let role = self.any_role(random);
        self.fleet.kill(role);
        self.kills += 1;
        self.fleet.launch(role);
        format!("kill -9 of {}", self.fleet.role(role))
    }

    fn kill_while_starting(&mut self, random: &mut Random) -> String {
        let said = self.kill(random);
        let pause = random.below(400);
        std::thread::sleep(Duration::from_millis(pause));
        format!("{said}, {pause} ms later {}", self.kill(random))
    }

    fn terminate(&mut self, random: &mut Random) -> String {
        let role = self.any_role(random);
        self.fleet.terminate(role);
        self.fleet.launch(role);
        format!("SIGTERM to {}", self.fleet.role(role))
    }

    fn pause(&mut self, random: &mut Random) -> String {
        let (role, pause) = (
            self.any_role(random),
            Duration::from_millis(200 + random.below(1500)),
        );
        self.fleet.signal(role, "STOP");
        std::thread::sleep(pause);
        if random.below(2) == 0 {
            self.fleet.signal(role, "CONT");
            return format!("SIGSTOP of {} for {pause:?}", self.fleet.role(role));
        }
        self.fleet.kill(role);
        self.kills += 1;
        self.fleet.launch(role);
        format!(
            "SIGSTOP of {} for {pause:?}, then kill -9",
            self.fleet.role(role)
        )
    }

    fn jump(&mut self, random: &mut Random) -> String {
        let offset_ms = random.choose(&[
            -86_400_000,
            -3_600_000,
            -2_000,
            0,
            2_000,
            3_600_000,
            86_400_000,
        ]);
        let Some(clock) = &self.fleet.clock else {
            return "no clock to jump".to_owned();
        };
        clock.set(offset_ms);
        let said = format!("the clock shows {offset_ms} ms more than it is");
        if random.below(2) == 0 {
            return said;
        }
        format!("{said}, then {}", self.kill(random))
    }

    /// Positions of one stage are lost, as after a restore of an older backup or an operator's
    /// rewinding.
    fn deliver_again(&mut self, random: &mut Random) -> String {
        let stage = random.choose(&STAGES);
        let role = self.fleet.role_of(stage);
        if let Some(real) = &self.real {
            self.fleet.terminate(role);
            real.rewind(stage);
        } else {
            self.fleet.kill(role);
            self.kills += 1;
            forget_positions(&self.fleet.data(), stage);
        }
        self.fleet.launch(role);
        format!("positions of {stage} lost")
    }

    fn rebalance(&mut self, random: &mut Random) -> String {
        let (role, kill) = (self.any_role(random), random.below(2) == 0);
        self.fleet.launch_second(role);
        self.fleet
            .pass(Duration::from_millis(1000 + random.below(2000)));
        self.fleet.dismiss_seconds(kill);
        let end = if kill { "kill -9" } else { "SIGTERM" };
        format!(
            "a second worker of {} came and went by {end}",
            self.fleet.role(role)
        )
    }

    fn zombie(&mut self, random: &mut Random) -> String {
        // The server that answers over HTTP is not paused for longer than callers wait.
        let role = self.any_role(random);
        self.fleet.launch_second(role);
        self.fleet.pass(Duration::from_millis(500));
        self.fleet.signal(role, "STOP");
        std::thread::sleep(Duration::from_millis(
            SESSION_TIMEOUT_MS + 2000 + random.below(2000),
        ));
        self.fleet.signal(role, "CONT");
        self.fleet.pass(Duration::from_millis(1000));
        self.fleet.dismiss_seconds(false);
        format!(
            "{} slept past its session while another took over",
            self.fleet.role(role)
        )
    }

    /// Longer than its session: what it has in progress belongs to another by then.
    fn cut_off(&mut self, random: &mut Random) -> String {
        let role = self.any_role(random);
        self.fleet.launch_second(role);
        self.fleet.pass(Duration::from_millis(500));
        let Some(real) = &self.real else {
            panic!("there is no broker to be cut off from")
        };
        real.kafka_proxy.cut_off(self.fleet.process(role));
        self.fleet.pass(Duration::from_millis(
            SESSION_TIMEOUT_MS + 2000 + random.below(2000),
        ));
        real.kafka_proxy.heal();
        self.fleet.pass(Duration::from_millis(1000));
        self.fleet.dismiss_seconds(false);
        format!(
            "{} alone was cut off from the broker past its session",
            self.fleet.role(role)
        )
    }

    fn fill_disk(&mut self, random: &mut Random) -> String {
        let (role, bytes) = (self.any_role(random), random.choose(&[1, 4096, 50_000]));
        let moment = Duration::from_millis(1000 + random.below(2000));
        if !self.fleet.limit(role, &format!("--fsize={bytes}:")) {
            skip("a full disk: there is no `prlimit` here");
            return "no disk was filled".to_owned();
        }
        self.fleet.pass(moment);
        self.fleet.limit(role, "--fsize=unlimited:");
        format!(
            "no file of {} could grow over {bytes} bytes for {moment:?}",
            self.fleet.role(role)
        )
    }

    fn take_files(&mut self, random: &mut Random) -> String {
        let (role, moment) = (
            self.any_role(random),
            Duration::from_millis(1000 + random.below(2000)),
        );
        let left = self.fleet.open_files(role) as u64 + random.below(3);
        if !self.fleet.limit(role, &format!("--nofile={left}:")) {
            skip("no free files: there is no `prlimit` here");
            return "no files were taken".to_owned();
        }
        self.fleet.pass(moment);
        self.fleet.limit(role, &format!("--nofile={FILES}:"));
        format!(
            "{} could have {left} files open for {moment:?}",
            self.fleet.role(role)
        )
    }

    fn reindex(&mut self) -> String {
        self.begin_reindex();
        self.fleet.pass(Duration::from_millis(500));
        "a new generation is built".to_owned()
    }

    /// A new generation of the index is built from everything; not while another one is.
    pub fn begin_reindex(&self) {
        // No answer, or a refusal, is what faults are for; the next round asks again.
        self.fleet.client().post("/v1/reindex", &json!({}));
    }

    fn disturb_servers(&mut self, fault: Fault, random: &mut Random) -> String {
        let moment = Duration::from_millis(1500 + random.below(2000));
        let Self {
            fleet,
            real: Some(real),
            ..
        } = self
        else {
            panic!("{fault:?} needs real servers")
        };
        let weather =
            |weather: Weather| (weather, format!("{weather:?} from the node for {moment:?}"));
        let (weather, said) = match fault {
            Fault::RestartBroker => return restart(&real.kafka, random),
            Fault::RestartNode => return restart(&real.elasticsearch, random),
            Fault::BrokerAway => {
                real.kafka.command("stop");
                fleet.pass(real.away);
                real.kafka.command("start");
                return format!("the broker was away for {:?}", real.away);
            }
            Fault::CutBroker => {
                let times = 1 + random.below(3);
                for _ in 0..times {
                    real.kafka_proxy.cut(true);
                    fleet.pass(Duration::from_millis(random.below(1000)));
                    real.kafka_proxy.heal();
                    fleet.pass(Duration::from_millis(300));
                }
                return format!("connections to the broker were cut {times} times");
            }
            Fault::SlowBroker => {
                real.kafka_proxy.delay(Duration::from_millis(150));
                fleet.pass(moment);
                real.kafka_proxy.heal();
                return format!("the broker was slow for {moment:?}");
            }
            Fault::Flood => {
                real.block(true);
                fleet.pass(moment);
                real.block(false);
                return format!("the flood stage held for {moment:?}");
            }
            Fault::TooManyRequests => weather(Weather::TooManyRequests),
            Fault::Unavailable => weather(Weather::Unavailable),
            Fault::RejectedItems => weather(Weather::RejectedItems),
            Fault::Unauthorized => weather(Weather::Unauthorized),
            Fault::Forbidden => weather(Weather::Forbidden),
            Fault::Broken => weather(Weather::Broken),
            Fault::SlowNode => weather(Weather::Slow),
            _ => weather(random.choose(&[Weather::Cut, Weather::Away])),
        };
        real.elasticsearch_proxy.set(weather);
        fleet.pass(moment);
        real.elasticsearch_proxy.set(Weather::Fair);
        said
    }
}

/// Open files that a process may have when nothing is taken from it.
const FILES: u64 = 1024;
/// Records of a partition that come again when positions are lost.
const REPEATED_RECORDS: u64 = 1_000;

/// What all deployments have in common: no model, less patience than over a weekend, segments that
/// close and go within a round, and bodies that travel as references.
fn settings() -> Workspace {
    let workspace = Workspace::new();
    let profiles = workspace.write("source-profiles.toml", SOURCE_PROFILES);
    let settings = [
        ("telemetry.filter", "info,tantivy=warn,actix_server=warn"),
        ("taxonomy.source_profiles_file", profiles.to_str().unwrap()),
        ("store.worker.backoff_maximum_ms", "3000"),
        ("store.inline_limit_bytes", "4096"),
        ("store.retention_bytes", "200000"),
        ("store.event_log.embedded.segment_bytes", "32768"),
        ("store.event_log.embedded.maintenance_interval_seconds", "1"),
    ];
    settings
        .into_iter()
        .fold(workspace, |workspace, (key, value)| {
            workspace.with(key, value)
        })
}

fn restart(server: &OwnServer, random: &mut Random) -> String {
    let how = random.choose(&["stop", "kill"]);
    server.command(how);
    server.command("start");
    format!("{how} and start of {}", server.name())
}

fn forget_positions(data: &std::path::Path, stage: &str) {
    let topics = std::fs::read_dir(data.join("log/topics")).unwrap();
    let groups = topics
        .filter_map(|topic| std::fs::read_dir(topic.unwrap().path().join("groups")).ok())
        .flatten();
    let lost = groups.map(|group| group.unwrap().path()).filter(|path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.strip_suffix(".positions")
            .is_some_and(|group| is_of(group, stage))
            && forget_last_commits(path)
    });
    if lost.count() == 0 {
        skip(&format!("{stage} had no positions yet"));
    }
}

/// As long as there are few, all of them: the format is a header and then entries of partition,
/// checksum and offset, each commit behind the last (`store::event_log::embedded::format`). Later
/// those of this process alone: what is done again is appended again, and a run that did everything
/// again each time would be nothing else.
fn forget_last_commits(path: &std::path::Path) -> bool {
    const ENTRY: usize = 16;
    let Ok(bytes) = std::fs::read(path) else {
        return false;
    };
    let offset = |entry: &[u8]| {
        entry
            .get(8..)
            .and_then(|offset| offset.try_into().ok())
            .map_or(0, u64::from_le_bytes)
    };
    let furthest = bytes.chunks(ENTRY).skip(1).map(offset).max().unwrap_or(0);
    if furthest <= REPEATED_RECORDS {
        return std::fs::remove_file(path).is_ok();
    }
    let kept: Vec<u8> = bytes
        .chunks(ENTRY)
        .enumerate()
        .filter(|(number, entry)| *number == 0 || offset(entry) + REPEATED_RECORDS < furthest)
        .flat_map(|(_, entry)| entry.to_vec())
        .collect();
    kept.len() > ENTRY && std::fs::write(path, kept).is_ok()
}

/// Whether a group is a stage's; the chunk stage has one for each generation.
fn is_of(group: &str, stage: &str) -> bool {
    group
        .strip_prefix(stage)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

impl Real {
    /// All members of the group are gone.
    fn rewind(&self, stage: &str) {
        let listed = self.kafka.tool("groups", &["--list"]);
        let Some(group) = listed.lines().find(|group| {
            group
                .rsplit('/')
                .next()
                .is_some_and(|group| is_of(group, stage))
        }) else {
            panic!("no group of {stage} in {listed:?}")
        };
        self.kafka.tool(
            "groups",
            &[
                "--group",
                group,
                "--reset-offsets",
                "--shift-by",
                &format!("-{REPEATED_RECORDS}"),
                "--all-topics",
                "--execute",
            ],
        );
    }

    /// As the node does to all indexes of a disk that is nearly full.
    fn block(&self, is_blocked: bool) {
        let value = if is_blocked { json!(true) } else { Value::Null };
        let url = format!(
            "http://127.0.0.1:{}/_all/_settings",
            self.elasticsearch.port
        );
        let answer = ureq::put(url)
            .send_json(json!({"index.blocks.read_only_allow_delete": value}))
            .unwrap();
        assert_eq!(answer.status().as_u16(), 200);
    }
}
