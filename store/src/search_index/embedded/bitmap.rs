//! A plain bitmap over document or row numbers: what a filter lets through.

/// Bits by number; unset beyond the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bitmap {
    words: Vec<u64>,
}

impl Bitmap {
    /// No bit set, room for `length` numbers.
    pub fn new(length: usize) -> Self {
        Self {
            words: vec![0; length.div_ceil(64)],
        }
    }

    /// The first `length` bits set.
    pub fn full(length: usize) -> Self {
        let mut words = vec![u64::MAX; length.div_ceil(64)];
        if let (Some(last), rest @ 1..) = (words.last_mut(), length % 64) {
            *last = (1_u64 << rest) - 1;
        }
        Self { words }
    }

    /// Sets a bit; numbers beyond the length are ignored.
    pub fn set(&mut self, number: usize) {
        if let Some(word) = self.words.get_mut(number / 64) {
            *word |= 1 << (number % 64);
        }
    }

    /// Whether the bit is set.
    pub fn contains(&self, number: usize) -> bool {
        self.words
            .get(number / 64)
            .is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    /// Bits `64 * index ..`, zero beyond the end.
    #[inline]
    pub fn word(&self, index: usize) -> u64 {
        self.words.get(index).copied().unwrap_or(0)
    }

    /// Keeps only the bits that `other` has too.
    pub fn intersect(&mut self, other: &Self) {
        for (index, word) in self.words.iter_mut().enumerate() {
            *word &= other.word(index);
        }
    }

    /// Unsets the bits that `other` has.
    pub fn subtract(&mut self, other: &Self) {
        for (index, word) in self.words.iter_mut().enumerate() {
            *word &= !other.word(index);
        }
    }

    /// Sets the bits that `other` has, as far as there is room.
    pub fn unite(&mut self, other: &Self) {
        for (index, word) in self.words.iter_mut().enumerate() {
            *word |= other.word(index);
        }
    }

    /// Unsets all bits.
    pub fn clear(&mut self) {
        self.words.fill(0);
    }

    /// Number of bits set.
    pub fn count(&self) -> usize {
        self.words
            .iter()
            .map(|word| word.count_ones() as usize)
            .sum()
    }

    /// Whether any bit of the words is set.
    pub fn any_in(&self, words: std::ops::Range<usize>) -> bool {
        words.into_iter().any(|index| self.word(index) != 0)
    }

    /// Numbers of the bits set, rising.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.words
            .iter()
            .enumerate()
            .flat_map(|(index, word)| bits(*word).map(move |bit| index * 64 + bit))
    }
}

/// Positions of the bits set in a word, rising.
pub fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (word != 0).then(|| word.trailing_zeros() as usize)?;
        word &= word - 1;
        Some(bit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_set_counted_and_listed() {
        let mut bitmap = Bitmap::new(130);
        for number in [0, 63, 64, 129, 5000] {
            bitmap.set(number);
        }
        assert_eq!(bitmap.iter().collect::<Vec<_>>(), [0, 63, 64, 129]);
        assert_eq!(bitmap.count(), 4);
        assert!(bitmap.contains(129) && !bitmap.contains(128) && !bitmap.contains(5000));
    }

    #[test]
    fn a_full_bitmap_ends_at_its_length() {
        for length in [0, 1, 63, 64, 65, 128] {
            assert_eq!(Bitmap::full(length).count(), length);
        }
        let mut bitmap = Bitmap::full(100);
        let mut other = Bitmap::new(10);
        other.set(3);
        bitmap.intersect(&other);
        assert_eq!(bitmap.iter().collect::<Vec<_>>(), [3]);
    }
}
