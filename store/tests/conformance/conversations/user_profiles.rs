//! Profiles of users (画像).

use tributary_schemas::user_profile::UserProfile;

use super::*;

fn profile(tag: &str, weight: f32) -> UserProfile {
    UserProfile {
        tag_weights: [(tag.to_owned(), weight)].into(),
        preferred_language: Some("zh".to_owned()),
        ..UserProfile::default()
    }
}

pub async fn a_profile_is_kept_replaced_and_removed(store: &dyn ConversationStore) {
    let user = "李雷@example.org";
    assert_eq!(
        kind(store.user_profile(None, user).await),
        ErrorKind::NotFound
    );
    for weight in [2.0, 0.5] {
        let new = profile("5G", weight);
        let put = store.put_user_profile(None, user, new.clone()).await;
        let put = put.unwrap();
        assert_eq!((&put.profile, put.user.as_str()), (&new, user));
        assert_eq!(store.user_profile(None, user).await.unwrap(), put);
    }
    store.delete_user_profile(None, user).await.unwrap();
    let gone = store.user_profile(None, user).await.unwrap_err();
    assert_eq!(gone.kind(), ErrorKind::NotFound);
    hint(&gone);
    let again = store.delete_user_profile(None, user).await;
    assert_eq!(kind(again), ErrorKind::NotFound);
    store
        .put_user_profile(None, user, profile("5G", 3.0))
        .await
        .unwrap();
}

pub async fn profiles_are_those_of_their_owner(store: &dyn ConversationStore) {
    let owners = [None, Some("anna"), Some("bob")];
    for (weight, owner) in [1.0, 2.0, 3.0].into_iter().zip(owners) {
        let new = profile("t", weight);
        store.put_user_profile(owner, "u", new).await.unwrap();
    }
    store.delete_user_profile(Some("bob"), "u").await.unwrap();
    for (weight, owner) in [1.0, 2.0].into_iter().zip(owners) {
        let kept = store.user_profile(owner, "u").await.unwrap();
        assert_eq!(kept.profile, profile("t", weight));
        let page = store.user_profiles(owner, None, 10).await.unwrap();
        assert_eq!((page.items, page.next), (vec![kept], None));
    }
    let of_bob = store.user_profiles(Some("bob"), None, 10).await.unwrap();
    assert_eq!(of_bob.items, []);
}

pub async fn profiles_come_in_pages(store: &dyn ConversationStore) {
    for user in ["c", "a", "b", "d", "e"] {
        let new = profile("t", 1.0);
        store.put_user_profile(None, user, new).await.unwrap();
    }
    let (mut after, mut users) = (None, Vec::new());
    loop {
        let page = store
            .user_profiles(None, after.as_deref(), 2)
            .await
            .unwrap();
        assert!(page.items.len() <= 2);
        users.extend(page.items.into_iter().map(|stored| stored.user));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(users, ["a", "b", "c", "d", "e"]);
}

pub async fn names_and_profiles_are_checked(store: &dyn ConversationStore) {
    for user in ["", " ", "a/b", "..", &"u".repeat(101)] {
        let put = store.put_user_profile(None, user, profile("t", 1.0)).await;
        assert_eq!(kind(put), ErrorKind::Invalid, "{user}");
        let got = store.user_profile(None, user).await;
        assert_eq!(kind(got), ErrorKind::NotFound, "{user}");
    }
    let put = store.put_user_profile(None, "u", profile("t", 0.0)).await;
    assert_eq!(kind(put), ErrorKind::Invalid);
    let listed = store.user_profiles(None, Some("a/b"), 1).await;
    assert_eq!(kind(listed), ErrorKind::Invalid);
}
