//! Power cuts: the process is killed at random moments while documents are published, updated and
//! deleted. In the end everything acknowledged is there in its newest form, once, and nothing else.
//!
//! `TRIBUTARY_KILLS=100 cargo test --release -p tributary-cli --test end_to_end -- kill
//! --nocapture` runs the full figure.

use std::process::Stdio;
use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{RUN_DEADLINE, Server, Workspace, hit_texts, list, number, text, wait_for};

const DOCUMENTS: usize = 500;
const PRODUCERS: usize = 4;
const DEFAULT_KILLS: usize = 6;
const SEED: u64 = 0x7421_b07a;

/// Marsaglia's xorshift64: the same moments and operations in every run of a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// What one document must be in the end.
#[derive(Default)]
struct Expected {
    id: String,
    /// The word that only its newest acknowledged version has; none after a deletion.
    newest: Option<String>,
    /// Words of older versions.
    old: Vec<String>,
}

/// A word that no analyzer cuts and no other version has.
fn word(document: usize, operation: u64) -> String {
    let letters = format!("{document:04}{operation:06}")
        .bytes()
        .map(|digit| char::from(b'a' + (digit - b'0')))
        .collect::<String>();
    format!("qx{letters}q")
}

/// Every fifth document has several chunks, each with the word.
fn content(document: usize, word: &str) -> String {
    let sections = if document.is_multiple_of(5) { 4 } else { 1 };
    let section = |number: usize| {
        let filler = "The relay hands the carrier over to the next cell before the signal fades. "
            .repeat(if sections == 1 { 2 } else { 40 });
        format!("## Section {number}\n\n{word} begins here. {filler}\n\n")
    };
    format!(
        "# Document {document}\n\n{}",
        (0..sections).map(section).collect::<String>()
    )
}

/// One producer: works on its own documents and repeats what was not acknowledged.
struct Producer<'a> {
    number: usize,
    random: Random,
    url: &'a RwLock<Option<String>>,
    agent: ureq::Agent,
    documents: Vec<(usize, Expected)>,
    acknowledged: usize,
    repeated: usize,
}

impl Producer<'_> {
    fn new(number: usize, url: &RwLock<Option<String>>) -> Producer<'_> {
        let documents = (0..DOCUMENTS)
            .filter(|document| document % PRODUCERS == number)
            .map(|document| (document, Expected::default()));
        let settings = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(RUN_DEADLINE));
        let agent = settings.build().into();
        Producer {
            number,
            random: Random(SEED + 1 + number as u64),
            url,
            agent,
            documents: documents.collect(),
            acknowledged: 0,
            repeated: 0,
        }
    }

    /// First all documents once, then updates and deletions until told to stop.
    fn produce(mut self, stop: &AtomicBool) -> Self {
        let mut operation = 0;
        while operation < self.documents.len() as u64 || !stop.load(Ordering::Relaxed) {
            let first_round = operation < self.documents.len() as u64;
            let index = if first_round {
                operation as usize
            } else {
                self.random.below(self.documents.len() as u64) as usize
            };
            let delete = !first_round && self.random.below(5) == 0;
            self.operate(index, operation, delete);
            operation += 1;
            std::thread::sleep(Duration::from_millis(3));
        }
        self
    }

    fn operate(&mut self, index: usize, operation: u64, delete: bool) {
        let document = self.documents[index].0;
        let new_word = word(document, operation);
        let event = json!({"source": "crash", "source_path": format!("{document}.md"), "content": content(document, &new_word)});
        let id = self.documents[index].1.id.clone();
        let accepted = wait_for(
            &format!("an acknowledgement for producer {}", self.number),
            || {
                let url = self.url.read().unwrap().clone()?;
                let sent = if delete {
                    self.agent.delete(format!("{url}/v1/documents/{id}")).call()
                } else {
                    self.agent
                        .post(format!("{url}/v1/documents"))
                        .send_json(&event)
                };
                let answer = sent.and_then(|mut response| {
                    let status = response.status().as_u16();
                    let said = response.body_mut().read_to_string();
                    assert!(status == 202 || status >= 500, "{status}: {said:?}");
                    said
                });
                let accepted = answer
                    .ok()
                    .and_then(|answer| serde_json::from_str::<Value>(&answer).ok())
                    .filter(|answer| answer.get("document_id").is_some());
                self.repeated += usize::from(accepted.is_none());
                accepted
            },
        );
        self.acknowledged += 1;
        let expected = &mut self.documents[index].1;
        expected.id = text(&accepted, "/document_id").to_owned();
        let before = std::mem::replace(&mut expected.newest, (!delete).then_some(new_word));
        expected.old.extend(before);
    }
}

/// Kills and starts again, sometimes before the server even listens.
fn outages(workspace: &Workspace, kills: usize, url: &RwLock<Option<String>>) -> Server {
    let mut random = Random(SEED);
    let mut server = workspace.start();
    *url.write().unwrap() = Some(server.url.clone());
    for _ in 0..kills {
        std::thread::sleep(Duration::from_millis(30 + random.below(700)));
        server.kill();
        *url.write().unwrap() = None;
        if random.below(4) == 0 {
            let mut starting = workspace.command();
            let mut child = starting
                .args(["run", "--listen", "127.0.0.1:0"])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            std::thread::sleep(Duration::from_millis(random.below(300)));
            child.kill().unwrap();
            child.wait().unwrap();
        }
        server = workspace.start();
        *url.write().unwrap() = Some(server.url.clone());
    }
    server
}

/// Everything that is not as it must be.
fn violations(server: &Server, expected: &[Expected]) -> Vec<String> {
    let halves = expected.chunks(expected.len().div_ceil(2));
    std::thread::scope(|scope| {
        let workers: Vec<_> = halves
            .map(|half| {
                scope.spawn(|| {
                    half.iter()
                        .flat_map(|expected| wrong(server, expected))
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        workers
            .into_iter()
            .flat_map(|worker| worker.join().unwrap())
            .collect()
    })
}

fn wrong(server: &Server, expected: &Expected) -> Vec<String> {
    let mut wrong = Vec::new();
    let Expected { id, newest, old } = expected;
    let (_, detail) = server.get(&format!("/v1/documents/{id}?passages=true"));
    let texts: Vec<&str> = list(&detail, "/passages")
        .iter()
        .map(|passage| text(passage, "/text"))
        .collect();
    match newest {
        Some(word) => {
            let answer = search(server, word);
            let mut found: Vec<&str> = list(&answer, "/hits")
                .iter()
                .filter(|hit| text(hit, "/text").contains(word.as_str()))
                .map(|hit| text(hit, "/chunk_id"))
                .collect();
            let hits = found.len();
            found.sort_unstable();
            found.dedup();
            // What a producer sent again because it got no answer is indexed already.
            let is_repeated = || text(&detail, "/reason").contains("unchanged since version");
            let stands = match text(&detail, "/state") {
                "indexed" => true,
                "skipped" => is_repeated(),
                _ => false,
            };
            if !stands || texts.is_empty() || hits == 0 {
                wrong.push(format!(
                    "lost: {id} is {}, {} chunks, {hits} hits: {:?}",
                    text(&detail, "/state"),
                    texts.len(),
                    detail.get("reason")
                ));
            }
            if found.len() != hits || hits as u64 > number(&detail, "/chunks") {
                wrong.push(format!(
                    "duplicate: {id} has {} chunks and {hits} hits",
                    number(&detail, "/chunks")
                ));
            }
            if texts
                .iter()
                .any(|text| old.iter().any(|word| text.contains(word.as_str())))
            {
                wrong.push(format!("stale chunk of {id}"));
            }
        }
        None if text(&detail, "/state") != "deleted" || !texts.is_empty() => {
            wrong.push(format!(
                "stale: deleted {id} is {} with {} chunks",
                text(&detail, "/state"),
                texts.len()
            ));
        }
        None => {}
    }
    let stale = old
        .iter()
        .filter(|word| !hit_texts(&search(server, word), word).is_empty());
    wrong.extend(stale.map(|word| format!("stale: {id} is still found by {word}")));
    wrong
}

fn search(server: &Server, word: &str) -> Value {
    let (status, answer) = server.post(
        "/v1/search",
        &json!({"query": word, "strategy": "full_text", "top_k": 20}),
    );
    assert_eq!(status, 200, "{answer}");
    answer
}

#[test]
fn kills_at_random_moments_lose_nothing_and_repeat_nothing() {
    let kills =
        std::env::var("TRIBUTARY_KILLS").map_or(DEFAULT_KILLS, |kills| kills.parse().unwrap());
    let started = Instant::now();
    let workspace = Workspace::new().with("telemetry.filter", "warn");
    let (url, stop) = (RwLock::new(None), AtomicBool::new(false));
    let (server, producers) = std::thread::scope(|scope| {
        let producers: Vec<_> = (0..PRODUCERS)
            .map(|number| {
                let (url, stop) = (&url, &stop);
                scope.spawn(move || Producer::new(number, url).produce(stop))
            })
            .collect();
        let server = outages(&workspace, kills, &url);
        stop.store(true, Ordering::Relaxed);
        (
            server,
            producers
                .into_iter()
                .map(|producer| producer.join().unwrap())
                .collect::<Vec<_>>(),
        )
    });
    let proof = wait_for("reconciliation", || {
        let (_, proof) = server.post("/v1/documents/reconcile", &json!({}));
        (number(&proof, "/in_flight") == 0 && number(&proof, "/waiting_records") == 0)
            .then_some(proof)
    });
    assert_eq!(proof.get("ok"), Some(&Value::Bool(true)), "{proof}");
    assert_eq!(number(&proof, "/accepted"), DOCUMENTS as u64, "{proof}");
    assert_eq!(number(&proof, "/dead"), 0, "{proof}");

    let acknowledged: usize = producers.iter().map(|producer| producer.acknowledged).sum();
    let repeated: usize = producers.iter().map(|producer| producer.repeated).sum();
    let expected: Vec<Expected> = producers
        .into_iter()
        .flat_map(|producer| producer.documents)
        .map(|(_, expected)| expected)
        .collect();
    let wrong = violations(&server, &expected);
    eprintln!(
        "{kills} kills, {acknowledged} operations acknowledged, {repeated} attempts repeated, {} violations, {:.0} s",
        wrong.len(),
        started.elapsed().as_secs_f64()
    );
    assert!(
        wrong.is_empty(),
        "{} violations: {:#?}",
        wrong.len(),
        wrong.iter().take(20).collect::<Vec<_>>()
    );
    server.stop();
}
