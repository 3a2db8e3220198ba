//! Lists of documents: filtered, sorted, and in pages. A page looks at all rows and keeps the best
//! of them, so it takes no memory beside the page itself; the next one goes on after the place of
//! the last document, whatever was published or deleted in between.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use tributary_schemas::{DocumentSort, Error, ErrorKind, State, Viewer};

use super::rows::{Counts, Glance, ROWS_AT_ONCE, Rows};
use super::table::DocumentRow;

/// Most documents whose labels are asked for at once.
pub(super) const UNKNOWN_AT_ONCE: usize = 1000;

/// Which documents a list shows: those that meet all conditions. Texts are found in capitals and in
/// small letters.
#[derive(Clone, Debug, Default)]
pub struct ListFilter {
    /// The last attempt came to this state.
    pub state: Option<State>,
    /// Whether a version can be found, whatever became of the newest one.
    pub searchable: Option<bool>,
    /// Whether something was done in a lesser way than configured, such as a summary.
    pub degraded: Option<bool>,
    /// From this source.
    pub source: Option<String>,
    /// What can be found is in this knowledge set; of what cannot, what its rules say of it.
    pub knowledge_set: Option<String>,
    /// Sources of which every document is in that set.
    pub sources_of_set: SourceRule,
    /// What can be found has this tag.
    pub tag: Option<String>,
    /// The title has this text in it.
    pub title: Option<String>,
    /// The path has this text in it.
    pub path: Option<String>,
    /// The path begins with this text, exactly.
    pub path_prefix: Option<String>,
    /// The title, `source/path` or the id has this text in it.
    pub text: Option<String>,
    /// The newest report is of this time or later, milliseconds since 1970.
    pub changed_from_ms: Option<i64>,
    /// The newest report is older than this, milliseconds since 1970.
    pub changed_before_ms: Option<i64>,
    /// Only what this viewer may see; everything for `None`.
    pub viewer: Option<Viewer>,
}

/// Whether something holds of a source, by its name; of none by default.
#[derive(Clone)]
pub struct SourceRule(Arc<dyn Fn(&str) -> bool + Send + Sync>);

impl SourceRule {
    /// What holds.
    pub fn new(holds: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(holds))
    }

    fn holds(&self, source: &str) -> bool {
        (self.0)(source)
    }
}

impl Default for SourceRule {
    fn default() -> Self {
        Self::new(|_| false)
    }
}

impl fmt::Debug for SourceRule {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str("SourceRule")
    }
}

/// What a list is to show.
#[derive(Clone, Debug, Default)]
pub struct ListQuery {
    /// Which documents.
    pub filter: ListFilter,
    /// In which order.
    pub order: Order,
    /// Those after this place only; it must be of the same order.
    pub after: Option<Place>,
    /// Documents on the page.
    pub limit: usize,
}

/// The order of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// What it is sorted by.
    pub sort: DocumentSort,
    /// The last first.
    pub descending: bool,
}

/// One page of a list.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// The documents, in the order asked for.
    pub rows: Vec<DocumentRow>,
    /// Where the next page goes on; none at the end.
    pub next: Option<Place>,
    /// All documents that meet the filter, on whichever page.
    pub counts: Counts,
}

/// The place of a document in an order. It stays where it is when the document goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    #[serde(flatten)]
    order: Order,
    key: Key,
}

/// What is compared, first things first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Key {
    number: i64,
    first: Box<str>,
    second: Box<str>,
    document_id: Box<str>,
}

/// The same, borrowed of a row.
#[derive(Clone, Copy)]
struct KeyOf<'a> {
    number: i64,
    first: &'a str,
    second: &'a str,
    document_id: &'a str,
}

impl Place {
    /// The order that it is a place in.
    pub fn order(&self) -> Order {
        self.order
    }
}

impl Display for Place {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let json = serde_json::to_vec(self).map_err(|_| fmt::Error)?;
        formatter.write_str(&URL_SAFE_NO_PAD.encode(json))
    }
}

impl FromStr for Place {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let json = URL_SAFE_NO_PAD.decode(text).ok();
        json.and_then(|json| serde_json::from_slice(&json).ok())
            .ok_or_else(|| {
                Error::new(
                    ErrorKind::Invalid,
                    format!("`after={text:.100}` is no place in a list of documents"),
                )
                .with_hint("give `next` of the page before, unchanged")
            })
    }
}

impl Order {
    fn key<'a>(self, glance: &Glance<'a>) -> KeyOf<'a> {
        let (number, first, second) = match self.sort {
            DocumentSort::Id => (0, "", ""),
            DocumentSort::Source => (0, glance.source, glance.source_path),
            DocumentSort::Path => (0, glance.source_path, glance.source),
            DocumentSort::Title => (0, glance.title, glance.source_path),
            DocumentSort::Time => (glance.at_ms, "", ""),
            DocumentSort::State => (glance.state as i64, glance.source, glance.source_path),
        };
        KeyOf {
            number,
            first,
            second,
            document_id: glance.document_id,
        }
    }

    fn compare(self, left: KeyOf<'_>, right: KeyOf<'_>) -> Ordering {
        let rising = (left.number.cmp(&right.number))
            .then_with(|| compare_texts(left.first, right.first))
            .then_with(|| compare_texts(left.second, right.second))
            .then_with(|| left.document_id.cmp(right.document_id));
        if self.descending {
            rising.reverse()
        } else {
            rising
        }
    }
}

/// By letters whatever their case, and by case where that is all that differs.
fn compare_texts(left: &str, right: &str) -> Ordering {
    if left == right {
        return Ordering::Equal;
    }
    lower_case(left)
        .cmp(lower_case(right))
        .then_with(|| left.cmp(right))
}

fn lower_case(text: &str) -> impl Iterator<Item = char> {
    text.chars().flat_map(char::to_lowercase)
}

impl Key {
    fn borrowed(&self) -> KeyOf<'_> {
        KeyOf {
            number: self.number,
            first: &self.first,
            second: &self.second,
            document_id: &self.document_id,
        }
    }
}

impl From<KeyOf<'_>> for Key {
    fn from(key: KeyOf<'_>) -> Self {
        Self {
            number: key.number,
            first: key.first.into(),
            second: key.second.into(),
            document_id: key.document_id.into(),
        }
    }
}

/// A document that may come onto the page; the greatest is the one that is farthest behind.
struct Candidate(Place);

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        let order = self.0.order;
        order.compare(self.0.key.borrowed(), other.0.key.borrowed())
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Candidate {}

/// A filter with its texts in small letters.
struct Conditions<'a> {
    filter: &'a ListFilter,
    title: Option<String>,
    path: Option<String>,
    text: Option<String>,
}

impl<'a> Conditions<'a> {
    fn new(filter: &'a ListFilter) -> Self {
        let small = |text: &Option<String>| text.as_deref().map(str::to_lowercase);
        Self {
            filter,
            title: small(&filter.title),
            path: small(&filter.path),
            text: small(&filter.text),
        }
    }

    /// As the viewer sees it, if at all.
    fn told<'g>(&self, glance: Glance<'g>) -> Option<Glance<'g>> {
        match &self.filter.viewer {
            Some(viewer) => Some(glance.told(glance.standing.told(viewer)?)),
            None => Some(glance),
        }
    }

    /// Those that need no labels.
    fn meets(&self, glance: &Glance<'_>) -> bool {
        let filter = self.filter;
        meets(&filter.state, |state| glance.state == *state)
            && meets(&filter.searchable, |wanted| glance.is_searchable == *wanted)
            && meets(&filter.degraded, |wanted| glance.is_degraded == *wanted)
            && meets(&filter.source, |source| glance.source == source)
            && meets(&filter.changed_from_ms, |from| glance.at_ms >= *from)
            && meets(&filter.changed_before_ms, |before| glance.at_ms < *before)
            && meets(&filter.path_prefix, |prefix| {
                glance.source_path.starts_with(prefix)
            })
            && meets(&self.title, |title| has(glance.title, title))
            && meets(&self.path, |path| has(glance.source_path, path))
            && meets(&self.text, |text| has_anywhere(glance, text))
    }
}

fn meets<T>(condition: &Option<T>, holds: impl FnOnce(&T) -> bool) -> bool {
    condition.as_ref().is_none_or(holds)
}

/// Whether a text has another one in it that is in small letters.
fn has(text: &str, small: &str) -> bool {
    text.to_lowercase().contains(small)
}

fn has_anywhere(glance: &Glance<'_>, small: &str) -> bool {
    has(glance.title, small)
        || has(&format!("{}/{}", glance.source, glance.source_path), small)
        || has(glance.document_id, small)
}

impl ListFilter {
    /// Whether it asks for what rules made of documents.
    pub fn needs_labels(&self) -> bool {
        self.knowledge_set.is_some() || self.tag.is_some()
    }

    /// Whether what can be found of a row has the tag and is in the set; nothing where it is not
    /// known of this generation of the index.
    fn meets_labels(&self, glance: &Glance<'_>, generation: &str) -> Option<bool> {
        if !self.needs_labels() {
            return Some(true);
        }
        if !glance.is_searchable {
            return Some(glance.state != State::Deleted && self.meets_unread(glance));
        }
        let labels = glance
            .labels
            .filter(|labels| labels.generation == generation)?;
        Some(
            meets(&self.tag, |tag| labels.tags.contains(tag))
                && meets(&self.knowledge_set, |set| {
                    labels.knowledge_sets.contains(set)
                }),
        )
    }

    /// The same of what cannot be found, as where it was given up before anything was read of it:
    /// counted so in the status of a set, too.
    fn meets_unread(&self, glance: &Glance<'_>) -> bool {
        let labels = glance.labels;
        meets(&self.tag, |tag| {
            labels.is_some_and(|labels| labels.tags.contains(tag))
        }) && meets(&self.knowledge_set, |set| match labels {
            Some(labels) => labels.knowledge_sets.contains(set),
            None => self.sources_of_set.holds(glance.source),
        })
    }
}

/// One look at all rows.
pub(super) struct Selection<'a> {
    query: &'a ListQuery,
    conditions: Conditions<'a>,
    /// The generation whose labels count.
    generation: &'a str,
    best: BinaryHeap<Candidate>,
    counts: Counts,
    unknown: Vec<String>,
}

/// What a look at all rows gave.
pub(super) enum Selected {
    /// A page.
    Page(Listing),
    /// Some documents whose labels must be known first.
    Unknown(Vec<String>),
}

impl<'a> Selection<'a> {
    pub fn new(query: &'a ListQuery, generation: &'a str) -> Self {
        Self {
            query,
            conditions: Conditions::new(&query.filter),
            generation,
            best: BinaryHeap::new(),
            counts: Counts::default(),
            unknown: Vec::new(),
        }
    }

    /// Looks at all rows; `read` lends them, and they may change between two times.
    pub fn run(mut self, read: impl Fn(&mut dyn FnMut(&Rows))) -> Selected {
        let mut last: Option<Box<str>> = None;
        loop {
            let mut next = None;
            read(&mut |rows| {
                next = rows.glance(last.as_deref(), ROWS_AT_ONCE, |glance| {
                    if let Some(glance) = self.conditions.told(glance) {
                        self.look(&glance);
                    }
                });
            });
            if self.unknown.len() >= UNKNOWN_AT_ONCE || next.is_none() {
                break;
            }
            last = next;
        }
        if !self.unknown.is_empty() {
            return Selected::Unknown(self.unknown);
        }
        Selected::Page(self.page(read))
    }

    fn look(&mut self, glance: &Glance<'_>) {
        if !self.conditions.meets(glance) {
            return;
        }
        match self.query.filter.meets_labels(glance, self.generation) {
            Some(true) => {}
            Some(false) => return,
            None => {
                if self.unknown.len() < UNKNOWN_AT_ONCE {
                    self.unknown.push(glance.document_id.to_owned());
                }
                return;
            }
        }
        self.counts.see(glance);
        self.offer(glance);
    }

    /// Keeps a document if it belongs on the page, or is the first one after it.
    fn offer(&mut self, glance: &Glance<'_>) {
        let order = self.query.order;
        let key = order.key(glance);
        let is_behind =
            |place: &Place| order.compare(key, place.key.borrowed()) == Ordering::Greater;
        if !self.query.after.as_ref().is_none_or(is_behind) {
            return;
        }
        let is_full = self.best.len() > self.query.limit;
        if is_full && self.best.peek().is_some_and(|worst| is_behind(&worst.0)) {
            return;
        }
        self.best.push(Candidate(Place {
            order,
            key: key.into(),
        }));
        if is_full {
            self.best.pop();
        }
    }

    fn page(self, read: impl Fn(&mut dyn FnMut(&Rows))) -> Listing {
        let mut places: Vec<Place> = self
            .best
            .into_sorted_vec()
            .into_iter()
            .map(|candidate| candidate.0)
            .collect();
        let has_more = places.len() > self.query.limit;
        places.truncate(self.query.limit);
        let mut rows = Vec::with_capacity(places.len());
        read(&mut |table| {
            let found = places
                .iter()
                .filter_map(|place| table.get(&place.key.document_id));
            // It may have changed since it was looked at.
            let told = |row: DocumentRow| match &self.query.filter.viewer {
                Some(viewer) => row.told(viewer),
                None => Some(row),
            };
            rows.extend(found.filter_map(told));
        });
        Listing {
            rows,
            next: places.pop().filter(|_| has_more),
            counts: self.counts,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tributary_schemas::{DocumentState, Labels};

    use super::*;
    use crate::manifest::report;
    use crate::manifest::table::DocumentTable;

    fn state(number: u64) -> DocumentState {
        let document = tributary_schemas::DocumentHeader {
            document_id: format!("{:04}", number * 7919 % 10_000),
            version: 1,
            source: ["wiki", "manual"][number as usize % 2].into(),
            source_path: format!("Folder {}/{number}.md", number % 3),
            title: format!(
                "{} {number}",
                ["载波聚合", "antenna", "Tilt"][number as usize % 3]
            ),
            ..Default::default()
        };
        let now = [State::Indexed, State::Dead, State::Embedding][number as usize % 3];
        let labels = Labels {
            generation: "g1".into(),
            tags: vec![format!("t{}", number % 5)],
            knowledge_sets: vec![format!("s{}", number % 2)],
        };
        DocumentState {
            labels: (now == State::Indexed).then_some(labels),
            ..report(&document, now, (number * 31 % 100) as i64)
        }
    }

    fn table(count: u64) -> DocumentTable {
        DocumentTable::with_reports(&(0..count).map(state).collect::<Vec<_>>())
    }

    fn page(table: &DocumentTable, query: &ListQuery) -> Listing {
        match table.list(query, "g1") {
            Selected::Page(page) => page,
            Selected::Unknown(unknown) => panic!("unknown: {unknown:?}"),
        }
    }

    /// Ids of all pages of three, and what every page counts.
    fn all(table: &DocumentTable, filter: &ListFilter, order: Order) -> (Vec<String>, Counts) {
        let mut query = ListQuery {
            filter: filter.clone(),
            order,
            after: None,
            limit: 3,
        };
        let mut ids = Vec::new();
        loop {
            let listing = page(table, &query);
            ids.extend(listing.rows.into_iter().map(|row| row.latest.document_id));
            match listing.next {
                Some(next) => query.after = Some(next.to_string().parse().unwrap()),
                None => return (ids, listing.counts),
            }
        }
    }

    fn expected(count: u64, order: Order, shows: impl Fn(&DocumentState) -> bool) -> Vec<String> {
        let mut states: Vec<DocumentState> = (0..count).map(state).filter(shows).collect();
        states.sort_by_key(|state| {
            let path = state.source_path.to_lowercase();
            let key = match order.sort {
                DocumentSort::Id => (0, String::new(), String::new()),
                DocumentSort::Source => (0, state.source.clone(), path),
                DocumentSort::Path => (0, path, state.source.clone()),
                DocumentSort::Title => (0, state.title.to_lowercase(), path),
                DocumentSort::Time => (state.at_ms, String::new(), String::new()),
                DocumentSort::State => (state.state as i64, state.source.clone(), path),
            };
            (key, state.document_id.clone())
        });
        if order.descending {
            states.reverse();
        }
        states.into_iter().map(|state| state.document_id).collect()
    }

    #[test]
    fn every_order_lists_each_document_once() {
        let table = table(40);
        for sort in DocumentSort::ALL {
            for descending in [false, true] {
                let order = Order { sort, descending };
                let (ids, counts) = all(&table, &ListFilter::default(), order);
                assert_eq!(ids, expected(40, order, |_| true), "{order:?}");
                assert_eq!((counts.documents, counts.searchable), (40, 14));
            }
        }
    }

    type Case = (ListFilter, fn(&DocumentState) -> bool);

    fn cases() -> Vec<Case> {
        let text = |text: &str| Some(text.to_owned());
        let none = ListFilter::default;
        vec![
            (
                ListFilter {
                    state: Some(State::Dead),
                    ..none()
                },
                |state| state.state == State::Dead,
            ),
            (
                ListFilter {
                    searchable: Some(true),
                    ..none()
                },
                |state| state.state == State::Indexed,
            ),
            (
                ListFilter {
                    searchable: Some(false),
                    ..none()
                },
                |state| state.state != State::Indexed,
            ),
            (
                ListFilter {
                    source: text("wiki"),
                    ..none()
                },
                |state| state.source == "wiki",
            ),
            (
                ListFilter {
                    tag: text("t2"),
                    ..none()
                },
                |state| {
                    state
                        .labels
                        .as_ref()
                        .is_some_and(|labels| labels.tags == ["t2"])
                },
            ),
            (
                ListFilter {
                    knowledge_set: text("s1"),
                    ..none()
                },
                |state| {
                    state
                        .labels
                        .as_ref()
                        .is_some_and(|labels| labels.knowledge_sets == ["s1"])
                },
            ),
            (
                ListFilter {
                    title: text("ANTENNA"),
                    ..none()
                },
                |state| state.title.contains("antenna"),
            ),
            (
                ListFilter {
                    title: text("载波"),
                    ..none()
                },
                |state| state.title.contains("载波"),
            ),
            (
                ListFilter {
                    path: text("folder 1"),
                    ..none()
                },
                |state| state.source_path.contains("Folder 1"),
            ),
            (
                ListFilter {
                    path_prefix: text("Folder 2/"),
                    ..none()
                },
                |state| state.source_path.starts_with("Folder 2/"),
            ),
            (
                ListFilter {
                    path_prefix: text("folder 2/"),
                    ..none()
                },
                |_| false,
            ),
            (
                ListFilter {
                    text: text("manual/folder 0"),
                    ..none()
                },
                |state| state.source == "manual" && state.source_path.starts_with("Folder 0"),
            ),
            (
                ListFilter {
                    changed_from_ms: Some(50),
                    changed_before_ms: Some(81),
                    ..none()
                },
                |state| (50..81).contains(&state.at_ms),
            ),
            (
                ListFilter {
                    source: text("nothing"),
                    ..none()
                },
                |_| false,
            ),
        ]
    }

    #[test]
    fn every_filter_shows_and_counts_what_meets_it() {
        let (table, order) = (table(40), Order::default());
        for (filter, shows) in cases() {
            let (ids, counts) = all(&table, &filter, order);
            let wanted = expected(40, order, shows);
            assert_eq!(counts.documents, wanted.len() as u64, "{filter:?}");
            assert_eq!(ids, wanted, "{filter:?}");
        }
    }

    #[test]
    fn pages_neither_double_nor_lose_a_document_while_others_come_and_go() {
        let order = Order {
            sort: DocumentSort::Title,
            descending: false,
        };
        let mut states: Vec<DocumentState> = (0..30).map(state).collect();
        let mut seen = Vec::new();
        let mut after = None;
        loop {
            let table = DocumentTable::with_reports(&states);
            let query = ListQuery {
                filter: ListFilter::default(),
                order,
                after,
                limit: 4,
            };
            let listing = page(&table, &query);
            seen.extend(listing.rows.into_iter().map(|row| row.latest.document_id));
            // The document of the place itself goes, and new ones come before and after it.
            let number = 100 + states.len() as u64;
            states.retain(|state| Some(&state.document_id) != seen.last());
            states.extend([state(number), state(number + 1)]);
            after = listing.next;
            if after.is_none() || seen.len() > 500 {
                break;
            }
        }
        let before: Vec<String> = (0..30).map(|number| state(number).document_id).collect();
        for id in &before {
            assert_eq!(seen.iter().filter(|other| *other == id).count(), 1, "{id}");
        }
    }

    #[test]
    fn labels_of_another_generation_are_asked_for_and_then_known() {
        let table = table(40);
        let query = ListQuery {
            filter: ListFilter {
                tag: Some("new".into()),
                ..ListFilter::default()
            },
            limit: 50,
            ..ListQuery::default()
        };
        let Selected::Unknown(unknown) = table.list(&query, "g2") else {
            panic!("labels of g1 are not those of g2")
        };
        assert_eq!(unknown.len(), 14);
        let labels = Labels {
            generation: "g2".into(),
            tags: vec!["new".into()],
            knowledge_sets: Vec::new(),
        };
        table.set_labels(unknown.iter().map(|id| (id.as_str(), labels.clone())));
        let Selected::Page(listing) = table.list(&query, "g2") else {
            panic!("all labels are known")
        };
        assert_eq!(listing.rows.len(), 14);
    }

    #[test]
    fn strange_places_are_refused() {
        for strange in ["", "nothing", "bm90aGluZw", "载波"] {
            let error = strange.parse::<Place>().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{strange}");
        }
    }
}
