//! Numbers that look random and are the same for a seed on every machine: Marsaglia's xorshift64*
//! behind the finaliser of SplitMix64, so that neighbouring seeds have nothing in common.

/// A generator.
pub struct Chance(u64);

impl Chance {
    /// Of a seed.
    pub fn new(seed: u64) -> Self {
        let mut mixed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        Self((mixed ^ (mixed >> 31)).max(1))
    }

    /// Of a seed and a name: what is drawn for one name does not depend on others.
    pub fn named(seed: u64, name: &str) -> Self {
        let fnv = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
        Self::new(seed ^ name.bytes().fold(0xCBF2_9CE4_8422_2325, fnv))
    }

    /// Evenly below `end`; 0 for an end of 0.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let high = u128::from(self.0.wrapping_mul(0x2545_F491_4F6C_DD1D));
        ((high * end as u128) >> 64) as usize
    }

    /// One of them; none of nothing.
    pub fn one_of<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        of.get(self.below(of.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_even_and_depend_on_seed_and_name() {
        let mut counts = [0_usize; 10];
        let mut chance = Chance::new(7);
        for _ in 0..10_000 {
            if let Some(count) = counts.get_mut(chance.below(10)) {
                *count += 1;
            }
        }
        assert!(
            counts.iter().all(|count| (900..1100).contains(count)),
            "{counts:?}"
        );
        let draw = |seed, name| Chance::named(seed, name).below(1 << 30);
        assert_eq!(draw(1, "a"), draw(1, "a"));
        assert_ne!(draw(1, "a"), draw(2, "a"));
        assert_ne!(draw(1, "a"), draw(1, "b"));
        assert_eq!(chance.one_of::<u8>(&[]), None);
    }
}
