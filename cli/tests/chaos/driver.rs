//! Publishes, updates, deletes and repeats documents, remembers what was acknowledged, and compares
//! it with what can be found.

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{list, number, text};
use crate::random::Random;

pub const PRODUCERS: usize = 4;
/// Longer than anything that is done to a server, so that an attempt is over before it is repeated.
const ANSWER_DEADLINE: Duration = Duration::from_secs(90);
const ACKNOWLEDGEMENT_DEADLINE: Duration = Duration::from_secs(300);
const REMEMBERED_RECORDS: usize = 4;
/// The word at which the real index refuses a document here, as it does one that does not fit the
/// mapping.
pub const POISON: &str = "qxpoisonous";

/// An HTTP client that lives through restarts of the server.
#[derive(Clone)]
pub struct Client {
    agent: ureq::Agent,
    url: String,
}

impl Client {
    pub fn new(url: String) -> Self {
        let settings = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(ANSWER_DEADLINE));
        Self {
            agent: settings.build().into(),
            url,
        }
    }

    /// Status and body; none if there was no answer.
    pub fn post(&self, path: &str, body: &Value) -> Option<(u16, Value)> {
        read(
            self.agent
                .post(format!("{}{path}", self.url))
                .send_json(body),
        )
    }

    /// The same.
    pub fn get(&self, path: &str) -> Option<(u16, Value)> {
        read(self.agent.get(format!("{}{path}", self.url)).call())
    }

    /// The same.
    pub fn delete(&self, path: &str) -> Option<(u16, Value)> {
        read(self.agent.delete(format!("{}{path}", self.url)).call())
    }
}

impl Client {
    /// Tries until it is acknowledged; an answer with one of the statuses of `allowed` counts as
    /// well.
    pub fn acknowledged(
        &self,
        tally: &Tally,
        allowed: &[u16],
        attempt: impl Fn(&Self) -> Option<(u16, Value)>,
    ) -> Value {
        let deadline = Instant::now() + ACKNOWLEDGEMENT_DEADLINE;
        let mut last = None;
        while Instant::now() < deadline {
            match attempt(self) {
                Some((202, accepted)) => {
                    tally.acknowledged.fetch_add(1, Ordering::Relaxed);
                    return accepted;
                }
                Some((status, answer)) if allowed.contains(&status) => return answer,
                Some((status, answer)) if status < 500 => panic!("refused with {status}: {answer}"),
                other => last = other,
            }
            tally.repeated.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("no acknowledgement within {ACKNOWLEDGEMENT_DEADLINE:?}; the last answer: {last:?}");
    }
}

fn read(answer: Result<ureq::http::Response<ureq::Body>, ureq::Error>) -> Option<(u16, Value)> {
    let mut answer = answer.ok()?;
    let status = answer.status().as_u16();
    let text = answer
        .body_mut()
        .with_config()
        .limit(1 << 30)
        .read_to_string()
        .ok()?;
    Some((
        status,
        serde_json::from_str(&text).unwrap_or(Value::String(text)),
    ))
}

/// What one document must be in the end.
#[derive(Default)]
struct Expected {
    id: String,
    /// The word that only its newest good version has; none after a deletion.
    newest: Option<String>,
    /// Words of older versions.
    old: Vec<String>,
    /// Highest version acknowledged.
    version: u64,
    /// The newest version can never be indexed; the good one before it stays.
    is_poisoned: bool,
    /// Records that were acknowledged, to be delivered again.
    records: VecDeque<Value>,
    /// The last things done to it, for those who look for a cause.
    history: Vec<String>,
}

impl Expected {
    fn note(&mut self, what: &str) {
        self.history.push(format!("{what} as {}", self.version));
        if self.history.len() > REMEMBERED_RECORDS {
            self.history.remove(0);
        }
    }
}

/// A word that no analyzer cuts and no other version has.
fn word(document: usize, operation: u64) -> String {
    let letters = format!("{document:05}{operation:06}")
        .bytes()
        .map(|digit| char::from(b'a' + (digit - b'0')))
        .collect::<String>();
    // What ends in "q" no stemmer shortens: "…ced" and "…cic" would be one word.
    format!("qx{letters}q")
}

/// Every fifth document has several chunks, each with the word.
fn content(document: usize, word: &str) -> String {
    let sections = if document.is_multiple_of(5) { 4 } else { 1 };
    let filler = "The relay hands the carrier over to the next cell before the signal fades. "
        .repeat(if sections == 1 { 2 } else { 40 });
    let section =
        |number: usize| format!("## Section {number}\n\n{word} begins here. {filler}\n\n");
    format!(
        "# Document {document}\n\n{}",
        (0..sections).map(section).collect::<String>()
    )
}

/// What producers did, together.
#[derive(Default)]
pub struct Tally {
    pub acknowledged: AtomicUsize,
    pub deletions: AtomicUsize,
    pub duplicates: AtomicUsize,
    pub poisoned: AtomicUsize,
    /// Attempts without an acknowledgement.
    pub repeated: AtomicUsize,
}

/// One producer: works on its own documents and repeats what was not acknowledged.
pub struct Producer {
    random: Random,
    client: Client,
    documents: Vec<(usize, Expected)>,
    published: usize,
    operation: u64,
    touched: BTreeSet<usize>,
    poison: bool,
}

impl Producer {
    /// Number `number` of `PRODUCERS`. With `poison` some versions are such as the index refuses.
    pub fn new(number: usize, seed: u64, documents: usize, client: Client, poison: bool) -> Self {
        let own = (0..documents)
            .filter(|document| document % PRODUCERS == number)
            .map(|document| (document, Expected::default()));
        let random = Random::new(seed, 100 + number as u64);
        Self {
            random,
            client,
            documents: own.collect(),
            published: 0,
            operation: 0,
            touched: BTreeSet::new(),
            poison,
        }
    }

    /// First publications of `new` documents, then `changes` of any of them.
    pub fn work(&mut self, new: usize, changes: usize, tally: &Tally) {
        for _ in 0..new.min(self.documents.len() - self.published) {
            self.publish(self.published, tally);
            self.published += 1;
        }
        for _ in 0..changes.min(changes * self.published) {
            let index = self.random.below(self.published as u64) as usize;
            match self.random.below(20) {
                0..4 => self.delete(index, tally),
                4..7 => self.deliver_again(index, tally),
                7 if self.poison => self.publish_poison(index, tally),
                _ => self.publish(index, tally),
            }
        }
    }

    /// Whether all documents were published once.
    pub fn is_complete(&self) -> bool {
        self.published == self.documents.len()
    }

    fn publish(&mut self, index: usize, tally: &Tally) {
        let document = self.documents[index].0;
        let new_word = word(document, self.operation);
        let event = json!({"source": "chaos", "source_path": format!("{document}.md"), "content": content(document, &new_word)});
        let accepted = self
            .client
            .acknowledged(tally, &[], |client| client.post("/v1/documents", &event));
        let expected = self.changed(index, &accepted);
        expected.is_poisoned = false;
        expected.note(&format!("publish {new_word}"));
        let before = expected.newest.replace(new_word);
        expected.old.extend(before);
        remember(expected, event);
    }

    fn publish_poison(&mut self, index: usize, tally: &Tally) {
        let document = self.documents[index].0;
        let refused = word(document, self.operation);
        let event = json!({"source": "chaos", "source_path": format!("{document}.md"), "content": format!("# Refused\n\n{POISON} {refused}")});
        let accepted = self
            .client
            .acknowledged(tally, &[], |client| client.post("/v1/documents", &event));
        let expected = self.changed(index, &accepted);
        expected.is_poisoned = true;
        expected.note("publish poison");
        expected.old.push(refused);
        tally.poisoned.fetch_add(1, Ordering::Relaxed);
    }

    fn delete(&mut self, index: usize, tally: &Tally) {
        let path = format!("/v1/documents/{}", self.documents[index].1.id);
        let accepted = self
            .client
            .acknowledged(tally, &[], |client| client.delete(&path));
        let expected = self.changed(index, &accepted);
        expected.is_poisoned = false;
        expected.note("delete");
        let before = expected.newest.take();
        expected.old.extend(before);
        tally.deletions.fetch_add(1, Ordering::Relaxed);
    }

    /// A record that was acknowledged comes again, as its producer's log might send it: the newest,
    /// or an older one.
    fn deliver_again(&mut self, index: usize, tally: &Tally) {
        let records = self.documents[index].1.records.len() as u64;
        if records == 0 {
            return;
        }
        let record = self.documents[index].1.records[self.random.below(records) as usize].clone();
        self.client.acknowledged(tally, &[409], |client| {
            client.post("/v1/documents", &record)
        });
        self.documents[index]
            .1
            .history
            .push(format!("again {}", record["version"]));
        self.touched.insert(index);
        self.operation += 1;
        tally.duplicates.fetch_add(1, Ordering::Relaxed);
    }

    fn changed(&mut self, index: usize, accepted: &Value) -> &mut Expected {
        self.operation += 1;
        self.touched.insert(index);
        let expected = &mut self.documents[index].1;
        expected.id = text(accepted, "/document_id").to_owned();
        let version = number(accepted, "/version");
        assert!(
            version > expected.version,
            "{} got version {version} after {}",
            expected.id,
            expected.version
        );
        expected.version = version;
        if let Some(record) = expected
            .records
            .back_mut()
            .filter(|record| record.get("version").is_none())
        {
            record["version"] = json!(version);
        }
        expected
    }

    /// Everything that is not as it must be, of all documents or of those that changed since the
    /// last time.
    pub fn violations(&mut self, all: bool) -> Vec<String> {
        let touched = std::mem::take(&mut self.touched);
        let indices: Vec<usize> = if all {
            (0..self.published).collect()
        } else {
            touched.into_iter().collect()
        };
        indices
            .into_iter()
            .flat_map(|index| wrong(&self.client, &self.documents[index].1, all))
            .collect()
    }

    /// How many are checked by the next `violations`.
    pub fn touched(&self) -> usize {
        self.touched.len()
    }
}

fn remember(expected: &mut Expected, mut event: Value) {
    event["version"] = json!(expected.version);
    event["document_id"] = json!(expected.id);
    expected.records.push_back(event);
    if expected.records.len() > REMEMBERED_RECORDS {
        expected.records.pop_front();
    }
}

/// With `thorough` every old word is looked for, else the newest three.
fn wrong(client: &Client, expected: &Expected, thorough: bool) -> Vec<String> {
    let mut wrong = Vec::new();
    let Expected {
        id,
        newest,
        old,
        version,
        is_poisoned,
        history,
        ..
    } = expected;
    let (_, detail) = settled(client, &format!("/v1/documents/{id}?passages=true"));
    let texts: Vec<&str> = list(&detail, "/passages")
        .iter()
        .map(|passage| text(passage, "/text"))
        .collect();
    let state = text(&detail, "/state");
    let reason = reason(&detail);
    let said = || {
        format!(
            "{state} ({reason}), version {} after {version}, {}",
            number(&detail, "/version"),
            history.join(", ")
        )
    };
    if number(&detail, "/version") < *version {
        wrong.push(format!("stale: {id} is {}", said()));
    }
    let is_right_state = match (is_poisoned, newest) {
        (true, _) => state == "dead",
        (false, None) => state == "deleted",
        // Repeated after an attempt that was accepted and not acknowledged.
        (false, Some(_)) => {
            state == "indexed" || (state == "skipped" && reason.contains("unchanged"))
        }
    };
    if !is_right_state {
        wrong.push(format!("wrong state: {id} is {}", said()));
    }
    match newest {
        Some(word) => wrong.extend(wrong_hits(client, id, word, &texts)),
        None if !texts.is_empty() => wrong.push(format!(
            "stale: {id} was deleted, is {} and has {} chunks",
            said(),
            texts.len()
        )),
        None => {}
    }
    if texts
        .iter()
        .any(|text| old.iter().any(|word| text.contains(word.as_str())))
    {
        wrong.push(format!(
            "stale: a chunk of an older version of {id}, which is {}",
            said()
        ));
    }
    let looked_for = if thorough { old.len() } else { 3 };
    for word in old.iter().rev().take(looked_for) {
        let hits = search(client, word);
        if !hits.is_empty() {
            wrong.push(format!(
                "stale: {id} is still found by {word}, and is {}",
                said()
            ));
        }
    }
    wrong
}

/// Empty where there is nothing to say.
fn reason(detail: &Value) -> &str {
    detail
        .get("reason")
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// The newest word must find each chunk that has it, once, and nothing else.
fn wrong_hits(client: &Client, id: &str, word: &str, texts: &[&str]) -> Vec<String> {
    let mut wrong = Vec::new();
    let hits = search(client, word);
    let mut found: Vec<&str> = hits.iter().map(|hit| text(hit, "/chunk_id")).collect();
    found.sort_unstable();
    found.dedup();
    let wanted = texts.iter().filter(|text| text.contains(word)).count();
    if wanted == 0 || found.len() < wanted {
        wrong.push(format!(
            "lost: {id} has {} chunks, {wanted} of them with {word}, which finds {}",
            texts.len(),
            found.len()
        ));
    }
    if found.len() != hits.len() || found.len() > wanted {
        wrong.push(format!(
            "duplicate: {id} has {wanted} chunks with {word}, which finds {} ({} different)",
            hits.len(),
            found.len()
        ));
    }
    if let Some(other) = hits.iter().find(|hit| text(hit, "/document_id") != id) {
        wrong.push(format!("duplicate: {word} of {id} finds {other}"));
    }
    wrong
}

/// What is wrong with the content of a document that shares it with others.
pub fn missing_passages(client: &Client, id: &str, word: &str) -> Option<String> {
    let (_, detail) = settled(client, &format!("/v1/documents/{id}?passages=true"));
    let is_there = list(&detail, "/passages")
        .iter()
        .any(|passage| text(passage, "/text").contains(word));
    let is_right = text(&detail, "/state") == "indexed" || reason(&detail).contains("unchanged");
    (!is_there || !is_right).then(|| format!("lost: {id} is not shown with {word}: {detail}"))
}

/// Hits of all documents that have the word, also of those that are stored once.
pub fn search(client: &Client, word: &str) -> Vec<Value> {
    let body = json!({"query": word, "strategy": "full_text", "top_k": 20, "unfold": true});
    let (_, answer) = until_answered(|| client.post("/v1/search", &body));
    list(&answer, "/hits").to_vec()
}

fn settled(client: &Client, path: &str) -> (u16, Value) {
    until_answered(|| client.get(path))
}

/// In calm weather a server answers; the connection that a dead one left may fail once.
fn until_answered(ask: impl Fn() -> Option<(u16, Value)>) -> (u16, Value) {
    let mut last = None;
    for _ in 0..50 {
        match ask() {
            Some((200, answer)) => return (200, answer),
            other => last = other,
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("no answer in calm weather: {last:?}");
}
