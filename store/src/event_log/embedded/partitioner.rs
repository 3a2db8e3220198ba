//! Which partition a key belongs to: Kafka's default partitioner, so that positions agree with a
//! Kafka topic of as many partitions.

/// Partition of `key`: `(murmur2(key) & 0x7fffffff) % partitions`, as in
/// `org.apache.kafka.clients.producer.internals.BuiltInPartitioner`.
pub fn partition_of(key: &[u8], partitions: u32) -> u32 {
    (murmur2(key) & 0x7fff_ffff) % partitions.max(1)
}

/// MurmurHash2 (Austin Appleby, public domain), 32 bits, with the seed that Kafka uses.
fn murmur2(bytes: &[u8]) -> u32 {
    const MULTIPLIER: u32 = 0x5bd1_e995;
    let mut hash = 0x9747_b28c ^ bytes.len() as u32;
    let mut words = bytes.chunks_exact(4);
    for word in &mut words {
        let mut mixed =
            u32::from_le_bytes([word[0], word[1], word[2], word[3]]).wrapping_mul(MULTIPLIER);
        mixed = (mixed ^ (mixed >> 24)).wrapping_mul(MULTIPLIER);
        hash = hash.wrapping_mul(MULTIPLIER) ^ mixed;
    }
    let rest = words.remainder();
    if !rest.is_empty() {
        let tail = rest
            .iter()
            .rev()
            .fold(0, |tail: u32, byte| tail << 8 | u32::from(*byte));
        hash = (hash ^ tail).wrapping_mul(MULTIPLIER);
    }
    hash = (hash ^ (hash >> 13)).wrapping_mul(MULTIPLIER);
    hash ^ (hash >> 15)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cases of Kafka's own `UtilsTest.testMurmur2`.
    #[test]
    fn agrees_with_kafka() {
        let cases: [(&str, i32); 6] = [
            ("21", -973_932_308),
            ("foobar", -790_332_482),
            ("a-little-bit-long-string", -985_981_536),
            ("a-little-bit-longer-string", -1_486_304_829),
            (
                "lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8",
                -58_897_971,
            ),
            ("abc", 479_470_107),
        ];
        for (key, hash) in cases {
            assert_eq!(murmur2(key.as_bytes()).cast_signed(), hash, "{key}");
        }
    }

    #[test]
    fn stays_within_the_partitions() {
        for partitions in [0, 1, 7] {
            assert!(
                (0..1000u32)
                    .all(|key| partition_of(&key.to_le_bytes(), partitions) < partitions.max(1))
            );
        }
    }
}
