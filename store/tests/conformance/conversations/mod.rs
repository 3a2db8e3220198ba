//! Behaviour that every store of conversations must show, as plain functions over `&dyn
//! ConversationStore`, one per promise of the trait's docs. [`every_promise`] makes a test of each,
//! on a store of its own.

pub mod beginning;
pub mod ending;
pub mod feedback;
pub mod keeping;
pub mod owners;
pub mod reading;
pub mod reports;
pub mod summaries;
pub mod user_profiles;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use serde_json::json;
use tributary_schemas::ask::{Answer, AskFailure};
use tributary_schemas::conversation::{Conversation, Turn, TurnState};
use tributary_schemas::{Error, ErrorKind};
use tributary_store::Clock;
use tributary_store::conversations::{
    BegunTurn, Config, ConversationStore, ListQuery, NewTurn, PastRound, TurnEnd, TurnQuery,
};

/// Most turns of a conversation of this suite.
pub const MAXIMUM_TURNS: u64 = 5;

/// What the stores of this suite are opened with.
pub fn config() -> Config {
    Config {
        retention_days: 0,
        maximum_turns: MAXIMUM_TURNS,
        pending_minutes: 15,
        report_days: 7,
    }
}

/// A clock that goes on by a millisecond with each look, so that no two changes are at one time.
pub fn clock() -> Clock {
    let now = Arc::new(AtomicI64::new(1_700_000_000_000));
    Arc::new(move || now.fetch_add(1, Ordering::Relaxed))
}

/// Makes a test of every promise. The scene has `start(name)`, which gives none where it cannot be
/// had and has said so, `store()`, and `finish()`.
macro_rules! every_promise {
    ($scene:ty) => {
        $crate::conversation_promises::tests_of! { $scene,
            keeping: a_conversation_is_as_it_was_created, a_title_can_be_changed, titles_are_limited, odd_characters_survive, deleted_is_gone_for_good, cleared_keeps_the_conversation_alone, old_conversations_are_swept;
            reading: lists_begin_with_the_newest_change, lists_come_in_pages, titles_are_searched_in_any_case, turns_come_in_pages_both_ways, rounds_are_the_last_answered_ones, cursors_that_are_none_are_invalid;
            beginning: a_question_is_kept_before_it_is_answered, one_turn_is_pending_at_a_time, of_two_at_once_one_begins, a_key_gives_back_its_turn, a_key_stands_for_one_request, a_key_whose_turn_failed_begins_another, of_one_key_at_once_one_is_new, the_most_turns_are_refused, questions_and_keys_are_checked, the_first_question_is_the_title;
            ending: an_answer_and_a_failure_are_kept, the_first_end_stands, the_end_of_what_is_deleted_is_not_found, numbers_go_on;
            owners: others_do_not_find_it, ids_that_are_none_are_not_found;
            feedback: feedback_is_kept_replaced_and_removed, feedback_of_a_pending_turn_is_a_conflict, feedback_is_exported_in_pages, feedback_goes_with_its_conversation;
            summaries: a_summary_is_kept_until_one_holds_more, a_summary_goes_with_its_turns, summaries_are_checked_and_bound_to_their_owner;
            reports: parts_of_a_report_are_kept_and_the_first_ones_stand, a_section_that_failed_is_kept_until_it_is_written, a_report_stands_for_one_request_and_one_owner, reports_go_with_their_conversation_and_with_age;
            user_profiles: a_profile_is_kept_replaced_and_removed, profiles_are_those_of_their_owner, profiles_come_in_pages, names_and_profiles_are_checked;
        }
    };
}
pub(crate) use every_promise;

macro_rules! tests_of {
    ($scene:ty, $($topic:ident: $($promise:ident),+;)+) => {$($(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $promise() {
            let Some(scene) = <$scene>::start(stringify!($promise)).await else {
                return;
            };
            $crate::conversation_promises::$topic::$promise(scene.store()).await;
            scene.finish().await;
        }
    )+)+};
}
pub(crate) use tests_of;

/// An answer with sources and all.
pub fn answer(text: &str) -> Box<Answer> {
    let answer = json!({"id": "0".repeat(32), "question": "?", "answer": text,
        "verdict": "answered", "workflow": "general", "language": "zh-Hans", "sources": [],
        "support": [], "degraded": ["answer"], "took_ms": 1.5, "steps": []});
    Box::new(serde_json::from_value(answer).unwrap())
}

fn failure(code: &str) -> TurnEnd {
    TurnEnd::Failed(AskFailure {
        code: code.into(),
        detail: "the model is away".into(),
        hint: Some("ask again".into()),
    })
}

async fn create(store: &dyn ConversationStore, title: &str) -> Conversation {
    store.create(None, title).await.unwrap()
}

async fn begin(store: &dyn ConversationStore, id: &str, question: &str) -> BegunTurn {
    try_begin(store, id, question, None).await.unwrap()
}

async fn try_begin(
    store: &dyn ConversationStore,
    id: &str,
    question: &str,
    idempotency_key: Option<&str>,
) -> tributary_schemas::Result<BegunTurn> {
    let turn = NewTurn {
        question,
        idempotency_key,
        fingerprint: None,
    };
    store.begin_turn(None, id, turn).await
}

/// A question with its answer.
async fn ask(store: &dyn ConversationStore, id: &str, question: &str, text: &str) -> Turn {
    let begun = begin(store, id, question).await;
    let end = TurnEnd::Answered(answer(text));
    store
        .finish_turn(None, id, &begun.turn.id, end)
        .await
        .unwrap()
}

async fn all_turns(store: &dyn ConversationStore, id: &str) -> Vec<Turn> {
    let query = TurnQuery {
        limit: 1000,
        ..TurnQuery::default()
    };
    store.turns(None, id, query).await.unwrap().items
}

async fn titles(store: &dyn ConversationStore, title: Option<&str>) -> Vec<String> {
    let query = ListQuery {
        title,
        limit: 1000,
        ..ListQuery::default()
    };
    let page = store.list(None, query).await.unwrap();
    page.items.into_iter().map(|item| item.title).collect()
}

fn kind<T: std::fmt::Debug>(result: Result<T, Error>) -> ErrorKind {
    result.unwrap_err().kind()
}

/// Fails without a hint: whoever is refused is told what to do.
fn hint(error: &Error) -> String {
    error.hint().unwrap_or_else(|| panic!("{error}")).to_owned()
}

fn is_pending(turn: &Turn) -> bool {
    turn.state == TurnState::Pending && turn.ended_at_ms.is_none()
}
