//! Conversations in a cluster: the conformance suite, and what only a store that processes share
//! goes through.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use tributary_schemas::ErrorKind;
use tributary_schemas::conversation::TurnState;
use tributary_store::Clock;
use tributary_store::conversations::elasticsearch::ElasticsearchConversations;
use tributary_store::conversations::{ConversationStore, NewTurn, TurnEnd, TurnQuery};
use tributary_store::search_index::elasticsearch::diagnose;

use crate::cluster::Cluster;
use crate::conversation_promises::{answer, clock, config};

/// Indices of their own on the cluster.
pub struct OwnPrefix {
    cluster: Cluster,
    store: ElasticsearchConversations,
}

impl OwnPrefix {
    async fn start(promise: &str) -> Option<Self> {
        let cluster = Cluster::find(&promise.replace('_', "-")).await?;
        let store = open(&cluster, clock()).await;
        Some(Self { cluster, store })
    }

    fn store(&self) -> &dyn ConversationStore {
        &self.store
    }

    async fn finish(self) {
        drop(self.store);
        self.cluster.clean().await;
    }
}

async fn open(cluster: &Cluster, clock: Clock) -> ElasticsearchConversations {
    ElasticsearchConversations::open(&cluster.config(), config(), clock)
        .await
        .unwrap()
}

mod promises {
    crate::conversation_promises::every_promise!(crate::conversations::OwnPrefix);
}

fn question(question: &str) -> NewTurn<'_> {
    NewTurn {
        question,
        idempotency_key: None,
        fingerprint: None,
    }
}

const ALL: TurnQuery<'_> = TurnQuery {
    newest_first: false,
    after: None,
    limit: 1000,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_whose_process_died_fails_after_a_while() {
    let Some(cluster) = Cluster::find("died").await else {
        return;
    };
    let now = Arc::new(AtomicI64::new(1_700_000_000_000));
    let time = Arc::clone(&now);
    let store = open(&cluster, Arc::new(move || time.load(Ordering::Relaxed))).await;
    let id = store.create(None, "").await.unwrap().id;
    let first = store.begin_turn(None, &id, question("1")).await.unwrap();
    now.fetch_add(14 * 60_000, Ordering::Relaxed);
    let refused = store.begin_turn(None, &id, question("2")).await;
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Conflict);
    now.fetch_add(2 * 60_000, Ordering::Relaxed);
    let state = async || {
        let turns = store.turns(None, &id, ALL).await.unwrap().items;
        turns.iter().map(|turn| turn.state).collect::<Vec<_>>()
    };
    assert_eq!(state().await, [TurnState::Failed]);
    let second = store.begin_turn(None, &id, question("2")).await.unwrap();
    assert_eq!(second.turn.number, 2);
    assert_eq!(state().await, [TurnState::Failed, TurnState::Pending]);
    let end = || TurnEnd::Answered(answer("late"));
    let late = store.finish_turn(None, &id, &first.turn.id, end()).await;
    assert_eq!(late.unwrap().state, TurnState::Failed);
    now.fetch_add(16 * 60_000, Ordering::Relaxed);
    assert_eq!(state().await, [TurnState::Failed, TurnState::Failed]);
    let late = store.finish_turn(None, &id, &second.turn.id, end()).await;
    assert_eq!(late.unwrap().state, TurnState::Answered);
    assert_eq!(state().await, [TurnState::Failed, TurnState::Answered]);
    cluster.clean().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processes_share_conversations_and_the_doctor_knows_their_indices() {
    let Some(cluster) = Cluster::find("shared").await else {
        return;
    };
    let (one, other) = (open(&cluster, clock()).await, open(&cluster, clock()).await);
    let id = one.create(None, "").await.unwrap().id;
    let begun = one.begin_turn(None, &id, question("why")).await.unwrap();
    let refused = other.begin_turn(None, &id, question("how")).await;
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Conflict);
    let end = TurnEnd::Answered(answer("because"));
    other
        .finish_turn(None, &id, &begun.turn.id, end)
        .await
        .unwrap();
    assert_eq!(one.last_rounds(None, &id, 3).await.unwrap().len(), 1);
    let found = diagnose(&cluster.config()).await;
    let index = found
        .iter()
        .find(|found| found.name == "elasticsearch index");
    assert!(index.unwrap().ok, "{found:?}");
    one.delete(None, &id).await.unwrap();
    let path = format!("/{}-turns=1/_count", cluster.prefix);
    let (_, counted) = cluster.request("GET", &path, "").await;
    assert_eq!(counted["count"], 0, "its turns are gone");
    cluster.clean().await;
}
