//! Under fire: the real processes run while documents are published, updated, deleted and delivered
//! again, and faults come one after the other. After every few of them it must be quiet again and
//! everything right: nothing lost, nothing twice, nothing stale.
//!
//! What is done depends on the seed alone. `TRIBUTARY_CHAOS_FAULTS`, `TRIBUTARY_CHAOS_DOCUMENTS`
//! and `TRIBUTARY_CHAOS_SEED` set how much; without them every kind of fault comes once.
//! `TRIBUTARY_CHAOS_STORES=embedded` or `real` runs one of the two, `none` neither, and
//! `TRIBUTARY_CHAOS_KINDS=CutOff,NoFiles` only those kinds of `faults::KINDS`. With
//! `Reindex` among them a new generation of the index is built half of the time.
//! `make chaos` is the long version.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod clock;
mod driver;
mod families;
mod faults;
mod fleet;
#[allow(dead_code)]
#[path = "../end_to_end/harness.rs"]
mod harness;
mod http_proxy;
mod random;
mod servers;
mod tcp_proxy;

use std::fmt::Display;
use std::str::FromStr;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::driver::{Client, PRODUCERS, Producer, Tally};
use crate::families::Families;
use crate::faults::{Deployment, Fault};
use crate::harness::{list, number, skip, text};
use crate::random::Random;

const DEFAULT_SEED: u64 = 1;
const DEFAULT_DOCUMENTS: usize = 240;
/// In a long run: 2100 documents for 300 faults.
const DOCUMENTS_PER_FAULT: usize = 7;
/// How long nothing may move while it is not quiet. Many builds may wait for each other, and a machine
/// may be busy.
const QUIET_PATIENCE: Duration = Duration::from_secs(300);
const QUIET_DEADLINE: Duration = Duration::from_secs(3600);
/// Changes that each producer makes while a fault happens.
const CHANGES: usize = 12;

/// How much of everything.
struct Plan {
    name: &'static str,
    seed: u64,
    faults: usize,
    documents: usize,
    kinds: Vec<Fault>,
    /// Faults between two checks.
    check_every: usize,
}

fn variable<T: FromStr<Err: Display>>(name: &str, default: T) -> T {
    let Ok(value) = std::env::var(name) else {
        return default;
    };
    value
        .parse()
        .unwrap_or_else(|error| panic!("{name}={value}: {error}"))
}

impl Plan {
    fn new(name: &'static str) -> Self {
        let asked = std::env::var("TRIBUTARY_CHAOS_KINDS").ok();
        let kinds = faults::round(name == "real", asked.as_deref());
        let faults = variable("TRIBUTARY_CHAOS_FAULTS", kinds.len());
        let documents = variable(
            "TRIBUTARY_CHAOS_DOCUMENTS",
            DEFAULT_DOCUMENTS.max(DOCUMENTS_PER_FAULT * faults),
        );
        let seed = variable("TRIBUTARY_CHAOS_SEED", DEFAULT_SEED);
        let check_every = if faults > 2 * kinds.len() { 10 } else { 5 };
        Self {
            name,
            seed,
            faults,
            documents,
            kinds,
            check_every,
        }
    }

    /// Each kind once, in an order by chance, again and again.
    fn sequence(&self) -> Vec<Fault> {
        let mut random = Random::new(self.seed, 0);
        let mut sequence = Vec::new();
        while sequence.len() < self.faults {
            let mut deck = self.kinds.to_vec();
            while !deck.is_empty() {
                sequence.push(deck.swap_remove(random.below(deck.len() as u64) as usize));
            }
        }
        sequence.truncate(self.faults);
        sequence
    }

    fn say(&self, what: &str) {
        eprintln!("chaos {} seed {}: {what}", self.name, self.seed);
    }
}

fn is_wanted(stores: &str) -> bool {
    std::env::var("TRIBUTARY_CHAOS_STORES").map_or(true, |wanted| wanted == stores)
}

/// Waits until nothing is under way any more; returns the proof.
fn quiet(deployment: &mut Deployment, plan: &Plan) -> Value {
    let client = deployment.fleet.client();
    let began = Instant::now();
    let (mut moved, mut seen, mut last) = (began, None, None);
    while moved.elapsed() < QUIET_PATIENCE && began.elapsed() < QUIET_DEADLINE {
        deployment.fleet.tend();
        let asked = Instant::now();
        if let Some((200, proof)) = client.post("/v1/documents/reconcile", &json!({})) {
            let left = ["/in_flight", "/waiting_records"].map(|name| number(&proof, name));
            let builds = builds(&client);
            if left == [0, 0] && builds.as_deref().is_some_and(all_ended) {
                return proof;
            }
            let now = Some((left, builds));
            if now != seen {
                moved = Instant::now();
            }
            (seen, last) = (now, Some(proof));
        }
        // It takes what it looks at from the processes that are to become quiet.
        std::thread::sleep(asked.elapsed().max(Duration::from_millis(200)));
    }
    panic!("chaos {}: never quiet: {seen:?} {last:?}", plan.name);
}

/// State of every build of a generation, and how far it is.
fn builds(client: &Client) -> Option<Vec<(String, u64)>> {
    let (200, overview) = client.get("/v1/reindex")? else {
        return None;
    };
    let build = |build: &Value| {
        let state = text(build, "/report/state").to_owned();
        (state, number(build, "/documents_done"))
    };
    Some(list(&overview, "/builds").iter().map(build).collect())
}

/// One way or the other.
fn all_ended(builds: &[(String, u64)]) -> bool {
    let ends = ["promoted", "cancelled", "failed", "rolled_back"];
    builds
        .iter()
        .all(|(state, _)| ends.contains(&state.as_str()))
}

/// Everything that is wrong once it is quiet.
fn check(
    deployment: &mut Deployment,
    producers: &mut [Producer],
    families: &Families,
    plan: &Plan,
    all: bool,
) -> Vec<String> {
    let mut proof = quiet(deployment, plan);
    if proof.get("ok") != Some(&Value::Bool(true)) {
        // What was written a moment ago may not be visible yet; what is wrong stays wrong.
        std::thread::sleep(Duration::from_secs(2));
        proof = quiet(deployment, plan);
    }
    let mut wrong = Vec::new();
    if proof.get("ok") != Some(&Value::Bool(true)) {
        wrong.push(format!("reconcile: {proof}"));
    }
    let checked: usize = producers.iter().map(Producer::touched).sum();
    std::thread::scope(|scope| {
        let checks: Vec<_> = producers
            .iter_mut()
            .map(|producer| scope.spawn(|| producer.violations(all)))
            .collect();
        checks
            .into_iter()
            .for_each(|check| wrong.extend(check.join().unwrap()));
    });
    wrong.extend(families.violations());
    wrong.extend(deployment.fleet.panics());
    let all = if all { " and all others" } else { "" };
    plan.say(&format!(
        "checked {checked} changed documents{all}: {} violations; accepted {}",
        wrong.len(),
        number(&proof, "/accepted")
    ));
    for violation in &wrong {
        plan.say(violation);
    }
    wrong
}

fn run(plan: &Plan, mut deployment: Deployment) {
    let started = Instant::now();
    let tally = Tally::default();
    let is_real = deployment.real.is_some();
    let producer = |number| {
        Producer::new(
            number,
            plan.seed,
            plan.documents,
            deployment.fleet.client(),
            is_real,
        )
    };
    let mut producers: Vec<Producer> = (0..PRODUCERS).map(producer).collect();
    let mut families = Families::new(plan.seed, deployment.fleet.client());
    // All documents are there after two thirds of the faults.
    let new = plan
        .documents
        .div_ceil(PRODUCERS)
        .div_ceil((plan.faults * 2 / 3).max(1));
    let mut wrong = Vec::new();
    for (round, fault) in plan.sequence().into_iter().enumerate() {
        let mut random = Random::new(plan.seed, 1000 + round as u64);
        let round_started = Instant::now();
        let said = std::thread::scope(|scope| {
            let mut work: Vec<_> = producers
                .iter_mut()
                .map(|producer| scope.spawn(|| producer.work(new, CHANGES, &tally)))
                .collect();
            work.push(scope.spawn(|| families.work(CHANGES, &tally)));
            if round % 2 == 1 && plan.kinds.contains(&Fault::Reindex) {
                deployment.begin_reindex();
            }
            std::thread::sleep(Duration::from_millis(30 + random.below(600)));
            let said = deployment.inject(fault, &mut random);
            while !work.iter().all(std::thread::ScopedJoinHandle::is_finished) {
                deployment.fleet.pass(Duration::from_millis(20));
            }
            said
        });
        let acknowledged = tally.acknowledged.load(Ordering::Relaxed);
        plan.say(&format!(
            "{}/{} {said} ({:.1} s; {acknowledged} acknowledged)",
            round + 1,
            plan.faults,
            round_started.elapsed().as_secs_f64()
        ));
        if (round + 1) % plan.check_every == 0 && round + 1 < plan.faults {
            wrong.extend(check(
                &mut deployment,
                &mut producers,
                &families,
                plan,
                false,
            ));
        }
        if wrong.len() > 20 {
            break;
        }
    }
    finish(
        plan,
        &mut deployment,
        (producers, &families),
        wrong,
        &tally,
        started,
    );
}

fn finish(
    plan: &Plan,
    deployment: &mut Deployment,
    (mut producers, families): (Vec<Producer>, &Families),
    mut wrong: Vec<String>,
    tally: &Tally,
    started: Instant,
) {
    if wrong.is_empty() {
        assert!(
            producers.iter().all(Producer::is_complete),
            "not all documents were published"
        );
        wrong.extend(check(deployment, &mut producers, families, plan, true));
    }
    let count = |kind: &str| wrong.iter().filter(|line| line.starts_with(kind)).count();
    let of = |counter: &std::sync::atomic::AtomicUsize| counter.load(Ordering::Relaxed);
    plan.say(&format!(
        "{} faults ({} kill -9), {} documents, {} operations acknowledged ({} deletions, {} deliveries again, {} that the index refuses), \
         {} attempts repeated, {} processes ended by themselves, {} lost, {} duplicate, {} stale, {} violations in all, {:.0} s",
        plan.faults,
        deployment.kills,
        plan.documents,
        of(&tally.acknowledged),
        of(&tally.deletions),
        of(&tally.duplicates),
        of(&tally.poisoned),
        of(&tally.repeated),
        deployment.fleet.ended_by_themselves.len(),
        count("lost"),
        count("duplicate"),
        count("stale"),
        wrong.len(),
        started.elapsed().as_secs_f64()
    ));
    for end in &deployment.fleet.ended_by_themselves {
        plan.say(&format!("ended by itself: {end}"));
    }
    if let Some(real) = &deployment.real {
        plan.say(&format!(
            "{} requests to the node were disturbed",
            real.elasticsearch_proxy.disturbed()
        ));
    }
    assert!(
        wrong.is_empty(),
        "{} violations: {:#?}",
        wrong.len(),
        wrong.iter().take(20).collect::<Vec<_>>()
    );
}

#[test]
fn embedded_stores_lose_nothing_and_repeat_nothing() {
    if is_wanted("embedded") {
        run(&Plan::new("embedded"), Deployment::embedded());
    }
}

#[test]
fn kafka_and_elasticsearch_lose_nothing_and_repeat_nothing() {
    if !is_wanted("real") {
        return;
    }
    let is_asked_for = std::env::var("TRIBUTARY_CHAOS_STORES").is_ok();
    let are_here = ["TRIBUTARY_TEST_KAFKA", "TRIBUTARY_TEST_ELASTICSEARCH"]
        .iter()
        .all(|name| std::env::var_os(name).is_some());
    if !is_asked_for && !are_here {
        skip(
            "faults with Kafka and Elasticsearch: TRIBUTARY_TEST_KAFKA and TRIBUTARY_TEST_ELASTICSEARCH say that they can be started here",
        );
        return;
    }
    let plan = Plan::new("real");
    let away = if plan.faults > plan.kinds.len() {
        30
    } else {
        8
    };
    match Deployment::real(Duration::from_secs(away)) {
        Ok(deployment) => run(&plan, deployment),
        Err(why) => panic!("no servers to be disturbed: {why}"),
    }
}
