//! Documents that depend on each other or on what their producer says: exact duplicates, editions
//! of a work, and versions that the producer counts itself. Published beside the others; each word
//! must find exactly the documents that have it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::driver::{Client, Tally, missing_passages, search};
use crate::harness::text;
use crate::random::Random;

/// Of the documents whose file name says which edition they are the newest stands.
pub const SOURCE_PROFILES: &str = r#"
[[source_profile]]
name = "editions"
source = "chaos-editions"
cleaners = [{ step = "version_from_file_name" }]
newest_only = { same = ["versionless_path"], version = "document_version" }
"#;

const COPIES: usize = 6;
/// So few words for so many documents make duplicates.
const SHARED_WORDS: u64 = 3;
const WORKS: usize = 3;
const EDITIONS: u64 = 4;
const NUMBERED: usize = 4;

/// A document and the word that only it, or only its duplicates, should be found by.
#[derive(Clone)]
struct Published {
    id: String,
    word: String,
}

/// The producer of all of them.
pub struct Families {
    client: Client,
    random: Random,
    operation: u64,
    copies: Vec<Option<Published>>,
    works: Vec<BTreeMap<u64, Published>>,
    numbered: Vec<Option<(u64, Published)>>,
    used: BTreeSet<String>,
}

impl Families {
    /// Nothing is published yet.
    pub fn new(seed: u64, client: Client) -> Self {
        let random = Random::new(seed, 50);
        let (copies, works, numbered) = (
            vec![None; COPIES],
            vec![BTreeMap::new(); WORKS],
            vec![None; NUMBERED],
        );
        Self {
            client,
            random,
            operation: 0,
            copies,
            works,
            numbered,
            used: BTreeSet::new(),
        }
    }

    /// So many changes, by chance.
    pub fn work(&mut self, changes: usize, tally: &Tally) {
        for _ in 0..changes {
            self.operation += 1;
            match self.random.below(3) {
                0 => self.change_copy(tally),
                1 => self.change_edition(tally),
                _ => self.change_numbered(tally),
            }
        }
    }

    fn change_copy(&mut self, tally: &Tally) {
        let copy = self.random.below(COPIES as u64) as usize;
        if self.random.below(5) == 0
            && let Some(published) = self.copies[copy].take()
        {
            return self.delete(&published, tally);
        }
        let number = self.random.below(SHARED_WORDS);
        let word = self.word("shared", number);
        // Nothing in it says which of the copies it is.
        let event = json!({"source": "chaos-copies", "source_path": format!("{copy}/same.md"), "title": "Same", "content": body(&word)});
        self.copies[copy] = Some(self.publish(&event, word, tally));
    }

    fn change_edition(&mut self, tally: &Tally) {
        let (work, edition) = (
            self.random.below(WORKS as u64) as usize,
            1 + self.random.below(EDITIONS),
        );
        if self.random.below(5) == 0
            && let Some(published) = self.works[work].remove(&edition)
        {
            return self.delete(&published, tally);
        }
        let word = self.word("edition", self.operation);
        let event = json!({"source": "chaos-editions", "source_path": format!("{work}/Work V{edition}.md"), "content": body(&word)});
        let published = self.publish(&event, word, tally);
        self.works[work].insert(edition, published);
    }

    /// Its producer counts: 1, 2, 3, and now and then says an old number again, with other content.
    fn change_numbered(&mut self, tally: &Tally) {
        let document = self.random.below(NUMBERED as u64) as usize;
        let version = self.numbered[document]
            .as_ref()
            .map_or(0, |(version, _)| *version);
        let is_old = version > 1 && self.random.below(4) == 0;
        let said = if is_old { version - 1 } else { version + 1 };
        let word = self.word("numbered", self.operation);
        let event = json!({"source": "chaos-numbered", "source_path": format!("{document}.md"), "content": body(&word), "version": said});
        if is_old {
            // Taken and never shown, or refused as too old.
            self.client
                .acknowledged(tally, &[409], |client| client.post("/v1/documents", &event));
        } else {
            let accepted = self.client.acknowledged(tally, &[], |client| {
                match client.post("/v1/documents", &event)? {
                    (409, problem) => taken_before(client, &problem, said),
                    answer => Some(answer),
                }
            });
            self.numbered[document] = Some((
                said,
                Published {
                    id: text(&accepted, "/document_id").to_owned(),
                    word,
                },
            ));
        }
    }

    fn word(&mut self, kind: &str, number: u64) -> String {
        let letters = format!("{number:06}")
            .bytes()
            .map(|digit| char::from(b'a' + (digit - b'0')))
            .collect::<String>();
        let word = format!("qy{kind}{letters}q");
        self.used.insert(word.clone());
        word
    }

    fn publish(&self, event: &Value, word: String, tally: &Tally) -> Published {
        let accepted = self
            .client
            .acknowledged(tally, &[], |client| client.post("/v1/documents", event));
        Published {
            id: text(&accepted, "/document_id").to_owned(),
            word,
        }
    }

    fn delete(&self, published: &Published, tally: &Tally) {
        let path = format!("/v1/documents/{}", published.id);
        self.client
            .acknowledged(tally, &[], |client| client.delete(&path));
    }

    /// Which documents each word must find.
    fn expected(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        let newest = self
            .works
            .iter()
            .filter_map(|editions| editions.values().next_back());
        let numbered = self
            .numbered
            .iter()
            .flatten()
            .map(|(_, published)| published);
        let mut expected: BTreeMap<&str, BTreeSet<&str>> = self
            .used
            .iter()
            .map(|word| (word.as_str(), BTreeSet::new()))
            .collect();
        for published in self.copies.iter().flatten().chain(newest).chain(numbered) {
            expected
                .entry(&published.word)
                .or_default()
                .insert(&published.id);
        }
        expected
    }

    /// Everything that is not as it must be.
    pub fn violations(&self) -> Vec<String> {
        let wrong = self.expected().into_iter().filter_map(|(word, expected)| {
            let hits = search(&self.client, word);
            let found: BTreeSet<&str> = hits.iter().map(|hit| text(hit, "/document_id")).collect();
            let kind = if found.len() < expected.len() {
                "lost"
            } else {
                "stale"
            };
            let states = || {
                found
                    .symmetric_difference(&expected)
                    .map(|id| self.client.get(&format!("/v1/documents/{id}")))
                    .collect::<Vec<_>>()
            };
            (found != expected).then(|| {
                format!(
                    "{kind}: {word} finds {found:?} and should find {expected:?}: {:?}",
                    states()
                )
            })
        });
        let missing = self
            .copies
            .iter()
            .flatten()
            .filter_map(|copy| missing_passages(&self.client, &copy.id, &copy.word));
        wrong.chain(missing).collect()
    }
}

fn body(word: &str) -> String {
    format!(
        "# Handover\n\n{word} begins here. The relay hands the carrier over before the signal fades.\n"
    )
}

/// A version that is refused because an attempt before it was taken, whose answer was lost: only
/// this producer gives it. Nothing while it is not known to the table.
fn taken_before(client: &Client, problem: &Value, said: u64) -> Option<(u16, Value)> {
    let id = text(problem, "/detail").split('`').nth(1)?;
    let (status, known) = client.get(&format!("/v1/documents/{id}"))?;
    let is_taken = status == 200 && known.pointer("/version").and_then(Value::as_u64) == Some(said);
    is_taken.then(|| (202, json!({"document_id": id})))
}
