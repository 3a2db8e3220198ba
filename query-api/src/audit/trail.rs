//! What an answer is about, noted where it is made: shape of the question and of the filter, ids of
//! documents, the code of a failure. It travels with the request's task as the trace id does; who
//! answers in a task of its own takes it along.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use serde_json::Value;
use tributary_schemas::Filter;
use tributary_schemas::audit::AuditEntry;

use crate::http::withholding::documents_of;

/// Bytes of ids that a call keeps, so that its record stays far below the limit of the log.
const MAXIMUM_ID_BYTES: usize = 64 << 10;

tokio::task_local! {
    static TRAIL: Trail;
}

/// What is noted of one call; of nothing where calls are not recorded.
#[derive(Clone, Default)]
pub struct Trail(Option<Arc<Mutex<Noted>>>);

#[derive(Default)]
struct Noted {
    limit: usize,
    id_bytes: usize,
    documents: Vec<String>,
    left_out: u64,
    question_characters: Option<u64>,
    filter: BTreeMap<String, u64>,
    code: Option<String>,
}

/// That of the request that is being worked on.
pub fn current() -> Trail {
    TRAIL.try_with(Clone::clone).ok().unwrap_or_default()
}

/// Does the work under this trail.
pub async fn within<T>(trail: Trail, work: impl Future<Output = T>) -> T {
    TRAIL.scope(trail, work).await
}

/// The call asks this: how long it is and what it is narrowed to are kept, the words are not.
pub fn asks(question: &str, filter: &Filter) {
    current().note(|noted| {
        noted.question_characters = Some(question.chars().count() as u64);
        noted.filter = shape(filter);
    });
}

/// The call is answered with this: every document that it names is kept.
pub fn answers_with(answer: &impl Serialize) {
    current().answers_with(answer);
}

/// The call failed with a problem of this code.
pub fn fails_with(code: &str) {
    current().fails_with(code);
}

impl Trail {
    /// Keeps so many ids of documents.
    pub(super) fn keeping(limit: usize) -> Self {
        Self(Some(Arc::new(Mutex::new(Noted {
            limit,
            ..Noted::default()
        }))))
    }

    /// Whether anything is noted.
    pub fn is_kept(&self) -> bool {
        self.0.is_some()
    }

    /// See [`answers_with`].
    pub fn answers_with(&self, answer: &impl Serialize) {
        if self.is_kept() {
            self.documents(documents_of(answer));
        }
    }

    /// A document is given out or changed.
    pub fn document(&self, id: &str) {
        if self.is_kept() {
            self.documents([id.to_owned()]);
        }
    }

    /// See [`fails_with`].
    pub fn fails_with(&self, code: &str) {
        self.note(|noted| noted.code = Some(code.to_owned()));
    }

    /// Writes what was noted into the record of the call.
    pub(super) fn tell(&self, entry: &mut AuditEntry) {
        self.note(|noted| {
            entry.documents = std::mem::take(&mut noted.documents);
            entry.documents_left_out = noted.left_out;
            entry.question_characters = noted.question_characters;
            entry.filter = std::mem::take(&mut noted.filter);
            entry.code = noted.code.take();
        });
    }

    fn documents(&self, ids: impl IntoIterator<Item = String>) {
        self.note(|noted| ids.into_iter().for_each(|id| noted.add(id)));
    }

    fn note(&self, note: impl FnOnce(&mut Noted)) {
        if let Some(noted) = &self.0 {
            note(&mut noted.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }
}

impl Noted {
    fn add(&mut self, id: String) {
        if self.documents.contains(&id) {
            return;
        }
        let is_full = self.documents.len() >= self.limit;
        if is_full || self.id_bytes + id.len() > MAXIMUM_ID_BYTES {
            self.left_out += 1;
            return;
        }
        self.id_bytes += id.len();
        self.documents.push(id);
    }
}

/// The conditions of a filter by name, each with how many values it has.
fn shape(filter: &Filter) -> BTreeMap<String, u64> {
    let Ok(Value::Object(conditions)) = serde_json::to_value(filter) else {
        return BTreeMap::new();
    };
    let count = |value: &Value| match value {
        Value::Array(values) => values.len() as u64,
        Value::Object(values) => values.len() as u64,
        _ => 1,
    };
    conditions
        .iter()
        .map(|(name, value)| (name.clone(), count(value)))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn documents_are_kept_once_and_counted_beyond_the_limit() {
        let trail = Trail::keeping(2);
        trail.answers_with(&json!({"hits": [{"document_id": "a"}, {"document_id": "a"}]}));
        trail.document("b");
        trail.document("c");
        trail.document("a");
        let mut entry = AuditEntry::default();
        trail.tell(&mut entry);
        assert_eq!(
            (entry.documents, entry.documents_left_out),
            (vec!["a".to_owned(), "b".to_owned()], 1)
        );
        let long = Trail::keeping(2);
        long.document(&"长".repeat(MAXIMUM_ID_BYTES));
        let mut entry = AuditEntry::default();
        long.tell(&mut entry);
        assert_eq!((entry.documents.len(), entry.documents_left_out), (0, 1));
    }

    #[test]
    fn a_filter_leaves_its_shape_and_none_of_its_values() {
        let filter = Filter {
            tags: Some(vec!["秘密".to_owned(), "b".to_owned()]),
            attributes: Some([("secret".to_owned(), vec!["x".to_owned()])].into()),
            updated_from_ms: Some(7),
            ..Filter::default()
        };
        let expected = [("tags", 2), ("attributes", 1), ("updated_from_ms", 1)];
        let expected = expected.map(|(name, count)| (name.to_owned(), count));
        assert_eq!(shape(&filter), BTreeMap::from(expected));
        assert!(shape(&Filter::default()).is_empty());
    }
}
