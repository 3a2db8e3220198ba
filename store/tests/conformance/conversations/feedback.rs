//! What people say of answers.

use tributary_schemas::conversation::Feedback;

use super::*;

fn said(helpful: bool, reason: &str) -> Feedback {
    Feedback {
        helpful,
        reason: reason.into(),
    }
}

pub async fn feedback_is_kept_replaced_and_removed(store: &dyn ConversationStore) {
    let made = create(store, "").await;
    let turn = ask(store, &made.id, "why", "because").await;
    let (bad, good) = (said(false, "过时\n了"), said(true, ""));
    for feedback in [Some(bad), Some(good), None] {
        let kept = store
            .set_feedback(None, &made.id, &turn.id, feedback.clone())
            .await
            .unwrap();
        assert_eq!(kept.feedback, feedback);
        assert_eq!(all_turns(store, &made.id).await, [kept]);
    }
    let odd = Some(said(true, "a\u{0}\u{202e}b\u{7}\nc"));
    let kept = store.set_feedback(None, &made.id, &turn.id, odd).await;
    assert_eq!(kept.unwrap().feedback, Some(said(true, "ab\nc")));
    let long = Some(said(true, &"x".repeat(2001)));
    let refused = store.set_feedback(None, &made.id, &turn.id, long).await;
    assert_eq!(kind(refused), ErrorKind::Invalid);
    for turn_id in ["", "x", &"0".repeat(32)] {
        let good = Some(said(true, ""));
        let refused = store.set_feedback(None, &made.id, turn_id, good).await;
        assert_eq!(kind(refused), ErrorKind::NotFound);
    }
}

pub async fn feedback_of_a_pending_turn_is_a_conflict(store: &dyn ConversationStore) {
    let made = create(store, "").await;
    let turn = begin(store, &made.id, "why").await.turn;
    let early = Some(said(true, ""));
    let refused = store.set_feedback(None, &made.id, &turn.id, early).await;
    assert_eq!(kind(refused), ErrorKind::Conflict);
}

pub async fn feedback_is_exported_in_pages(store: &dyn ConversationStore) {
    let (first, second) = (create(store, "").await, create(store, "").await);
    let mut expected = Vec::new();
    for number in 1..5 {
        for id in [&first.id, &second.id] {
            let turn = ask(store, id, &number.to_string(), "so").await;
            if number != 2 {
                let feedback = Some(said(number == 1, "why"));
                let kept = store.set_feedback(None, id, &turn.id, feedback).await;
                expected.push(kept.unwrap());
            }
        }
    }
    expected.sort_by(|left, right| left.id.cmp(&right.id));
    let (mut found, mut after) = (Vec::new(), None::<String>);
    loop {
        let page = store
            .with_feedback(None, after.as_deref(), 4)
            .await
            .unwrap();
        found.extend(page.items);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(found, expected);
    let others = store.with_feedback(Some("anna"), None, 10).await.unwrap();
    assert!(others.items.is_empty());
}

pub async fn feedback_goes_with_its_conversation(store: &dyn ConversationStore) {
    let (deleted, cleared) = (create(store, "").await, create(store, "").await);
    for id in [&deleted.id, &cleared.id] {
        let turn = ask(store, id, "why", "because").await;
        let good = Some(said(true, ""));
        store.set_feedback(None, id, &turn.id, good).await.unwrap();
    }
    store.delete(None, &deleted.id).await.unwrap();
    store.clear(None, &cleared.id).await.unwrap();
    let page = store.with_feedback(None, None, 10).await.unwrap();
    assert!(page.items.is_empty() && page.next.is_none());
}
