//! Turns end, once.

use super::*;

pub async fn an_answer_and_a_failure_are_kept(store: &dyn ConversationStore) {
    let made = create(store, "").await;
    let answered = ask(store, &made.id, "why", "because [1]").await;
    assert_eq!(answered.state, TurnState::Answered);
    assert_eq!(answered.answer, Some(answer("because [1]")));
    assert!(answered.ended_at_ms.unwrap() >= answered.asked_at_ms);
    let begun = begin(store, &made.id, "how").await.turn;
    let failed = store
        .finish_turn(None, &made.id, &begun.id, failure("timeout"))
        .await
        .unwrap();
    assert_eq!(
        (failed.state, failed.answer.as_ref()),
        (TurnState::Failed, None)
    );
    assert_eq!(failed.question, "how");
    let TurnEnd::Failed(expected) = failure("timeout") else {
        unreachable!()
    };
    assert_eq!(failed.failure, Some(expected));
    assert_eq!(all_turns(store, &made.id).await, [answered, failed]);
}

pub async fn the_first_end_stands(store: &dyn ConversationStore) {
    let made = create(store, "").await;
    let first = ask(store, &made.id, "why", "because").await;
    for end in [TurnEnd::Answered(answer("other")), failure("internal")] {
        let again = store.finish_turn(None, &made.id, &first.id, end).await;
        assert_eq!(again.unwrap(), first);
    }
    assert_eq!(all_turns(store, &made.id).await, [first]);
}

pub async fn the_end_of_what_is_deleted_is_not_found(store: &dyn ConversationStore) {
    let end = || TurnEnd::Answered(answer("late"));
    let (deleted, cleared) = (create(store, "").await, create(store, "").await);
    let first = begin(store, &deleted.id, "why").await.turn;
    let second = begin(store, &cleared.id, "why").await.turn;
    store.delete(None, &deleted.id).await.unwrap();
    store.clear(None, &cleared.id).await.unwrap();
    let refused = store.finish_turn(None, &deleted.id, &first.id, end()).await;
    assert_eq!(kind(refused), ErrorKind::NotFound);
    let refused = store
        .finish_turn(None, &cleared.id, &second.id, end())
        .await;
    assert_eq!(kind(refused), ErrorKind::NotFound);
    assert!(all_turns(store, &cleared.id).await.is_empty());
    let third = begin(store, &cleared.id, "how").await.turn;
    for id in [first.id.as_str(), "", "x", "../etc"] {
        let refused = store.finish_turn(None, &cleared.id, id, end()).await;
        assert_eq!(kind(refused), ErrorKind::NotFound, "{id}");
    }
    assert_eq!(all_turns(store, &cleared.id).await, [third]);
}

pub async fn numbers_go_on(store: &dyn ConversationStore) {
    let made = create(store, "").await;
    for number in 1..=MAXIMUM_TURNS {
        let begun = begin(store, &made.id, "why").await.turn;
        assert_eq!(begun.number, number);
        let end = match number % 2 {
            0 => failure("timeout"),
            _ => TurnEnd::Answered(answer("so")),
        };
        store
            .finish_turn(None, &made.id, &begun.id, end)
            .await
            .unwrap();
    }
    let found = store.get(None, &made.id).await.unwrap();
    assert_eq!(found.turns, MAXIMUM_TURNS);
    assert!(found.updated_at_ms > made.updated_at_ms);
}
