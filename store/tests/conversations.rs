//! Conversations in the data folder: the conformance suite, and what only a file goes through: a
//! start after a crash, damage, texts that must not stay on the disk.
#![allow(clippy::unwrap_used)]

#[path = "conformance/conversations/mod.rs"]
mod conversation_promises;

use std::fs;
use std::path::Path;

use tributary_schemas::ErrorKind;
use tributary_schemas::conversation::TurnState;
use tributary_store::conversations::embedded::EmbeddedConversations;
use tributary_store::conversations::{
    Config, ConversationStore, ListQuery, NewTurn, TurnEnd, TurnQuery, UserProfileStore,
};

use self::conversation_promises::{answer, clock, config};

/// A store in a folder of its own.
struct OneFolder {
    folder: tempfile::TempDir,
    store: EmbeddedConversations,
}

impl OneFolder {
    async fn start(_promise: &str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path());
        Some(Self { folder, store })
    }

    fn store(&self) -> &dyn ConversationStore {
        &self.store
    }

    /// What was made can be opened again.
    async fn finish(self) {
        let before = listed(&self.store).await;
        drop(self.store);
        assert_eq!(listed(&open(self.folder.path())).await, before);
    }
}

mod promises {
    crate::conversation_promises::every_promise!(crate::OneFolder);
}

const ALL: TurnQuery<'_> = TurnQuery {
    newest_first: false,
    after: None,
    limit: 1000,
};
const FILE: &str = "conversations/conversations.sqlite";

fn try_open(folder: &Path) -> tributary_schemas::Result<EmbeddedConversations> {
    let (place, aside) = (folder.join("conversations"), folder.join("damaged"));
    EmbeddedConversations::open(&place, &aside, config(), clock())
}

fn open(folder: &Path) -> EmbeddedConversations {
    try_open(folder).unwrap()
}

async fn listed(store: &EmbeddedConversations) -> Vec<String> {
    let all = ListQuery {
        limit: 1000,
        ..ListQuery::default()
    };
    let page = store.list(None, all).await.unwrap();
    page.items.into_iter().map(|item| item.id).collect()
}

fn question(question: &str) -> NewTurn<'_> {
    NewTurn {
        question,
        idempotency_key: None,
        fingerprint: None,
    }
}

#[tokio::test]
async fn what_was_pending_has_failed_with_its_process() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let id = store.create(None, "").await.unwrap().id;
    let begun = store.begin_turn(None, &id, question("why")).await.unwrap();
    drop(store);
    let store = open(folder.path());
    let [turn] = store
        .turns(None, &id, ALL)
        .await
        .unwrap()
        .items
        .try_into()
        .unwrap();
    assert_eq!(
        (turn.state, turn.question.as_str()),
        (TurnState::Failed, "why")
    );
    let failure = turn.failure.unwrap();
    assert_eq!(failure.code, "unavailable");
    assert_eq!(failure.detail, "the server stopped while it answered");
    assert_eq!(failure.hint.as_deref(), Some("ask again"));
    let end = TurnEnd::Answered(answer("late"));
    let late = store.finish_turn(None, &id, &begun.turn.id, end).await;
    assert_eq!(late.unwrap().state, TurnState::Failed);
    assert!(store.begin_turn(None, &id, question("why")).await.is_ok());
}

#[tokio::test]
async fn deleted_texts_are_not_on_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let secret = "a secret that nobody must read";
    let is_on_disk = || {
        let files = fs::read_dir(folder.path().join("conversations")).unwrap();
        files.into_iter().any(|file| {
            let bytes = fs::read(file.unwrap().path()).unwrap();
            bytes
                .windows(secret.len())
                .any(|part| part == secret.as_bytes())
        })
    };
    for clear in [false, true] {
        let id = store.create(None, "x").await.unwrap().id;
        let begun = store.begin_turn(None, &id, question(secret)).await.unwrap();
        let end = TurnEnd::Answered(answer(&secret.repeat(1000)));
        let turn_id = &begun.turn.id;
        store.finish_turn(None, &id, turn_id, end).await.unwrap();
        assert!(is_on_disk());
        match clear {
            true => store.clear(None, &id).await.map(drop).unwrap(),
            false => store.delete(None, &id).await.unwrap(),
        }
        assert!(!is_on_disk());
    }
}

#[tokio::test]
async fn a_damaged_file_is_put_aside() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    store.create(None, "lost").await.unwrap();
    drop(store);
    let path = folder.path().join(FILE);
    fs::write(&path, "no database at all").unwrap();
    let store = open(folder.path());
    assert!(listed(&store).await.is_empty());
    store.create(None, "new").await.unwrap();
    let aside: Vec<_> = fs::read_dir(folder.path().join("damaged"))
        .unwrap()
        .map(|entry| entry.unwrap().path().join("conversations.sqlite"))
        .collect();
    assert_eq!(aside.len(), 1);
    assert_eq!(fs::read(&aside[0]).unwrap(), b"no database at all");
}

#[tokio::test]
async fn damage_met_later_is_said_with_a_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let id = store.create(None, "x").await.unwrap().id;
    let begun = store.begin_turn(None, &id, question("why")).await.unwrap();
    let end = TurnEnd::Answered(answer(&"because ".repeat(100_000)));
    let turn_id = &begun.turn.id;
    store.finish_turn(None, &id, turn_id, end).await.unwrap();
    drop(store);
    let path = folder.path().join(FILE);
    let mut bytes = fs::read(&path).unwrap();
    let half = bytes.len() / 2;
    for page in bytes[half..].chunks_mut(4096) {
        page[..4].fill(0xff);
    }
    fs::write(&path, bytes).unwrap();
    let store = open(folder.path());
    let error = store.turns(None, &id, ALL).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    assert!(error.hint().unwrap().contains(".recover"), "{error}");
}

#[test]
fn a_newer_format_and_a_file_in_the_folders_place_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    drop(open(folder.path()));
    let path = folder.path().join(FILE);
    let mut bytes = fs::read(&path).unwrap();
    // `user_version`, see https://www.sqlite.org/fileformat2.html#user_version_number
    bytes[60..64].copy_from_slice(&7_u32.to_be_bytes());
    fs::write(&path, bytes).unwrap();
    let error = try_open(folder.path()).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("format 7"), "{error}");

    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("conversations"), "").unwrap();
    let error = try_open(folder.path()).err().unwrap();
    assert!(error.to_string().contains("is no folder"), "{error}");
}

#[test]
fn settings_are_checked_and_days_are_counted() {
    let zero = Config {
        retention_days: 0,
        maximum_turns: 0,
        pending_minutes: 0,
        report_days: 0,
    };
    assert_eq!(zero.problems().len(), 3);
    assert_eq!(zero.kept_since_ms(5), None);
    let two_days = Config {
        retention_days: 2,
        ..config()
    };
    assert_eq!(two_days.kept_since_ms(200_000_000), Some(27_200_000));
    assert_eq!(two_days.kept_since_ms(5), Some(0));
}

/// What a build wrote that knew nothing of profiles and summaries.
#[tokio::test]
async fn a_file_of_the_first_version_is_read_and_brought_up_to_date() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let id = store.create(None, "kept").await.unwrap().id;
    drop(store);
    let connection = rusqlite::Connection::open(folder.path().join(FILE)).unwrap();
    connection
        .execute_batch(
            "DROP TABLE report_parts; DROP TABLE reports; DROP TABLE user_profiles; ALTER TABLE conversations DROP COLUMN summary;
             ALTER TABLE turns DROP COLUMN fingerprint;
             PRAGMA user_version = 1;",
        )
        .unwrap();
    drop(connection);
    for _ in 0..2 {
        let store = open(folder.path());
        assert_eq!(store.get(None, &id).await.unwrap().title, "kept");
        assert_eq!(store.summary(None, &id).await.unwrap(), None);
        let new = tributary_schemas::user_profile::UserProfile::default();
        store.put_user_profile(None, "u", new).await.unwrap();
    }
}

#[tokio::test]
async fn a_conversation_of_ten_thousand_turns_is_read_from_its_end() {
    const TURNS: u64 = 10_000;
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let id = store.create(None, "long").await.unwrap().id;
    drop(store);
    let connection = rusqlite::Connection::open(folder.path().join(FILE)).unwrap();
    let answer = serde_json::to_string(&answer("because")).unwrap();
    connection
        .execute(
            "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?1)
             INSERT INTO turns (id, conversation_id, number, question, state, asked_at_ms, answer)
             SELECT format('%032x', n), ?2, n, 'question ' || n, 'answered', n, ?3 FROM numbers",
            rusqlite::params![i64::try_from(TURNS).unwrap(), id, answer],
        )
        .unwrap();
    let counted = "UPDATE conversations SET turns = ?1";
    connection
        .execute(counted, [i64::try_from(TURNS).unwrap()])
        .unwrap();
    drop(connection);
    let store = open(folder.path());
    let rounds = store.last_rounds(None, &id, 3).await.unwrap();
    let numbers: Vec<u64> = rounds.iter().map(|past| past.number).collect();
    assert_eq!(numbers, [TURNS - 2, TURNS - 1, TURNS]);
    let newest = TurnQuery {
        newest_first: true,
        limit: 2,
        ..ALL
    };
    let page = store.turns(None, &id, newest).await.unwrap();
    assert_eq!(page.items[0].number, TURNS);
    let one_more = NewTurn {
        question: "one more?",
        idempotency_key: None,
        fingerprint: None,
    };
    let refused = store.begin_turn(None, &id, one_more).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Exhausted);
    assert!(refused.hint().is_some());
    store.clear(None, &id).await.unwrap();
    assert!(store.begin_turn(None, &id, one_more).await.is_ok());
}
