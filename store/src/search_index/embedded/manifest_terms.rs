//! Documents by manifest term, in memory: sorted pairs of a term's hash and a document's number,
//! eight bytes each. A document with a signature has 33 terms, so it takes about 280 bytes here.

/// Fewer unsorted pairs than this are looked through one by one.
const MOST_RECENT: usize = 4096;
/// Beyond that: one pair in so many may be unsorted.
const SORTED_TO_RECENT: usize = 32;
/// The number of a document without terms.
const NO_NUMBER: u32 = u32::MAX;
/// The place of a document that no longer counts; records begin behind the file's first bytes.
const GONE: u64 = 0;

/// The map.
#[derive(Debug, Default)]
pub struct Terms {
    /// (hash, number), rising.
    sorted: Vec<(u32, u32)>,
    /// Pairs that came later.
    recent: Vec<(u32, u32)>,
    /// Offset of the record by number.
    places: Vec<u64>,
}

/// Hash of a term.
pub fn hash(term: &str) -> u32 {
    crc32fast::hash(term.as_bytes())
}

/// What the map calls a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number(u32);

impl Number {
    /// Of a document without terms.
    pub const NONE: Self = Self(NO_NUMBER);
}

impl Terms {
    /// Adds the record at `place` under the hashes of its terms.
    pub fn add(&mut self, hashes: &[u32], place: u64) -> Number {
        let number = match u32::try_from(self.places.len()) {
            Ok(number) if !hashes.is_empty() && number != NO_NUMBER => number,
            _ => return Number::NONE,
        };
        self.places.push(place);
        self.recent
            .extend(hashes.iter().map(|hash| (*hash, number)));
        if self.recent.len() > MOST_RECENT.max(self.sorted.len() / SORTED_TO_RECENT) {
            self.tidy();
        }
        Number(number)
    }

    /// The record of that number no longer counts.
    pub fn forget(&mut self, number: Number) {
        if let Some(place) = self.places.get_mut(number.0 as usize) {
            *place = GONE;
        }
    }

    /// Places of the records that carry one of the hashes, rising. The hashes come sorted.
    pub fn find(&self, hashes: &[u32]) -> Vec<u64> {
        let mut numbers: Vec<u32> = Vec::new();
        for hash in hashes {
            let start = self.sorted.partition_point(|(other, _)| other < hash);
            let found = self
                .sorted
                .iter()
                .skip(start)
                .take_while(|(other, _)| other == hash);
            numbers.extend(found.map(|(_, number)| *number));
        }
        numbers.extend(
            self.recent
                .iter()
                .filter(|(hash, _)| hashes.binary_search(hash).is_ok())
                .map(|(_, number)| *number),
        );
        let mut places: Vec<u64> = numbers
            .into_iter()
            .filter_map(|number| self.place(number))
            .collect();
        places.sort_unstable();
        places.dedup();
        places
    }

    fn place(&self, number: u32) -> Option<u64> {
        self.places
            .get(number as usize)
            .copied()
            .filter(|place| *place != GONE)
    }

    /// Sorts what came later among the others, and drops pairs of records that no longer count.
    pub fn tidy(&mut self) {
        let mut recent = std::mem::take(&mut self.recent);
        recent.sort_unstable();
        let mut sorted = Vec::with_capacity(self.sorted.len() + recent.len());
        let mut later = recent.into_iter().peekable();
        for pair in std::mem::take(&mut self.sorted) {
            while let Some(earlier) = later.next_if(|later| *later < pair) {
                sorted.push(earlier);
            }
            sorted.push(pair);
        }
        sorted.extend(later);
        sorted.retain(|(_, number)| self.place(*number).is_some());
        sorted.shrink_to_fit();
        self.sorted = sorted;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_found_until_they_are_forgotten() {
        let mut terms = Terms::default();
        let first = terms.add(&[1, 2], 8);
        terms.add(&[2, 3], 16);
        let found = |terms: &Terms| [terms.find(&[1]), terms.find(&[2, 3]), terms.find(&[9])];
        assert_eq!(found(&terms), [vec![8], vec![8, 16], vec![]]);
        terms.tidy();
        assert_eq!(found(&terms), [vec![8], vec![8, 16], vec![]]);
        terms.forget(first);
        assert_eq!(found(&terms), [vec![], vec![16], vec![]]);
        terms.tidy();
        assert_eq!(
            (found(&terms), terms.sorted.len()),
            ([vec![], vec![16], vec![]], 2)
        );
        assert_eq!(terms.add(&[], 24), Number::NONE);
        terms.forget(Number::NONE);
    }

    #[test]
    fn many_records_are_found_as_they_come() {
        let mut terms = Terms::default();
        for number in 0..20_000_u32 {
            terms.add(
                &[number.wrapping_mul(2_654_435_761), 7],
                u64::from(number) + 8,
            );
            assert_eq!(
                terms.find(&[number.wrapping_mul(2_654_435_761)]).last(),
                Some(&(u64::from(number) + 8))
            );
        }
        assert_eq!(terms.find(&[7]).len(), 20_000);
        assert!(terms.recent.len() <= MOST_RECENT, "{}", terms.recent.len());
    }
}
