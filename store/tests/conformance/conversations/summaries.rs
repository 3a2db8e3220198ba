//! What was said before the last rounds is kept with the conversation.

use tributary_schemas::conversation::ConversationSummary;

use super::*;

fn summary(through: u64, text: &str) -> ConversationSummary {
    ConversationSummary {
        through,
        text: text.to_owned(),
        model: "m".to_owned(),
    }
}

pub async fn a_summary_is_kept_until_one_holds_more(store: &dyn ConversationStore) {
    let id = create(store, "").await.id;
    assert_eq!(store.summary(None, &id).await.unwrap(), None);
    ask(store, &id, "a?", "a.").await;
    ask(store, &id, "b?", "b.").await;
    let changed = store.get(None, &id).await.unwrap();
    let kept = async |new: ConversationSummary| {
        store.set_summary(None, &id, new).await.unwrap();
        store.summary(None, &id).await.unwrap().unwrap()
    };
    assert_eq!(kept(summary(1, "一")).await, summary(1, "一"));
    assert_eq!(kept(summary(2, "two")).await, summary(2, "two"));
    assert_eq!(kept(summary(2, "late")).await, summary(2, "two"));
    assert_eq!(kept(summary(1, "older")).await, summary(2, "two"));
    assert_eq!(store.get(None, &id).await.unwrap(), changed);
}

pub async fn a_summary_goes_with_its_turns(store: &dyn ConversationStore) {
    let id = create(store, "").await.id;
    ask(store, &id, "a?", "a.").await;
    store.set_summary(None, &id, summary(1, "a")).await.unwrap();
    store.clear(None, &id).await.unwrap();
    assert_eq!(store.summary(None, &id).await.unwrap(), None);
    ask(store, &id, "b?", "b.").await;
    store.set_summary(None, &id, summary(1, "b")).await.unwrap();
    store.delete(None, &id).await.unwrap();
    assert_eq!(kind(store.summary(None, &id).await), ErrorKind::NotFound);
}

pub async fn summaries_are_checked_and_bound_to_their_owner(store: &dyn ConversationStore) {
    let id = store.create(Some("anna"), "").await.unwrap().id;
    let set = async |owner, new| store.set_summary(owner, &id, new).await;
    let too_far = set(Some("anna"), summary(1, "a")).await;
    assert_eq!(kind(too_far), ErrorKind::Invalid);
    let too_long = set(Some("anna"), summary(0, &"长".repeat(4001))).await;
    assert_eq!(kind(too_long), ErrorKind::Invalid);
    for owner in [None, Some("bob")] {
        let set = set(owner, summary(0, "mine")).await;
        assert_eq!(kind(set), ErrorKind::NotFound);
        assert_eq!(kind(store.summary(owner, &id).await), ErrorKind::NotFound);
    }
}
