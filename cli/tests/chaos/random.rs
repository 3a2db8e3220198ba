//! The one source of chance: the same faults and operations in every run of a seed.

/// Marsaglia's xorshift64.
pub struct Random(u64);

impl Random {
    /// A stream of its own for each purpose of a seed.
    pub fn new(seed: u64, purpose: u64) -> Self {
        Self((seed ^ purpose.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15)).max(1))
    }

    /// 0 up to `limit`, without it.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    /// One of several.
    pub fn choose<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u64) as usize]
    }
}
