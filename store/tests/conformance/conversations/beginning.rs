//! Questions are recorded before they are answered.

use super::*;

pub async fn a_question_is_kept_before_it_is_answered(store: &dyn ConversationStore) {
    let made = create(store, "").await;
    let begun = begin(store, &made.id, "what is a tick?").await;
    assert!(begun.is_new && is_pending(&begun.turn));
    let turn = &begun.turn;
    assert_eq!((turn.number, turn.conversation_id.as_str()), (1, &*made.id));
    assert_eq!(
        (turn.question.as_str(), turn.id.len()),
        ("what is a tick?", 32)
    );
    assert_eq!(all_turns(store, &made.id).await, [begun.turn]);
    assert_eq!(store.get(None, &made.id).await.unwrap().turns, 1);
}

pub async fn one_turn_is_pending_at_a_time(store: &dyn ConversationStore) {
    let (made, other) = (create(store, "").await, create(store, "").await);
    let begun = begin(store, &made.id, "first").await;
    let error = try_begin(store, &made.id, "second", None)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.to_string().contains("turn 1"), "{error}");
    assert!(hint(&error).contains("wait"));
    begin(store, &other.id, "elsewhere").await;
    let end = failure("timeout");
    store
        .finish_turn(None, &made.id, &begun.turn.id, end)
        .await
        .unwrap();
    assert_eq!(begin(store, &made.id, "second").await.turn.number, 2);
}

pub async fn of_two_at_once_one_begins(store: &dyn ConversationStore) {
    let made = create(store, "").await;
    let begins = ["a", "b", "c", "d"].map(|question| try_begin(store, &made.id, question, None));
    let results = futures::future::join_all(begins).await;
    let (begun, refused): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
    assert_eq!((begun.len(), refused.len()), (1, 3));
    for error in refused {
        assert_eq!(kind(error), ErrorKind::Conflict);
    }
    assert_eq!(all_turns(store, &made.id).await.len(), 1);
}

pub async fn a_key_gives_back_its_turn(store: &dyn ConversationStore) {
    let made = create(store, "").await;
    let first = try_begin(store, &made.id, "why", Some("key 钥"))
        .await
        .unwrap();
    let again = try_begin(store, &made.id, "why", Some("key 钥"))
        .await
        .unwrap();
    assert!(first.is_new && !again.is_new);
    assert_eq!(again.turn, first.turn);
    let end = TurnEnd::Answered(answer("because"));
    let ended = store
        .finish_turn(None, &made.id, &first.turn.id, end)
        .await
        .unwrap();
    ask(store, &made.id, "another", "so").await;
    let again = try_begin(store, &made.id, "why", Some("key 钥"))
        .await
        .unwrap();
    assert_eq!((again.is_new, again.turn), (false, ended));
    let error = try_begin(store, &made.id, "how", Some("key 钥"))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(hint(&error).contains("key"));
    let other = create(store, "").await;
    let elsewhere = try_begin(store, &other.id, "how", Some("key 钥"))
        .await
        .unwrap();
    assert!(elsewhere.is_new);
    store.clear(None, &made.id).await.unwrap();
    let anew = try_begin(store, &made.id, "how", Some("key 钥"))
        .await
        .unwrap();
    assert!(anew.is_new);
}

pub async fn a_key_stands_for_one_request(store: &dyn ConversationStore) {
    let made = create(store, "").await;
    let asked = |fingerprint| NewTurn {
        question: "why",
        idempotency_key: Some("k"),
        fingerprint,
    };
    let begin = |fingerprint| store.begin_turn(None, &made.id, asked(fingerprint));
    let first = begin(Some("a")).await.unwrap();
    let again = begin(Some("a")).await.unwrap();
    assert_eq!((again.is_new, &again.turn), (false, &first.turn));
    let while_pending = begin(Some("b")).await.unwrap_err();
    let end = TurnEnd::Answered(answer("because"));
    let ended = store.finish_turn(None, &made.id, &first.turn.id, end);
    ended.await.unwrap();
    let afterwards = begin(Some("b")).await.unwrap_err();
    for error in [while_pending, afterwards] {
        assert_eq!(error.kind(), ErrorKind::Conflict);
        assert!(error.to_string().contains("other sets"), "{error}");
        assert!(hint(&error).contains("key of its own"));
    }
    assert!(!begin(Some("a")).await.unwrap().is_new);
    let long = "f".repeat(256);
    assert_eq!(kind(begin(Some(&long)).await), ErrorKind::Invalid);
}

pub async fn a_key_whose_turn_failed_begins_another(store: &dyn ConversationStore) {
    let made = create(store, "").await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        let begun = try_begin(store, &made.id, "why", Some("k")).await.unwrap();
        assert!(begun.is_new);
        let (id, end) = (&begun.turn.id, failure("unavailable"));
        store.finish_turn(None, &made.id, id, end).await.unwrap();
        ids.push(begun.turn.id);
    }
    let begun = try_begin(store, &made.id, "why", Some("k")).await.unwrap();
    assert!(begun.is_new && !ids.contains(&begun.turn.id));
    let end = TurnEnd::Answered(answer("because"));
    let answered = store.finish_turn(None, &made.id, &begun.turn.id, end);
    let answered = answered.await.unwrap();
    let again = try_begin(store, &made.id, "why", Some("k")).await.unwrap();
    assert_eq!((again.is_new, again.turn), (false, answered));
    let states: Vec<TurnState> = all_turns(store, &made.id)
        .await
        .iter()
        .map(|turn| turn.state)
        .collect();
    let failed = TurnState::Failed;
    assert_eq!(states, [failed, failed, failed, TurnState::Answered]);
}

pub async fn of_one_key_at_once_one_is_new(store: &dyn ConversationStore) {
    let made = create(store, "").await;
    let begins = [0; 4].map(|_| try_begin(store, &made.id, "why", Some("k")));
    let begun = futures::future::join_all(begins).await;
    let begun: Vec<BegunTurn> = begun.into_iter().map(Result::unwrap).collect();
    assert_eq!(begun.iter().filter(|begun| begun.is_new).count(), 1);
    assert!(begun.iter().all(|other| other.turn.id == begun[0].turn.id));
}

pub async fn the_most_turns_are_refused(store: &dyn ConversationStore) {
    let made = create(store, "").await;
    for number in 1..=MAXIMUM_TURNS {
        let key = number.to_string();
        let begun = try_begin(store, &made.id, &key, Some(&key)).await.unwrap();
        let end = TurnEnd::Answered(answer("so"));
        store
            .finish_turn(None, &made.id, &begun.turn.id, end)
            .await
            .unwrap();
    }
    let error = try_begin(store, &made.id, "one more", None)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Exhausted);
    assert!(hint(&error).contains("maximum_turns"));
    assert_eq!(all_turns(store, &made.id).await.len() as u64, MAXIMUM_TURNS);
    let again = try_begin(store, &made.id, "2", Some("2")).await.unwrap();
    assert!(!again.is_new, "what is there is given all the same");
    store.clear(None, &made.id).await.unwrap();
    begin(store, &made.id, "one more").await;
}

pub async fn questions_and_keys_are_checked(store: &dyn ConversationStore) {
    let made = create(store, "").await;
    let long = "k".repeat(256);
    for (question, key) in [
        ("", None),
        (" \n", None),
        ("a", Some("")),
        ("a", Some(&*long)),
    ] {
        let refused = try_begin(store, &made.id, question, key).await;
        assert_eq!(kind(refused), ErrorKind::Invalid);
    }
    assert!(all_turns(store, &made.id).await.is_empty());
}

pub async fn the_first_question_is_the_title(store: &dyn ConversationStore) {
    let (untitled, titled) = (create(store, "").await, create(store, "given").await);
    let question = format!(" What\nis\u{0} a tick? {}", "长".repeat(100));
    ask(store, &untitled.id, &question, "so").await;
    ask(store, &untitled.id, "second", "so").await;
    ask(store, &titled.id, &question, "so").await;
    let title = store.get(None, &untitled.id).await.unwrap().title;
    assert!(title.starts_with("What is a tick? 长"), "{title}");
    assert!(
        title.ends_with('…') && title.chars().count() <= 61,
        "{title}"
    );
    let title = store.get(None, &titled.id).await.unwrap().title;
    assert_eq!(title, "given");
    assert_eq!(titles(store, Some("a tick")).await.len(), 1);
}
