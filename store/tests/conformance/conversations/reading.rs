//! Lists and pages.

use tributary_schemas::ask::Round;

use super::*;

pub async fn lists_begin_with_the_newest_change(store: &dyn ConversationStore) {
    let first = create(store, "first").await;
    let second = create(store, "second").await;
    create(store, "third").await;
    assert_eq!(titles(store, None).await, ["third", "second", "first"]);
    begin(store, &first.id, "a question").await;
    assert_eq!(titles(store, None).await, ["first", "third", "second"]);
    store.rename(None, &second.id, "renamed").await.unwrap();
    assert_eq!(titles(store, None).await, ["renamed", "first", "third"]);
}

pub async fn lists_come_in_pages(store: &dyn ConversationStore) {
    for number in 0..7 {
        create(store, &number.to_string()).await;
    }
    let (mut found, mut after, mut pages) = (Vec::new(), None::<String>, 0);
    loop {
        let query = ListQuery {
            after: after.as_deref(),
            limit: 3,
            title: None,
        };
        let page = store.list(None, query).await.unwrap();
        assert!(page.items.len() <= 3);
        found.extend(page.items.into_iter().map(|item| item.title));
        pages += 1;
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!((found.join(""), pages), ("6543210".to_owned(), 3));
}

pub async fn titles_are_searched_in_any_case(store: &dyn ConversationStore) {
    for title in ["Scheduler of Linux", "调度器 SCHEDULER", "ÉCOLE", "other"] {
        create(store, title).await;
    }
    let found = titles(store, Some("scheduler")).await;
    assert_eq!(found, ["调度器 SCHEDULER", "Scheduler of Linux"]);
    assert_eq!(titles(store, Some("école")).await, ["ÉCOLE"]);
    assert_eq!(titles(store, Some("度")).await, ["调度器 SCHEDULER"]);
    assert!(titles(store, Some("nowhere")).await.is_empty());
}

pub async fn turns_come_in_pages_both_ways(store: &dyn ConversationStore) {
    let made = create(store, "").await;
    for number in 1..5 {
        ask(store, &made.id, &number.to_string(), "so").await;
    }
    begin(store, &made.id, "5").await;
    for (newest_first, expected) in [(false, "12345"), (true, "54321")] {
        let (mut found, mut after) = (String::new(), None::<String>);
        loop {
            let query = TurnQuery {
                newest_first,
                after: after.as_deref(),
                limit: 2,
            };
            let page = store.turns(None, &made.id, query).await.unwrap();
            assert!(page.items.len() <= 2);
            found.extend(page.items.into_iter().map(|turn| turn.question));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(found, expected);
    }
}

pub async fn rounds_are_the_last_answered_ones(store: &dyn ConversationStore) {
    let made = create(store, "").await;
    ask(store, &made.id, "1", "one").await;
    ask(store, &made.id, "2", "two").await;
    let failed = begin(store, &made.id, "3").await.turn;
    let end = failure("unavailable");
    store
        .finish_turn(None, &made.id, &failed.id, end)
        .await
        .unwrap();
    ask(store, &made.id, "4", "four").await;
    begin(store, &made.id, "5").await;
    let round = |number: u64, question: &str, answer: &str| PastRound {
        number,
        round: Round {
            question: question.into(),
            answer: answer.into(),
        },
    };
    let last = store.last_rounds(None, &made.id, 2).await.unwrap();
    assert_eq!(last, [round(2, "2", "two"), round(4, "4", "four")]);
    let all = store.last_rounds(None, &made.id, 100).await.unwrap();
    assert_eq!(all.len(), 3);
    assert!(
        store
            .last_rounds(None, &made.id, 0)
            .await
            .unwrap()
            .is_empty()
    );
}

pub async fn cursors_that_are_none_are_invalid(store: &dyn ConversationStore) {
    let made = create(store, "").await;
    for after in ["", "x", "1-2", "🦀", "-1"] {
        let after = Some(after);
        let list = ListQuery {
            after,
            limit: 1,
            title: None,
        };
        let error = store.list(None, list).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(hint(&error).contains("next"));
        let turns = TurnQuery {
            after,
            limit: 1,
            newest_first: false,
        };
        let refused = store.turns(None, &made.id, turns).await;
        assert_eq!(kind(refused), ErrorKind::Invalid);
        let refused = store.with_feedback(None, after, 1).await;
        assert_eq!(kind(refused), ErrorKind::Invalid);
    }
}
