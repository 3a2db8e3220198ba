//! A conversation is its owner's alone.

use super::*;

async fn nothing_is_found(
    store: &dyn ConversationStore,
    owner: Option<&str>,
    id: &str,
    turn_id: &str,
) {
    let all = TurnQuery {
        limit: 10,
        ..TurnQuery::default()
    };
    let turn = NewTurn {
        question: "mine?",
        idempotency_key: None,
        fingerprint: None,
    };
    let end = TurnEnd::Answered(answer("stolen"));
    let mut errors = vec![
        store.get(owner, id).await.unwrap_err(),
        store.rename(owner, id, "mine").await.unwrap_err(),
        store.delete(owner, id).await.unwrap_err(),
        store.clear(owner, id).await.unwrap_err(),
        store.begin_turn(owner, id, turn).await.unwrap_err(),
        store.turns(owner, id, all).await.unwrap_err(),
        store.last_rounds(owner, id, 3).await.unwrap_err(),
    ];
    errors.push(
        store
            .finish_turn(owner, id, turn_id, end)
            .await
            .unwrap_err(),
    );
    errors.push(
        store
            .set_feedback(owner, id, turn_id, None)
            .await
            .unwrap_err(),
    );
    for error in &errors {
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
        assert_eq!(error, &errors[0], "all say the same");
    }
}

pub async fn others_do_not_find_it(store: &dyn ConversationStore) {
    let anna = Some("anna");
    let hers = store.create(anna, "hers").await.unwrap();
    assert_eq!(hers.owner.as_deref(), anna);
    let everybodys = create(store, "everybody's").await;
    let turn = NewTurn {
        question: "why",
        idempotency_key: Some("k"),
        fingerprint: None,
    };
    let begun = store.begin_turn(anna, &hers.id, turn).await.unwrap().turn;
    nothing_is_found(store, Some("ben"), &hers.id, &begun.id).await;
    nothing_is_found(store, None, &hers.id, &begun.id).await;
    nothing_is_found(store, Some(""), &hers.id, &begun.id).await;
    nothing_is_found(store, anna, &everybodys.id, &begun.id).await;
    let all = ListQuery {
        limit: 10,
        ..ListQuery::default()
    };
    for (owner, expected) in [
        (anna, vec!["hers"]),
        (Some("ben"), vec![]),
        (None, vec!["everybody's"]),
    ] {
        let listed = store.list(owner, all).await.unwrap().items;
        let listed: Vec<&str> = listed.iter().map(|item| item.title.as_str()).collect();
        assert_eq!(listed, expected);
    }
    let end = TurnEnd::Answered(answer("because"));
    store
        .finish_turn(anna, &hers.id, &begun.id, end)
        .await
        .unwrap();
}

pub async fn ids_that_are_none_are_not_found(store: &dyn ConversationStore) {
    let made = create(store, "").await;
    let upper = made.id.to_uppercase();
    let no_ids = [
        "",
        "x",
        "../../_all",
        "a b",
        "\u{0}",
        "*",
        "_search",
        "🦀",
        &upper,
    ];
    for id in no_ids {
        if id != made.id {
            nothing_is_found(store, None, id, "x").await;
        }
    }
    nothing_is_found(store, None, &"0".repeat(32), &"0".repeat(32)).await;
    nothing_is_found(store, None, &"x".repeat(100_000), "x").await;
}
