//! Conversations are kept, named, cleared and deleted.

use super::*;

pub async fn a_conversation_is_as_it_was_created(store: &dyn ConversationStore) {
    let made = create(store, " 调度器 ").await;
    assert_eq!((made.title.as_str(), made.turns), ("调度器", 0));
    assert_eq!(made.id.len(), 32);
    assert_eq!(made.created_at_ms, made.updated_at_ms);
    assert_eq!(store.get(None, &made.id).await.unwrap(), made);
    assert_ne!(create(store, "调度器").await.id, made.id);
}

pub async fn a_title_can_be_changed(store: &dyn ConversationStore) {
    let made = create(store, "before").await;
    let renamed = store.rename(None, &made.id, " after ").await.unwrap();
    assert_eq!(renamed.title, "after");
    assert!(renamed.updated_at_ms > made.updated_at_ms);
    assert_eq!(store.get(None, &made.id).await.unwrap(), renamed);
    assert_eq!(titles(store, Some("after")).await, ["after"]);
    assert!(titles(store, Some("before")).await.is_empty());
}

pub async fn titles_are_limited(store: &dyn ConversationStore) {
    let made = create(store, &"长".repeat(200)).await;
    for title in ["长".repeat(201), "x".repeat(100_000)] {
        assert_eq!(kind(store.create(None, &title).await), ErrorKind::Invalid);
        let renamed = store.rename(None, &made.id, &title).await;
        assert_eq!(kind(renamed), ErrorKind::Invalid);
    }
    let empty = store.rename(None, &made.id, " \n").await;
    assert_eq!(kind(empty), ErrorKind::Invalid);
    assert_eq!(store.get(None, &made.id).await.unwrap(), made);
}

pub async fn odd_characters_survive(store: &dyn ConversationStore) {
    let odd = "a\u{0}b \u{202e}\u{feff}😀 '; DROP TABLE turns; -- \" \\ % _ * ?\u{7f}z";
    let made = create(store, odd).await;
    // One line, without what nobody sees or what turns the text around.
    let plain = "ab \u{feff}😀 '; DROP TABLE turns; -- \" \\ % _ * ? z";
    assert_eq!(store.get(None, &made.id).await.unwrap().title, plain);
    let turn = ask(store, &made.id, odd, odd).await;
    let [kept] = all_turns(store, &made.id).await.try_into().unwrap();
    assert_eq!(kept, turn);
    assert_eq!(kept.question, odd);
    assert_eq!(kept.answer.unwrap().answer, odd);
    for part in ["%", "*", "?", "\\", "aB", "😀"] {
        assert_eq!(titles(store, Some(part)).await, [plain], "{part}");
    }
    assert!(titles(store, Some("%%")).await.is_empty());
}

pub async fn deleted_is_gone_for_good(store: &dyn ConversationStore) {
    let (kept, made) = (create(store, "kept").await, create(store, "gone").await);
    ask(store, &made.id, "why", "because").await;
    begin(store, &made.id, "pending").await;
    ask(store, &kept.id, "why", "because").await;
    store.delete(None, &made.id).await.unwrap();
    let id = &made.id;
    let all = TurnQuery {
        limit: 10,
        ..TurnQuery::default()
    };
    assert_eq!(kind(store.get(None, id).await), ErrorKind::NotFound);
    assert_eq!(kind(store.turns(None, id, all).await), ErrorKind::NotFound);
    assert_eq!(kind(store.delete(None, id).await), ErrorKind::NotFound);
    assert_eq!(kind(store.clear(None, id).await), ErrorKind::NotFound);
    assert_eq!(kind(store.rename(None, id, "x").await), ErrorKind::NotFound);
    let begun = try_begin(store, id, "again", None).await;
    assert_eq!(kind(begun), ErrorKind::NotFound);
    assert_eq!(titles(store, None).await, ["kept"]);
    assert_eq!(all_turns(store, &kept.id).await.len(), 1);
}

pub async fn cleared_keeps_the_conversation_alone(store: &dyn ConversationStore) {
    let made = create(store, "").await;
    ask(store, &made.id, "first question", "because").await;
    begin(store, &made.id, "pending").await;
    let cleared = store.clear(None, &made.id).await.unwrap();
    assert_eq!(
        (cleared.title.as_str(), cleared.turns),
        ("first question", 0)
    );
    assert!(all_turns(store, &made.id).await.is_empty());
    assert!(
        store
            .last_rounds(None, &made.id, 3)
            .await
            .unwrap()
            .is_empty()
    );
    let turn = ask(store, &made.id, "second question", "so").await;
    assert_eq!(turn.number, 1);
    assert_eq!(all_turns(store, &made.id).await, [turn]);
    let now = store.get(None, &made.id).await.unwrap();
    assert_eq!((now.title.as_str(), now.turns), ("first question", 1));
}

pub async fn old_conversations_are_swept(store: &dyn ConversationStore) {
    let (old, kept) = (create(store, "old").await, create(store, "kept").await);
    store.create(Some("a"), "of somebody").await.unwrap();
    ask(store, &old.id, "why", "because").await;
    let since = store.get(None, &old.id).await.unwrap().updated_at_ms + 1;
    store.rename(None, &kept.id, "kept still").await.unwrap();
    assert_eq!(store.sweep(None).await.unwrap(), 0);
    assert_eq!(store.sweep(Some(since)).await.unwrap(), 2);
    assert_eq!(titles(store, None).await, ["kept still"]);
    assert_eq!(kind(store.get(None, &old.id).await), ErrorKind::NotFound);
    assert_eq!(store.sweep(Some(since)).await.unwrap(), 0);
}
