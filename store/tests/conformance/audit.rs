//! The audit record on any event log.

use std::time::Duration;

use tributary_schemas::ErrorKind;
use tributary_schemas::audit::{AuditEntry, AuditQuery};
use tributary_store::audit::AuditTopic;
use tributary_store::event_log::topics::Topics;

fn call(at_ms: i64, key: &str, document: &str) -> AuditEntry {
    AuditEntry {
        at_ms,
        key: Some(key.to_owned()),
        method: "GET".to_owned(),
        route: "/v1/documents/{id}".to_owned(),
        status: 200,
        trace_id: format!("{at_ms:032x}"),
        documents: vec![document.to_owned()],
        ..AuditEntry::default()
    }
}

fn times(entries: &[AuditEntry]) -> Vec<i64> {
    entries.iter().map(|entry| entry.at_ms).collect()
}

/// What is written is read, filtered, cut at the newest and followed; before there is a topic there
/// is nothing.
pub async fn calls_are_kept_found_and_followed(topics: Topics) {
    let audit = AuditTopic::new(topics);
    let everything = AuditQuery::default();
    assert!(
        audit
            .newest(&everything, 10)
            .await
            .unwrap()
            .entries
            .is_empty()
    );
    let unknown = audit.follow(everything.clone()).await.err().unwrap();
    assert_eq!(unknown.kind(), ErrorKind::NotFound);
    audit.create(Some(Duration::from_secs(3600))).await.unwrap();
    audit.create(None).await.unwrap();
    // Times that no retention minds.
    let now = 4_000_000_000_000;
    // Larger than what travels inline on other topics.
    let long = "长".repeat(10_000);
    let calls: Vec<AuditEntry> = (0..50)
        .map(|number| {
            call(
                now + number,
                if number % 2 == 0 { "even" } else { "奇" },
                &long,
            )
        })
        .collect();
    audit.append(&calls).await.unwrap();
    let page = audit.newest(&everything, 10).await.unwrap();
    assert_eq!(times(&page.entries), Vec::from_iter(now + 40..now + 50));
    assert!(page.has_older);
    assert_eq!(page.entries[9], calls[49]);
    let odd = AuditQuery {
        key: Some("奇".to_owned()),
        since_ms: Some(now + 10),
        until_ms: Some(now + 15),
        ..AuditQuery::default()
    };
    let page = audit.newest(&odd, 10).await.unwrap();
    assert_eq!(times(&page.entries), [now + 11, now + 13]);
    assert!(!page.has_older);
    let mut following = audit
        .follow(AuditQuery {
            until_ms: None,
            ..odd
        })
        .await
        .unwrap();
    let to_come = [call(now + 90, "even", "a"), call(now + 91, "奇", "b")];
    audit.append(&to_come).await.unwrap();
    let mut seen = Vec::new();
    for _ in 0..60 {
        seen.extend(following.next(Duration::from_secs(1)).await.unwrap());
        if !seen.is_empty() {
            break;
        }
    }
    assert_eq!(seen, to_come[1..]);
}
