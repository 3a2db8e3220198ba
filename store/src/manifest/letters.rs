//! The open dead letters in memory: what their headers say, and where each lies in its topic.
//!
//! Of a document that was published again and failed again the letter of its newest publication
//! counts. Those before are not shown: ingest takes no record of them any more. They are resolved
//! together with it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::{self, Display, Formatter};
use std::ops::Bound;
use std::str::FromStr;
use std::sync::Arc;

use tributary_schemas::{DeadLetter, Error, ErrorKind, Result, Topic};

use super::texts::Texts;
use super::view::Fold;
use crate::event_log::{Position, Record, StoredRecord, dead_letter};

/// The failed record that a letter is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LetterId {
    topic: Topic,
    position: Position,
}

impl LetterId {
    /// Of a dead-letter record.
    pub fn of(record: &Record) -> Result<Self> {
        let (topic, position) = dead_letter::origin(record)?;
        Ok(Self { topic, position })
    }

    /// Whether it is of a later record of the same partition.
    fn is_behind(&self, other: &Self) -> bool {
        let [own, others] = [self.position, other.position];
        self.topic == other.topic && own.partition == others.partition && own.offset > others.offset
    }
}

impl Display for LetterId {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(&dead_letter::id(self.topic, self.position))
    }
}

impl FromStr for LetterId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut parts = text.rsplitn(3, '-');
        let (offset, partition, name) = (parts.next(), parts.next(), parts.next());
        let topic = Topic::ALL
            .into_iter()
            .find(|topic| Some(topic.name()) == name);
        let position = || {
            Some(Position {
                partition: partition?.parse().ok()?,
                offset: offset?.parse().ok()?,
            })
        };
        let id = topic
            .zip(position())
            .map(|(topic, position)| Self { topic, position });
        id.ok_or_else(|| {
            Error::new(
                ErrorKind::NotFound,
                format!("`{text:.100}` is no id of a dead letter"),
            )
        })
    }
}

/// A place in the list: newest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    at_ms: Reverse<i64>,
    id: LetterId,
}

impl Display for Place {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.at_ms.0, self.id)
    }
}

impl FromStr for Place {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let strange = || {
            Error::new(
                ErrorKind::Invalid,
                format!("`after={text:.100}` is no place in the list of dead letters"),
            )
            .with_hint("give `next` of the page before, unchanged")
        };
        let (at_ms, id) = text.split_once('/').ok_or_else(strange)?;
        Ok(Self {
            at_ms: Reverse(at_ms.parse().map_err(|_| strange())?),
            id: id.parse().map_err(|_| strange())?,
        })
    }
}

/// A condition on the id of a document.
pub type OfDocument = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// Which letters a list shows: those that meet all conditions.
#[derive(Clone, Default)]
pub struct LetterFilter {
    /// Given up by this stage.
    pub stage: Option<String>,
    /// For this kind of failure.
    pub kind: Option<ErrorKind>,
    /// The reason has this text in it, in capitals or small letters.
    pub reason: Option<String>,
    /// This holds of the id of their document.
    pub document: Option<OfDocument>,
}

impl LetterFilter {
    /// The same, with its text in small letters, as [`Self::meets`] wants it.
    pub(super) fn prepared(self) -> Self {
        Self {
            reason: self.reason.map(|reason| reason.to_lowercase()),
            ..self
        }
    }

    /// What takes longest comes last.
    fn meets(&self, letter: &Packed) -> bool {
        let has = |reason: &String| letter.message.to_lowercase().contains(reason);
        self.kind.is_none_or(|kind| kind == letter.kind)
            && (self.stage.as_ref()).is_none_or(|stage| **stage == *letter.stage)
            && self.reason.as_ref().is_none_or(has)
            && (self.document.as_ref()).is_none_or(|is_meant| is_meant(&letter.document_id))
    }
}

/// All open letters.
#[derive(Debug, Default)]
pub(super) struct Letters {
    packed: BTreeMap<LetterId, Packed>,
    places: BTreeSet<Place>,
    texts: Texts,
    /// The letter of a document's newest publication that failed, by document.
    newest: HashMap<Box<str>, LetterId>,
    /// Letters of publications before, each with its document and its time.
    superseded: BTreeMap<LetterId, (Box<str>, i64)>,
}

#[derive(Debug)]
struct Packed {
    lies_at: Position,
    document_id: Box<str>,
    stage: Arc<str>,
    attempts: u32,
    kind: ErrorKind,
    message: Arc<str>,
    at_ms: i64,
    bytes: u64,
}

impl Letters {
    /// A letter, and where its record lies.
    pub fn get(&self, id: LetterId) -> Option<(DeadLetter, Position)> {
        self.packed
            .get(&id)
            .map(|packed| (packed.unpack(id), packed.lies_at))
    }

    /// Letters of these after a place, newest first, at most `limit`; and the place of the last if
    /// there are more.
    pub fn page(
        &self,
        after: Option<Place>,
        limit: usize,
        filter: &LetterFilter,
    ) -> (Vec<DeadLetter>, Option<Place>) {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let places = self.places.range((from, Bound::Unbounded));
        let is_meant = |place: &&Place| {
            let packed = self.packed.get(&place.id);
            packed.is_some_and(|packed| filter.meets(packed))
        };
        let mut places = places.filter(is_meant);
        let shown: Vec<Place> = places.by_ref().take(limit).copied().collect();
        let next = shown.last().copied().filter(|_| places.next().is_some());
        let letters = shown
            .iter()
            .filter_map(|place| self.get(place.id))
            .map(|(letter, _)| letter)
            .collect();
        (letters, next)
    }

    /// Ids of all letters of this moment or before; of all without one.
    pub fn ids(&self, until_ms: Option<i64>) -> Vec<LetterId> {
        let is_meant = |at_ms: i64| until_ms.is_none_or(|until_ms| at_ms <= until_ms);
        let shown = self.places.iter().map(|place| (place.id, place.at_ms.0));
        let superseded = self.superseded.iter();
        let superseded = superseded.map(|(id, (_, at_ms))| (*id, *at_ms));
        let all = shown.chain(superseded);
        all.filter(|(_, at_ms)| is_meant(*at_ms))
            .map(|(id, _)| id)
            .collect()
    }

    /// The letter, and those that it stands for.
    pub fn with_superseded(&self, id: LetterId) -> Vec<LetterId> {
        let document = self.packed.get(&id).map(|packed| &packed.document_id);
        let is_of_it = |(_, (of, _)): &(&LetterId, &(Box<str>, i64))| Some(of) == document;
        let superseded = self.superseded.iter().filter(is_of_it);
        superseded
            .map(|(superseded, _)| *superseded)
            .chain([id])
            .collect()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.packed.len()
    }

    fn insert(&mut self, id: LetterId, letter: DeadLetter, lies_at: Position) {
        let packed = Packed {
            lies_at,
            stage: self.texts.share(&letter.stage),
            message: self.texts.share(&letter.message),
            document_id: letter.document_id.into_boxed_str(),
            attempts: letter.attempts,
            kind: letter.kind,
            at_ms: letter.at_ms,
            bytes: letter.bytes,
        };
        self.remove(id);
        // What has no key is of no document, and stands for itself.
        let is_of_a_document = id.topic == Topic::DocumentsRaw && !packed.document_id.is_empty();
        if is_of_a_document && !self.is_newest(id, &packed) {
            let of = (packed.document_id, packed.at_ms);
            self.superseded.insert(id, of);
            return;
        }
        self.places.insert(Place {
            at_ms: Reverse(packed.at_ms),
            id,
        });
        self.packed.insert(id, packed);
    }

    /// Whether no later publication of the document has a letter; one before makes room for it. What
    /// came after a newer version, and was refused for it, takes nobody's place.
    fn is_newest(&mut self, id: LetterId, packed: &Packed) -> bool {
        let known = self.newest.get(&packed.document_id).copied();
        if known.is_some_and(|known| known.is_behind(&id)) {
            return false;
        }
        if packed.kind == ErrorKind::Conflict {
            return true;
        }
        if let Some(before) = known.filter(|known| id.is_behind(known))
            && let Some(superseded) = self.take(before)
        {
            let of = (superseded.document_id, superseded.at_ms);
            self.superseded.insert(before, of);
        }
        self.newest.insert(packed.document_id.clone(), id);
        true
    }

    fn remove(&mut self, id: LetterId) {
        self.superseded.remove(&id);
        if let Some(removed) = self.take(id)
            && self.newest.get(&removed.document_id) == Some(&id)
        {
            self.newest.remove(&removed.document_id);
        }
    }

    /// Takes it out of what is shown.
    fn take(&mut self, id: LetterId) -> Option<Packed> {
        let taken = self.packed.remove(&id)?;
        self.places.remove(&Place {
            at_ms: Reverse(taken.at_ms),
            id,
        });
        Some(taken)
    }
}

impl Packed {
    fn unpack(&self, id: LetterId) -> DeadLetter {
        DeadLetter {
            id: id.to_string(),
            document_id: self.document_id.to_string(),
            source: String::new(),
            source_path: String::new(),
            title: String::new(),
            topic: id.topic.name().to_owned(),
            partition: id.position.partition,
            offset: id.position.offset,
            stage: self.stage.to_string(),
            attempts: self.attempts,
            kind: self.kind,
            message: self.message.to_string(),
            at_ms: self.at_ms,
            bytes: self.bytes,
        }
    }
}

impl Fold for Letters {
    const TOPIC: Topic = Topic::DeadLetters;
    const NEEDS_VALUES: bool = false;

    fn apply(&mut self, stored: &StoredRecord) {
        let record = &stored.record;
        // A failed deletion has no value either, but it says what failed.
        let resolved = || std::str::from_utf8(&record.key).ok()?.parse().ok();
        match dead_letter::read(record).and_then(|letter| Ok((LetterId::of(record)?, letter))) {
            Ok((id, letter)) => self.insert(id, letter, stored.position),
            Err(_) if record.value.is_none() && record.headers.is_empty() => {
                if let Some(id) = resolved() {
                    self.remove(id);
                }
            }
            Err(error) => {
                tracing::warn!(position = ?stored.position, %error, "a record among the dead letters cannot be read")
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use bytes::Bytes;
    use tributary_schemas::event::dead_letter as header;

    use super::*;

    fn letter(offset: u64, at_ms: i64) -> StoredRecord {
        let record = Record {
            key: Bytes::from(format!("d{offset}")),
            value: None,
            ..Record::default()
        };
        let failed = StoredRecord {
            position: Position {
                partition: 1,
                offset,
            },
            record,
        };
        let error = Error::new(ErrorKind::Invalid, "strange");
        let failure = dead_letter::Failure {
            topic: Topic::DocumentsRaw,
            stage: "ingest",
            attempts: 1,
            error: &error,
            at_ms,
        };
        StoredRecord {
            position: Position {
                partition: 0,
                offset,
            },
            record: dead_letter::record(&failed, &failure),
        }
    }

    fn resolution(offset: u64) -> StoredRecord {
        let record = Record {
            key: Bytes::from(format!("documents.raw.v1-1-{offset}")),
            ..Record::default()
        };
        StoredRecord {
            position: Position {
                partition: 0,
                offset: 1000 + offset,
            },
            record,
        }
    }

    fn letters(times: &[i64]) -> Letters {
        let mut letters = Letters::default();
        times
            .iter()
            .enumerate()
            .for_each(|(offset, at_ms)| letters.apply(&letter(offset as u64, *at_ms)));
        letters
    }

    fn offsets(page: &[DeadLetter]) -> Vec<u64> {
        page.iter().map(|letter| letter.offset).collect()
    }

    #[test]
    fn pages_go_from_the_newest_to_the_oldest_whatever_is_resolved_meanwhile() {
        let mut letters = letters(&[10, 30, 20, 20]);
        let (first, next) = letters.page(None, 2, &LetterFilter::default());
        assert_eq!(offsets(&first), [1, 2]);
        let next: Place = next.unwrap().to_string().parse().unwrap();
        letters.apply(&resolution(2));
        let (second, end) = letters.page(Some(next), 5, &LetterFilter::default());
        assert_eq!(
            (offsets(&second), end),
            (vec![3, 0], None),
            "the letter of the place is gone and the place is not"
        );
    }

    #[test]
    fn a_page_has_those_that_meet_all_conditions_and_goes_on_behind_them() {
        let letters = letters(&[10, 20, 30, 40]);
        let of = |filter: LetterFilter, limit| {
            let (page, next) = letters.page(None, limit, &filter.prepared());
            (offsets(&page), next.is_some())
        };
        let filter = LetterFilter {
            stage: Some("ingest".to_owned()),
            kind: Some(ErrorKind::Invalid),
            reason: Some("STRANGE".to_owned()),
            document: Some(Arc::new(|id| id != "d2")),
        };
        assert_eq!(of(filter.clone(), 9), (vec![3, 1, 0], false));
        assert_eq!(of(filter.clone(), 2), (vec![3, 1], true));
        let others = [
            LetterFilter {
                stage: Some("index".to_owned()),
                ..filter.clone()
            },
            LetterFilter {
                kind: Some(ErrorKind::Timeout),
                ..filter.clone()
            },
            LetterFilter {
                reason: Some("usual".to_owned()),
                ..filter
            },
        ];
        for other in others {
            assert_eq!(of(other, 9), (vec![], false));
        }
    }

    #[test]
    fn the_letter_of_the_newest_publication_stands_for_those_before() {
        let of_one = |offset: u64, kind: ErrorKind| {
            let mut letter = letter(offset, offset as i64);
            let headers = &mut letter.record.headers;
            for (name, value) in headers {
                match name.as_str() {
                    header::KEY => *value = Bytes::from_static(b"one"),
                    header::KIND => *value = Bytes::from(kind.to_string()),
                    _ => {}
                }
            }
            letter
        };
        let id = |offset: u64| format!("documents.raw.v1-1-{offset}").parse().unwrap();
        let shown = |letters: &Letters| offsets(&letters.page(None, 9, &LetterFilter::default()).0);
        let invalid = ErrorKind::Invalid;
        // Partitions of the dead letters come in any order.
        for order in [[1, 2, 4], [4, 2, 1], [2, 4, 1]] {
            let mut letters = letters(&[0]);
            for offset in order {
                letters.apply(&of_one(offset, invalid));
            }
            // It comes later and is older than what was there.
            letters.apply(&of_one(7, ErrorKind::Conflict));
            assert_eq!(shown(&letters), [7, 4, 0], "{order:?}");
            assert_eq!(letters.len(), 3);
            assert_eq!(letters.ids(None).len(), 5, "all are resolved with them");
            assert_eq!(letters.ids(Some(1)), [id(0), id(1)]);
            assert_eq!(letters.with_superseded(id(4)), [id(1), id(2), id(4)]);
            for resolved in [1, 2, 4] {
                letters.apply(&resolution(resolved));
            }
            assert_eq!(shown(&letters), [7, 0]);
            assert_eq!((letters.ids(None).len(), letters.newest.len()), (2, 1));
        }
    }

    #[test]
    fn letters_of_records_without_a_key_stand_for_themselves() {
        let mut letters = letters(&[]);
        for offset in [1, 2, 4] {
            let mut letter = letter(offset, 40);
            for (name, value) in &mut letter.record.headers {
                if name == header::KEY {
                    *value = Bytes::new();
                }
            }
            letters.apply(&letter);
        }
        let shown = letters.page(None, 9, &LetterFilter::default()).0;
        assert_eq!(shown.len(), 3, "{shown:?}");
        assert!(shown.iter().all(|letter| letter.document_id.is_empty()));
    }

    #[test]
    fn a_resolved_letter_is_gone_and_may_come_again() {
        let mut letters = letters(&[10, 20]);
        letters.apply(&resolution(0));
        letters.apply(&resolution(7));
        assert_eq!(
            (letters.len(), letters.ids(None).len(), letters.places.len()),
            (1, 1, 1)
        );
        letters.apply(&letter(0, 40));
        assert_eq!(
            offsets(&letters.page(None, 9, &LetterFilter::default()).0),
            [0, 1]
        );
        assert_eq!(
            letters.ids(Some(39)),
            ["documents.raw.v1-1-1".parse().unwrap()]
        );
        let (found, lies_at) = letters
            .get("documents.raw.v1-1-0".parse().unwrap())
            .unwrap();
        assert_eq!(
            (found.document_id.as_str(), found.at_ms, lies_at.offset),
            ("d0", 40, 0)
        );
    }

    #[test]
    fn strange_ids_and_places_are_refused() {
        for strange in [
            "",
            "nothing",
            "documents.raw.v1-1",
            "no.such.topic-1-2",
            "documents.raw.v1-1-x",
            "documents.raw.v1--1",
        ] {
            assert!(strange.parse::<LetterId>().is_err(), "{strange}");
            assert!(
                format!("5/{strange}").parse::<Place>().is_err(),
                "{strange}"
            );
        }
        assert!("documents.raw.v1-1-2".parse::<Place>().is_err());
    }
}
