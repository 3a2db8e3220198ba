//! When the rules of knowledge sets were changed last: documents that were tagged before follow the
//! rules of then.

use serde::Deserialize;
use serde_json::Value;
use tributary_schemas::{Error, ErrorKind, Result, Topic};
use tributary_store::event_log::topics::Topics;

/// What of a knowledge set decides about documents.
#[derive(Debug, PartialEq, Deserialize)]
struct Deciding {
    id: String,
    #[serde(default)]
    rules: Vec<Value>,
}

/// Milliseconds since 1970; none where none were ever applied.
pub async fn changed_at_ms(topics: &Topics) -> Result<Option<i64>> {
    let mut changes: Vec<(Vec<Deciding>, i64)> = Vec::new();
    for stored in topics.read_all(Topic::KnowledgeSets).await? {
        let record = topics.redeem(stored.record).await?;
        let Some(value) = &record.value else { continue };
        changes.push((deciding(value)?, record.timestamp_ms));
    }
    Ok(last_change(&changes))
}

fn deciding(value: &[u8]) -> Result<Vec<Deciding>> {
    serde_json::from_slice(value).map_err(|error| {
        let message = format!("the knowledge sets kept in the log cannot be read: {error}");
        Error::new(ErrorKind::Corrupt, message)
    })
}

/// Of what was applied one after the other: what was applied again, or with other names and other
/// settings of the chunker alone, is no change.
fn last_change(applied: &[(Vec<Deciding>, i64)]) -> Option<i64> {
    let mut last: Option<&(Vec<Deciding>, i64)> = None;
    for one in applied {
        if last.is_none_or(|last| last.0 != one.0) {
            last = Some(one);
        }
    }
    last.map(|(_, at_ms)| *at_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sets(text: &str) -> Vec<Deciding> {
        deciding(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn names_and_what_is_applied_again_change_no_rule() {
        let first = r#"[{"id": "a", "name": "A", "rules": [{"source": "wiki"}]}]"#;
        let renamed = r#"[{"id": "a", "name": "B", "rules": [{"source": "wiki"}]}]"#;
        let changed = r#"[{"id": "a", "name": "B", "rules": [{"source": "hb"}]}]"#;
        assert_eq!(last_change(&[]), None);
        let same = [(sets(first), 1), (sets(renamed), 2), (sets(first), 3)];
        assert_eq!(last_change(&same), Some(1));
        let other = [(sets(first), 1), (sets(changed), 2), (sets(changed), 3)];
        assert_eq!(last_change(&other), Some(2));
    }
}
