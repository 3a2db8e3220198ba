//! What the server writes to the target of the audit, caught.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Mutex, Once};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Fields of an event by name.
pub type Entry = BTreeMap<String, String>;

static ENTRIES: Mutex<Vec<Entry>> = Mutex::new(Vec::new());

struct Recorder;

struct Fields(Entry);

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }
}

impl Subscriber for Recorder {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "tributary_audit"
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields(Entry::new());
        event.record(&mut fields);
        ENTRIES.lock().unwrap().push(fields.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Catches from now on.
pub fn record() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| tracing::subscriber::set_global_default(Recorder).unwrap());
}

/// What was written about requests of this route so far.
pub fn of_route(route: &str) -> Vec<Entry> {
    let entries = ENTRIES.lock().unwrap();
    let of_route = |entry: &&Entry| {
        entry
            .get("route")
            .is_some_and(|found| found.contains(route))
    };
    entries.iter().filter(of_route).cloned().collect()
}
