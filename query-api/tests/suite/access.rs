//! Who may see which document: each has a word of its own, and no byte of any answer may hold the
//! word of a document that the key may not see, while rights change and documents come and go. The
//! same for a section of each, which has a security level of its own.

mod calls;
mod leaving;

use std::collections::BTreeMap;

use futures::StreamExt;
use serde_json::{Value, json};
use tributary_models::chat::ChatModels;
use tributary_query_api::config::{DocumentsWithoutAccess, NetworkAccess, ServerConfig};
use tributary_schemas::document::TABLES_DATABASE;
use tributary_schemas::{Access, ChunkId, DocumentHeader, SectionLevel, State, Viewer};
use tributary_store::keys::{Grant, NewKey};
use tributary_store::search_index::Operation;

use crate::common::backend::Settings;
use crate::common::client::Answer;
use crate::common::{self, Text};
use crate::rights::{Keyed, NOW};

const DOCUMENTS: usize = 6;
const ROUNDS: u64 = 25;
/// Files of so many versions are asked for in each round; of all, a round would take longer and longer.
const FILES: usize = 12;
/// Of so many at the same time: what is not there is told only after a while, see `query_api::http::absence`.
const AT_ONCE: usize = 32;
/// How many rounds are tried instead, for a long run.
const ROUNDS_WANTED: &str = "TRIBUTARY_CANARY_ROUNDS";

/// A key, and what its holder may see.
struct Reader {
    key: String,
    viewer: Option<Viewer>,
}

/// A server with documents that come, go and change their rights.
struct World {
    keyed: Keyed,
    readers: Vec<Reader>,
    /// Version and rights of those that are there.
    documents: BTreeMap<usize, (u64, Option<Access>, Option<u8>)>,
    /// Rights of versions that are published and not in the index yet.
    on_the_way: BTreeMap<usize, (Option<Access>, Option<u8>)>,
    /// Level of the closed section of those that have one.
    sections: BTreeMap<usize, u8>,
    /// Files and tables of documents with one: each path with the document and its version.
    files: Vec<(usize, String)>,
    random: u64,
    requests: std::cell::Cell<u64>,
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// For whoever is in the group.
fn for_group(group: &str) -> Option<Access> {
    Some(Access {
        groups: Some(names(&[group])),
        users: None,
    })
}

fn id(number: usize) -> String {
    format!("doc/{number}")
}

/// What a document of this version has in all that can be read of it.
fn word(number: usize, version: u64) -> String {
    format!("kanarienvogel{number}v{version}x")
}

/// What its closed section has, and all that is made of the whole.
fn closed_word(number: usize, version: u64) -> String {
    format!("sektionsvogel{number}v{version}x")
}

fn image(number: usize) -> String {
    format!("blob:{number:064}")
}

impl World {
    async fn start(without: DocumentsWithoutAccess) -> Self {
        Self::start_with(without, ChatModels::default()).await
    }

    async fn start_with(without: DocumentsWithoutAccess, chat: ChatModels) -> Self {
        let keyed = Keyed::start_as(Settings {
            server: ServerConfig {
                network_access: NetworkAccess::Authenticated,
                documents_without_access: without,
                ..common::server_config()
            },
            chat,
            ask: tributary_query_api::asking::AskConfig {
                timeout_ms: 60_000,
                ..common::ask_config()
            },
            ..Settings::default()
        })
        .await;
        let mut world = Self {
            keyed,
            readers: Vec::new(),
            documents: BTreeMap::new(),
            on_the_way: BTreeMap::new(),
            sections: BTreeMap::new(),
            files: Vec::new(),
            random: 7,
            requests: std::cell::Cell::new(0),
        };
        for (groups, clearance) in [
            (&[][..], 0),
            (&["a"], 1),
            (&["b", "乙"], 3),
            (&["a", "b"], 0),
        ] {
            world.add_reader(Grant::Reader, groups, clearance, without);
        }
        world.add_reader(Grant::Administrator, &[], 0, without);
        world
    }

    fn add_reader(
        &mut self,
        role: Grant,
        groups: &[&str],
        clearance: u8,
        without: DocumentsWithoutAccess,
    ) {
        let is_administrator = role == Grant::Administrator;
        let new = NewKey {
            name: "reader".to_owned(),
            roles: vec![role],
            groups: names(groups),
            clearance,
            expires_ms: None,
        };
        let (key, secret) = self.keyed.file.create(new, NOW).unwrap();
        let viewer = Viewer {
            groups: names(groups),
            user: Some(key.id),
            clearance,
            sees_unstated: without == DocumentsWithoutAccess::Readers,
            ..Viewer::default()
        };
        self.readers.push(Reader {
            key: format!("Bearer {}", secret.reveal()),
            viewer: (!is_administrator).then_some(viewer),
        });
    }

    fn random(&mut self, below: u64) -> u64 {
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) % below
    }

    fn any_access(&mut self) -> (Option<Access>, Option<u8>) {
        let first = self.readers[0].viewer.as_ref().unwrap();
        let user = first.user.clone().unwrap();
        let access = match self.random(7) {
            0 => None,
            1 => Some(Access::default()),
            2 => Some(Access {
                groups: Some(names(&["a"])),
                users: None,
            }),
            3 => Some(Access {
                groups: Some(names(&["乙", "c"])),
                users: None,
            }),
            4 => Some(Access {
                groups: Some(Vec::new()),
                users: Some(vec![user]),
            }),
            5 => Some(Access {
                groups: Some(Vec::new()),
                users: None,
            }),
            _ => Some(Access {
                groups: Some(names(&["c"])),
                users: None,
            }),
        };
        let level = [None, Some(0), Some(1), Some(3)][self.random(4) as usize];
        (access, level)
    }

    /// Writes, changes or deletes a document.
    async fn change(&mut self, version: u64) {
        let number = self.random(DOCUMENTS as u64) as usize;
        if self.random(5) == 0 {
            self.delete(number, version).await;
        } else if self.random(3) == 0 {
            let (access, level) = self.any_access();
            self.publish(number, version, access, level).await;
        } else {
            let (access, level) = self.any_access();
            match self.random(4) {
                0 => self.sections.remove(&number),
                level => self.sections.insert(number, level as u8),
            };
            self.write(number, version, access, level).await;
        }
    }

    /// Publishes a version that no stage takes on: the index keeps the one before.
    async fn publish(
        &mut self,
        number: usize,
        version: u64,
        access: Option<Access>,
        level: Option<u8>,
    ) {
        let mut event = json!({
            "document_id": id(number), "version": version, "source": "wiki",
            "source_path": format!("{number}.md"), "content": word(number, version),
            "attributes": {},
        });
        if let Some(access) = &access {
            event["attributes"]["access"] = json!(access);
        }
        if let Some(level) = level {
            event["attributes"]["security_level"] = json!(level);
        }
        let administrator = self.readers[4].key.clone();
        let answer = self
            .ask(&administrator, "POST", "/v1/documents", Some(event))
            .await;
        assert_eq!(answer.status, 202, "{answer:?}");
        self.on_the_way.insert(number, (access, level));
    }

    async fn delete(&mut self, number: usize, version: u64) {
        self.documents.remove(&number);
        self.on_the_way.remove(&number);
        let kept = &self.keyed.server.kept;
        kept.index.apply(vec![Operation::Delete {
            document_id: id(number),
            version,
        }]);
        kept.report(&id(number), version, State::Deleted).await;
    }

    async fn write(
        &mut self,
        number: usize,
        version: u64,
        access: Option<Access>,
        level: Option<u8>,
    ) {
        let leak = |text: String| -> &'static str { Box::leak(text.into_boxed_str()) };
        let word = leak(word(number, version));
        let text = Text {
            id: leak(id(number)),
            title: leak(format!("Budget {word}")),
            source: "wiki",
            knowledge_sets: &["common"],
            tags: leak_list(word),
            security_level: level,
            chunks: Box::leak(Box::new([
                leak(format!(
                    "The secret budget number {number} of the plan, {word}."
                )),
                leak(format!("Remarks on the budget: {word}.")),
            ])),
        };
        let Operation::Replace {
            mut document,
            mut chunks,
            vectors,
        } = common::replace(&text, version)
        else {
            panic!("a replacement")
        };
        document.attributes.access = access.clone();
        document.attributes.author = Some(word.to_owned());
        document.source_path = word.to_owned();
        document.fingerprint = "f".to_owned();
        chunks[0].images = vec![image(number)];
        let mut vectors = vectors;
        if let Some(level) = self.sections.get(&number).copied() {
            let word = closed_word(number, version);
            let mut closed = chunks[1].clone();
            closed.chunk_id = ChunkId::derive(&id(number), "leaf", &[], "closed", 0);
            closed.ordinal = 2;
            closed.section_path = vec![format!("Closed {word}")];
            closed.text = format!("Closed remarks on the secret budget of the plan: {word}.");
            closed.analyzed = format!("{} {word}", chunks[1].analyzed);
            closed.images = vec![image(number + 100)];
            closed.security_level =
                (Some(level) > document.attributes.security_level).then_some(level);
            chunks[0].child_ids.push(closed.chunk_id);
            chunks.push(closed);
            vectors.push(vectors[1].clone());
            document.attributes.section_levels = Some(vec![SectionLevel {
                heading: format!("Closed {word}*"),
                security_level: level,
            }]);
            document.highest_section_level = Some(level);
            self.keep_files(number, &word, &mut document).await;
        }
        let header: DocumentHeader = (*document).clone();
        let kept = &self.keyed.server.kept;
        kept.index.apply(vec![Operation::Replace {
            document,
            chunks,
            vectors,
        }]);
        kept.report_document(&header, State::Indexed).await;
        self.documents.insert(number, (version, access, level));
        self.on_the_way.remove(&number);
    }

    /// The original and the tables of a document, which have all that is in it.
    async fn keep_files(&mut self, number: usize, word: &str, document: &mut DocumentHeader) {
        let blobs = self.keyed.server.kept.blobs();
        let original = format!("# Closed {word}").into_bytes();
        document.original = Some(blobs.put(original.into()).await.unwrap());
        let tables = format!("SQLite format 3\0{word}").into_bytes();
        let tables = blobs.put(tables.into()).await.unwrap();
        let path = tables.replace("blob:", "/v1/tables/");
        let query = id(number).replace('/', "%2F");
        self.files
            .push((number, format!("{path}?document={query}")));
        let surplus = self.files.len().saturating_sub(FILES);
        self.files.drain(..surplus);
        document.metadata = BTreeMap::from([
            (TABLES_DATABASE.to_owned(), tables),
            ("summary".to_owned(), word.to_owned()),
        ]);
    }

    /// Whether they see the closed section of a document.
    fn sees_section(&self, reader: &Reader, number: usize) -> bool {
        let Some(level) = self.sections.get(&number) else {
            return false;
        };
        let viewer = reader.viewer.as_ref();
        self.sees(reader, number) && viewer.is_none_or(|viewer| *level <= viewer.clearance)
    }

    fn sees(&self, reader: &Reader, number: usize) -> bool {
        let Some((_, access, level)) = self.documents.get(&number) else {
            return false;
        };
        let rights = self.on_the_way.get(&number);
        let rights = rights.map(|(access, level)| (access, level));
        let sees = |viewer: &Viewer| {
            let mut all = rights.into_iter().chain([(access, level)]);
            all.all(|(access, level)| viewer.sees(access.as_ref(), level.unwrap_or(0)))
        };
        reader.viewer.as_ref().is_none_or(sees)
    }

    async fn ask(&self, key: &str, method: &str, path: &str, body: Option<Value>) -> Answer {
        self.requests.set(self.requests.get() + 1);
        self.keyed.send(key, method, path, body).await
    }

    /// Everything that a key can read, as one text.
    async fn read_all(&self, key: &str) -> String {
        let mut calls = calls::of_all();
        calls.extend(
            self.files
                .iter()
                .map(|(_, path)| ("GET", path.clone(), None)),
        );
        calls.extend((0..DOCUMENTS).flat_map(calls::of_document));
        let answers = futures::stream::iter(calls).map(|(method, path, body)| async move {
            let answer = self.ask(key, method, &path, body).await;
            assert!(answer.status < 500, "{method} {path}: {answer:?}");
            format!("\n{method} {path} {}", answer.body)
        });
        answers.buffered(AT_ONCE).collect().await
    }

    /// The same for closed sections.
    fn check_section(&self, reader: &Reader, number: usize, read: &str) -> (usize, usize) {
        let any_version = format!("sektionsvogel{number}v");
        let current = self.documents.get(&number).map(|(version, ..)| *version);
        if let Some(version) = current.filter(|_| self.sees_section(reader, number)) {
            let word = closed_word(number, version);
            let times = read.matches(&word).count();
            // Readers' lists leave out what is on its way.
            let expected = if self.on_the_way.contains_key(&number) {
                1
            } else {
                3
            };
            assert!(
                times >= expected,
                "{word} is for {:?}: {times}",
                reader.viewer
            );
            return (1, 0);
        }
        if reader.viewer.is_none() {
            return (0, 0);
        }
        let place = read.find(&any_version);
        assert_eq!(
            place.map(|at| read.get(at.saturating_sub(300)..(at + 60).min(read.len()))),
            None,
            "the section of {number} {:?} {:?} is not for {:?}",
            self.documents.get(&number),
            self.sections.get(&number),
            reader.viewer
        );
        (0, 1)
    }

    /// No word of what may not be read, and those of what may be; how many of each.
    async fn check(&self) -> (usize, usize) {
        let (mut seen, mut unseen) = (0, 0);
        for reader in &self.readers {
            let read = self.read_all(&reader.key).await;
            for number in 0..DOCUMENTS {
                let (of_section, not_of_section) = self.check_section(reader, number, &read);
                (seen, unseen) = (seen + of_section, unseen + not_of_section);
                let any_version = format!("kanarienvogel{number}v");
                let current = self.documents.get(&number).map(|(version, ..)| *version);
                if let Some(version) = current.filter(|_| self.sees(reader, number)) {
                    let word = word(number, version);
                    assert!(read.contains(&word), "{word} is for {:?}", reader.viewer);
                    seen += 1;
                } else if reader.viewer.is_some() {
                    // What was asked for is answered back.
                    let told = read.replace(&format!("{any_version}`"), "");
                    let told = told.replace(&format!("/wiki/{any_version} "), "");
                    let place = told.find(&any_version.to_string());
                    assert_eq!(
                        place.map(|at| told.get(at.saturating_sub(300)..(at + 60).min(told.len()))),
                        None,
                        "document {number} {:?} is not for {:?}",
                        self.documents.get(&number),
                        reader.viewer
                    );
                    unseen += 1;
                }
            }
        }
        (seen, unseen)
    }
}

fn leak_list(word: &'static str) -> &'static [&'static str] {
    Box::leak(Box::new([word]))
}

async fn nothing_forbidden_is_read(without: DocumentsWithoutAccess) {
    let mut world = World::start(without).await;
    let (mut seen, mut unseen) = (0, 0);
    let wanted = std::env::var(ROUNDS_WANTED).ok();
    let rounds = wanted
        .and_then(|rounds| rounds.parse().ok())
        .unwrap_or(ROUNDS);
    for round in 1..=rounds {
        for change in 0..3 {
            world.change(10 * round + change).await;
        }
        let (more_seen, more_unseen) = world.check().await;
        (seen, unseen) = (seen + more_seen, unseen + more_unseen);
    }
    assert!(
        seen > 50 && unseen > 50,
        "{seen} seen, {unseen} not: nothing was tried"
    );
    eprintln!(
        "{rounds} rounds, {} requests: {seen} words seen, {unseen} withheld",
        world.requests.get()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn no_word_of_a_forbidden_document_is_read() {
    nothing_forbidden_is_read(DocumentsWithoutAccess::Administrators).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_may_be_shown_what_nobody_said_anything_of() {
    nothing_forbidden_is_read(DocumentsWithoutAccess::Readers).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_yours_is_not_there_word_for_word() {
    let mut world = World::start(DocumentsWithoutAccess::Administrators).await;
    world.write(1, 5, for_group("c"), None).await;
    let key = &world.readers[1].key;
    for rest in ["", "?passages=true", "/original", "/pages/1"] {
        let path = |number| format!("/v1/documents/{}{rest}", id(number));
        let theirs = world.ask(key, "GET", &path(1), None).await;
        let nobodys = world.ask(key, "GET", &path(2), None).await;
        assert_eq!((theirs.status, nobodys.status), (404, 404), "{rest}");
        assert_eq!(
            theirs.body.replace(&id(1), "ID"),
            nobodys.body.replace(&id(2), "ID"),
            "{rest}"
        );
    }
    let states = |number| json!({"document_ids": [id(number)]});
    let states = async |number| {
        let answer = world
            .ask(key, "POST", "/v1/documents/states", Some(states(number)))
            .await;
        answer.body
    };
    assert_eq!(states(1).await, states(2).await);
    for number in [1, 2] {
        let path = image(number).replace("blob:", "/v1/images/");
        assert_eq!(world.ask(key, "GET", &path, None).await.status, 404);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pictures_are_for_whoever_may_see_a_document_that_shows_them() {
    let mut world = World::start(DocumentsWithoutAccess::Administrators).await;
    let picture = world.keyed.server.kept.blobs();
    let picture = picture
        .put((&b"\x89PNG\r\n\x1A\nsmall"[..]).into())
        .await
        .unwrap();
    let path = picture.replace("blob:", "/v1/images/");
    let status = async |world: &World, reader: usize| {
        let key = &world.readers[reader].key;
        world.ask(key, "GET", &path, None).await.status
    };
    let for_a = Access {
        groups: Some(names(&["a"])),
        users: None,
    };
    world.write(1, 5, Some(for_a), Some(1)).await;
    assert_eq!(status(&world, 1).await, 404, "no document shows it yet");
    let shows = |world: &World| {
        let kept = &world.keyed.server.kept;
        kept.index.show_image(&id(1), &picture);
    };
    shows(&world);
    assert_eq!(
        [
            status(&world, 0).await,
            status(&world, 1).await,
            status(&world, 3).await,
            status(&world, 4).await
        ],
        [404, 200, 404, 200]
    );
    world.write(1, 6, for_group("b"), Some(0)).await;
    shows(&world);
    assert_eq!(
        [status(&world, 1).await, status(&world, 3).await],
        [404, 200]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn kept_answers_are_withheld_when_rights_are_taken_away() {
    let mut world = World::start(DocumentsWithoutAccess::Administrators).await;
    world.write(1, 5, for_group("a"), None).await;
    let key = world.readers[1].key.clone();
    let made = world
        .ask(&key, "POST", "/v1/conversations", Some(json!({})))
        .await;
    let conversation = made.json()["id"].as_str().unwrap().to_owned();
    let question = json!({"question": "What is the secret budget number 1 of the plan?", "conversation_id": conversation});
    let answer = world.ask(&key, "POST", "/v1/ask", Some(question)).await;
    let word = word(1, 5);
    assert!(answer.body.contains(&word), "{answer:?}");
    let turn = answer.json()["id"].as_str().unwrap().to_owned();
    let feedback = format!("/v1/conversations/{conversation}/turns/{turn}/feedback");
    let given = world
        .ask(&key, "PUT", &feedback, Some(json!({"helpful": true})))
        .await;
    assert_eq!(given.status, 200, "{given:?}");
    let paths = [
        format!("/v1/conversations/{conversation}/turns"),
        format!("/v1/conversations/{conversation}/export"),
        format!("/v1/conversations/{conversation}/export?format=json"),
        "/v1/feedback".to_owned(),
        "/v1/feedback?format=lines".to_owned(),
    ];
    for path in &paths {
        let kept = world.ask(&key, "GET", path, None).await;
        assert!(kept.body.contains(&word), "{path}: {kept:?}");
    }
    world.write(1, 6, for_group("c"), None).await;
    for path in &paths {
        let kept = world.ask(&key, "GET", path, None).await;
        assert_eq!(kept.status, 200, "{kept:?}");
        assert!(!kept.body.contains("kanarienvogel"), "{path}: {kept:?}");
        assert!(
            kept.body.contains("secret budget number 1"),
            "the question stays: {path}"
        );
    }
    let on = world
        .ask(&key, "GET", &format!("/v1/ask/{turn}"), None)
        .await;
    assert!(!on.body.contains("kanarienvogel"), "{on:?}");
}

/// What somebody reads of document 1 in which its word stands, one line for each path.
async fn word_is_read(world: &World, key: &str, paths: &[String]) -> Vec<bool> {
    let question = json!({"query": "secret budget number 1 of the plan", "top_k": 40});
    let mut read = Vec::new();
    for path in paths {
        let answer = match path.as_str() {
            "/v1/search" => world.ask(key, "POST", path, Some(question.clone())).await,
            _ => world.ask(key, "GET", path, None).await,
        };
        read.push(answer.body.contains("vogel1v"));
    }
    read
}

#[tokio::test(flavor = "multi_thread")]
async fn narrower_rights_hold_from_the_publication_on_and_wider_ones_wait() {
    let mut world = World::start(DocumentsWithoutAccess::Administrators).await;
    world.sections.insert(1, 1);
    world.write(1, 5, for_group("a"), None).await;
    let key = world.readers[1].key.clone();
    let made = world.ask(&key, "POST", "/v1/conversations", Some(json!({})));
    let conversation = made.await.json()["id"].as_str().unwrap().to_owned();
    let question = json!({"question": "What is the secret budget number 1 of the plan?", "conversation_id": conversation});
    world.ask(&key, "POST", "/v1/ask", Some(question)).await;
    let paths = [
        "/v1/search".to_owned(),
        world.files[0].1.clone(),
        format!("/v1/conversations/{conversation}/turns"),
    ];
    assert_eq!(word_is_read(&world, &key, &paths).await, [true; 3]);
    // Of what is on its way only administrators are shown anything: whoever finds the version before
    // sees that one, and nobody else does.
    let others = [
        format!("/v1/documents/{}?passages=true", id(1)),
        format!("/v1/documents/{}/original", id(1)),
        "/v1/documents".to_owned(),
    ];
    for (version, access, level, expected) in [
        (6, for_group("a"), None, true),
        (7, for_group("c"), None, false),
        (8, for_group("a"), Some(2), false),
        (9, None, None, false),
        (10, for_group("a"), Some(1), true),
    ] {
        world.publish(1, version, access, level).await;
        assert_eq!(
            word_is_read(&world, &key, &paths).await,
            [expected; 3],
            "{version}"
        );
        assert_eq!(
            word_is_read(&world, &key, &others).await,
            [expected; 3],
            "{version}"
        );
        let path = format!("/v1/documents/{}", id(1));
        let shown = world.ask(&key, "GET", &path, None).await;
        let told = (shown.status == 200).then(|| shown.json()["version"].clone());
        assert_eq!(told, expected.then(|| json!(5)), "{shown:?}");
    }
    world.publish(1, 11, for_group("c"), None).await;
    // It cannot be read and is given up; then it is deleted, which waits in its turn.
    world
        .keyed
        .server
        .kept
        .report(&id(1), 11, State::Dead)
        .await;
    assert_eq!(word_is_read(&world, &key, &paths).await, [false; 3]);
    let administrator = world.readers[4].key.clone();
    let path = format!("/v1/documents/{}", id(1));
    let deleted = world.ask(&administrator, "DELETE", &path, None).await;
    assert_eq!(deleted.status, 202, "{deleted:?}");
    assert_eq!(word_is_read(&world, &key, &paths).await, [false; 3]);

    world.write(2, 5, for_group("c"), None).await;
    world.publish(2, 6, for_group("a"), None).await;
    let search = json!({"query": "secret budget number 2 of the plan", "top_k": 40});
    let found = world.ask(&key, "POST", "/v1/search", Some(search)).await;
    assert!(!found.body.contains("vogel2v"), "{found:?}");

    // A word that stands in what is withheld alone looks like one that stands nowhere.
    world.write(3, 5, for_group("a"), None).await;
    let told = async |world: &World, query: String| {
        let search = json!({"query": query, "strategy": "full_text"});
        let found = world.ask(&key, "POST", "/v1/search", Some(search)).await;
        let found = found.json();
        let candidates = |tier: &str| found["tiers"][tier]["candidates"].clone();
        let tiers = [
            candidates("coarse"),
            candidates("fine"),
            candidates("rerank"),
        ];
        let nowhere = found["unmatched_terms"].as_array().map_or(0, Vec::len);
        (found["hits"].as_array().unwrap().len(), tiers, nowhere)
    };
    let (hits, _, nowhere) = told(&world, word(3, 5)).await;
    assert_eq!((hits > 0, nowhere), (true, 0));
    world.publish(3, 6, for_group("c"), None).await;
    let withheld = told(&world, word(3, 5)).await;
    let absent = told(&world, word(4, 5)).await;
    assert_eq!(withheld, absent);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_claimed_of_a_filter_while_what_may_meet_it_is_withheld() {
    let mut world = World::start(DocumentsWithoutAccess::Administrators).await;
    world.write(1, 5, for_group("a"), None).await;
    let key = world.readers[1].key.clone();
    let claimed = async |world: &World, path: &str, filter: Value| {
        let asked = json!({"query": "budget", "filter": filter});
        let answer = world.ask(&key, "POST", path, Some(asked)).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()["unmet_filter"].clone()
    };
    // No document is code or an interface.
    let code = json!({"sources": ["wiki"]});
    let api = json!({"sources": ["wiki"], "kinds": ["api"]});
    let both = [("/v1/code/search", code), ("/v1/search", api)];
    for (path, filter) in &both {
        let unmet = claimed(&world, path, filter.clone()).await;
        assert_eq!(unmet["values"], json!([]), "{path}");
    }
    world.write(2, 5, for_group("a"), None).await;
    world.publish(2, 6, for_group("c"), None).await;
    for (path, filter) in &both {
        let unmet = claimed(&world, path, filter.clone()).await;
        assert!(unmet.is_null(), "{path}: {unmet}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_is_listed_to_nobody_whom_a_newer_version_refused() {
    let mut world = World::start(DocumentsWithoutAccess::Administrators).await;
    let key = world.readers[1].key.clone();
    let listed = async |world: &World, number: usize| {
        let path = "/v1/documents?state=deleted&limit=100";
        let answer = world.ask(&key, "GET", path, None).await;
        answer.body.contains(&word(number, 5))
    };
    for number in [1, 2] {
        world.write(number, 5, for_group("a"), None).await;
    }
    world.publish(2, 6, for_group("c"), None).await;
    let rights_of_the_index = |number: usize| DocumentHeader {
        document_id: id(number),
        version: 7,
        source: "wiki".to_owned(),
        title: word(number, 5),
        fingerprint: "f".to_owned(),
        attributes: tributary_schemas::Attributes {
            access: for_group("a"),
            ..tributary_schemas::Attributes::default()
        },
        ..DocumentHeader::default()
    };
    for number in [1, 2] {
        let kept = &world.keyed.server.kept;
        let header = rights_of_the_index(number);
        kept.report_document(&header, State::Deleted).await;
    }
    assert!(listed(&world, 1).await);
    assert!(!listed(&world, 2).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn hashes_and_failures_of_what_may_not_be_seen_are_not_told() {
    let mut world = World::start(DocumentsWithoutAccess::Administrators).await;
    world.sections.insert(1, 3);
    world.write(1, 5, for_group("a"), None).await;
    let (reader, administrator) = (world.readers[1].key.clone(), world.readers[4].key.clone());
    let path = format!("/v1/documents/{}", id(1));
    for (key, fingerprint) in [(&reader, Value::Null), (&administrator, json!("f"))] {
        let shown = world.ask(key, "GET", &path, None).await;
        assert_eq!(shown.json()["fingerprint"], fingerprint, "{shown:?}");
    }

    // One that failed in a set, and one of a source that nobody else has anything of.
    for (number, sets) in [(8, vec!["common".to_owned()]), (9, Vec::new())] {
        let failed = DocumentHeader {
            document_id: id(number),
            version: 5,
            source: format!("vault{number}"),
            source_path: word(number, 5),
            knowledge_sets: sets,
            attributes: tributary_schemas::Attributes {
                access: for_group("c"),
                ..tributary_schemas::Attributes::default()
            },
            fingerprint: "f".to_owned(),
            ..DocumentHeader::default()
        };
        let kept = &world.keyed.server.kept;
        kept.report_document(&failed, State::Dead).await;
    }
    let sees_all = vec![
        Grant::Builder {
            knowledge_sets: None,
        },
        Grant::Reader,
    ];
    let (_, builder) = world.keyed.key(sees_all);
    let told = async |key: &str| {
        world
            .ask(key, "GET", "/v1/knowledge-sets/status", None)
            .await
    };
    let (all, some) = (told(&administrator).await, told(&builder).await);
    let failed = |answer: &Answer| answer.json()["sets"][0]["documents"]["failed"].clone();
    assert_eq!(failed(&all), failed(&some), "{some:?}");
    for hidden in [&id(8), &word(8, 5), "vault9"] {
        assert!(all.body.contains(hidden), "{hidden}: {all:?}");
        assert!(!some.body.contains(hidden), "{hidden}: {some:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_section_that_is_closed_later_is_withheld_from_what_was_kept() {
    let mut world = World::start(DocumentsWithoutAccess::Administrators).await;
    world.sections.insert(1, 1);
    world.write(1, 5, for_group("a"), None).await;
    let key = world.readers[1].key.clone();
    let word = closed_word(1, 5);
    let original = format!("/v1/documents/{}/original", id(1));
    let answer = world.ask(&key, "GET", &original, None).await;
    assert!(answer.body.contains(&word), "{answer:?}");
    let made = world
        .ask(&key, "POST", "/v1/conversations", Some(json!({})))
        .await;
    let conversation = made.json()["id"].as_str().unwrap().to_owned();
    let question = json!({"question": format!("What are the closed remarks {word}?"), "conversation_id": conversation});
    let answer = world.ask(&key, "POST", "/v1/ask", Some(question)).await;
    let said = "Closed remarks on the secret budget";
    assert!(answer.body.contains(said), "{answer:?}");
    let turns = format!("/v1/conversations/{conversation}/turns");
    let kept = world.ask(&key, "GET", &turns, None).await;
    assert!(kept.body.contains(said), "{kept:?}");
    world.sections.insert(1, 2);
    world.write(1, 6, for_group("a"), None).await;
    let kept = world.ask(&key, "GET", &turns, None).await;
    assert!(!kept.body.contains(said), "{kept:?}");
    let closed = world.ask(&key, "GET", &original, None).await;
    world.sections.remove(&1);
    world.write(1, 7, for_group("a"), None).await;
    let absent = world.ask(&key, "GET", &original, None).await;
    assert_eq!((closed.status, closed.body), (404, absent.body));
}
